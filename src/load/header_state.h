/*
 * header_state.h
 *		State of the header of the current file, shared by header.c and
 *		header_advice.c.
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
	Target	   *target;			/* header = map: sets its columns */
	Source	   *source;
	Reader	   *reader;
	RejectStream *rejects;
	Batch	   *batch;
	const Diagnosis *diagnosis;
	StringInfoData raw;			/* bytes of the current file's header */
	StringInfoData first;		/* those of the first file, with header = map */
} Header;

#endif							/* PGBULK_HEADER_STATE_H */
