/*
 * extension.h
 *		Extensions of the current database.
 */
#ifndef PGBULK_EXTENSION_H
#define PGBULK_EXTENSION_H

#include "postgres.h"

typedef struct Extension
{
	Oid			oid;
	Oid			schema;
} Extension;

/*
 * Whether an extension is installed; then *extension is set.  What was found is
 * remembered until tables change: it must be an extension that has some, or
 * views or sequences, so that no CREATE, ALTER or DROP EXTENSION is missed.  name
 * is not copied; there are few different ones.
 */
extern bool extension_find(const char *name, Extension *extension);

/*
 * A table or function of the extension in that schema; InvalidOid if it has none of that
 * name and, for a function, with those arguments, even if others do.
 */
extern Oid	extension_table(const Extension *extension, Oid schema, const char *name);
extern Oid	extension_function(const Extension *extension, Oid schema, const char *name,
							   const Oid *arguments, int narguments);

#endif							/* PGBULK_EXTENSION_H */
