/*
 * reject_queue.c
 *		See reject_queue.h.
 *
 * An entry is a fixed part followed by its strings, each terminated by a zero
 * byte.
 */
#include "postgres.h"

#include "reject/reject_queue.h"

typedef struct QueueEntry
{
	uint64		size;			/* of the entry, including this part */
	bool		is_null;		/* of reject_queue_set_null; else a bad row, */
	bool		is_records;		/* or records, */
	bool		is_rows;		/* or of reject_queue_add_rows */
	bool		has_column;
	bool		has_value;
	RejectReason reason;
	int			sqlstate;
	int			file;
	int64		line;
	int64		offset;
	uint64		raw_len;
	uint64		raw_full_len;
	int64		rows_read;
	int64		rows_filtered;
} QueueEntry;

static void
add_string(StringInfo queue, const char *text)
{
	if (text != NULL)
		appendBinaryStringInfo(queue, text, strlen(text) + 1);
}

/* Sets the entry's size, when all its strings have been appended. */
static void
finish_entry(StringInfo queue, int start)
{
	uint64		size = queue->len - start;

	memcpy(queue->data + start + offsetof(QueueEntry, size), &size, sizeof(size));
}

void
reject_queue_add(StringInfo queue, int file, const Reject *reject)
{
	int			start = queue->len;
	QueueEntry	entry = {
		.has_column = reject->column != NULL,
		.has_value = reject->value != NULL,
		.reason = reject->reason,
		.sqlstate = reject->sqlstate,
		.file = file,
		.line = reject->line,
		.offset = reject->offset,
		.raw_len = reject->raw_len,
		.raw_full_len = reject->raw_full_len
	};

	appendBinaryStringInfo(queue, (char *) &entry, sizeof(entry));
	add_string(queue, reject->message);
	add_string(queue, reject->column);
	add_string(queue, reject->value);
	appendBinaryStringInfo(queue, reject->raw, reject->raw_full_len);
	finish_entry(queue, start);
}

void
reject_queue_set_null(StringInfo queue, int file, const Reject *value, const char *raw,
					  Size raw_len)
{
	int			start = queue->len;
	QueueEntry	entry = {
		.is_null = true,
		.has_column = true,
		.has_value = value->value != NULL,
		.file = file,
		.line = value->line,
		.offset = value->offset,
		.raw_len = raw_len
	};

	appendBinaryStringInfo(queue, (char *) &entry, sizeof(entry));
	add_string(queue, value->column);
	add_string(queue, value->value);
	appendBinaryStringInfo(queue, raw, raw_len);
	finish_entry(queue, start);
}

void
reject_queue_add_records(StringInfo queue, const char *data, Size len)
{
	int			start = queue->len;
	QueueEntry	entry = {.is_records = true, .raw_len = len};

	appendBinaryStringInfo(queue, (char *) &entry, sizeof(entry));
	appendBinaryStringInfo(queue, data, len);
	finish_entry(queue, start);
}

void
reject_queue_add_rows(StringInfo queue, int file, int64 read, int64 filtered)
{
	QueueEntry	entry = {
		.size = sizeof(entry),
		.is_rows = true,
		.file = file,
		.rows_read = read,
		.rows_filtered = filtered
	};

	appendBinaryStringInfo(queue, (char *) &entry, sizeof(entry));
}

static const char *
take_string(const char **p, bool has)
{
	const char *text = *p;

	if (!has)
		return NULL;
	*p += strlen(text) + 1;
	return text;
}

static void
take_entry(const QueueEntry *entry, const char *p, List *paths,
		   RejectStream *rejects, const Reject **context_row)
{
	Reject		reject = {
		.reason = entry->reason,
		.sqlstate = entry->sqlstate,
		.file = list_nth(paths, entry->file),
		.file_number = entry->file,
		.line = entry->line,
		.offset = entry->offset,
		.raw_len = entry->raw_len,
		.raw_full_len = entry->raw_full_len
	};

	reject.message = take_string(&p, !entry->is_null);
	reject.column = take_string(&p, entry->has_column);
	reject.value = take_string(&p, entry->has_value);
	reject.raw = p;
	*context_row = &reject;
	if (entry->is_null)
		rejects_set_null(rejects, &reject);
	else
		rejects_add(rejects, &reject);
	*context_row = NULL;
}

static void
count_rows(const QueueEntry *entry, FileCounts *counts)
{
	if (counts == NULL)
		return;
	counts[entry->file].read += entry->rows_read;
	counts[entry->file].filtered += entry->rows_filtered;
}

void
reject_queue_drain(StringInfo queue, List *paths, RejectStream *rejects,
				   const Reject **context_row, Journal *journal, FileCounts *counts)
{
	int			done = 0;
	QueueEntry	entry;

	while (queue->len - done >= sizeof(entry))
	{
		memcpy(&entry, queue->data + done, sizeof(entry));
		if (queue->len - done < entry.size)
			break;
		if (entry.is_records)
			journal_receive(journal, queue->data + done + sizeof(entry),
							entry.raw_len);
		else if (entry.is_rows)
			count_rows(&entry, counts);
		else
			take_entry(&entry, queue->data + done + sizeof(entry), paths,
					   rejects, context_row);
		done += entry.size;
	}
	if (done > 0)
	{
		memmove(queue->data, queue->data + done, queue->len - done);
		queue->len -= done;
	}
}
