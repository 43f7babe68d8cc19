/*
 * wide.h
 *		Integers of 128 bits, which compilers have for 64-bit machines only.
 */
#ifndef SCAN_WIDE_H
#define SCAN_WIDE_H

#ifndef __SIZEOF_INT128__
#error "pgbulk needs integers of 128 bits: a 64-bit machine, and gcc or clang"
#endif

typedef unsigned __int128 scan_uint128;

#endif							/* SCAN_WIDE_H */
