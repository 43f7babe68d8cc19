/*
 * form_open.c
 *		Which columns the fast path serves, and what is the same for all rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "format/extra.h"
#include "format/form.h"
#include "format/form_state.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"

/*
 * A varlena from a converter may be this much longer than its text, times
 * column->growth: a header of an array, or a number after it.
 */
#define VARLENA_SPARE 32

/* Values of char(n) with more characters are left to their converter. */
#define MAX_CHARACTERS 256

/* Longer rows take so long that placing them directly does not pay. */
#define MAX_ONE_SIZE 1024

static FormKind
choose_kind(const TupleColumn *store, const Column *column)
{
	FormKind	by_converter = store->length < 0 ? FORM_VARLENA : FORM_FIXED;

	if (column->is_value)
		return store->length < 0 ? FORM_TEXT : FORM_FIXED;
	if (column->number != NULL)
		return by_converter;
	if (column->convert == convert_bytes)
		return FORM_TEXT;
	switch (column->type)
	{
		case VARCHAROID:
			return FORM_TEXT;
		case BPCHAROID:
			return column->typmod >= (int32) VARHDRSZ &&
				column->typmod <= VARHDRSZ + MAX_CHARACTERS ? FORM_CHAR : by_converter;
		case INT2OID:
			return FORM_INT2;
		case INT4OID:
			return FORM_INT4;
		case INT8OID:
			return FORM_INT8;
		case BOOLOID:
			return FORM_BOOL;
		default:
			return by_converter;
	}
}

/* False: the column needs the slow path. */
static bool
set_field(FormColumn *form, const Column *column, int field)
{
	if (column->convert == NULL ||
		(column->special && (column->number == NULL || column->prepare)))
		return false;
	form->kind = choose_kind(&form->store, column);
	form->field = field;
	form->column = column;
	form->max_length = MaxAllocSize / 2;
	if ((column->type == VARCHAROID && column->typmod >= (int32) VARHDRSZ) ||
		form->kind == FORM_CHAR)
		form->max_length = column->typmod - VARHDRSZ;
	return true;
}

/* The time of the transaction or the statement, as a column's type has it. */
static bool
is_time(const Node *expr)
{
	const FuncExpr *call = (const FuncExpr *) expr;

	if (IsA(expr, SQLValueFunction))
		return ((const SQLValueFunction *) expr)->op <= SVFOP_LOCALTIMESTAMP_N;
	if (!IsA(expr, FuncExpr))
		return false;
	switch (call->funcid)
	{
		case F_NOW:
		case F_TRANSACTION_TIMESTAMP:
		case F_STATEMENT_TIMESTAMP:
			return true;
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_DATE_TIMESTAMPTZ:
			return is_time(linitial(call->args));
		default:
			return false;
	}
}

/*
 * A default that is the same for all rows.  False: the column needs the slow path, as
 * for what may throw, which it must not if there is no row.
 */
static bool
set_constant(RowFormer *former, FormColumn *form, const Default *def)
{
	const Node *expr = (const Node *) def->expr->expr;
	bool		isnull;
	Datum		value;

	if (!IsA(expr, Const) && !is_time(expr))
		return false;
	value = ExecEvalExpr(def->expr, former->conv->econtext, &isnull);
	if (isnull)
		return true;
	if (form->store.length == -1)
	{
		if (VARATT_IS_EXTENDED(DatumGetPointer(value)) &&
			!VARATT_IS_SHORT(DatumGetPointer(value)))
			return false;
		former->fixed += VARSIZE_ANY(DatumGetPointer(value));
	}
	else if (form->store.length < 0)
		return false;
	form->kind = FORM_CONSTANT;
	form->value = datumCopy(value, form->store.byval, form->store.length);
	return true;
}

/* Columns that option extra fills.  False: one of them needs the slow path. */
static bool
set_extras(RowFormer *former)
{
	const Converter *conv = former->conv;

	for (int i = 0; i < conv->target->nextras; i++)
	{
		const Column *column = &conv->columns[conv->ncolumns + i];
		FormColumn *form = &former->columns[column->attnum - 1];
		bool		is_line = extra_is_line(conv, i);

		if (form->store.length < -1 ||
			(is_line && column->type != INT8OID && column->type != INT4OID))
			return false;
		form->kind = is_line ? FORM_LINE : FORM_CONSTANT;
	}
	return true;
}

void
form_set_extras(RowFormer *former)
{
	const Converter *conv = former->conv;

	former->fixed -= former->extras;
	former->extras = 0;
	for (int i = 0; i < conv->target->nextras; i++)
	{
		FormColumn *form = &former->columns[conv->target->extras[i] - 1];

		form->value = conv->extra->values[i];
		if (form->kind == FORM_CONSTANT && form->store.length == -1)
			former->extras += VARSIZE_ANY(DatumGetPointer(form->value));
	}
	former->fixed += former->extras;
}

/* Stored generated columns.  False: one of them needs the slow path. */
static bool
set_generated(RowFormer *former, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		FormColumn *form = &former->columns[i];

		if (TupleDescAttr(desc, i)->attgenerated != ATTRIBUTE_GENERATED_STORED)
			continue;
		form->kind = FORM_GENERATED;
		form->expr = constraints_generated(former->constraints, i + 1);
		if (form->expr == NULL || form->store.length < -1)
			return false;
		if (form->store.length == -1)
		{
			former->spare += VARLENA_SPARE;
			former->growth++;
		}
		former->generates = true;
	}
	return true;
}

/* The header of a row, as far as it is the same for all rows of its kind. */
static HeapTupleHeader
make_header(int natts, Size hoff, bool hasnull, const HeapTupleHeaderData *model)
{
	HeapTupleHeader header = palloc(hoff);

	tuple_init_header(header, natts, hoff, hasnull);
	if (model != NULL)
	{
		header->t_choice = model->t_choice;
		header->t_infomask |= model->t_infomask;
		header->t_infomask2 |= model->t_infomask2;
	}
	return header;
}

static void
make_headers(RowFormer *former, bool haswidth, const HeapTupleHeaderData *model)
{
	former->hoff = tuple_header_size(former->natts, false);
	former->whole = make_header(former->natts, former->hoff, false, model);
	if (haswidth)
		former->whole->t_infomask |= HEAP_HASVARWIDTH;
	former->hoff_holed = tuple_header_size(former->natts, true);
	former->holed = make_header(former->natts, former->hoff_holed, true, model);
}

/*
 * Whether columns cannot be formed one after the other: a column is not in the
 * file, nulls cannot be recognized by the length of fields, or columns share a
 * sequence, whose values alternate.
 */
static bool
needs_rows(const RowFormer *former)
{
	for (int i = 0; i < former->natts; i++)
	{
		const FormColumn *form = &former->columns[i];

		if (form->kind == FORM_NULL ||
			(form->kind == FORM_SEQUENCE && form->sequence->range->columns > 1))
			return true;
	}
	return former->null_length == ANY_LENGTH;
}

/*
 * The columns' offsets, if rows without nulls all have the same layout.  The
 * image includes the padding after a row.
 */
static void
find_layout(RowFormer *former)
{
	Size		size = former->hoff;

	for (int i = 0; i < former->natts; i++)
	{
		FormColumn *form = &former->columns[i];

		if (form->store.length < 0)
			return;
		form->offset = TYPEALIGN(form->store.align, size);
		size = form->offset + form->store.length;
	}
	if (size > MAX_ONE_SIZE)
		return;
	former->row_size = size;
	former->image = palloc0(MAXALIGN(size));
	memcpy(former->image, former->whole, former->hoff);
}

RowFormer *
form_open(Converter *conv, const HeapTupleHeaderData *model, Constraints *constraints)
{
	TupleDesc	desc = RelationGetDescr(conv->target->rel);
	RowFormer  *former;
	bool		haswidth = false;

	if (conv->routine->may_form == NULL || conv->encoding.transcode ||
		conv->options->default_marker != NULL || conv->transform != NULL)
		return NULL;

	former = palloc0(offsetof(RowFormer, columns) +
					 sizeof(FormColumn) * desc->natts);
	former->conv = conv;
	former->constraints = constraints;
	former->checks = constraints_have_checks(constraints);
	former->natts = desc->natts;
	former->null_length = conv->nnulls == 1 ? conv->nulls[0].length : ANY_LENGTH;
	former->nwords = WORD(desc->natts) + 1;
	former->growth = 1;
	former->present = palloc0(sizeof(uint64) * former->nwords);
	former->all = palloc0(sizeof(uint64) * former->nwords);
	former->notnull = palloc0(sizeof(uint64) * former->nwords);
	former->fixed = HEAPTUPLESIZE + tuple_header_size(desc->natts, true) +
		OVERCOPY + sizeof(uint64);
	if (!conv->routine->may_form(conv, &former->shared))
		return NULL;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		FormColumn *form = &former->columns[i];

		tuple_column(&form->store, att);
		former->all[WORD(i)] |= BIT(i);
		if (att->attnotnull)
			former->notnull[WORD(i)] |= BIT(i);
		haswidth |= att->attlen < 0;
		former->fixed += (form->store.align - 1) + VARHDRSZ + Max(att->attlen, 0);
	}

	for (int i = 0; i < conv->ncolumns; i++)
	{
		const Column *column = &conv->columns[i];
		FormColumn *form;

		if (column->attnum == InvalidAttrNumber)
			continue;
		form = &former->columns[column->attnum - 1];
		if (!set_field(form, column, i))
			return NULL;
		/* a domain says whether it takes a null */
		if (column->null_input)
			former->notnull[WORD(column->attnum - 1)] |= BIT(column->attnum - 1);
		if (form->kind == FORM_VARLENA)
			former->spare += VARLENA_SPARE;
		if (form->kind == FORM_CHAR)
			former->fixed += form->max_length;
		former->growth = Max(former->growth, column->growth);
	}
	for (int i = 0; i < conv->ndefaults; i++)
	{
		const Default *def = &conv->defaults[i];
		FormColumn *form = &former->columns[def->attnum - 1];

		if (def->sequence.range != NULL)
		{
			form->kind = FORM_SEQUENCE;
			form->sequence = &def->sequence;
		}
		else if (!set_constant(former, form, def))
			return NULL;
	}
	if (!set_extras(former) || !set_generated(former, desc))
		return NULL;
	former->by_rows = needs_rows(former);
	former->block = BLOCK_ROWS;
	former->patience = BLOCK_FEWEST;
	make_headers(former, haswidth, model);
	if (!former->by_rows && !former->checks && !former->generates)
		find_layout(former);
	return former;
}
