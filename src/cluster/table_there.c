/*
 * table_there.c
 *		See table_there.h.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "cluster/begin.h"
#include "cluster/table_there.h"
#include "row/type_parts.h"
#include "utils/builtins.h"

/*
 * What a COPY into the table there has to know: its columns and their types, its
 * kind, whether it has rules for INSERT and triggers that see each row first; and whether
 * others have a part in its rows, by triggers, as of foreign keys in both directions, by
 * inheritance, or by a CHECK or default whose function may do anything.
 */
static const char describe_sql[] =
	"SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), c.relkind,"
	" EXISTS (SELECT FROM pg_catalog.pg_rewrite r"
	" WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid AND r.ev_type OPERATOR(pg_catalog.=) '3'),"
	" EXISTS (SELECT FROM pg_catalog.pg_trigger t"
	" WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND (t.tgtype"
	" OPERATOR(pg_catalog.&) 7::pg_catalog.int2) OPERATOR(pg_catalog.=) 7::pg_catalog.int2),"
	" c.oid,"
	" EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid)"
	" OR EXISTS (SELECT FROM pg_catalog.pg_inherits i"
	" WHERE i.inhrelid OPERATOR(pg_catalog.=) c.oid OR i.inhparent OPERATOR(pg_catalog.=) c.oid)"
	" OR EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_depend d"
	" ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass"
	" AND d.objid OPERATOR(pg_catalog.=) k.oid"
	" AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
	" WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid"
	" AND k.contype OPERATOR(pg_catalog.=) 'c'::pg_catalog.\"char\"),"
	" a.atthasdef AND a.attgenerated OPERATOR(pg_catalog.=) ''"
	" FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
	" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid"
	" WHERE n.nspname OPERATOR(pg_catalog.=) %s AND c.relname OPERATOR(pg_catalog.=) %s"
	" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";

/* Its columns. */
enum
{
	COLUMN_NAME,
	COLUMN_TYPE,
	COLUMN_KIND,
	COLUMN_RULES,
	COLUMN_FILTERS,
	COLUMN_OID,
	COLUMN_OTHERS,
	COLUMN_DEFAULT,
	COLUMNS
};

static PGresult *
describe(RemoteNode *node, const Shard *shard)
{
	return node_query_rows(node, psprintf(describe_sql, quote_literal_cstr(shard->schema),
										  quote_literal_cstr(shard->name)), COLUMNS);
}

static bool
is_true(const PGresult *rows, int row, int column)
{
	return PQgetvalue(rows, row, column)[0] == 't';
}

static int
find_row(const PGresult *rows, const char *name)
{
	for (int i = 0; i < PQntuples(rows); i++)
		if (strcmp(PQgetvalue(rows, i, COLUMN_NAME), name) == 0)
			return i;
	return -1;
}

/* Whether all columns are of the same types there, so that their texts mean the same. */
static const char *
compare_types(TupleDesc desc, const Shard *shard, const PGresult *rows)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			row;

		if (shard->columns[i] == NULL)
			continue;
		row = find_row(rows, shard->columns[i]);
		if (row < 0 || strcmp(PQgetvalue(rows, row, COLUMN_TYPE),
							  format_type_with_typemod(att->atttypid, att->atttypmod)) != 0)
			return "A column has another type there.";
	}
	return NULL;
}

static bool
is_money(Oid type, void *arg)
{
	return type == MONEYOID;
}

/* Amounts mean what the setting says. */
static bool
has_money(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && type_any_part(att->atttypid, is_money, NULL))
			return true;
	}
	return false;
}

static bool
is_sent(const Shard *shard, int ncolumns, const char *name)
{
	for (int i = 0; i < ncolumns; i++)
		if (shard->columns[i] != NULL && strcmp(shard->columns[i], name) == 0)
			return true;
	return false;
}

/* Whether the table evaluates a default for each row. */
static bool
has_own_default(const Shard *shard, int ncolumns, const PGresult *rows)
{
	for (int i = 0; i < PQntuples(rows); i++)
		if (is_true(rows, i, COLUMN_DEFAULT) &&
			!is_sent(shard, ncolumns, PQgetvalue(rows, i, COLUMN_NAME)))
			return true;
	return false;
}

void
table_there_learn(RemoteNode *node, const Shard *shard, TupleDesc desc, TableThere *there)
{
	PGresult   *rows;
	bool		has_rules = false;

	memset(there, 0, sizeof(*there));
	rows = describe(node, shard);
	if (PQntuples(rows) > 0)
	{
		bool		is_plain = PQgetvalue(rows, 0, COLUMN_KIND)[0] == RELKIND_RELATION;

		has_rules = is_true(rows, 0, COLUMN_RULES);
		there->oid = atooid(PQgetvalue(rows, 0, COLUMN_OID));
		there->filters = !is_plain || is_true(rows, 0, COLUMN_FILTERS);
		there->is_apart = is_plain && !is_true(rows, 0, COLUMN_OTHERS) &&
			!has_own_default(shard, desc->natts, rows);
	}
	there->unlike = compare_types(desc, shard, rows);
	PQclear(rows);
	if (has_rules)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" of server \"%s\" has rules, which COPY ignores",
						shard->name, node->name),
				 errhint("Use INSERT, or triggers in place of the rules.")));
}

void
table_there_pass_settings(RemoteNode *node, TupleDesc desc)
{
	if (has_money(desc))
		begin_pass_setting(node, "lc_monetary");
}

char *
table_there_name(const Shard *shard)
{
	return psprintf("%s.%s", node_identifier(shard->schema), node_identifier(shard->name));
}
