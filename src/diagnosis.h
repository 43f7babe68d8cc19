/*
 * diagnosis.h
 *		Which option would mend bad rows: found by trying it on some of them.
 */
#ifndef PGBULK_DIAGNOSIS_H
#define PGBULK_DIAGNOSIS_H

#include "postgres.h"

#include "options.h"
#include "rejects.h"
#include "target.h"

typedef struct Diagnosis
{
	const BulkOptions *options; /* those of the load */
	const Target *target;		/* open, its columns known */
} Diagnosis;

/*
 * The options with which bad rows of one kind could be read, as a HINT; NULL where
 * none are known.  arg is a Diagnosis.  Nothing is written; what a trial throws
 * is caught.  Price: a conversion of each sample for each candidate, of which
 * there may be a hundred.
 */
extern char *diagnosis_advise(void *arg, const RejectKind *kind);

#endif							/* PGBULK_DIAGNOSIS_H */
