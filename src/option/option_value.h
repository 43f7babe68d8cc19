/*
 * option_value.h
 *		Reads the JSON values of options, and raises errors about them.
 *
 * Errors: 22023, naming the option.
 */
#ifndef PGBULK_OPTION_VALUE_H
#define PGBULK_OPTION_VALUE_H

#include "postgres.h"

#include "option/bulk_options.h"
#include "utils/jsonb.h"

typedef struct OptionDef OptionDef;

/*
 * What else than a string an option may be.  COPY statements have no JSON: there, words,
 * digits and texts are read as such values where the option takes them.
 */
#define OPTION_BOOLEAN	0x1
#define OPTION_NUMBER	0x2
#define OPTION_JSON		0x4		/* arrays or objects */

struct OptionDef
{
	const char *name;
	int			formats;
	void		(*set) (const OptionDef *def, JsonbValue *value,
						BulkOptions *options);
	size_t		offset;			/* of the field in BulkOptions */
	const char *expects;		/* "must be ..."; NULL: one of the choices */
	const char *const *choices; /* valid words, NULL-terminated */
	int			kinds;			/* OPTION_... */
	const char *copy_expects;	/* expects, of a COPY statement, if that differs */
	bool		by_copy;		/* it is an option of such a statement */
};

/* Raises the error for a value of the wrong type or out of range. */
extern void option_refuse_value(const OptionDef *def, JsonbValue *value);

/* Raises the error for an unknown option. */
extern void option_refuse_key(const char *const *names, char *key);

/*
 * Refuses a character given by its name or escape sequence: the bytes
 * themselves cannot be meant.
 */
extern void option_refuse_written_out(const OptionDef *def, JsonbValue *value, const char *text);

extern char *option_get_string(const OptionDef *def, JsonbValue *value);

/* Whether value is a whole number from 0 to max. */
extern bool option_read_count(JsonbValue *value, int64 max, int64 *count);

/*
 * Whether value is an amount of a file: a number of rows, or bytes as a string with a unit such as
 * "100MB".  The other one is set to 0.
 */
extern bool option_read_amount(JsonbValue *value, int64 *bytes, int64 *rows);

/* Whether value is text such as "2.5%", of at most 100 %. */
extern bool option_read_percent(JsonbValue *value, double *percent);

/* Index of a word among the choices; case does not matter, as in COPY. */
extern int option_find_choice(const OptionDef *def, JsonbValue *value);

extern int option_get_choice(const OptionDef *def, JsonbValue *value);

/* Strings of an array; null elements, if allowed, become NULL pointers. */
extern List *option_get_strings(const OptionDef *def, JsonbValue *value, bool allow_null);

#endif							/* PGBULK_OPTION_VALUE_H */
