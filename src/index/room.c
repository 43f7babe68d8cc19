/*
 * room.c
 *		See room.h.
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "index/room.h"

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
room_take(MemoryContext context, Size size)
{
	void	   *result = MemoryContextAllocHuge(context, size);

	prefer_huge_pages(result, size);
	return result;
}

void *
room_for_one(MemoryContext context, void *array, Size n, Size *room, Size size)
{
	if (n < *room)
		return array;
	*room = Max(2 * *room, 1024);
	if (array == NULL)
		return room_take(context, *room * size);
	array = repalloc_huge(array, *room * size);
	prefer_huge_pages(array, *room * size);
	return array;
}
