/*
 * shown.c
 *		See shown.h.
 */
#include "postgres.h"

#include "cluster/shown.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "server/progress.h"
#include "storage/dsm.h"
#include "utils/builtins.h"

/* Whoever attaches to a handle must find this. */
#define SHOWN_MAGIC 0x70676e64	/* "pgnd" */

/* Sessions of a load that are shown at most. */
#define MOST_SESSIONS 512

/* Bytes of a server's name: an identifier, or a node of Citus, whose host may be cut. */
#define SERVER_LENGTH 128

typedef struct ShownSession
{
	char		server[SERVER_LENGTH];
	int			pid;
	pg_atomic_uint32 state;
	pg_atomic_uint64 rows;
	pg_atomic_uint64 bytes;
	pg_atomic_uint64 waiting;
} ShownSession;

/* In shared memory. */
typedef struct Shown
{
	uint32		magic;
	pg_atomic_uint32 n;			/* sessions that are complete */
	ShownSession sessions[MOST_SESSIONS];
} Shown;

static const char *const state_words[] = {
	[SHOWN_IDLE] = "idle",
	[SHOWN_STARTING] = "starting",
	[SHOWN_COPYING] = "copying",
	[SHOWN_ENDING] = "ending",
	[SHOWN_PREPARING] = "preparing",
	[SHOWN_PREPARED] = "prepared",
	[SHOWN_COMMITTING] = "committing",
	[SHOWN_COMMITTED] = "committed"
};

/* This session's load; NULL: it has none, or no shared memory for it. */
static dsm_segment *segment;
static bool refused;			/* there was none to be had */

/* ---- the load ---- */

static Shown *
shown_of(dsm_segment *of)
{
	return dsm_segment_address(of);
}

/*
 * NULL: the system has no memory for it, or no file, which must not end a load.  Without an owner
 * it outlives the statement, as nodes commit after it.  After an error dsm.c has undone what it
 * did but for the segment's entry in a list of this process.
 */
static dsm_segment *
try_to_create(void)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	dsm_segment *volatile created = NULL;

	CurrentResourceOwner = NULL;
	PG_TRY();
	{
		created = dsm_create(sizeof(Shown), DSM_CREATE_NULL_IF_MAXSEGMENTS);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return created;
}

static void
create_segment(void)
{
	Shown	   *shown;

	segment = try_to_create();
	refused = segment == NULL;
	if (refused)
		return;
	shown = shown_of(segment);
	pg_atomic_init_u32(&shown->n, 0);
	shown->magic = SHOWN_MAGIC;
	progress_nodes(dsm_segment_handle(segment));
}

int
shown_add(const char *server, int pid)
{
	Shown	   *shown;
	ShownSession *session;
	uint32		n;

	if (segment == NULL && !refused)
		create_segment();
	if (segment == NULL)
		return SHOWN_NOT;
	shown = shown_of(segment);
	n = pg_atomic_read_u32(&shown->n);
	if (n == MOST_SESSIONS)
		return SHOWN_NOT;
	session = &shown->sessions[n];
	strlcpy(session->server, server, SERVER_LENGTH);
	session->server[pg_encoding_mbcliplen(GetDatabaseEncoding(), session->server,
										  strlen(session->server), SERVER_LENGTH - 1)] = '\0';
	session->pid = pid;
	pg_atomic_init_u32(&session->state, SHOWN_IDLE);
	pg_atomic_init_u64(&session->rows, 0);
	pg_atomic_init_u64(&session->bytes, 0);
	pg_atomic_init_u64(&session->waiting, 0);
	pg_write_barrier();
	pg_atomic_write_u32(&shown->n, n + 1);
	return n;
}

void
shown_state(int number, ShownState state)
{
	if (segment != NULL && number != SHOWN_NOT)
		pg_atomic_write_u32(&shown_of(segment)->sessions[number].state, state);
}

void
shown_rows(int number, int64 rows, int64 bytes, int64 waiting)
{
	ShownSession *session;

	if (segment == NULL || number == SHOWN_NOT)
		return;
	session = &shown_of(segment)->sessions[number];
	pg_atomic_write_u64(&session->rows, rows);
	pg_atomic_write_u64(&session->bytes, bytes);
	pg_atomic_write_u64(&session->waiting, waiting);
}

void
shown_undo(void)
{
	if (segment == NULL)
		return;
	dsm_detach(segment);
	segment = NULL;
	progress_nodes(0);
}

void
shown_end(void)
{
	refused = false;
	if (segment == NULL)
		return;
	dsm_detach(segment);
	segment = NULL;
	progress_leave();
}

/* ---- whoever looks ---- */

static void
put_session(int pid, ShownSession *session, Tuplestorestate *store, TupleDesc desc)
{
	uint32		state = pg_atomic_read_u32(&session->state);
	Datum		values[] = {
		Int32GetDatum(pid),
		CStringGetTextDatum(session->server),
		Int32GetDatum(session->pid),
		CStringGetTextDatum(state_words[Min(state, lengthof(state_words) - 1)]),
		Int64GetDatum(pg_atomic_read_u64(&session->rows)),
		Int64GetDatum(pg_atomic_read_u64(&session->bytes)),
		Int64GetDatum(pg_atomic_read_u64(&session->waiting))
	};
	bool		nulls[lengthof(values)] = {0};

	/* it may be in the encoding of another database */
	nulls[1] = !pg_verify_mbstr(GetDatabaseEncoding(), session->server, strlen(session->server),
								true);
	tuplestore_putvalues(store, desc, values, nulls);
}

static void
put_load(int pid, Shown *shown, Tuplestorestate *store, TupleDesc desc)
{
	uint32		n = shown->magic == SHOWN_MAGIC ? pg_atomic_read_u32(&shown->n) : 0;

	pg_read_barrier();
	for (uint32 i = 0; i < Min(n, MOST_SESSIONS); i++)
		put_session(pid, &shown->sessions[i], store, desc);
}

/* A load that has ended meanwhile has nothing to show. */
static void
look_at(int pid, dsm_handle handle, Tuplestorestate *store, TupleDesc desc)
{
	dsm_segment *own = dsm_find_mapping(handle);
	dsm_segment *other = own != NULL ? NULL : dsm_attach(handle);

	if (own != NULL)
		put_load(pid, shown_of(own), store, desc);
	else if (other != NULL)
	{
		if (dsm_segment_map_length(other) >= sizeof(Shown))
			put_load(pid, shown_of(other), store, desc);
		dsm_detach(other);
	}
}

void
shown_list(Tuplestorestate *store, TupleDesc desc)
{
	SPI_connect();
	/* whoever may not see a load gets nulls of it */
	if (SPI_execute(progress_nodes_query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not look at the progress of loads");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		int			pid = DatumGetInt32(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &isnull));
		int64		handle = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &isnull));

		look_at(pid, (dsm_handle) handle, store, desc);
	}
	SPI_finish();
}
