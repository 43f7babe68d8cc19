/*
 * merge_options.h
 *		Option on_duplicate: a word, or an object that says how rows with one key are merged.
 *
 *		{"set": "all", "where": "new.changed > old.changed", "key": ["id"]}
 *		{"set": {"hits": "old.hits + new.hits"}, "delete": "new.op = 'D'"}
 */
#ifndef PGBULK_MERGE_OPTIONS_H
#define PGBULK_MERGE_OPTIONS_H

#include "postgres.h"

#include "option/option_value.h"

/* Words for BulkOnDuplicate, for the table of options. */
extern const char *const merge_options_words[];

/* Errors: 22023, naming the option. */
extern void merge_options_set(const OptionDef *def, JsonbValue *value, BulkOptions *options);

#endif							/* PGBULK_MERGE_OPTIONS_H */
