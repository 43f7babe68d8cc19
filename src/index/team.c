/*
 * team.c
 *		See team.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "compat.h"
#include "executor/instrument.h"
#include "index/team.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"
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
	SharedFileSet files;		/* what workers have noted; only with workers */
	pg_atomic_uint32 next;		/* index that nobody has taken */
	uint32		n;
	TeamIndex	indexes[FLEXIBLE_ARRAY_MEMBER];
} Team;

PGDLLEXPORT void team_worker_main(dsm_segment *segment, shm_toc *toc);

/* A row that a worker has noted, in a file for the leader. */
typedef struct Note
{
	RowId		row;
	uint32		group;
} Note;

static void
write_note(void *arg, uint32 group, RowId row)
{
	Note		note;

	memset(&note, 0, sizeof(note));
	note.row = row;
	note.group = group;
	compat_buffile_write((BufFile *) arg, &note, sizeof(note));
}

static void
build_one(Relation heap, TeamIndex *index, Size memory, const ConflictSink *sink)
{
	Relation	rel = index_open(index->relid, ShareUpdateExclusiveLock);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	index->result = build_index(heap, rel, &index->task, memory, sink);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	index_close(rel, NoLock);
}

void
team_build_one(Relation heap, TeamIndex *index, Size memory, Conflicts *conflicts)
{
	build_one(heap, index, memory, conflicts_sink(conflicts, index->relid));
}

/* Next index for this process, or -1. */
static int
take_next(Team *team)
{
	uint32		i = pg_atomic_fetch_add_u32(&team->next, 1);

	return i < team->n ? (int) i : -1;
}

static void
name_notes(char *name, int number)
{
	snprintf(name, MAXPGPATH, "conflicts%d", number);
}

/* The same in a worker, which puts what it notes into a file. */
static void
build_noting(Team *team, Relation heap, int number)
{
	TeamIndex  *index = &team->indexes[number];
	ConflictSink sink = {.note = write_note};
	char		name[MAXPGPATH];

	if (!index->noted)
	{
		build_one(heap, index, team->memory, NULL);
		return;
	}
	name_notes(name, number);
	sink.arg = BufFileCreateFileSet(&team->files.fs, name);
	build_one(heap, index, team->memory, &sink);
	BufFileExportFileSet(sink.arg);
	BufFileClose(sink.arg);
	index->in_file = true;
}

/* In the leader: what a worker has noted. */
static void
read_notes(Team *team, int number, const ConflictSink *sink)
{
	BufFile    *file;
	char		name[MAXPGPATH];
	Note		note;

	name_notes(name, number);
	file = BufFileOpenFileSet(&team->files.fs, name, O_RDONLY, false);
	while (compat_buffile_read_more(file, &note, sizeof(note)))
	{
		CHECK_FOR_INTERRUPTS();
		sink->note(sink->arg, note.group, note.row);
	}
	BufFileClose(file);
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
	SharedFileSetInit(&(*team)->files, pcxt->seg);
	reserve(pcxt->toc, KEY_BUFFER_USAGE, buffer_size);
	reserve(pcxt->toc, KEY_WAL_USAGE, wal_size);
	LaunchParallelWorkers(pcxt);
	return pcxt;
}

void
team_build(Relation heap, TeamIndex *indexes, int n, int workers,
		   Conflicts *conflicts)
{
	Size		size = offsetof(Team, indexes) + n * sizeof(TeamIndex);
	Team	   *model = palloc0(size);
	Team	   *team = model;
	ParallelContext *pcxt = NULL;
	int			next;

	for (int i = 0; i < n; i++)
		indexes[i].noted = conflicts_sink(conflicts, indexes[i].relid) != NULL;
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
	while ((next = take_next(team)) >= 0)
		team_build_one(heap, &team->indexes[next], team->memory, conflicts);
	if (pcxt != NULL)
		workers_finish(pcxt, KEY_BUFFER_USAGE, KEY_WAL_USAGE);
	for (int i = 0; i < n; i++)
		if (team->indexes[i].in_file)
			read_notes(team, i, conflicts_sink(conflicts, team->indexes[i].relid));
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
	int			next;

	SharedFileSetAttach(&team->files, segment);
	InstrStartParallelQuery();
	heap = table_open(team->heap, RowExclusiveLock);
	while ((next = take_next(team)) >= 0)
		build_noting(team, heap, next);
	table_close(heap, NoLock);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);
}
