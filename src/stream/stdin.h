/*
 * stdin.h
 *		What the client sends: the COPY-in protocol, from within a function.
 *
 * A client that runs COPY FROM STDIN gets CopyInResponse, sends CopyData and
 * CopyDone, and then gets a result without rows.  It need not know that a
 * function asks for data.  But where the statement returns rows, it has got
 * their RowDescription before the function runs, and forgets it in between
 * (libpq has one result at a time).  So at the end RowDescription is sent
 * again; and before it, in the simple protocol, "COPY n", for programs that
 * wait for the end of a COPY.  (In the extended protocol libpq takes that for
 * the end of the whole statement.)
 */
#ifndef PGBULK_STDIN_H
#define PGBULK_STDIN_H

#include "postgres.h"

#include "stream/stream.h"
#include "utils/portal.h"

/*
 * Checks that the client can be asked for data here.  Returns the portal of its
 * statement if that sends its rows to the client, else NULL.  by_copy: the
 * statement is COPY FROM STDIN and this load is what it does.
 *
 * Errors: 0A000 where there is no client, or where it is busy: with COPY, with
 * rows that it has been sent, with another load; or where an error might be
 * caught and the statement continue.
 */
extern Portal client_check(bool by_copy);

/*
 * Asks the client for its data.  binary: it is to send bytes unchanged; else
 * psql reads lines.  columns: how many it is told that there are; 0: not known.
 * marker: a last line of \. is not data, but the end as psql before 18 sends it.
 * What it still sends when the stream is closed is dropped.  Memory: the current
 * context.
 *
 * Errors, when it is read: 57014 where the client cancels its COPY; 08P01,
 * 08006 where the connection is lost.
 */
extern Stream *client_open(bool binary, int columns, bool marker);

/*
 * Asks the client for its data, and reads until there are about size bytes or it has sent all.
 * Returns whether it has.  All of it is then read by client_open in the same statement.
 * Memory: the current context, which must last as long as the stream.  Errors as there; a
 * client that cancels its COPY has sent all, and the error is raised where it is read.
 */
extern bool client_hold(bool binary, int columns, Size size);

/*
 * Drops what the client still sends for a load in the same statement whose error was caught, before
 * others ask it for data.  Errors: as client_open.
 */
extern void client_drop_rest(void);

/*
 * When the load has succeeded: sends the client what it needs before the
 * statement's rows.  portal is what client_check returned.
 */
extern void client_complete(Portal portal, int64 rows);

#endif							/* PGBULK_STDIN_H */
