/*
 * stdin.c
 *		See stdin.h.
 *
 * After an error the client continues to send, until it receives the error; the
 * server's main loop drops that, as it does for COPY.  Where a function catches
 * the error, what is left must not be taken for the data of another load or COPY:
 * it is dropped before that one asks.
 */
#include "postgres.h"

/*
 * libpq.h declares connections, for which it needs headers of other libraries.
 * Nothing here uses these.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"

#include "access/parallel.h"
#include "access/printtup.h"
#include "access/xact.h"
#include "executor/execdesc.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "storage/latch.h"
#include "stream/stdin.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Messages of the protocol, by their first byte. */
#define MESSAGE_COPY_IN 'G'
#define MESSAGE_COPY_DATA 'd'
#define MESSAGE_COPY_DONE 'c'
#define MESSAGE_COPY_FAIL 'f'
#define MESSAGE_FLUSH 'H'
#define MESSAGE_SYNC 'S'
#define MESSAGE_COMPLETE 'C'

typedef struct ClientInput
{
	Stream		stream;
	bool		drops_marker;
	bool		at_line_start;	/* what has been returned ends in a line end */
	bool		ended;
	StringInfoData message;		/* the last one; unread data begin at its cursor */
	int			next_type;		/* of the message after it, if read; else 0 */
	StringInfoData next;
	MemoryContextCallback callback;
} ClientInput;

/* The load that reads from the client now. */
static ClientInput *reading;

/* What client_hold has read, for the next client_open; NULL: nothing. */
static ClientInput *held;

/*
 * The client has been asked for data, by the statement that began then, and has
 * not sent all.
 */
static bool sending;
static TimestampTz sending_since;

/* ---- who may ask ---- */

static void
refuse(const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot load from the client here"),
			 errdetail("The reason is that %s.", reason)));
}

/*
 * In the extended protocol the statement has a cached plan.  The client got the
 * description of its rows before it ran, whatever kind it is.
 */
static bool
is_extended(Portal portal)
{
	return portal->cplan != NULL;
}

/* Whether the portal's rows go to the client while it runs. */
static bool
sends_rows(Portal portal)
{
	DestReceiver *dest = portal->queryDesc ? portal->queryDesc->dest : NULL;

	return portal->strategy == PORTAL_ONE_SELECT && dest != NULL &&
		(dest->mydest == DestRemote || dest->mydest == DestRemoteExecute);
}

/* A cursor, as PL/pgSQL has it for a loop, runs within the client's own portal. */
static Portal
find_client_portal(void)
{
	Portal		portal = ActivePortal;

	if (portal != NULL && portal->strategy == PORTAL_ONE_SELECT && !sends_rows(portal))
	{
		portal = GetPortalByName("");
		if (PortalIsValid(portal) && portal->status != PORTAL_ACTIVE)
			portal = NULL;
	}
	if (!PortalIsValid(portal))
		refuse("the statement of the client that it comes from cannot be told");
	return portal;
}

static bool
is_copy(Portal portal)
{
	ListCell   *lc;

	foreach(lc, portal->stmts)
	{
		Node	   *statement = lfirst_node(PlannedStmt, lc)->utilityStmt;

		if (statement != NULL && IsA(statement, CopyStmt) &&
			((CopyStmt *) statement)->filename == NULL)
			return true;
	}
	return false;
}

Portal
client_check(bool by_copy)
{
	Portal		portal;

	if (whereToSendOutput != DestRemote || MyProcPort == NULL || IsParallelWorker())
		refuse("the process has no client");
	if (reading != NULL && reading != held)
		refuse("another load reads from it");
	if (by_copy)
		return NULL;
	portal = find_client_portal();
	if (is_copy(portal))
		refuse("its statement is COPY");
	if (!sends_rows(portal) && !(is_extended(portal) && portal->tupDesc != NULL))
		return NULL;
	if (sends_rows(portal) && portal->queryDesc->estate->es_processed > 0)
		refuse("its statement has sent rows to it");
	if (portal->createSubid != GetCurrentSubTransactionId())
		refuse("an error might be caught by a function, and rows sent then");
	return portal;
}

/* ---- messages ---- */

/* Waits until the client has sent something; a cancel is noticed. */
static void
await_client(void)
{
	WaitEvent	event;

	ModifyWaitEvent(FeBeWaitSet, FeBeWaitSetSocketPos, WL_SOCKET_READABLE, NULL);
	(void) WaitEventSetWait(FeBeWaitSet, -1, &event, 1, WAIT_EVENT_CLIENT_READ);
	if (event.events & WL_POSTMASTER_DEATH)
		ereport(FATAL,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("terminating connection due to unexpected postmaster exit")));
	if (event.events & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

static void
report_lost(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("unexpected EOF on client connection with an open transaction")));
}

/*
 * The type of the next message, whose rest must then be read: no cancel until then.
 * 0: none has come.
 */
static int
begin_message(void)
{
	unsigned char type;
	int			rc;

	HOLD_CANCEL_INTERRUPTS();
	pq_startmsgread();
	rc = pq_getbyte_if_available(&type);
	if (rc > 0)
		return type;
	if (rc == EOF)
		report_lost();
	pq_endmsgread();
	RESUME_CANCEL_INTERRUPTS();
	return 0;
}

/*
 * A message that may not come here ends the session.  begin_message has read a single
 * byte of it; a connection that is closed before the others are read is reset, and
 * the client may not learn why.  The server's COPY would have read them, too.
 */
static void
report_type(int type)
{
	unsigned char byte;

	for (int i = 0; i < PQ_SMALL_MESSAGE_LIMIT; i++)
		if (pq_getbyte_if_available(&byte) <= 0)
			break;
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
}

/*
 * The next message into buffer, one of data, the end or failure; returns its
 * type, or 0 where none has come and wait is false.  Sync and Flush are what a
 * client of the extended protocol sent before it knew that it would be asked
 * for data.
 */
static int
read_message(StringInfo buffer, bool wait)
{
	for (;;)
	{
		int			type = begin_message();
		int			limit = PQ_SMALL_MESSAGE_LIMIT;

		if (type == 0)
		{
			if (!wait)
				return 0;
			await_client();
			continue;
		}
		switch (type)
		{
			case MESSAGE_COPY_DATA:
				limit = PQ_LARGE_MESSAGE_LIMIT;
				break;
			case MESSAGE_COPY_DONE:
			case MESSAGE_COPY_FAIL:
			case MESSAGE_FLUSH:
			case MESSAGE_SYNC:
				break;
			default:
				report_type(type);
		}
		if (pq_getmessage(buffer, limit))
			report_lost();
		RESUME_CANCEL_INTERRUPTS();

		if (type == MESSAGE_COPY_DONE || type == MESSAGE_COPY_FAIL)
			sending = false;
		if (type != MESSAGE_FLUSH && type != MESSAGE_SYNC)
			return type;
	}
}

/* Makes the message after the last one that one. */
static void
step(ClientInput *client)
{
	StringInfoData last = client->message;

	client->message = client->next;
	client->next = last;
	client->next_type = 0;
}

/* Returns the type. */
static int
take_next(ClientInput *client)
{
	int			type = client->next_type;

	if (type == 0)
		return read_message(&client->message, true);
	step(client);
	return type;
}

static void
next_message(ClientInput *client)
{
	switch (take_next(client))
	{
		case MESSAGE_COPY_DONE:
			client->ended = true;
			client->message.cursor = client->message.len;
			break;
		case MESSAGE_COPY_FAIL:
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("COPY from stdin failed: %s",
							pq_getmsgstring(&client->message))));
			break;
		default:
			break;
	}
}

/* Where nothing is left of the message, goes on to the next one if that has come. */
static void
read_ahead(ClientInput *client)
{
	client->next_type = read_message(&client->next, false);
	if (client->next_type == MESSAGE_COPY_DATA)
		step(client);
}

/* ---- the stream ---- */

static void
forget(void *arg)
{
	if (reading == arg)
		reading = NULL;
	if (held == arg)
		held = NULL;
}

/* Length of the end marker that is the rest of the message, or 0. */
static Size
find_marker(const ClientInput *client)
{
	static const char *const markers[] = {"\\.\n", "\\.\r\n"};
	const StringInfoData *message = &client->message;

	for (int i = 0; i < lengthof(markers); i++)
	{
		int			length = strlen(markers[i]);
		int			start = message->len - length;

		if (start < message->cursor ||
			memcmp(message->data + start, markers[i], length) != 0)
			continue;
		if (start == message->cursor ? client->at_line_start : message->data[start - 1] == '\n')
			return length;
	}
	return 0;
}

/* Where only a marker is left of the message, drops it if nothing follows. */
static void
pass_marker(ClientInput *client, Size length)
{
	char		marker[4];
	StringInfo	message = &client->message;

	memcpy(marker, message->data + message->len - length, length);
	next_message(client);
	if (client->ended)
		return;

	/* it was data after all, before that of the new message */
	enlargeStringInfo(message, length);
	memmove(message->data + length, message->data, message->len + 1);
	memcpy(message->data, marker, length);
	message->len += length;
	message->cursor = 0;
}

/* Data of one message; waits for it. */
static Size
read_data(ClientInput *client, char *to, Size size)
{
	StringInfo	message = &client->message;
	Size		marker = 0;
	Size		length;

	for (;;)
	{
		if (message->cursor == message->len)
		{
			if (client->ended)
				return 0;
			next_message(client);
			continue;
		}
		if (client->drops_marker)
			marker = find_marker(client);
		if (marker == 0 || message->len - message->cursor > marker)
			break;
		pass_marker(client, marker);
	}

	length = Min(size, message->len - message->cursor - marker);
	memcpy(to, message->data + message->cursor, length);
	message->cursor += length;
	client->at_line_start = to[length - 1] == '\n';
	return length;
}

/* Many clients send a row in a message: as many are read as have come. */
static Size
read_client(Stream *stream, char *to, Size size)
{
	ClientInput *client = (ClientInput *) stream;
	Size		length = read_data(client, to, size);

	while (length > 0 && length < size && client->message.cursor == client->message.len &&
		   client->next_type == 0 && !client->ended)
	{
		CHECK_FOR_INTERRUPTS();
		read_ahead(client);
		if (client->message.cursor == client->message.len)
			break;
		length += read_data(client, to + length, size - length);
	}
	return length;
}

/* Drops what the client still sends. */
static void
close_client(Stream *stream)
{
	ClientInput *client = (ClientInput *) stream;

	while (!client->ended)
		next_message(client);
	if (reading == client)
		reading = NULL;
}

static const StreamRoutine client_routine = {
	.read = read_client,
	.close = close_client
};

void
client_drop_rest(void)
{
	StringInfoData message;

	if (!sending || sending_since != GetCurrentStatementStartTimestamp())
		return;
	initStringInfo(&message);
	while (sending)
		(void) read_message(&message, true);
	pfree(message.data);
}

/*
 * Asks for data.  What the client sent before it knew is read at once: a Sync that
 * an error left to the main loop, to which the client adds one when it learns of the
 * error, would be answered twice.
 */
static ClientInput *
ask_client(bool binary, int columns)
{
	ClientInput *client = palloc0(sizeof(ClientInput));
	StringInfoData response;

	stream_init(&client->stream, &client_routine, NULL);
	client->stream.once = true;
	client->at_line_start = true;
	initStringInfo(&client->message);
	initStringInfo(&client->next);

	client_drop_rest();

	client->callback.func = forget;
	client->callback.arg = client;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &client->callback);
	reading = client;
	sending = true;
	sending_since = GetCurrentStatementStartTimestamp();

	pq_beginmessage(&response, MESSAGE_COPY_IN);
	pq_sendbyte(&response, binary);
	pq_sendint16(&response, columns);
	for (int i = 0; i < columns; i++)
		pq_sendint16(&response, binary);
	pq_endmessage(&response);
	pq_flush();
	read_ahead(client);
	return client;
}

bool
client_hold(bool binary, int columns, Size size)
{
	ClientInput *client = ask_client(binary, columns);

	held = client;
	while (client->next_type == 0 && client->message.len < size)
	{
		client->next_type = read_message(&client->next, true);
		/* one that makes it large may be of any size, and stays where it is */
		if (client->next_type == MESSAGE_COPY_DATA && client->next.len < size - client->message.len)
		{
			appendBinaryStringInfo(&client->message, client->next.data, client->next.len);
			client->next_type = 0;
		}
	}
	return client->next_type != 0 && client->next_type != MESSAGE_COPY_DATA;
}

Stream *
client_open(bool binary, int columns, bool marker)
{
	ClientInput *client = held != NULL ? held : ask_client(binary, columns);

	held = NULL;
	client->drops_marker = marker;
	return &client->stream;
}

void
client_complete(Portal portal, int64 rows)
{
	StringInfoData message;
	char		tag[64];

	if (portal == NULL)
		return;
	if (!is_extended(portal))
	{
		snprintf(tag, sizeof(tag), "COPY " INT64_FORMAT, rows);
		pq_putmessage(MESSAGE_COMPLETE, tag, strlen(tag) + 1);
	}
	initStringInfo(&message);
	SendRowDescriptionMessage(&message, portal->tupDesc,
							  FetchPortalTargetList(portal), portal->formats);
	pfree(message.data);
}
