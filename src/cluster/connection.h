/*
 * connection.h
 *		How other servers are reached.
 *
 * A node is a foreign server of postgres_fdw, with the mapping of the user who loads,
 * or a node of Citus, by the catalogs and settings of that.
 */
#ifndef PGBULK_CONNECTION_H
#define PGBULK_CONNECTION_H

#include "postgres.h"

#include "libpq-fe.h"

typedef struct NodeId
{
	Oid			serverid;		/* the foreign server; InvalidOid: a node of Citus, */
	int32		group;			/* of that number */
} NodeId;

/* For PQconnectStartParams. */
typedef struct ConnectionOptions
{
	char	   *name;			/* the foreign server's, or host:port */
	int			n;
	int			capacity;
	const char **keywords;		/* ended by NULL */
	const char **values;
	int			milliseconds;	/* to wait for the connection; 0: for ever */
	bool		by_password;	/* the node must have asked for it */
} ConnectionOptions;

/* Whether a foreign server is one of postgres_fdw; its name is not what counts. */
extern bool connection_serves(Oid serverid);

static inline bool
connection_is_same(const NodeId *a, const NodeId *b)
{
	return a->serverid == b->serverid && a->group == b->group;
}

/*
 * Memory: the current context.  Errors: those of a missing mapping; 2F003 for a user who
 * is no superuser and gives no password, where postgres_fdw requires one; 0A000 for what
 * cannot be passed on; 55000 for a node that Citus does not know, or that is off.
 */
extern ConnectionOptions *connection_options(const NodeId *id, Oid userid);

/* Error: 2F003, where a password had to be asked for, and was not. */
extern void connection_check(const ConnectionOptions *options, PGconn *conn);

#endif							/* PGBULK_CONNECTION_H */
