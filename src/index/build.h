/*
 * build.h
 *		One index, built from its table.
 */
#ifndef PGBULK_BUILD_H
#define PGBULK_BUILD_H

#include "postgres.h"

#include "utils/rel.h"

/* What came of it, for pg_class and the result. */
typedef struct BuildResult
{
	double		heap_rows;
	double		index_rows;
	int			runs;			/* sorted runs that went to temporary files */
} BuildResult;

/*
 * Fills an index whose storage is new and empty with all rows of its table, in
 * memory bytes: btrees from presorted keys, others by the access method's own build.
 * Runs in a parallel worker, too, but for what build_complete does.
 *
 * Errors: 23505 and 23P01 in INSERT's words for rows that violate what the
 * index is for.
 */
extern BuildResult build_index(Relation heap, Relation index, Size memory);

/* What is left to do: checks an exclusion constraint, makes an init fork. */
extern void build_complete(Relation heap, Relation index);

#endif							/* PGBULK_BUILD_H */
