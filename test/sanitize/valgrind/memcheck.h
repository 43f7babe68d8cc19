/*
 * memcheck.h
 *		What a server tells valgrind of its memory, told to AddressSanitizer.
 *
 *		A server that is compiled with -DUSE_VALGRIND, and this folder before the
 *		system's, includes this file in the place of valgrind's own.  What nobody may
 *		touch is poisoned then: parts of memory contexts that are free, bytes behind a
 *		chunk, pages that the process has not pinned.  AddressSanitizer alone sees the
 *		blocks that contexts get by malloc, and nothing within them.
 *
 *		It knows no values that are undefined: what is asked of them is valgrind's.  So
 *		whoever says that bytes are defined opens them, and pgbulk says it of none.  Of the
 *		bytes between a chunk's end and the next multiple of 8 nobody is told.
 */
#ifndef PGBULK_MEMCHECK_H
#define PGBULK_MEMCHECK_H

#include <sanitizer/asan_interface.h>

#include "valgrind/valgrind.h"

#define VALGRIND_MAKE_MEM_NOACCESS(addr, size) __asan_poison_memory_region(addr, size)
#define VALGRIND_MAKE_MEM_UNDEFINED(addr, size) __asan_unpoison_memory_region(addr, size)
#define VALGRIND_MAKE_MEM_DEFINED(addr, size) __asan_unpoison_memory_region(addr, size)
#define VALGRIND_CHECK_MEM_IS_DEFINED(addr, size) do {} while (0)

/* what is freed is wiped and poisoned by the server itself (CLOBBER_FREED_MEMORY) */
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed) do {} while (0)
#define VALGRIND_DESTROY_MEMPOOL(pool) do {} while (0)
#define VALGRIND_MEMPOOL_TRIM(pool, addr, size) do {} while (0)
#define VALGRIND_MEMPOOL_FREE(pool, addr) do {} while (0)
#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size) __asan_unpoison_memory_region(addr, size)
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size) __asan_unpoison_memory_region(to, size)

#endif
