/*
 * plan.h
 *		Which index gets its entries how, and why.
 *
 * What the methods cost is guessed from the sizes of table and index and the number of new rows,
 * with what was measured on 7.5 M votes (plan.c).  In short: insertion of a row costs about as
 * much as a merge of a twentieth of a page, more where keys are compared by a collation; a merge
 * costs a third of a rebuild while the table grows by less than its size.
 */
#ifndef PGBULK_PLAN_H
#define PGBULK_PLAN_H

#include "postgres.h"

#include "index/brin_pass.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "server/compat.h"
#include "table/refusal.h"
#include "utils/rel.h"

typedef enum IndexMethod
{
	INDEX_INSERT,				/* into the file that it has */
	INDEX_MERGE,				/* with the entries that are there, after the rows */
	INDEX_REBUILD				/* anew, after the rows */
} IndexMethod;

/*
 * Rows of a load that are such a part of the table may give their space back (compact.h), if no
 * entry for them was inserted where others have theirs.
 */
#define PLAN_LARGE_PART 4

/* A table that rows of the load come to: the target, or a leaf of it. */
typedef struct IndexTable
{
	Relation	heap;			/* as long as its writer has it open */
	Oid			relid;
	char	   *name;
	BlockNumber heap_blocks;	/* before the load */
	bool		vacant;			/* no rows seem to be on them */
	int64		rows;			/* of the load; set when all are there */
	double		live_rows;			/* rows that were counted, all in all; -1: nobody has */
	BlockNumber end;			/* behind the last row, if they were moved together */
	const BrinPass *pass;		/* of its pages; NULL: they are not known */
	TransactionId horizon;		/* rows deleted before it may lack an entry (horizon.h) */
	List	   *plans;			/* of its indexes, by OID */
} IndexTable;

typedef struct IndexPlan
{
	IndexTable *table;
	Oid			relid;
	char	   *name;
	BulkIndexes wanted;
	bool		after;			/* all rows come first */
	bool		may_shrink;		/* many of them may go again, as duplicates */
	IndexMethod method;
	const char *reason;
	RelFileLocator old;			/* its file before the load, where it gets a new one */
	bool		shareable;		/* may be built beside others, in a worker */
	const BrinPassed *passed;	/* all that it will have; NULL: its rows are to be read */
	bool		dry;			/* its file is private already, and nothing is to stay */
	double		weight;			/* a guess at the work in microseconds, to begin with the most */
	double		sort_memory;	/* and at the bytes that sorting its keys takes at least */
	bool		together;		/* is built by all processes, as many as there are */

	/* what came of it */
	double		seconds;		/* if after */
	int			runs;			/* sorted runs that went to temporary files */
	int			processes;		/* that have built it, or inserted its entries */
	bool		in_batches;		/* entries of many rows were inserted at a time */
	const char *one_process;	/* why not more, where there were some; or NULL */
} IndexPlan;

/*
 * What an index of the table has that it cannot get its entries after the rows, or not by the
 * method that options ask for, or REFUSAL_NONE.  No lock stays.
 */
extern Refusal plan_refusal(Relation rel, const BulkOptions *options);

/*
 * A table, to which no row has come yet, and a plan for each of its indexes; direct: the writer
 * makes no entries.  What is best then is seen when all rows are there.
 * Locks the indexes as an INSERT does.  Memory: the current context.
 */
extern IndexTable *plan_table(Relation rel, const BulkOptions *options, bool direct);

/*
 * Settles the method of an index whose entries come after the rows of the load, now that
 * these are in the table.
 */
extern void plan_choose(IndexPlan *plan);

/* The seconds that an index may take by one process, if so many rows come to its table: a guess. */
extern double plan_seconds(const IndexPlan *plan, double rows);

/*
 * Settles which of the plans, in the order of their work, those that are shareable first, are each
 * built by that many processes together, and not by one while the others do something else.
 */
extern void plan_share(List *plans, int processes);

/* The method's word in options and results. */
extern const char *plan_method_name(IndexMethod method);

#endif							/* PGBULK_PLAN_H */
