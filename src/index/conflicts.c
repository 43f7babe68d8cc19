/*
 * conflicts.c
 *		See conflicts.h.
 */
#include "postgres.h"

#include "index/conflicts.h"
#include "miscadmin.h"
#include "records.h"
#include "utils/memutils.h"

typedef struct ConflictIndex
{
	Conflicts  *conflicts;
	int			number;
	Oid			relid;
	uint32		ngroups;
	ConflictSink sink;

	/* of the group in hand, if only the first conflict counts */
	RowId		lowest;
	RowId		second;			/* 0: there is none yet */
} ConflictIndex;

struct Conflicts
{
	int			nindexes;
	int			capacity;
	ConflictIndex **indexes;
	Records    *records;		/* row, index << 32 | group */

	/* if only the first conflict counts, it; first.number -1: there is none */
	bool		first_only;
	struct
	{
		int			number;
		RowId		rows[2];
	}			first;
};

Conflicts *
conflicts_open(bool first_only)
{
	Conflicts  *conflicts = palloc0(sizeof(Conflicts));

	conflicts->first_only = first_only;
	conflicts->first.number = -1;
	conflicts->records = records_open(2, maintenance_work_mem / 4);
	return conflicts;
}

/* The first conflict is that whose second row comes first; of its indexes, the first. */
static void
note_first(ConflictIndex *index, uint32 group, RowId row)
{
	Conflicts  *conflicts = index->conflicts;

	if (group >= index->ngroups)
	{
		index->ngroups = group + 1;
		index->lowest = row;
		index->second = 0;
		return;
	}
	if (row < index->lowest)
	{
		index->second = index->lowest;
		index->lowest = row;
	}
	else if (index->second == 0 || row < index->second)
		index->second = row;
	if (conflicts->first.number >= 0 &&
		(index->second > conflicts->first.rows[1] ||
		 (index->second == conflicts->first.rows[1] &&
		  index->number >= conflicts->first.number)))
		return;
	conflicts->first.number = index->number;
	conflicts->first.rows[0] = index->lowest;
	conflicts->first.rows[1] = index->second;
}

static void
note(void *arg, uint32 group, RowId row)
{
	ConflictIndex *index = arg;
	int64		values[2] = {(int64) row, (int64) index->number << 32 | group};

	if (index->conflicts->first_only)
	{
		note_first(index, group, row);
		return;
	}
	records_put(index->conflicts->records, values);
	index->ngroups = Max(index->ngroups, group + 1);
}

void
conflicts_add_index(Conflicts *conflicts, Oid relid, const ConflictSink *elsewhere)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(conflicts));
	ConflictIndex *index = palloc0(sizeof(ConflictIndex));

	if (conflicts->nindexes == conflicts->capacity)
	{
		conflicts->capacity = Max(2 * conflicts->capacity, 4);
		conflicts->indexes = conflicts->indexes == NULL ?
			palloc(conflicts->capacity * sizeof(ConflictIndex *)) :
			repalloc(conflicts->indexes, conflicts->capacity * sizeof(ConflictIndex *));
	}
	index->conflicts = conflicts;
	index->number = conflicts->nindexes;
	index->relid = relid;
	index->sink = elsewhere != NULL ? *elsewhere :
		(ConflictSink) {.note = note,.arg = index};
	conflicts->indexes[conflicts->nindexes++] = index;
	MemoryContextSwitchTo(old);
}

const ConflictSink *
conflicts_sink(Conflicts *conflicts, Oid relid)
{
	for (int i = 0; conflicts != NULL && i < conflicts->nindexes; i++)
		if (conflicts->indexes[i]->relid == relid)
			return &conflicts->indexes[i]->sink;
	return NULL;
}

int
conflicts_nindexes(const Conflicts *conflicts)
{
	return conflicts->nindexes;
}

Oid
conflicts_index(const Conflicts *conflicts, int number)
{
	return conflicts->indexes[number]->relid;
}

uint32
conflicts_groups(const Conflicts *conflicts, int number)
{
	return conflicts->first_only ? 1 : conflicts->indexes[number]->ngroups;
}

int64
conflicts_count(const Conflicts *conflicts)
{
	return conflicts->first.number >= 0 ? 2 : records_count(conflicts->records);
}

void
conflicts_sort(Conflicts *conflicts)
{
	for (int i = 0; conflicts->first.number >= 0 && i < 2; i++)
	{
		int64		values[2] = {
			(int64) conflicts->first.rows[i],
			(int64) conflicts->first.number << 32
		};

		records_put(conflicts->records, values);
	}
	records_sort(conflicts->records);
}

bool
conflicts_next(Conflicts *conflicts, RowId *row, int *number, uint32 *group)
{
	int64		values[2];

	if (!records_next(conflicts->records, values))
		return false;
	*row = (RowId) values[0];
	*number = (int) (values[1] >> 32);
	*group = (uint32) values[1];
	return true;
}

void
conflicts_close(Conflicts *conflicts)
{
	records_close(conflicts->records);
	for (int i = 0; i < conflicts->nindexes; i++)
		pfree(conflicts->indexes[i]);
	if (conflicts->indexes != NULL)
		pfree(conflicts->indexes);
	pfree(conflicts);
}
