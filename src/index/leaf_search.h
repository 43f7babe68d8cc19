/*
 * leaf_search.h
 *		What all who search a btree for sorted keys, leaf by leaf, ask of nbtree.
 */
#ifndef PGBULK_LEAF_SEARCH_H
#define PGBULK_LEAF_SEARCH_H

#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_type_d.h"

/* A search key for all columns of the index, without values.  Memory: the current context. */
static inline BTScanInsert
leaf_search_key(Relation index)
{
	BTScanInsert key = _bt_mkscankey(index, NULL);

	_bt_metaversion(index, &key->heapkeyspace, &key->allequalimage);
	key->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	return key;
}

/*
 * Whether keys that are equal have equal images.  What the operator classes say of that
 * (allequalimage) is the condition for deduplication, and nearly it: bpchar's says so, and yet
 * blanks at the end do not count.
 */
static inline bool
leaf_search_is_bytewise(Relation index, bool allequalimage)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_opcintype[i] == BPCHAROID)
			return false;
	return allequalimage;
}

/* As _bt_mkscankey does for a tuple, which must stay; returns whether a column is null. */
static inline bool
leaf_search_set(Relation index, BTScanInsert key, IndexTuple tuple)
{
	bool		nulls = false;

	for (int i = 0; i < key->keysz; i++)
	{
		ScanKey		column = &key->scankeys[i];
		bool		isnull;

		column->sk_argument = index_getattr(tuple, i + 1, RelationGetDescr(index), &isnull);
		column->sk_flags = (isnull ? SK_ISNULL : 0) |
			(index->rd_indoption[i] << SK_BT_INDOPTION_SHIFT);
		nulls |= isnull;
	}
	return nulls;
}

/* As the server compares: the key is not behind the leaf if that is not above 0. */
static inline int
leaf_search_compare_high(Relation index, BTScanInsert key, Page page)
{
	if (P_RIGHTMOST(BTPageGetOpaque(page)))
		return -1;
	return _bt_compare(index, key, page, P_HIKEY);
}

/*
 * As _bt_keep_natts_fast > n for tuples without a compressed or wide value, which it looks at
 * if there is one: what is the same so far begins at the same place in both.
 */
static inline bool
leaf_search_same_images(Relation index, IndexTuple a, IndexTuple b, int n)
{
	TupleDesc	desc = RelationGetDescr(index);
	const char *bytes_a = (const char *) a + IndexInfoFindDataOffset(a->t_info);
	const char *bytes_b = (const char *) b + IndexInfoFindDataOffset(b->t_info);
	Size		offset = 0;

	if (IndexTupleHasNulls(a) || IndexTupleHasNulls(b))
		return _bt_keep_natts_fast(index, a, b) > n;
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Size		size;

		if (attribute->attlen > 0)
		{
			offset = att_align_nominal(offset, attribute->attalign);
			size = attribute->attlen;
		}
		/* what aligns another value is no header of a short one */
		else if (attribute->attlen == -1 && VARATT_IS_1B(bytes_a + offset) &&
				 VARATT_IS_1B(bytes_b + offset))
		{
			size = VARSIZE_1B(bytes_a + offset);
			if (size != VARSIZE_1B(bytes_b + offset))
				return false;
		}
		else
			return _bt_keep_natts_fast(index, a, b) > n;
		if (memcmp(bytes_a + offset, bytes_b + offset, size) != 0)
			return false;
		offset += size;
	}
	return true;
}

/*
 * Whether an item, a posting list or not, has the search key, which is that of a tuple.  Where
 * equal keys have equal images (bytewise) no collation is asked.
 */
static inline bool
leaf_search_is_equal(Relation index, BTScanInsert key, bool bytewise, IndexTuple tuple,
					 Page page, OffsetNumber offset)
{
	if (bytewise)
		return leaf_search_same_images(index, tuple, (IndexTuple)
									   PageGetItem(page, PageGetItemId(page, offset)),
									   key->keysz);
	return _bt_compare(index, key, page, offset) == 0;
}

#endif							/* PGBULK_LEAF_SEARCH_H */
