/*
 * fixed_fields.h
 *		Option fields: positions and types of the fields of format fixed.
 */
#ifndef PGBULK_FIXED_FIELDS_H
#define PGBULK_FIXED_FIELDS_H

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
	bool		named;			/* false: they are the columns, or arguments, in order */
	List	   *names;			/* of char *, of the fields that are loaded */
	bool		binary;			/* some field is not text */
	uint32		shared_bytes;	/* upper bound of bytes that belong to more than one field */
	BulkField  *fields;			/* as many as scan has */
	ScanFixedField *places;		/* scan's */
	ScanFixed	scan;
} BulkFields;

/* Other options that fields depend on. */
typedef struct FieldDefaults
{
	List	   *nulls;			/* of char *, for text fields */
	bool		big_endian;
	ScanTrim	trim;
	bool		must_be_ascii;	/* null strings must be ASCII, as the file has another encoding */
	int64		record_length;	/* 0: rows are lines */
	bool		cut;			/* as in ScanFixed */
	bool		ignore_extra;
} FieldDefaults;

/* Maximum record length and field end. */
#define FIELDS_MAX_LENGTH 1000000000

/*
 * Parses and checks the JSON array of fields, in the current memory context.
 * Errors: 22023, naming the field by its number.
 */
extern BulkFields *fields_open(JsonbValue *json, const FieldDefaults *defaults);

/* Field number index belongs to a column of numbers, which may be padded on the left. */
extern void fields_justify(BulkFields *fields, int index);

#endif							/* PGBULK_FIXED_FIELDS_H */
