/*
 * wal_written.c
 *		See wal_written.h.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "server/wal_written.h"

uint64		wal_woken_at;

void
wal_wake_writer(void)
{
	wal_woken_at = pgWalUsage.wal_bytes;
	XLogSetAsyncXactLSN(XactLastRecEnd);
}
