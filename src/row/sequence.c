/*
 * sequence.c
 *		Ranges of sequences, and the defaults that take values from them.
 *
 * A sequence is a relation of one page, with one tuple that is visible to all
 * snapshots:
 *
 *		+----------------+-----+------------------------------------+
 *		| PageHeaderData | lp1 |                                    |
 *		+----------------+-----+                                    |
 *		|                                                           |
 *		|      +--------+--------------------------------+----------+
 *		|      | header | last_value, log_cnt, is_called |  magic   |
 *		+------+--------+--------------------------------+----------+
 *
 * is_called: last_value has been used, the next value is one increment further;
 * else last_value itself is the next one.  log_cnt: how many values nextval may
 * still fetch without a WAL record, as the last record was ahead by as many.
 *
 * sequence_reserve does in one step what as many calls of nextval_internal (sequence.c) do:
 *
 *		last_value                 *first                      the last one
 *		    |        + increment      |    + steps * increment      |
 *		----*-------------------------*-----*-----*-----*-----*-----*----> becomes last_value
 *		 used by others               '------------ this range -----'
 *
 * under the page's exclusive lock, so no value is given twice.  The WAL record (xl_seq_rec and the
 * tuple) has the same values as the page, and log_cnt 0: the next nextval writes a record.
 *
 *		1. the page is changed, in a critical section, after MarkBufferDirty
 *		2. the record is inserted; replay makes the whole page of it (seq_redo)
 *		3. rows get the values; the transaction commits, waiting for the record (it has an xid)
 *
 * A crash before the record is on disk undoes 1, and no row that has one of the values has been
 * committed.  Once it is on disk, values without rows are a gap.  An abort doesn't undo 1, either.
 *
 * In contrast to nextval_internal
 *	- nothing is fetched ahead, so a crash loses no values beyond the range;
 *	- the session's cache (CACHE, currval, lastval) is neither used nor changed: for that
 *	  sequence_next_slow calls nextval at both ends of a load;
 *	- it works in parallel mode, as the session's state is not involved;
 *	- an xmax that SELECT FOR UPDATE of a server before 9.1 has left is not cleared.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_sequence.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "row/sequence.h"
#include "server/compat.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/*
 * Where it is not known how many values are needed, reserve this fraction of
 * those taken so far, so that few are lost at the end of a small load, and no
 * more than nextval loses in a crash (SEQ_LOG_VALS).
 */
#define UNEXPECTED_SHARE 8
#define MAX_UNEXPECTED 32

SequenceRange *
sequence_open(Oid relid, bool check_privileges)
{
	SequenceRange *range = palloc0(sizeof(SequenceRange));

	range->relid = relid;
	range->check_privileges = check_privileges;
	return range;
}

/* ---- reserving ---- */

/*
 * The sequence, checked as nextval_internal checks it.  Its lock belongs to the whole transaction
 * (lock_and_open_sequence): the end of a guard's subtransaction must not release it.
 */
static Relation
open_relation(SequenceRange *range)
{
	Relation	rel;

	if (!range->locked)
	{
		ResourceOwner owner = CurrentResourceOwner;

		CurrentResourceOwner = TopTransactionResourceOwner;
		LockRelationOid(range->relid, RowExclusiveLock);
		CurrentResourceOwner = owner;
		range->locked = true;
	}

	Assert(CheckRelationOidLockedByMe(range->relid, RowExclusiveLock, true));
	rel = relation_open(range->relid, NoLock);
	if (rel->rd_rel->relkind != RELKIND_SEQUENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a sequence",
						RelationGetRelationName(rel))));
	if (range->check_privileges &&
		pg_class_aclcheck(range->relid, GetUserId(),
						  ACL_USAGE | ACL_UPDATE) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for sequence %s",
						RelationGetRelationName(rel))));
	if (!rel->rd_islocaltemp)
		PreventCommandIfReadOnly("nextval()");
	return rel;
}

/* A copy of the sequence's row of pg_sequence; the lock keeps ALTER SEQUENCE away. */
static FormData_pg_sequence
read_parameters(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(relid));
	FormData_pg_sequence parameters;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", relid);
	parameters = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	/* CREATE SEQUENCE refuses zero: count_steps divides by it */
	Assert(parameters.seqincrement != 0 && parameters.seqmin < parameters.seqmax);
	return parameters;
}

/* The sequence's one tuple, in its page, which is locked in this mode (read_seq_tuple). */
static HeapTupleHeader
lock_page(Relation rel, int mode, Buffer *buffer)
{
	Page		page;
	ItemId		item;

	*buffer = ReadBuffer(rel, 0);
	LockBuffer(*buffer, mode);
	page = BufferGetPage(*buffer);
	item = PageGetItemId(page, FirstOffsetNumber);
	if (PageGetMaxOffsetNumber(page) != FirstOffsetNumber ||
		!ItemIdIsNormal(item))
		elog(ERROR, "sequence \"%s\" has no tuple",
			 RelationGetRelationName(rel));
	/* the special space has the magic number, which replay writes again */
	Assert(PageGetSpecialSize(page) == MAXALIGN(sizeof(uint32)));
	Assert(ItemIdGetLength(item) >= SizeofHeapTupleHeader +
		   offsetof(FormData_pg_sequence_data, is_called) + sizeof(bool));
	return (HeapTupleHeader) PageGetItem(page, item);
}

static inline Form_pg_sequence_data
tuple_data(HeapTupleHeader tuple)
{
	return (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
}

/*
 * How many increments can be added to value without passing the limit.  Differences may be as
 * large as 2^64 - 1 and -seqincrement 2^63, so all is unsigned.  value may be beyond the limit if
 * ALTER SEQUENCE has changed that.
 */
static uint64
count_steps(const FormData_pg_sequence *parameters, int64 value)
{
	uint64		increment = parameters->seqincrement;

	if (parameters->seqincrement > 0)
		return value >= parameters->seqmax ? 0 :
			((uint64) parameters->seqmax - (uint64) value) / increment;
	return value <= parameters->seqmin ? 0 :
		((uint64) value - (uint64) parameters->seqmin) / -increment;
}

/*
 * The next value.  Errors: 2200H at the end of the sequence, in nextval's words; one that cycles
 * goes on from its other end.
 */
static int64
first_value(Relation rel, const FormData_pg_sequence *parameters,
			const FormData_pg_sequence_data *data)
{
	bool		ascending = parameters->seqincrement > 0;

	if (!data->is_called)
		return data->last_value;
	if (count_steps(parameters, data->last_value) > 0)
		return data->last_value + parameters->seqincrement;
	if (!parameters->seqcycle)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 ascending ?
				 errmsg("nextval: reached maximum value of sequence \"%s\" (%lld)",
						RelationGetRelationName(rel),
						(long long) parameters->seqmax) :
				 errmsg("nextval: reached minimum value of sequence \"%s\" (%lld)",
						RelationGetRelationName(rel),
						(long long) parameters->seqmin)));
	return ascending ? parameters->seqmin : parameters->seqmax;
}

/*
 * last is the last value used, from now on and after a crash.  nextval_internal
 * logs another value than it writes to the page; here both are the same.
 */
static void
advance(Relation rel, Buffer buffer, HeapTupleHeader tuple, int64 last)
{
	Form_pg_sequence_data data = tuple_data(tuple);
	Page		page = BufferGetPage(buffer);
	Size		length = ItemIdGetLength(PageGetItemId(page, FirstOffsetNumber));

	Assert((char *) tuple > page && (char *) tuple + length <= page + BLCKSZ);
	/* PANIC on error from here on, until the change is logged */
	START_CRIT_SECTION();
	MarkBufferDirty(buffer);
	data->last_value = last;
	data->is_called = true;
	data->log_cnt = 0;

	if (RelationNeedsWAL(rel))
	{
		xl_seq_rec	record;
		XLogRecPtr	lsn;

		compat_seq_rec(&record, rel);
		XLogBeginInsert();
		XLogRegisterBuffer(0, buffer, REGBUF_WILL_INIT);
		XLogRegisterData((char *) &record, sizeof(record));
		XLogRegisterData((char *) tuple, length);
		lsn = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
}

int64
sequence_reserve(SequenceRange *range, int64 wanted, int64 *first)
{
	Relation	rel = open_relation(range);
	FormData_pg_sequence parameters = read_parameters(range->relid);
	uint64		steps;
	Buffer		buffer;
	HeapTupleHeader tuple;
	int64		last;

	Assert(wanted > 0);
	/* a worker can't assign an xid, and the record must belong to the transaction */
	Assert(!IsInParallelMode() || !RelationNeedsWAL(rel) ||
		   TransactionIdIsValid(GetTopTransactionIdIfAny()));
	Assert(!IsParallelWorker() || !RelationUsesLocalBuffers(rel));
	/* with an xid the commit waits for the WAL; not to be assigned under the page's lock */
	if (RelationNeedsWAL(rel))
		(void) GetTopTransactionId();

	tuple = lock_page(rel, BUFFER_LOCK_EXCLUSIVE, &buffer);
	*first = first_value(rel, &parameters, tuple_data(tuple));
	steps = Min(count_steps(&parameters, *first), (uint64) wanted - 1);
	range->increment = parameters.seqincrement;
	last = *first + (int64) (steps * (uint64) range->increment);
	/* the range has not wrapped around, and is within the limits unless these were changed */
	Assert(steps == 0 || (range->increment > 0 ? last > *first && last <= parameters.seqmax :
						  last < *first && last >= parameters.seqmin));
	advance(rel, buffer, tuple, last);
	UnlockReleaseBuffer(buffer);

	relation_close(rel, NoLock);
	Assert(steps < (uint64) wanted);
	return (int64) steps + 1;
}

bool
sequence_has(SequenceRange *range, int64 wanted)
{
	Relation	rel = open_relation(range);
	FormData_pg_sequence parameters = read_parameters(range->relid);
	Buffer		buffer;
	int64		last;

	last = tuple_data(lock_page(rel, BUFFER_LOCK_SHARE, &buffer))->last_value;
	UnlockReleaseBuffer(buffer);
	relation_close(rel, NoLock);
	return count_steps(&parameters, last) >= (uint64) wanted;
}

/* ---- one value ---- */

/*
 * Whether the session's cache (CACHE > 1) has no values left, given the one
 * that nextval has just returned: certainly so if it is the sequence's
 * last_value.  With other sessions taking values, too, that may never be
 * observed; then twice as many calls as the cache has values are enough.
 */
static bool
is_drained(SequenceRange *range, int64 value)
{
	Relation	rel;
	Buffer		buffer;
	bool		last;

	if (range->cache == 0)
		range->cache = read_parameters(range->relid).seqcache;
	if (range->cache == 1)
		return true;

	rel = open_relation(range);
	last = tuple_data(lock_page(rel, BUFFER_LOCK_SHARE, &buffer))->last_value == value;
	UnlockReleaseBuffer(buffer);
	relation_close(rel, NoLock);

	if (last || ++range->cached_calls / 2 >= range->cache)
	{
		range->cached_calls = 0;
		return true;
	}
	return false;
}

/*
 * The next value where the range has none: from nextval, or the first one of a new range.
 *
 *		nextval  nextval ...    range, range, ...    nextval
 *		first    CACHE is       all but one of       the last expected one,
 *		value    used up        those expected       for currval and lastval
 */
int64
sequence_next_slow(SequenceRange *range)
{
	bool		in_session = !IsInParallelMode();
	int64		wanted = range->expected;

	Assert(range->left == 0 && range->expected >= 0);
	if (wanted == 0)
		wanted = Min(range->taken / UNEXPECTED_SHARE, MAX_UNEXPECTED);

	if (in_session && (!range->begun || !range->drained || wanted <= 1))
	{
		int64		value = nextval_internal(range->relid,
											 range->check_privileges);

		range->begun = true;
		range->drained = is_drained(range, value);
		range->expected = Max(range->expected - 1, 0);
		range->taken++;
		return value;
	}

	/* the last expected value comes from nextval */
	if (in_session && range->expected > 0)
		wanted--;
	range->left = sequence_reserve(range, Max(wanted, 1), &range->next);
	range->expected = Max(range->expected - range->left, 0);
	range->taken += range->left;
	return sequence_next(range);
}

/* ---- defaults ---- */

/* All columns with one sequence share a range, as their values alternate. */
static SequenceRange *
find_range(List **ranges, Oid relid, bool check_privileges)
{
	SequenceRange *range;
	ListCell   *lc;

	foreach(lc, *ranges)
	{
		range = lfirst(lc);
		if (range->relid == relid && range->check_privileges == check_privileges)
			return range;
	}
	range = sequence_open(relid, check_privileges);
	*ranges = lappend(*ranges, range);
	return range;
}

bool
sequence_recognize(Expr *expr, List **ranges, SequenceDefault *def)
{
	memset(def, 0, sizeof(*def));
	def->type = INT8OID;

	if (IsA(expr, NextValueExpr))
	{
		NextValueExpr *next = (NextValueExpr *) expr;

		def->type = next->typeId;
		def->range = find_range(ranges, next->seqid, false);
		return true;
	}

	if (IsA(expr, FuncExpr))
	{
		FuncExpr   *cast = (FuncExpr *) expr;

		if (cast->funcid == F_INT4_INT8 || cast->funcid == F_INT2_INT8)
		{
			def->type = cast->funcresulttype;
			def->cast = cast->funcid == F_INT4_INT8 ? int84 : int82;
			expr = linitial(cast->args);
		}
	}
	if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_NEXTVAL)
	{
		Node	   *sequence = linitial(((FuncExpr *) expr)->args);

		if (IsA(sequence, Const) && !((Const *) sequence)->constisnull)
		{
			Oid			relid = DatumGetObjectId(((Const *) sequence)->constvalue);

			def->range = find_range(ranges, relid, true);
			return true;
		}
	}
	return false;
}

/* Any volatile function that is not the server's may call currval. */
static bool
is_watching_function(Oid function, void *context)
{
	switch (function)
	{
		case F_NEXTVAL:
		case F_CURRVAL:
		case F_LASTVAL:
		case F_SETVAL_REGCLASS_INT8:
		case F_SETVAL_REGCLASS_INT8_BOOL:
			return true;
		default:
			return function >= FirstNormalObjectId &&
				func_volatile(function) == PROVOLATILE_VOLATILE;
	}
}

static bool
is_watched_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, is_watching_function, context) ||
		expression_tree_walker(node, is_watched_walker, context);
}

bool
sequence_is_watched(Node *expr)
{
	return is_watched_walker(expr, NULL);
}

/*
 * The sequence that an argument of nextval names, if that is a constant, or
 * text that is looked up each time.  InvalidOid: it is computed, or there is no
 * such sequence now.
 */
static Oid
find_named(Node *arg)
{
	Const	   *name = (Const *) arg;

	if (IsA(arg, FuncExpr) && ((FuncExpr *) arg)->funcid == F_REGCLASS)
	{
		name = (Const *) eval_const_expressions(NULL, linitial(((FuncExpr *) arg)->args));
		if (IsA(name, Const) && !name->constisnull)
		{
			List	   *names = textToQualifiedNameList(DatumGetTextPP(name->constvalue));

			return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
		}
	}
	return IsA(name, Const) && !name->constisnull ? DatumGetObjectId(name->constvalue) : InvalidOid;
}

/* Adds the sequences of NextValueExpr and nextval below a node to *relids. */
static bool
collect_sequences_walker(Node *node, List **relids)
{
	if (node == NULL)
		return false;
	if (IsA(node, NextValueExpr))
		*relids = list_append_unique_oid(*relids, ((NextValueExpr *) node)->seqid);
	else if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_NEXTVAL)
	{
		Oid			relid = find_named(linitial(((FuncExpr *) node)->args));

		if (OidIsValid(relid))
			*relids = list_append_unique_oid(*relids, relid);
	}
	return expression_tree_walker(node, collect_sequences_walker, relids);
}

List *
sequence_list(Relation rel)
{
	List	   *relids = getOwnedSequences(RelationGetRelid(rel));

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped)
			(void) collect_sequences_walker(build_column_default(rel, i + 1), &relids);
	}
	list_sort(relids, list_oid_cmp);
	return relids;
}

Datum
sequence_cast(const SequenceDefault *def, int64 value, Guard *guard)
{
	if (def->cast == NULL)
		return def->type == INT4OID ? Int32GetDatum((int32) value) :
			Int16GetDatum((int16) value);
	guard_open(guard);
	return DirectFunctionCall1(def->cast, Int64GetDatum(value));
}
