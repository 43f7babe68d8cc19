/*
 * setting.h
 *		A setting of the server's for a piece of work.
 */
#ifndef PGBULK_SETTING_H
#define PGBULK_SETTING_H

#include "postgres.h"

#include "utils/guc.h"

/*
 * Sets it from here to the AtEOXact_GUC of the level that NewGUCNestLevel has given, also in
 * parallel mode; context: whose right to set it is needed.
 */
static inline void
setting_set(const char *name, const char *value, GucContext context)
{
	(void) set_config_option(name, value, context, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

#endif							/* PGBULK_SETTING_H */
