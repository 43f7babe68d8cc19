/*
 * magic.c
 *		See magic.h.
 */
#include "scan/magic.h"

#include <stdbool.h>
#include <string.h>

/* How far to search for a byte that no text has, and for names in an archive. */
#define LOOK 4096

#define UNPACK "Unpack it."
#define EXPORT "Export it as CSV."
#define DECOMPRESS "Decompress it, if need be into a named pipe, which can be loaded, too."

typedef struct Signature
{
	size_t		offset;
	const char *bytes;
	size_t		length;
	bool		letters;		/* a text could begin with it */
	ScanMagic	magic;
} Signature;

#define AT(offset, bytes) offset, bytes, sizeof(bytes) - 1

static const Signature signatures[] = {
	{AT(0, "PK\3\4"), false, {"zip", "a zip archive", UNPACK}},
	{AT(0, "PK\5\6"), false, {"zip", "a zip archive", UNPACK}},
	{AT(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), false, {"xls", "an Excel workbook (xls) or another document of its kind", EXPORT}},
	{AT(0, "\x1f\x8b\x08"), false, {"gzip", "compressed with gzip", "Leave option \"compression\" to \"auto\"; what is compressed twice must be decompressed once."}},
	{AT(0, "\x28\xb5\x2f\xfd"), false, {"zstd", "compressed with zstd", "Leave option \"compression\" to \"auto\"; what is compressed twice must be decompressed once."}},
	{AT(0, "\x04\x22\x4d\x18"), false, {"lz4", "compressed with lz4", "Leave option \"compression\" to \"auto\"; what is compressed twice must be decompressed once."}},
	{AT(0, "\xfd" "7zXZ\0"), false, {"xz", "compressed with xz", DECOMPRESS}},
	{AT(0, "\x1f\x9d"), false, {"compress", "compressed with compress", DECOMPRESS}},
	{AT(4, "1AY&SY"), true, {"bzip2", "compressed with bzip2", DECOMPRESS}},
	{AT(0, "LZIP\1"), false, {"lzip", "compressed with lzip", DECOMPRESS}},
	{AT(0, "7z\xbc\xaf\x27\x1c"), false, {"7z", "a 7z archive", UNPACK}},
	{AT(0, "Rar!\x1a\x07"), false, {"rar", "a rar archive", UNPACK}},
	{AT(257, "ustar"), true, {"tar", "a tar archive", UNPACK}},
	{AT(0, "PAR1"), true, {"parquet", "a Parquet file", EXPORT}},
	{AT(0, "ORC"), true, {"orc", "an ORC file", EXPORT}},
	{AT(0, "Obj\1"), false, {"avro", "an Avro file", EXPORT}},
	{AT(0, "ARROW1\0"), false, {"arrow", "an Arrow file", EXPORT}},
	{AT(0, "FEA1"), true, {"feather", "a Feather file", EXPORT}},
	{AT(0, "\x89HDF\r\n\x1a\n"), false, {"hdf5", "an HDF5 file", EXPORT}},
	{AT(0, "SQLite format 3\0"), false, {"sqlite", "an SQLite database", "Export its tables as CSV."}},
	{AT(0, "PGDMP"), true, {"pg_dump", "an archive of pg_dump", "Use pg_restore."}},
	{AT(0, "PGCOPY\n\377\r\n\0"), false, {"pgcopy", "in PostgreSQL's binary format", "Set option \"format\" to \"binary\"."}},
	{AT(0, "%PDF-1."), true, {"pdf", "a PDF document", "Its tables must be extracted by another program."}},
	{AT(0, "%PDF-2."), true, {"pdf", "a PDF document", "Its tables must be extracted by another program."}},
	{AT(0, "\x89PNG\r\n\x1a\n"), false, {"png", "a PNG image", "It has no rows."}},
	{AT(0, "\xff\xd8\xff\xe0"), false, {"jpeg", "a JPEG image", "It has no rows."}},
	{AT(0, "\xff\xd8\xff\xe1"), false, {"jpeg", "a JPEG image", "It has no rows."}},
	{AT(0, "\x7f" "ELF"), false, {"elf", "an executable", "It has no rows."}}
};

static const ScanMagic xlsx = {"xlsx", "an Excel workbook (xlsx)", "Save its sheets as CSV."};
static const ScanMagic ods = {"ods", "an OpenDocument spreadsheet (ods)", "Save its sheets as CSV."};

static bool
has_bytes(const char *data, size_t length, const char *bytes)
{
	size_t		n = strlen(bytes);

	for (size_t i = 0; i + n <= length; i++)
		if (data[i] == bytes[0] && memcmp(data + i, bytes, n) == 0)
			return true;
	return false;
}

/* Whether some byte cannot be in a text: a control character below tab. */
static bool
has_control(const char *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char) data[i] < '\t')
			return true;
	return false;
}

/*
 * Documents of office programs are zip archives, recognized by the names of
 * their first files.
 */
static const ScanMagic *
look_into_zip(const char *data, size_t length, const ScanMagic *zip)
{
	static const char *const parts[] = {"[Content_Types].xml", "_rels/", "docProps/", "xl/"};
	const char *name = data + 30;	/* of the first file */

	if (length < 128)
		return zip;
	if (has_bytes(name, 98, "mimetypeapplication/vnd.oasis.opendocument.spreadsheet"))
		return &ods;
	if (has_bytes(data, length, "word/") || has_bytes(data, length, "ppt/"))
		return zip;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (memcmp(name, parts[i], strlen(parts[i])) == 0)
			return &xlsx;
	return zip;
}

const ScanMagic *
scan_magic(const char *data, size_t length)
{
	if (length > LOOK)
		length = LOOK;
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
	{
		const Signature *s = &signatures[i];

		if (length < s->offset + s->length || memcmp(data + s->offset, s->bytes, s->length) != 0 ||
			(s->letters && !has_control(data, length)))
			continue;
		return s->magic.name[0] == 'z' && s->magic.name[1] == 'i' ?
			look_into_zip(data, length, &s->magic) : &s->magic;
	}
	return NULL;
}
