/*
 * reject_columns.c
 *		See reject_columns.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "reject/reject_columns.h"
#include "table/statement.h"
#include "utils/builtins.h"

const RejectColumnDef reject_columns[REJECT_NCOLUMNS] = {
	[COLUMN_LOAD_ID] = {"load_id", INT8OID, InvalidOid, "int8", "bigint"},
	[COLUMN_TARGET] = {"target", TEXTOID, InvalidOid, "text", "text"},
	[COLUMN_LOADED_AT] = {"loaded_at", TIMESTAMPTZOID, InvalidOid, "timestamptz",
		"timestamp with time zone"},
	[COLUMN_FILE] = {"file", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_LINE_NUMBER] = {"line_number", INT8OID, INT8ARRAYOID, "int8", "bigint"},
	[COLUMN_BYTE_OFFSET] = {"byte_offset", INT8OID, INT8ARRAYOID, "int8", "bigint"},
	[COLUMN_REASON] = {"reason", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_COLUMN_NAME] = {"column_name", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_FIELD_VALUE] = {"field_value", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_SQLSTATE] = {"sqlstate", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_MESSAGE] = {"message", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_RAW_LINE] = {"raw_line", TEXTOID, TEXTARRAYOID, "text", "text"},
	[COLUMN_RAW_BYTES] = {"raw_bytes", BYTEAOID, BYTEAARRAYOID, "bytea", "bytea"}
};

static void
creation_context(void *arg)
{
	const RangeVar *name = arg;

	errcontext("creation of reject table \"%s\"", name->relname);
}

static void
create_table(RangeVar *name)
{
	StringInfoData sql;
	Oid			existing;

	/* reports problems with the schema without showing our statement */
	RangeVarGetAndCheckCreationNamespace(name, NoLock, &existing);
	if (OidIsValid(existing))
		return;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (",
					 quote_qualified_identifier(name->schemaname, name->relname));
	for (int i = 0; i < REJECT_NCOLUMNS; i++)
		appendStringInfo(&sql, "%s%s pg_catalog.%s", i == 0 ? "" : ", ",
						 quote_identifier(reject_columns[i].name),
						 reject_columns[i].internal_name);
	appendStringInfoChar(&sql, ')');

	statement_run(sql.data);
	pfree(sql.data);
}

void
reject_columns_create(RangeVar *name)
{
	ErrorContextCallback callback = {
		.callback = creation_context,
		.arg = name,
		.previous = error_context_stack
	};

	error_context_stack = &callback;
	create_table(name);
	error_context_stack = callback.previous;
}

/* What the i-th column actually is, if it is not as required; else NULL. */
static char *
difference(Form_pg_attribute att, int i)
{
	if (i >= REJECT_NCOLUMNS)
		return psprintf("There is a column \"%s\" after \"%s\", which should be the last one.",
						NameStr(att->attname), reject_columns[REJECT_NCOLUMNS - 1].name);
	if (strcmp(NameStr(att->attname), reject_columns[i].name) == 0 &&
		att->atttypid == reject_columns[i].type && att->atttypmod == -1)
		return NULL;
	return psprintf("Column %d is \"%s\" of type %s, and should be \"%s\" of type %s.",
					i + 1, NameStr(att->attname),
					format_type_with_typemod(att->atttypid, att->atttypmod),
					reject_columns[i].name, reject_columns[i].type_name);
}

void
reject_columns_find(Relation rel, AttrNumber *attnums)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *found = NULL;
	int			n = 0;

	for (int i = 0; i < desc->natts && found == NULL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		found = difference(att, n);
		if (found == NULL)
			attnums[n++] = att->attnum;
	}
	if (found == NULL && n < REJECT_NCOLUMNS)
		found = psprintf("Column %d, \"%s\" of type %s, is missing.",
						 n + 1, reject_columns[n].name, reject_columns[n].type_name);
	if (found != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("table \"%s\" does not have the columns of a reject table",
						RelationGetRelationName(rel)),
				 errdetail_internal("%s", found),
				 errhint("A reject table is created by the first load that names it in option \"reject_table\".")));
}

char *
reject_columns_list(void)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < REJECT_NCOLUMNS; i++)
		appendStringInfo(&sql, "%s%s", i == 0 ? "" : ", ",
						 quote_identifier(reject_columns[i].name));
	return sql.data;
}
