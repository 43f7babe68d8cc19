/*
 * team.c
 *		See team.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/storage.h"
#include "index/blame.h"
#include "index/bulk.h"
#include "index/notes.h"
#include "index/span.h"
#include "index/team.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "server/progress.h"
#include "server/workers.h"
#include "storage/bufmgr.h"
#include "storage/sharedfileset.h"
#include "storage/shm_toc.h"

#define KEY_TEAM UINT64CONST(1)
#define KEY_SPANS UINT64CONST(100)	/* and those that follow */

/* In shared memory. */
typedef struct Team
{
	Size		memory;			/* for each process */
	SharedFileSet files;		/* what workers have noted; only with workers */
	SharedBlame blame;
	pg_atomic_uint32 next;		/* index that nobody has taken */
	uint32		n;
	int			nspans;
	TeamIndex	indexes[FLEXIBLE_ARRAY_MEMBER];
} Team;

/* An index that all processes build together, for the leader. */
typedef struct TeamSpan
{
	int			number;			/* of the index */
	SplitKeys  *keys;
	Span	   *span;
	Relation	heap;
	Relation	index;
	BulkPages  *pages;			/* open while others put theirs */
} TeamSpan;

typedef struct TeamLead
{
	Team	   *team;
	Conflicts  *conflicts;
	int			workers;		/* that are wanted */
	int			nspans;
	TeamSpan   *spans;
	ParallelContext *pcxt;		/* NULL: there are no workers */
	ErrorContextCallback blame; /* for errors of workers */
} TeamLead;

PGDLLEXPORT void team_worker_main(dsm_segment *segment, shm_toc *toc);

/* The lock is the leader's, too; in a worker the parallel group makes the two one. */
static Relation
open_heap(const TeamIndex *index)
{
	return table_open(index->heap, RowExclusiveLock);
}

static void
build_one(TeamIndex *index, Size memory, const ConflictSink *sink)
{
	Relation	heap = open_heap(index);
	Relation	rel = index_open(index->relid, ShareUpdateExclusiveLock);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	progress_step(index->expected, index->after);
	if (index->task.method != INDEX_INSERT)
		progress_index_begin(heap, rel, NULL);
	index->result = build_index(heap, rel, &index->task, memory, sink);
	if (index->task.method != INDEX_INSERT)
		progress_index_end();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	index->processes = 1;
	index_close(rel, NoLock);
	table_close(heap, NoLock);
}

void
team_build_one(TeamIndex *index, Size memory, Conflicts *conflicts)
{
	build_one(index, memory, conflicts_sink(conflicts, index->relid));
}

/* Next index for this process alone, or -1. */
static int
take_next(Team *team)
{
	for (;;)
	{
		uint32		i = pg_atomic_fetch_add_u32(&team->next, 1);

		if (i >= team->n)
			return -1;
		if (!team->indexes[i].together)
			return i;
	}
}

static void
name_notes(char *name, int number)
{
	snprintf(name, NOTES_NAME, "conflicts%d", number);
}

/* The same as team_build_one in a worker, whose notes the leader reads. */
static void
build_noting(Team *team, int number)
{
	TeamIndex  *index = &team->indexes[number];
	char		name[NOTES_NAME];
	Notes		notes;

	name_notes(name, number);
	notes_begin(&notes, &team->files.fs, name);
	build_one(index, team->memory, index->noted ? &notes.sink : NULL);
	index->in_file = notes_end(&notes);
}

/* In the leader: what a worker has noted. */
static void
read_notes(Team *team, int number, const ConflictSink *sink)
{
	char		name[NOTES_NAME];

	name_notes(name, number);
	notes_read(&team->files.fs, name, 0, sink);
}

static void *
reserve(shm_toc *toc, uint64 key, Size size)
{
	void	   *address = shm_toc_allocate(toc, size);

	shm_toc_insert(toc, key, address);
	return address;
}

/* ---- indexes that all processes build together ---- */

/* Splits the keys of an index, or says why it is built by one process. */
static SplitKeys *
choose_split(TeamIndex *index, int processes, Size memory)
{
	Relation	heap = open_heap(index);
	Relation	rel = index_open(index->relid, ShareUpdateExclusiveLock);
	SplitKeys  *keys = split_choose(heap, rel, BuildIndexInfo(rel),
									RelationGetNumberOfBlocks(heap), processes,
									memory, &index->one_process);

	index_close(rel, NoLock);
	table_close(heap, NoLock);
	return keys;
}

/* All that can be said of them before there are workers. */
static void
prepare_spans(TeamLead *lead)
{
	Team	   *team = lead->team;

	lead->spans = palloc0(team->n * sizeof(TeamSpan));
	for (int i = 0; i < team->n; i++)
	{
		TeamIndex  *index = &team->indexes[i];
		SplitKeys  *keys = NULL;

		if (index->together && lead->workers > 0)
			keys = choose_split(index, lead->workers + 1, team->memory);
		index->together = keys != NULL;
		if (keys == NULL)
			continue;
		lead->spans[lead->nspans].number = i;
		lead->spans[lead->nspans++].keys = keys;
	}
	team->nspans = lead->nspans;
}

static void
begin_span(TeamLead *lead, TeamSpan *span, shm_toc *toc, int number)
{
	const TeamIndex *index = &lead->team->indexes[span->number];

	span->span = reserve(toc, KEY_SPANS + number, span_size(span->keys));
	span->heap = open_heap(index);
	span_init(span->span, index->relid, number, span->keys,
			  RelationGetNumberOfBlocks(span->heap), lead->workers + 1,
			  lead->team->memory, index->noted);
	span->index = index_open(index->relid, ShareUpdateExclusiveLock);
	span->pages = bulk_open(span->index);
}

/* Whatever became of it, nobody else puts pages any more. */
static void
end_span(TeamSpan *span)
{
	bulk_close(span->pages);
	index_close(span->index, NoLock);
	table_close(span->heap, NoLock);
}

static void
build_span(TeamLead *lead, TeamSpan *span)
{
	Team	   *team = lead->team;
	TeamIndex  *index = &team->indexes[span->number];
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "span end",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	progress_step(index->expected, index->after);
	span_help(span->span, span->heap, &team->files);
	if (!span_finish(span->span, span->heap, &team->files,
					 conflicts_sink(lead->conflicts, index->relid), &index->result,
					 &index->processes))
		index->one_process = "sort strings of its collation do not come in its order";
	progress_index_end();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	index->seconds = INSTR_TIME_GET_DOUBLE(end);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Built together in vain: once more, by this process alone, from the first block on. */
static void
build_again(TeamLead *lead, TeamIndex *index)
{
	Relation	rel = index_open(index->relid, NoLock);
	double		seconds = index->seconds;

	RelationTruncate(rel, 0);
	index_close(rel, NoLock);
	team_build_one(index, (Size) maintenance_work_mem * 1024, lead->conflicts);
	index->seconds += seconds;
}

/* ---- the team ---- */

/* Starts workers, if any can be had. */
static void
start_workers(TeamLead *lead, Size team_size)
{
	ParallelContext *pcxt;
	Team	   *team;

	pcxt = CreateParallelContext(workers_library(), "team_worker_main", lead->workers);
	shm_toc_estimate_chunk(&pcxt->estimator, team_size);
	workers_estimate(pcxt);
	for (int i = 0; i < lead->nspans; i++)
		shm_toc_estimate_chunk(&pcxt->estimator, span_size(lead->spans[i].keys));
	shm_toc_estimate_keys(&pcxt->estimator, 1 + lead->nspans);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
	{
		DestroyParallelContext(pcxt);
		return;
	}
	team = reserve(pcxt->toc, KEY_TEAM, team_size);
	memcpy(team, lead->team, team_size);
	lead->team = team;
	lead->pcxt = pcxt;
	SharedFileSetInit(&team->files, pcxt->seg);
	lead->blame.arg = &team->blame;
	for (int i = 0; i < lead->nspans; i++)
		begin_span(lead, &lead->spans[i], pcxt->toc, i);
	workers_launch(pcxt);
}

/* The leader's part of the work. */
static void
build_all(TeamLead *lead)
{
	Team	   *team = lead->team;
	bool		has_help = lead->pcxt != NULL && lead->pcxt->nworkers_launched > 0;
	int			next;

	for (int i = 0; i < lead->nspans; i++)
	{
		TeamIndex  *index = &team->indexes[lead->spans[i].number];

		if (has_help)
			build_span(lead, &lead->spans[i]);
		else
			index->one_process = "no worker was free";
	}
	while ((next = take_next(team)) >= 0)
		team_build_one(&team->indexes[next], team->memory, lead->conflicts);
}

/* The leader has no more to do: how long workers may still take for what they have in their hands. */
static void
expect_workers(const TeamLead *lead)
{
	const Team *team = lead->team;
	double		longest = 0;
	double		after = 0;

	for (int i = 0; i < team->n; i++)
	{
		if (team->indexes[i].processes == 0)
			longest = Max(longest, team->indexes[i].expected);
		after = team->indexes[i].after;
	}
	/* half of it is done, for all that is known */
	if (longest > 0)
		progress_step(longest / 2, after);
}

/* After the workers: what they have noted, and what could not be done together. */
static void
finish(TeamLead *lead)
{
	Team	   *team = lead->team;

	for (int i = 0; i < lead->nspans; i++)
		if (lead->spans[i].index != NULL)
			end_span(&lead->spans[i]);
	for (int i = 0; i < team->n; i++)
	{
		TeamIndex  *index = &team->indexes[i];

		if (index->in_file)
			read_notes(team, i, conflicts_sink(lead->conflicts, index->relid));
	}
}

void
team_build(TeamIndex *indexes, int n, int workers, Conflicts *conflicts)
{
	Size		size = offsetof(Team, indexes) + n * sizeof(TeamIndex);
	Team	   *team = palloc0(size);
	TeamLead	lead = {
		.team = team,
		.conflicts = conflicts,
		.workers = Max(workers, 0)
	};

	for (int i = 0; i < n; i++)
		indexes[i].noted = conflicts_sink(conflicts, indexes[i].relid) != NULL;
	team->n = n;
	blame_init(&team->blame);
	team->memory = (Size) maintenance_work_mem * 1024 / (lead.workers + 1);
	pg_atomic_init_u32(&team->next, 0);
	memcpy(team->indexes, indexes, n * sizeof(TeamIndex));
	prepare_spans(&lead);
	if (lead.nspans == 0)
		lead.workers = Max(Min(workers, n - 1), 0);
	/* fewer may come, but those that do begin at once */
	team->memory = (Size) maintenance_work_mem * 1024 / (lead.workers + 1);

	if (lead.workers > 0)
	{
		EnterParallelMode();
		blame_share(&lead.blame, &team->blame);
		start_workers(&lead, size);
	}
	build_all(&lead);
	if (lead.pcxt != NULL)
	{
		expect_workers(&lead);
		workers_finish(lead.pcxt);
	}
	finish(&lead);
	memcpy(indexes, lead.team->indexes, n * sizeof(TeamIndex));
	if (lead.workers > 0)
		error_context_stack = lead.blame.previous;
	if (lead.pcxt != NULL)
		DestroyParallelContext(lead.pcxt);
	if (lead.workers > 0)
		ExitParallelMode();
	for (int i = 0; i < n; i++)
		if (indexes[i].together && indexes[i].processes == 0)
			build_again(&lead, &indexes[i]);
	pfree(team);
}

/* In a worker: those that are built together, in the leader's order. */
static void
help_spans(Team *team, shm_toc *toc)
{
	int			number = 0;

	for (int i = 0; number < team->nspans; i++)
	{
		Relation	heap;

		if (!team->indexes[i].together)
			continue;
		heap = open_heap(&team->indexes[i]);
		span_help(shm_toc_lookup(toc, KEY_SPANS + number++, false), heap, &team->files);
		progress_index_end();
		table_close(heap, NoLock);
	}
}

static void
help(Team *team, shm_toc *toc)
{
	int			next;

	help_spans(team, toc);
	while ((next = take_next(team)) >= 0)
		build_noting(team, next);
}

void
team_worker_main(dsm_segment *segment, shm_toc *toc)
{
	Team	   *team = shm_toc_lookup(toc, KEY_TEAM, false);

	if (!workers_begin(toc))
		return;
	SharedFileSetAttach(&team->files, segment);
	PG_TRY();
	{
		help(team, toc);
	}
	PG_CATCH();
	{
		blame_give(&team->blame);
		PG_RE_THROW();
	}
	PG_END_TRY();
	workers_end(toc);
}
