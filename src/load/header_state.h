/*
 * header_state.h
 *		What header.c and header_advice.c know of a file and its load.
 */
#ifndef PGBULK_HEADER_STATE_H
#define PGBULK_HEADER_STATE_H

#include "postgres.h"

#include "diagnose/diagnosis.h"
#include "format/reader.h"
#include "lib/stringinfo.h"
#include "load/batch.h"
#include "option/options.h"
#include "reject/rejects.h"
#include "table/target.h"

typedef struct Header
{
	const BulkOptions *options;
	Target	   *target;			/* header = map: its columns are set */
	Source	   *source;
	Reader	   *reader;
	RejectStream *rejects;
	Batch	   *batch;
	const Diagnosis *diagnosis;
	StringInfoData raw;			/* the bytes, of the file in hand */
	StringInfoData first;		/* those of the first file, with header = map */
} Header;

#endif							/* PGBULK_HEADER_STATE_H */
