/*
 * session.h
 *		Streams of rows to other nodes: one session for each, and its COPYs.
 *
 * Rows for the tables of a node come in buffers.  Each is sent by a COPY into its
 * table; a COPY goes on while buffers for the same table follow.  So a node has
 * one session, whose statements cannot wait for one another, and all nodes work
 * at the same time.  What waits to be sent is bounded: when it is too much, the
 * load waits for the nodes.
 *
 * A node's error is raised when it is noticed, about the row that it names.
 */
#ifndef PGBULK_SESSION_H
#define PGBULK_SESSION_H

#include "postgres.h"

#include "cluster/node.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"

/* Rows for one table, as its COPY reads them. */
typedef struct RowBuffer
{
	dlist_node	link;
	const char *statement;		/* the COPY; one string for each */
	bool		filtered;		/* a trigger there may keep rows out; else each must be stored */
	StringInfoData data;
	int64		nrows;

	/* where they come from: all from one file */
	int			file;
	int64		line;			/* of the last one */
	StringInfoData lines;		/* from row to row; private to session.c */
} RowBuffer;

typedef struct Session Session;
typedef struct Sessions Sessions;

/*
 * locate(arg, file, line) is called before an error about such a row is raised;
 * file -1: it is about none that is known.  count_filtered(arg, file, rows) tells
 * of rows that triggers of a node have kept out.  Memory: TopTransactionContext.
 */
extern Sessions *sessions_open(void (*locate) (void *arg, int file, int64 line),
							   void (*count_filtered) (void *arg, int file, int64 rows), void *arg);

/*
 * The session with a server, opened, in a transaction that will end as the
 * current one does.  Errors: those of node_connect; 55000 where the node cannot
 * prepare transactions.
 */
extern Session *sessions_get(Sessions *sessions, Oid serverid);

extern RemoteNode *session_node(Session *session);

/* Has a setting of the node be as it is here, for its transaction. */
extern void session_pass_setting(RemoteNode *node, const char *name);

/* The version of pgbulk that serves the node's COPYs, or why it does not. */
extern const char *session_pgbulk(const Session *session);

/*
 * Ends its COPY, when all that was sent is in the tables, so that the node can be
 * asked something.
 */
extern void session_await_idle(Session *session);

/* A buffer without rows, with space for so many bytes.  Memory: that of the sessions. */
extern RowBuffer *session_buffer(Sessions *sessions, const char *statement, Size bytes);

/* Notes the row whose data were added last: its place, and the line ends within it. */
extern void session_note_row(RowBuffer *buffer, int file, int64 line, int64 inner_lines);

/* Sends it in its turn, and frees it. */
extern void session_send(Session *session, RowBuffer *buffer);

/* Afterwards all that was sent is in the nodes' tables.  May be called again. */
extern void sessions_finish(Sessions *sessions);

/* Rows that were sent. */
extern int64 session_rows(const Session *session);

/* Nothing more will be sent; the sessions stay until the transaction ends. */
extern void sessions_rest(Sessions *sessions);

/* All of them: Session. */
extern List *sessions_list(const Sessions *sessions);

#endif							/* PGBULK_SESSION_H */
