/*
 * jsonb_push.h
 *		Members and elements of a jsonb that is being built.
 */
#ifndef PGBULK_JSONB_PUSH_H
#define PGBULK_JSONB_PUSH_H

#include "postgres.h"

#include "server/compat.h"
#include "utils/numeric.h"

/* A key; its value comes next. */
extern void jsonb_push_key(CompatJsonb *state, const char *key);

/* A member of an object. */
extern void jsonb_push_string(CompatJsonb *state, const char *key, const char *text);
extern void jsonb_push_numeric(CompatJsonb *state, const char *key, Numeric number);
extern void jsonb_push_int64(CompatJsonb *state, const char *key, int64 number);

/* An element of an array. */
extern void jsonb_push_element(CompatJsonb *state, const char *text);

#endif							/* PGBULK_JSONB_PUSH_H */
