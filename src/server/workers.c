/*
 * workers.c
 *		See workers.h.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "server/compat.h"
#include "server/throttle.h"
#include "server/usage.h"
#include "server/workers.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/varlena.h"
#include "utils/wait_event.h"

/* The server uses the same unit for large tables. */
#define BYTES_FOR_FIRST_WORKER (8 * 1024 * 1024)

/* Of what a process waits for: its class. */
#define WAIT_CLASS 0xFF000000U

/*
 * Whether a process loads, copies or builds an index, or is a worker of another session, and so
 * keeps a CPU busy, unless it waits for a client or a lock.
 */
static bool
is_busy(const PgBackendStatus *status)
{
	PGPROC	   *proc = BackendPidGetProc(status->st_procpid);
	PGPROC	   *leader = proc == NULL ? NULL : proc->lockGroupLeader;
	uint32		wait = proc == NULL ? 0 : proc->wait_event_info & WAIT_CLASS;

	if (proc == NULL || proc == MyProc || wait == PG_WAIT_CLIENT || wait == PG_WAIT_LOCK)
		return false;
	if (leader != NULL && leader != proc)
		return leader != MyProc;
	return status->st_progress_command == PROGRESS_COMMAND_COPY ||
		status->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX;
}

static int
count_busy(void)
{
	int			busy = 0;
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= n; i++)
	{
		const PgBackendStatus *status = compat_backend_status(i);

		if (status != NULL && is_busy(status))
			busy++;
	}
	return busy;
}

int
workers_with_cpu(int most)
{
	long		cpus = most > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;

	return cpus > 0 ? Max(Min(most, cpus - 1 - count_busy()), 0) : most;
}

int
workers_for_bytes(Relation rel, int64 bytes)
{
	int			most = RelationGetParallelWorkers(rel, max_parallel_maintenance_workers);
	int			workers = 0;

	/* negative: there are storage parameters, but not that one */
	if (most < 0 || most > max_parallel_maintenance_workers)
		most = max_parallel_maintenance_workers;
	for (int64 step = BYTES_FOR_FIRST_WORKER; bytes >= step && workers < most; step *= 3)
		workers++;
	return workers_with_cpu(workers);
}

static void
add_expression(Query *query, Expr *expression)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry(expression,
												list_length(query->targetList) + 1,
												NULL, false));
}

bool
workers_can_evaluate(List *expressions)
{
	Query	   *query = makeNode(Query);
	ListCell   *lc;

	query->commandType = CMD_SELECT;
	foreach(lc, expressions)
	{
		add_expression(query, lfirst(lc));
		/* planned, to include default values of function arguments */
		add_expression(query, expression_planner(lfirst(lc)));
	}
	return max_parallel_hazard(query) == PROPARALLEL_SAFE;
}

/*
 * Without a path a worker may find another library, as Debian's setting
 * extension_destdir does not apply to plain names.
 */
const char *
workers_library(void)
{
	Dl_info		info;

	return dladdr((void *) workers_library, &info) != 0 ? info.dli_fname : "pgbulk";
}

/* ---- whether starting them pays ---- */

/*
 * Estimated seconds to start a process, and to load a library, until this
 * session has started workers.  Most libraries take a millisecond; GDAL with
 * its dependencies takes 300.
 */
#define START_SECONDS 0.01
#define LIBRARY_SECONDS 0.05

/* Start time of the last workers, with this many libraries; 0: none so far. */
static double start_seconds = 0;
static int	start_libraries = 0;

/* Number of libraries loaded by this process or the postmaster. */
static int
count_libraries(void)
{
	Size		size = EstimateLibraryStateSpace();
	char	   *names = palloc(size);
	int			n = 0;

	SerializeLibraryState(size, names);
	for (char *name = names; *name != '\0'; name += strlen(name) + 1)
		n++;
	pfree(names);
	return n;
}

/* Number of libraries preloaded by the postmaster. */
static int
count_preloaded(void)
{
	char	   *copy = pstrdup(shared_preload_libraries_string);
	List	   *names;
	int			n = SplitDirectoriesString(copy, ',', &names) ? list_length(names) : 0;

	list_free_deep(names);
	pfree(copy);
	return n;
}

/* Expected start time of the next workers. */
static double
expect_start(void)
{
	int			libraries = count_libraries();

	if (start_seconds > 0)
		return start_seconds + Max(libraries - start_libraries, 0) * LIBRARY_SECONDS;
	/* except this library, which is always loaded */
	return START_SECONDS + Max(libraries - count_preloaded() - 1, 0) * LIBRARY_SECONDS;
}

static void
note_start(double seconds)
{
	start_seconds = seconds;
	start_libraries = count_libraries();
}

bool
workers_pay(double seconds)
{
	return seconds > 2 * expect_start();
}

/* ---- starting and finishing ---- */

/* Keys in the table of contents; callers use smaller ones. */
#define KEY_ATTENDANCE UINT64CONST(0xFFFFFFFF)
#define KEY_THROTTLE UINT64CONST(0xFFFFFFFE)
#define KEY_BUILD UINT64CONST(0xFFFFFFFD)

/*
 * A session keeps the library that it has loaded when another one is installed, which its workers
 * load then, and to which what they share may mean something else.  All versions compare this.
 */
static const char build[] = "pgbulk " PGBULK_VERSION " build " PGBULK_BUILD;

/* State of a worker: it begins, or finds that the work is done. */
enum
{
	WORKER_EXPECTED,
	WORKER_BEGUN,
	WORKER_TOO_LATE
};

/* In shared memory. */
typedef struct Attendance
{
	instr_time	launched;
	struct
	{
		pg_atomic_uint32 state;
		double		seconds;	/* until it began, or found that the work was done */
		BufferUsage buffer_usage;
		WalUsage	wal_usage;
		Usage		usage;
	}			workers[FLEXIBLE_ARRAY_MEMBER];
} Attendance;

static Size
attendance_size(const ParallelContext *pcxt)
{
	return add_size(offsetof(Attendance, workers),
					mul_size(sizeof(((Attendance *) NULL)->workers[0]), pcxt->nworkers));
}

void
workers_estimate(ParallelContext *pcxt)
{
	shm_toc_estimate_chunk(&pcxt->estimator, attendance_size(pcxt));
	shm_toc_estimate_chunk(&pcxt->estimator, throttle_size());
	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(build));
	shm_toc_estimate_keys(&pcxt->estimator, 3);
}

static void
unshare_throttle(dsm_segment *segment, Datum arg)
{
	throttle_unshare();
}

/* What a file system without space or memory says, or one that cannot be written to. */
static bool
is_lack(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_SYSTEM_ERROR ||
		sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

static bool
try_to_initialize(ParallelContext *pcxt)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	/* so no LWLock is held */
	Assert(InterruptHoldoffCount == 0);
	PG_TRY();
	{
		InitializeParallelDSM(pcxt);
		done = pcxt->seg != NULL;
	}
	PG_CATCH();
	{
		if (!is_lack(geterrcode()))
			PG_RE_THROW();
		/* a segment for what sessions share is made under those of their area */
		LWLockReleaseAll();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return done;
}

static void
release(ResourceOwner owner)
{
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	ResourceOwnerDelete(owner);
}

/*
 * What an error leaves behind is a part of the context or of an owner of its own, which undoes it
 * as an abort does.
 */
bool
workers_initialize(ParallelContext *pcxt)
{
	ResourceOwner owner = CurrentResourceOwner;
	ResourceOwner own = ResourceOwnerCreate(owner, "workers");
	bool		done;

	CurrentResourceOwner = own;
	done = try_to_initialize(pcxt);
	CurrentResourceOwner = owner;
	if (done)
	{
		/* from the one owner to the other */
		dsm_pin_mapping(pcxt->seg);
		dsm_unpin_mapping(pcxt->seg);
	}
	else
		DestroyParallelContext(pcxt);
	release(own);
	/* the system may have given up because of one */
	CHECK_FOR_INTERRUPTS();
	return done;
}

/* What is called for errors of workers. */
typedef struct OnError
{
	ErrorContextCallback context;
	void		(*callback) (void *arg);
	void	   *arg;
} OnError;

/* A message of a worker, which is thrown here, may be a notice of any SQLSTATE. */
static bool
is_error(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ErrorData  *message = CopyErrorData();
	bool		error = message->elevel >= ERROR;

	FreeErrorData(message);
	MemoryContextSwitchTo(old);
	return error;
}

static void
hear(void *arg)
{
	OnError    *on_error = arg;

	if (is_error())
		on_error->callback(on_error->arg);
}

/* The server throws messages of workers with the CONTEXT of when the context was created. */
void
workers_on_error(ParallelContext *pcxt, void (*callback) (void *arg), void *arg)
{
	/* lives as long as the context */
	OnError    *on_error = MemoryContextAlloc(TopTransactionContext, sizeof(OnError));

	on_error->context.callback = hear;
	on_error->context.arg = on_error;
	on_error->context.previous = pcxt->error_context_stack;
	on_error->callback = callback;
	on_error->arg = arg;
	pcxt->error_context_stack = &on_error->context;
}

/* All processes are slowed down together, if this one is. */
static void
share_throttle(ParallelContext *pcxt)
{
	Throttle   *throttle;

	if (throttle_size() == 0 || pcxt->seg == NULL)
		return;
	throttle = shm_toc_allocate(pcxt->toc, throttle_size());
	on_dsm_detach(pcxt->seg, unshare_throttle, (Datum) 0);
	throttle_share(throttle);
	shm_toc_insert(pcxt->toc, KEY_THROTTLE, throttle);
}

void
workers_launch(ParallelContext *pcxt)
{
	Attendance *attendance = shm_toc_allocate(pcxt->toc, attendance_size(pcxt));
	char	   *own_build = shm_toc_allocate(pcxt->toc, sizeof(build));

	memcpy(own_build, build, sizeof(build));
	shm_toc_insert(pcxt->toc, KEY_BUILD, own_build);
	memset(attendance, 0, attendance_size(pcxt));
	for (int i = 0; i < pcxt->nworkers; i++)
		pg_atomic_init_u32(&attendance->workers[i].state, WORKER_EXPECTED);
	share_throttle(pcxt);
	INSTR_TIME_SET_CURRENT(attendance->launched);
	shm_toc_insert(pcxt->toc, KEY_ATTENDANCE, attendance);
	LaunchParallelWorkers(pcxt);
}

/* Marks the work as done, unless the worker has begun. */
static void
refuse_late(pg_atomic_uint32 *state)
{
	uint32		expected = WORKER_EXPECTED;

	(void) pg_atomic_compare_exchange_u32(state, &expected, WORKER_TOO_LATE);
}

void
workers_finish(ParallelContext *pcxt)
{
	Attendance *attendance = shm_toc_lookup(pcxt->toc, KEY_ATTENDANCE, false);
	double		slowest = 0;

	for (int i = 0; i < pcxt->nworkers_launched; i++)
		refuse_late(&attendance->workers[i].state);
	WaitForParallelWorkersToFinish(pcxt);

	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		slowest = Max(slowest, attendance->workers[i].seconds);
		if (pg_atomic_read_u32(&attendance->workers[i].state) != WORKER_BEGUN)
			continue;
		InstrAccumParallelQuery(&attendance->workers[i].buffer_usage,
								&attendance->workers[i].wal_usage);
		usage_add(attendance->workers[i].usage);
	}
	throttle_unshare();
	if (slowest > 0)
		note_start(slowest);
}

/* Not DestroyParallelContext: workers may wait for what this process has locked. */
void
workers_abandon(ParallelContext *pcxt)
{
	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		ParallelWorkerInfo *worker = &pcxt->worker[i];

		if (worker->error_mqh == NULL)
			continue;
		TerminateBackgroundWorker(worker->bgwhandle);
		shm_mq_detach(worker->error_mqh);
		worker->error_mqh = NULL;
	}
}

/* Whether the leader has the library that this worker has. */
static bool
is_of_leader(shm_toc *toc)
{
	const char *leader = shm_toc_lookup(toc, KEY_BUILD, true);

	if (leader != NULL && strcmp(leader, build) == 0)
		return true;
	if (ParallelWorkerNumber == 0)
		ereport(WARNING,
				(errmsg("workers do nothing, as they have another pgbulk than this session"),
				 errdetail("It has been installed since the session loaded its own."),
				 errhint("Open a new session.")));
	return false;
}

/* In a worker: when it began. */
static Usage begun;

bool
workers_begin(shm_toc *toc)
{
	Attendance *attendance;
	uint32		expected = WORKER_EXPECTED;
	Throttle   *throttle;

	if (!is_of_leader(toc))
		return false;
	attendance = shm_toc_lookup(toc, KEY_ATTENDANCE, false);
	attendance->workers[ParallelWorkerNumber].seconds = seconds_since(attendance->launched);
	if (!pg_atomic_compare_exchange_u32(&attendance->workers[ParallelWorkerNumber].state,
										&expected, WORKER_BEGUN))
		return false;
	begun = usage_now();
	InstrStartParallelQuery();
	throttle = shm_toc_lookup(toc, KEY_THROTTLE, true);
	if (throttle != NULL)
		throttle_attach(throttle);
	return true;
}

void
workers_end(shm_toc *toc)
{
	Attendance *attendance = shm_toc_lookup(toc, KEY_ATTENDANCE, false);

	InstrEndParallelQuery(&attendance->workers[ParallelWorkerNumber].buffer_usage,
						  &attendance->workers[ParallelWorkerNumber].wal_usage);
	attendance->workers[ParallelWorkerNumber].usage = usage_between(begun, usage_now());
}
