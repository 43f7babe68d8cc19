/*
 * reject_table.c
 *		The reject table.
 *
 * Rejects are buffered in an arena as arrays of Datums and written in batches:
 * by table_multi_insert if the table has nothing but columns, by an INSERT of
 * whole arrays if it has indexes, triggers, rules, constraints or partitions.
 * Price per reject: about half a microsecond for the former, several for the
 * latter.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "reject/reject_columns.h"
#include "reject/reject_parts.h"
#include "row/arena.h"
#include "table/statement.h"

/* The columns before this one have the same value in all rows of a load. */
#define FIRST_ARRAY COLUMN_FILE

/* One buffered row. */
typedef struct RejectRow
{
	struct RejectRow *next;
	Size		size;			/* of its values */
	Datum		values[REJECT_NCOLUMNS];
	bool		nulls[REJECT_NCOLUMNS];
} RejectRow;

/* Maximum number of rows per table_multi_insert or INSERT. */
#define SLOTS 256
#define INSERT_ROWS 1000
#define INSERT_BYTES ((Size) 16 * 1024 * 1024)

/* Bytes of held rows written per batch. */
#define RELEASED_AT_ONCE ((Size) 1024 * 1024)

/* Bytes of input per call of a conversion procedure. */
#define CONVERT_PIECE (1024 * 1024)

struct RejectTable
{
	Relation	rel;
	MemoryContext context;
	MemoryContext flush_context;	/* reset after each batch */

	/* the same in every row */
	Datum		load_id;
	Datum		target;
	Datum		loaded_at;
	Datum		reasons[REJECT_NREASONS];

	/* whether raw is text, and its conversion to the database encoding */
	bool		binary;
	int			verify_encoding;
	int			file_encoding;
	Oid			conversion;		/* InvalidOid: not needed */
	bool		unconvertible;

	/* who has called the load: its triggers may have set another role since */
	Oid			user;

	/* buffered rows */
	Arena		arena;
	RejectRow  *first;
	RejectRow  *last;
	Size		buffered;

	/* rows that must survive a subtransaction */
	bool		held;
	Tuplestorestate *store;		/* NULL: none so far */
	TupleDesc	store_desc;

	/* fast path: table_multi_insert */
	bool		plain;
	CommandId	cid;
	BulkInsertState bulk_insert;
	AttrNumber	attnums[REJECT_NCOLUMNS];
	TupleTableSlot *slots[SLOTS];

	/* general path: INSERT */
	char	   *insert;
};

/* -- opening -- */

static void
check_privilege(Oid relid, const char *name)
{
	AclResult	result = pg_class_aclcheck(relid, GetUserId(), ACL_INSERT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result,
					   get_relkind_objtype(get_rel_relkind(relid)), name);
}

/*
 * Checks privileges before locking, so that nobody can wait for or lock a table
 * they may not use.
 */
static void
check_before_lock(const RangeVar *name, Oid relid, Oid old_relid, void *arg)
{
	if (OidIsValid(relid))
		check_privilege(relid, name->relname);
}

static void
check_table(RejectTable *table, Relation target)
{
	Relation	rel = table->rel;

	if (RelationGetRelid(rel) == RelationGetRelid(target))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table \"%s\" cannot be loaded and be its own reject table",
						RelationGetRelationName(rel))));
	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" cannot be a reject table",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (XactReadOnly && !rel->rd_islocaltemp)
		PreventCommandIfReadOnly("bulk_load");
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a reject table, as it has row-level security",
						RelationGetRelationName(rel)),
				 errhint("Name a table without policies that apply to you.")));
	reject_columns_find(rel, table->attnums);
}

/* Whether rows can be stored by the fast path: nothing else has to see or check them. */
static bool
is_plain(Relation rel)
{
	TupleConstr *constr = RelationGetDescr(rel)->constr;

	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relispartition || rel->rd_rel->relhasindex ||
		rel->trigdesc != NULL || rel->rd_rules != NULL)
		return false;
	if (constr != NULL &&
		(constr->has_not_null || constr->num_check > 0))
		return false;
	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attidentity != '\0' || att->attgenerated != '\0')
			return false;
	}
	return true;
}

/*
 * The INSERT of the general path.  It is prepared once and discarded, so that
 * the server's errors about it come before anything is read.  With several
 * arrays and no schema, unnest is always that of pg_catalog, whatever the
 * search path.
 */
static void
make_insert(RejectTable *table)
{
	Oid			argtypes[REJECT_NCOLUMNS];
	StringInfoData sql;
	SPIPlanPtr	plan;

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s SELECT ", statement_table(RelationGetRelid(table->rel)));
	for (int i = 0; i < FIRST_ARRAY; i++)
		appendStringInfo(&sql, "$%d, ", i + 1);
	appendStringInfoString(&sql, "r.* FROM unnest(");
	for (int i = FIRST_ARRAY; i < REJECT_NCOLUMNS; i++)
		appendStringInfo(&sql, "%s$%d", i == FIRST_ARRAY ? "" : ", ", i + 1);
	appendStringInfoString(&sql, ") r");

	for (int i = 0; i < REJECT_NCOLUMNS; i++)
		argtypes[i] = i < FIRST_ARRAY ? reject_columns[i].type : reject_columns[i].array_type;

	table->insert = sql.data;
	SPI_connect();
	plan = SPI_prepare(table->insert, REJECT_NCOLUMNS, argtypes);
	if (plan == NULL)
		elog(ERROR, "could not prepare the reject table's INSERT");
	SPI_finish();
}

/* How raw becomes text: by the rules of pg_any_to_server. */
static void
open_encoding(RejectTable *table, const BulkOptions *options)
{
	int			server = GetDatabaseEncoding();
	int			file = options->encoding;

	table->binary = !options_is_text(options);
	table->file_encoding = file;
	table->verify_encoding = server;
	if (file == server || file == PG_SQL_ASCII)
		return;
	if (server == PG_SQL_ASCII)
	{
		table->verify_encoding = file;
		return;
	}
	table->conversion = FindDefaultConversionProc(file, server);
	table->unconvertible = !OidIsValid(table->conversion);
}

/* Shows other extensions the INSERT that the fast path replaces. */
static void
show_insert(RejectTable *table)
{
	Bitmapset  *inserted = NULL;

	for (int i = 0; i < REJECT_NCOLUMNS; i++)
		inserted = bms_add_member(inserted,
								  table->attnums[i] - FirstLowInvalidHeapAttributeNumber);
	statement_insert(table->rel, inserted, NULL);
}

RejectTable *
reject_table_open(const BulkOptions *options, Relation target, int64 load_id)
{
	RejectTable *table = palloc0(sizeof(RejectTable));
	RangeVar   *name;
	Oid			relid;
	Refusal		refusal;

	table->context = CurrentMemoryContext;
	table->user = GetUserId();
	name = makeRangeVarFromNameList(compat_qualified_name_list(options->reject_table));
	relid = RangeVarGetRelidExtended(name, RowExclusiveLock, RVR_MISSING_OK,
									 check_before_lock, NULL);
	if (!OidIsValid(relid))
	{
		reject_columns_create(name);
		relid = RangeVarGetRelidExtended(name, RowExclusiveLock, 0,
										 check_before_lock, NULL);
	}
	table->rel = table_open(relid, NoLock);
	check_table(table, target);

	table->load_id = Int64GetDatum(load_id);
	table->target = CStringGetTextDatum(statement_table(RelationGetRelid(target)));
	table->loaded_at = TimestampTzGetDatum(GetCurrentTimestamp());
	for (int i = 0; i < REJECT_NREASONS; i++)
		table->reasons[i] = CStringGetTextDatum(reject_reason_names[i]);
	open_encoding(table, options);

	table->flush_context = AllocSetContextCreate(table->context,
												 "pgbulk reject table flush",
												 ALLOCSET_DEFAULT_SIZES);
	arena_init(&table->arena, table->context, 64 * 1024);

	/* the general path executes real statements */
	refusal = statement_refusal(table->rel);
	table->plain = is_plain(table->rel) && !refusal_is_any(&refusal);
	if (table->plain)
	{
		show_insert(table);
		table->cid = GetCurrentCommandId(true);
		table->bulk_insert = GetBulkInsertState();
	}
	else
		make_insert(table);
	return table;
}

/* -- putting rows into the buffer -- */

static Datum
copy_varlena(RejectTable *table, const char *data, size_t len)
{
	void	   *varlena = arena_alloc(&table->arena, VARHDRSZ + len);

	SET_VARSIZE(varlena, VARHDRSZ + len);
	memcpy(VARDATA(varlena), data, len);
	return PointerGetDatum(varlena);
}

/*
 * Converts raw to the database encoding.  False if it is not valid text; never
 * raises an error.
 */
static bool
convert_raw(RejectTable *table, const char *raw, size_t len, Datum *text)
{
	Size		room = VARHDRSZ + len * MAX_CONVERSION_GROWTH + 1;
	char	   *varlena = arena_alloc(&table->arena, room);
	char	   *dst = VARDATA(varlena);
	size_t		done = 0;

	while (done < len)
	{
		int			piece = Min(len - done, CONVERT_PIECE);
		int			converted;

		converted = pg_do_encoding_conversion_buf(table->conversion,
												  table->file_encoding,
												  GetDatabaseEncoding(),
												  (unsigned char *) raw + done,
												  piece,
												  (unsigned char *) dst,
												  piece * MAX_CONVERSION_GROWTH + 1,
												  true);

		/* a character cut off at the end of a piece is left for the next one */
		if (converted <= 0 ||
			(converted < piece && (piece < CONVERT_PIECE ||
								   converted <= piece - MAX_MULTIBYTE_CHAR_LEN)))
		{
			arena_trim(&table->arena, varlena, 0);
			return false;
		}
		done += converted;
		dst += strlen(dst);
	}

	if (dst - varlena > MaxAllocSize)
	{
		arena_trim(&table->arena, varlena, 0);
		return false;
	}
	SET_VARSIZE(varlena, dst - varlena);
	arena_trim(&table->arena, varlena, dst - varlena);
	*text = PointerGetDatum(varlena);
	return true;
}

/* Whether raw is valid text in the database encoding without conversion. */
static bool
raw_is_text(const RejectTable *table, const char *raw, size_t len)
{
	return pg_encoding_verifymbstr(table->verify_encoding, raw, len) == len;
}

static void
set_raw(RejectTable *table, RejectRow *row, const char *raw, size_t len)
{
	if (!table->binary && !table->unconvertible &&
		memchr(raw, '\0', len) == NULL)
	{
		if (OidIsValid(table->conversion))
		{
			if (convert_raw(table, raw, len, &row->values[COLUMN_RAW_LINE]))
				row->nulls[COLUMN_RAW_LINE] = false;
		}
		else if (raw_is_text(table, raw, len))
		{
			row->values[COLUMN_RAW_LINE] = copy_varlena(table, raw, len);
			row->nulls[COLUMN_RAW_LINE] = false;
		}
	}

	if (row->nulls[COLUMN_RAW_LINE])
	{
		row->values[COLUMN_RAW_BYTES] = copy_varlena(table, raw, len);
		row->nulls[COLUMN_RAW_BYTES] = false;
	}
}

static void
set_text(RejectTable *table, RejectRow *row, RejectColumn column,
		 const char *text)
{
	row->nulls[column] = text == NULL;
	if (text != NULL)
		row->values[column] = copy_varlena(table, text, strlen(text));
}

static void
add_row(RejectTable *table, RejectRow *row)
{
	if (table->last == NULL)
		table->first = row;
	else
		table->last->next = row;
	table->last = row;
	table->buffered += sizeof(RejectRow) + row->size;
}

void
reject_table_put(RejectTable *table, const Reject *reject)
{
	RejectRow  *row;
	char		sqlstate[6];
	Size		size = reject->raw_len + strlen(reject->message) +
		(reject->value != NULL ? strlen(reject->value) : 0) +
		(reject->row != NULL ? strlen(reject->row) : 0);

	if (size > MaxAllocSize - BLCKSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("bad row at file \"%s\", line %lld is too large for the reject table",
						reject->file, (long long) reject->line),
				 errdetail("Line, value and message have %zu bytes together; a row can have %zu.",
						   size, (Size) MaxAllocSize - BLCKSZ)));

	row = arena_alloc(&table->arena, sizeof(RejectRow));
	row->next = NULL;
	row->size = size;
	memset(row->nulls, 0, sizeof(row->nulls));
	row->values[COLUMN_LOAD_ID] = table->load_id;
	row->values[COLUMN_TARGET] = table->target;
	row->values[COLUMN_LOADED_AT] = table->loaded_at;
	set_text(table, row, COLUMN_FILE, reject->file);
	row->values[COLUMN_LINE_NUMBER] = Int64GetDatum(reject->line);
	row->values[COLUMN_BYTE_OFFSET] = Int64GetDatum(reject->offset);
	row->values[COLUMN_REASON] = table->reasons[reject->reason];
	set_text(table, row, COLUMN_COLUMN_NAME, reject->column);
	set_text(table, row, COLUMN_FIELD_VALUE, reject->value);
	reject_sqlstate(reject->sqlstate, sqlstate);
	set_text(table, row, COLUMN_SQLSTATE, sqlstate);
	set_text(table, row, COLUMN_MESSAGE, reject->message);
	row->nulls[COLUMN_RAW_LINE] = true;
	row->nulls[COLUMN_RAW_BYTES] = true;
	if (reject->row != NULL)
		set_text(table, row, COLUMN_RAW_LINE, reject->row);
	else
		set_raw(table, row, reject->raw, reject->raw_len);

	add_row(table, row);
}

bool
reject_table_is_plain(const RejectTable *table)
{
	return table->plain;
}

bool
reject_table_parallel_safe(const RejectTable *table)
{
	/*
	 * Logical decoding discards TOASTed values at the end of each multi-insert
	 * in the transaction: those of this table must not come between a worker's
	 * value and its row, nor the other way round.
	 */
	return table->plain && !RelationIsLogicallyLogged(table->rel);
}

Size
reject_table_buffered(const RejectTable *table)
{
	return table->buffered;
}

/* -- writing the buffer to the table -- */

/* Writes up to SLOTS rows starting with row; returns the next unwritten one. */
static RejectRow *
multi_insert(RejectTable *table, RejectRow *row)
{
	int			nslots = 0;
	int			natts = RelationGetDescr(table->rel)->natts;

	for (; row != NULL && nslots < SLOTS; row = row->next)
	{
		TupleTableSlot *slot = table->slots[nslots];

		if (slot == NULL)
		{
			MemoryContext caller = MemoryContextSwitchTo(table->context);

			slot = table->slots[nslots] = table_slot_create(table->rel, NULL);
			MemoryContextSwitchTo(caller);
		}
		ExecClearTuple(slot);
		memset(slot->tts_isnull, true, natts * sizeof(bool));
		for (int i = 0; i < REJECT_NCOLUMNS; i++)
		{
			slot->tts_values[table->attnums[i] - 1] = row->values[i];
			slot->tts_isnull[table->attnums[i] - 1] = row->nulls[i];
		}
		ExecStoreVirtualTuple(slot);
		nslots++;
	}
	table_multi_insert(table->rel, table->slots, nslots, table->cid, 0,
					   table->bulk_insert);
	for (int i = 0; i < nslots; i++)
		ExecClearTuple(table->slots[i]);
	return row;
}

static Datum
column_array(RejectRow *row, int nrows, int column)
{
	Datum	   *values = palloc(nrows * sizeof(Datum));
	bool	   *nulls = palloc(nrows * sizeof(bool));
	int			lower = 1;
	bool		fixed = reject_columns[column].type == INT8OID;

	for (int i = 0; i < nrows; i++, row = row->next)
	{
		values[i] = row->values[column];
		nulls[i] = row->nulls[column];
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &nrows, &lower,
											  reject_columns[column].type,
											  fixed ? 8 : -1,
											  fixed ? FLOAT8PASSBYVAL : false,
											  fixed ? TYPALIGN_DOUBLE : TYPALIGN_INT));
}

/* Runs the INSERT as the caller of the load, whose privileges were checked. */
static void
run_insert(RejectTable *table, Oid *argtypes, Datum *args)
{
	Oid			user;
	int			security;

	GetUserIdAndSecContext(&user, &security);
	if (user != table->user)
		SetUserIdAndSecContext(table->user, security | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	if (SPI_execute_with_args(table->insert, REJECT_NCOLUMNS, argtypes, args, NULL,
							  false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not insert into reject table");
	SPI_finish();
	if (user != table->user)
		SetUserIdAndSecContext(user, security);
}

/* The same by one INSERT. */
static RejectRow *
insert_batch(RejectTable *table, RejectRow *row)
{
	RejectRow  *next = row;
	Oid			argtypes[REJECT_NCOLUMNS];
	Datum		args[REJECT_NCOLUMNS];
	int			nrows = 0;
	Size		bytes = 0;

	do
	{
		bytes += next->size;
		next = next->next;
		nrows++;
	} while (next != NULL && nrows < INSERT_ROWS &&
			 bytes + next->size < INSERT_BYTES);

	for (int i = 0; i < REJECT_NCOLUMNS; i++)
	{
		if (i < FIRST_ARRAY)
		{
			argtypes[i] = reject_columns[i].type;
			args[i] = row->values[i];
		}
		else
		{
			argtypes[i] = reject_columns[i].array_type;
			args[i] = column_array(row, nrows, i);
		}
	}

	run_insert(table, argtypes, args);
	return next;
}

/* -- held rows -- */

static void
store_rows(RejectTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);

	for (RejectRow *row = table->first; row != NULL; row = row->next)
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(table->store, table->store_desc, row->values, row->nulls);
	}
	MemoryContextSwitchTo(caller);
}

void
reject_table_hold(RejectTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);
	TupleDesc	desc = CreateTemplateTupleDesc(REJECT_NCOLUMNS);

	for (int i = 0; i < REJECT_NCOLUMNS; i++)
		TupleDescInitEntry(desc, i + 1, reject_columns[i].name, reject_columns[i].type, -1, 0);
	compat_finalize_desc(desc);
	table->store_desc = desc;
	/* its file belongs to the current resource owner */
	table->store = tuplestore_begin_heap(false, false, work_mem);
	table->held = true;
	MemoryContextSwitchTo(caller);
}

static RejectRow *
copy_stored(RejectTable *table, TupleTableSlot *slot)
{
	RejectRow  *row = arena_alloc(&table->arena, sizeof(RejectRow));

	slot_getallattrs(slot);
	row->next = NULL;
	row->size = 0;
	for (int i = 0; i < REJECT_NCOLUMNS; i++)
	{
		row->values[i] = slot->tts_values[i];
		row->nulls[i] = slot->tts_isnull[i];
		if (!row->nulls[i] && TupleDescAttr(table->store_desc, i)->attlen == -1)
		{
			struct varlena *value = PG_DETOAST_DATUM_PACKED(row->values[i]);

			row->values[i] = copy_varlena(table, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
			row->size += VARSIZE_ANY_EXHDR(value);
		}
	}
	return row;
}

void
reject_table_release(RejectTable *table)
{
	TupleTableSlot *slot;

	reject_table_flush(table);
	table->held = false;
	slot = MakeSingleTupleTableSlot(table->store_desc, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(table->store, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		add_row(table, copy_stored(table, slot));
		if (table->buffered > RELEASED_AT_ONCE)
			reject_table_flush(table);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(table->store);
	table->store = NULL;
}

void
reject_table_flush(RejectTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->flush_context);

	if (table->held)
		store_rows(table);
	for (RejectRow *row = table->held ? NULL : table->first; row != NULL;)
	{
		CHECK_FOR_INTERRUPTS();
		row = table->plain ? multi_insert(table, row) : insert_batch(table, row);
		MemoryContextReset(table->flush_context);
	}
	MemoryContextSwitchTo(caller);

	table->first = table->last = NULL;
	table->buffered = 0;
	arena_reset(&table->arena);
}

void
reject_table_close(RejectTable *table)
{
	Assert(table->first == NULL);
	for (int i = 0; i < SLOTS && table->slots[i] != NULL; i++)
	{
		ExecDropSingleTupleTableSlot(table->slots[i]);
		table->slots[i] = NULL;
	}
	if (table->plain)
	{
		FreeBulkInsertState(table->bulk_insert);
		table_finish_bulk_insert(table->rel, 0);
	}
	table_close(table->rel, NoLock);
}

void
reject_table_abandon(RejectTable *table)
{
	table->first = table->last = NULL;
	tuplestore_end(table->store);
	table->store = NULL;
	reject_table_close(table);
}
