/*
 * fields.h
 *		Option fields: where the fields of a fixed format stand, and what they are.
 */
#ifndef PGBULK_FIELDS_H
#define PGBULK_FIELDS_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "scan/scan.h"
#include "utils/jsonb.h"

typedef enum BulkFieldType
{
	BULK_FIELD_TEXT,
	BULK_FIELD_INT2,
	BULK_FIELD_INT4,
	BULK_FIELD_INT8,
	BULK_FIELD_UINT2,
	BULK_FIELD_UINT4,
	BULK_FIELD_FLOAT4,
	BULK_FIELD_FLOAT8
} BulkFieldType;

typedef struct BulkField
{
	BulkFieldType type;
	bool		big_endian;
} BulkField;

typedef struct BulkFields
{
	bool		named;			/* else they are the columns, or arguments, in order */
	List	   *names;			/* of char *, of those that are loaded */
	bool		binary;			/* some field is no text */
	uint32		shared_bytes;	/* at most so many are in more than one field */
	BulkField  *fields;			/* as many as scan has */
	ScanFixedField *places;		/* scan's */
	ScanFixed	scan;
} BulkFields;

/* What else matters to them. */
typedef struct FieldDefaults
{
	List	   *nulls;			/* of char *, for texts */
	bool		big_endian;
	ScanTrim	trim;
	bool		must_be_ascii;	/* null strings, as the file is in another encoding */
	int64		record_length;	/* 0: rows are lines */
	bool		cut;			/* as in ScanFixed */
	bool		ignore_extra;
} FieldDefaults;

/* Longest record, and farthest end of a field. */
#define FIELDS_MAX_LENGTH 1000000000

/*
 * Reads and checks the JSON array of fields.  Memory: the current context.
 * Errors: 22023, which name the field by its number.
 */
extern BulkFields *fields_open(JsonbValue *json, const FieldDefaults *defaults);

/* Field number index is for a column of numbers: they may have their padding before them. */
extern void fields_justify(BulkFields *fields, int index);

#endif							/* PGBULK_FIELDS_H */
