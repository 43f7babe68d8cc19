/*
 * key_pass.c
 *		See key_pass.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "check/foreign_key.h"
#include "check/key_columns.h"
#include "check/key_pass.h"
#include "check/tables.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "server/compat.h"
#include "server/progress.h"
#include "storage/fd.h"
#include "storage/sharedfileset.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

/* Keys with as many bytes are written to the file, and are passed on together. */
#define BATCH_BYTES (64 * 1024)

/* Less for a key remembers few, or none. */
#define MIN_MEMORY (64 * 1024)

/*
 * Beyond so many bytes, keys may take one of so many of the pages' bytes; and never more than one
 * of so many of temp_file_limit, which sorts of indexes need.
 */
#define FEW_BYTES (1024 * 1024)
#define PART_OF_PAGES 4
#define PART_OF_LIMIT 8

#define FILE_NAME_SIZE 32

struct KeyPassShared
{
	SharedFileSet files;		/* one of each worker that has keys */
	int			processes;
	int			role;			/* session_replication_role, on which the numbers of keys depend */
	pg_atomic_uint32 unfit;		/* given up by one of the processes */

	/* of the workers that have left */
	pg_atomic_uint64 rows;
	pg_atomic_uint64 pages;
	pg_atomic_uint64 noted;
};

/* A key that has been noted, followed by its bytes. */
typedef struct KeyHeader
{
	uint32		key;
	uint32		len;
} KeyHeader;

/* A foreign key. */
typedef struct PassedKey
{
	KeyColumns	columns;
	KeySet	   *seen;
} PassedKey;

struct KeyPass
{
	MemoryContext context;
	MemoryContext sets_context; /* of what has been seen */
	MemoryContext page_context;
	ResourceOwner owner;		/* of the file */
	int			nkeys;
	PassedKey  *keys;
	int			role;
	bool		unfit;			/* given up */
	int64		rows;
	int64		pages;
	int64		noted;			/* keys */
	int64		bytes;			/* of them, with their headers */
	StringInfoData waiting;		/* keys that are not in the file yet */
	BufFile    *file;			/* NULL: there is none yet */
	KeyPassShared *shared;		/* beside other processes, or NULL */

	/* of a page */
	HeapTupleData tuples[MaxHeapTuplesPerPage];
	bool		repeated[MaxHeapTuplesPerPage];
	bool		found[MaxHeapTuplesPerPage];
};

/* ---- open and close ---- */

/* Bytes for what one process remembers of one key. */
static Size
memory_for(const KeyPass *pass, int processes)
{
	return Max((Size) maintenance_work_mem * 1024 / processes / pass->nkeys, MIN_MEMORY);
}

static void
limit_memory(KeyPass *pass, int processes)
{
	for (int i = 0; i < pass->nkeys; i++)
		key_set_limit(pass->keys[i].seen, memory_for(pass, processes));
}

static void
open_key(PassedKey *key, Relation rel, const Trigger *trigger)
{
	HeapTuple	constraint = key_columns_constraint(trigger);
	AttrNumber	referenced_atts[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];

	key_columns_open(&key->columns, rel, constraint, referenced_atts, operators);
	ReleaseSysCache(constraint);
}

KeyPass *
key_pass_open(Relation rel, const TriggerDesc *triggers, int nkeys)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgbulk foreign keys of new rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	KeyPass    *pass = palloc0(sizeof(KeyPass));
	const Trigger *trigger;
	int			next = 0;
	int			number = 0;

	Assert(nkeys > 0);
	pass->context = context;
	pass->owner = CurrentResourceOwner;
	pass->sets_context = AllocSetContextCreate(context, "pgbulk foreign keys seen",
											   ALLOCSET_DEFAULT_SIZES);
	pass->page_context = AllocSetContextCreate(context, "pgbulk foreign keys of a page",
											   ALLOCSET_DEFAULT_SIZES);
	pass->role = SessionReplicationRole;
	initStringInfo(&pass->waiting);
	pass->nkeys = nkeys;
	pass->keys = palloc0(sizeof(PassedKey) * nkeys);
	while ((trigger = tables_next_key(triggers, &next)) != NULL)
		open_key(&pass->keys[number++], rel, trigger);
	Assert(number == nkeys);
	MemoryContextSwitchTo(pass->sets_context);
	for (int i = 0; i < pass->nkeys; i++)
		pass->keys[i].seen = key_set_create(memory_for(pass, 1));
	MemoryContextSwitchTo(old);
	return pass;
}

static void
close_file(KeyPass *pass)
{
	if (pass->file != NULL)
		BufFileClose(pass->file);
	pass->file = NULL;
}

void
key_pass_close(KeyPass *pass)
{
	close_file(pass);
	MemoryContextDelete(pass->context);
}

/* From here on nothing is collected, by any process. */
static void
give_up(KeyPass *pass)
{
	pass->unfit = true;
	if (pass->shared != NULL)
		pg_atomic_write_u32(&pass->shared->unfit, 1);
	for (int i = 0; i < pass->nkeys; i++)
		key_set_clear(pass->keys[i].seen);
	close_file(pass);
}

/* ---- keys of rows ---- */

static void
name_file(char *name, int worker)
{
	snprintf(name, FILE_NAME_SIZE, "keys%d", worker);
}

static void
open_file(KeyPass *pass)
{
	MemoryContext old = MemoryContextSwitchTo(pass->context);
	ResourceOwner owner = CurrentResourceOwner;
	char		name[FILE_NAME_SIZE];

	CurrentResourceOwner = pass->owner;
	name_file(name, ParallelWorkerNumber);
	pass->file = IsParallelWorker() ? BufFileCreateFileSet(&pass->shared->files.fs, name) :
		BufFileCreateTemp(false);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
}

/* Whether the keys take more space than they are worth. */
static bool
are_too_many(const KeyPass *pass)
{
	int64		most = Max(pass->pages * BLCKSZ / PART_OF_PAGES, FEW_BYTES);

	if (temp_file_limit >= 0)
		most = Min(most, (int64) temp_file_limit * 1024 / PART_OF_LIMIT);
	return pass->bytes > most;
}

/* Writes to the file, which is made when it is needed. */
static void
write_file(KeyPass *pass, const char *bytes, Size len)
{
	if (pass->unfit)
		return;
	pass->bytes += len;
	if (are_too_many(pass))
	{
		give_up(pass);
		return;
	}
	if (pass->file == NULL)
		open_file(pass);
	compat_buffile_write(pass->file, bytes, len);
}

/* What waits goes to the file. */
static void
flush_waiting(KeyPass *pass)
{
	if (pass->waiting.len > 0)
		write_file(pass, pass->waiting.data, pass->waiting.len);
	resetStringInfo(&pass->waiting);
}

/* Notes a key, unless it has been seen. */
static void
note_key(KeyPass *pass, int number, const char *bytes, Size len)
{
	KeySet	   *seen = pass->keys[number].seen;
	KeyHeader	header = {.key = number,.len = len};
	uint32		hash;

	if (key_set_has(seen, bytes, len, false, &hash))
		return;
	(void) key_set_add(seen, bytes, len, hash);
	appendBinaryStringInfo(&pass->waiting, (char *) &header, sizeof(header));
	appendBinaryStringInfo(&pass->waiting, bytes, len);
	pass->noted++;
	if (pass->waiting.len >= BATCH_BYTES)
		flush_waiting(pass);
}

/* The rows of a page, as tuples; returns how many. */
static int
take_tuples(KeyPass *pass, Page page)
{
	int			n = PageGetMaxOffsetNumber(page);

	for (int i = 0; i < n; i++)
	{
		ItemId		item = PageGetItemId(page, FirstOffsetNumber + i);

		Assert(ItemIdIsNormal(item));
		pass->tuples[i].t_len = ItemIdGetLength(item);
		pass->tuples[i].t_data = (HeapTupleHeader) PageGetItem(page, item);
	}
	return n;
}

/* Whether a value of the key is in the TOAST table, which has it only when all is written. */
static bool
is_external(const KeyColumns *columns, HeapTuple tuple)
{
	for (int i = 0; i < columns->natts; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, columns->atts[i], columns->desc, &isnull);

		if (!isnull && TupleDescAttr(columns->desc, columns->atts[i] - 1)->attlen == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return true;
	}
	return false;
}

/* Whether a row without bytes of a key is good because of its NULLs. */
static bool
are_nulls_good(KeyColumns *columns, HeapTuple tuple)
{
	int			nnulls = key_columns_take_values(columns, tuple);

	return nnulls > 0 && key_columns_are_good(columns, nnulls);
}

/* Takes one key of the n rows; false: some row must be looked at by itself. */
static bool
add_keys(KeyPass *pass, int number, int n)
{
	KeyColumns *columns = &pass->keys[number].columns;
	int			nitems;
	int			item = 0;

	for (int i = 0; i < n && !columns->fixed; i++)
		if (HeapTupleHasExternal(&pass->tuples[i]) && is_external(columns, &pass->tuples[i]))
			return false;
	nitems = key_columns_take_rows(columns, pass->tuples, n, pass->repeated);
	key_set_has_many(pass->keys[number].seen, columns->items, nitems, false, pass->found);
	for (int i = 0; i < n; i++)
	{
		if (pass->repeated[i])
			continue;
		if (columns->items[item].len == 0 && !are_nulls_good(columns, &pass->tuples[i]))
			return false;
		if (columns->items[item].len > 0 && !pass->found[item])
			note_key(pass, number, columns->items[item].key, columns->items[item].len);
		item++;
	}
	Assert(item == nitems);
	return true;
}

void
key_pass_add(KeyPass *pass, Page page)
{
	MemoryContext old;
	int			n;

	Assert(pass->sets_context != NULL);
	if (pass->unfit)
		return;
	if (pass->shared != NULL && pg_atomic_read_u32(&pass->shared->unfit) != 0)
	{
		give_up(pass);
		return;
	}
	old = MemoryContextSwitchTo(pass->page_context);
	n = take_tuples(pass, page);
	pass->rows += n;
	pass->pages++;
	for (int i = 0; i < pass->nkeys && !pass->unfit; i++)
		if (!add_keys(pass, i, n))
			give_up(pass);
	MemoryContextSwitchTo(old);
	MemoryContextReset(pass->page_context);
}

/* ---- beside other processes ---- */

Size
key_pass_share_size(void)
{
	return sizeof(KeyPassShared);
}

void
key_pass_share(KeyPass *pass, KeyPassShared *shared, dsm_segment *segment, int processes)
{
	SharedFileSetInit(&shared->files, segment);
	shared->processes = processes;
	shared->role = pass->role;
	pg_atomic_init_u32(&shared->unfit, pass->unfit);
	pg_atomic_init_u64(&shared->rows, 0);
	pg_atomic_init_u64(&shared->pages, 0);
	pg_atomic_init_u64(&shared->noted, 0);
	pass->shared = shared;
	limit_memory(pass, processes);
}

void
key_pass_join(KeyPass *pass, KeyPassShared *shared, dsm_segment *segment)
{
	pass->shared = shared;
	if (shared == NULL)
		pass->unfit = true;
	else if (shared->role != pass->role)
		give_up(pass);
	else
	{
		SharedFileSetAttach(&shared->files, segment);
		limit_memory(pass, shared->processes);
	}
}

void
key_pass_leave(KeyPass *pass)
{
	flush_waiting(pass);
	if (!pass->unfit)
	{
		if (pass->file != NULL)
			BufFileExportFileSet(pass->file);
		pg_atomic_fetch_add_u64(&pass->shared->rows, pass->rows);
		pg_atomic_fetch_add_u64(&pass->shared->pages, pass->pages);
		pg_atomic_fetch_add_u64(&pass->shared->noted, pass->noted);
	}
	key_pass_close(pass);
}

/* Appends what is in a worker's file. */
static void
copy_file(KeyPass *pass, BufFile *from)
{
	char	   *block = palloc(BLCKSZ);
	size_t		n;

	while (!pass->unfit && (n = BufFileRead(from, block, BLCKSZ)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		write_file(pass, block, n);
	}
	pfree(block);
}

void
key_pass_gather(KeyPass *pass, int workers)
{
	KeyPassShared *shared = pass->shared;

	pass->shared = NULL;
	limit_memory(pass, 1);
	if (!pass->unfit && pg_atomic_read_u32(&shared->unfit) != 0)
		give_up(pass);
	pass->rows += pg_atomic_read_u64(&shared->rows);
	pass->pages += pg_atomic_read_u64(&shared->pages);
	pass->noted += pg_atomic_read_u64(&shared->noted);
	for (int i = 0; i < workers && !pass->unfit; i++)
	{
		char		name[FILE_NAME_SIZE];
		BufFile    *file;

		name_file(name, i);
		file = BufFileOpenFileSet(&shared->files.fs, name, O_RDONLY, true);
		if (file == NULL)
			continue;
		copy_file(pass, file);
		BufFileClose(file);
	}
}

/* ---- what has been collected ---- */

double
key_pass_keys(const KeyPass *pass)
{
	return pass->unfit || pass->rows == 0 ? -1 : (double) pass->noted / pass->rows;
}

void
key_pass_end(KeyPass *pass)
{
	MemoryContextDelete(pass->sets_context);
	pass->sets_context = NULL;
}

bool
key_pass_is_complete(const KeyPass *pass, int64 rows)
{
	return !pass->unfit && pass->rows == rows;
}

/* Keys of one trigger that are passed on together. */
typedef struct KeyBatch
{
	StringInfoData bytes;		/* one behind the other */
	int			n;
	KeySetItem	items[MaxHeapTuplesPerPage];
} KeyBatch;

static void
pass_on(KeyBatch *batch, int key, KeyPassTake take, void *arg)
{
	const char *bytes = batch->bytes.data;

	for (int i = 0; i < batch->n; i++)
	{
		batch->items[i].key = bytes;
		bytes += batch->items[i].len;
	}
	take(arg, key, batch->items, batch->n);
	batch->n = 0;
	resetStringInfo(&batch->bytes);
}

/* Where keys are: in a file, or NULL, and behind these in memory. */
typedef struct KeySource
{
	BufFile    *file;
	const char *next;
	const char *end;
} KeySource;

static bool
next_header(KeySource *source, KeyHeader *header)
{
	if (source->file != NULL && compat_buffile_read_more(source->file, header, sizeof(*header)))
		return true;
	source->file = NULL;
	if (source->next == source->end)
		return false;
	memcpy(header, source->next, sizeof(*header));
	source->next += sizeof(*header);
	return true;
}

/* The bytes of a key, behind its header, go to the batch. */
static void
take_bytes(KeySource *source, KeyBatch *batch, Size len)
{
	StringInfo	bytes = &batch->bytes;

	enlargeStringInfo(bytes, len);
	if (source->file != NULL)
		compat_buffile_read(source->file, bytes->data + bytes->len, len);
	else
	{
		memcpy(bytes->data + bytes->len, source->next, len);
		source->next += len;
	}
	bytes->len += len;
	batch->items[batch->n++].len = len;
}

static void
take_all(const KeyPass *pass, KeySource *source, KeyBatch *batches, KeyPassTake take, void *arg)
{
	KeyHeader	header;
	int64		done = 0;

	while (next_header(source, &header))
	{
		KeyBatch   *batch = &batches[header.key];

		Assert(header.key < pass->nkeys);
		take_bytes(source, batch, header.len);
		done++;
		if (batch->n == MaxHeapTuplesPerPage || batch->bytes.len > BATCH_BYTES)
		{
			CHECK_FOR_INTERRUPTS();
			pass_on(batch, header.key, take, arg);
			progress_done((double) done / pass->noted);
		}
	}
	for (int i = 0; i < pass->nkeys; i++)
		if (batches[i].n > 0)
			pass_on(&batches[i], i, take, arg);
}

void
key_pass_read(KeyPass *pass, KeyPassTake take, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(pass->context);
	KeyBatch   *batches = palloc0(sizeof(KeyBatch) * pass->nkeys);
	KeySource	source = {.next = pass->waiting.data,.end = pass->waiting.data + pass->waiting.len};

	for (int i = 0; i < pass->nkeys; i++)
		initStringInfo(&batches[i].bytes);
	MemoryContextSwitchTo(old);
	if (pass->file != NULL)
	{
		source.file = pass->file;
		if (BufFileSeek(pass->file, 0, 0, SEEK_SET) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not rewind temporary file: %m")));
	}
	take_all(pass, &source, batches, take, arg);
}
