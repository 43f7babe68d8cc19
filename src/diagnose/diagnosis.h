/*
 * diagnosis.h
 *		Finds options that would accept bad rows, by trying them on samples.
 */
#ifndef PGBULK_DIAGNOSIS_H
#define PGBULK_DIAGNOSIS_H

#include "postgres.h"

#include "diagnose/diagnosis_state.h"
#include "format/reader.h"
#include "reject/reject.h"

/*
 * Keeps some of the first nrows rows of the reader's batch, which have been
 * processed: options suggested for bad rows must not break these.
 */
extern void diagnosis_keep(Diagnosis *diagnosis, const Reader *reader, uint32 nrows);

/*
 * The options by which bad rows of one kind could be read, as a HINT; NULL if
 * none are found.  arg is a Diagnosis.  The result is plausible: no row becomes
 * all NULL (except by null strings, if other rows were loaded), none is split
 * into fewer fields than by another delimiter, and rows that were loaded are
 * not split differently for the sake of a few.  Nothing is written; errors
 * raised by trials are caught.  Price: the conversion of each sample for each
 * of perhaps some hundred candidates.
 */
extern char *diagnosis_advise(void *arg, const RejectKind *kind);

/*
 * Counts the fields (char *) of a first line that are column names, and those
 * of them at their column's position.
 */
extern void diagnosis_count_names(const Target *target, const List *fields, int *named,
								  int *ordered);

/*
 * Whether fields look like names: each starts with a letter, none is a null
 * string or occurs twice.
 */
extern bool diagnosis_are_words(const List *fields);

/*
 * The HINT for a header line, where the reader's window begins with JSON objects instead; NULL
 * if it does not.
 */
extern char *diagnosis_of_header(const Diagnosis *diagnosis, const Reader *reader);

/* The same by the beginning of a file that the diagnosis has. */
extern char *diagnosis_of_beginning(const Diagnosis *diagnosis);

/*
 * The options alone, found in the same way, but starting from some that are
 * known, which are included; NULL if these are not valid, or quotes occur
 * within fields.
 */
extern char *diagnosis_continue(const Diagnosis *diagnosis, const RejectKind *kind,
								const char *begun);

/*
 * The same as diagnosis_advise for a row of the reader's batch that ends the
 * load.  Of the other rows of the batch and those that were kept, some with the
 * same error are examined with it, and the others are witnesses.  NULL also for
 * a row of more than REJECT_SAMPLE_BYTES.
 */
extern char *diagnosis_of_row(Diagnosis *diagnosis, const Reader *reader, uint32 index,
							  RejectReason reason, const char *message);

#endif							/* PGBULK_DIAGNOSIS_H */
