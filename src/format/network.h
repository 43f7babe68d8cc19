/*
 * network.h
 *		Addresses of networks and their interfaces from text.
 */
#ifndef PGBULK_NETWORK_H
#define PGBULK_NETWORK_H

#include "postgres.h"

#include "format/converter.h"

/* Converters (ConvertFunction) of the types of these names. */
extern ValueResult convert_inet(Converter *conv, const Column *column,
								const char *s, uint32 len, Datum *out);
extern ValueResult convert_cidr(Converter *conv, const Column *column,
								const char *s, uint32 len, Datum *out);
extern ValueResult convert_macaddr(Converter *conv, const Column *column,
								   const char *s, uint32 len, Datum *out);
extern ValueResult convert_macaddr8(Converter *conv, const Column *column,
									const char *s, uint32 len, Datum *out);

#endif							/* PGBULK_NETWORK_H */
