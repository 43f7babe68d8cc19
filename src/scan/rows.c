/*
 * rows.c
 *		Rows and fields of a window.
 *
 * Works in blocks of 64 bytes.  A kernel marks the bytes of interest
 * (classify*.c), bits.h derives from the masks what is quoted or escaped, and
 * what remains are the ends of fields and rows.  There are two code paths:
 *
 * - fast path (regular_blocks): blocks in which every line end is of the file's
 * 	 kind and every quote encloses a whole field, or is doubled or escaped in
 * 	 one.  No branch depends on a single byte.
 * - general path (careful_block): everything else, end by end: faults, quotes
 * 	 in odd places, quoted line ends, markers, the first line
 * 	 end of a file, the last block of a window, arrays nearly full.
 *
 * Both keep the same state, so they may alternate from block to block.
 */
#include "scan.h"

#include <string.h>

#include "bits.h"
#include "fixed.h"
#include "general.h"
#include "kernels.h"

/* Blocks classified at a time: their masks stay in the first-level cache. */
#define BATCH_BLOCKS 64

/* Fields written at a time; all but the first may be overwritten later. */
#define FIELD_STEP 4

/* What a field in progress has met. */
#define FIELD_QUOTES 1			/* quotes that only scan_unquote can judge */
#define FIELD_ESCAPE 2			/* csv: the escape; text: a backslash */

typedef struct Scan
{
	/* what to do */
	const ScanDialect *dialect;
	const char *window;
	uint32_t	length;
	bool		at_eof;
	ScanRow    *rows;
	uint32_t	max_rows;
	ScanField  *fields;
	uint32_t	max_fields;

	/* done so far */
	ScanEol		eol;
	uint32_t	nrows;
	uint32_t	nfields;		/* those of the row in progress included */
	uint32_t	lines;			/* line ends before the current block */
	ScanStatus	status;
	bool		stopped;		/* status is final */

	/* the row in progress */
	uint32_t	row_start;
	uint32_t	row_line;
	uint32_t	first_field;
	uint32_t	fault_at;		/* where fault was found */
	uint32_t	marker;			/* position of \. */
	uint8_t		fault;
	bool		multiline;
	bool		lax;
	bool		has_marker;

	/* the field in progress */
	uint32_t	field_start;
	uint8_t		field_met;

	Carry		carry;
} Scan;

/* -- fast path -- */

SCAN_INLINE void
field_store(ScanField *field, uint32_t start, uint32_t length, uint32_t quoted,
			uint32_t escaped)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* bit fields go by halves; this is one store */
	uint64_t	whole = start |
		(uint64_t) (length | quoted << 30 | escaped << 31) << 32;

	memcpy(field, &whole, sizeof(whole));
#else
	*field = (ScanField) {
		.start = start, .length = length, .quoted = quoted, .escaped = escaped
	};
#endif
}

/* Writes the field that ends at the lowest bit of *ends and clears that. */
SCAN_INLINE uint32_t
plain_field(ScanField *field, uint32_t base, uint32_t start, uint64_t *ends)
{
	/* the highest bit is used where no bit is left */
	uint32_t	end = base + (uint32_t) __builtin_ctzll(*ends | UINT64_C(1) << 63);

	field_store(field, start, end - start, 0, 0);
	*ends &= *ends - 1;
	return end + 1;
}

/* Fields that end at the bits of ends and need no processing. */
SCAN_INLINE void
plain_fields(ScanField *field, uint32_t base, uint32_t start, uint64_t ends)
{
	while (ends != 0)
	{
		start = plain_field(field, base, start, &ends);
		start = plain_field(field + 1, base, start, &ends);
		start = plain_field(field + 2, base, start, &ends);
		start = plain_field(field + 3, base, start, &ends);
		field += FIELD_STEP;
	}
}

/*
 * Fields that end at the bits of ends.  Those that contain a bit of escapes are
 * escaped, and so is the first one if met is set; in csv only if their end is in
 * quoted.  Others whose end is there lose the quote on either side.
 */
SCAN_INLINE void
marked_fields(ScanField *field, uint32_t base, uint32_t start, uint64_t ends,
			  uint64_t quoted, uint64_t escapes, bool met, const bool csv)
{
	while (ends != 0)
	{
		uint32_t	place = lowest_bit(ends);
		uint64_t	through = ends ^ (ends - 1);
		uint32_t	quote = (quoted >> place) & 1;
		uint32_t	escaped = (!csv || quote) & (met || (escapes & through) != 0);
		uint32_t	lost = quote & ~escaped;

		field_store(field++, start + lost, base + place - start - 2 * lost,
					quote, escaped);
		met = false;
		escapes &= ~through;
		start = base + place + 1;
		ends &= ends - 1;
	}
}

/* Where rows end; false where a line end is not of the file's kind. */
SCAN_INLINE bool
regular_ends(const Bits *bits, ScanEol eol, uint64_t carriage, uint64_t *ends)
{
	switch (eol)
	{
		case SCAN_EOL_NL:
			*ends = bits->newline;
			return bits->carriage == 0;
		case SCAN_EOL_CRNL:
			*ends = bits->newline;
			return bits->newline == (bits->carriage << 1 | carriage);
		case SCAN_EOL_CR:
			*ends = bits->carriage;
			return bits->newline == 0;
		default:
			break;
	}
	*ends = 0;
	return false;
}

/* Those of the backslashes in acting that are followed by a period. */
static inline uint64_t
marker_bits(const char *block, uint64_t acting, uint32_t readable)
{
	uint64_t	found = 0;

	for (; acting != 0; acting &= acting - 1)
	{
		uint32_t	place = lowest_bit(acting);

		if (place + 1 < readable && block[place + 1] == '.')
			found |= acting & -acting;
	}
	return found;
}

/* Whether the field in progress has met an escape at the end of a block. */
SCAN_INLINE bool
still_met(bool met, uint64_t ends, uint64_t escapes)
{
	return ends == 0 ? met || escapes != 0 : escapes > ends;
}

/*
 * Processes blocks as long as they are regular, the arrays have space, and at
 * least one byte of the window follows.  Returns how many of nblocks it
 * processed.
 */
SCAN_INLINE uint32_t
regular_blocks(Scan *scan, const ScanMasks *masks, uint32_t nblocks,
			   uint32_t base, const bool csv, const bool has_escape)
{
	const ScanEol eol = scan->eol;
	const uint32_t eol_extra = eol == SCAN_EOL_CRNL ? 1 : 0;
	const uint32_t line_offset = scan->lines - scan->nrows;
	ScanField  *const fields = scan->fields;
	ScanRow    *row = scan->rows + scan->nrows;
	uint32_t	nfields = scan->nfields;
	uint32_t	first_field = scan->first_field;
	uint32_t	row_start = scan->row_start;
	uint32_t	field_start = scan->field_start;
	bool		met = scan->field_met != 0;
	Carry		carry = scan->carry;
	uint32_t	block;

	for (block = 0; block < nblocks; block++, base += 64)
	{
		Carry		next = carry;
		Bits		bits;
		uint64_t	row_ends;
		uint64_t	ends;
		uint64_t	escapes;
		uint64_t	quoted = 0;

		if (csv)
			csv_bits(&masks[block], has_escape, &next, &bits);
		else
			text_bits(&masks[block], &next, &bits);

		if (!regular_ends(&bits, eol, carry.carriage, &row_ends) ||
			(bits.inner | bits.lax) != 0 ||
			(!csv && marker_bits(scan->window + base, bits.escape, 65) != 0) ||
			base - field_start >= SCAN_MAX_FIELD - 64 ||
			scan->max_fields - nfields < 64 + FIELD_STEP ||
			scan->rows + scan->max_rows - row < 64)
			break;

		ends = bits.delimiter | row_ends;
		/* the escape may be the delimiter */
		escapes = csv ? (bits.escape | bits.doubled) & ~ends : bits.backslash;
		if (csv)
			quoted = (bits.delimiter & bits.closed) |
				(row_ends & (eol_extra ? bits.closed_twice : bits.closed));
		if (csv ? quoted == 0 : !met && escapes == 0)
			plain_fields(fields + nfields, base, field_start, ends);
		else
			marked_fields(fields + nfields, base, field_start, ends,
						  quoted, escapes, met, csv);
		met = still_met(met, ends, escapes);
		if (ends != 0)
			field_start = base + 64 - (uint32_t) __builtin_clzll(ends);

		for (; row_ends != 0; row_ends &= row_ends - 1)
		{
			uint32_t	end = base + (uint32_t) __builtin_ctzll(row_ends);
			uint32_t	last = nfields +
				count_bits(ends & (row_ends ^ (row_ends - 1)));

			if (eol_extra)
				fields[last - 1].length--;
			*row = (ScanRow) {
				.start = row_start,
				.end = end - eol_extra,
				.next = end + 1,
				.line = (uint32_t) (row - scan->rows) + line_offset,
				.first_field = first_field,
				.nfields = last - first_field
			};
			row++;
			row_start = end + 1;
			first_field = last;
		}
		nfields += count_bits(ends);
		carry = next;
	}

	scan->nrows = (uint32_t) (row - scan->rows);
	scan->nfields = nfields;
	scan->first_field = first_field;
	scan->row_start = row_start;
	scan->row_line = scan->lines = scan->nrows + line_offset;
	scan->field_start = field_start;
	scan->field_met = !met ? 0 : csv && !has_escape ? FIELD_QUOTES : FIELD_ESCAPE;
	scan->carry = carry;
	return block;
}

/* -- general path -- */

static void
scan_stop(Scan *scan, ScanStatus status)
{
	scan->status = status;
	scan->stopped = true;
}

/* The first fault of a row is the one that counts. */
static void
row_fault(Scan *scan, ScanFault fault, uint32_t at)
{
	if (scan->fault == SCAN_FAULT_NONE)
	{
		scan->fault = fault;
		scan->fault_at = at;
	}
}

static bool
field_end(Scan *scan, uint32_t end)
{
	uint32_t	start = scan->field_start;
	uint32_t	length = end - start;
	bool		quoted = false;
	bool		escaped = false;

	if (scan->nfields == scan->max_fields)
	{
		scan_stop(scan, SCAN_FULL);
		return false;
	}
	if (scan->dialect->format == SCAN_TEXT)
		escaped = scan->field_met != 0;
	else if (scan->field_met & FIELD_QUOTES)
		quoted = escaped = true;
	else if (length > 0 && scan->window[start] == scan->dialect->quote)
	{
		quoted = true;
		if (scan->field_met & FIELD_ESCAPE)
			escaped = true;
		else
		{
			start++;
			length -= 2;
		}
	}
	if (length >= SCAN_MAX_FIELD)
	{
		row_fault(scan, SCAN_FAULT_FIELD_TOO_LONG, start);
		length = SCAN_MAX_FIELD;
	}
	scan->fields[scan->nfields++] = (ScanField) {
		.start = start, .length = length, .quoted = quoted, .escaped = escaped
	};
	scan->field_met = 0;
	return true;
}

/*
 * Examines the \. of a row in text format.  True if it is the end-of-copy
 * marker; else it is a fault, unless there is one before it.
 */
static bool
row_judge_marker(Scan *scan, uint32_t end)
{
	const char *next = scan->window + scan->marker + 2;
	const char *limit = scan->window + end;
	ScanEol		eol = scan->eol;
	ScanFault	fault = SCAN_FAULT_NONE;
	char		c = next < limit ? *next++ : '\0';

	if (scan->fault != SCAN_FAULT_NONE && scan->fault_at < scan->marker)
		return false;
	if (eol == SCAN_EOL_CRNL)
	{
		if (c == '\n')
			fault = SCAN_FAULT_MARKER_NEWLINE;
		else if (c != '\r')
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
		c = next < limit ? *next : '\0';
	}
	if (fault == SCAN_FAULT_NONE)
	{
		if (c != '\r' && c != '\n')
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
		else if (eol != SCAN_EOL_UNKNOWN &&
				 c != (eol == SCAN_EOL_CR ? '\r' : '\n'))
			fault = SCAN_FAULT_MARKER_NEWLINE;
		else if (scan->marker != scan->row_start)
			fault = SCAN_FAULT_MARKER_NOT_ALONE;
		else
			return true;
	}
	scan->fault = fault;
	return false;
}

/* The row in progress ends at end; next and line are those of the following row. */
static bool
row_end(Scan *scan, uint32_t end, uint32_t next, uint32_t line)
{
	if (scan->has_marker && row_judge_marker(scan, next))
	{
		scan->nfields = scan->first_field;
		scan->row_start = next;
		scan->row_line = line;
		scan_stop(scan, SCAN_MARKER);
		return false;
	}
	if (scan->nrows == scan->max_rows)
	{
		scan_stop(scan, SCAN_FULL);
		return false;
	}
	scan->rows[scan->nrows++] = (ScanRow) {
		.start = scan->row_start,
		.end = end,
		.next = next,
		.line = scan->row_line,
		.first_field = scan->first_field,
		.nfields = scan->nfields - scan->first_field,
		.fault = scan->fault,
		.multiline = scan->multiline,
		.lax = scan->lax
	};
	scan->row_start = next;
	scan->row_line = line;
	scan->first_field = scan->nfields;
	scan->fault = SCAN_FAULT_NONE;
	scan->multiline = false;
	scan->lax = false;
	scan->has_marker = false;
	scan->field_start = next;
	return true;
}

static uint32_t
count_byte(const char *s, uint32_t len, char byte)
{
	uint32_t	count = 0;

	for (uint32_t i = 0; i < len; i++)
		count += s[i] == byte;
	return count;
}

/* The first line end of the file determines its kind; counts the lines so far. */
static void
learn_eol(Scan *scan, ScanEol eol, uint32_t base)
{
	scan->eol = eol;
	scan->lines = count_byte(scan->window, base,
							 eol == SCAN_EOL_CR ? '\r' : '\n');
}

/* What a careful block has found about the fields and rows in it. */
typedef struct Careful
{
	uint32_t	base;
	uint64_t	lax;
	uint64_t	quotes;			/* FIELD_QUOTES */
	uint64_t	escape;			/* FIELD_ESCAPE */
	uint64_t	inner;
	uint64_t	marker;
	uint64_t	after_carriage;
} Careful;

/* Adds the bits in range to the field and the row in progress. */
static void
careful_note(Scan *scan, const Careful *block, uint64_t range)
{
	if (block->quotes & range)
		scan->field_met |= FIELD_QUOTES;
	if (block->escape & range)
		scan->field_met |= FIELD_ESCAPE;
	if (block->lax & range)
		scan->lax = true;
	if (block->inner & range)
		scan->multiline = true;
	if ((block->marker & range) && !scan->has_marker)
	{
		scan->has_marker = true;
		scan->marker = block->base + lowest_bit(block->marker & range);
	}
}

/*
 * A CR outside quotes.  Whether it ends the row; CR LF is ended by the LF.
 */
static bool
careful_carriage(Scan *scan, uint32_t at, uint32_t base)
{
	bool		is_last = at + 1 == scan->length;
	bool		has_newline = !is_last && scan->window[at + 1] == '\n';

	switch (scan->eol)
	{
		case SCAN_EOL_CR:
			return true;
		case SCAN_EOL_NL:
			row_fault(scan, SCAN_FAULT_CARRIAGE_RETURN, at);
			return false;
		case SCAN_EOL_CRNL:
			if (is_last ? scan->at_eof : !has_newline)
				row_fault(scan, SCAN_FAULT_CARRIAGE_RETURN, at);
			return false;
		case SCAN_EOL_UNKNOWN:
			if (has_newline)
				learn_eol(scan, SCAN_EOL_CRNL, base);
			else if (!is_last || scan->at_eof)
			{
				learn_eol(scan, SCAN_EOL_CR, base);
				return true;
			}
			return false;
		default:
			break;
	}
	return false;
}

/* A LF outside quotes: always the end of a row.  Returns where that ends. */
static uint32_t
careful_newline(Scan *scan, uint32_t at, uint32_t base, bool after_carriage)
{
	if (scan->eol == SCAN_EOL_UNKNOWN)
		learn_eol(scan, SCAN_EOL_NL, base);
	if (scan->eol == SCAN_EOL_CRNL && after_carriage)
		return at - 1;
	if (scan->eol != SCAN_EOL_NL)
		row_fault(scan, SCAN_FAULT_NEWLINE, at);
	return at;
}

static void
careful_block(Scan *scan, const ScanMasks *masks, uint32_t base)
{
	const bool	csv = scan->dialect->format == SCAN_CSV;
	uint64_t	valid = ~UINT64_C(0);
	uint64_t	range = ~UINT64_C(0);	/* bytes of the field in progress */
	Careful		block = {.base = base};
	Bits		bits;

	if (scan->length - base < 64)
		valid = (UINT64_C(1) << (scan->length - base)) - 1;
	block.after_carriage = scan->carry.carriage;
	if (csv)
	{
		csv_bits(masks, dialect_has_escape(scan->dialect), &scan->carry, &bits);
		block.inner = bits.inner;
	}
	else
	{
		text_bits(masks, &scan->carry, &bits);
		block.marker = marker_bits(scan->window + base, bits.escape,
								   scan->length - base);
	}

	/* a regular block may have ended in a CR that it took for half a CR LF */
	if (scan->eol == SCAN_EOL_CRNL && block.after_carriage != 0 &&
		(bits.newline & 1) == 0)
		row_fault(scan, SCAN_FAULT_CARRIAGE_RETURN, base - 1);

	block.after_carriage |= bits.carriage << 1;
	block.lax = bits.lax & valid;
	block.quotes = block.lax | bits.doubled;
	block.escape = bits.escape | bits.backslash;

	for (uint64_t rest = bits.delimiter | bits.newline | bits.carriage;
		 rest != 0; rest &= rest - 1)
	{
		uint64_t	bit = rest & -rest;
		uint32_t	at = base + lowest_bit(rest);
		uint32_t	end = at;
		uint32_t	line;

		if ((bits.carriage & bit) && !careful_carriage(scan, at, base))
			continue;
		if (bits.newline & bit)
			end = careful_newline(scan, at, base,
								  (block.after_carriage & bit) != 0);
		careful_note(scan, &block, range & (bit - 1));
		if (!field_end(scan, end))
			return;
		scan->field_start = at + 1;
		range = ~(bit | (bit - 1));
		if (bits.delimiter & bit)
			continue;

		line = scan->lines +
			count_bits((scan->eol == SCAN_EOL_CR ? masks->carriage :
						masks->newline) & ~range);
		if (!row_end(scan, end, at + 1, line))
			return;
	}
	careful_note(scan, &block, range);
	scan->lines += count_bits(scan->eol == SCAN_EOL_CR ? masks->carriage :
							  masks->newline);
}

/* The file ends in the row in progress. */
static void
last_row(Scan *scan)
{
	uint32_t	end = scan->length;
	uint32_t	nbackslashes = 0;

	if (scan->dialect->format == SCAN_CSV)
	{
		if (scan->carry.inside != 0)
		{
			row_fault(scan, SCAN_FAULT_UNTERMINATED_QUOTE, end);
			scan->field_met |= FIELD_QUOTES;
		}
	}
	else
	{
		/* a backslash with nothing after it is not part of the field */
		while (end - nbackslashes > scan->field_start &&
			   scan->window[end - nbackslashes - 1] == '\\')
			nbackslashes++;
		end -= nbackslashes % 2;
	}
	if (field_end(scan, end))
		row_end(scan, scan->length, scan->length, scan->lines);
}

/* -- both paths -- */

/* Whether regular_blocks may continue the row in progress. */
static inline bool
scan_is_regular(const Scan *scan)
{
	return scan->eol != SCAN_EOL_UNKNOWN && scan->fault == SCAN_FAULT_NONE &&
		!scan->multiline && !scan->lax && !scan->has_marker &&
		scan->row_line == scan->lines;
}

SCAN_INLINE void
scan_batch(Scan *scan, const ScanMasks *masks, uint32_t nblocks, uint32_t base,
		   const bool csv, const bool has_escape)
{
	/* the window's last byte is left to careful_block */
	uint32_t	nregular = base + nblocks * 64 < scan->length ? nblocks : nblocks - 1;
	uint32_t	block = 0;

	while (block < nblocks && !scan->stopped)
	{
		if (block < nregular && scan_is_regular(scan))
			block += regular_blocks(scan, masks + block, nregular - block,
									base + block * 64, csv, has_escape);
		if (block < nblocks)
		{
			careful_block(scan, masks + block, base + block * 64);
			block++;
		}
	}
}

SCAN_INLINE void
scan_batch_any(Scan *scan, const ScanMasks *masks, uint32_t nblocks,
			   uint32_t base)
{
	if (scan->dialect->format == SCAN_TEXT)
		scan_batch(scan, masks, nblocks, base, false, false);
	else if (dialect_has_escape(scan->dialect))
		scan_batch(scan, masks, nblocks, base, true, true);
	else
		scan_batch(scan, masks, nblocks, base, true, false);
}

typedef void (*ScanBatch) (Scan *scan, const ScanMasks *masks,
						   uint32_t nblocks, uint32_t base);

static void
scan_batch_portable(Scan *scan, const ScanMasks *masks, uint32_t nblocks,
					uint32_t base)
{
	scan_batch_any(scan, masks, nblocks, base);
}

#if defined(__x86_64__)
/* The same with one instruction for each of count_bits and lowest_bit. */
__attribute__((target("bmi,bmi2,popcnt")))
static void
scan_batch_bmi(Scan *scan, const ScanMasks *masks, uint32_t nblocks,
			   uint32_t base)
{
	scan_batch_any(scan, masks, nblocks, base);
}
#endif

static ScanBatch
choose_batch(const ScanKernel *kernel)
{
#if defined(__x86_64__)
	/* what supports AVX2 has been found to have these too */
	if (kernel == &scan_kernel_avx2)
		return scan_batch_bmi;
#endif
	(void) kernel;
	return scan_batch_portable;
}

void
scan_rows(const ScanDialect *dialect, ScanEol *eol,
		  const char *window, uint32_t length, bool at_eof,
		  ScanRow *rows, uint32_t max_rows,
		  ScanField *fields, uint32_t max_fields,
		  ScanResult *result)
{
	const ScanKernel *kernel = scan_kernel();
	ScanBatch	batch = choose_batch(kernel);
	ScanMasks	masks[BATCH_BLOCKS];
	Scan		scan = {
		.dialect = dialect,
		.window = window,
		.length = length,
		.at_eof = at_eof,
		.rows = rows,
		.max_rows = max_rows,
		.fields = fields,
		.max_fields = max_fields,
		.eol = *eol,
		.carry = {.separated = 1}
	};

	if (dialect->fixed != NULL)
	{
		fixed_rows(dialect, eol, window, length, at_eof, rows, max_rows,
				   fields, max_fields, result);
		return;
	}
	if (dialect->general)
	{
		general_rows(dialect, eol, window, length, at_eof, rows, max_rows,
					 fields, max_fields, result);
		return;
	}

	for (uint32_t base = 0; base < length && !scan.stopped;
		 base += 64 * BATCH_BLOCKS)
	{
		uint32_t	nblocks = (length - base + 63) / 64;

		if (nblocks > BATCH_BLOCKS)
			nblocks = BATCH_BLOCKS;
		kernel->classify(window + base, nblocks, dialect, masks);
		if (nblocks * 64 > length - base)
			scan_mask_tail(&masks[nblocks - 1], (length - base) % 64);
		batch(&scan, masks, nblocks, base);
	}
	if (!scan.stopped)
	{
		if (at_eof && scan.row_start < length)
			last_row(&scan);
		if (!scan.stopped)
			scan.status = at_eof ? SCAN_END : SCAN_MORE;
	}

	*eol = scan.eol;
	result->nrows = scan.nrows;
	result->nfields = scan.first_field;
	result->consumed = scan.row_start;
	result->lines = scan.row_line;
	result->status = scan.status;
}
