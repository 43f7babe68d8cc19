/*
 * connection.c
 *		See connection.h.
 *
 * What is required of options and passwords of foreign servers follows option.c and
 * connection.c of postgres_fdw (PostgreSQL 18); which of Citus's settings and catalogs tell
 * of a node, its documentation of citus.node_conninfo, pg_dist_authinfo and pg_dist_poolinfo.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_proc.h"
#include "cluster/connection.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "server/foreign_option.h"
#include "table/citus_catalog.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

bool
connection_serves(Oid serverid)
{
	Oid			extension = get_extension_oid("postgres_fdw", true);
	ForeignDataWrapper *wrapper;

	if (!OidIsValid(extension))
		return false;
	wrapper = GetForeignDataWrapper(GetForeignServer(serverid)->fdwid);
	return OidIsValid(wrapper->fdwhandler) &&
		getExtensionOfObject(ProcedureRelationId, wrapper->fdwhandler) == extension;
}

/* ---- options ---- */

/* Later ones count, as for libpq. */
static void
add_option(ConnectionOptions *options, const char *keyword, const char *value)
{
	if (options->n + 1 >= options->capacity)
	{
		options->capacity = Max(2 * options->capacity, 16);
		options->keywords = options->keywords == NULL ?
			palloc(sizeof(char *) * options->capacity) :
			repalloc(options->keywords, sizeof(char *) * options->capacity);
		options->values = options->values == NULL ?
			palloc(sizeof(char *) * options->capacity) :
			repalloc(options->values, sizeof(char *) * options->capacity);
	}
	options->keywords[options->n] = keyword;
	options->values[options->n++] = value;
	options->keywords[options->n] = options->values[options->n] = NULL;
}

/* The value of the last one of that name; NULL: none. */
static const char *
find_option(const ConnectionOptions *options, const char *keyword)
{
	for (int i = options->n - 1; i >= 0; i--)
		if (strcmp(options->keywords[i], keyword) == 0)
			return options->values[i];
	return NULL;
}

static void
raise_no_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory"),
			 errdetail("Could not get libpq's connection options.")));
}

/* ---- foreign servers ---- */

/* Whether an option of a server or a mapping is one of libpq that postgres_fdw passes on. */
static bool
is_for_libpq(const PQconninfoOption *known, const char *name)
{
	for (; known->keyword != NULL; known++)
		if (strcmp(known->keyword, name) == 0)
			return strchr(known->dispchar, 'D') == NULL &&
				strcmp(name, "fallback_application_name") != 0 &&
				strcmp(name, "client_encoding") != 0;
	return false;
}

static void
refuse_passthrough(List *definitions, const char *server)
{
	DefElem    *option = foreign_find_option(definitions, "use_scram_passthrough");

	if (option != NULL && defGetBoolean(option))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"use_scram_passthrough\" of server \"%s\" is not supported", server),
				 errhint("Give the user mapping a password.")));
}

/* Else a user could be anyone that the server's own account may be: see postgres_fdw. */
static void
refuse_no_password(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
			 errmsg("password is required"),
			 errdetail("%s", detail),
			 errhint("Give the user mapping a password, and have the other server ask for it.")));
}

static bool
requires_password(const UserMapping *mapping)
{
	DefElem    *option = foreign_find_option(mapping->options, "password_required");

	if (superuser_arg(mapping->userid))
		return false;
	return option == NULL || defGetBoolean(option);
}

/* Adds those of a server or a mapping. */
static void
add_foreign_options(ConnectionOptions *options, List *definitions)
{
	PQconninfoOption *known = PQconndefaults();
	ListCell   *lc;

	if (known == NULL)
		raise_no_memory();
	foreach(lc, definitions)
	{
		DefElem    *option = lfirst(lc);

		if (is_for_libpq(known, option->defname))
			add_option(options, option->defname, defGetString(option));
	}
	PQconninfoFree(known);
	refuse_passthrough(definitions, options->name);
}

static void
describe_server(ConnectionOptions *options, Oid serverid, Oid userid)
{
	ForeignServer *server = GetForeignServer(serverid);
	UserMapping *mapping = GetUserMapping(userid, serverid);
	const char *value;

	options->name = server->servername;
	add_foreign_options(options, server->options);
	add_foreign_options(options, mapping->options);
	add_option(options, "fallback_application_name", "pgbulk");
	value = find_option(options, "connect_timeout");
	if (value != NULL)
		options->milliseconds = Min(Max(atoi(value), 0), PG_INT32_MAX / 1000) * 1000;
	options->by_password = requires_password(mapping);
	value = find_option(options, "password");
	if (options->by_password && (value == NULL || value[0] == '\0'))
		refuse_no_password("A user who is not a superuser must have a password in the user mapping.");
}

/* ---- nodes of Citus ---- */

/* Adds those of a connection string, which may be NULL. */
static void
add_string(ConnectionOptions *options, const char *string)
{
	PQconninfoOption *parsed;
	char	   *error = NULL;

	if (string == NULL)
		return;
	parsed = PQconninfoParse(string, &error);
	if (parsed == NULL)
	{
		char	   *copy = error == NULL ? NULL : pstrdup(error);

		PQfreemem(error);
		if (copy == NULL)
			raise_no_memory();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("connection options for node \"%s\" are not valid", options->name),
				 errdetail_internal("%s", copy)));
	}
	for (PQconninfoOption *option = parsed; option->keyword != NULL; option++)
		if (option->val != NULL && option->val[0] != '\0')
			add_option(options, pstrdup(option->keyword), pstrdup(option->val));
	PQconninfoFree(parsed);
}

static const CitusNode *
find_node(int32 group)
{
	ListCell   *lc;

	foreach(lc, citus_list_nodes())
		if (((CitusNode *) lfirst(lc))->group == group)
			return lfirst(lc);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no node of group %d takes writes", group),
			 errdetail("It is not in pg_dist_node, or not an active primary.")));
	return NULL;
}

/* Where its library is not loaded, anybody may have set what has the name of its settings. */
static void
check_citus_is_loaded(void)
{
	if (GetConfigOption("citus.node_conninfo", true, false) == NULL ||
		(GetConfigOptionFlags("citus.node_conninfo", true) & GUC_CUSTOM_PLACEHOLDER) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library of extension \"citus\" is not loaded"),
				 errhint("Add it to \"shared_preload_libraries\".")));
}

/* Host, port and database: those of the node, or what a pooler has instead. */
static void
add_address(ConnectionOptions *options, const CitusNode *node)
{
	ConnectionOptions pooler = {.name = options->name};
	const char *host;
	const char *port;
	const char *database;

	add_string(&pooler, citus_pooler(node));
	host = find_option(&pooler, "host");
	port = find_option(&pooler, "port");
	database = find_option(&pooler, "dbname");
	/* a host that all nodes share is the name that their certificates have */
	add_option(options, find_option(options, "host") != NULL ? "hostaddr" : "host",
			   host != NULL ? host : node->host);
	add_option(options, "port", port != NULL ? port : psprintf("%d", node->port));
	add_option(options, "dbname", database != NULL ? database : get_database_name(MyDatabaseId));
}

/* As Citus connects its users; who adds nodes and passwords to its catalogs is a superuser. */
static void
describe_citus_node(ConnectionOptions *options, int32 group, Oid userid)
{
	const CitusNode *node = find_node(group);
	char	   *user = GetUserNameFromId(userid, false);
	const char *timeout = GetConfigOption("citus.node_connection_timeout", true, false);

	check_citus_is_loaded();
	options->name = psprintf("%s:%d", node->host, node->port);
	add_string(options, GetConfigOption("citus.node_conninfo", true, false));
	add_address(options, node);
	add_option(options, "user", user);
	add_string(options, citus_authentication(node, user));
	add_option(options, "application_name", "pgbulk");
	options->milliseconds = timeout == NULL ? 0 : Max(atoi(timeout), 0);
}

/* ---- all ---- */

ConnectionOptions *
connection_options(const NodeId *id, Oid userid)
{
	ConnectionOptions *options = palloc0(sizeof(ConnectionOptions));

	if (OidIsValid(id->serverid))
		describe_server(options, id->serverid, userid);
	else
		describe_citus_node(options, id->group, userid);
	add_option(options, "client_encoding", GetDatabaseEncodingName());
	return options;
}

void
connection_check(const ConnectionOptions *options, PGconn *conn)
{
	if (options->by_password && !PQconnectionUsedPassword(conn))
		refuse_no_password("The other server has not asked for the password.");
}
