/*
 * team.c
 *		See team.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "index/team.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "storage/shm_toc.h"
#include "workers.h"

#define KEY_TEAM UINT64CONST(1)
#define KEY_BUFFER_USAGE UINT64CONST(2)
#define KEY_WAL_USAGE UINT64CONST(3)

/* In shared memory. */
typedef struct Team
{
	Oid			heap;
	Size		memory;			/* for each process */
	pg_atomic_uint32 next;		/* index that nobody has taken */
	uint32		n;
	TeamIndex	indexes[FLEXIBLE_ARRAY_MEMBER];
} Team;

PGDLLEXPORT void team_worker_main(dsm_segment *segment, shm_toc *toc);

void
team_build_one(Relation heap, TeamIndex *index, Size memory)
{
	Relation	rel = index_open(index->relid, ShareUpdateExclusiveLock);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	index->result = build_index(heap, rel, &index->task, memory);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	index_close(rel, NoLock);
}

static void
build_some(Team *team, Relation heap)
{
	for (;;)
	{
		uint32		i = pg_atomic_fetch_add_u32(&team->next, 1);

		if (i >= team->n)
			break;
		team_build_one(heap, &team->indexes[i], team->memory);
	}
}

static void *
reserve(shm_toc *toc, uint64 key, Size size)
{
	void	   *address = shm_toc_allocate(toc, size);

	shm_toc_insert(toc, key, address);
	return address;
}

/* Starts workers; NULL where there is none. */
static ParallelContext *
start_workers(int nworkers, Size team_size, Team **team)
{
	ParallelContext *pcxt;
	Size		buffer_size = mul_size(sizeof(BufferUsage), nworkers);
	Size		wal_size = mul_size(sizeof(WalUsage), nworkers);
	const Team *model = *team;

	pcxt = CreateParallelContext(workers_library(), "team_worker_main", nworkers);
	shm_toc_estimate_chunk(&pcxt->estimator, team_size);
	shm_toc_estimate_chunk(&pcxt->estimator, buffer_size);
	shm_toc_estimate_chunk(&pcxt->estimator, wal_size);
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
	{
		DestroyParallelContext(pcxt);
		return NULL;
	}
	*team = reserve(pcxt->toc, KEY_TEAM, team_size);
	memcpy(*team, model, team_size);
	reserve(pcxt->toc, KEY_BUFFER_USAGE, buffer_size);
	reserve(pcxt->toc, KEY_WAL_USAGE, wal_size);
	LaunchParallelWorkers(pcxt);
	return pcxt;
}

static void
finish_workers(ParallelContext *pcxt)
{
	BufferUsage *buffer_usage = shm_toc_lookup(pcxt->toc, KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(pcxt->toc, KEY_WAL_USAGE, false);

	WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&buffer_usage[i], &wal_usage[i]);
}

void
team_build(Relation heap, TeamIndex *indexes, int n, int workers)
{
	Size		size = offsetof(Team, indexes) + n * sizeof(TeamIndex);
	Team	   *model = palloc0(size);
	Team	   *team = model;
	ParallelContext *pcxt = NULL;

	workers = Min(workers, n - 1);
	model->heap = RelationGetRelid(heap);
	/* fewer may come, but those that do begin at once */
	model->memory = (Size) maintenance_work_mem * 1024 / (Max(workers, 0) + 1);
	model->n = n;
	pg_atomic_init_u32(&model->next, 0);
	memcpy(model->indexes, indexes, n * sizeof(TeamIndex));

	if (workers > 0)
	{
		EnterParallelMode();
		pcxt = start_workers(workers, size, &team);
	}
	build_some(team, heap);
	if (pcxt != NULL)
		finish_workers(pcxt);
	memcpy(indexes, team->indexes, n * sizeof(TeamIndex));
	if (pcxt != NULL)
		DestroyParallelContext(pcxt);
	if (workers > 0)
		ExitParallelMode();
	pfree(model);
}

void
team_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Team	   *team = shm_toc_lookup(toc, KEY_TEAM, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	Relation	heap;

	InstrStartParallelQuery();
	heap = table_open(team->heap, RowExclusiveLock);
	build_some(team, heap);
	table_close(heap, NoLock);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);
}
