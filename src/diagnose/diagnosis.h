/*
 * diagnosis.h
 *		Which options would mend bad rows: found by trying them on some of them.
 */
#ifndef PGBULK_DIAGNOSIS_H
#define PGBULK_DIAGNOSIS_H

#include "postgres.h"

#include "diagnose/diagnosis_state.h"
#include "format/reader.h"
#include "reject/reject.h"

/*
 * Keeps some of the first nrows rows of the reader's batch, which have had their turn: what would mend the
 * bad ones must not spoil those.
 */
extern void diagnosis_keep(Diagnosis *diagnosis, const Reader *reader, uint32 nrows);

/*
 * The options with which bad rows of one kind could be read, as a HINT; NULL where
 * none are known.  arg is a Diagnosis.  What they make of the rows is plausible: no row becomes NULL all
 * through (but by words for NULL, where other rows were loaded), none is taken for fewer fields than another
 * delimiter gives it, and rows that were loaded are not cut in another way for the sake of a few.  Nothing is
 * written; what a trial throws is caught.  Price: a conversion of each sample for each candidate, of which
 * there may be some hundreds.
 */
extern char *diagnosis_advise(void *arg, const RejectKind *kind);

/* Of a first line's fields (char *), how many are names of columns, and how many are so in the order of the table. */
extern void diagnosis_count_names(const Target *target, const List *fields, int *named, int *ordered);

/* Whether fields look like names: each begins with a letter, none stands for nothing or is there twice. */
extern bool diagnosis_are_words(const List *fields);

/*
 * The options alone, found in the same way but from some that are known already, and with them; NULL
 * where these cannot be, or quotes stand within fields.
 */
extern char *diagnosis_continue(const Diagnosis *diagnosis, const RejectKind *kind,
								const char *begun);

/*
 * The same as diagnosis_advise for a row of the reader's batch that ends the load.  Of the other rows of the batch, and those that were kept, some that
 * are bad in the same way are looked at with it, and the others are witnesses.  NULL, too, for a row of more than DIAGNOSIS_ROW_BYTES.
 */
extern char *diagnosis_of_row(Diagnosis *diagnosis, const Reader *reader, uint32 index,
							  RejectReason reason, const char *message);

#endif							/* PGBULK_DIAGNOSIS_H */
