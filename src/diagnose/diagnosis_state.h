/*
 * diagnosis_state.h
 *		What a diagnosis knows of the load: its options, and rows that were good.
 */
#ifndef PGBULK_DIAGNOSIS_STATE_H
#define PGBULK_DIAGNOSIS_STATE_H

#include "postgres.h"

#include "option/options.h"
#include "table/target.h"

/* Rows of the load that are kept, good ones for the most part, and bytes of one. */
#define DIAGNOSIS_ROWS 64
#define DIAGNOSIS_ROW_BYTES 4096

typedef struct DiagnosisRow
{
	char	   *data;
	uint32		length;
	int64		line;
} DiagnosisRow;

typedef struct Diagnosis
{
	const BulkOptions *options; /* those of the load */
	const Target *target;		/* open, its columns known */
	MemoryContext context;		/* of what is kept */
	bool		is_retry;		/* rows come from a reject table: there is no header */
	bool		ends_load;		/* the bad row does: nothing stays of what was loaded */
	int64		rows_loaded;
	uint64		batches;		/* that rows were kept of */
	int			nrows;
	DiagnosisRow rows[DIAGNOSIS_ROWS];
} Diagnosis;

#endif							/* PGBULK_DIAGNOSIS_STATE_H */
