/*
 * conflicts.c
 *		See conflicts.h.
 */
#include "postgres.h"

#include "index/conflicts.h"
#include "miscadmin.h"
#include "server/records.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * A record: what was noted, by the table's place among others.  In this order most come already
 * where one process makes the entries of one index.
 */
enum
{
	CONFLICT_TABLE,
	CONFLICT_GROUP,				/* number of the index << 32 | group */
	CONFLICT_ROW,
	CONFLICT_COLUMNS
};

typedef struct ConflictTable
{
	int			number;			/* that others know it by */
	int			first_index;
	int			nindexes;
	int64		nrows;			/* noted */

	/* if only the first conflict counts, it; first.index -1: there is none */
	bool		first_only;
	struct
	{
		int			index;
		RowId		rows[2];
	}			first;
} ConflictTable;

typedef struct ConflictIndex
{
	Oid			relid;			/* the key of the hash table */
	Conflicts  *conflicts;
	int			table;
	int			number;			/* in its table */
	uint32		ngroups;
	ConflictSink sink;

	/* of the current group, if only the first conflict counts */
	RowId		lowest;
	RowId		second;			/* 0: there is none yet */
} ConflictIndex;

struct Conflicts
{
	MemoryContext context;
	Records    *records;
	HTAB	   *by_relid;		/* of ConflictIndex */

	int			ntables;
	int			tables_capacity;
	ConflictTable *tables;
	int			nindexes;
	int			indexes_capacity;
	ConflictIndex **indexes;	/* by table */

	/* when they are read */
	int			table;			/* the current one; -1: none yet */
	bool		more;
	int64		next[CONFLICT_COLUMNS];
};

Conflicts *
conflicts_open(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load conflicts",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Conflicts  *conflicts = palloc0(sizeof(Conflicts));
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(ConflictIndex),
		.hcxt = context
	};

	conflicts->context = context;
	conflicts->table = -1;
	conflicts->records = records_open(CONFLICT_COLUMNS, maintenance_work_mem / 4);
	conflicts->by_relid = hash_create("bulk_load conflicts", 16, &control,
									  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	MemoryContextSwitchTo(old);
	return conflicts;
}

/* ---- what is noted ---- */

/* The first conflict is that whose second row comes first; of its indexes, the first. */
static void
add_first(ConflictTable *table, ConflictIndex *index, uint32 group, RowId row)
{
	if (group >= index->ngroups)
	{
		index->ngroups = group + 1;
		index->lowest = row;
		index->second = 0;
		return;
	}
	if (row < index->lowest)
	{
		index->second = index->lowest;
		index->lowest = row;
	}
	else if (index->second == 0 || row < index->second)
		index->second = row;
	if (table->first.index >= 0 &&
		(index->second > table->first.rows[1] ||
		 (index->second == table->first.rows[1] &&
		  index->number >= table->first.index)))
		return;
	table->first.index = index->number;
	table->first.rows[0] = index->lowest;
	table->first.rows[1] = index->second;
}

static void
put_record(Conflicts *conflicts, int table, RowId row, int index, uint32 group)
{
	int64		values[CONFLICT_COLUMNS] = {
		[CONFLICT_TABLE] = table,
		[CONFLICT_ROW] = (int64) row,
		[CONFLICT_GROUP] = (int64) index << 32 | group
	};

	records_put(conflicts->records, values);
	conflicts->tables[table].nrows++;
}

static void
add_conflict(void *arg, uint32 group, RowId row)
{
	ConflictIndex *index = arg;
	ConflictTable *table = &index->conflicts->tables[index->table];

	if (table->first_only)
	{
		add_first(table, index, group, row);
		return;
	}
	put_record(index->conflicts, index->table, row, index->number, group);
	index->ngroups = Max(index->ngroups, group + 1);
}

/* ---- tables and indexes ---- */

/* Makes an array of n elements of size bytes larger if it is full. */
static void *
reserve_array(Conflicts *conflicts, void *array, int n, int *capacity, Size size)
{
	if (n < *capacity)
		return array;
	*capacity = Max(2 * *capacity, 4);
	return array == NULL ? MemoryContextAlloc(conflicts->context, *capacity * size) :
		repalloc_huge(array, *capacity * size);
}

void
conflicts_add_table(Conflicts *conflicts, int number, bool first_only)
{
	conflicts->tables = reserve_array(conflicts, conflicts->tables, conflicts->ntables,
									  &conflicts->tables_capacity, sizeof(ConflictTable));
	conflicts->tables[conflicts->ntables++] = (ConflictTable) {
		.number = number,
		.first_index = conflicts->nindexes,
		.first_only = first_only,
		.first.index = -1
	};
}

void
conflicts_add_index(Conflicts *conflicts, Oid relid, const ConflictSink *elsewhere)
{
	ConflictTable *table = &conflicts->tables[conflicts->ntables - 1];
	ConflictIndex *index = hash_search(conflicts->by_relid, &relid, HASH_ENTER, NULL);

	memset(index, 0, sizeof(*index));
	index->relid = relid;
	index->conflicts = conflicts;
	index->table = conflicts->ntables - 1;
	index->number = table->nindexes++;
	index->sink = elsewhere != NULL ? *elsewhere :
		(ConflictSink) {.add = add_conflict,.arg = index};
	conflicts->indexes = reserve_array(conflicts, conflicts->indexes, conflicts->nindexes,
									   &conflicts->indexes_capacity,
									   sizeof(ConflictIndex *));
	conflicts->indexes[conflicts->nindexes++] = index;
}

const ConflictSink *
conflicts_sink(Conflicts *conflicts, Oid relid)
{
	ConflictIndex *index = conflicts == NULL ? NULL :
		hash_search(conflicts->by_relid, &relid, HASH_FIND, NULL);

	return index == NULL ? NULL : &index->sink;
}

/* ---- reading ---- */

bool
conflicts_any(const Conflicts *conflicts)
{
	for (int i = 0; i < conflicts->ntables; i++)
		if (conflicts->tables[i].nrows > 0 || conflicts->tables[i].first.index >= 0)
			return true;
	return false;
}

void
conflicts_sort(Conflicts *conflicts)
{
	for (int i = 0; i < conflicts->ntables; i++)
	{
		const ConflictTable *table = &conflicts->tables[i];

		for (int j = 0; table->first.index >= 0 && j < 2; j++)
			put_record(conflicts, i, table->first.rows[j], table->first.index, 0);
	}
	records_sort(conflicts->records);
	conflicts->more = records_next(conflicts->records, conflicts->next);
}

int
conflicts_next_table(Conflicts *conflicts)
{
	/* what nobody wanted to know of the current one */
	while (conflicts->more && conflicts->next[CONFLICT_TABLE] <= conflicts->table)
		conflicts->more = records_next(conflicts->records, conflicts->next);
	if (!conflicts->more)
		return -1;
	conflicts->table = (int) conflicts->next[CONFLICT_TABLE];
	return conflicts->tables[conflicts->table].number;
}

int
conflicts_nindexes(const Conflicts *conflicts)
{
	return conflicts->tables[conflicts->table].nindexes;
}

static const ConflictIndex *
get_index(const Conflicts *conflicts, int number)
{
	return conflicts->indexes[conflicts->tables[conflicts->table].first_index + number];
}

Oid
conflicts_index(const Conflicts *conflicts, int number)
{
	return get_index(conflicts, number)->relid;
}

uint32
conflicts_groups(const Conflicts *conflicts, int number)
{
	return conflicts->tables[conflicts->table].first_only ? 1 :
		get_index(conflicts, number)->ngroups;
}

int64
conflicts_count(const Conflicts *conflicts)
{
	return conflicts->tables[conflicts->table].nrows;
}

bool
conflicts_next(Conflicts *conflicts, RowId *row, int *number, uint32 *group)
{
	if (!conflicts->more || conflicts->next[CONFLICT_TABLE] != conflicts->table)
		return false;
	*row = (RowId) conflicts->next[CONFLICT_ROW];
	*number = (int) (conflicts->next[CONFLICT_GROUP] >> 32);
	*group = (uint32) conflicts->next[CONFLICT_GROUP];
	conflicts->more = records_next(conflicts->records, conflicts->next);
	return true;
}

void
conflicts_close(Conflicts *conflicts)
{
	records_close(conflicts->records);
	MemoryContextDelete(conflicts->context);
}
