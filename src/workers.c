/*
 * workers.c
 *		See workers.h.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <unistd.h>

#include "catalog/pg_proc.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "storage/shm_toc.h"
#include "workers.h"

/* What the server takes as its unit for large tables, too. */
#define BYTES_FOR_FIRST_WORKER (8 * 1024 * 1024)

int
workers_for_bytes(Relation rel, int64 bytes)
{
	int			most = RelationGetParallelWorkers(rel, max_parallel_maintenance_workers);
	long		cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int			workers = 0;

	for (int64 step = BYTES_FOR_FIRST_WORKER; bytes >= step && workers < most; step *= 3)
		workers++;
	return cpus > 0 ? Min(workers, cpus - 1) : workers;
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
		/* planned, with what arguments of functions are by default */
		add_expression(query, expression_planner(lfirst(lc)));
	}
	return max_parallel_hazard(query) == PROPARALLEL_SAFE;
}

/*
 * By its name alone a worker may find another one, as Debian's setting
 * extension_destdir is not for names.
 */
const char *
workers_library(void)
{
	Dl_info		info;

	return dladdr((void *) workers_library, &info) != 0 ? info.dli_fname : "pgbulk";
}

void
workers_finish(ParallelContext *pcxt, uint64 buffer_usage_key,
			   uint64 wal_usage_key)
{
	BufferUsage *buffer_usage = shm_toc_lookup(pcxt->toc, buffer_usage_key, false);
	WalUsage   *wal_usage = shm_toc_lookup(pcxt->toc, wal_usage_key, false);

	WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&buffer_usage[i], &wal_usage[i]);
}
