/*
 * reject_file.c
 *		The reject file, which gets bad rows unchanged, and its log.
 *
 * Both are written through the server's fd layer, which closes and so flushes
 * them when the transaction aborts: what was written survives.
 *
 * Existing contents are kept until there is something to write, or until the
 * load succeeds: they may be all that is left of an earlier load's bad rows,
 * and a load that fails without bad rows has nothing to replace them with.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "server/text_clip.h"
#include "storage/fd.h"
#include "utils/acl.h"

#include "reject/reject_parts.h"

/* The trailer of PostgreSQL's binary format. */
static const char binary_trailer[] = {'\xff', '\xff'};

struct RejectFile
{
	char	   *path;
	FILE	   *file;
	char	   *log_path;
	FILE	   *log;
	StringInfoData line;		/* the log's next line */
	bool		begun;			/* both files contain rows of this load */
	bool		binary;
	int64		record_length;	/* of each row; 0: varying */
	StringInfoData header;		/* empty: none */
	char		newline[2];		/* the input's most recent line end */
	int			newline_len;
};

static void
check_permission(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to write a reject file"),
				 errdetail("Only roles with privileges of the \"%s\" role may write files on the server.",
						   "pg_write_server_files"),
				 errhint("The option \"reject_table\" needs no such privilege.")));
}

/* Different names may lead to the same file: compare the files themselves. */
static void
check_not_input(const char *path, const struct stat *found, List *inputs)
{
	ListCell   *lc;

	foreach(lc, inputs)
	{
		const char *input = lfirst(lc);
		struct stat st;

		if (stat(input, &st) == 0 &&
			st.st_dev == found->st_dev && st.st_ino == found->st_ino)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("reject file \"%s\" is the input file \"%s\"",
							path, input)));
	}
}

static void
check_kind(const char *path, const struct stat *found, List *inputs)
{
	if (S_ISDIR(found->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a directory", path)));
	if (!S_ISREG(found->st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	check_not_input(path, found, inputs);
}

/*
 * Opens path for writing.  The file is checked before the open, which would
 * block on a FIFO, and again after it, as only then it is certain which file
 * was opened.
 */
static FILE *
open_stream(const char *path, List *inputs, struct stat *st)
{
	FILE	   *file;
	mode_t		umask_before;

	if (stat(path, st) == 0)
		check_kind(path, st, inputs);

	umask_before = umask(S_IWGRP | S_IWOTH);
	PG_TRY();
	{
		file = AllocateFile(path, "a");
	}
	PG_FINALLY();
	{
		umask(umask_before);
	}
	PG_END_TRY();
	if (file == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open reject file \"%s\" for writing: %m",
						path)));

	if (fstat(fileno(file), st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	check_kind(path, st, inputs);
	return file;
}

RejectFile *
reject_file_open(const BulkOptions *options, List *inputs)
{
	RejectFile *file = palloc0(sizeof(RejectFile));
	struct stat st;
	struct stat log_st;

	check_permission();
	file->path = pstrdup(options->reject_file);
	canonicalize_path(file->path);
	if (!is_absolute_path(file->path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("relative path not allowed for reject file")));
	file->log_path = psprintf("%s.log", file->path);
	file->binary = options_is_raw(options);
	file->record_length = options->record_length;
	file->newline[0] = '\n';
	file->newline_len = 1;
	initStringInfo(&file->line);
	initStringInfo(&file->header);

	file->file = open_stream(file->path, inputs, &st);
	file->log = open_stream(file->log_path, inputs, &log_st);
	if (st.st_dev == log_st.st_dev && st.st_ino == log_st.st_ino)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reject file \"%s\" and its log \"%s\" are the same file",
						file->path, file->log_path)));
	return file;
}

static void
write_bytes(FILE *stream, const char *path, const char *data, size_t len)
{
	if (fwrite(data, 1, len, stream) != len)
	{
		if (errno == 0)
			errno = ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", path)));
	}
}

/* If the last line lacks its line end, it gets that of the other lines. */
static void
write_line(RejectFile *file, const char *raw, size_t len, size_t full_len)
{
	errno = 0;
	write_bytes(file->file, file->path, raw, full_len);
	if (file->binary)
		return;
	if (full_len == len)
		write_bytes(file->file, file->path, file->newline, file->newline_len);
	else
	{
		file->newline_len = Min(full_len - len, sizeof(file->newline));
		memcpy(file->newline, raw + len, file->newline_len);
	}
}

void
reject_file_header(RejectFile *file, const char *raw, size_t len)
{
	if (file->header.len == 0)
		appendBinaryStringInfo(&file->header, raw, len);
}

static void
empty_stream(FILE *stream, const char *path)
{
	if (ftruncate(fileno(stream), 0) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not truncate file \"%s\": %m", path)));
}

/* Replaces the existing contents of both files. */
static void
begin_files(RejectFile *file)
{
	size_t		len = file->header.len;
	const char *raw = file->header.data;
	size_t		text = len;

	if (file->begun)
		return;
	empty_stream(file->file, file->path);
	empty_stream(file->log, file->log_path);
	file->begun = true;
	if (len == 0)
		return;
	if (!file->binary)
	{
		if (text > 0 && raw[text - 1] == '\n')
			text--;
		if (text > 0 && raw[text - 1] == '\r')
			text--;
	}
	write_line(file, raw, text, len);
}

/* Appends text without line breaks. */
static void
append_sanitized(StringInfo line, const char *text)
{
	const char *run = text;
	const char *p;

	for (p = text; *p != '\0'; p++)
	{
		unsigned char c = *p;

		if (c >= ' ' && c != 0x7f)
			continue;
		appendBinaryStringInfo(line, run, p - run);
		run = p + 1;
		if (c == '\n')
			appendStringInfoString(line, "\\n");
		else if (c == '\r')
			appendStringInfoString(line, "\\r");
		else if (c == '\t')
			appendStringInfoString(line, "\\t");
		else
			appendStringInfo(line, "\\x%02x", c);
	}
	appendBinaryStringInfo(line, run, p - run);
}

/* Whether the message does not already name the column. */
static bool
needs_column(const Reject *reject)
{
	const char *found;

	if (reject->column == NULL || reject->value != NULL)
		return reject->column != NULL;
	found = strstr(reject->message, reject->column);
	return found == NULL || found == reject->message || found[-1] != '"' ||
		found[strlen(reject->column)] != '"';
}

/* Texts near the size limit of a string cannot be combined with others. */
static bool
fits_log(const Reject *reject)
{
	size_t		size = strlen(reject->message) +
		(reject->value != NULL ? strlen(reject->value) : 0);

	return size < MaxAllocSize / 8;
}

static void
log_reject(RejectFile *file, const Reject *reject)
{
	StringInfo	line = &file->line;
	bool		fits = fits_log(reject);
	char		number[32];

	resetStringInfo(line);
	append_sanitized(line, reject->file);
	appendBinaryStringInfo(line, number,
						   sprintf(number, ":%lld: ", (long long) reject->line));
	appendStringInfoString(line, reject_reason_names[reject->reason]);
	appendBinaryStringInfo(line, ": ", 2);
	append_sanitized(line, fits ? reject->message :
					 text_clip_string(reject->message, 1000));
	if (needs_column(reject))
	{
		appendStringInfoString(line, " (column \"");
		append_sanitized(line, reject->column);
		if (reject->value != NULL)
		{
			appendStringInfoString(line, "\": \"");
			append_sanitized(line, fits ? reject->value :
							 text_clip_string(reject->value, 1000));
		}
		appendStringInfoString(line, "\")");
	}
	appendStringInfoChar(line, '\n');
	errno = 0;
	write_bytes(file->log, file->log_path, line->data, line->len);
}

void
reject_file_put(RejectFile *file, const Reject *reject)
{
	begin_files(file);

	/*
	 * A replaced row is not part of the input; and after a record that is too
	 * short, all others would be misaligned.
	 */
	if (reject->reason != REJECT_REPLACED &&
		(file->record_length == 0 || reject->raw_full_len == file->record_length))
		write_line(file, reject->raw, reject->raw_len, reject->raw_full_len);
	log_reject(file, reject);
}

static void
flush_stream(FILE *stream, const char *path)
{
	if (fflush(stream) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", path)));
}

void
reject_file_flush(RejectFile *file)
{
	flush_stream(file->file, file->path);
	flush_stream(file->log, file->log_path);
}

static void
close_stream(FILE *stream, const char *path)
{
	flush_stream(stream, path);
	if (pg_fsync(fileno(stream)) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", path)));
	if (FreeFile(stream) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", path)));
}

void
reject_file_close(RejectFile *file)
{
	begin_files(file);
	if (file->binary && file->header.len > 0)
		write_bytes(file->file, file->path, binary_trailer,
					sizeof(binary_trailer));
	close_stream(file->file, file->path);
	close_stream(file->log, file->log_path);
}
