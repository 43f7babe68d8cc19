/*
 * load_id.c
 *		See load_id.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/sequence.h"
#include "load/load_id.h"
#include "utils/lsyscache.h"

int64
load_id_next(Oid schema)
{
	Oid			sequence;

	if (XactReadOnly)
		return 0;
	sequence = get_relname_relid("bulk_load_id", schema);
	if (!OidIsValid(sequence))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence \"bulk_load_id\" of extension \"pgbulk\" does not exist")));
	return nextval_internal(sequence, false);
}
