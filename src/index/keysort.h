/*
 * keysort.h
 *		Sorting keys that are bytes or integers.
 *
 * Pure C: no server header, no allocation, no I/O, no abort.  Integers are
 * sorted by radix, byte strings eight bytes at a time, what they have in common
 * passed over.  Both sorts are stable.
 */
#ifndef PGBULK_KEYSORT_H
#define PGBULK_KEYSORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct SortItem
{
	uint64_t	key;			/* keysort_strings keeps here what it likes */
	uint64_t	value;
} SortItem;

/* A string to sort; an item's value is its address. */
typedef struct SortString
{
	uint32_t	number;			/* for the caller */
	uint32_t	length;
	unsigned char bytes[];
} SortString;

typedef struct SortHelp
{
	/* Puts items of equal strings in order; NULL: they are. */
	void		(*tie) (SortItem *items, size_t n, void *arg);
	/* Called now and then; may jump out.  NULL: nobody wants that. */
	void		(*poll) (void);
	void	   *arg;
} SortHelp;

/* A few numbers, in place. */
extern void keysort_numbers(uint64_t *numbers, size_t n);

/* By key, as unsigned numbers.  spare: memory for as many items. */
extern void keysort_integers(SortItem *items, SortItem *spare, size_t n,
							 void (*poll) (void));

/*
 * By the strings' bytes from that one on, which all of them have; one that begins another comes
 * before it.
 */
extern void keysort_strings(SortItem *items, SortItem *spare, size_t n, uint32_t from,
							const SortHelp *help);

static inline SortString *
keysort_string(const SortItem *item)
{
	return (SortString *) (uintptr_t) item->value;
}

#endif							/* PGBULK_KEYSORT_H */
