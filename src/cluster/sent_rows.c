/*
 * sent_rows.c
 *		See sent_rows.h.
 */
#include "postgres.h"

#include "cluster/sent_rows.h"

void
sent_rows_begin(SentRows *sent, MemoryContext context, BufFile *spilled, const dlist_head *copied,
				const dlist_head *queue, const char *statement, int of_file)
{
	memset(sent, 0, sizeof(*sent));
	sent->context = context;
	sent->statement = statement;
	sent->of_file = of_file;
	sent->file = spilled;
	if (sent->file != NULL)
		row_buffer_rewind(sent->file);
	sent->list = copied;
	sent->queue = queue;
	sent->next = copied->head.next;
}

/* The next buffer in the file; false: there is none. */
static bool
next_spilled(SentRows *sent)
{
	if (sent->read != NULL)
		row_buffer_free(sent->read);
	sent->read = sent->file == NULL ? NULL : row_buffer_read(sent->context, sent->file);
	if (sent->read == NULL)
	{
		sent->file = NULL;
		return false;
	}
	row_places_begin(&sent->places, sent->read);
	return true;
}

/* The next buffer of the COPY; false: there is none. */
static bool
next_buffer(SentRows *sent)
{
	if (next_spilled(sent))
		return true;
	for (;;)
	{
		const RowBuffer *buffer;

		if (sent->next == &sent->list->head)
		{
			if (sent->queue == NULL || sent->list == sent->queue)
				return false;
			sent->list = sent->queue;
			sent->next = sent->list->head.next;
			continue;
		}
		buffer = dlist_container(RowBuffer, link, unconstify(dlist_node *, sent->next));
		sent->next = sent->next->next;
		if (!row_buffer_is_of(buffer, sent->statement, sent->of_file))
			continue;
		row_places_begin(&sent->places, buffer);
		return true;
	}
}

bool
sent_rows_next(SentRows *sent)
{
	while (!row_places_next(&sent->places))
		if (!next_buffer(sent))
			return false;
	return true;
}

void
sent_rows_end(SentRows *sent)
{
	if (sent->read != NULL)
		row_buffer_free(sent->read);
}
