/*
 * kernels.h
 *		The kernels that classify.c chooses among (private to this folder).
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

/* The byte that a dialect's special mask stands for. */
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

#endif							/* PGBULK_KERNELS_H */
