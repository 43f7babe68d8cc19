/*
 * share_chunks.c
 *		See share_chunks.h.
 */
#include "postgres.h"

#include "load/share_chunks.h"
#include "miscadmin.h"
#include "reject/reject_queue.h"

/* Bytes of a chunk's bad rows that may wait for its turn. */
#define QUEUE_MAX (1024 * 1024)

/* Where a chunk has too few rows for the writer, the next ones are larger, up to this factor. */
#define CHUNK_GROWTH 16

/*
 * What can be read only once the leader reads, FEED_BYTES at a time.  While it is FEED_AHEAD chunks
 * for each process ahead it loads chunks itself.
 */
#define FEED_BYTES (64 * 1024)
#define FEED_AHEAD 4

/* The leader's progress, which the end of a subtransaction takes away. */
static void
show_progress(void *arg)
{
	Share	   *share = arg;
	const ShareLeader *leader = share->leader;

	if (leader != NULL)
		leader->show(leader->arg,
					 share->ring ? source_bytes(leader->source) :
					 share->parallel->cursor.passed,
					 share->parallel->rows_loaded,
					 share->parallel->rows_filtered);
}

/* Whether the leader has something to do that it can do only when it is alone. */
static bool
wants_alone(const Share *share)
{
	Writer	   *writer = share->batch->writer;

	return share->leader != NULL && writer->routine->wants_alone != NULL &&
		writer->routine->wants_alone(writer);
}

/* The leader tells of files that only others have opened, before a bad row of theirs may come. */
static void
begin_files(Share *share)
{
	const ShareLeader *leader = share->leader;
	int			file = share->parallel->cursor.file;

	/* with the one in move_on */
	pg_read_barrier();
	while (share->begun < file)
		leader->began(leader->arg, ++share->begun, share->chunks.files);
}

/*
 * The leader: stores rows that workers have handed over, up to this offset in
 * all that they hand over.  Unless they must be stored now, not those after
 * which it wants to be alone.
 */
static void
store_rows(Share *share, uint64 end, bool must)
{
	Writer	   *writer = share->batch->writer;
	char	   *message;

	while (share->rows != NULL && pg_atomic_read_u64(&share->rows->taken) < end &&
		   (must || !wants_alone(share)) &&
		   (message = parallel_rows_next(share->rows)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		begin_files(share);
		writer->routine->take_over(writer, message);
		parallel_rows_release(share->parallel, share->rows);
		show_progress(share);
	}
}

static void
receive_rejects(Share *share)
{
	const ShareLeader *leader = share->leader;

	parallel_receive(share->parallel, &share->received);
	reject_queue_drain(&share->received, leader->source->paths,
					   leader->rejects, &share->batch->context_row, share->journal,
					   leader->counts);
}

void
share_receive(void *arg)
{
	receive_rejects(arg);
	store_rows(arg, PG_UINT64_MAX, true);
}

/*
 * In one's turn, with limit_counts = loaded: whether the last row that is wanted may be in the
 * chunk.  What is left of it counts as if each byte were a good row.
 */
static bool
may_reach_limit(const Share *share)
{
	const Parallel *parallel = share->parallel;
	const Reader *reader = share->batch->reader;
	int64		offset;
	int64		line;
	int64		left;

	if (parallel->loaded_wanted < 0)
		return false;
	reader_place(reader, &offset, &line);
	left = reader->source->window.offset + reader->source->window.length - offset;
	if (share->batch->next < reader->result.nrows)
		left += reader->result.nrows - share->batch->next;
	return parallel->rows_loaded + share->batch->rows_loaded + left >= parallel->loaded_wanted;
}

/* Waits for the turn of the current chunk; false: the chunk is void. */
static bool
await_turn(void *arg)
{
	Share	   *share = arg;

	if (share->has_turn)
		return !share->parallel->stopped && !share->undone;
	share->has_turn = true;
	show_progress(share);
	if (!parallel_await(share->parallel, share->chunk.ticket,
						share->leader ? share_receive : NULL, share))
		return false;
	share->undone = may_reach_limit(share) || wants_alone(share);
	return !share->undone;
}

/* In one's turn: nobody goes on behind this place. */
static void
stop_at(Share *share, int64 offset, int64 line)
{
	/* who waits there for bytes would not let the others in */
	if (share->ring != NULL)
		ring_end(share->ring);
	parallel_stop(share->parallel, share->chunks.reader->source->current, offset, line);
}

/* In one's turn: bad rows of the chunk, and the journal, after all earlier ones. */
static void
send_rejects(Share *share)
{
	const ShareLeader *leader = share->leader;

	if (leader == NULL)
	{
		StringInfo	records = &share->journal->waiting;

		if (records->len > 0)
			reject_queue_add_records(&share->queue, records->data, records->len);
		resetStringInfo(records);
		parallel_send(share->parallel, share->queue.data, share->queue.len);
	}
	else
	{
		receive_rejects(share);
		Assert(share->received.len == 0);
		reject_queue_drain(&share->queue, leader->source->paths,
						   leader->rejects, &share->batch->context_row, share->journal,
						   leader->counts);
		journal_keep(share->journal);
		rejects_flush(leader->rejects);
	}
	resetStringInfo(&share->queue);
}

/* Bad rows that are too many to wait for the chunk's end. */
static void
bound_queue(Share *share)
{
	if (share->queue.len < QUEUE_MAX)
		return;
	guard_close(share->batch->guard);
	if (await_turn(share))
		send_rejects(share);
	else
		resetStringInfo(&share->queue);
}

static void
queue_reject(void *arg, const Reject *reject)
{
	Share	   *share = arg;

	reject_queue_add(&share->queue, share->chunks.reader->source->current, reject);
	bound_queue(share);
}

static void
queue_nulled(void *arg, const Reject *value)
{
	Share	   *share = arg;
	const Batch *batch = share->batch;
	const ScanRow *row = &batch->reader->rows[batch->next];

	reject_queue_set_null(&share->queue, share->chunks.reader->source->current, value,
						  batch->reader->data + row->start,
						  Min(row->end - row->start, BATCH_SHOWN_BYTES));
	bound_queue(share);
}

static const BatchSink queue_sink = {
	.reject = queue_reject,
	.nulled = queue_nulled,
	.caught = show_progress
};

/* Whether the chunk was not done to its end, and where not. */
static bool
find_stop(const Batch *batch, int64 *offset, int64 *line)
{
	const Reader *reader = batch->reader;
	const Window *window = &reader->source->window;

	if (batch->next < reader->result.nrows)
	{
		*offset = reader_offset(reader, batch->next);
		*line = reader_line(reader, batch->next);
		return true;
	}
	reader_place(reader, offset, line);
	return *offset != window->offset + window->length;
}

static char *
place_rows(void *arg, Size size)
{
	Share	   *share = arg;

	return parallel_rows_place(share->parallel, share->rows, size);
}

static void
send_rows(void *arg)
{
	Share	   *share = arg;

	parallel_rows_send(share->parallel, share->rows);
}

/* A worker, in its turn. */
static void
hand_over_rows(Share *share)
{
	Writer	   *writer = share->batch->writer;
	RowChannel	channel = {.place = place_rows, .send = send_rows, .arg = share};

	if (share->rows != NULL && share->leader == NULL)
		writer->routine->hand_over(writer, &channel);
}

/* With the bad rows, what becomes of the chunk's others. */
static void
count_of_file(Share *share)
{
	const Batch *batch = share->batch;
	const Source *source = share->chunks.reader->source;

	if (list_length(source->paths) > 1)
		reject_queue_add_rows(&share->queue, source->current, batch->rows_read,
							  batch->rows_filtered);
}

/* What must be in input order; then the rows are written. */
static void
commit_chunk(Share *share)
{
	Parallel   *parallel = share->parallel;
	Batch	   *batch = share->batch;
	Writer	   *writer = batch->writer;
	bool		in_turn = writer->routine->writes_in_turn(writer);
	uint64		rows_before = 0;
	int64		offset;
	int64		line;

	if (!await_turn(share))
	{
		const Window *chunk = &batch->reader->source->window;

		if (share->undone)
			stop_at(share, chunk->offset, chunk->line);
		parallel_pass(parallel, share->chunk.ticket);
		writer->routine->discard(writer);
		resetStringInfo(&share->queue);
		return;
	}

	/* what was said of later chunks is true only if this holds */
	if (parallel->rows_read != share->chunk.rows_before)
		elog(ERROR, "%lld rows were read, not %lld, in %llu chunks",
			 (long long) parallel->rows_read,
			 (long long) share->chunk.rows_before,
			 (unsigned long long) share->chunk.ticket - 1);
	share->few_rows = !writer->routine->reserve(writer);
	if (in_turn)
		writer->routine->write(writer);
	hand_over_rows(share);
	count_of_file(share);
	send_rejects(share);
	parallel->rows_read += batch->rows_read;
	parallel->rows_loaded += batch->rows_loaded;
	parallel->rows_filtered += batch->rows_filtered;
	if (find_stop(batch, &offset, &line))
		stop_at(share, offset, line);
	else if (share->ring != NULL)
		ring_release(share->ring, offset);
	if (share->rows != NULL)
		rows_before = pg_atomic_read_u64(&share->rows->written);
	parallel_pass(parallel, share->chunk.ticket);
	if (share->leader != NULL)
	{
		store_rows(share, rows_before, true);
		begin_files(share);
	}
	if (!in_turn)
		writer->routine->write(writer);
}

static void
load_chunk(Share *share)
{
	Batch	   *batch = share->batch;
	Reader	   *reader = batch->reader;

	share->has_turn = share->undone = false;
	batch->rows_read = batch->rows_loaded = batch->rows_filtered = 0;
	batch->yielded = false;
	batch->limit_left = share->chunk.rows_wanted;
	reader_take_chunk(reader, share->eol);
	while (!batch_finished(batch) && reader_rows(reader, reader->max_rows, false))
		batch_run(batch);
	commit_chunk(share);
	batch->next = PG_UINT32_MAX;
}

/* Values of sequences go to the rows in the order of the file. */
static void
prepare_rows(void *arg, uint32 rows)
{
	Share	   *share = arg;

	convert_reserve(share->batch->conv, rows);
}

/* The leader: the next bytes to their place in the ring, or the end. */
static void
feed(Share *share, char *place, Size space)
{
	Size		length = source_read(share->leader->source, place, Min(space, FEED_BYTES));

	if (length > 0)
		ring_advance(share->ring, length);
	else
		ring_end(share->ring);
}

/*
 * The leader: reads on into the ring.  False where there is none, or it has enough: for the
 * chunks to come or, where someone waits, no space for more.
 */
static bool
feed_ring(Share *share, bool awaited)
{
	Ring	   *ring = share->ring;
	int64		capacity = share->batch->reader->source->window.capacity;
	int64		ahead;
	Size		space;
	char	   *place;

	CHECK_FOR_INTERRUPTS();
	if (ring == NULL)
		return false;
	ahead = pg_atomic_read_u64(&ring->written) - share->parallel->cursor.offset;
	place = ring_place(ring, &space);
	if (pg_atomic_read_u32(&ring->ended) != 0 || space == 0 ||
		(!awaited && ahead >= (int64) FEED_AHEAD * share->processes * capacity))
		return false;
	feed(share, place, space);
	receive_rejects(share);
	return true;
}

void
share_feed_at_once(void *arg)
{
	Share	   *share = arg;
	Size		space;
	char	   *place = ring_place(share->ring, &space);

	if (space == 0)
		elog(ERROR, "no space for a chunk");
	feed(share, place, space);
}

/*
 * The next chunk.  The leader of a ring must never wait for another process
 * here, for that may wait for bytes.  Nor where it alone stores rows, for space
 * for these; and it takes a chunk only when there are none to store.
 */
static bool
take_chunk(Share *share)
{
	bool		busy;

	if (share->leader == NULL || (share->ring == NULL && share->rows == NULL))
		return parallel_take(share->parallel, &share->chunks, &share->chunk,
							 prepare_rows, share);
	for (;;)
	{
		receive_rejects(share);
		store_rows(share, PG_UINT64_MAX, false);
		if (feed_ring(share, false))
			continue;
		if (parallel_try_take(share->parallel, &share->chunks, &share->chunk,
							  prepare_rows, share, &busy))
			return true;
		if (!busy)
			return false;
		if (feed_ring(share, true))
			continue;
		parallel_linger(share->parallel);
	}
}

void
share_load_chunks(Share *share)
{
	Batch	   *batch = share->batch;
	Writer	   *writer = batch->writer;
	Source	   *source = batch->reader->source;

	share->largest_chunk = Min(CHUNK_MAX, (Size) source->window.capacity * CHUNK_GROWTH);
	writer->routine->begin_parallel(writer, share->processes, await_turn, share);
	/* where the leader alone stores rows, that is in their order */
	journal_hold(share->journal, share->rows == NULL);
	if (share->leader != NULL)
		parallel_pass(share->parallel, PARALLEL_FIRST_TICKET);
	while (take_chunk(share))
	{
		load_chunk(share);
		if (share->few_rows && source->window.capacity < share->largest_chunk)
			source_grow(source);
		show_progress(share);
	}
	journal_hold(share->journal, false);
	writer->routine->end_parallel(writer);
}

void
share_limit_batch(Batch *batch, Share *share)
{
	Guard	   *guard = batch->guard;

	batch->limited = true;
	batch->sink = &queue_sink;
	batch->sink_arg = share;
	batch->err = &batch->error;
	if (!guard->enabled)
		guard_enable(guard);
	guard->forbidden = !GUARD_IN_PARALLEL_MODE;
}
