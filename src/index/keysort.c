/*
 * keysort.c
 *		See keysort.h.
 */
#include "index/keysort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* From here on up, counting digits pays. */
#define RADIX_MIN 512
#define INSERTION_MAX 12

#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)
#define PASSES (64 / DIGIT_BITS)

static bool
is_sorted(const SortItem *items, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (items[i].key < items[i - 1].key)
			return false;
	return true;
}

static void
sort_by_insertion(SortItem *items, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		SortItem	item = items[i];
		size_t		j = i;

		for (; j > 0 && items[j - 1].key > item.key; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

static void
sort_by_merging(SortItem *items, SortItem *spare, size_t n)
{
	size_t		half = n / 2;
	size_t		left = 0;
	size_t		right = half;
	size_t		to = 0;

	if (n <= INSERTION_MAX)
	{
		sort_by_insertion(items, n);
		return;
	}
	sort_by_merging(items, spare, half);
	sort_by_merging(items + half, spare, n - half);
	if (items[half - 1].key <= items[half].key)
		return;
	memcpy(spare, items, half * sizeof(SortItem));
	while (left < half && right < n)
		items[to++] = items[right].key < spare[left].key ? items[right++] : spare[left++];
	memcpy(items + to, spare + left, (half - left) * sizeof(SortItem));
}

/* Digit by digit, the least first; digits that all keys share cost nothing. */
static void
sort_by_radix(SortItem *items, SortItem *spare, size_t n, void (*poll) (void))
{
	size_t		counts[PASSES][DIGITS];
	SortItem   *from = items;
	SortItem   *to = spare;

	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < n; i++)
		for (int pass = 0; pass < PASSES; pass++)
			counts[pass][(items[i].key >> (pass * DIGIT_BITS)) & (DIGITS - 1)]++;

	for (int pass = 0; pass < PASSES; pass++)
	{
		int			shift = pass * DIGIT_BITS;
		size_t	   *count = counts[pass];
		size_t		place = 0;
		SortItem   *swap;

		if (count[(items[0].key >> shift) & (DIGITS - 1)] == n)
			continue;
		if (poll != NULL)
			poll();
		for (int digit = 0; digit < DIGITS; digit++)
		{
			size_t		c = count[digit];

			count[digit] = place;
			place += c;
		}
		for (size_t i = 0; i < n; i++)
			to[count[(from[i].key >> shift) & (DIGITS - 1)]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(SortItem));
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t	number_a = *(const uint64_t *) a;
	uint64_t	number_b = *(const uint64_t *) b;

	return (number_a > number_b) - (number_a < number_b);
}

void
keysort_numbers(uint64_t *numbers, size_t n)
{
	if (n > 1)
		qsort(numbers, n, sizeof(uint64_t), compare_numbers);
}

void
keysort_integers(SortItem *items, SortItem *spare, size_t n, void (*poll) (void))
{
	if (is_sorted(items, n))
		return;
	if (n < RADIX_MIN)
		sort_by_merging(items, spare, n);
	else
		sort_by_radix(items, spare, n, poll);
}

/* ---- strings ---- */

/* Eight bytes from depth on, zeroes behind the end, as a number that sorts like them. */
static uint64_t
head_at(const SortString *string, uint32_t depth)
{
	uint64_t	head = 0;
	uint32_t	left = string->length > depth ? string->length - depth : 0;
	const unsigned char *p = string->bytes + depth;

	if (left >= 8)				/* compilers see a single load in this */
		return (uint64_t) p[0] << 56 | (uint64_t) p[1] << 48 |
			(uint64_t) p[2] << 40 | (uint64_t) p[3] << 32 |
			(uint64_t) p[4] << 24 | (uint64_t) p[5] << 16 |
			(uint64_t) p[6] << 8 | (uint64_t) p[7];
	for (uint32_t i = 0; i < 8; i++)
		head = head << 8 | (i < left ? p[i] : 0);
	return head;
}

/* How far all strings are the same, from depth on. */
static uint32_t
find_difference(const SortItem *items, size_t n, uint32_t depth)
{
	const SortString *first = keysort_string(&items[0]);
	uint32_t	same = first->length;

	for (size_t i = 1; i < n && same > depth; i++)
	{
		const SortString *other = keysort_string(&items[i]);
		uint32_t	end = other->length < same ? other->length : same;
		uint32_t	at = depth;

		while (at < end && other->bytes[at] == first->bytes[at])
			at++;
		same = at;
	}
	return same > depth ? same : depth;
}

static void
swap_keys_for_lengths(SortItem *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		items[i].key = keysort_string(&items[i])->length;
}

/* Items whose bytes are the same as far as they go: the shorter first. */
static void
sort_ended(SortItem *items, SortItem *spare, size_t n, const SortHelp *help)
{
	size_t		begin = 0;

	swap_keys_for_lengths(items, n);
	keysort_integers(items, spare, n, help->poll);
	for (size_t i = 1; i <= n; i++)
	{
		if (i < n && items[i].key == items[begin].key)
			continue;
		if (help->tie != NULL && i - begin > 1)
			help->tie(items + begin, i - begin, help->arg);
		begin = i;
	}
}

/* Puts those that have ended at depth first, in the order they had; how many. */
static size_t
split_ended(SortItem *items, SortItem *spare, size_t n, uint32_t depth)
{
	size_t		ended = 0;
	size_t		others = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (keysort_string(&items[i])->length <= depth)
			items[ended++] = items[i];
		else
			spare[others++] = items[i];
	}
	memcpy(items + ended, spare, others * sizeof(SortItem));
	return ended;
}

static void
sort_strings(SortItem *items, SortItem *spare, size_t n, uint32_t depth,
			 const SortHelp *help)
{
	size_t		begin = 0;

	if (help->poll != NULL)
		help->poll();
	depth = find_difference(items, n, depth);
	for (size_t i = 0; i < n; i++)
		items[i].key = head_at(keysort_string(&items[i]), depth);
	keysort_integers(items, spare, n, help->poll);

	for (size_t i = 1; i <= n; i++)
	{
		size_t		ended;

		if (i < n && items[i].key == items[begin].key)
			continue;
		if (i - begin > 1)
		{
			ended = split_ended(items + begin, spare, i - begin, depth + 8);
			if (ended > 1)
				sort_ended(items + begin, spare, ended, help);
			if (i - begin - ended > 1)
				sort_strings(items + begin + ended, spare, i - begin - ended,
							 depth + 8, help);
		}
		begin = i;
	}
}

void
keysort_strings(SortItem *items, SortItem *spare, size_t n, uint32_t from, const SortHelp *help)
{
	if (n > 1)
		sort_strings(items, spare, n, from, help);
}
