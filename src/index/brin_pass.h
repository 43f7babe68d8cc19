/*
 * brin_pass.h
 *		Summaries for the BRIN indexes of a table that was empty, made of its pages
 *		as they are written, so that no scan is needed for them.
 *
 * For integers, dates and times, whose summaries do not depend on the order in
 * which processes write their pages; an index has all of its columns of them,
 * or a scan.
 *
 * Price: 48 bytes for each column of an index and range of blocks.
 */
#ifndef PGBULK_BRIN_PASS_H
#define PGBULK_BRIN_PASS_H

#include "postgres.h"

#include "index/brin_page.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct BrinPass BrinPass;

/* One index. */
typedef struct BrinPassed
{
	Oid			relid;
	int			ncolumns;
	BlockNumber blocks;			/* of a range */
	BrinPage   *reader;
	uint32		first;			/* range that columns begin with */
	uint32		nranges;		/* that columns have space for */
	MinmaxColumn *columns;		/* of one range after the other */
} BrinPassed;

/*
 * For a table without blocks that nobody else writes to; NULL: it has no such index.  Memory: the
 * current context.
 */
extern BrinPass *brin_pass_open(Relation heap);

/* A page of new rows is in the table now. */
extern void brin_pass_add(BrinPass *pass, BlockNumber block, Page page);

/*
 * Beside other processes: bytes of the shared memory for what workers write; which the leader
 * initializes, a worker joins, and the leader takes over in the end.  pass may be NULL.
 */
extern Size brin_pass_share_size(const BrinPass *pass);
extern void brin_pass_share(BrinPass *pass, void *shared, Relation heap);
extern BrinPass *brin_pass_join(Relation heap, void *shared);
extern void brin_pass_gather(BrinPass *pass, void *shared);

/* Whether these are all pages of the table, with so many rows and no others. */
extern bool brin_pass_is_complete(const BrinPass *pass, Relation heap, int64 rows);

/* What there is for an index, or NULL. */
extern const BrinPassed *brin_pass_find(const BrinPass *pass, Oid relid);

#endif							/* PGBULK_BRIN_PASS_H */
