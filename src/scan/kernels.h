/*
 * kernels.h
 *		The kernels that classify.c chooses from (private to this folder).
 */
#ifndef PGBULK_KERNELS_H
#define PGBULK_KERNELS_H

#include "scan.h"

#if defined(__x86_64__)
extern const ScanKernel scan_kernel_avx2;
extern const ScanKernel scan_kernel_sse2;
#endif
#if defined(__aarch64__)
extern const ScanKernel scan_kernel_neon;
#endif
extern const ScanKernel scan_kernel_portable;

/*
 * Kinds of bytes in JSON, as bits, for kernels that look bytes up by nibbles: a
 * byte has the kinds that both its low and its high nibble have.
 */
#define SCAN_JSON_COMMA 1
#define SCAN_JSON_COLON 2
#define SCAN_JSON_BRACKET 4		/* and braces */
#define SCAN_JSON_LINE_SPACE 8	/* tab, LF, CR */
#define SCAN_JSON_BLANK 16
#define SCAN_JSON_PUNCTUATION (SCAN_JSON_COMMA | SCAN_JSON_COLON | SCAN_JSON_BRACKET)
#define SCAN_JSON_SPACE (SCAN_JSON_LINE_SPACE | SCAN_JSON_BLANK)

extern const uint8_t scan_json_by_low[16];
extern const uint8_t scan_json_by_high[16];

/*
 * A block that is hashed is HASH_ROWS rows of HASH_LANES words of 64 bits, little endian.  The key
 * of a word is the product of the first constant and its lane's number, from 1, plus that of the
 * second one and its row's number, from 0: in 32 bits for each half.  The sum of a lane is that
 * of its words' two halves, each plus its key, multiplied, and of the neighbouring lane's words.
 */
#define HASH_LANES 8
#define HASH_ROWS 16
#define HASH_LANE_KEY UINT64_C(0xbb67ae8584caa73b)
#define HASH_ROW_KEY UINT64_C(0x3c6ef372fe94f82b)

/* The byte that a dialect's special mask marks. */
static inline char
dialect_special(const ScanDialect *dialect)
{
	return dialect->format == SCAN_CSV ? dialect->quote : '\\';
}

/* Whether a dialect needs the escape mask. */
static inline bool
dialect_has_escape(const ScanDialect *dialect)
{
	return dialect->format == SCAN_CSV && dialect->escape != dialect->quote;
}

/* Clears the bits after the first n bytes of a block. */
static inline void
scan_mask_tail(ScanMasks *masks, uint32_t n)
{
	uint64_t	valid = (UINT64_C(1) << n) - 1;

	masks->delimiter &= valid;
	masks->special &= valid;
	masks->escape &= valid;
	masks->newline &= valid;
	masks->carriage &= valid;
}

#endif							/* PGBULK_KERNELS_H */
