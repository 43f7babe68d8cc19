/*
 * session.h
 *		Streams of rows to other nodes: sessions, and their COPYs.
 *
 * Rows for the tables of a node come in buffers.  Each is sent by a COPY into its
 * table; a COPY goes on while buffers for the same table follow.  A table belongs to one
 * session, and tables whose statements could wait for one another belong to the same, the node's
 * first (sinks.c); all sessions work at the same time.  What waits to be sent is bounded: when it
 * is too much, the load waits for the nodes.
 *
 * A node's error is raised when it is noticed, about the row that it names.
 */
#ifndef PGBULK_SESSION_H
#define PGBULK_SESSION_H

#include "postgres.h"

#include "check/bad_rows.h"
#include "cluster/node.h"
#include "cluster/row_buffer.h"
#include "cluster/told.h"

typedef struct Session Session;
typedef struct Sessions Sessions;

/* Who is told of what has become of rows, with arg. */
typedef struct SessionListener
{
	/* Before an error about such a row is raised; file -1: it is about none that is known. */
	void		(*locate) (void *arg, int file, int64 line);
	/* Rows that triggers of a node have kept out. */
	void		(*count_filtered) (void *arg, int file, int64 rows);
	/* A row that a node has not stored as it is bad, or by which it has replaced another one. */
	void		(*set_aside) (void *arg, void *sender, BadRow *row);
	/* Duplicates, and rows that were replaced, of which no more is told. */
	void		(*count) (void *arg, int file, RejectReason reason, int64 rows);
	/*
	 * Whether so many, beside those that it was told of, are too many; then it raises an error
	 * when it is told of them.
	 */
	bool		(*is_enough) (void *arg, const ToldCounts *more);
	uint32		reasons;		/* for which nodes are to set rows aside, as TOLD_BIT */
	void	   *arg;
} SessionListener;

/*
 * relay: the nodes are to set rows aside, and tell of them.  whole: all rows of a table
 * come one after the other, and go by one COPY.  Memory: TopTransactionContext; files
 * belong to the resource owner that is the current one whenever sessions are called.
 */
extern Sessions *sessions_open(const SessionListener *listener, BulkRelay relay, bool whole);

/*
 * The first session with a node, opened, in a transaction that will end as the
 * current one does.  Errors: those of node_connect; 55000 where the node cannot
 * prepare transactions, or set rows aside.
 */
extern Session *sessions_get(Sessions *sessions, const NodeId *id);

/*
 * One more with the node of another one, in a transaction of its own; NULL: the node lets us have
 * none.
 */
extern Session *sessions_add(Sessions *sessions, Session *first);

extern RemoteNode *session_node(Session *session);

/* The version of pgbulk that serves the node's COPYs, or why it does not. */
extern const char *session_pgbulk(const Session *session);

/* Of a first session, why its node has let us have no more; NULL: it has not refused one. */
extern const char *session_refusal(const Session *session);

/*
 * Ends its COPY, when all that was sent is in the tables, so that the node can be
 * asked something.
 */
extern void session_await_idle(Session *session);

/* A buffer for rows of a COPY, with space for so many bytes.  Memory: that of the sessions. */
extern RowBuffer *session_buffer(Sessions *sessions, const char *statement, Size bytes);

/* Such a buffer from a file (row_buffer.h); NULL: there is none. */
extern RowBuffer *session_read_buffer(Sessions *sessions, BufFile *file);

/* Sends it in its turn, and frees it. */
extern void session_send(Session *session, RowBuffer *buffer);

/* Seconds that this has taken so far, with all waiting. */
extern double sessions_seconds(const Sessions *sessions);

/*
 * Whether nodes take rows as fast as they come: as far as is known when more were sent than can
 * wait.
 */
extern bool sessions_keep_up(const Sessions *sessions);

/* Afterwards all that was sent is in the nodes' tables.  May be called again. */
extern void sessions_finish(Sessions *sessions);

/* Nothing more will be sent; the sessions stay until the transaction ends. */
extern void sessions_rest(Sessions *sessions);

/* All of them: Session. */
extern List *sessions_list(const Sessions *sessions);

#endif							/* PGBULK_SESSION_H */
