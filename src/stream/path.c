/*
 * path.c
 *		See path.h.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "stream/path.h"
#include "utils/varlena.h"

/* Edit distance up to which a name is taken for "stdin". */
#define WRONG_LETTERS 2

/* Length of a URL's scheme, "://" included; 0: not a URL. */
static int
scheme_length(const char *path)
{
	int			length = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return length > 0 && strncmp(path + length, "://", 3) == 0 ? length + 3 : 0;
}

bool
path_is_url(const char *path)
{
	return scheme_length(path) > 0;
}

static bool
is_scheme(const char *path, const char *scheme)
{
	return pg_strncasecmp(path, scheme, strlen(scheme)) == 0;
}

/* The program that writes what is behind a URL to its output. */
static const char *
program_for(const char *path)
{
	if (is_scheme(path, "s3://"))
		return psprintf("aws s3 cp '%s' -", path);
	if (is_scheme(path, "gs://"))
		return psprintf("gcloud storage cat '%s'", path);
	if (is_scheme(path, "http://") || is_scheme(path, "https://") || is_scheme(path, "ftp://"))
		return psprintf("curl '%s'", path);
	return NULL;
}

static int
refuse_url(const char *path, bool sent)
{
	const char *program = program_for(path);

	errmsg("cannot read from a URL: \"%s\"", path);
	if (is_scheme(path, "file://"))
		return errhint("Give the path alone: \"%s\".", path + strlen("file://"));
	errdetail("Only files on the server%s can be read.",
			  sent ? " and what the client sends" : "");
	if (program == NULL)
		return errhint("Download it to a file on the server, and give the absolute path of that file.");
	return errhint("Download it to a file on the server, for example with \"%s > /path/to/file\", and give the absolute path of that file%s.",
				   program,
				   sent ? "; or have the client download and send it, with path \"" SOURCE_CLIENT "\"" : "");
}

/* "{a,b}" as ARRAY['a', 'b'] */
static char *
write_array(const char *path)
{
	const char *at = path + 1;
	StringInfoData array;

	initStringInfo(&array);
	while (*at != '\0')
	{
		const char *end = at + strcspn(at, ",}");
		const char *next = *end == '\0' ? end : end + 1;

		at += strspn(at, " \"");
		while (end > at && (end[-1] == ' ' || end[-1] == '"'))
			end--;
		if (end > at)
			appendStringInfo(&array, "%s'%.*s'", array.len > 0 ? ", " : "",
							 (int) (end - at), at);
		at = next;
	}
	return psprintf("ARRAY[%s]", array.data);
}

static bool
is_array(const char *path)
{
	Size		length = strlen(path);

	return length > 2 && path[0] == '{' && path[length - 1] == '}';
}

/*
 * Whether a name is meant for the client's data: misspelled, or as other
 * programs have it.
 */
static bool
means_client(const char *path)
{
	char	   *lower;
	int			length = strlen(path);

	if (strcmp(path, "-") == 0)
		return true;
	if (length > 2 * (int) strlen(SOURCE_CLIENT))
		return false;
	lower = pstrdup(path);
	for (char *c = lower; *c != '\0'; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	return varstr_levenshtein_less_equal(lower, length, SOURCE_CLIENT, strlen(SOURCE_CLIENT),
										 1, 1, 1, WRONG_LETTERS, true) <= WRONG_LETTERS;
}

static bool
is_of_windows(const char *path)
{
	return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) &&
		path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

static int
refuse(const char *path, bool sent)
{
	if (scheme_length(path) > 0)
		return refuse_url(path, sent);
	if (sent && means_client(path))
	{
		errmsg("relative path not allowed: \"%s\"", path);
		return errhint("For what the client sends, write \"%s\", in lower case.", SOURCE_CLIENT);
	}
	if (sent && is_array(path))
	{
		errmsg("path \"%s\" is an array given as text", path);
		return errhint("Write it as %s.", write_array(path));
	}
	errmsg("relative path not allowed: \"%s\"", path);
	if (is_of_windows(path))
		errdetail("It looks like the path of a file on a client that runs Windows.");
	if (!sent)
		return errhint("Give the absolute path of a file on the server.");
	return errhint("Give the absolute path of a file on the server, or \"%s\" for what the client sends.",
				   SOURCE_CLIENT);
}

void
path_check(const char *path, bool sent)
{
	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), refuse(path, sent)));
}

char *
path_tidy(const char *path)
{
	char	   *tidy = palloc(strlen(path) + 1);
	char	   *to = tidy;

	while (*path != '\0')
	{
		*to++ = *path;
		if (*path++ != '/')
			continue;
		while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
			path++;
	}
	*to = '\0';
	return tidy;
}
