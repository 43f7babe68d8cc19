/*
 * foreign_option.c
 *		See foreign_option.h.
 */
#include "postgres.h"

#include "server/foreign_option.h"

DefElem *
foreign_find_option(List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
		if (strcmp(((DefElem *) lfirst(lc))->defname, name) == 0)
			return lfirst(lc);
	return NULL;
}
