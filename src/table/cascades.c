/*
 * cascades.c
 *		See cascades.h.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "table/cascades.h"
#include "table/partition_tree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* An action on rows of a table. */
typedef struct Event
{
	Oid			relid;
	char	   *column;			/* column changed by it; NULL: rows are deleted */
} Event;

typedef struct Search
{
	Oid			relid;			/* the table searched for */
	List	   *events;			/* all events found so far */
	bool		found;
} Search;

/* A foreign key's columns. */
typedef struct KeyColumns
{
	int			n;
	AttrNumber	own[INDEX_MAX_KEYS];
	AttrNumber	referenced[INDEX_MAX_KEYS];
	int			nset;			/* of own, those that ON DELETE SET ... names; 0: all */
	AttrNumber	set[INDEX_MAX_KEYS];
} KeyColumns;

static void
put_event(Search *search, Oid relid, char *column)
{
	Event	   *event = palloc(sizeof(Event));

	event->relid = relid;
	event->column = column;
	search->events = lappend(search->events, event);
}

static void
add_event(Search *search, Oid relid, char *column)
{
	ListCell   *lc;

	if (partition_tree_is_part_of(relid, search->relid) ||
		partition_tree_is_part_of(search->relid, relid))
		search->found = true;
	foreach(lc, search->events)
	{
		const Event *event = lfirst(lc);

		if (event->relid == relid &&
			(column == NULL ? event->column == NULL :
			 event->column != NULL && strcmp(event->column, column) == 0))
			return;
	}
	put_event(search, relid, column);
}

static void
read_key(Oid constraint, KeyColumns *key)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	DeconstructFkConstraintRow(tuple, &key->n, key->own, key->referenced, NULL, NULL,
							   NULL, &key->nset, key->set);
	ReleaseSysCache(tuple);
}

/* Whether a key refers to a column of the table that its action is on. */
static bool
refers_to(const KeyColumns *key, Relation rel, const char *column)
{
	for (int i = 0; i < key->n; i++)
		if (strcmp(get_attname(RelationGetRelid(rel), key->referenced[i], false),
				   column) == 0)
			return true;
	return false;
}

/* Adds the event that a key's action causes in the referencing table. */
static void
follow(Search *search, const Event *event, Relation rel, const Trigger *trigger)
{
	Oid			other = trigger->tgconstrrelid;
	bool		sets = false;
	KeyColumns	key;

	switch (trigger->tgfoid)
	{
		case F_RI_FKEY_CASCADE_DEL:
			if (event->column == NULL)
				add_event(search, other, NULL);
			return;
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			if (event->column != NULL)
				return;
			read_key(trigger->tgconstraint, &key);
			sets = key.nset > 0;
			break;
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_UPD:
			if (event->column == NULL)
				return;
			read_key(trigger->tgconstraint, &key);
			if (!refers_to(&key, rel, event->column))
				return;
			break;
		default:
			return;
	}
	for (int i = 0; i < (sets ? key.nset : key.n); i++)
		add_event(search, other, get_attname(other, sets ? key.set[i] : key.own[i], false));
}

/* Follows the keys that refer to the event's table, partitions included. */
static void
look_at(Search *search, const Event *event)
{
	List	   *parts = list_make1_oid(event->relid);
	ListCell   *lc;

	if (get_rel_relkind(event->relid) == RELKIND_PARTITIONED_TABLE)
		parts = find_all_inheritors(event->relid, AccessShareLock, NULL);
	foreach(lc, parts)
	{
		Relation	rel = table_open(lfirst_oid(lc), AccessShareLock);
		/* catalog lookups may cause the relcache to reload the relation's own */
		TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
			follow(search, event, rel, &triggers->triggers[i]);
		FreeTriggerDesc(triggers);
		table_close(rel, NoLock);
	}
	list_free(parts);
}

bool
cascades_return(Oid relid)
{
	Search		search = {.relid = relid};

	put_event(&search, relid, NULL);
	for (int i = 0; !search.found && i < list_length(search.events); i++)
		look_at(&search, list_nth(search.events, i));
	list_free_deep(search.events);
	return search.found;
}
