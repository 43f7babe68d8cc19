/*
 * memory.c
 *		A system that has no more memory: one allocation fails.
 *
 * Preloaded into a server (LD_PRELOAD), it stands between the server and malloc.  MEMORY_FAULT
 * names a file of struct Fault that all processes map, which says in which process which
 * allocation is to fail.  Only large enough ones count: the server asks for blocks of a kilobyte
 * and more, while smaller requests are those of the C library's own, whose callers mostly cannot
 * tell of a failure.  Those for the server's statistics do not fail: it would leave an entry of its
 * table of these without what belongs to it, and crash at the session's end (18 does).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Allocations below this size never fail. */
#define LEAST 512

/* As scarce.pl packs it. */
typedef struct Fault
{
	int64_t		countdown;		/* which allocation from now on, from 1; 0: none */
	int64_t		pid;			/* of this process; or of the parallel workers, if 0 */
	int64_t		failed;			/* how many have */
} Fault;

/*
 * The next ones: the C library's, or those of a sanitizer that watches the server.  dlsym may
 * allocate: until all are known, for short, the C library's do, which a sanitizer need not know.
 */
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_calloc(size_t n, size_t size);

static void *(*next_malloc) (size_t size);
static void *(*next_realloc) (void *old, size_t size);
static void *(*next_calloc) (size_t n, size_t size);

static void
find_next(void)
{
	static int	searching;

	if (searching)
		return;
	searching = 1;
	next_malloc = (void *(*) (size_t)) dlsym(RTLD_NEXT, "malloc");
	next_realloc = (void *(*) (void *, size_t)) dlsym(RTLD_NEXT, "realloc");
	next_calloc = (void *(*) (size_t, size_t)) dlsym(RTLD_NEXT, "calloc");
}

static Fault *fault;

/* Once, when the server's first process begins: the others are its children. */
__attribute__((constructor)) static void
map_fault(void)
{
	const char *name = getenv("MEMORY_FAULT");
	int			fd = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
	void	   *mapped;
	void	   *frame;

	if (fd < 0)
		return;
	/* its first call allocates */
	backtrace(&frame, 1);
	mapped = mmap(NULL, sizeof(Fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		fault = mapped;
}

/* By its title, which a process has set before it does anything else. */
static int
is_worker(void)
{
	static pid_t known;
	static int	result;
	char		title[64] = "";
	int			fd;

	if (known == getpid())
		return result;
	fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, title, sizeof(title) - 1) < 0)
		title[0] = '\0';
	close(fd);
	result = strstr(title, "parallel worker") != NULL;
	/* that of a child is its parent's at first */
	if (result)
		known = getpid();
	return result;
}

static int
is_for_statistics(void)
{
	void	   *frames[64];
	int			n = backtrace(frames, 64);

	for (int i = 0; i < n; i++)
	{
		Dl_info		info;

		if (dladdr(frames[i], &info) != 0 && info.dli_sname != NULL &&
			strncmp(info.dli_sname, "pgstat_", 7) == 0)
			return 1;
	}
	return 0;
}

static int
fails(size_t size)
{
	if (fault == NULL || fault->countdown == 0 || size < LEAST)
		return 0;
	if (fault->pid != 0 ? fault->pid != getpid() : !is_worker())
		return 0;
	/* the last one is the next that may */
	if (fault->countdown == 1 && is_for_statistics())
		return 0;
	if (__sync_sub_and_fetch(&fault->countdown, 1) != 0)
		return 0;
	__sync_fetch_and_add(&fault->failed, 1);
	errno = ENOMEM;
	return 1;
}

void *
malloc(size_t size)
{
	if (next_malloc == NULL)
		find_next();
	if (next_malloc == NULL)
		return __libc_malloc(size);
	return fails(size) ? NULL : next_malloc(size);
}

void *
realloc(void *old, size_t size)
{
	if (next_realloc == NULL)
		find_next();
	if (next_realloc == NULL)
		return __libc_realloc(old, size);
	return fails(size) ? NULL : next_realloc(old, size);
}

void *
calloc(size_t n, size_t size)
{
	if (next_calloc == NULL)
		find_next();
	if (next_calloc == NULL)
		return __libc_calloc(n, size);
	return fails(n * size) ? NULL : next_calloc(n, size);
}
