/*
 * naming.c
 *		See naming.h.
 */
#include "postgres.h"

#include "inspect/naming.h"
#include "inspect/verify.h"
#include "mb/pg_wchar.h"
#include "scan/values.h"

/* Names that every table has already. */
static const char *const system_columns[] = {
	"tableoid", "cmax", "xmax", "cmin", "xmin", "ctid", NULL
};

static bool
is_taken(List *names, const char *name)
{
	ListCell   *lc;

	for (int i = 0; system_columns[i] != NULL; i++)
		if (strcmp(system_columns[i], name) == 0)
			return true;
	foreach(lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

static int
count_name(List *names, const char *name)
{
	ListCell   *lc;
	int			n = 0;

	foreach(lc, names)
		n += strcmp(lfirst(lc), name) == 0 ? 1 : 0;
	return n;
}

/* name and a number behind it, within the length of an identifier. */
static char *
number_name(const char *name, int number)
{
	char	   *suffix = psprintf("_%d", number);
	int			room = NAMEDATALEN - 1 - strlen(suffix);
	int			length = strlen(name);

	if (length > room)
		length = pg_mbcliplen(name, length, room);
	return psprintf("%.*s%s", length, name, suffix);
}

/* A name of the header as an identifier: one line of at most 63 bytes. */
static char *
clean_name(Encoding *encoding, const ColumnStats *stats)
{
	char	   *name = verify_text(encoding, stats->name, stats->name_length);
	int			length;

	for (char *c = name; *c != '\0'; c++)
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			*c = ' ';
	while (*name == ' ')
		name++;
	length = strlen(name);
	while (length > 0 && name[length - 1] == ' ')
		name[--length] = '\0';
	if (length >= NAMEDATALEN)
		name[pg_mbcliplen(name, length, NAMEDATALEN - 1)] = '\0';
	return name;
}

List *
naming_columns(const Columns *columns, Encoding *encoding, bool documents)
{
	List	   *names = NIL;
	List	   *bases = NIL;	/* before they got numbers */

	for (uint32 i = 0; i < columns->count; i++)
	{
		const ColumnStats *stats = &columns->columns[i];
		char	   *base;
		char	   *name;

		base = columns->has_header && stats->name_length > 0 ?
			clean_name(encoding, stats) : "";
		if (documents)
			base = pstrdup("document");
		else if (base[0] == '\0')
			base = columns->row_names && i == 0 ? pstrdup("row_name") :
				psprintf("column_%u", i + 1);
		name = base;
		for (int number = Max(count_name(bases, base) + 1, 2);
			 is_taken(names, name); number++)
			name = number_name(base, number);
		bases = lappend(bases, base);
		names = lappend(names, name);
	}
	return names;
}

List *
naming_keys(Objects *objects, Encoding *encoding)
{
	List	   *names = NIL;
	uint32		i = 0;

	while (i < objects->scan.nkeys)
	{
		const ScanJsonKey *key = &objects->keys[i];
		char	   *name = verify_text(encoding, key->name, key->length);
		bool		garbled = scan_is_ascii(name, strlen(name)) &&
			!scan_is_ascii(key->name, key->length);

		if (garbled || strlen(name) >= NAMEDATALEN || is_taken(names, name))
			objects_drop_key(objects, i);
		else
		{
			names = lappend(names, name);
			i++;
		}
	}
	return names;
}
