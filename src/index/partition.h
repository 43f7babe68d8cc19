/*
 * partition.h
 *		Rows partitioned by the ranges of their keys (split.h), in temporary files.
 *
 * A range's file holds what came for it, in any order: of each group of rows (presort.h) the
 * image, the rows, and between them the sort string where that takes long to make; of integers
 * each row with its key.
 *
 * Which range it is, the sort string tells, and the operator class where that is the same as a
 * border's.  So equal keys are in one range.  That ranges follow one another holds as far as sort
 * strings are in order: whoever sorts a range has the presort verify it (PresortOptions.range).
 *
 * Price: each row is written and read once, with its key unless that goes on for several of
 * them, and a buffer for each range's file.
 */
#ifndef PGBULK_PARTITION_H
#define PGBULK_PARTITION_H

#include "postgres.h"

#include "index/presort.h"
#include "index/split.h"
#include "storage/buffile.h"

typedef struct Partition Partition;

/* Makes a range's file, when the first row comes for it. */
typedef BufFile *(*PartitionCreate) (void *arg, int range);

/* Bytes that a partition of so many ranges takes. */
extern Size partition_memory(const KeyShape *shape, int nranges);

/* The split must stay.  Memory, that of the files too: the current context. */
extern Partition *partition_open(Split *split, PartitionCreate create, void *arg);

/* Where an unsorted presort emits its groups or integers; stays as long as the partition. */
extern const KeySink *partition_sink(Partition *partition);

/* When all rows are in: writes what is left.  Returns how many there are. */
extern uint64 partition_finish(Partition *partition);

/* A range's file, for the caller to read and to close once; NULL: no row came for it. */
extern BufFile *partition_take_file(Partition *partition, int range);

/* Puts all that is in a file, from where it stands, into a presort. */
extern void partition_read(BufFile *file, const KeyShape *shape, Presort *presort);

#endif							/* PGBULK_PARTITION_H */
