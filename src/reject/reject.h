/*
 * reject.h
 *		A bad row, and bad rows that are alike, as data.
 */
#ifndef PGBULK_REJECT_H
#define PGBULK_REJECT_H

#include "postgres.h"

#include "row/row_error.h"

/* One bad row.  Pointers need to live only during rejects_add. */
typedef struct Reject
{
	RejectReason reason;
	int			sqlstate;		/* MAKE_SQLSTATE code */
	const char *message;		/* primary message, database encoding */
	const char *column;			/* column name, or NULL */
	const char *value;			/* field's text as read, or NULL */
	const char *file;			/* path */
	int64		line;			/* of the row's first byte, from 1 */
	int64		offset;			/* of the row's first byte in the file, from 0 */
	const char *raw;			/* the row's bytes as they stand in the file, */
	size_t		raw_len;		/* line end excluded */
	size_t		raw_full_len;	/* line end included */
	const char *row;			/* instead of raw: a row of the table, as text, that
								 * the input's row has replaced */
} Reject;

/* Bad rows that are alike, for someone who knows what would mend them. */
typedef struct RejectSample
{
	const char *raw;			/* the row, with a NUL after it */
	uint32		raw_len;
	int64		line;			/* both as in Reject */
	const char *value;
} RejectSample;

typedef struct RejectKind
{
	RejectReason reason;
	int			sqlstate;
	const char *message;		/* of one of them */
	const char *column;			/* or NULL */
	int64		nrows;			/* all of them */
	int			nsamples;
	const RejectSample *samples;	/* the first one, and any others */
} RejectKind;

typedef struct RejectAdviser
{
	/* what to say of them, as a HINT, or NULL */
	char	   *(*advise) (void *arg, const RejectKind *kind);
	void	   *arg;
} RejectAdviser;

/* How many of a load are kept to be shown. */
#define REJECTS_FIRST 10

/* The text, or its first max bytes (whole characters) and "...". */
extern char *reject_clip(const char *text, int max);

/* What can be said of a bad row without a trial, or NULL. */
extern const char *reject_general_hint(RejectReason reason, const char *message);

/* Whether a value is what people write for "nothing". */
extern bool reject_looks_null(const char *value);

#endif							/* PGBULK_REJECT_H */
