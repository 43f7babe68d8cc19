/*
 * held_interrupts.h
 *		Goes on after an error where interrupts are held.
 *
 * An error that is thrown sets the counts of HOLD_INTERRUPTS to zero (errfinish), as most are
 * caught where nothing is held.  Whoever catches one and returns to code that holds interrupts
 * saves the counts before PG_TRY, and restores them: else RESUME_INTERRUPTS would make a count of
 * four billion, and the session would never be canceled or ended again.
 */
#ifndef PGBULK_HELD_INTERRUPTS_H
#define PGBULK_HELD_INTERRUPTS_H

#include "postgres.h"

#include "miscadmin.h"

typedef struct HeldInterrupts
{
	uint32		all;
	uint32		cancels;
} HeldInterrupts;

static inline HeldInterrupts
held_interrupts(void)
{
	return (HeldInterrupts) {.all = InterruptHoldoffCount,.cancels = QueryCancelHoldoffCount};
}

/* In PG_CATCH, after FlushErrorState. */
static inline void
held_interrupts_restore(HeldInterrupts held)
{
	InterruptHoldoffCount = held.all;
	QueryCancelHoldoffCount = held.cancels;
}

#endif							/* PGBULK_HELD_INTERRUPTS_H */
