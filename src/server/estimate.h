/*
 * estimate.h
 *		Estimates how much of a piece of work is done, and when it will end.
 *
 * Work consists of steps.  At the start of each, the caller gives the expected
 * duration of the step and of all following ones, if known.  While a step is
 * running, the caller reports the fraction done, and the pace so far gradually
 * replaces the initial estimate.  The reported share never decreases, and
 * reaches 1 only at the end.
 *
 * Pure C: no server header, no clock.
 */
#ifndef PGBULK_ESTIMATE_H
#define PGBULK_ESTIMATE_H

#define ESTIMATE_UNKNOWN (-1.0)

/* The maximum share while work remains. */
#define ESTIMATE_MAX 0.999

typedef struct Estimate
{
	double		step_begun;		/* all times are seconds since the start of the work */
	double		base;			/* share done before the step */
	double		guessed;		/* duration of the step as given */
	double		expected;		/* the same, corrected by the pace of earlier steps; 0: unknown */
	double		rest;			/* the same for all later steps */
	double		planned;		/* sum of the estimates of completed steps, */
	double		spent;			/* and their actual duration */
	double		share;			/* fraction of all work done, or ESTIMATE_UNKNOWN */
	double		end;			/* estimated end, or ESTIMATE_UNKNOWN */
} Estimate;

/* Resets to the start of the work. */
extern void estimate_begin(Estimate *estimate);

extern void estimate_step(Estimate *estimate, double now, double expected, double rest);

/* Reports the fraction of the step that is done, 0 to 1, or ESTIMATE_UNKNOWN. */
extern void estimate_done(Estimate *estimate, double now, double done);

/* The step's expected fraction of all work. */
extern double estimate_part(const Estimate *estimate);

#endif							/* PGBULK_ESTIMATE_H */
