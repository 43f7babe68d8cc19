/*
 * disk.c
 *		A disk that fails, and one that forgets what was not synced when the power goes.
 *
 * Preloaded into a server (LD_PRELOAD), it stands between the server and the system's calls for
 * files below the folder that DISK_ROOT names.
 *
 * Forgetting: before each write it appends to the file that DISK_JOURNAL names what the file had
 * in that place, and after each sync that there was one.  Once all processes are gone, power_loss.pl
 * takes back what was written after its file's last sync.  Names of files (open, rename, unlink,
 * truncate) are not forgotten: that a file system's own journal keeps them is what the server
 * relies on, too, once it has synced the folder.
 *
 * Failing: DISK_FAULT names a file of struct Fault that all processes map, which says what is to
 * fail, when and how.
 *
 * Both: the power goes right before a chosen sync.  From then on nobody writes any more to files that
 * are noted: processes wait until they are killed.
 *
 * Temporary files are not noted: nobody reads them after a crash.  For systems of 64 bits, where
 * these calls have one name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What the journal has of each call, before the bytes that were there. */
typedef struct Entry
{
	uint64_t	is_sync;
	uint64_t	inode;
	uint64_t	offset;
	uint64_t	length;			/* of the write */
	uint64_t	kept;			/* bytes that were there, and follow */
	uint64_t	size;			/* of the file, before */
} Entry;

enum
{
	WRITE,						/* and what extends files */
	READ,
	SYNC
};

/* What is to fail: all are 64 bits, as PgBulk::Disk packs them. */
typedef struct Fault
{
	int64_t		countdown;		/* which call from now on, from 1; 0: none */
	int64_t		kind;			/* of call, as above */
	int64_t		error;			/* errno; of a sync also 0: the power goes */
	int64_t		failed;			/* how many have */
	char		path[256];		/* of files in whose paths that is */
} Fault;

#define REAL(result, name, ...) \
	static result (*real_##name) (__VA_ARGS__); \
	if (real_##name == NULL) \
		*(void **) &real_##name = dlsym(RTLD_NEXT, #name)

/* ---- which files ---- */

static bool
path_of(int fd, char *path)
{
	char		link[64];
	ssize_t		n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX);
	if (n < 0 || n == PATH_MAX)
		return false;
	path[n] = '\0';
	return true;
}

static bool
is_ours(const char *path)
{
	const char *root = getenv("DISK_ROOT");

	return root != NULL && strncmp(path, root, strlen(root)) == 0;
}

/* ---- failing ---- */

static Fault *
fault(void)
{
	static Fault *mapped;
	const char *name = getenv("DISK_FAULT");

	if (mapped == NULL && name != NULL)
	{
		int			fd = open(name, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			abort();
		mapped = mmap(NULL, sizeof(Fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mapped == MAP_FAILED)
			abort();
		close(fd);
	}
	return mapped;
}

/* Whether this call is to fail, which sets errno. */
static bool
fails(int fd, int64_t kind)
{
	Fault	   *f = fault();
	char		path[PATH_MAX];

	if (f == NULL || f->countdown == 0 || f->kind != kind || !path_of(fd, path) ||
		strstr(path, f->path) == NULL || __sync_sub_and_fetch(&f->countdown, 1) != 0)
		return false;
	__sync_fetch_and_add(&f->failed, 1);
	errno = (int) f->error;
	return true;
}

/* ---- forgetting ---- */

static bool
power_is_off(void)
{
	Fault	   *f = fault();

	return f != NULL && f->kind == SYNC && f->error == 0 && f->failed != 0;
}

/* The journal, locked for this process; -1: the file is not ours. */
static int
lock_journal(int fd)
{
	static int	journal = -1;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char		path[PATH_MAX];

	if (getenv("DISK_JOURNAL") == NULL || !path_of(fd, path) || !is_ours(path) ||
		strstr(path, "/pgsql_tmp") != NULL)
		return -1;
	if (journal < 0)
		journal = open(getenv("DISK_JOURNAL"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (journal < 0)
		abort();
	while (fcntl(journal, F_SETLKW, &lock) != 0)
		if (errno != EINTR)
			abort();
	while (power_is_off())
		pause();
	return journal;
}

static void
unlock_journal(int journal)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	int			save = errno;

	if (journal >= 0)
		fcntl(journal, F_SETLK, &lock);
	errno = save;
}

static void
append(int journal, const Entry *entry, const void *bytes)
{
	struct iovec parts[] = {{(void *) entry, sizeof(Entry)}, {(void *) bytes, entry->kept}};
	REAL(ssize_t, writev, int, const struct iovec *, int);

	if (real_writev(journal, parts, 2) != (ssize_t) (sizeof(Entry) + entry->kept))
		abort();
}

/* Before a write: locks the journal, which unlock_journal is to do after it. */
static int
note_write(int fd, off_t offset, size_t length)
{
	int			save = errno;
	int			journal = lock_journal(fd);
	struct stat st;

	if (journal >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
	{
		Entry		entry = {.inode = st.st_ino, .offset = offset, .length = length, .size = st.st_size};
		char	   *old = malloc(length + 1);
		char		path[PATH_MAX];
		int			reader;

		/* the server may have opened the file for writing only */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		reader = open(path, O_RDONLY | O_CLOEXEC);
		if (old == NULL || reader < 0)
			abort();
		while (entry.kept < length)
		{
			REAL(ssize_t, pread, int, void *, size_t, off_t);
			ssize_t		n = real_pread(reader, old + entry.kept, length - entry.kept, offset + entry.kept);

			if (n < 0)
				abort();
			if (n == 0)
				break;
			entry.kept += n;
		}
		close(reader);
		append(journal, &entry, old);
		free(old);
	}
	errno = save;
	return journal;
}

/*
 * A sync: what follows it in the journal was written after it.  One that is noted need not be done,
 * as the machine stays on.
 */
static int
synced(int fd, int (*sync) (int))
{
	int			journal = lock_journal(fd);
	int			result;
	struct stat st;

	if (fails(fd, SYNC))
	{
		while (power_is_off())
			pause();
		unlock_journal(journal);
		return -1;
	}
	result = journal >= 0 ? 0 : sync(fd);
	if (journal >= 0 && result == 0 && fstat(fd, &st) == 0)
	{
		Entry		entry = {.is_sync = 1, .inode = st.st_ino};

		append(journal, &entry, NULL);
	}
	unlock_journal(journal);
	return result;
}

static size_t
total(const struct iovec *parts, int n)
{
	size_t		length = 0;

	for (int i = 0; i < n; i++)
		length += parts[i].iov_len;
	return length;
}

/* ---- the calls ---- */

#define WRITES(fd, offset, length, call) \
	if (fails(fd, WRITE)) \
		return -1; \
	{ \
		int			journal = note_write(fd, offset, length); \
		ssize_t		result = call; \
		unlock_journal(journal); \
		return result; \
	}

#define EXPORT __attribute__((visibility("default")))

EXPORT ssize_t
write(int fd, const void *bytes, size_t length)
{
	REAL(ssize_t, write, int, const void *, size_t);
	off_t		offset = lseek(fd, 0, SEEK_CUR);

	if (offset < 0)
		return real_write(fd, bytes, length);	/* a pipe or socket */
	WRITES(fd, offset, length, real_write(fd, bytes, length));
}

EXPORT ssize_t
pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
	WRITES(fd, offset, length, real_pwrite(fd, bytes, length, offset));
}

EXPORT ssize_t
pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
	REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t);
	WRITES(fd, offset, total(parts, n), real_pwritev(fd, parts, n, offset));
}

/* Zeros behind the file's end.  It returns its error. */
EXPORT int
posix_fallocate(int fd, off_t offset, off_t length)
{
	REAL(int, posix_fallocate, int, off_t, off_t);
	int			journal;
	int			result;

	if (fails(fd, WRITE))
		return errno;
	journal = note_write(fd, offset, 0);
	result = real_posix_fallocate(fd, offset, length);
	unlock_journal(journal);
	return result;
}

EXPORT ssize_t
pread(int fd, void *bytes, size_t length, off_t offset)
{
	REAL(ssize_t, pread, int, void *, size_t, off_t);

	return fails(fd, READ) ? -1 : real_pread(fd, bytes, length, offset);
}

EXPORT ssize_t
preadv(int fd, const struct iovec *parts, int n, off_t offset)
{
	REAL(ssize_t, preadv, int, const struct iovec *, int, off_t);

	return fails(fd, READ) ? -1 : real_preadv(fd, parts, n, offset);
}

EXPORT ssize_t
read(int fd, void *bytes, size_t length)
{
	REAL(ssize_t, read, int, void *, size_t);

	return fails(fd, READ) ? -1 : real_read(fd, bytes, length);
}

EXPORT int
fsync(int fd)
{
	REAL(int, fsync, int);

	return synced(fd, real_fsync);
}

EXPORT int
fdatasync(int fd)
{
	REAL(int, fdatasync, int);

	return synced(fd, real_fdatasync);
}
