/*
 * text_clip.c
 *		See text_clip.h.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "server/text_clip.h"

char *
text_clip(const char *text, Size len, int max)
{
	if (len <= max)
		return pnstrdup(text, len);
	/* no more is looked at than may be shown */
	return psprintf("%.*s...",
					pg_mbcliplen(text, Min(len, max + MAX_MULTIBYTE_CHAR_LEN), max), text);
}

char *
text_clip_string(const char *text, int max)
{
	return text_clip(text, strlen(text), max);
}
