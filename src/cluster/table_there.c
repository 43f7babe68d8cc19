/*
 * table_there.c
 *		See table_there.h.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "cluster/begin.h"
#include "cluster/table_there.h"
#include "utils/builtins.h"

/*
 * What a COPY into the table there has to know: its columns and their types, its
 * kind, and whether it has rules for INSERT and triggers that see each row first.
 */
static const char describe_sql[] =
	"SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), c.relkind,"
	" EXISTS (SELECT FROM pg_catalog.pg_rewrite r"
	" WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid AND r.ev_type OPERATOR(pg_catalog.=) '3'),"
	" EXISTS (SELECT FROM pg_catalog.pg_trigger t"
	" WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND (t.tgtype"
	" OPERATOR(pg_catalog.&) 7::pg_catalog.int2) OPERATOR(pg_catalog.=) 7::pg_catalog.int2)"
	" FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
	" JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid"
	" WHERE n.nspname OPERATOR(pg_catalog.=) %s AND c.relname OPERATOR(pg_catalog.=) %s"
	" AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped";

static PGresult *
describe(RemoteNode *node, const Shard *shard)
{
	return node_query_rows(node, psprintf(describe_sql, quote_literal_cstr(shard->schema),
										  quote_literal_cstr(shard->name)), 5);
}

static int
find_row(const PGresult *rows, const char *name)
{
	for (int i = 0; i < PQntuples(rows); i++)
		if (strcmp(PQgetvalue(rows, i, 0), name) == 0)
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
		if (row < 0 || strcmp(PQgetvalue(rows, row, 1),
							  format_type_with_typemod(att->atttypid, att->atttypmod)) != 0)
			return "A column has another type there.";
	}
	return NULL;
}

/* Amounts mean what the setting says. */
static bool
has_money(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;

		if (!TupleDescAttr(desc, i)->attisdropped && (type == MONEYOID || type == MONEYARRAYOID))
			return true;
	}
	return false;
}

bool
table_there_learn(RemoteNode *node, const Shard *shard, TupleDesc desc, const char **unlike)
{
	PGresult   *rows;
	bool		exists;
	bool		has_rules;
	bool		filters;

	if (has_money(desc))
		begin_pass_setting(node, "lc_monetary");
	rows = describe(node, shard);
	exists = PQntuples(rows) > 0;
	has_rules = exists && PQgetvalue(rows, 0, 3)[0] == 't';
	filters = exists && (PQgetvalue(rows, 0, 2)[0] != RELKIND_RELATION ||
						 PQgetvalue(rows, 0, 4)[0] == 't');
	*unlike = compare_types(desc, shard, rows);
	PQclear(rows);
	if (has_rules)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" of server \"%s\" has rules, which COPY ignores",
						shard->name, node->name),
				 errhint("Use INSERT, or triggers in place of the rules.")));
	return filters;
}

char *
table_there_name(const Shard *shard)
{
	return psprintf("%s.%s", node_identifier(shard->schema), node_identifier(shard->name));
}
