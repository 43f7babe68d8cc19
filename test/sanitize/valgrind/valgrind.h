/*
 * valgrind.h
 *		What a server asks valgrind itself, answered where there is none.
 */
#ifndef PGBULK_VALGRIND_H
#define PGBULK_VALGRIND_H

#define RUNNING_ON_VALGRIND 0
#define VALGRIND_COUNT_ERRORS 0
#define VALGRIND_PRINTF(...) do {} while (0)

#endif
