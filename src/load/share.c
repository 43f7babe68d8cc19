/*
 * share.c
 *		See share.h.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_proc.h"
#include "cluster/nodes_share.h"
#include "format/transform.h"
#include "load/share.h"
#include "load/share_chunks.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "row/computation.h"
#include "row/constraints.h"
#include "row/type_parts.h"
#include "server/compat.h"
#include "server/workers.h"
#include "storage/dsm.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/shm_toc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "write/handover.h"

#define KEY_SHARED UINT64CONST(1)
#define KEY_PARALLEL UINT64CONST(2)
#define KEY_PATHS UINT64CONST(3)
#define KEY_OPTIONS UINT64CONST(4)
#define KEY_ATTNUMS UINT64CONST(5)
#define KEY_WHERE UINT64CONST(6)
#define KEY_RING UINT64CONST(7)
#define KEY_FILES UINT64CONST(8)
#define KEY_HEADER UINT64CONST(9)
#define KEY_WRITER UINT64CONST(10)
#define KEY_ROWS UINT64CONST(11)
#define KEY_PATTERNS UINT64CONST(12)
#define KEY_FOREIGN_KEYS UINT64CONST(13)

/* A worker starts for no less than this many chunks. */
#define CHUNKS_PER_WORKER 4

/*
 * Chunks of the largest kind that a ring has space for beside the current one of each process: the
 * one that is being read, and one more.
 */
#define RING_SPARE 2

/* Where only the leader can store rows: space for those of each process, and for this many more. */
#define ROWS_SPARE 2
#define ROWS_BYTES (2 * ROW_CHANNEL_MAX)

/* What workers must know, in shared memory. */
typedef struct Shared
{
	Oid			relid;
	int64		load_id;
	Size		writer_size;	/* bytes at KEY_WRITER */
	int			nfields;
	int			file;			/* the first one's number */
	int			last_file;
	uint32		header_length;
	int64		first_line;
	Size		chunk_size;
	ScanEol		eol;
	int			encoding;		/* of the file: a worker has none of its client's */
	bool		by_copy;
	bool		plain;
	int			processes;		/* at most */
	bool		handing;		/* only the leader can store rows */
	bool		on_nodes;		/* they are sent to other nodes */
} Shared;

/* ---- who may have workers ---- */

/*
 * Opens what is below a partitioned table, or says that somebody changes it.  The direct writer has
 * locked all of it; others lock here what routing does.
 */
static bool
open_below(Oid relid, bool locked, Relation *rel)
{
	if (!locked && !ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	*rel = try_relation_open(relid, NoLock);
	return *rel != NULL;
}

/*
 * What is evaluated for a row of a partitioned table: keys, and where all partitions are locked
 * what these want.  Others are looked at when they have rows.  Returns why workers may not find
 * partitions, or REFUSAL_NONE.
 */
static RefusalReason
partition_expressions(const Batch *batch, List **expressions)
{
	Relation	root = batch->target->rel;
	bool		locked = batch->writer->routine->take_over == NULL;
	RefusalReason refusal = REFUSAL_NONE;
	ListCell   *lc;

	foreach(lc, find_all_inheritors(RelationGetRelid(root), NoLock, NULL))
	{
		bool		routes = get_rel_relkind(lfirst_oid(lc)) == RELKIND_PARTITIONED_TABLE;
		Relation	part;
		PartitionKey key;

		CHECK_FOR_INTERRUPTS();
		if (!routes && !locked)
			continue;
		if (!open_below(lfirst_oid(lc), locked || lfirst_oid(lc) == RelationGetRelid(root), &part))
			return REFUSAL_PARTITIONED_WORKERS;
		if (routes)
		{
			key = RelationGetPartitionKey(part);
			*expressions = list_concat(*expressions, copyObject(key->partexprs));
			for (int i = 0; i < key->partnatts; i++)
				if (func_parallel(key->partsupfunc[i].fn_oid) != PROPARALLEL_SAFE)
					refusal = REFUSAL_PARTITION_KEY;
			if (key->partexprs != NIL && !GUARD_IN_PARALLEL_MODE && refusal == REFUSAL_NONE)
				refusal = REFUSAL_EACH_ROW;
		}
		else
			*expressions = list_concat(*expressions, constraints_expressions(part));
		relation_close(part, NoLock);
	}
	return refusal;
}

/* Whether an expression is evaluated to see that a row belongs into a partition. */
static bool
has_key_expressions(Oid partition)
{
	ListCell   *lc;

	foreach(lc, get_partition_ancestors(partition))
	{
		HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		bool		has;

		if (!HeapTupleIsValid(tuple))
			continue;
		has = !heap_attisnull(tuple, Anum_pg_partitioned_table_partexprs, NULL);
		ReleaseSysCache(tuple);
		if (has)
			return true;
	}
	return false;
}

/* All that may have to be evaluated for a row. */
static List *
collect_expressions(const Batch *batch, List *of_tables)
{
	Relation	rel = batch->target->rel;
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *expressions = list_concat_copy(batch->target->where, of_tables);
	bool		any = batch->options->default_marker != NULL ||
		batch->options->missing == BULK_MISSING_DEFAULT;

	if (rel->rd_rel->relispartition)
		expressions = list_concat(expressions, RelationGetPartitionQual(rel));
	if (batch->conv->transform != NULL)
		expressions = list_concat(expressions, transform_expressions(batch->conv->transform));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Node	   *expression = att->attisdropped ? NULL :
			build_column_default(rel, i + 1);

		if (expression != NULL && !convert_takes_sequence(batch->conv, i + 1) &&
			!att->attgenerated &&
			(any ||
			 (batch->conv->transform == NULL && !batch_gives(batch, i + 1))))
			expressions = lappend(expressions, expression);
	}
	return expressions;
}

static bool
is_unsafe(Oid function)
{
	return OidIsValid(function) && func_parallel(function) != PROPARALLEL_SAFE;
}

/* Whether the bounds of its values may not be compared, or brought into one form. */
static bool
is_unsafe_range(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_RANGE_INFO);

	return is_unsafe(entry->rng_cmp_proc_finfo.fn_oid) ||
		is_unsafe(entry->rng_canonical_finfo.fn_oid);
}

/* What workers would run for a value. */
typedef struct TypeParts
{
	bool		receives;		/* its binary form */
	List	   *checks;			/* of domains */
} TypeParts;

/* Whether some of that is not parallel safe; arg: TypeParts, to which CHECKs are added. */
static bool
is_unsafe_type(Oid type, void *arg)
{
	TypeParts  *parts = arg;
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	bool		unsafe;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	unsafe = is_unsafe(parts->receives ? form->typreceive : form->typinput);
	if (form->typtype == TYPTYPE_DOMAIN)
		parts->checks = list_concat(parts->checks, type_domain_checks(type));
	if (form->typtype == TYPTYPE_RANGE)
		unsafe |= is_unsafe_range(type);
	ReleaseSysCache(tuple);
	return unsafe;
}

/* Whether workers may convert the columns.  Adds CHECKs of domains to the list. */
static bool
are_types_parallel_safe(const Converter *conv, List **checks)
{
	TypeParts	parts = {.receives = conv->routine->receives};

	for (int i = 0; i < conv->ncolumns + conv->target->nextras; i++)
	{
		const Column *column = &conv->columns[i];

		if (column->attnum != InvalidAttrNumber &&
			(is_unsafe(column->input.fn_oid) ||
			 type_any_part(column->type, is_unsafe_type, &parts)))
			return false;
	}
	*checks = list_concat(*checks, parts.checks);
	return true;
}

/* Whether each value of a column of the file goes through the input function of its type. */
static bool
asks_for_each_value(const Converter *conv)
{
	for (int i = 0; i < conv->ncolumns; i++)
		if (conv->columns[i].attnum != InvalidAttrNumber && conv->columns[i].convert == NULL)
			return true;
	return false;
}

RefusalReason
share_refusal(const Batch *batch, const RejectStream *rejects, int64 bytes)
{
	const BulkOptions *options = batch->options;
	Relation	rel = batch->target->rel;
	int64		row_bytes = options->record_length > 0 ? options->record_length :
		Max(batch->conv->ncolumns, 1);
	int64		rows = bytes / row_bytes + 1;	/* at most */
	bool		partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	List	   *of_tables = NIL;
	RefusalReason routing = REFUSAL_NONE;
	RefusalReason refusal;

	if (batch_rows_wanted(batch) >= 0)
		rows = Min(rows, batch_rows_wanted(batch));
	refusal = batch->writer->routine->share_refusal(batch->writer);
	if (refusal != REFUSAL_NONE)
		return refusal;
	if (RelationUsesLocalBuffers(rel))
		return REFUSAL_TEMPORARY;
	if (compat_session_origin() != 0)
		return REFUSAL_ORIGIN;
	if (options->query != NULL)
		return REFUSAL_QUERY;
	if (batch->conv->routine->receives && !GUARD_IN_PARALLEL_MODE)
		return REFUSAL_BINARY;
	if (batch->conv->routine->receives &&
		pg_get_client_encoding() != GetDatabaseEncoding())
		return REFUSAL_BINARY_ENCODING;
	if (batch->reader->shape_mblen != NULL)
		return REFUSAL_SHAPED_ENCODING;
	if (batch->writer->one_by_one)
		return REFUSAL_ONE_BY_ONE;
	if (rejects_accepting(rejects) && !rejects_parallel_safe(rejects))
		return REFUSAL_REJECT_TABLE_WORKERS;
	if (!convert_sequences_last(batch->conv, rows))
		return REFUSAL_SEQUENCE;
	if (partitioned)
		routing = partition_expressions(batch, &of_tables);
	else
		of_tables = constraints_expressions(rel);
	if (!are_types_parallel_safe(batch->conv, &of_tables))
		return REFUSAL_TYPE;
	if (!workers_can_evaluate(collect_expressions(batch, of_tables)))
		return REFUSAL_EXPRESSION;
	if (routing != REFUSAL_NONE)
		return routing;
	/* not only for one that lacks a value */
	if (!GUARD_IN_PARALLEL_MODE &&
		(batch->target->where != NIL || batch->conv->transform != NULL ||
		 !computation_are_all(of_tables) ||
		 (rel->rd_rel->relispartition && has_key_expressions(RelationGetRelid(rel)))))
		return REFUSAL_EACH_ROW;
	if (!GUARD_IN_PARALLEL_MODE && asks_for_each_value(batch->conv))
		return REFUSAL_INPUT;
	return REFUSAL_NONE;
}

int
share_workers(const Batch *batch, int64 bytes, Size chunk_size)
{
	int			workers = batch->options->workers;
	int64		chunks = bytes / chunk_size / CHUNKS_PER_WORKER;

	if (workers < 0)
		workers = workers_for_bytes(batch->target->rel, bytes);
	return Min(workers, chunks);
}

/* starved as in ring_open. */
static Source *
open_chunks(Ring *ring, void (*starved) (void *arg), void *starved_arg, List *paths,
			const BulkOptions *options, const Shared *shared)
{
	Source	   *source;

	if (ring == NULL)
		return source_share(paths, options, shared->chunk_size);
	source = source_open_stream(ring_open(ring, starved, starved_arg), paths, shared->file,
								options, shared->chunk_size);
	(void) source_next(source);
	return source;
}

static ChunkReader
chunks_of(Reader *reader, const Shared *shared,
		  FileStamp *files, const char *header)
{
	return (ChunkReader) {
		.reader = reader,
		.last = shared->last_file,
		.files = files,
		.header = header,
		.header_length = shared->header_length,
		.first_line = shared->first_line
	};
}

/* ---- the leader ---- */

/* Up to which file chunks may go, if each is like that which is open. */
static int
last_file(const ShareLeader *leader)
{
	const Source *source = leader->source;

	return leader->span && source_can_seek(source) && leader->batch->reader->routine->spans_files ?
		list_length(source->paths) - 1 : source->current;
}

static void *
put_copy(shm_toc *toc, uint64 key, const void *from, Size size)
{
	void	   *to = shm_toc_allocate(toc, size);

	memcpy(to, from, size);
	shm_toc_insert(toc, key, to);
	return to;
}

static void
estimate(shm_toc_estimator *estimator, Size size)
{
	shm_toc_estimate_chunk(estimator, size);
	shm_toc_estimate_keys(estimator, 1);
}

/* All paths, each with a zero byte behind it, and an empty one. */
static void
join_paths(StringInfo joined, List *paths)
{
	ListCell   *lc;

	initStringInfo(joined);
	foreach(lc, paths)
		appendBinaryStringInfo(joined, lfirst(lc), strlen(lfirst(lc)) + 1);
	appendStringInfoChar(joined, '\0');
}

static List *
split_paths(char *joined)
{
	List	   *paths = NIL;

	for (; *joined != '\0'; joined += strlen(joined) + 1)
		paths = lappend(paths, joined);
	return paths;
}

PGDLLEXPORT void share_worker_main(dsm_segment *segment, shm_toc *toc);

/*
 * Of input that is read once chunks double up to CHUNK_MAX where their rows are long; the ring has
 * space for so many of that size, and for none that is larger.
 */
static Size
size_of_chunks(const ShareLeader *leader)
{
	Size		size = CHUNK_MAX;

	if (source_can_seek(leader->source))
		return leader->chunk_size;
	while (size > leader->chunk_size)
		size /= 2;
	return size;
}

/* The workers have ended: what they have left, which has their last pages. */
static void
gather_pages(const ShareLeader *leader, int nworkers)
{
	Writer	   *writer = leader->batch->writer;

	if (writer->routine->gather_pages != NULL)
		writer->routine->gather_pages(writer);
	if (leader->keys != NULL)
		key_pass_gather(leader->keys, nworkers);
}

/* An error of a worker, which may not have begun, is not that of the row that is worked on here. */
static void
note_error(void *parallel)
{
	parallel_fail(parallel);
}

/* Starts workers; NULL where there is none, and why. */
static ParallelContext *
start_workers(const ShareLeader *leader, int nworkers, Shared *shared, const ChunkCursor *cursor,
			  Parallel **parallel, Ring **ring, RefusalReason *refusal)
{
	Batch	   *batch = leader->batch;
	const Jsonb *json = batch->options->json;
	StringInfoData paths;
	StringInfoData patterns;
	Size		files_size = mul_size(sizeof(FileStamp), shared->last_file + 1);
	FileStamp  *files;
	char	   *where = nodeToString(batch->target->where);
	Size		where_size = strlen(where) + 1;
	Size		attnums_size = sizeof(AttrNumber) * batch->target->nfields;
	Size		writer_size = shared->writer_size;
	Size		ring_bytes = source_can_seek(leader->source) ? 0 :
		mul_size(shared->processes + RING_SPARE, CHUNK_MAX);
	Size		rows_bytes = shared->handing ?
		mul_size(shared->processes + ROWS_SPARE, ROWS_BYTES) : 0;
	ParallelContext *pcxt;

	join_paths(&paths, leader->source->paths);
	join_paths(&patterns, batch->options->extra == NIL ? NIL : batch->options->patterns);
	pcxt = CreateParallelContext(workers_library(), "share_worker_main", nworkers);
	estimate(&pcxt->estimator, sizeof(Shared));
	estimate(&pcxt->estimator, sizeof(Parallel));
	estimate(&pcxt->estimator, paths.len);
	estimate(&pcxt->estimator, patterns.len);
	estimate(&pcxt->estimator, files_size);
	estimate(&pcxt->estimator, shared->header_length);
	estimate(&pcxt->estimator, where_size);
	estimate(&pcxt->estimator, json ? VARSIZE(json) : 0);
	estimate(&pcxt->estimator, attnums_size);
	estimate(&pcxt->estimator, writer_size);
	workers_estimate(pcxt);
	if (ring_bytes > 0)
		estimate(&pcxt->estimator, offsetof(Ring, data) + ring_bytes);
	if (rows_bytes > 0)
		estimate(&pcxt->estimator, offsetof(ParallelRows, data) + rows_bytes);
	if (leader->keys != NULL)
		estimate(&pcxt->estimator, key_pass_share_size());
	if (!workers_initialize(pcxt))
	{
		*refusal = REFUSAL_SHARED_MEMORY;
		return NULL;
	}

	put_copy(pcxt->toc, KEY_SHARED, shared, sizeof(Shared));
	*parallel = shm_toc_allocate(pcxt->toc, sizeof(Parallel));
	parallel_init(*parallel, cursor, batch_rows_wanted(batch));
	(*parallel)->loaded_wanted = batch->options->limit_loaded ? batch->limit_left : -1;
	shm_toc_insert(pcxt->toc, KEY_PARALLEL, *parallel);
	put_copy(pcxt->toc, KEY_PATHS, paths.data, paths.len);
	put_copy(pcxt->toc, KEY_PATTERNS, patterns.data, patterns.len);
	files = shm_toc_allocate(pcxt->toc, files_size);
	files[shared->file] = leader->source->stream->stamp;
	if (ring_bytes > 0)
		files[shared->file].size = PG_INT64_MAX;
	shm_toc_insert(pcxt->toc, KEY_FILES, files);
	put_copy(pcxt->toc, KEY_HEADER, leader->header, shared->header_length);
	put_copy(pcxt->toc, KEY_WHERE, where, where_size);
	if (json != NULL)
		put_copy(pcxt->toc, KEY_OPTIONS, json, VARSIZE(json));
	put_copy(pcxt->toc, KEY_ATTNUMS, batch->target->attnums, attnums_size);
	shm_toc_insert(pcxt->toc, KEY_WRITER, shm_toc_allocate(pcxt->toc, writer_size));
	batch->writer->routine->share(batch->writer,
								  shm_toc_lookup(pcxt->toc, KEY_WRITER, false));

	*ring = NULL;
	if (ring_bytes > 0)
	{
		*ring = shm_toc_allocate(pcxt->toc, offsetof(Ring, data) + ring_bytes);
		ring_init(*ring, ring_bytes, cursor->offset);
		shm_toc_insert(pcxt->toc, KEY_RING, *ring);
	}
	if (rows_bytes > 0)
	{
		ParallelRows *rows = shm_toc_allocate(pcxt->toc,
											  offsetof(ParallelRows, data) + rows_bytes);

		parallel_rows_init(rows, rows_bytes);
		shm_toc_insert(pcxt->toc, KEY_ROWS, rows);
	}
	if (leader->keys != NULL)
	{
		KeyPassShared *keys = shm_toc_allocate(pcxt->toc, key_pass_share_size());

		key_pass_share(leader->keys, keys, pcxt->seg, shared->processes);
		shm_toc_insert(pcxt->toc, KEY_FOREIGN_KEYS, keys);
	}

	workers_on_error(pcxt, note_error, *parallel);
	workers_launch(pcxt);
	if (pcxt->nworkers_launched == 0)
	{
		WaitForParallelWorkersToFinish(pcxt);
		batch->writer->routine->gather(batch->writer);
		gather_pages(leader, 0);
		DestroyParallelContext(pcxt);
		*refusal = REFUSAL_NO_WORKER;
		return NULL;
	}
	return pcxt;
}

/* What the reader has in its window comes first. */
static void
begin_ring(const ShareLeader *leader, const ChunkCursor *cursor)
{
	Source	   *source = leader->source;
	const Window *window = &source->window;
	Size		length = window->offset + window->length - cursor->offset;

	memcpy(source_put_back(source, length),
		   window->data + window->length - length, length);
	source_seek(source, cursor->offset, cursor->line);
}

/* Bytes that nobody has loaded go back to the source. */
static void
end_ring(const ShareLeader *leader, Ring *ring, int64 offset)
{
	Size		length = pg_atomic_read_u64(&ring->written) - offset;
	char	   *to = source_put_back(leader->source, length);
	Stream	   *rest = ring_open(ring, NULL, NULL);

	stream_seek(rest, offset);
	for (Size done = 0; done < length;)
		done += stream_read(rest, to + done, length - done);
}

static void
lead_chunks(const ShareLeader *leader, Parallel *parallel, Ring *ring,
			ParallelRows *rows, FileStamp *files, const Shared *shared)
{
	Batch	   *batch = leader->batch;
	Batch		alone = *batch;
	Guard		guard = *batch->guard;
	Source	   *source;
	Share		share = {
		.parallel = parallel,
		.ring = ring,
		.rows = rows,
		.batch = batch,
		.journal = leader->journal,
		.processes = shared->processes,
		.eol = shared->eol,
		.leader = leader,
		.begun = shared->file
	};

	initStringInfo(&share.queue);
	initStringInfo(&share.received);
	if (ring != NULL)
		begin_ring(leader, &parallel->cursor);
	source = open_chunks(ring, share_feed_at_once, &share, leader->source->paths,
						 batch->options, shared);
	batch->reader = reader_open(source, batch->options);
	reader_begin_columns(batch->reader, batch->target);
	share.chunks = chunks_of(batch->reader, shared, files, leader->header);
	share.journal->reader = batch->reader;
	share_limit_batch(batch, &share);
	batch->guard->others_failed = &parallel->failed;
	share_load_chunks(&share);

	/* until everyone else is done with the last of theirs */
	parallel_await(parallel, parallel_tickets(parallel), share_receive, &share);
	share_receive(&share);
	batch->writer->routine->gather(batch->writer);

	convert_reserve(batch->conv, 0);
	source_close(source);
	*batch->guard = guard;
	*batch = alone;
	share.journal->reader = batch->reader;
}

/*
 * The same.  An error may be about a row of a file that only workers have opened: whoever shows the
 * row must know of the file.
 */
static void
lead_chunks_or_fail(const ShareLeader *leader, Parallel *parallel, Ring *ring, ParallelRows *rows,
					FileStamp *files, const Shared *shared)
{
	const Writer *writer = leader->batch->writer;

	PG_TRY();
	{
		lead_chunks(leader, parallel, ring, rows, files, shared);
	}
	PG_CATCH();
	{
		JournalPlace place;

		if (writer->find_place != NULL &&
			writer->find_place(writer->find_place_arg, NULL, &place))
			for (int i = shared->file + 1; i <= place.file; i++)
				leader->began(leader->arg, i, files);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* Where the source's files are hashed, whoever reads them goes on with it. */
static void
begin_hash(const Source *source, ChunkCursor *cursor)
{
	cursor->hashes = source->hashed != NULL && source_can_seek(source);
	if (cursor->hashes && source->stream->hash != NULL)
		cursor->hash = *source->stream->hash;
	else
		content_hash_begin(&cursor->hash);
}

static void
take_hashes(Source *source, const ChunkCursor *cursor, int first, const FileStamp *files)
{
	ContentHash none;

	content_hash_begin(&none);
	for (int i = first; cursor->hashes && i <= cursor->file; i++)
		source_take_hash(source, i, &files[i], i == cursor->file ? &cursor->hash : &none);
}

ShareResult
share_lead(const ShareLeader *leader, int nworkers)
{
	Batch	   *batch = leader->batch;
	ShareResult result = {0};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "bulk_load side by side",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	ChunkCursor cursor = {
		.file = leader->source->current,
		.eol = batch->reader->eol
	};
	Shared		shared = {
		.relid = RelationGetRelid(batch->target->rel),
		.load_id = batch->load_id,
		.writer_size = batch->writer->routine->prepare_share(batch->writer),
		.nfields = batch->target->nfields,
		.file = leader->source->current,
		.last_file = last_file(leader),
		.header_length = leader->header_length,
		.first_line = leader->first_line,
		.chunk_size = size_of_chunks(leader),
		.eol = batch->reader->eol,
		.encoding = batch->options->encoding,
		.by_copy = batch->options->by_copy,
		.plain = batch->options->plain,
		.processes = nworkers + 1,
		.handing = batch->writer->routine->take_over != NULL,
		.on_nodes = batch->target->on_nodes
	};
	ParallelContext *pcxt;
	Parallel   *parallel;
	Ring	   *ring;

	/* a row that comes again is counted by whoever has it then */
	if (batch->counted)
	{
		batch->rows_read--;
		if (batch_rows_wanted(batch) >= 0)
			batch->limit_left++;
	}
	batch->counted = false;

	reader_place(batch->reader, &cursor.offset, &cursor.line);
	cursor.passed = leader->source->bytes_before + cursor.offset;
	begin_hash(leader->source, &cursor);
	EnterParallelMode();
	pcxt = start_workers(leader, nworkers, &shared, &cursor, &parallel, &ring, &result.refusal);
	if (pcxt != NULL)
	{
		FileStamp  *files = shm_toc_lookup(pcxt->toc, KEY_FILES, false);
		bool		stopped;
		int			file;
		int64		offset;
		int64		line;

		result.workers = pcxt->nworkers_launched;
		lead_chunks_or_fail(leader, parallel, ring, shm_toc_lookup(pcxt->toc, KEY_ROWS, true),
							files, &shared);
		stopped = parallel->stopped;
		result.chunks = parallel->tickets - 1;
		batch->rows_read += parallel->rows_read;
		if (batch->limit_left > 0)
			batch->limit_left -= batch->options->limit_loaded ? parallel->rows_loaded :
				parallel->rows_read;
		batch->rows_loaded += parallel->rows_loaded;
		batch->rows_filtered += parallel->rows_filtered;
		file = stopped ? parallel->stop_file : parallel->cursor.file;
		offset = stopped ? parallel->stop_offset : parallel->cursor.offset;
		line = stopped ? parallel->stop_line : parallel->cursor.line;
		result.declined = !stopped && file < shared.last_file &&
			offset >= files[file].size;
		for (int i = shared.file + 1; i <= file; i++)
			leader->began(leader->arg, i, files);
		if (ring != NULL)
			end_ring(leader, ring, offset);
		else
			source_go(leader->source, file, files);
		take_hashes(leader->source, &parallel->cursor, shared.file, files);
		workers_finish(pcxt);
		gather_pages(leader, pcxt->nworkers_launched);
		DestroyParallelContext(pcxt);
		/* that the transaction has written is known to the process alone that did */
		if (result.chunks > 0)
			CheckForSerializableConflictIn(batch->target->rel, NULL, InvalidBlockNumber);
		reader_seek(batch->reader, offset, line);
	}
	ExitParallelMode();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return result;
}

/* ---- a worker ---- */

static Writer *
join_writer(const Shared *shared, Target *target, void *writer_state, const BulkOptions *options,
			Guard *guard, Checks *checks)
{
	if (shared->on_nodes)
		return nodes_join(target, writer_state, options, guard, checks);
	if (shared->handing)
		return handover_join(target, writer_state, options, guard, checks);
	return direct_join(target, writer_state, guard, checks);
}

static void
help(dsm_segment *segment, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	Parallel   *parallel = shm_toc_lookup(toc, KEY_PARALLEL, false);
	Ring	   *ring = shm_toc_lookup(toc, KEY_RING, true);
	BulkOptions *options = options_parse(shm_toc_lookup(toc, KEY_OPTIONS, true));
	Guard		guard = {0};
	Batch		batch = {
		.options = options,
		.guard = &guard,
		.convert_row = convert_row_function(options),
		.load_id = shared->load_id,
		.limit_left = -1,
		.next = PG_UINT32_MAX
	};
	Share		share = {
		.parallel = parallel,
		.ring = ring,
		.rows = shm_toc_lookup(toc, KEY_ROWS, true),
		.batch = &batch,
		.processes = shared->processes,
		.eol = shared->eol
	};
	ErrorContextCallback callback = {
		.callback = batch_error_context,
		.arg = &batch,
		.previous = error_context_stack
	};
	List	   *paths = split_paths(shm_toc_lookup(toc, KEY_PATHS, false));
	KeyPass    *pass;
	void	   *writer_state;
	Source	   *source;
	Checks	   *checks;

	options->encoding = shared->encoding;
	options->by_copy = shared->by_copy;
	options->plain = shared->plain;
	options->patterns = split_paths(shm_toc_lookup(toc, KEY_PATTERNS, false));
	initStringInfo(&share.queue);
	batch.target = target_join(shared->relid,
							   stringToNode(shm_toc_lookup(toc, KEY_WHERE, false)),
							   shm_toc_lookup(toc, KEY_ATTNUMS, false),
							   shared->nfields);
	target_set_extras(batch.target, options);
	error_context_stack = &callback;
	source = open_chunks(ring, NULL, NULL, paths, options, shared);
	batch.reader = reader_open(source, options);
	share.chunks = chunks_of(batch.reader, shared,
							 shm_toc_lookup(toc, KEY_FILES, false),
							 shm_toc_lookup(toc, KEY_HEADER, false));
	checks = checks_open(options, batch.target->rel);
	share.journal = checks_journal(checks);
	share.journal->reader = batch.reader;
	writer_state = shm_toc_lookup(toc, KEY_WRITER, false);
	batch.writer = join_writer(shared, batch.target, writer_state, options, &guard, checks);
	pass = checks_key_pass(checks);
	if (pass != NULL)
		key_pass_join(pass, shm_toc_lookup(toc, KEY_FOREIGN_KEYS, true), segment);
	share_limit_batch(&batch, &share);
	batch_open_where(&batch);
	batch_open_columns(&batch);

	share_load_chunks(&share);

	source_close(batch.reader->source);
	batch.writer->routine->close(batch.writer);
	if (pass != NULL)
		key_pass_leave(pass);
	target_close(batch.target);
	error_context_stack = callback.previous;
}

/* A worker that is terminated throws nothing that it could catch. */
static void
note_end(dsm_segment *segment, Datum parallel)
{
	parallel_fail((Parallel *) DatumGetPointer(parallel));
}

void
share_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Parallel   *parallel;

	if (!workers_begin(toc))
		return;
	parallel = shm_toc_lookup(toc, KEY_PARALLEL, false);
	on_dsm_detach(segment, note_end, PointerGetDatum(parallel));

	PG_TRY();
	{
		/* who comes late may find the file gone, or another one in its place */
		if (!parallel_is_over(parallel))
			help(segment, toc);
	}
	PG_CATCH();
	{
		/* before the leader can hear of it, and take it for a row's error */
		parallel_fail(parallel);
		PG_RE_THROW();
	}
	PG_END_TRY();
	cancel_on_dsm_detach(segment, note_end, PointerGetDatum(parallel));
	workers_end(toc);
}
