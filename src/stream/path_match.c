/*
 * path_match.c
 *		See path_match.h.
 *
 * The rules are those of glob(3): a * and a ? match no slash, a set of
 * characters in brackets is one character, what follows a backslash stands for
 * itself.
 */
#include "postgres.h"

#include <fnmatch.h>

#include "miscadmin.h"
#include "stream/path_match.h"

/* The end of a set of characters, behind its bracket; NULL: it is none. */
static const char *
skip_set(const char *pattern)
{
	const char *p = pattern + 1;

	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p != '\0' && *p != ']'; p++)
	{
		/* [:alpha:] and the like */
		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
		{
			const char	end[3] = {p[1], ']', '\0'};
			const char *close = strstr(p + 2, end);

			if (close == NULL)
				return NULL;
			p = close + 1;
		}
		else if (*p == '\\' && p[1] != '\0')
			p++;
	}
	return *p == ']' ? p + 1 : NULL;
}

/*
 * How many bytes of a path a pattern has matched by one character: those that
 * fnmatch takes for one, in the locale's encoding, which need not be that of the
 * database; a byte where it takes the path for bytes, as it is not valid.
 */
static int
matched_character(const char *rest, const char *path)
{
	int			n = mblen(path, MB_CUR_MAX);

	return n > 1 && fnmatch(rest, path + n, FNM_PATHNAME) == 0 ? n : 1;
}

char *
path_wildcard(const char *pattern, const char *path, int number)
{
	if (fnmatch(pattern, path, FNM_PATHNAME) != 0)
		return NULL;
	while (*pattern != '\0')
	{
		const char *after;

		if (*pattern == '*')
		{
			const char *end = path;

			/* there is an end, as the pattern has matched */
			for (pattern++; fnmatch(pattern, end, FNM_PATHNAME) != 0 && *end != '\0'; end++)
				CHECK_FOR_INTERRUPTS();
			if (--number == 0)
				return pnstrdup(path, end - path);
			path = end;
			continue;
		}
		after = *pattern == '?' ? pattern + 1 : *pattern == '[' ? skip_set(pattern) : NULL;
		if (after == NULL && *pattern == '\\' && pattern[1] != '\0')
			pattern++;
		path += after == NULL ? 1 : matched_character(after, path);
		pattern = after == NULL ? pattern + 1 : after;
	}
	return NULL;
}

char *
path_folder(const char *path, const char *name)
{
	Size		length = strlen(name);
	char	   *value = NULL;
	const char *next;

	for (; (next = strchr(path, '/')) != NULL; path = next + 1)
		if (next - path > length && strncmp(path, name, length) == 0 && path[length] == '=')
			value = pnstrdup(path + length + 1, next - path - length - 1);
	return value;
}
