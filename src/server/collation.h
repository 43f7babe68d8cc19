/*
 * collation.h
 *		Texts as bytes that come in the order of a collation: strxfrm.
 *
 * Before 18 the server transforms none of the operating system's locales, not even
 * the database's own, so that this library opens those of columns itself.  Trap: such
 * libraries have had defects; whoever sorts by these bytes verifies the order.
 */
#ifndef PGBULK_COLLATION_H
#define PGBULK_COLLATION_H

#include "postgres.h"

typedef struct CollationTransform CollationTransform;

/* That of a collation, good until the session ends; NULL: texts cannot be transformed. */
extern const CollationTransform *collation_transform_of(Oid collation);

/*
 * Writes what becomes of a text, and a zero, to a place with room for so many bytes.
 * Returns its length: where that is no less than the room, the place has nothing of use.
 */
extern size_t collation_transform(const CollationTransform *transform, char *to,
								  const char *text, size_t room);

/*
 * Who provides a collation, as in pg_collation.collprovider, and its name there, or NULL.
 * Memory: the current context.
 */
extern char collation_provider(Oid collation, char **name);

#endif							/* PGBULK_COLLATION_H */
