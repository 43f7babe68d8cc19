/*
 * network.c
 *		See network.h.
 */
#include "postgres.h"

#include <sys/socket.h>

#include "format/convert.h"
#include "format/network.h"
#include "utils/inet.h"

static Datum
put_inet(Converter *conv, const Column *column, const ValueInet *inet)
{
	Size		length = inet->is_ipv6 ? 16 : 4;
	char	   *data;
	Datum		value = convert_varlena(conv, column,
										offsetof(inet_struct, ipaddr) + length, &data);

	data[offsetof(inet_struct, family)] = inet->is_ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET;
	data[offsetof(inet_struct, bits)] = inet->bits;
	memcpy(data + offsetof(inet_struct, ipaddr), inet->address, length);
	return value;
}

ValueResult
convert_inet(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	ValueInet	inet;

	if (value_inet(s, len, &inet) != VALUE_OK)
		return VALUE_ASK;
	*out = put_inet(conv, column, &inet);
	return VALUE_OK;
}

ValueResult
convert_cidr(Converter *conv, const Column *column, const char *s, uint32 len,
			 Datum *out)
{
	ValueInet	inet;

	if (value_inet(s, len, &inet) != VALUE_OK || !value_is_network(&inet))
		return VALUE_ASK;
	*out = put_inet(conv, column, &inet);
	return VALUE_OK;
}

ValueResult
convert_macaddr(Converter *conv, const Column *column, const char *s, uint32 len,
				Datum *out)
{
	macaddr    *address = arena_alloc(&conv->arena, sizeof(macaddr));

	*out = MacaddrPGetDatum(address);
	return value_macaddr(s, len, sizeof(macaddr), (uint8 *) address);
}

ValueResult
convert_macaddr8(Converter *conv, const Column *column, const char *s, uint32 len,
				 Datum *out)
{
	macaddr8   *address = arena_alloc(&conv->arena, sizeof(macaddr8));

	*out = Macaddr8PGetDatum(address);
	return value_macaddr(s, len, sizeof(macaddr8), (uint8 *) address);
}
