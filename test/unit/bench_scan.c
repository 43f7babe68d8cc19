/*
 * bench_scan.c
 *		Times scan_rows on made files of votes: plain and quoted csv, by kernel
 *		and by window size; and json_scan on made documents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scan/json.h"
#include "scan/scan.h"

#define NROWS 7500000
#define REPEATS 5

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static uint32_t
next_random(void)
{
	static uint64_t state = 42;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t) (state >> 33);
}

/* Votes: a name, a link and a score; quote is "" or "\"". */
static size_t
make_votes(char *out, const char *quote, const char *eol, bool text)
{
	char	   *s = out;

	for (int i = 0; i < NROWS; i++)
	{
		uint32_t	r = next_random();
		char		sep = text ? '\t' : ',';

		s += sprintf(s, "%suser%u%s%c%st3_%x%s%c", quote, r % 30000, quote,
					 sep, quote, next_random() & 0xffffff, quote, sep);
		if (text && r % 3 == 0)
			s += sprintf(s, "\\N%s", eol);
		else
			s += sprintf(s, "%s%d%s%s", quote, r % 2 ? 1 : -1, quote, eol);
	}
	return (size_t) (s - out);
}

/* JSON documents in csv: every quote doubled. */
static size_t
make_events(char *out)
{
	char	   *s = out;

	for (int i = 0; i < 100000; i++)
	{
		s += sprintf(s, "%d,\"{", i);
		for (uint32_t n = next_random() % 80; n > 0; n--)
			s += sprintf(s, "\"\"key%u\"\": \"\"some value %u\"\", ",
						 n, next_random() % 1000);
		s += sprintf(s, "}\",2026-01-01\n");
	}
	return (size_t) (s - out);
}

static void
time_scan(const char *name, const ScanDialect *dialect, const char *data,
		  size_t len, uint32_t window)
{
	uint32_t	max_rows = window / 4;
	uint32_t	max_fields = window / 2;
	ScanRow    *rows = malloc(max_rows * sizeof(ScanRow));
	ScanField  *fields = malloc(max_fields * sizeof(ScanField));
	double		best = 1e9;
	size_t		nrows = 0;
	size_t		nfields = 0;

	for (int i = 0; i < REPEATS; i++)
	{
		ScanEol		eol = SCAN_EOL_UNKNOWN;
		size_t		at = 0;
		double		start = now_ms();
		double		took;
		ScanResult	result;

		nrows = nfields = 0;
		do
		{
			size_t		left = len - at;
			uint32_t	length = left < window ? (uint32_t) left : window;

			scan_rows(dialect, &eol, data + at, length, length == left,
					  rows, max_rows, fields, max_fields, &result);
			at += result.consumed;
			nrows += result.nrows;
			nfields += result.nfields;
		} while (result.status == SCAN_MORE || result.status == SCAN_FULL);
		took = now_ms() - start;
		if (took < best)
			best = took;
	}
	printf("%-16s %-8s window %7u: %6.1f ms  %5.2f GB/s  %zu rows %zu fields\n",
		   name, scan_kernel()->name, window, best, len / best / 1e6,
		   nrows, nfields);
	free(rows);
	free(fields);
}

/* Orders of some items, a document in each line. */
static size_t
make_documents(char *out)
{
	char	   *s = out;

	for (int i = 0; i < 50000; i++)
	{
		s += sprintf(s, "{\"session\": \"%08x%08x\", \"items\": [", next_random(), next_random());
		for (uint32_t n = 3 + next_random() % 27; n > 0; n--)
			s += sprintf(s, "{\"sku\": %u, \"name\": \"some words of it\", \"price\": %u.%02u, \"tags\": [\"one\", \"two\"], "
						 "\"stock\": {\"in\": true, \"place\": \"here\"}}%s",
						 next_random() % 100000000, next_random() % 900, next_random() % 100, n > 1 ? ", " : "");
		s += sprintf(s, "]}\n");
	}
	return (size_t) (s - out);
}

static void
time_json(const char *data, size_t len)
{
	JsonNode   *nodes = malloc(JSON_MAX_NODES(1 << 16) * sizeof(JsonNode));
	double		best = 1e9;
	size_t		nnodes = 0;

	for (int i = 0; i < REPEATS; i++)
	{
		double		start = now_ms();
		double		took;

		nnodes = 0;
		for (const char *s = data; s < data + len;)
		{
			const char *end = memchr(s, '\n', (size_t) (data + len - s));

			nnodes += json_scan(s, (uint32_t) (end - s), nodes);
			s = end + 1;
		}
		took = now_ms() - start;
		if (took < best)
			best = took;
	}
	printf("%-16s %-8s %23.1f ms  %5.2f GB/s  %zu nodes\n", "documents",
		   scan_kernel()->name, best, len / best / 1e6, nnodes);
	free(nodes);
}

int
main(void)
{
	static const uint32_t windows[] = {65536, 131072, 262144, 524288, 1048576, 4194304};
	static const ScanDialect csv = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '"'};
	static const ScanDialect csv_escape = {.format = SCAN_CSV, .delimiter = ',', .quote = '"', .escape = '\\'};
	static const ScanDialect text = {.format = SCAN_TEXT, .delimiter = '\t'};
	char	   *data = malloc((size_t) 400 << 20);
	size_t		len;

	len = make_votes(data, "", "\n", false);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		time_scan("votes", &csv, data, len, windows[i]);
	for (const ScanKernel *const *kernel = scan_kernels; *kernel; kernel++)
	{
		if (!(*kernel)->supported())
			continue;
		scan_kernel_set(*kernel);
		len = make_votes(data, "", "\n", false);
		time_scan("votes", &csv, data, len, 262144);
		len = make_votes(data, "", "\r\n", false);
		time_scan("votes CRLF", &csv, data, len, 262144);
		len = make_votes(data, "\"", "\n", false);
		time_scan("votes quoted", &csv, data, len, 262144);
		time_scan("votes, escape \\", &csv_escape, data, len, 262144);
		len = make_votes(data, "", "\n", true);
		time_scan("votes text \\N", &text, data, len, 262144);
		len = make_events(data);
		time_scan("events", &csv, data, len, 262144);
		len = make_documents(data);
		time_json(data, len);
	}
	free(data);
	return 0;
}
