/*
 * enum.c
 *		See enum.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_enum.h"
#include "format/enum.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "storage/procarray.h"
#include "utils/catcache.h"
#include "utils/syscache.h"

/* Of the slots, no more than one in so many is taken. */
#define SLOTS_PER_LABEL 4

typedef struct EnumLabel
{
	const char *text;			/* NULL: the slot is free */
	uint32		length;
	Oid			value;
} EnumLabel;

/* A label is in the first free slot from that of its hash on. */
typedef struct EnumLabels
{
	uint32		mask;
	EnumLabel	slots[FLEXIBLE_ARRAY_MEMBER];
} EnumLabels;

static inline uint64
load_bytes(const char *s)
{
	uint64		bytes;

	memcpy(&bytes, s, sizeof(bytes));
	return pg_ntoh64(bytes);
}

/* By its length, its first and its last bytes; 8 bytes after it are readable. */
static inline uint32
hash_label(const char *s, uint32 len)
{
	uint64		bytes = load_bytes(s);

	if (len >= sizeof(bytes))
		bytes ^= load_bytes(s + len - sizeof(bytes)) * 31;
	else
		bytes = len == 0 ? 0 : bytes >> (64 - 8 * len);
	return ((bytes + len) * UINT64CONST(0x9e3779b97f4a7c15)) >> 32;
}

static ValueResult
convert_enum(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	const EnumLabels *labels = column->detail;

	for (uint32 i = hash_label(s, len);; i++)
	{
		const EnumLabel *label = &labels->slots[i & labels->mask];

		if (label->text == NULL)
			return VALUE_ASK;
		if (label->length == len && memcmp(label->text, s, len) == 0)
		{
			*out = ObjectIdGetDatum(label->value);
			return VALUE_OK;
		}
	}
}

/* Whether enum_in takes the label, by the rules of check_safe_enum_use. */
static bool
is_safe(HeapTuple tuple)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	return HeapTupleHeaderXminCommitted(tuple->t_data) ||
		(!TransactionIdIsInProgress(xmin) && TransactionIdDidCommit(xmin)) ||
		!EnumUncommitted(((Form_pg_enum) GETSTRUCT(tuple))->oid);
}

static void
add_label(EnumLabels *labels, const FormData_pg_enum *row)
{
	/* hash_label reads more than the label */
	char	   *text = palloc0(NAMEDATALEN + sizeof(uint64));
	uint32		length = strlen(strcpy(text, NameStr(row->enumlabel)));
	uint32		i = hash_label(text, length);

	while (labels->slots[i & labels->mask].text != NULL)
		i++;
	labels->slots[i & labels->mask] = (EnumLabel) {
		.text = text,
		.length = length,
		.value = row->oid
	};
}

void
enum_choose(Column *column)
{
	CatCList   *list = SearchSysCacheList1(ENUMTYPOIDNAME,
										   ObjectIdGetDatum(column->ioparam));
	uint32		nslots = pg_nextpower2_32(list->n_members * SLOTS_PER_LABEL + 1);
	EnumLabels *labels = palloc0(offsetof(EnumLabels, slots) +
								 sizeof(EnumLabel) * nslots);

	labels->mask = nslots - 1;
	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple	tuple = &list->members[i]->tuple;

		if (is_safe(tuple))
			add_label(labels, (Form_pg_enum) GETSTRUCT(tuple));
	}
	ReleaseCatCacheList(list);
	column->detail = labels;
	column->convert = convert_enum;
}
