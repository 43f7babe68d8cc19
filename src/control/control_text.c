/*
 * control_text.c
 *		See control_text.h.
 */
#include "postgres.h"

#include <ctype.h>

#include "control/control_text.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "stream/file.h"

/* A control file has a few dozen lines. */
#define MAX_BYTES (1024 * 1024)

char *
control_text_read(const char *path)
{
	Stream	   *file = file_open(path);
	StringInfoData text;
	char		piece[8192];
	Size		n;

	initStringInfo(&text);
	while ((n = stream_read(file, piece, sizeof(piece))) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (text.len + n > MAX_BYTES)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("file \"%s\" is too long for a control file of pg_bulkload", path)));
		appendBinaryStringInfo(&text, piece, n);
	}
	stream_close(file);
	pg_verifymbstr(text.data, text.len, false);
	return text.data;
}

void
control_text_cut_comment(char *line, bool *closed)
{
	bool		quoted = false;

	for (char *c = line; *c != '\0'; c++)
	{
		if (*c == '\\' && (c[1] == '\\' || c[1] == '"'))
			c++;
		else if (*c == '"')
			quoted = !quoted;
		else if (*c == '#' && !quoted)
		{
			*c = '\0';
			break;
		}
	}
	*closed = !quoted;
}

char *
control_text_trim(char *text)
{
	char	   *end;

	while (isspace((unsigned char) *text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char) end[-1]))
		end--;
	*end = '\0';
	return text;
}

char *
control_text_unquote(const char *text)
{
	StringInfoData bare;
	bool		quoted = false;

	initStringInfo(&bare);
	for (; *text != '\0'; text++)
	{
		if (*text == '"')
		{
			quoted = !quoted;
			continue;
		}
		if (quoted && *text == '\\' && (text[1] == '\\' || text[1] == '"'))
			text++;
		appendStringInfoChar(&bare, *text);
	}
	return bare.data;
}
