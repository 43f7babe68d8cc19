/*
 * path_glob.c
 *		See path_glob.h.
 */
#include "postgres.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "stream/path_glob.h"

/* What glob(3) could not look at, and why: it has no argument for its callbacks. */
static char unseen[MAXPGPATH];
static int	unseen_errno;

/* Takes the first one.  What is not there, or is no folder, does not match. */
static int
note_unseen(const char *path, int error)
{
	if (unseen_errno == 0 && error != ENOENT && error != ENOTDIR)
	{
		strlcpy(unseen, path, sizeof(unseen));
		unseen_errno = error;
	}
	return 0;
}

#ifdef GLOB_ALTDIRFUNC

/* Looks at a name that follows a pattern, as in "*" "/name"; glob tells of folders only. */
static int
look_at(const char *path, struct stat *st, int (*look) (const char *path, struct stat *st))
{
	int			rc = look(path, st);

	if (rc != 0)
		(void) note_unseen(path, errno);
	return rc;
}

static int
look_at_target(const char *path, struct stat *st)
{
	return look_at(path, st, stat);
}

static int
look_at_link(const char *path, struct stat *st)
{
	return look_at(path, st, lstat);
}

static void *
open_folder(const char *path)
{
	return opendir(path);
}

static struct dirent *
read_folder(void *folder)
{
	return readdir(folder);
}

static void
close_folder(void *folder)
{
	(void) closedir(folder);
}

#endif

bool
path_is_pattern(const char *path)
{
	return strpbrk(path, "*?[") != NULL && access(path, F_OK) != 0;
}

List *
path_glob(const char *pattern)
{
	List	   *volatile paths = NIL;
	glob_t		found = {0};
	int			flags = 0;
	int			rc;

#ifdef GLOB_ALTDIRFUNC
	flags = GLOB_ALTDIRFUNC;
	found.gl_opendir = open_folder;
	found.gl_readdir = read_folder;
	found.gl_closedir = close_folder;
	found.gl_stat = look_at_target;
	found.gl_lstat = look_at_link;
#endif
	unseen_errno = 0;
	rc = glob(pattern, flags, note_unseen, &found);
	if (rc == GLOB_NOSPACE)
	{
		globfree(&found);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}

	/* free what glob has allocated even if a palloc fails */
	PG_TRY();
	{
		for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
			paths = lappend(paths, pstrdup(found.gl_pathv[i]));
	}
	PG_FINALLY();
	{
		globfree(&found);
	}
	PG_END_TRY();

	if (unseen_errno != 0)
	{
		errno = unseen_errno;
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not look for files at \"%s\": %m",
						pg_verifymbstr(unseen, strlen(unseen), true) ? unseen : pattern),
				 errdetail("There may be files there that match \"%s\"; they are left out.", pattern)));
	}
	return paths;
}
