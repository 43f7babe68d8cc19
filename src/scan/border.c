/*
 * border.c
 *		Where a file may be cut: the last row end in a window.
 *
 * Uses the same masks as rows.c, but writes nothing, so this costs a small part
 * of a scan.
 */
#include "scan.h"

#include "bits.h"
#include "fixed.h"
#include "general.h"
#include "kernels.h"

/* Blocks classified at a time: their masks stay in the first-level cache. */
#define BATCH_BLOCKS 64

SCAN_INLINE void
border_batch(const ScanDialect *dialect, ScanEol eol, const ScanMasks *masks,
			 uint32_t nblocks, uint32_t base, Carry *carry, uint32_t *lines,
			 ScanBorder *border)
{
	const bool	csv = dialect->format == SCAN_CSV;
	const bool	has_escape = dialect_has_escape(dialect);

	for (uint32_t block = 0; block < nblocks; block++, base += 64)
	{
		uint64_t	line_ends = eol == SCAN_EOL_CR ?
			masks[block].carriage : masks[block].newline;
		uint64_t	ends;
		Bits		bits;

		if (csv)
			csv_bits(&masks[block], has_escape, carry, &bits);
		else
			text_bits(&masks[block], carry, &bits);
		ends = bits.newline;
		if (eol == SCAN_EOL_CR)
			ends |= bits.carriage;
		if (ends != 0)
		{
			uint32_t	last = 63 - (uint32_t) __builtin_clzll(ends);
			uint64_t	through = ~UINT64_C(0) >> (63 - last);

			border->end = base + last + 1;
			border->rows += count_bits(ends);
			border->lines = *lines + count_bits(line_ends & through);
		}
		*lines += count_bits(line_ends);
	}
}

static void
border_batch_portable(const ScanDialect *dialect, ScanEol eol,
					  const ScanMasks *masks, uint32_t nblocks, uint32_t base,
					  Carry *carry, uint32_t *lines, ScanBorder *border)
{
	border_batch(dialect, eol, masks, nblocks, base, carry, lines, border);
}

#if defined(__x86_64__)
__attribute__((target("bmi,bmi2,popcnt")))
static void
border_batch_bmi(const ScanDialect *dialect, ScanEol eol,
				 const ScanMasks *masks, uint32_t nblocks, uint32_t base,
				 Carry *carry, uint32_t *lines, ScanBorder *border)
{
	border_batch(dialect, eol, masks, nblocks, base, carry, lines, border);
}
#endif

void
scan_border(const ScanDialect *dialect, ScanEol eol, const char *window,
			uint32_t length, ScanBorder *border)
{
	const ScanKernel *kernel = scan_kernel();
	ScanMasks	masks[BATCH_BLOCKS];
	Carry		carry = {.separated = 1};
	uint32_t	lines = 0;

	if (dialect->fixed != NULL)
	{
		fixed_border(dialect, eol, window, length, border);
		return;
	}
	if (dialect->general)
	{
		general_border(dialect, eol, window, length, border);
		return;
	}

	border->end = border->lines = border->rows = 0;
	for (uint32_t base = 0; base < length; base += 64 * BATCH_BLOCKS)
	{
		uint32_t	nblocks = (length - base + 63) / 64;

		if (nblocks > BATCH_BLOCKS)
			nblocks = BATCH_BLOCKS;
		kernel->classify(window + base, nblocks, dialect, masks);
		if (nblocks * 64 > length - base)
			scan_mask_tail(&masks[nblocks - 1], (length - base) % 64);
#if defined(__x86_64__)
		/* what supports AVX2 has been found to have these too */
		if (kernel == &scan_kernel_avx2)
		{
			border_batch_bmi(dialect, eol, masks, nblocks, base, &carry,
							 &lines, border);
			continue;
		}
#endif
		border_batch_portable(dialect, eol, masks, nblocks, base, &carry,
							  &lines, border);
	}
}
