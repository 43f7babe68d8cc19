/*
 * near.c
 *		See near.h.
 *
 * The server has such a search since version 16.
 */
#include "postgres.h"

#include "option/near.h"
#include "utils/varlena.h"

/* ASCII only, so that the result does not depend on the locale. */
static char *
to_lower(const char *name)
{
	char	   *lower = pstrdup(name);

	for (char *c = lower; *c != '\0'; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	return lower;
}

const char *
near_find(const char *const *names, const char *given)
{
	char	   *lower = to_lower(given);
	int			len = strlen(lower);
	int			best = Min(4, len / 2 + 1);
	const char *found = NULL;

	if (len >= NAMEDATALEN)
		return NULL;
	for (int i = 0; names[i] != NULL; i++)
	{
		char	   *name = to_lower(names[i]);
		int			distance;

		/* an abbreviation counts as one wrong letter */
		if (len >= 3 && strncmp(name, lower, len) == 0)
			distance = name[len] != '\0';
		else
			distance = varstr_levenshtein_less_equal(lower, len, name, strlen(name),
													 1, 1, 1, best, true);
		if (distance < best)
		{
			best = distance;
			found = names[i];
		}
		pfree(name);
	}
	pfree(lower);
	return found;
}
