/*
 * effort.h
 *		How much to do of work that is random: a third, or with PGBULK_TEST_LONG all of it;
 *		of either a fifth with the sanitizers, which make it slow.
 */
#ifndef EFFORT_H
#define EFFORT_H

#include <stdlib.h>

static inline int
effort(int n)
{
#if defined(__SANITIZE_ADDRESS__)
	n = (n + 4) / 5;
#endif
	return getenv("PGBULK_TEST_LONG") != NULL ? n : (n + 2) / 3;
}

#endif							/* EFFORT_H */
