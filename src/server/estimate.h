/*
 * estimate.h
 *		How much of a piece of work is done, and when all of it will be.
 *
 * Work goes step by step.  Of each it is said at its start how long it may take, and how long all that follows; or
 * that nobody knows.  While it goes on, it says how much of it is done, and its pace so far counts more and more.
 * The share that is done never gets less, and comes to all only at the end.
 *
 * Pure C: no server header, no clock.
 */
#ifndef PGBULK_ESTIMATE_H
#define PGBULK_ESTIMATE_H

#define ESTIMATE_UNKNOWN (-1.0)

/* What is told while anything is left to do. */
#define ESTIMATE_MAX 0.999

typedef struct Estimate
{
	double		step_begun;		/* all times are seconds since the work began */
	double		base;			/* the share that was done before the step */
	double		guessed;		/* what the step may take, as it was said */
	double		expected;		/* the same, by the pace of earlier ones; 0: nobody knows */
	double		rest;			/* for all that follows it, likewise */
	double		planned;		/* guesses for the steps that are done, */
	double		spent;			/* and what they took */
	double		share;			/* done, of all; or ESTIMATE_UNKNOWN */
	double		end;			/* when all will be; or ESTIMATE_UNKNOWN */
} Estimate;

/* Nothing is done, and nothing is known. */
extern void estimate_begin(Estimate *estimate);

extern void estimate_step(Estimate *estimate, double now, double expected, double rest);

/* So much of the step is done, from 0 to 1; or ESTIMATE_UNKNOWN. */
extern void estimate_done(Estimate *estimate, double now, double done);

/* The part that a step has in all the work if it takes as long as expected. */
extern double estimate_part(const Estimate *estimate);

#endif							/* PGBULK_ESTIMATE_H */
