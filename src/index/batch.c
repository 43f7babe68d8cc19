/*
 * batch.c
 *		See batch.h.
 */
#include "postgres.h"

#include "catalog/pg_am_d.h"
#include "index/batch.h"

const BatchRoutine *
batch_routine(Relation index)
{
	if (!index->rd_index->indisready || index->rd_index->indisexclusion)
		return NULL;
	switch (index->rd_rel->relam)
	{
		case BRIN_AM_OID:
			return brin_batch_serves(index) ? &brin_batch : NULL;
		case GIN_AM_OID:
			return &gin_batch;
		case GIST_AM_OID:
		case SPGIST_AM_OID:
			return ordered_batch_serves(index) ? &ordered_batch : NULL;
		case HASH_AM_OID:
			return &hash_batch;
		default:
			return NULL;
	}
}
