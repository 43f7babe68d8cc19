/*
 * feed.c
 *		See feed.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "index/feed.h"

static void
take_key(void *arg, const char *image, Size size, bool equal)
{
	Feed	   *feed = arg;
	IndexTuple	tuple;

	feed->image = image;
	if (!equal)
	{
		feed->judged = feed->unique &&
			(feed->nulls_not_distinct || !shape_has_null(feed->shape, image));
		feed->living = 0;
		feed->noted = false;
	}
	/* before its tuple goes */
	btree_end_key(feed->btree);
	tuple = shape_tuple(feed->shape, image);
	if (feed->merge != NULL && !equal &&
		merge_key(feed->merge, image, tuple, feed->judged ? &feed->living : NULL))
		return;
	btree_key(feed->btree, tuple);
}

/* Another living row has the key. */
static void
take_duplicate(Feed *feed, RowId row)
{
	const ConflictSink *sink = feed->conflicts;

	if (sink == NULL)
		elog(ERROR, "rows of \"%s\" have a key in common that was settled before",
			 RelationGetRelationName(feed->index));
	if (!feed->noted)
		sink->note(sink->arg, feed->ngroups++, feed->living);
	sink->note(sink->arg, feed->ngroups - 1, row);
	feed->noted = true;
}

static void
take_rows(void *arg, const RowId *rows, uint32 n)
{
	Feed	   *feed = arg;

	if (feed->judged)
		for (uint32 i = 0; i < n; i++)
		{
			if (!row_alive(rows[i]))
				continue;
			if (feed->living != 0)
				take_duplicate(feed, rows[i]);
			else
				feed->living = rows[i];
		}
	btree_rows(feed->btree, rows, n);
}

void
feed_init(Feed *feed, Relation index, IndexInfo *info, Shape *shape,
		  const ConflictSink *conflicts)
{
	memset(feed, 0, sizeof(Feed));
	feed->index = index;
	feed->shape = shape;
	feed->unique = info->ii_Unique &&
		(conflicts != NULL || index->rd_index->indimmediate);
	feed->nulls_not_distinct = info->ii_NullsNotDistinct;
	feed->conflicts = conflicts;
}

KeySink
feed_sink(Feed *feed)
{
	return (KeySink) {.key = take_key,.rows = take_rows,.arg = feed};
}
