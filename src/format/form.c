/*
 * form.c
 *		The fast path from fields to tuples; see form.h.
 */
#include "postgres.h"

#include "format/extra.h"
#include "format/form.h"
#include "format/form_state.h"
#include "row/computation.h"
#include "scan/values.h"
#include "scan/values_int.h"

/* At most so many rows are formed one by one before a block is tried again. */
#define BLOCK_PATIENCE 1024

/*
 * Sets in former->present which columns are not null.  False: the row is left
 * to the slow path.
 */
static inline bool
find_present(RowFormer *former, const char *data, const ScanField *fields)
{
	const Converter *conv = former->conv;
	const uint32 null_length = former->null_length;
	const int	natts = former->natts;
	uint64		missing = 0;
	uint64		word = 0;

	for (int i = 0; i < natts; i++)
	{
		const FormColumn *form = &former->columns[i];

		if (HAS_NO_FIELD(form->kind))
			word |= BIT(i);
		else if (form->kind != FORM_NULL)
		{
			const ScanField *field = &fields[form->field];

			if ((field->length != null_length && null_length != ANY_LENGTH) ||
				!convert_is_null(conv, data, field))
				word |= BIT(i);
		}
		if (((i + 1) & 63) == 0)
		{
			former->present[WORD(i)] = word;
			missing |= former->notnull[WORD(i)] & ~word;
			word = 0;
		}
	}
	former->present[WORD(natts)] = word;
	missing |= former->notnull[WORD(natts)] & ~word;
	return missing == 0;
}

static inline bool
has_nulls(const RowFormer *former)
{
	if (likely(former->nwords == 1))
		return former->present[0] != former->all[0];
	return memcmp(former->present, former->all,
				  sizeof(uint64) * former->nwords) != 0;
}

/* The null bitmap as it stands in a tuple's header. */
static inline void
put_bitmap(const RowFormer *former, uint8 *bits)
{
	int			nbytes = BITMAPLEN(former->natts);

	for (int i = 0; i < nbytes; i++)
		bits[i] = (uint8) (former->present[i / 8] >> (i % 8 * 8));
}

/*
 * Sources are readable for 64 bytes past their ends, targets have OVERCOPY
 * bytes to spare.
 */
static inline void
copy_bytes(char *to, const char *from, uint32 len)
{
	memcpy(to, from, OVERCOPY);
	if (unlikely(len > OVERCOPY))
		memcpy(to + OVERCOPY, from + OVERCOPY, len - OVERCOPY);
}

/*
 * Writes the text of an escaped field.  False: it is left to the slow path,
 * which can tell what may be wrong with it.
 */
static inline bool
unescape_to(const RowFormer *former, const char *s, uint32 *len, char *to)
{
	const Converter *conv = former->conv;
	bool		high = false;

	StaticAssertStmt(OVERCOPY >= SCAN_OVERCOPY, "space for what is written too far");
	switch (conv->routine->escapes)
	{
		case FORMAT_QUOTES:
			*len = scan_unquote(&conv->dialect, s, *len, to);
			return true;
		case FORMAT_BACKSLASHES:
			*len = scan_unescape(s, *len, to, &high);
			return !high;
		case FORMAT_OWN_ESCAPES:
			break;
	}
	return false;
}

/* That text, as long as there is no next one; or NULL. */
static pg_noinline const char *
unescape(const RowFormer *former, const FormColumn *form, const char *s, uint32 *len)
{
	Converter  *conv = former->conv;

	/* numbers have no reason to have any, and value_short_int reads before them */
	if (form->kind == FORM_INT2 || form->kind == FORM_INT4 ||
		form->kind == FORM_INT8 || form->column->number != NULL)
		return NULL;
	convert_reserve_scratch(conv, (Size) *len + OVERCOPY);
	return unescape_to(former, s, len, conv->scratch) ? conv->scratch : NULL;
}

/* The header of a varlena with len bytes of data; returns where these go. */
static inline char *
put_header(char *p, const FormColumn *form, uint32 len)
{
	if (len <= VARATT_SHORT_MAX - VARHDRSZ_SHORT && form->store.pack)
	{
		SET_VARSIZE_SHORT(p, len + VARHDRSZ_SHORT);
		return p + VARHDRSZ_SHORT;
	}
	p = tuple_align(p, form->store.align);
	SET_VARSIZE(p, len + VARHDRSZ);
	return p + VARHDRSZ;
}

static inline char *
put_text(char *p, const FormColumn *form, const char *s, uint32 len)
{
	p = put_header(p, form, len);
	copy_bytes(p, s, len);
	return p + len;
}

/* A value of char(n), or NULL for what has more characters. */
static inline char *
put_char(char *p, const FormColumn *form, const char *s, uint32 len)
{
	Size		characters = convert_count_characters(s, len);
	uint32		spaces = form->max_length - characters;

	if (unlikely(characters > form->max_length))
		return NULL;
	p = put_header(p, form, len + spaces);
	copy_bytes(p, s, len);
	p += len;
	for (uint32 i = 0; i < spaces; i += OVERCOPY)
		memset(p + i, ' ', OVERCOPY);
	return p + spaces;
}

/* The same of an escaped field, whose text is no longer than the field, or NULL. */
static pg_noinline char *
put_escaped_text(const RowFormer *former, const FormColumn *form, char *p,
				 const char *s, uint32 len)
{
	char	   *header = p;
	bool		is_short = len <= VARATT_SHORT_MAX - VARHDRSZ_SHORT && form->store.pack;

	if (!is_short)
		p = tuple_align(p, form->store.align);
	p += is_short ? VARHDRSZ_SHORT : VARHDRSZ;
	if (!unescape_to(former, s, &len, p) || len > form->max_length)
		return NULL;
	if (is_short)
		SET_VARSIZE_SHORT(header, len + VARHDRSZ_SHORT);
	else if (len <= VARATT_SHORT_MAX - VARHDRSZ_SHORT && form->store.pack)
	{
		SET_VARSIZE_SHORT(header, len + VARHDRSZ_SHORT);
		p = memmove(header + VARHDRSZ_SHORT, p, len);
	}
	else
		SET_VARSIZE(p - VARHDRSZ, len + VARHDRSZ);
	return p + len;
}

/* A varlena, by its column's converter; *spare is the space left for them. */
static char *
put_varlena(RowFormer *former, const FormColumn *form, char *p, Size *spare,
			const char *s, uint32 len)
{
	const Column *column = form->column;
	Datum		value;
	Size		size;

	if (column->convert(former->conv, column, s, len, &value) != VALUE_OK)
		return NULL;
	size = VARSIZE_ANY(DatumGetPointer(value));
	if (size > *spare)
		return NULL;
	*spare -= size;
	return tuple_put_varlena(p, &form->store, value);
}

/* The next value of a sequence, where one has been reserved and it fits. */
static inline bool
store_next_value(char *p, const FormColumn *form)
{
	SequenceRange *range = form->sequence->range;
	int64		value = range->next;

	if (range->left == 0 ||
		(form->store.length == sizeof(int32) && value != (int32) value) ||
		(form->store.length == sizeof(int16) && value != (int16) value))
		return false;
	tuple_store_fixed(p, &form->store, sequence_default(form->sequence, NULL));
	return true;
}

/* The number of a row's line, unless it exceeds the type. */
static inline bool
store_line(const RowFormer *former, char *p, const FormColumn *form, const ScanRow *row)
{
	int64		line = former->conv->extra->line + row->line;

	if (form->store.length == sizeof(int32))
	{
		if (line > PG_INT32_MAX)
			return false;
		*(int32 *) p = (int32) line;
	}
	else
		*(int64 *) p = line;
	return true;
}

/* Returns n values to the sequences of the columns before natts. */
static void
return_values(const RowFormer *former, int natts, uint32 n)
{
	if (former->conv->ndefaults == 0)
		return;
	for (int i = 0; i < natts; i++)
		for (uint32 k = 0; k < n && former->columns[i].kind == FORM_SEQUENCE; k++)
			sequence_return(former->columns[i].sequence->range);
}

/* Of tuples with all values, those at the start that may be stored. */
static inline uint32
count_good(const RowFormer *former, HeapTuple *tuples, uint32 n)
{
	uint32		good;

	if (likely(!former->checks))
		return n;
	good = constraints_count_good(former->constraints, former->conv->guard, tuples, n);
	return_values(former, former->natts, n - good);
	return good;
}

#define STORE_INTEGER(type, parse) \
	do { \
		int64_t		small; \
		if (likely(value_short_int(s, len, &small) && small == (type) small)) \
			*(type *) p = (type) small; \
		else \
			return parse(s, len, (type *) p) == VALUE_OK; \
		return true; \
	} while (0)

/*
 * A value of fixed length, at p, which is aligned.  False: it is left to the
 * slow path.
 */
static pg_attribute_always_inline bool
store_value(RowFormer *former, const FormColumn *form, FormKind kind, char *p,
			const ScanRow *row, const char *s, uint32 len)
{
	Datum		value;

	switch (kind)
	{
		case FORM_INT2:
			STORE_INTEGER(int16_t, value_int2);
		case FORM_INT4:
			STORE_INTEGER(int32_t, value_int4);
		case FORM_INT8:
			STORE_INTEGER(int64_t, value_int8);
		case FORM_SEQUENCE:
			return store_next_value(p, form);
		case FORM_CONSTANT:
			tuple_store_fixed(p, &form->store, form->value);
			return true;
		case FORM_LINE:
			return store_line(former, p, form, row);
		case FORM_BOOL:
			return value_short_bool(s, len, (bool *) p) ||
				value_bool(s, len, (bool *) p) == VALUE_OK;
		default:
			if (form->column->convert(former->conv, form->column, s, len,
									  &value) != VALUE_OK)
				return false;
			tuple_store_fixed(p, &form->store, value);
			return true;
	}
}

/*
 * Any value, at p after its alignment.  Returns where the next one goes, or
 * NULL where this one is left to the slow path.
 */
static pg_attribute_always_inline char *
put_value(RowFormer *former, const FormColumn *form, FormKind kind, char *p,
		  Size *spare, const ScanRow *row, const char *s, uint32 len)
{
	switch (kind)
	{
		case FORM_TEXT:
			return unlikely(len > form->max_length) ? NULL : put_text(p, form, s, len);
		case FORM_CHAR:
			return put_char(p, form, s, len);
		case FORM_VARLENA:
			return put_varlena(former, form, p, spare, s, len);
		case FORM_CONSTANT:
			if (form->store.length < 0)
				return tuple_put_varlena(p, &form->store, form->value);
			break;
		default:
			break;
	}
	p = tuple_align(p, form->store.align);
	return store_value(former, form, kind, p, row, s, len) ? p + form->store.length : NULL;
}

/* The same of a field, which may be escaped. */
static pg_attribute_always_inline char *
put_field(RowFormer *former, const FormColumn *form, FormKind kind, char *p,
		  Size *spare, const ScanRow *row, const char *s, uint32 len, bool escaped)
{
	if (unlikely(escaped))
	{
		if (kind == FORM_TEXT)
			return put_escaped_text(former, form, p, s, len);
		s = unescape(former, form, s, &len);
		if (s == NULL)
			return NULL;
	}
	return put_value(former, form, kind, p, spare, row, s, len);
}

/* ---- generated columns ---- */

/* One of them, of n rows whose values before it are in their tuples, of which done are done. */
typedef struct Generation
{
	RowFormer  *former;
	const FormColumn *form;
	HeapTuple  *tuples;			/* as far as they are */
	char	  **at;				/* where each row's value goes */
	Size	   *spare;			/* what varlenas may take there */
	uint32		n;
	uint32		done;
	bool		isnull;			/* the value that comes next, which is not put */
} Generation;

/* Puts the values, up to one that is null, or left to the slow path. */
static void
put_generated(void *arg)
{
	Generation *run = arg;
	const TupleColumn *store = &run->form->store;

	for (; run->done < run->n; run->done++)
	{
		char	  **at = &run->at[run->done];
		Size	   *spare = &run->spare[run->done];
		HeapTuple	tuple = run->tuples[run->done];
		Datum		value;

		tuple_finish(tuple, *at - (char *) tuple - HEAPTUPLESIZE);
		value = constraints_generate(run->former->constraints, run->form->expr, tuple,
									 &run->isnull);
		if (run->isnull)
			return;
		if (store->length > 0)
		{
			*at = tuple_put_fixed(*at, store, value);
			continue;
		}
		if (VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
			VARSIZE_ANY(DatumGetPointer(value)) > *spare)
			return;
		*spare -= VARSIZE_ANY(DatumGetPointer(value));
		*at = tuple_put_varlena(*at, store, value);
	}
}

/* Returns for how many rows: what throws is left to the slow path. */
static uint32
do_generated(Generation *run)
{
	run->done = 0;
	run->isnull = false;
	if (!computation_run(run->former->conv->guard, put_generated, run, NULL))
		run->isnull = false;
	return run->done;
}

/* ---- any row ---- */

/*
 * Column i of the tuple at `to`, whose values end at `end`, is null: it may be
 * the first one.  Returns where they end then.
 */
static char *
put_null(RowFormer *former, int i, char *to, char *end)
{
	HeapTupleHeader header = (HeapTupleHeader) to;
	uint16		infomask = header->t_infomask;
	Size		values = header->t_hoff;

	former->present[WORD(i)] &= ~BIT(i);
	if (!(infomask & HEAP_HASNULL))
	{
		memmove(to + former->hoff_holed, to + values, end - to - values);
		memcpy(to, former->holed, former->hoff_holed);
		header->t_infomask |= infomask & HEAP_HASVARWIDTH;
		end += former->hoff_holed - values;
	}
	put_bitmap(former, header->t_bits);
	return end;
}

/*
 * Column i of a tuple at `to`, whose values before it end at p.  Returns where
 * the next one goes, or NULL.
 */
static char *
put_generated_one(RowFormer *former, int i, char *to, char *p, Size *spare)
{
	const FormColumn *form = &former->columns[i];
	HeapTuple	tuple = (HeapTuple) (to - HEAPTUPLESIZE);
	Generation	run = {
		.former = former,
		.form = form,
		.tuples = &tuple,
		.at = &p,
		.spare = spare,
		.n = 1
	};

	if (do_generated(&run) == 1)
	{
		if (form->store.length < 0)
			((HeapTupleHeader) to)->t_infomask |= HEAP_HASVARWIDTH;
		return p;
	}
	if (!run.isnull || (former->notnull[WORD(i)] & BIT(i)))
		return NULL;
	return put_null(former, i, to, p);
}

/*
 * The row's tuple, from its header on, at `to`, where there is space for it, and
 * for a HeapTupleData before it.  Returns its length; 0: left to the slow path.
 */
static Size
form_tuple(RowFormer *former, const char *data, const ScanRow *row,
		   const ScanField *fields, Size spare, char *to)
{
	const int	natts = former->natts;
	HeapTupleHeader header = (HeapTupleHeader) to;
	bool		hasnull;
	char	   *p;

	if (!find_present(former, data, fields))
		return 0;
	hasnull = has_nulls(former);
	if (hasnull)
	{
		memcpy(to, former->holed, former->hoff_holed);
		put_bitmap(former, header->t_bits);
		p = to + former->hoff_holed;
	}
	else
	{
		memcpy(to, former->whole, former->hoff);
		p = to + former->hoff;
	}

	for (int i = 0; i < natts; i++)
	{
		const FormColumn *form = &former->columns[i];
		const ScanField *field = &fields[form->field];
		const char *s = data + field->start;
		uint32		len = field->length;

		if (!(former->present[WORD(i)] & BIT(i)))
			continue;
		if (form->store.length == -1 && form->kind != FORM_GENERATED)
			header->t_infomask |= HEAP_HASVARWIDTH;
		if (form->kind == FORM_GENERATED)
			p = put_generated_one(former, i, to, p, &spare);
		else
			p = put_field(former, form, form->kind, p, &spare, row, s, len,
						  !HAS_NO_FIELD(form->kind) && field->escaped);
		if (unlikely(p == NULL))
		{
			return_values(former, i, 1);
			return 0;
		}
	}
	memset(p, 0, sizeof(uint64));
	return p - to;
}

/* Bytes that a row's varlenas from converters may take. */
static inline Size
spare_bytes(const RowFormer *former, const ScanRow *row)
{
	return former->spare == 0 ? 0 :
		former->spare + (Size) former->growth * (row->end - row->start);
}

/* Bytes that a row's tuple may need, HeapTupleData and all. */
static inline Size
tuple_bound(const RowFormer *former, const ScanRow *row)
{
	uint32		length = row->end - row->start;

	/*
	 * the texts of a row take no more than its length and what several fields
	 * have in common
	 */
	return MAXALIGN(former->fixed + length +
					Min(former->shared, (uint64) length * former->natts) +
					spare_bytes(former, row));
}

static inline bool
is_readable(const RowFormer *former, const ScanRow *row)
{
	return row->fault == SCAN_FAULT_NONE && row->end <= former->conv->valid &&
		row->nfields == former->conv->ncolumns;
}

static bool
form_row(RowFormer *former, const char *data, const ScanRow *row,
		 const ScanField *fields, Arena *arena, HeapTuple *tuple)
{
	char	   *start;
	Size		len;

	if (unlikely(!is_readable(former, row)))
		return false;
	start = arena_alloc(arena, tuple_bound(former, row));
	len = form_tuple(former, data, row, fields + row->first_field,
					 spare_bytes(former, row), start + HEAPTUPLESIZE);
	arena_trim(arena, start, len == 0 ? 0 : HEAPTUPLESIZE + len);
	if (len == 0)
		return false;
	*tuple = tuple_finish(start, len);
	return count_good(former, tuple, 1) == 1;
}

/* ---- rows without nulls, a column at a time ---- */

/*
 * Rows [0, n) in progress.  Each column is done for all of them in a loop for
 * its type, whose iterations do not depend on each other.
 */
typedef struct RowBlock
{
	RowFormer  *former;
	const char *data;
	const ScanRow *rows;
	const ScanField *fields;	/* of the first row; those of the others follow */
	uint32		nfields;		/* of each row */
	uint32		n;

	/* rows of one size: where the first one is; the others precede it */
	char	   *first;

	/* other rows: where each row's next value goes, and what its varlenas may take */
	HeapTuple  *tuples;
	char	  **at;
	Size	   *spare;
} RowBlock;

/* A block of the rows at the start whose fields can be formed. */
static RowBlock
begin_block(RowFormer *former, const char *data, const ScanRow *rows, uint32 n,
			const ScanField *fields)
{
	const uint32 nfields = former->conv->ncolumns;
	const uint32 valid = former->conv->valid;
	const uint32 first = rows->first_field;
	uint32		i;

	for (i = 0; i < n; i++)
		if (unlikely(rows[i].fault != SCAN_FAULT_NONE || rows[i].end > valid ||
					 rows[i].nfields != nfields ||
					 rows[i].first_field != first + i * nfields))
			break;
	return (RowBlock) {
		.former = former,
		.data = data,
		.rows = rows,
		.fields = fields + first,
		.nfields = nfields,
		.n = i
	};
}

/* Returns for how many rows the value was formed: the next one is for the slow path. */
static pg_attribute_always_inline uint32
do_column(RowBlock *block, const FormColumn *column, FormKind kind, bool one_size)
{
	const FormColumn form = *column;	/* stores to the tuples cannot change it */
	RowFormer  *const former = block->former;
	const uint32 null_length = former->null_length;
	const Size	size = MAXALIGN(former->row_size);
	const uint32 n = block->n;
	const uint32 step = HAS_NO_FIELD(kind) ? 0 : block->nfields;
	const ScanField *field = block->fields + form.field;
	const char *data = block->data;
	char	   *to = block->first + form.offset;

	for (uint32 i = 0; i < n; i++, field += step)
	{
		const char *s = data + field->start;
		uint32		len = field->length;

		if (!HAS_NO_FIELD(kind))
		{
			if (unlikely(len == null_length))
				return i;
		}
		if (one_size)
		{
			if (!HAS_NO_FIELD(kind) && unlikely(field->escaped) &&
				(s = unescape(former, &form, s, &len)) == NULL)
				return i;
			if (unlikely(!store_value(former, &form, kind, to, &block->rows[i], s, len)))
				return i;
			to -= size;
		}
		else
		{
			char	   *p = put_field(former, &form, kind, block->at[i],
									  &block->spare[i], &block->rows[i], s, len,
									  !HAS_NO_FIELD(kind) && field->escaped);

			if (unlikely(p == NULL))
				return i;
			block->at[i] = p;
		}
	}
	return n;
}

#define DO_COLUMN(kind) \
	case kind: \
		done = one_size ? do_column(block, form, kind, true) : \
			do_column(block, form, kind, false); \
		break

/* All columns; the block ends before the first row for the slow path. */
static void
do_columns(RowBlock *block, bool one_size)
{
	RowFormer  *former = block->former;

	for (int i = 0; i < former->natts && block->n > 0; i++)
	{
		const FormColumn *form = &former->columns[i];
		uint32		done = 0;

		switch (form->kind)
		{
				DO_COLUMN(FORM_TEXT);
				DO_COLUMN(FORM_CHAR);
				DO_COLUMN(FORM_INT2);
				DO_COLUMN(FORM_INT4);
				DO_COLUMN(FORM_INT8);
				DO_COLUMN(FORM_BOOL);
				DO_COLUMN(FORM_FIXED);
				DO_COLUMN(FORM_VARLENA);
				DO_COLUMN(FORM_SEQUENCE);
				DO_COLUMN(FORM_CONSTANT);
				DO_COLUMN(FORM_LINE);
			case FORM_GENERATED:
				done = do_generated(&(Generation) {
									.former = former,
									.form = form,
									.tuples = block->tuples,
									.at = block->at,
									.spare = block->spare,
									.n = block->n
				});
				break;
			case FORM_NULL:
				Assert(false);
				break;
		}
		return_values(former, i, block->n - done);
		block->n = done;
	}
}

/*
 * Forms up to *n rows, as many as fit a block, and sets *n to how many those
 * are.  Returns how many it could form: the next one has a null, may have one,
 * or is left to the slow path.
 */
static uint32
form_block(RowFormer *former, const char *data, const ScanRow *rows, uint32 *n,
		   const ScanField *fields, Arena *arena, HeapTuple *tuples)
{
	RowBlock	block = begin_block(former, data, rows, *n, fields);
	char	   *at[BLOCK_ROWS];
	Size		spare[BLOCK_ROWS];
	Size		total = 0;
	uint32		i;
	char	   *p;

	for (i = 0; i < block.n && (i == 0 || total < BLOCK_BYTES); i++)
		total += tuple_bound(former, &rows[i]);
	if (i == 0)
		return 0;
	if (i < block.n)
		*n = i;
	block.n = i;
	block.tuples = tuples;
	block.at = at;
	block.spare = spare;

	Assert(former->hoff == MAXALIGN(SizeofHeapTupleHeader));
	p = arena_alloc(arena, total);
	for (i = 0; i < block.n; i++)
	{
		tuples[i] = (HeapTuple) p;
		/* a constant length is copied at once */
		memcpy(p + HEAPTUPLESIZE, former->whole, MAXALIGN(SizeofHeapTupleHeader));
		at[i] = p + HEAPTUPLESIZE + MAXALIGN(SizeofHeapTupleHeader);
		spare[i] = spare_bytes(former, &rows[i]);
		p += tuple_bound(former, &rows[i]);
	}

	do_columns(&block, false);

	for (i = 0; i < block.n; i++)
	{
		memset(at[i], 0, sizeof(uint64));
		tuple_finish(tuples[i], at[i] - (char *) tuples[i] - HEAPTUPLESIZE);
	}
	block.n = count_good(former, tuples, block.n);
	p = block.n == 0 ? (char *) tuples[0] : at[block.n - 1];
	arena_trim(arena, tuples[0], p - (char *) tuples[0]);
	return block.n;
}

/*
 * The work for rows after one that is left to the slow path was wasted.  Where
 * such rows are frequent, more and more rows are formed one by one until a
 * block is tried again.
 */
static void
learn_oddness(RowFormer *former, uint32 begun, uint32 formed)
{
	if (formed == begun)
	{
		former->block = Min(former->block * 2, BLOCK_ROWS);
		former->patience = BLOCK_FEWEST;
	}
	else if (formed >= BLOCK_FEWEST)
	{
		former->block = formed;
		former->alone = 1;
	}
	else
	{
		former->block = BLOCK_FEWEST;
		former->alone = former->patience;
		former->patience = Min(former->patience * 2, BLOCK_PATIENCE);
	}
}

uint32
form_rows(RowFormer *former, const char *data, const ScanRow *rows, uint32 n,
		  const ScanField *fields, Arena *arena, HeapTuple *tuples)
{
	uint32		done = 0;

	while (done < n)
	{
		if (!former->by_rows && former->alone == 0)
		{
			uint32		begun = Min(n - done, former->block);
			uint32		formed = form_block(former, data, rows + done, &begun,
											fields, arena, tuples + done);

			learn_oddness(former, begun, formed);
			done += formed;
		}
		else if (form_row(former, data, &rows[done], fields, arena, &tuples[done]))
		{
			done++;
			former->alone -= former->alone > 0;
		}
		else
			break;
	}

	/* the converters' values have been copied to the tuples */
	convert_next(former->conv);
	return done;
}

void
form_take_back(RowFormer *former, uint32 n)
{
	return_values(former, former->natts, n);
}

Size
form_row_size(const RowFormer *former)
{
	return former->row_size;
}

uint32
form_rows_of_one_size(RowFormer *former, const char *data, const ScanRow *rows,
					  uint32 n, const ScanField *fields, char *first)
{
	const Size	size = MAXALIGN(former->row_size);
	uint32		begun = Min(n, former->block);
	RowBlock	block;

	if (former->alone > 0)
		return 0;
	block = begin_block(former, data, rows, begun, fields);
	block.first = first;
	for (uint32 i = 0; i < block.n; i++)
	{
		if (size == 32)
			memcpy(first - i * 32, former->image, 32);
		else
			memcpy(first - i * size, former->image, size);
	}
	do_columns(&block, true);
	learn_oddness(former, begun, block.n);
	convert_next(former->conv);
	return block.n;
}
