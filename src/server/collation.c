/*
 * collation.c
 *		See collation.h.
 */
#include "postgres.h"

#include <locale.h>
#ifdef LOCALE_T_IN_XLOCALE
#include <xlocale.h>
#endif

#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "server/collation.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

struct CollationTransform
{
	Oid			collation;		/* key of the table below */
	bool		transforms;
	struct pg_locale_struct *locale;	/* the server's; NULL: the database's own, of libc */
	locale_t	own;			/* the same where the server does not transform it, or 0 */
};

/* Kept as the server keeps its locales. */
static HTAB *transforms = NULL;

char
collation_provider(Oid collation, char **name)
{
	bool		is_default = collation == DEFAULT_COLLATION_OID;
	int			cache = is_default ? DATABASEOID : COLLOID;
	HeapTuple	tuple = SearchSysCache1(cache, ObjectIdGetDatum(is_default ? MyDatabaseId :
																collation));
	char		provider;
	bool		isnull;
	Datum		locale;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider = is_default ? ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider :
		((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	locale = SysCacheGetAttr(cache, tuple, is_default ? Anum_pg_database_datcollate :
							 Anum_pg_collation_collcollate, &isnull);
	*name = isnull ? NULL : TextDatumGetCString(locale);
	ReleaseSysCache(tuple);
	return provider;
}

/* A locale of the operating system that a column has; 0: none, or it cannot be opened. */
static locale_t
open_own(Oid collation)
{
	char	   *name;
	locale_t	own = (locale_t) 0;

	if (collation_provider(collation, &name) == COLLPROVIDER_LIBC && name != NULL)
		own = newlocale(LC_COLLATE_MASK | LC_CTYPE_MASK, name, (locale_t) 0);
	if (name != NULL)
		pfree(name);
	return own;
}

const CollationTransform *
collation_transform_of(Oid collation)
{
	CollationTransform *result;

	if (transforms == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(CollationTransform),
			.hcxt = TopMemoryContext
		};

		transforms = hash_create("bulk_load collations", 16, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	result = hash_search(transforms, &collation, HASH_FIND, NULL);
	if (result == NULL)
	{
		CollationTransform made = {.collation = collation};

		/* what throws leaves no entry */
		made.locale = pg_newlocale_from_collation(collation);
		made.transforms = compat_can_transform(made.locale);
		if (!made.transforms)
		{
			made.own = open_own(collation);
			made.transforms = made.own != (locale_t) 0;
		}
		result = hash_search(transforms, &collation, HASH_ENTER, NULL);
		*result = made;
	}
	return result->transforms ? result : NULL;
}

size_t
collation_transform(const CollationTransform *transform, char *to, const char *text, size_t room)
{
	if (transform->own != (locale_t) 0)
		return strxfrm_l(to, text, room, transform->own);
	return compat_transform(to, text, room, transform->locale);
}
