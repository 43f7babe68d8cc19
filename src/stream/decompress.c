/*
 * decompress.c
 *		See decompress.h.
 *
 * The libraries allocate with malloc; their memory is freed when the context of
 * the stream is reset, after an error too.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "stream/decompress.h"
#include "stream/path.h"
#include "utils/memutils.h"

#ifdef PGBULK_GZIP
#include <zlib.h>
#endif
#ifdef PGBULK_LZ4
#include <lz4frame.h>
#endif
#ifdef PGBULK_ZSTD
#include <zstd.h>
#endif

typedef enum CodecStatus
{
	CODEC_MORE,					/* output space or input is used up */
	CODEC_FRAME_END,
	CODEC_CORRUPT				/* step->problem says what */
} CodecStatus;

/* What a codec works on: it advances both pointers and decrements both counts. */
typedef struct CodecStep
{
	const char *in;
	Size		in_left;
	char	   *out;
	Size		out_left;
	const char *problem;
} CodecStep;

typedef struct Codec
{
	const char *name;
	bool		zero_padding;	/* zeros may follow the last frame */
	void	   *(*open) (void);	/* NULL: out of memory */
	CodecStatus (*decode) (void *state, CodecStep *step);
	void		(*close) (void *state);
} Codec;

#define IN_SIZE (64 * 1024)

typedef struct Decompressor
{
	Stream		stream;
	const Codec *codec;
	void	   *state;
	MemoryContextCallback callback;
	const char *path;
	bool		in_ended;
	bool		between;		/* frames, or before the first */
	int64		frames;
	int64		in_offset;		/* of in[0], in the file */
	Size		in_done;
	Size		in_length;
	char		in[IN_SIZE];
} Decompressor;

/* ---- gzip ---- */

#ifdef PGBULK_GZIP
static void *
gzip_open(void)
{
	z_stream   *stream = calloc(1, sizeof(z_stream));

	/* 16: only gzip, with its checksum; zlib's own format has no magic */
	if (stream != NULL && inflateInit2(stream, 15 + 16) != Z_OK)
	{
		free(stream);
		stream = NULL;
	}
	return stream;
}

static CodecStatus
gzip_decode(void *state, CodecStep *step)
{
	z_stream   *stream = state;
	int			rc;

	stream->next_in = (Bytef *) step->in;
	stream->avail_in = step->in_left;
	stream->next_out = (Bytef *) step->out;
	stream->avail_out = step->out_left;
	rc = inflate(stream, Z_NO_FLUSH);
	step->in = (const char *) stream->next_in;
	step->in_left = stream->avail_in;
	step->out = (char *) stream->next_out;
	step->out_left = stream->avail_out;

	switch (rc)
	{
		case Z_OK:
		case Z_BUF_ERROR:		/* no progress was possible: not an error */
			return CODEC_MORE;
		case Z_STREAM_END:
			inflateReset(stream);
			return CODEC_FRAME_END;
		default:
			step->problem = stream->msg ? stream->msg : zError(rc);
			return CODEC_CORRUPT;
	}
}

static void
gzip_close(void *state)
{
	inflateEnd(state);
	free(state);
}
#endif

/* ---- lz4 ---- */

#ifdef PGBULK_LZ4
static void *
lz4_open(void)
{
	LZ4F_dctx  *context = NULL;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return NULL;
	return context;
}

static CodecStatus
lz4_decode(void *state, CodecStep *step)
{
	Size		in = step->in_left;
	Size		out = step->out_left;
	size_t		rc = LZ4F_decompress(state, step->out, &out, step->in, &in, NULL);

	if (LZ4F_isError(rc))
	{
		step->problem = LZ4F_getErrorName(rc);
		return CODEC_CORRUPT;
	}
	step->in += in;
	step->in_left -= in;
	step->out += out;
	step->out_left -= out;
	return rc == 0 ? CODEC_FRAME_END : CODEC_MORE;
}

static void
lz4_close(void *state)
{
	LZ4F_freeDecompressionContext(state);
}
#endif

/* ---- zstd ---- */

#ifdef PGBULK_ZSTD
static void *
zstd_open(void)
{
	return ZSTD_createDStream();
}

static CodecStatus
zstd_decode(void *state, CodecStep *step)
{
	ZSTD_inBuffer in = {step->in, step->in_left, 0};
	ZSTD_outBuffer out = {step->out, step->out_left, 0};
	size_t		rc = ZSTD_decompressStream(state, &out, &in);

	step->in += in.pos;
	step->in_left -= in.pos;
	step->out += out.pos;
	step->out_left -= out.pos;
	if (ZSTD_isError(rc))
	{
		step->problem = ZSTD_getErrorName(rc);
		return CODEC_CORRUPT;
	}
	return rc == 0 ? CODEC_FRAME_END : CODEC_MORE;
}

static void
zstd_close(void *state)
{
	ZSTD_freeDStream(state);
}
#endif

/* ---- all of them ---- */

static const Codec codecs[] = {
	[BULK_COMPRESSION_GZIP] = {
		.name = "gzip",
		.zero_padding = true,
#ifdef PGBULK_GZIP
		.open = gzip_open,.decode = gzip_decode,.close = gzip_close
#endif
	},
	[BULK_COMPRESSION_LZ4] = {
		.name = "lz4",
#ifdef PGBULK_LZ4
		.open = lz4_open,.decode = lz4_decode,.close = lz4_close
#endif
	},
	[BULK_COMPRESSION_ZSTD] = {
		.name = "zstd",
#ifdef PGBULK_ZSTD
		.open = zstd_open,.decode = zstd_decode,.close = zstd_close
#endif
	}
};

/* A skippable frame of lz4 or zstd. */
static bool
is_skipped_frame(const char *data, Size length)
{
	return length >= DECOMPRESS_MAGIC && (data[0] & 0xf0) == 0x50 &&
		memcmp(data + 1, "\x2a\x4d\x18", 3) == 0;
}

BulkCompression
decompress_detect(const char *data, Size length)
{
	static const struct
	{
		const char	bytes[DECOMPRESS_MAGIC];
		uint8		length;
		BulkCompression compression;
	}			magics[] = {
		{{'\x1f', '\x8b', '\x08'}, 3, BULK_COMPRESSION_GZIP},
		{{'\x04', '\x22', '\x4d', '\x18'}, 4, BULK_COMPRESSION_LZ4},
		{{'\x28', '\xb5', '\x2f', '\xfd'}, 4, BULK_COMPRESSION_ZSTD}
	};

	for (int i = 0; i < lengthof(magics); i++)
		if (length >= magics[i].length &&
			memcmp(data, magics[i].bytes, magics[i].length) == 0)
			return magics[i].compression;

	/* zstd's tools (pzstd) begin files with one, lz4's do not */
	return is_skipped_frame(data, length) ?
		BULK_COMPRESSION_ZSTD : BULK_COMPRESSION_NONE;
}

/* Reads more input, after what is left of it; false at its end. */
static bool
read_on(Decompressor *decompressor)
{
	Size		left = decompressor->in_length - decompressor->in_done;
	Size		n;

	CHECK_FOR_INTERRUPTS();
	if (decompressor->in_ended)
		return false;
	memmove(decompressor->in, decompressor->in + decompressor->in_done, left);
	decompressor->in_offset += decompressor->in_done;
	decompressor->in_done = 0;
	n = stream_read(decompressor->stream.below, decompressor->in + left,
					IN_SIZE - left);
	decompressor->in_length = left + n;
	decompressor->in_ended = n == 0;
	return n > 0;
}

static bool
have_input(Decompressor *decompressor, Size least)
{
	while (decompressor->in_length - decompressor->in_done < least)
		if (!read_on(decompressor))
			return false;
	return true;
}

/* How many compressed bytes have been consumed. */
static int64
bytes_used(const Decompressor *decompressor)
{
	return decompressor->in_offset + decompressor->in_done;
}

/* For data that cannot be read: what may have happened to it on its way from the client. */
static int
hint_if_sent(const Decompressor *decompressor)
{
	if (strcmp(decompressor->path, SOURCE_CLIENT) != 0)
		return 0;
	return errhint("Some clients change what they send as text. With option \"compression\" set to \"%s\" they send it unchanged.",
				   decompressor->codec->name);
}

static void
report_truncated(const Decompressor *decompressor)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("%s data of file \"%s\" is not complete",
					decompressor->codec->name, decompressor->path),
			 errdetail("The file ends within it, after %lld bytes.",
					   (long long) bytes_used(decompressor)),
			 hint_if_sent(decompressor)));
}

static void
report_corrupt(const Decompressor *decompressor, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("%s data of file \"%s\" is corrupt",
					decompressor->codec->name, decompressor->path),
			 errdetail("Decompression failed at byte offset %lld of the compressed file: %s.",
					   (long long) bytes_used(decompressor), problem),
			 hint_if_sent(decompressor)));
}

static void
report_stranger(const Decompressor *decompressor)
{
	const char *name = decompressor->codec->name;

	if (decompressor->frames == 0)
		ereport(ERROR,
				(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
				 errmsg("file \"%s\" is not compressed with %s",
						decompressor->path, name)));
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("file \"%s\" has something else after its %s data",
					decompressor->path, name),
			 errdetail("It begins at byte offset %lld of the compressed file.",
					   (long long) bytes_used(decompressor))));
}

/* Between frames: whether another one follows. */
static bool
find_frame(Decompressor *decompressor)
{
	const Codec *codec = decompressor->codec;
	const char *in;
	Size		length;

	if (decompressor->frames > 0)
	{
		while (codec->zero_padding && have_input(decompressor, 1) &&
			   decompressor->in[decompressor->in_done] == '\0')
			decompressor->in_done++;
		if (!have_input(decompressor, 1))
			return false;
	}

	(void) have_input(decompressor, DECOMPRESS_MAGIC);
	in = decompressor->in + decompressor->in_done;
	length = decompressor->in_length - decompressor->in_done;
	if (length > 0 && !is_skipped_frame(in, length) &&
		decompress_detect(in, length) != codec - codecs)
		report_stranger(decompressor);
	return true;
}

static Size
read_decompressed(Stream *stream, char *to, Size size)
{
	Decompressor *decompressor = (Decompressor *) stream;
	CodecStep	step = {.out = to,.out_left = size};

	while (step.out == to)
	{
		const char *start;
		CodecStatus status;

		if (decompressor->between && !find_frame(decompressor))
			return 0;
		(void) have_input(decompressor, 1);
		start = step.in = decompressor->in + decompressor->in_done;
		step.in_left = decompressor->in_length - decompressor->in_done;
		status = decompressor->codec->decode(decompressor->state, &step);
		decompressor->in_done = step.in - decompressor->in;

		if (status == CODEC_CORRUPT)
			report_corrupt(decompressor, step.problem);
		decompressor->between = status == CODEC_FRAME_END;
		decompressor->frames += decompressor->between;

		/* the library may still have output in its own buffers */
		if (status == CODEC_MORE && step.in == start && step.out == to &&
			decompressor->in_ended)
			report_truncated(decompressor);
	}
	return step.out - to;
}

static int64
left_compressed(const Stream *stream)
{
	return stream_left_below(stream, bytes_used((const Decompressor *) stream));
}

static const StreamRoutine decompress_routine = {
	.read = read_decompressed,
	.left = left_compressed
};

static void
close_codec(void *arg)
{
	Decompressor *decompressor = arg;

	decompressor->codec->close(decompressor->state);
}

Stream *
decompress_open(Stream *below, BulkCompression compression, const char *path)
{
	const Codec *codec = &codecs[compression];
	Decompressor *decompressor;

	if (codec->open == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read file \"%s\": it is compressed with %s",
						path, codec->name),
				 errdetail("pgbulk was built without the library for %s.",
						   codec->name)));

	decompressor = palloc0(sizeof(Decompressor));
	stream_init(&decompressor->stream, &decompress_routine, below);
	decompressor->codec = codec;
	decompressor->path = path;
	decompressor->between = true;

	decompressor->state = codec->open();
	if (decompressor->state == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	decompressor->callback.func = close_codec;
	decompressor->callback.arg = decompressor;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &decompressor->callback);
	return &decompressor->stream;
}
