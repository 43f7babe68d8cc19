/*
 * huge_array.c
 *		See huge_array.h.
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "index/huge_array.h"

#define HUGE_PAGE (2 * 1024 * 1024)

/*
 * What is looked up at random costs less where a page of memory is large: else
 * most of the time goes to finding where pages are.
 */
static void
prefer_huge_pages(void *address, Size size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	begin = TYPEALIGN(HUGE_PAGE, (uintptr_t) address);
	uintptr_t	end = TYPEALIGN_DOWN(HUGE_PAGE, (uintptr_t) address + size);

	/* where it is refused, pages are small */
	if (begin < end)
		(void) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
#endif
}

void *
huge_array_alloc(MemoryContext context, Size size)
{
	void	   *result = MemoryContextAllocHuge(context, size);

	prefer_huge_pages(result, size);
	return result;
}

void *
huge_array_grow(MemoryContext context, void *array, Size n, Size *capacity, Size size)
{
	if (n < *capacity)
		return array;
	*capacity = Max(2 * *capacity, 1024);
	if (array == NULL)
		return huge_array_alloc(context, *capacity * size);
	array = repalloc_huge(array, *capacity * size);
	prefer_huge_pages(array, *capacity * size);
	return array;
}
