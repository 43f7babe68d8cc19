/*
 * values_network.c
 *		Text to addresses of networks and their interfaces.
 */
#include "scan/values.h"
#include "scan/values_swar.h"

#define IPV4_BYTES 4
#define IPV6_BYTES 16
#define IPV6_GROUPS 8

/*
 * The value of a hexadecimal digit; sets *bad where it is none.  No branch, as
 * digits and letters alternate at random.
 */
static inline unsigned
hex_value(char c, bool *bad)
{
	unsigned	digit = (unsigned char) c - (unsigned) '0';
	unsigned	letter = ((unsigned char) c | 0x20) - (unsigned) 'a';

	*bad |= (digit > 9) & (letter > 5);
	return digit > 9 ? letter + 10 : digit;
}

/*
 * A number of up to three digits, not more than max, without a leading zero.
 * Returns what is after it, or NULL.
 */
static inline const char *
read_number(const char *s, const char *end, unsigned max, uint8_t *out)
{
	uint64_t	word = swar_load(s) ^ SWAR_ZEROS;
	uint64_t	stop = (word | ((word & ~SWAR_HIGHS) + UINT64_C(0x7676767676767676))) & SWAR_HIGHS;
	unsigned	digits = (unsigned) __builtin_ctzll(stop | UINT64_C(1) << 63) >> 3;
	uint32_t	aligned;
	unsigned	value;

	if (end - s < (ptrdiff_t) digits)
		digits = (unsigned) (end - s);
	if (digits < 1 || digits > 3)
		return NULL;
	/* the last digit in the high byte */
	aligned = (uint32_t) word << (4 - digits) * 8;
	value = (aligned >> 24) + (aligned >> 16 & 0xff) * 10 + (aligned >> 8 & 0xff) * 100;
	if (value > max || (digits > 1 && (word & 0xff) == 0))
		return NULL;
	*out = (uint8_t) value;
	return s + digits;
}

static inline const char *
read_ipv4(const char *s, const char *end, uint8_t *address)
{
	for (int i = 0; i < IPV4_BYTES; i++)
	{
		if (i > 0 && (s == end || *s++ != '.'))
			return NULL;
		s = read_number(s, end, 255, &address[i]);
		if (s == NULL)
			return NULL;
	}
	return s;
}

/* One to four hexadecimal digits. */
static inline const char *
read_group(const char *s, const char *end, uint8_t *address)
{
	const char *start = s;
	unsigned	value = 0;

	for (; s < end && s - start < 4; s++)
	{
		bool		bad = false;
		unsigned	digit = hex_value(*s, &bad);

		if (bad)
			break;
		value = value << 4 | digit;
	}
	address[0] = (uint8_t) (value >> 8);
	address[1] = (uint8_t) value;
	return s > start ? s : NULL;
}

static inline bool
ends_address(const char *s, const char *end)
{
	return s == end || *s == '/';
}

/* n groups, with the omitted ones, zeros, at gap. */
static inline void
insert_zeros(uint8_t *address, int n, int gap)
{
	size_t		moved = (size_t) (n - gap) * 2;

	memmove(address + IPV6_BYTES - moved, address + gap * 2, moved);
	memset(address + gap * 2, 0, (size_t) (IPV6_GROUPS - n) * 2);
}

static const char *
read_ipv6(const char *s, const char *end, uint8_t *address)
{
	int			n = 0;
	int			gap = -1;

	if (end - s >= 2 && s[0] == ':' && s[1] == ':')
	{
		s += 2;
		gap = 0;
	}
	while (!(gap == n && ends_address(s, end)))
	{
		if (n == IPV6_GROUPS || (s = read_group(s, end, address + n * 2)) == NULL)
			return NULL;
		n++;
		if (ends_address(s, end))
			break;
		if (*s++ != ':')
			return NULL;
		if (s < end && *s == ':')
		{
			if (gap >= 0)
				return NULL;
			gap = n;
			s++;
		}
	}
	if ((gap < 0) != (n == IPV6_GROUPS))
		return NULL;
	if (gap >= 0)
		insert_zeros(address, n, gap);
	return s;
}

ValueResult
value_inet(const char *s, size_t len, ValueInet *out)
{
	const char *end = s + len;
	const char *rest = read_ipv4(s, end, out->address);

	out->is_ipv6 = rest == NULL;
	if (out->is_ipv6)
		rest = read_ipv6(s, end, out->address);
	if (rest == NULL)
		return VALUE_ASK;
	out->bits = out->is_ipv6 ? IPV6_BYTES * 8 : IPV4_BYTES * 8;
	if (rest < end && *rest == '/')
		rest = read_number(rest + 1, end, out->bits, &out->bits);
	return rest == end ? VALUE_OK : VALUE_ASK;
}

bool
value_is_network(const ValueInet *inet)
{
	int			bytes = inet->is_ipv6 ? IPV6_BYTES : IPV4_BYTES;
	int			byte = inet->bits / 8;

	if (byte < bytes && (inet->address[byte] & 0xff >> inet->bits % 8) != 0)
		return false;
	while (++byte < bytes)
		if (inet->address[byte] != 0)
			return false;
	return true;
}

ValueResult
value_macaddr(const char *s, size_t len, size_t n, uint8_t *out)
{
	char		between = s[2];
	bool		bad = false;

	if (len != 3 * n - 1 || (between != ':' && between != '-'))
		return VALUE_ASK;
	for (size_t i = 0; i < n; i++, s += 3)
	{
		bad |= i > 0 && s[-1] != between;
		out[i] = (uint8_t) (hex_value(s[0], &bad) << 4 | hex_value(s[1], &bad));
	}
	return bad ? VALUE_ASK : VALUE_OK;
}
