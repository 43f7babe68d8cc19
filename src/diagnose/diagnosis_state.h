/*
 * diagnosis_state.h
 *		What a diagnosis needs of the load: its options, and some of its
 *		rows.
 */
#ifndef PGBULK_DIAGNOSIS_STATE_H
#define PGBULK_DIAGNOSIS_STATE_H

#include "postgres.h"

#include "option/options.h"
#include "table/target.h"

/* Number of rows kept, most of them good, and maximum length of each. */
#define DIAGNOSIS_ROWS 64
#define DIAGNOSIS_ROW_BYTES 4096

/* How much is kept of the beginning of the first file. */
#define DIAGNOSIS_BEGINNING_BYTES (64 * 1024)

typedef struct DiagnosisRow
{
	char	   *data;
	uint32		size;			/* bytes allocated */
	uint32		length;
	int64		line;
} DiagnosisRow;

typedef struct Diagnosis
{
	const BulkOptions *options; /* those of the load */
	Target	   *target;			/* open, its columns known */
	MemoryContext context;		/* of the rows that are kept */
	bool		is_retry;		/* rows come from a reject table: there is no header */
	bool		ends_load;		/* the bad row does: nothing that was loaded remains */
	int64		rows_loaded;
	int			joined;			/* READER_JOINED_*: rows that were cut, as others were in them */
	uint64		batches;		/* number of batches sampled */
	char	   *beginning;		/* of the first file, with SCAN_PADDING; NULL: it is not known */
	uint32		beginning_length;
	bool		beginning_is_all;	/* the file has no more */
	int			nrows;
	DiagnosisRow rows[DIAGNOSIS_ROWS];
} Diagnosis;

#endif							/* PGBULK_DIAGNOSIS_STATE_H */
