/*
 * deal.c
 *		See deal.h.
 */
#include "postgres.h"

#include "compat.h"
#include "index/deal.h"
#include "miscadmin.h"

#define ROWS_AT_ONCE 256

typedef struct DealtGroup
{
	uint32		size;			/* of the image */
	uint32		string;			/* size of the sort string; 0: it is not there */
	uint32		nrows;
} DealtGroup;

void
deal_write(BufFile *file, const Split *split, const char *image, Size size,
		   const RowId *rows, uint32 n)
{
	const StringInfoData *string = &split->scratch;
	DealtGroup	group = {
		.size = size,
		.string = split->shape->collated ? string->len : 0,
		.nrows = n
	};

	compat_buffile_write(file, &group, sizeof(group));
	compat_buffile_write(file, image, size);
	if (group.string > 0)
		compat_buffile_write(file, string->data, group.string);
	compat_buffile_write(file, rows, n * sizeof(RowId));
}

void
deal_read(BufFile *file, Presort *presort)
{
	DealtGroup	group;
	StringInfoData image;
	StringInfoData string;
	RowId		rows[ROWS_AT_ONCE];

	initStringInfo(&image);
	initStringInfo(&string);
	while (compat_buffile_read_more(file, &group, sizeof(group)))
	{
		CHECK_FOR_INTERRUPTS();
		enlargeStringInfo(&image, group.size);
		compat_buffile_read(file, image.data, group.size);
		if (group.string > 0)
		{
			enlargeStringInfo(&string, group.string);
			compat_buffile_read(file, string.data, group.string);
		}
		string.len = group.string;
		while (group.nrows > 0)
		{
			uint32		n = Min(group.nrows, ROWS_AT_ONCE);

			compat_buffile_read(file, rows, n * sizeof(RowId));
			presort_put_rows(presort, image.data, group.size,
							 group.string > 0 ? &string : NULL, rows, n);
			group.nrows -= n;
		}
	}
	pfree(image.data);
	pfree(string.data);
}
