/*
 * history_state.h
 *		What the history of a load consists of, for history*.c alone.
 */
#ifndef PGBULK_HISTORY_STATE_H
#define PGBULK_HISTORY_STATE_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "load/history_table.h"
#include "load/result.h"
#include "nodes/pg_list.h"
#include "option/options.h"
#include "scan/content_hash.h"
#include "stream/source.h"
#include "utils/rel.h"

/* What is known of a file, or of another source. */
typedef struct HistoryFile
{
	const char *path;
	char	   *path_text;		/* as it is stored */
	int			number;			/* among those that are loaded, from 1 */
	bool		is_file;		/* it is a regular one: */
	bool		unread;			/* its key is not known before it is loaded */
	FileStamp	stamp;
	ContentKey	key;			/* of the bytes before range.end */
	SourceRange range;
	IncompleteRow incomplete;	/* behind that, with option once set to tail; or no bytes */
	ContentKey *extra;			/* of what its path gives its rows (option extra), or NULL */
	const char *once_key;		/* what has been claimed; NULL without option once */
	bool		is_part;		/* a part is loaded: */
	ContentKey	part_of;		/* the key of all bytes */
	bool		passed_over;
} HistoryFile;

struct History				/* history.h */
{
	Oid			target;
	char	   *target_name;
	const BulkOptions *options;
	int			nfiles;
	int			nchosen;		/* of them, how many are loaded */
	HistoryFile *files;
	Datum		unlogged;		/* of an unlogged table: its column of that name; else 0 */
	bool		lost;			/* there are rows of what a crash has taken */
	List	   *tried;			/* of HistoryFile *: claimed by a dry run, and in no table */
};

/* Numbers of parameters, of a row's columns. */
#define HISTORY_TARGET 2
#define HISTORY_PATH 6
#define HISTORY_CONTENT 9
#define HISTORY_ONCE_KEY 11
#define HISTORY_PART_OF 12
#define HISTORY_EXTRA 13
#define HISTORY_UNLOGGED 14

extern Datum history_uuid(const ContentKey *key);
extern ContentKey history_key(Datum value);

/* In 32 digits. */
extern char *history_key_text(const ContentKey *key);

/* That of what a path gives the rows of its file, or NULL (HistoryFile). */
extern ContentKey *history_extra_key(const BulkOptions *options, const char *path,
									 const char *pattern);

/* A condition on a row: no more was skipped than so many rows. */
extern const char *history_skipped(int64 most);

/*
 * A condition on a row that has the bytes of a file: its rows are those of the file, as far as
 * their path gives them values.  Where the path is the same, these may have been asked for since.
 */
extern const char *history_same_rows(const char *path_text, const ContentKey *extra);

/*
 * Runs a statement with all columns of a row as parameters $1, $2 ...; before the load, result has
 * only zeroes and what is known.
 */
extern uint64 history_run_row(const struct History *history, const HistoryTable *table,
							  const HistoryFile *file, const LoadResult *result,
							  const char *sql);

/* Such statements: a new row, and the same of what has been claimed. */
extern StringInfo history_insert_text(const HistoryTable *table);
extern StringInfo history_update_text(const HistoryTable *table);

/*
 * Claims what once_key says, of the file's path; and of a content, or a part of it, of whatever
 * path that gives its rows the same values.  where may exclude what is known otherwise.  False: it
 * has been loaded before, maybe by another session just now.
 */
extern bool history_claim(const struct History *history, const HistoryTable *table,
						  const HistoryFile *file, const LoadResult *result, const char *where);

/* Sets is_file, and what follows; the key, too, or all but that. */
extern void history_read_file(HistoryFile *file);
extern void history_stamp_file(HistoryFile *file);

/* What a file is claimed by that is known by its content. */
extern const char *history_content_key(const HistoryFile *file);

/*
 * Of files that are to be loaded once by their content: has those unread that no other load can
 * have loaded, or load meanwhile, and all others not.  Waits for such loads of files of the same
 * sizes (history_sizes.c).
 */
extern void history_lock_sizes(struct History *history, const HistoryTable *table);

/* That a file which has been read since then has that size still, if it matters.  Error: 55000. */
extern void history_check_size(const HistoryFile *file, int64 locked);

/*
 * Sets lost; and unlogged, where a crash takes what is loaded (history_unlogged.c).  Error: with
 * option once 0A000 for a partitioned table of which it would take a part.
 */
extern void history_check_crash(struct History *history, Relation target);

/* A condition on a row: no crash has taken what it tells of; else nothing counts as loaded. */
extern const char *history_is_there(const HistoryTable *table);

/* Rows of what a crash has taken claim nothing any more: what once_key says, or all of a table. */
extern void history_release(const struct History *history, const HistoryTable *table,
							const HistoryFile *file, const LoadResult *result);
extern void history_release_all(const struct History *history, const HistoryTable *table);

/* Claims the files, or sets passed_over. */
extern void history_claim_files(struct History *history, const LoadResult *result);

#endif							/* PGBULK_HISTORY_STATE_H */
