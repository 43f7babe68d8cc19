/*
 * node.h
 *		A session with another server.
 *
 * How it is reached is told by connection.h.  All waiting is here: it serves
 * interrupts, and passes a cancel on to the node.  A session that is not closed
 * is closed at the end of the transaction.
 */
#ifndef PGBULK_NODE_H
#define PGBULK_NODE_H

#include "postgres.h"

#include "cluster/connection.h"
#include "datatype/timestamp.h"
#include "libpq-fe.h"
#include "nodes/parsenodes.h"

typedef struct RemoteNode
{
	NodeId		id;
	char	   *name;			/* of the foreign server, or host:port */
	PGconn	   *conn;
	PGresult   *result;			/* while more of them are waited for; NULL: none */
	char	   *xid;			/* its number for the transaction; NULL: not begun */
	int			max_prepared;	/* transactions that it can have prepared; then */
	int			shown;			/* its number in shown.h, of a load's session */
} RemoteNode;

/*
 * Connects as connection_options says.  Memory: TopTransactionContext.  Where
 * failure is not NULL it is set to what went wrong on the way, and NULL is
 * returned; else that is an error (08001).  Other errors: those of
 * connection_options and connection_check.
 */
extern RemoteNode *node_connect(const NodeId *id, Oid userid, char **failure);

/*
 * Runs a statement and returns its last result, which is the caller's to clear.
 * Error: that of the node, naming it (node_raise); 08006 for a lost connection.
 */
extern PGresult *node_query(RemoteNode *node, const char *sql);

/*
 * The same for a query, whose rows must have so many columns; else HV000, as whoever owns a
 * server may have it answer anything.
 */
extern PGresult *node_query_rows(RemoteNode *node, const char *sql, int ncolumns);

/*
 * The same at the end of a transaction: there is no error, but NULL or a result
 * that says what is wrong.  Returns NULL at the latest by end, and at once where
 * the user cancels.
 */
extern PGresult *node_query_until(RemoteNode *node, const char *sql, TimestampTz end);

/* The last result of what has been sent, if there is one in time; likewise. */
extern PGresult *node_result_until(RemoteNode *node, TimestampTz end);

/*
 * The last result of what has been sent.  A cancel is an error, whose CONTEXT names the node.
 * NULL: it has not come by end, or, where the connection is not open, there is none.
 */
extern PGresult *node_result(RemoteNode *node, TimestampTz end);

/* Serves interrupts; tell adds to the CONTEXT of a cancel or a timeout for whom was waited. */
extern void node_check_interrupts(void (*tell) (void *arg), void *arg);

/* Whether a result, which may be NULL, is an error with that SQLSTATE. */
extern bool node_is_error(const PGresult *result, const char *sqlstate);

/* The same for the end of a prepared transaction: there is none, as somebody has ended it. */
extern bool node_has_no_prepared(const PGresult *result);

/* The SQLSTATE of an error or message; otherwise, where it has none. */
extern int	node_sqlstate(const PGresult *result, int otherwise);

/* Whether a text that a node has sent is valid in this database's encoding. */
extern bool node_is_valid_text(const char *text);

/*
 * Error (HV000): the text, which the node has sent and which may be NULL, is not valid in this
 * database's encoding.
 */
extern void node_check_text(const RemoteNode *node, const char *text);

/* Raises the node's error; result may be NULL, and is cleared. */
extern void node_raise(RemoteNode *node, PGresult *result);

/* The text for a message of what a result, which may be NULL, says went wrong. */
extern char *node_failure(RemoteNode *node, const PGresult *result);

/*
 * Ends what the nodes do for this session, where they may be waiting for something; or
 * gives up at the latest by end, where libpq lets it (from 17 on).
 */
extern void node_cancel_all(List *nodes, TimestampTz end);

/* Passes on warnings of the node; it is told of all that its session says, unless the caller is. */
extern void node_receive_notice(void *node, const PGresult *result);

extern void node_close(RemoteNode *node);
extern void node_close_all(void);

/* A name for a statement, quoted whatever it is.  Memory: the current context. */
extern char *node_identifier(const char *name);

#endif							/* PGBULK_NODE_H */
