/*
 * reject.h
 *		A bad row, and bad rows of one kind, as data.
 */
#ifndef PGBULK_REJECT_H
#define PGBULK_REJECT_H

#include "postgres.h"

#include "row/row_error.h"

/* Whether a row does not count as bad in limits and counts. */
static inline bool
reject_is_duplicate(RejectReason reason)
{
	return reason == REJECT_DUPLICATE || reason == REJECT_REPLACED;
}

/* A bad row.  What it points to must live only during rejects_add. */
typedef struct Reject
{
	RejectReason reason;
	int			sqlstate;		/* MAKE_SQLSTATE code */
	const char *message;		/* primary message, database encoding */
	const char *column;			/* column name, or NULL */
	const char *value;			/* field's text as read, or NULL */
	const char *file;			/* path, */
	int			file_number;	/* and number in the load's list */
	int64		line;			/* of the row's first byte, from 1 */
	int64		offset;			/* of the row's first byte in the file, from 0 */
	const char *raw;			/* the row's bytes as in the file, */
	size_t		raw_len;		/* line end excluded */
	size_t		raw_full_len;	/* line end included */
	/* instead of raw: the row of the table that was replaced, as text */
	const char *row;
} Reject;

/* Bad rows that are longer are not kept as samples. */
#define REJECT_SAMPLE_BYTES (32 * 1024)

/* Bad rows of one kind, for whoever suggests options that would accept them. */
typedef struct RejectSample
{
	const char *raw;			/* the row, with a NUL after it */
	uint32		raw_len;
	int64		line;			/* both as in Reject */
	const char *value;
} RejectSample;

/* A row's bytes for a sample; NULs may be among them. */
static inline char *
reject_sample_raw(MemoryContext context, const char *raw, uint32 length)
{
	char	   *copy = MemoryContextAlloc(context, (Size) length + 1);

	memcpy(copy, raw, length);
	copy[length] = '\0';
	return copy;
}

typedef struct RejectKind
{
	RejectReason reason;
	int			sqlstate;
	const char *message;		/* of one of the rows */
	const char *column;			/* or NULL */
	int64		nrows;			/* number of such rows */
	int			nsamples;
	const RejectSample *samples;	/* the first one, and perhaps others */
} RejectKind;

typedef struct RejectAdviser
{
	/* returns a HINT, or NULL */
	char	   *(*advise) (void *arg, const RejectKind *kind);
	void	   *arg;
} RejectAdviser;

/* Number of rejects of a load that are kept to be shown. */
#define REJECTS_FIRST 10

/* The HINT for a bad row that needs no trial, or NULL. */
extern const char *reject_general_hint(RejectReason reason, const char *message);

/* Whether the message of a REJECT_SYNTAX is about line ends of different kinds. */
extern bool reject_is_line_end(const char *message);

/* Whether such a line end has ended the row, of which it is not part then. */
extern bool reject_is_cut(const char *message);

/* Whether a value is one that people write for "no value". */
extern bool reject_looks_null(const char *value);

#endif							/* PGBULK_REJECT_H */
