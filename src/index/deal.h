/*
 * deal.h
 *		Groups of keys on their way to ranges, in temporary files.
 *
 * A file holds what came for one range (split.h), in any order: each group's image and rows, and between them its sort
 * string, where that takes long to make.
 */
#ifndef PGBULK_DEAL_H
#define PGBULK_DEAL_H

#include "postgres.h"

#include "index/presort.h"
#include "index/split.h"
#include "storage/buffile.h"

/* Writes n rows with a key, for which split_find was asked last. */
extern void deal_write(BufFile *file, const Split *split, const char *image,
					   Size size, const RowId *rows, uint32 n);

/* Puts all that is in the file, from where it stands, into a presort for rows. */
extern void deal_read(BufFile *file, Presort *presort);

#endif							/* PGBULK_DEAL_H */
