/*
 * bulk_options.h
 *		The options of a load, as data.
 */
#ifndef PGBULK_BULK_OPTIONS_H
#define PGBULK_BULK_OPTIONS_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "option/fixed_fields.h"
#include "scan/scan.h"
#include "server/throttle.h"
#include "utils/jsonb.h"

typedef enum BulkFormat
{
	BULK_CSV,
	BULK_TEXT,
	BULK_BINARY,
	BULK_FIXED,
	BULK_JSON
} BulkFormat;

typedef enum BulkCompression
{
	BULK_COMPRESSION_NONE,
	BULK_COMPRESSION_GZIP,
	BULK_COMPRESSION_LZ4,
	BULK_COMPRESSION_ZSTD,
	BULK_COMPRESSION_AUTO		/* as the first bytes of the file say */
} BulkCompression;

typedef enum BulkHeader
{
	BULK_HEADER_SKIP,			/* false, true or n: header_lines to skip */
	BULK_HEADER_MATCH,			/* names must be those of the columns, in order */
	BULK_HEADER_MAP,			/* names determine which columns the file has */
	BULK_HEADER_AUTO			/* one of the others, found by detect_options */
} BulkHeader;

typedef enum BulkOnError
{
	BULK_ON_ERROR_STOP,
	BULK_ON_ERROR_IGNORE,
	BULK_ON_ERROR_SET_NULL
} BulkOnError;

typedef enum BulkOnDuplicate
{
	BULK_ON_DUPLICATE_ERROR,
	BULK_ON_DUPLICATE_KEEP_OLD,
	BULK_ON_DUPLICATE_KEEP_NEW,
	BULK_ON_DUPLICATE_MERGE		/* as BulkMerge says */
} BulkOnDuplicate;

/* A column that gets another value in the row that is there. */
typedef struct BulkMergeSet
{
	char	   *column;
	char	   *expression;		/* SQL text; NULL: the new row's value */
} BulkMergeSet;

/* How a row is merged with the one that has its key. */
typedef struct BulkMerge
{
	bool		all;			/* set all columns of the file */
	List	   *set;			/* of BulkMergeSet * */
	char	   *where;			/* SQL text: rows that are merged; NULL: all */
	char	   *remove;			/* SQL text: new rows that delete the other; NULL: none */
	List	   *key;			/* names of columns, or of a unique index; NIL: the primary key */
} BulkMerge;

typedef enum BulkUtf16
{
	BULK_UTF16_NONE,			/* except for UTF8 files with a UTF-16 byte order mark */
	BULK_UTF16_MARKED,			/* the byte order mark says which */
	BULK_UTF16_LITTLE,
	BULK_UTF16_BIG
} BulkUtf16;

typedef enum BulkInvalid
{
	BULK_INVALID_ERROR,
	BULK_INVALID_REJECT,
	BULK_INVALID_REPLACE
} BulkInvalid;

typedef enum BulkNewline
{
	BULK_NEWLINE_AUTO,			/* one kind per file, that of the first line */
	BULK_NEWLINE_ANY
} BulkNewline;

typedef enum BulkMissing
{
	BULK_MISSING_ERROR,
	BULK_MISSING_NULL,
	BULK_MISSING_DEFAULT
} BulkMissing;

/* Rows that come from the pgbulk of another server, which is told of bad ones (relay.h). */
typedef enum BulkRelay
{
	BULK_RELAY_OFF,
	BULK_RELAY_FIRST,			/* of duplicates of the first ones, and how many others there are */
	BULK_RELAY_ALL
} BulkRelay;

typedef enum BulkVerbosity
{
	BULK_VERBOSITY_SILENT,
	BULK_VERBOSITY_DEFAULT,
	BULK_VERBOSITY_VERBOSE
} BulkVerbosity;

typedef enum BulkWriterChoice
{
	BULK_WRITER_AUTO,
	BULK_WRITER_BUFFERED,
	BULK_WRITER_DIRECT
} BulkWriterChoice;

typedef enum BulkIndexes
{
	BULK_INDEXES_AUTO,
	BULK_INDEXES_INSERT,
	BULK_INDEXES_MERGE,
	BULK_INDEXES_REBUILD
} BulkIndexes;

/* By what a file is known that has been loaded before. */
typedef enum BulkOnce
{
	BULK_ONCE_NONE,				/* it is loaded again */
	BULK_ONCE_CONTENT,
	BULK_ONCE_PATH,
	BULK_ONCE_TAIL,				/* path; what was added since is loaded */
	BULK_ONCE_IMPORT,			/* path and import_id */
	BULK_ONCE_PART				/* content; the next part of it is loaded */
} BulkOnce;

/* A set of columns by name, or all of them ("*"). */
typedef struct BulkColumnSet
{
	bool		all;
	List	   *names;			/* of char *; NIL where all or none */
} BulkColumnSet;

/* The format of a column's dates, as a to_timestamp template. */
typedef struct BulkDateFormat
{
	char	   *column;
	char	   *template;
} BulkDateFormat;

typedef struct BulkOptions
{
	/* format */
	BulkFormat	format;
	char	   *delimiter;
	bool		delimiter_auto; /* to be found by detect_options */
	char		quote;
	char		escape;
	List	   *nulls;			/* of char *: every string that means NULL */
	char	   *default_marker; /* NULL: none */
	int			encoding;		/* of the files; pg_enc, never -1 */
	BulkUtf16	utf16;			/* the encoding if PG_UTF8 stands for UTF-16 */
	BulkCompression compression;
	BulkColumnSet force_null;
	BulkColumnSet force_not_null;
	BulkHeader	header;
	int			header_lines;
	bool		has_columns;	/* columns given; otherwise all that are not generated */
	List	   *columns;		/* of char *; a NULL element skips a file column */
	List	   *extra;			/* of BulkExtra *: columns that the file does not have */
	JsonbValue	fields_json;	/* fields of format fixed, as given */
	BulkFields *fields;			/* parsed; NULL: another format */
	int64		record_length;	/* 0: rows are lines */
	int			big_endian;		/* default for binary fields */
	int64		skip;			/* data rows to skip after the header */
	int64		limit;			/* data rows; -1: no limit */
	int			limit_loaded;	/* limit_counts = loaded: count only rows that are loaded */
	/* forgiving input */
	BulkNewline newline;
	int			invalid_bytes;	/* BulkInvalid, never -1 */
	char	   *comment;		/* prefix of comment lines; NULL: none */
	bool		ignore_extra;	/* extra_columns = ignore */
	BulkMissing missing;
	bool		has_trim;		/* trim given */
	BulkColumnSet trim;
	List	   *date_formats;	/* of BulkDateFormat * */
	char		decimal_mark;	/* '.': as the server has it */
	char	   *thousands_mark; /* one character; NULL: none */
	/* rows */
	char	   *where;			/* SQL text; NULL: none */
	char	   *transform;		/* a function, in regprocedure syntax; NULL: none */
	/* bad rows */
	BulkOnError on_error;
	int64		reject_limit;	/* rows; -1: no limit */
	double		reject_percent; /* of the rows read; < 0: no limit */
	char	   *reject_table;	/* as given; NULL: none */
	char	   *reject_file;	/* absolute path; NULL: none */
	BulkVerbosity log_verbosity;
	/* duplicates */
	BulkOnDuplicate on_duplicate;
	BulkMerge  *merge;			/* NULL: on_duplicate is a word */
	int64		duplicate_limit;	/* as reject_limit */
	double		duplicate_percent;
	double		progress;		/* seconds between progress NOTICEs; 0: none */
	ThrottleLimits limits;		/* for the sake of others */
	/* how rows are stored */
	BulkWriterChoice writer;
	int			workers;		/* -1: auto */
	BulkIndexes indexes;
	bool		truncate;
	bool		freeze;
	bool		analyze;
	bool		dry_run;		/* roll everything back */
	/* what is remembered of the load */
	int			history;		/* -1: as the setting says */
	BulkOnce	once;
	char	   *import_id;		/* of BULK_ONCE_IMPORT */
	int64		part_bytes;		/* these two: of BULK_ONCE_PART; one is 0 */
	int64		part_rows;
	/* the source, if it is not files */
	char	   *query;			/* SQL text; NULL: files */
	bool		manifest;		/* paths are those of manifests */
	List	   *patterns;		/* of char *: for each file the path that was given; or NIL */
	List	   *listed;			/* of ListedFile *: what manifests say of each; or NIL */
	bool		by_copy;		/* the statement is COPY */
	bool		plain;			/* and has no option of ours: its outcome is that of the server's */
	BulkRelay	relay;
	Node	   *where_clause;	/* its WHERE as parsed, instead of `where`; or NULL */
	const char *statement;		/* its text, for positions in that */
	/* as given, for workers to parse again; may be NULL */
	Jsonb	   *json;
	Jsonb	   *detected;		/* those found by detect_options; or NULL */
} BulkOptions;

/* Whether all rows that are set aside are shown somewhere, and not only the first ones. */
static inline bool
options_show_rejects(const BulkOptions *options)
{
	return options->reject_table != NULL || options->reject_file != NULL ||
		options->relay == BULK_RELAY_ALL || options->log_verbosity == BULK_VERBOSITY_VERBOSE;
}

/* The same for rows of the table that are replaced. */
static inline bool
options_show_replaced(const BulkOptions *options)
{
	return options->reject_table != NULL || options->relay == BULK_RELAY_ALL;
}

#endif							/* PGBULK_BULK_OPTIONS_H */
