/*
 * file_columns.c
 *		The columns of a file, prepared once: types, markers, defaults, sequences.
 *
 * Implements opening a converter and its sequences (convert.h); convert.c has
 * what is done for each row.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "format/convert.h"
#include "format/extra.h"
#include "format/prepare.h"
#include "format/transform.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "row/constraints.h"
#include "server/compat.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#define ROW_ARENA_BLOCK (64 * 1024)
#define SCRATCH_SIZE 8192

/* Marks the columns that an option names. */
static void
set_special(Converter *conv, const BulkColumnSet *set, Size flag,
			const char *option)
{
	ListCell   *lc;

	if (set->all)
		for (int i = 0; i < conv->ncolumns; i++)
			conv->columns[i].special =
				*(bool *) ((char *) &conv->columns[i] + flag) = true;

	foreach(lc, set->names)
	{
		Column	   *column = convert_find_loaded(conv, lfirst(lc), option);

		column->special = *(bool *) ((char *) column + flag) = true;
	}
}

/* A column's default, ready to run; NULL where it has none. */
static ExprState *
prepare_default(Converter *conv, AttrNumber attnum, bool *is_volatile,
				SequenceDefault *sequence)
{
	Expr	   *expr = (Expr *) build_column_default(conv->target->rel, attnum);

	if (expr == NULL)
		return NULL;
	expr = expression_planner(expr);
	/* nextval ignores rollback and looks at no table */
	*is_volatile = contain_volatile_functions_not_nextval((Node *) expr);
	conv->volatile_defaults |= *is_volatile;
	if (!sequence_recognize(expr, &conv->sequences, sequence))
		conv->watched |= sequence_is_watched((Node *) expr);
	return ExecInitExpr(expr, NULL);
}

/*
 * A NULL that is checked by a domain's constraints, for a column that has no
 * default; NULL where the type has no constraints.  (COPY does not check them,
 * and lets NULLs into domains that are NOT NULL.)
 */
static ExprState *
prepare_domain_null(Form_pg_attribute att)
{
	int32		typmod = att->atttypmod;
	Oid			base;
	Node	   *expr;

	if (!compat_domain_has_constraints(att->atttypid))
		return NULL;
	base = getBaseTypeAndTypmod(att->atttypid, &typmod);
	expr = (Node *) makeNullConst(base, typmod, get_typcollation(base));
	expr = coerce_to_domain(expr, base, typmod, att->atttypid,
							COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1, false);
	return ExecInitExpr(expression_planner((Expr *) expr), NULL);
}

static void
open_column(Converter *conv, Column *column, AttrNumber attnum)
{
	const BulkOptions *options = conv->options;
	Form_pg_attribute att;

	memset(column, 0, sizeof(*column));
	column->attnum = attnum;
	if (attnum == InvalidAttrNumber)
		return;

	att = TupleDescAttr(RelationGetDescr(conv->target->rel), attnum - 1);
	column->name = NameStr(att->attname);
	column->type = att->atttypid;
	column->typmod = att->atttypmod;
	column->pack = att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;

	conv->routine->open_column(conv, column);
	column->null_input = !column->input.fn_strict;

	if (options->default_marker != NULL ||
		options->missing == BULK_MISSING_DEFAULT)
		column->default_expr = prepare_default(conv, attnum,
											   &column->default_volatile,
											   &column->sequence);
}

/*
 * A marker in the file's encoding; NULL if that cannot express it, so that it
 * never occurs.
 */
static const char *
marker_in_file(const Converter *conv, const char *text)
{
	const Encoding *encoding = &conv->encoding;
	int			len = strlen(text);
	Oid			procedure;
	unsigned char *raw;

	if (!encoding->transcode || scan_is_ascii(text, len))
		return text;
	procedure = FindDefaultConversionProc(encoding->database, encoding->file);
	if (!OidIsValid(procedure))
		return NULL;
	raw = palloc(len * MAX_CONVERSION_GROWTH + 1);
	if (pg_do_encoding_conversion_buf(procedure, encoding->database,
									  encoding->file,
									  (unsigned char *) unconstify(char *, text),
									  len, raw,
									  len * MAX_CONVERSION_GROWTH + 1,
									  true) != len)
		return NULL;
	return (const char *) raw;
}

static void
open_markers(Converter *conv)
{
	const List *nulls = conv->options->nulls;
	ListCell   *lc;

	conv->nulls = palloc(sizeof(NullMarker) * Max(list_length(nulls), 1));
	foreach(lc, nulls)
	{
		const char *text = marker_in_file(conv, lfirst(lc));

		if (text != NULL)
		{
			conv->nulls[conv->nnulls].text = text;
			conv->nulls[conv->nnulls++].length = strlen(text);
		}
	}
	if (conv->options->default_marker != NULL)
		conv->default_marker = marker_in_file(conv, conv->options->default_marker);
}

/* Defaults of the columns that the file does not give. */
static void
open_defaults(Converter *conv)
{
	TupleDesc	desc = RelationGetDescr(conv->target->rel);
	bool	   *given = palloc0(sizeof(bool) * Max(desc->natts, 1));

	for (int i = 0; i < conv->ncolumns; i++)
		if (conv->columns[i].attnum != InvalidAttrNumber)
			given[conv->columns[i].attnum - 1] = true;
	for (int i = 0; i < conv->target->nextras; i++)
		given[conv->target->extras[i] - 1] = true;

	conv->defaults = palloc(sizeof(Default) * Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Default    *def = &conv->defaults[conv->ndefaults];

		if (given[i] || att->attisdropped || att->attgenerated)
			continue;
		memset(def, 0, sizeof(*def));
		def->attnum = att->attnum;
		def->expr = prepare_default(conv, att->attnum, &def->is_volatile,
									&def->sequence);
		if (def->expr == NULL)
			def->expr = prepare_domain_null(att);
		if (def->expr != NULL)
			conv->ndefaults++;
	}
	pfree(given);
}

/* Whether code that may call currval runs for each row of a table before it is stored. */
static bool
is_watched_by(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;
	ListCell   *lc;

	if (triggers != NULL && (triggers->trig_insert_before_row ||
							 triggers->trig_insert_instead_row))
		return true;
	/* planned, since the default values of functions' arguments count, too */
	foreach(lc, constraints_expressions(rel))
		if (sequence_is_watched((Node *) expression_planner(lfirst(lc))))
			return true;
	return false;
}

/* Whether a table has a BEFORE ROW trigger: all that it has may be of foreign keys. */
static bool
has_trigger_before(Oid relid)
{
	Relation	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(triggers, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = TRIGGER_TYPE_MATCHES(((Form_pg_trigger) GETSTRUCT(tuple))->tgtype,
									 TRIGGER_TYPE_ROW, TRIGGER_TYPE_BEFORE,
									 TRIGGER_TYPE_INSERT);
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
	return found;
}

static bool
has_watching_check(Oid relid)
{
	Relation	part = try_relation_open(relid, NoLock);
	bool		watched;

	if (part == NULL)
		return false;
	watched = is_watched_by(part);
	relation_close(part, NoLock);
	return watched;
}

/*
 * The same for a partition.  It is opened only for CHECKs that the table at the top does not have,
 * as there may be thousands.  Of one that somebody is changing nobody knows.
 */
static bool
is_watched_partition(Oid relid, Relation root)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	bool		has_triggers,
				has_checks,
				watched;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	has_triggers = form->relhastriggers;
	has_checks = form->relchecks > root->rd_rel->relchecks;
	ReleaseSysCache(tuple);
	if (!has_triggers && !has_checks)
		return false;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return true;
	watched = (has_triggers && has_trigger_before(relid)) ||
		(has_checks && has_watching_check(relid));
	UnlockRelationOid(relid, AccessShareLock);
	return watched;
}

/* The same below a partitioned table, asked once for all of its files. */
static bool
is_watched_below(Target *target)
{
	ListCell   *lc;

	if (target->knows_below)
		return target->watched_below;
	target->knows_below = true;
	foreach(lc, find_all_inheritors(target->relid, NoLock, NULL))
		if (is_watched_partition(lfirst_oid(lc), target->rel))
		{
			target->watched_below = true;
			break;
		}
	return target->watched_below;
}

/*
 * Where code that may call currval runs between rows, every row's value must
 * come from nextval, as in COPY.
 */
static void
open_sequences(Converter *conv)
{
	Target	   *target = conv->target;
	Relation	rel = target->rel;

	if (conv->sequences == NIL)
		return;
	conv->watched |= sequence_is_watched((Node *) target->where) || is_watched_by(rel);
	/* a worker exists only where nothing is watched */
	if (!conv->watched && rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && !IsParallelWorker())
		conv->watched = is_watched_below(target);
	if (conv->watched)
	{
		for (int i = 0; i < conv->ncolumns; i++)
			conv->columns[i].sequence.range = NULL;
		for (int i = 0; i < conv->ndefaults; i++)
			conv->defaults[i].sequence.range = NULL;
	}

	for (int i = 0; i < conv->ndefaults; i++)
		if (conv->defaults[i].sequence.range != NULL)
			conv->defaults[i].sequence.range->columns++;
}

Converter *
convert_open(const BulkOptions *options, Target *target, Guard *guard, EState *estate)
{
	Converter  *conv = palloc0(sizeof(Converter));

	conv->options = options;
	conv->target = target;
	conv->guard = guard;
	conv->econtext = GetPerTupleExprContext(estate);
	conv->routine = format_routine(options);
	conv->dialect = options_dialect(options);
	if (!conv->routine->receives)
		encoding_open(&conv->encoding, options->encoding);
	conv->natts = RelationGetNumberOfAttributes(target->rel);

	conv->ncolumns = target->nfields;
	conv->columns = palloc(sizeof(Column) * Max(conv->ncolumns + target->nextras, 1));
	for (int i = 0; i < conv->ncolumns; i++)
		open_column(conv, &conv->columns[i], target->attnums[i]);
	conv->nexpected = conv->ncolumns;
	if (target->nextras > 0)
		extra_open(conv);
	if (options->transform != NULL)
	{
		conv->transform = transform_open(options->transform, target->rel);
		if (transform_required(conv->transform) < conv->ncolumns)
			conv->nexpected = 0;
	}
	else
		open_defaults(conv);
	open_sequences(conv);
	open_markers(conv);
	set_special(conv, &options->force_null, offsetof(Column, force_null),
				"force_null");
	set_special(conv, &options->force_not_null,
				offsetof(Column, force_not_null), "force_not_null");
	set_special(conv, &options->trim, offsetof(Column, trim), "trim");
	if (conv->routine->open != NULL)
		conv->routine->open(conv);
	prepare_open(conv);

#ifdef COMPAT_SOFT_ERRORS
	if (guard->enabled)
	{
		ErrorSaveContext *escontext = makeNode(ErrorSaveContext);

		escontext->details_wanted = true;
		conv->escontext = (Node *) escontext;
	}
#endif

	arena_init(&conv->arena, CurrentMemoryContext, ROW_ARENA_BLOCK);
	conv->scratch_size = SCRATCH_SIZE;
	conv->scratch = palloc(conv->scratch_size);
	initStringInfo(&conv->repaired);
	conv->input_column = -1;
	conv->nulled = palloc0(sizeof(bool) * Max(conv->ncolumns, 1));
	conv->nulled_text = palloc0(sizeof(char *) * Max(conv->ncolumns, 1));
	return conv;
}

/* ---- sequences ---- */

void
convert_expect(Converter *conv, uint32 nrows)
{
	ListCell   *lc;

	foreach(lc, conv->sequences)
	{
		SequenceRange *range = lfirst(lc);

		sequence_expect(range, (int64) nrows * range->columns);
	}
}

void
convert_reserve(Converter *conv, int64 n)
{
	ListCell   *lc;

	foreach(lc, conv->sequences)
	{
		SequenceRange *range = lfirst(lc);
		int64		wanted = n * range->columns;

		range->left = 0;
		if (wanted == 0)
			continue;
		range->left = sequence_reserve(range, wanted, &range->next);
		if (range->left < wanted)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("sequence \"%s\" was used up by others",
							get_rel_name(range->relid)),
					 errhint("Load with option \"workers\" set to 0.")));
	}
}

bool
convert_sequences_last(Converter *conv, int64 n)
{
	ListCell   *lc;

	foreach(lc, conv->sequences)
	{
		SequenceRange *range = lfirst(lc);

		if (get_rel_persistence(range->relid) == RELPERSISTENCE_TEMP ||
			!sequence_has(range, n * range->columns))
			return false;
	}
	return true;
}

bool
convert_takes_sequence(const Converter *conv, AttrNumber attnum)
{
	for (int i = 0; i < conv->ndefaults; i++)
		if (conv->defaults[i].attnum == attnum)
			return conv->defaults[i].sequence.range != NULL;
	return false;
}
