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

/* Whether an extension is installed; then *extension is set. */
extern bool extension_find(const char *name, Extension *extension);

#endif							/* PGBULK_EXTENSION_H */
