/*
 * gain.h
 *		Which btrees are built faster here than by the server.
 *
 * Measured with 3 million rows, server's time by ours, with and without workers: integers and
 * timestamps 1.6 to 3.2, several that one number holds 1.6 to 4.7, as they are sorted as numbers;
 * keys that several rows share 3 to 27, as each is sorted once; texts that are all different in a
 * collation of the operating system's library 1.1 to 2.5, in C 1.2 to 3.1, by sort strings; in one
 * of ICU 2.0 to 2.7 by weights (weights.h), else 0.5 to 1.7, by how many of them begin with the
 * same characters; other integers and uuids 1.3 to 1.6, but 0.9 to 1.1 where the server has
 * workers; numeric, bytea and inet 1.0 to 1.5, by the server's own abbreviations.
 * With a few thousand rows the same but for texts that are all different: 0.8 to 1.0.  Before 17,
 * an index of a tiny table takes the server twice as long and more, as it syncs the file.
 */
#ifndef PGBULK_GAIN_H
#define PGBULK_GAIN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * Why the server is to build an index, whose table has so many blocks, or NULL.  Looks at some
 * rows, unless the table is tiny or the index has expressions or a predicate: these might throw an
 * error that is not the server's.
 */
extern const char *gain_refusal(Relation heap, Relation index, IndexInfo *info,
								BlockNumber nblocks);

#endif							/* PGBULK_GAIN_H */
