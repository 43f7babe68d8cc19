/*
 * file_counts.h
 *		What has become of the rows of each file of a load.
 */
#ifndef PGBULK_FILE_COUNTS_H
#define PGBULK_FILE_COUNTS_H

#include "row/row_error.h"

typedef struct FileCounts
{
	int64		bytes;
	int64		read;
	int64		filtered;
	int64		deleted;		/* that have deleted another row */
	int64		rejects[REJECT_NREASONS];	/* by reason; with REJECT_REPLACED rows of the table */
} FileCounts;

/* All but duplicate and replaced rows. */
static inline int64
file_counts_rejected(const FileCounts *counts)
{
	int64		total = 0;

	for (int i = 0; i < REJECT_NREASONS; i++)
		if (i != REJECT_DUPLICATE && i != REJECT_REPLACED)
			total += counts->rejects[i];
	return total;
}

/* A row is in the table unless something else has become of it. */
static inline int64
file_counts_loaded(const FileCounts *counts)
{
	return counts->read - counts->filtered - counts->deleted -
		counts->rejects[REJECT_DUPLICATE] - file_counts_rejected(counts);
}

#endif							/* PGBULK_FILE_COUNTS_H */
