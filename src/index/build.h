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
 * Fills an index whose storage is new and empty with all rows of its table:
 * btrees from presorted keys, within memory bytes, others by the access
 * method's own build, within maintenance_work_mem.  Runs in a parallel worker, too.
 *
 * Errors: 23505 and 23P01 in INSERT's words for rows that violate what the
 * index is for.
 */
extern BuildResult build_index(Relation heap, Relation index, Size memory);

#endif							/* PGBULK_BUILD_H */
