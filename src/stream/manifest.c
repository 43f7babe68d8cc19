/*
 * manifest.c
 *		See manifest.h.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/cryptohash.h"
#include "common/md5.h"
#include "common/sha2.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "option/option_value.h"
#include "storage/fd.h"
#include "stream/content.h"
#include "stream/file.h"
#include "stream/manifest.h"
#include "stream/path.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

/* No list of files is larger. */
#define MANIFEST_MAX (64 * 1024 * 1024)

#define PIECE (64 * 1024)

#define MD5_DIGITS (2 * MD5_DIGEST_LENGTH)
#define SHA256_DIGITS (2 * PG_SHA256_DIGEST_LENGTH)

/* ---- what it says ---- */

static void
refuse(const char *manifest, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("file \"%s\" is not a manifest", manifest),
			 errdetail("%s", detail),
			 errhint("A manifest has a path on each line, maybe behind a checksum, or is JSON: an array of paths, or of objects with \"path\", \"size\", \"rows\" and \"checksum\".")));
}

/* Hexadecimal digits of a checksum that is known by their number. */
static bool
is_checksum(const char *text, Size length)
{
	return (length == MD5_DIGITS || length == SHA256_DIGITS) &&
		strspn(text, "0123456789abcdefABCDEF") >= length;
}

static char *
to_lower(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		*c = pg_tolower((unsigned char) *c);
	return text;
}

/* In the manifest's folder, unless it is absolute. */
static char *
resolve(const char *manifest, const char *path)
{
	const char *folder = strrchr(manifest, '/');

	if (is_absolute_path(path))
		return pstrdup(path);
	if (path_is_url(path))
		path_check(path, false);
	return psprintf("%.*s/%s", (int) (folder - manifest), manifest, path);
}

static ListedFile *
list_file(const char *manifest, const char *path)
{
	ListedFile *file = palloc0(sizeof(ListedFile));

	file->manifest = manifest;
	file->path = resolve(manifest, path);
	file->size = file->rows = -1;
	return file;
}

/* A line without its end; NULL: it says nothing. */
static ListedFile *
read_line(const char *manifest, char *line)
{
	Size		digits = strspn(line, "0123456789abcdefABCDEF");
	ListedFile *file;

	if (line[0] == '\0' || line[0] == '#')
		return NULL;
	/* a blank, and one more or an asterisk */
	if (!is_checksum(line, digits) || line[digits] != ' ' ||
		(line[digits + 1] != ' ' && line[digits + 1] != '*') || line[digits + 2] == '\0')
		return list_file(manifest, line);
	file = list_file(manifest, line + digits + 2);
	file->checksum = to_lower(pnstrdup(line, digits));
	return file;
}

static List *
read_lines(const char *manifest, char *text)
{
	List	   *files = NIL;

	while (text != NULL)
	{
		char	   *line = text;
		Size		length;
		ListedFile *file;

		text = strchr(line, '\n');
		if (text != NULL)
			*text++ = '\0';
		length = strlen(line);
		if (length > 0 && line[length - 1] == '\r')
			line[length - 1] = '\0';
		file = read_line(manifest, line);
		if (file != NULL)
			files = lappend(files, file);
	}
	return files;
}

static int64
read_number(const char *manifest, const char *key, const JsonbValue *value)
{
	JsonbValue	copy = *value;
	int64		number;

	if (!option_read_count(&copy, PG_INT64_MAX, &number))
		refuse(manifest, psprintf("The value of \"%s\" is not the number of something.", key));
	return number;
}

/* "sha256:..." or "md5:...", or the digits alone. */
static char *
read_checksum(const char *manifest, char *text)
{
	char	   *digits = strchr(text, ':') == NULL ? text : strchr(text, ':') + 1;
	Size		length = strlen(digits);
	const char *name = length == MD5_DIGITS ? "md5:" : "sha256:";

	if (!is_checksum(digits, length) ||
		(digits != text && (pg_strncasecmp(text, name, digits - text) != 0 ||
							digits - text != strlen(name))))
		refuse(manifest, psprintf("The checksum \"%s\" is neither an MD5 nor a SHA-256.", text));
	return to_lower(pstrdup(digits));
}

static ListedFile *
read_object(const char *manifest, JsonbContainer *object)
{
	ListedFile *file = NULL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	item;
	JsonbValue *path = getKeyJsonValueFromContainer(object, "path", strlen("path"), NULL);
	char	   *key = NULL;

	if (path == NULL || path->type != jbvString)
		refuse(manifest, "An object has no \"path\" that is a text.");
	file = list_file(manifest, pnstrdup(path->val.string.val, path->val.string.len));
	iterator = JsonbIteratorInit(object);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = pnstrdup(item.val.string.val, item.val.string.len);
		if (token != WJB_VALUE || strcmp(key, "path") == 0)
			continue;
		if (strcmp(key, "size") == 0)
			file->size = read_number(manifest, key, &item);
		else if (strcmp(key, "rows") == 0)
			file->rows = read_number(manifest, key, &item);
		else if (strcmp(key, "checksum") == 0 && item.type == jbvString)
			file->checksum = read_checksum(manifest,
										   pnstrdup(item.val.string.val, item.val.string.len));
		else
			refuse(manifest, psprintf("An object has the unknown key \"%s\", or a value of the wrong type there.",
									  key));
	}
	return file;
}

static List *
read_json(const char *manifest, const char *text)
{
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
	JsonbContainer *array = &json->root;
	List	   *files = NIL;

	if (JB_ROOT_IS_OBJECT(json))
	{
		JsonbValue *value = getKeyJsonValueFromContainer(array, "files", strlen("files"), NULL);

		array = value != NULL && value->type == jbvBinary ? value->val.binary.data : NULL;
	}
	if (array == NULL || !JsonContainerIsArray(array))
		refuse(manifest, "Its JSON is neither an array nor an object with one at \"files\".");
	for (uint32 i = 0; i < JsonContainerSize(array); i++)
	{
		JsonbValue *item = getIthJsonbValueFromContainer(array, i);

		if (item->type == jbvString)
			files = lappend(files, list_file(manifest, pnstrdup(item->val.string.val,
																item->val.string.len)));
		else if (item->type == jbvBinary && JsonContainerIsObject(item->val.binary.data))
			files = lappend(files, read_object(manifest, item->val.binary.data));
		else
			refuse(manifest, "An element is neither a path nor an object.");
	}
	return files;
}

static void
name_manifest(void *path)
{
	errcontext("manifest \"%s\"", (const char *) path);
}

/* Its text, in the database encoding. */
static char *
read_text(const char *path)
{
	/* neither a folder nor a pipe, whose size is not known */
	int64		size = file_look(path, NULL);
	FILE	   *file;
	char	   *text;
	Size		length;

	if (size < 0 || size > MANIFEST_MAX)
		refuse(path, size < 0 ? "It is no regular file." : "It is larger than 64 MB.");
	file = AllocateFile(path, PG_BINARY_R);
	if (file == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	text = palloc(size + 1);
	length = fread(text, 1, size, file);
	if (ferror(file))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from file \"%s\": %m", path)));
	FreeFile(file);
	text[length] = '\0';
	if (strlen(text) != length || !pg_verifymbstr(text, length, true))
		refuse(path, psprintf("It is not text in encoding \"%s\".", GetDatabaseEncodingName()));
	return text;
}

/* ---- whether that is true ---- */

static void
refuse_file(const ListedFile *file, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("file \"%s\" is not what manifest \"%s\" says", file->path, file->manifest),
			 errdetail("%s", detail)));
}

static void
hash_file(const ListedFile *file, pg_cryptohash_type type, uint8 *digest, Size length)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(type);
	char	   *piece = palloc(PIECE);
	ssize_t		n;
	int			fd = OpenTransientFile(file->path, O_RDONLY | PG_BINARY);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", file->path)));
	if (hash == NULL || pg_cryptohash_init(hash) < 0)
		elog(ERROR, "cannot compute a checksum: %s", pg_cryptohash_error(hash));
	while ((n = read(fd, piece, PIECE)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (pg_cryptohash_update(hash, (uint8 *) piece, n) < 0)
			elog(ERROR, "cannot compute a checksum: %s", pg_cryptohash_error(hash));
	}
	if (n < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from file \"%s\": %m", file->path)));
	if (pg_cryptohash_final(hash, digest, length) < 0)
		elog(ERROR, "cannot compute a checksum: %s", pg_cryptohash_error(hash));
	pg_cryptohash_free(hash);
	CloseTransientFile(fd);
	pfree(piece);
}

static void
verify_checksum(const ListedFile *file)
{
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	char		digits[SHA256_DIGITS + 1];
	bool		is_md5 = strlen(file->checksum) == MD5_DIGITS;
	Size		length = is_md5 ? MD5_DIGEST_LENGTH : PG_SHA256_DIGEST_LENGTH;

	hash_file(file, is_md5 ? PG_MD5 : PG_SHA256, digest, length);
	for (Size i = 0; i < length; i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
	if (strcmp(digits, file->checksum) != 0)
		refuse_file(file, psprintf("Its %s is %s, not %s.", is_md5 ? "MD5" : "SHA-256", digits,
								   file->checksum));
}

static void
verify(ListedFile *file)
{
	if (!content_stamp(file->path, &file->stamp))
		refuse_file(file, "It is no regular file.");
	if (file->size >= 0 && file->stamp.size != file->size)
		refuse_file(file, psprintf("It has %lld bytes, not %lld.", (long long) file->stamp.size,
								   (long long) file->size));
	if (file->checksum != NULL)
		verify_checksum(file);
}

static void
hint_at_removal(void *arg)
{
	if (geterrcode() == ERRCODE_UNDEFINED_FILE)
		errhint("If an earlier call has ended while it removed or moved the files, the rows of all of them are committed, as bulk_loads shows: remove or move what is left.");
}

List *
manifest_read(const char *path, bool may_be_gone)
{
	ErrorContextCallback callback = {
		error_context_stack, name_manifest, unconstify(char *, path)
	};
	ErrorContextCallback hint = {&callback, hint_at_removal, NULL};
	List	   *files;
	ListCell   *lc;
	char	   *text;
	const char *start;

	path_check(path, false);
	file_check_privilege(false);
	error_context_stack = &callback;
	text = read_text(path);
	start = text + strspn(text, " \t\r\n");
	files = *start == '{' || *start == '[' ? read_json(path, start) : read_lines(path, text);
	if (files == NIL)
		refuse(path, "It lists no file.");
	if (may_be_gone)
		error_context_stack = &hint;
	foreach(lc, files)
		verify(lfirst(lc));
	error_context_stack = callback.previous;
	return files;
}

bool
manifest_counts_rows(const BulkOptions *options)
{
	return options->skip == 0 && options->limit < 0 && options->once != BULK_ONCE_TAIL;
}

void
manifest_check(List *listed, int64 rows)
{
	int64		expected = 0;
	ListCell   *lc;

	foreach(lc, listed)
	{
		const ListedFile *file = lfirst(lc);

		content_check(file->path, &file->stamp);
		if (file->rows < 0)
			rows = -1;
		expected += file->rows;
	}
	if (rows >= 0 && listed != NIL && rows != expected)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("files have another number of rows than manifest \"%s\" says",
						((const ListedFile *) linitial(listed))->manifest),
				 errdetail("%lld rows were read, and it says that there are %lld.",
						   (long long) rows, (long long) expected)));
}
