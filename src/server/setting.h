/*
 * setting.h
 *		Changes a setting of the server temporarily.
 */
#ifndef PGBULK_SETTING_H
#define PGBULK_SETTING_H

#include "postgres.h"

#include "utils/guc.h"

/*
 * Sets it until the AtEOXact_GUC of the level that NewGUCNestLevel returned,
 * also in parallel mode.  context: whose privileges are needed to set it.
 */
static inline void
setting_set(const char *name, const char *value, GucContext context)
{
	(void) set_config_option(name, value, context, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

#endif							/* PGBULK_SETTING_H */
