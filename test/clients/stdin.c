/*
 * stdin.c
 *		Runs a statement and sends it data when it asks: what programs do that
 *		use libpq.
 *
 * usage: stdin CONNINFO simple|extended PIECE END STATEMENT [PARAMETER...] < data
 *
 * Data goes in pieces of so many bytes, and ends as END says: "done", "fail"
 * (CopyFail), or "cancel" (a request to cancel before the data ends).  Prints
 * each result, one a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpq-fe.h"

static void
fail(PGconn *conn, const char *what)
{
	printf("%s: %s", what, PQerrorMessage(conn));
	exit(1);
}

static void
send_data(PGconn *conn, size_t piece, const char *end)
{
	char	   *buffer = malloc(piece);
	size_t		n;

	if (buffer == NULL)
		exit(1);
	while ((n = fread(buffer, 1, piece, stdin)) > 0)
		if (PQputCopyData(conn, buffer, n) <= 0 || PQflush(conn) < 0)
			fail(conn, "PQputCopyData");
	free(buffer);
	if (strcmp(end, "cancel") == 0)
	{
		PGcancel   *cancel = PQgetCancel(conn);
		char		error[256];

		PQflush(conn);
		if (!PQcancel(cancel, error, sizeof(error)))
			printf("PQcancel: %s\n", error);
		PQfreeCancel(cancel);

		/* the server must have heard of it before the data ends */
		sleep(1);
	}
	if (PQputCopyEnd(conn, strcmp(end, "fail") == 0 ? "the client has had enough" : NULL) <= 0)
		fail(conn, "PQputCopyEnd");
}

static void
print_result(const PGresult *result)
{
	printf("%s %s", PQresStatus(PQresultStatus(result)), PQcmdStatus((PGresult *) result));
	for (int row = 0; row < PQntuples(result); row++)
		for (int column = 0; column < PQnfields(result); column++)
			printf(" %s=%s", PQfname(result, column), PQgetvalue(result, row, column));
	if (PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL)
		printf(" %s: %s", PQresultErrorField(result, PG_DIAG_SQLSTATE),
			   PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
	printf("\n");
}

int
main(int argc, char **argv)
{
	PGconn	   *conn;
	PGresult   *result;
	int			sent;

	if (argc < 6)
		return 2;
	conn = PQconnectdb(argv[1]);
	if (PQstatus(conn) != CONNECTION_OK)
		fail(conn, "PQconnectdb");
	if (strcmp(argv[2], "simple") == 0)
		sent = PQsendQuery(conn, argv[5]);
	else
		sent = PQsendQueryParams(conn, argv[5], argc - 6, NULL,
								 (const char *const *) argv + 6, NULL, NULL, 0);
	if (!sent)
		fail(conn, "PQsendQuery");
	while ((result = PQgetResult(conn)) != NULL)
	{
		ExecStatusType status = PQresultStatus(result);

		print_result(result);
		PQclear(result);
		if (status == PGRES_COPY_IN)
			send_data(conn, atoi(argv[3]), argv[4]);
		if (status == PGRES_COPY_OUT)
		{
			char	   *data;

			while (PQgetCopyData(conn, &data, 0) > 0)
				PQfreemem(data);
		}
	}

	/* the connection must be good for more */
	result = PQexec(conn, "SELECT 'ready' AS is");
	print_result(result);
	PQclear(result);
	PQfinish(conn);
	return 0;
}
