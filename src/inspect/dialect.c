/*
 * dialect.c
 *		See dialect.h.
 */
#include "inspect/dialect.h"

#include <string.h>

#include "inspect/charset.h"
#include "inspect/dialect_trial.h"
#include "inspect/quoting.h"

/* Of a span, what the delimiter is guessed from. */
#define PROBE_LENGTH (256 * 1024)

/* Bytes that delimit, and how usual that is. */
static const struct
{
	char		byte;
	float		prior;
}			delimiters[] = {
	{',', 1.0f}, {'\t', 1.05f}, {';', 1.0f}, {'|', 1.0f}, {'\001', 0.95f},
	{'\x1f', 0.95f}, {'\x1e', 0.9f}, {'\x1c', 0.9f}, {'\002', 0.9f},
	{'\007', 0.9f}, {'~', 0.8f}, {'^', 0.8f}, {'!', 0.7f}, {'%', 0.75f},
	{':', 0.65f}, {'#', 0.5f}, {' ', 0.55f}, {'=', 0.25f}
};

#define DELIMITERS (sizeof(delimiters) / sizeof(delimiters[0]))

/* Delimiters below that are found within values more often than between them. */
#define USUAL_PRIOR 0.78f

/*
 * Nothing that keyboards have: one that is not in the file stands for no quote,
 * or for no delimiter.
 */
static const char absent[] = "\b\001\002\003\004\005\006\016\017\020\021\022";

static const char *const comments[] = {"#", "//", "%", "@@"};

#define COMMENTS (sizeof(comments) / sizeof(comments[0]))

/* Work space of the trials, too large for the stack. */
typedef struct Guess
{
	SheetSpan	span;			/* at most PROBE_LENGTH of ... */
	const SheetSpan *all;
	const DialectHints *hints;
	SheetSpace *space;
	bool		has[256];		/* bytes that occur */
	const char *comment;		/* what comments seem to begin with, or NULL */
	const char *suspect;		/* the same, until it is confirmed */
	char		no_quote;
	char		no_delimiter;
	bool		lines_whole;	/* the best has lines that are mostly one value each */
	DialectTrial		trial;
	Dialect		best;
} Guess;

/* ---- one trial ---- */

static void
copy_dialect(Dialect *to, const Dialect *from)
{
	*to = *from;
	if (to->scan.separator != NULL)
		to->scan.separator = to->separator;
	if (to->scan.comment != NULL)
		to->scan.comment = to->comment;
}

/*
 * Shows the trial its rows, which are to have nfields fields if that is not 0.
 * Returns how far it came.
 */
static uint32_t
walk_trial(Guess *guess, ScanEol eol, float prior, uint32_t nfields)
{
	DialectTrial	   *trial = &guess->trial;
	Dialect		dialect = trial->dialect;

	memset(trial, 0, sizeof(*trial));
	copy_dialect(&trial->dialect, &dialect);
	trial->suspect = guess->suspect;
	trial->unusual = prior < USUAL_PRIOR && guess->hints->delimiter == NULL;
	trial->alone = trial->dialect.scan.delimiter == guess->no_delimiter;
	trial->dialect.eol = eol;
	trial->dialect.scan.general = eol == SCAN_EOL_ANY ||
		trial->dialect.scan.separator != NULL ||
		trial->dialect.scan.comment != NULL;
	return sheet_walk_table(&guess->span, &trial->dialect.scan, nfields,
							&trial->dialect.eol, guess->space, dialect_try_row, trial);
}

/* Tries guess->trial.dialect; begins with the line ends of eol. */
static void
run_trial(Guess *guess, ScanEol eol, float prior)
{
	DialectTrial	   *trial = &guess->trial;
	uint32_t	end;
	double		covered;

	end = walk_trial(guess, eol, prior, 0);

	/*
	 * a broken quote turns the quotes of all that follows inside out, unless
	 * rows must be as long as others
	 */
	if (trial->swallowed > 0)
		end = walk_trial(guess, eol, prior, dialect_usual_length(trial));

	/* where a quote is never closed the rest cannot be read */
	covered = trial->rows >= DIALECT_ROWS || guess->span.length < 1024 ? 1.0 :
		(double) end / guess->span.length;
	trial->dialect.quotes = trial->quoted > 0;
	trial->dialect.score = dialect_score(trial, prior, covered);
}
/* ---- the trials ---- */

static void
set_delimiter(Dialect *dialect, const char *delimiter, size_t length)
{
	memcpy(dialect->separator, delimiter, length);
	dialect->separator[length] = '\0';
	dialect->scan.delimiter = delimiter[0];
	dialect->scan.separator = length > 1 ? dialect->separator : NULL;
	dialect->scan.separator_length = length;
}

static void
set_comment(Dialect *dialect, const char *comment)
{
	dialect->comment[0] = '\0';
	dialect->scan.comment = NULL;
	dialect->scan.comment_length = 0;
	if (comment == NULL)
		return;
	strncpy(dialect->comment, comment, sizeof(dialect->comment) - 1);
	dialect->scan.comment = dialect->comment;
	dialect->scan.comment_length = strlen(dialect->comment);
}

static void
try_quote(Guess *guess, const char *delimiter, size_t length, float prior,
		  char quote, char escape)
{
	DialectTrial	   *trial = &guess->trial;

	memset(&trial->dialect, 0, sizeof(trial->dialect));
	trial->dialect.scan.format = SCAN_CSV;
	set_delimiter(&trial->dialect, delimiter, length);
	set_comment(&trial->dialect, guess->comment);
	trial->dialect.scan.quote = quote;
	trial->dialect.scan.escape = escape;
	trial->dialect.no_quote = quote == guess->no_quote;
	if (memchr(delimiter, quote, length) != NULL)
		return;
	run_trial(guess, guess->hints->any_newline ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN,
			  prior);

	/* a quote that stands around nothing is none */
	if (quote == '\'' && guess->hints->quote == '\0' && !trial->dialect.quotes)
		return;
	if (trial->dialect.score > guess->best.score)
	{
		copy_dialect(&guess->best, &trial->dialect);
		guess->lines_whole = trial->whole * 2 > trial->lines;
	}
}

/* Whether that stands in the file. */
static bool
has_pair(const Guess *guess, char first, char second)
{
	const char *s = guess->all->data;
	const char *end = s + guess->all->length;

	while ((s = memchr(s, first, end - s)) != NULL && s + 1 < end)
		if (*++s == second)
			return true;
	return false;
}

static void
try_delimiter(Guess *guess, const char *delimiter, size_t length, float prior)
{
	const DialectHints *hints = guess->hints;
	const char	quotes[] = {'"', '\'', guess->no_quote};

	for (int i = 0; i < 3; i++)
	{
		char		quote = quotes[i];

		if (hints->quote != '\0')
		{
			if (i > 0)
				break;
			quote = hints->quote;
		}
		else if (i == 1 && !guess->has['\''])
			continue;
		else if (i == 2 && !guess->has['"'])
			continue;
		try_quote(guess, delimiter, length, prior, quote,
				  hints->escape != '\0' ? hints->escape : quote);
		if (hints->escape == '\0' && i < 2 && has_pair(guess, '\\', quote))
			try_quote(guess, delimiter, length, prior, quote, '\\');
	}
}

/* Whether a delimiter of several bytes may have that in it. */
static bool
may_delimit(char c)
{
	return (unsigned char) c >= 0x80 ||
		(c != '\0' && strchr("|~^:;,#*!@$%&<>\t\001\002\007\x1f", c) != NULL);
}

/* How likely it is one: commas side by side are empty fields. */
static float
long_prior(const char *delimiter)
{
	if (strspn(delimiter, ",;\t") == strlen(delimiter))
		return 0.5f;
	return (unsigned char) delimiter[0] < 0x80 ? 1.0f : 0.9f;
}

/* Delimiters of several bytes that the first line may have. */
static void
try_long_delimiters(Guess *guess)
{
	const char *s = guess->span.data;
	uint32_t	length = guess->span.length < 4096 ? guess->span.length : 4096;
	char		seen[4][9];
	int			nseen = 0;

	for (uint32_t at = 0; at < length && nseen < 4; at++)
	{
		uint32_t	n = 0;
		bool		known = false;

		if (s[at] == '\n' || s[at] == '\r')
			break;
		while (at + n < length && may_delimit(s[at + n]))
			n++;
		if (n >= 2 && n <= 8 && at > 0 &&
			(guess->hints->non_ascii || scan_is_ascii(s + at, n)) &&
			charset_invalid_utf8(s + at, n, true) == 0)
		{
			for (int i = 0; i < nseen; i++)
				known |= strlen(seen[i]) == n && memcmp(seen[i], s + at, n) == 0;
			if (!known)
			{
				memcpy(seen[nseen], s + at, n);
				seen[nseen++][n] = '\0';
			}
		}
		at += n;
	}
	for (int i = 0; i < nseen; i++)
		try_delimiter(guess, seen[i], strlen(seen[i]), long_prior(seen[i]));
}

/* ---- what is decided after the delimiter ---- */

static void
retry(Guess *guess, ScanEol eol)
{
	copy_dialect(&guess->trial.dialect, &guess->best);
	run_trial(guess, eol, 1.0f);
}

/* Discards the comment prefix if such rows are like all others. */
static bool
check_comment(Guess *guess)
{
	DialectTrial	   *trial = &guess->trial;
	uint32_t	columns = guess->best.columns;
	uint32_t	all = 0;

	if (guess->comment == NULL || guess->hints->comment != NULL)
		return false;
	guess->suspect = guess->comment;
	copy_dialect(&trial->dialect, &guess->best);
	set_comment(&trial->dialect, NULL);
	run_trial(guess, SCAN_EOL_UNKNOWN, 1.0f);
	guess->suspect = NULL;
	for (uint32_t n = 0; n <= DIALECT_FIELDS; n++)
		all += trial->suspects[n];
	return all == 0 || trial->suspects[columns] * 2 > all || trial->rows == 0;
}

/* Lines that end in another way than the first, if more rows fit then. */
static void
decide_newline(Guess *guess)
{
	DialectTrial	   *trial = &guess->trial;
	uint32_t	ends = trial->ends;
	uint32_t	alike;

	if (ends == 0 || guess->best.eol == SCAN_EOL_ANY)
		return;
	alike = trial->lengths[guess->best.columns];
	retry(guess, SCAN_EOL_ANY);
	if (trial->dialect.columns == guess->best.columns &&
		trial->lengths[guess->best.columns] >= alike)
	{
		guess->best.eol = SCAN_EOL_ANY;
		guess->best.scan.general = true;
	}
	else
		retry(guess, SCAN_EOL_UNKNOWN);
}

/*
 * One column has no delimiter: the usual one then, unless values have that in them, as
 * sentences and documents do, or a line here and there.
 */
static void
set_no_delimiter(Guess *guess)
{
	const DialectTrial *trial = &guess->trial;
	uint32_t	split;

	set_delimiter(&guess->best, ",", 1);
	if (!guess->has[','])
		return;
	retry(guess, guess->best.eol == SCAN_EOL_ANY ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN);
	split = trial->rows - trial->lengths[1];
	guess->best.no_delimiter = split > 0 &&
		(split * 10 < trial->rows * 3 || trial->spaced * 2 > trial->later ||
		 guess->lines_whole);
	if (guess->best.no_delimiter)
		set_delimiter(&guess->best, &guess->no_delimiter, 1);
}

/* What COPY and pg_dump write: no quotes, but \N and other backslashes. */
static bool
is_text_format(const Guess *guess)
{
	const DialectTrial *trial = &guess->trial;
	char		delimiter = guess->best.scan.delimiter;

	if (guess->hints->has_format)
		return guess->hints->format == SCAN_TEXT;
	if (guess->hints->quote != '\0' || guess->hints->escape != '\0' ||
		guess->best.columns < 1 || delimiter == '\\' || delimiter == '.' ||
		guess->best.scan.separator != NULL)
		return false;
	if (trial->markers + trial->escapes <= trial->quoted)
		return false;
	return delimiter == '\t' || trial->markers > 0;
}

static void
set_text_format(Guess *guess)
{
	Dialect    *best = &guess->best;

	/* of one column, with nothing but \N in it */
	if (best->columns == 1 && guess->hints->delimiter == NULL)
		set_delimiter(best, "\t", 1);
	best->scan.format = SCAN_TEXT;
	best->scan.quote = best->scan.escape = '\0';
	best->quotes = best->no_quote = false;
	retry(guess, best->eol == SCAN_EOL_ANY ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN);

	/* none if the only line ends are data */
	if (guess->trial.dialect.columns > 0)
		best->columns = guess->trial.dialect.columns;
}

/* What may begin comments: the prefix of a line at the start of the file or further in. */
static const char *
find_comment(const Guess *guess)
{
	const char *s = guess->span.data;
	const char *end = s + guess->span.length;

	if (guess->hints->comment != NULL)
		return guess->hints->comment;
	for (size_t i = 0; i < COMMENTS; i++)
		if (dialect_begins_with(s, end - s, comments[i]))
			return comments[i];
	while (s < end && (s = memchr(s, '\n', end - s)) != NULL)
		if (++s < end && *s == '#')
			return "#";
		else if (dialect_begins_with(s, end - s, "@@") || dialect_begins_with(s, end - s, "//"))
			return *s == '@' ? "@@" : "//";
	return NULL;
}

/* A byte that the file does not have; but for one that is taken already. */
static char
find_absent(const Guess *guess, char taken)
{
	for (const char *c = absent; *c != '\0'; c++)
		if (!guess->has[(unsigned char) *c] && *c != taken)
			return *c;
	return absent[0];
}

static void
try_all(Guess *guess)
{
	const DialectHints *hints = guess->hints;

	if (hints->delimiter != NULL)
	{
		try_delimiter(guess, hints->delimiter,
					  strnlen(hints->delimiter, DIALECT_SEPARATOR), 1.0f);
		return;
	}
	for (size_t i = 0; i < DELIMITERS; i++)
		if (i == 0 || guess->has[(unsigned char) delimiters[i].byte])
			try_delimiter(guess, &delimiters[i].byte, 1, delimiters[i].prior);
	try_long_delimiters(guess);

	/* one column, in which commas are part of the values */
	if (guess->has[','])
		try_delimiter(guess, &guess->no_delimiter, 1, 1.0f);
}

/* ---- quotes ---- */

/* Takes other quotes if the file would lose less by them. */
static void
weigh_quoting(Guess *guess, char quote, char escape, char mark, double *least)
{
	Dialect		dialect;
	uint32_t	merged;
	double		cost;

	copy_dialect(&dialect, &guess->best);
	dialect.scan.quote = quote;
	dialect.scan.escape = escape;
	dialect.no_quote = quote == guess->no_quote;
	if (strchr(dialect.separator, quote) != NULL)
		return;
	cost = quoting_cost(guess->all, &dialect, mark, guess->space, &merged);
	if (*least >= 0 && cost >= *least)
		return;
	*least = cost;
	dialect.merged = merged;
	copy_dialect(&guess->best, &dialect);
}

/*
 * Quotes and escapes are decided by the whole sample, as the few that matter
 * may be anywhere.  If undecided, quotes are doubled.
 */
static void
decide_quoting(Guess *guess)
{
	const DialectHints *hints = guess->hints;
	char		mark = guess->best.no_quote ? '"' : guess->best.scan.quote;
	char		escape = hints->escape != '\0' ? hints->escape : mark;
	double		least = -1;

	if (!guess->has[(unsigned char) mark])
		return;
	if (hints->quote != '\0' && hints->escape != '\0')
		return;
	weigh_quoting(guess, mark, escape, mark, &least);
	if (hints->escape == '\0' && has_pair(guess, '\\', mark))
		weigh_quoting(guess, mark, '\\', mark, &least);
	if (hints->quote == '\0')
		weigh_quoting(guess, guess->no_quote, guess->no_quote, mark, &least);
}

void
dialect_guess(const SheetSpan *span, const DialectHints *hints,
			  SheetSpace *space, Dialect *dialect)
{
	Guess		guess = {.span = *span, .all = span, .hints = hints, .space = space};
	bool		text;

	if (span->length > PROBE_LENGTH)
	{
		guess.span.length = PROBE_LENGTH;
		guess.span.to_end = false;
	}
	for (uint32_t i = 0; i < span->length; i++)
		guess.has[(unsigned char) span->data[i]] = true;
	guess.no_quote = find_absent(&guess, '\0');
	guess.no_delimiter = find_absent(&guess, guess.no_quote);
	guess.comment = find_comment(&guess);

	/* what a file of nothing has */
	guess.best.scan.format = SCAN_CSV;
	set_delimiter(&guess.best, hints->delimiter != NULL ? hints->delimiter : ",",
				  hints->delimiter != NULL ? strnlen(hints->delimiter, DIALECT_SEPARATOR) : 1);
	guess.best.scan.quote = hints->quote != '\0' ? hints->quote : '"';
	guess.best.scan.escape = hints->escape != '\0' ? hints->escape : guess.best.scan.quote;
	guess.best.eol = hints->any_newline ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN;
	guess.best.columns = 1;

	try_all(&guess);
	if (check_comment(&guess))
	{
		guess.comment = NULL;
		guess.best.score = 0;
		try_all(&guess);
	}

	if (guess.best.columns == 1 && hints->delimiter == NULL)
		set_no_delimiter(&guess);
	set_comment(&guess.best, guess.comment);
	if (!hints->has_format || hints->format == SCAN_CSV)
		decide_quoting(&guess);
	retry(&guess, guess.best.eol == SCAN_EOL_ANY ? SCAN_EOL_ANY : SCAN_EOL_UNKNOWN);
	text = is_text_format(&guess);
	if (text)
		set_text_format(&guess);
	decide_newline(&guess);
	copy_dialect(dialect, &guess.best);
}
