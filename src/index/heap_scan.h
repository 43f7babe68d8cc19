/*
 * heap_scan.h
 *		A table's rows for an index that is built, a page at a time.
 *
 * The server's own scan for index builds asks for each row what a concurrent world may
 * have done to it.  Here nobody but this transaction writes the table, and most pages
 * hold nothing but rows that live and have no history: those are copied under one
 * lock and read from the copy.  Any other page is left to the server's scan.
 */
#ifndef PGBULK_HEAP_SCAN_H
#define PGBULK_HEAP_SCAN_H

#include "postgres.h"

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "storage/bufpage.h"

/*
 * Calls back for the rows of nblocks blocks from first on as
 * table_index_build_range_scan does, by block.  The caller's transaction holds a
 * lock that excludes writers and VACUUM.  Returns the number of live rows.
 */
extern double heap_scan_rows(Relation heap, Relation index, IndexInfo *info,
							 BlockNumber first, BlockNumber nblocks,
							 IndexBuildCallback callback, void *state);

/*
 * Takes all rows of a page, which live, at once, from a copy of the page that is the callee's until
 * it returns.  Returns how many these are.
 */
typedef int (*HeapScanPageCallback) (BlockNumber block, Page page, void *state);

/* The same for an index without predicate, with most pages as such; page NULL: row by row. */
extern double heap_scan_pages(Relation heap, Relation index, IndexInfo *info,
							  BlockNumber first, BlockNumber nblocks,
							  IndexBuildCallback callback, HeapScanPageCallback page,
							  void *state);

/* heap_scan_rows for one block, of which progress says nothing: for a sample. */
extern void heap_scan_block(Relation heap, Relation index, IndexInfo *info,
							BlockNumber block, IndexBuildCallback callback, void *state);

/*
 * Rows that came to the table otherwise while it was loaded, by a function or a trigger of
 * this session, have entries already.  Error: 55000 unless as many were found as were loaded.
 */
extern void heap_scan_check(Relation heap, double found, int64 loaded);

/* That error, where such a row is met in another way. */
extern void heap_scan_raise_written(Relation heap, const char *detail);

#endif							/* PGBULK_HEAP_SCAN_H */
