/*
 * estimate.c
 *		See estimate.h.
 */
#include "server/estimate.h"

/* Fraction of a step after which only its pace counts, not the initial estimate. */
#define TRUSTED 0.25

/* Maximum factor by which initial estimates are corrected. */
#define MAX_PACE 100

/* Minimum fraction done before a pace is calculated. */
#define MIN_DONE 1e-6

static double
min(double a, double b)
{
	return a < b ? a : b;
}

static double
max(double a, double b)
{
	return a > b ? a : b;
}

void
estimate_begin(Estimate *estimate)
{
	*estimate = (Estimate) {
		.share = ESTIMATE_UNKNOWN,
		.end = ESTIMATE_UNKNOWN
	};
}

void
estimate_step(Estimate *estimate, double now, double expected, double rest)
{
	double		guessed = expected;

	/* without estimates for earlier steps, their time determines their fraction */
	if (estimate->share < 0 && now > 0 && expected + rest > 0)
		estimate->share = min(now / (now + expected + rest), ESTIMATE_MAX);
	/* a step that has taken longer than expected delays its rest accordingly */
	if (estimate->expected > 0)
	{
		estimate->planned += estimate->guessed;
		estimate->spent += now - estimate->step_begun;
	}
	if (estimate->planned > 0)
	{
		double		pace = min(max(estimate->spent / estimate->planned, 1.0 / MAX_PACE), MAX_PACE);

		expected *= pace;
		rest *= pace;
	}
	estimate->guessed = guessed;
	estimate->base = max(estimate->share, 0);
	estimate->step_begun = now;
	estimate->expected = expected;
	estimate->rest = rest;
	if (expected > 0)
		estimate_done(estimate, now, 0);
}

void
estimate_done(Estimate *estimate, double now, double done)
{
	double		passed = max(now - estimate->step_begun, 0);
	double		weight = min(done / TRUSTED, 1);
	double		rest = estimate->rest;
	double		total;
	double		share;

	if (done < MIN_DONE && estimate->expected <= 0)
	{
		if (done >= 0)
			estimate->share = max(estimate->share, estimate->base);
		estimate->end = done < 0 || estimate->share <= 0 ? ESTIMATE_UNKNOWN :
			max(now + rest, estimate->end);
		return;
	}
	done = min(max(done, 0), 1);
	if (estimate->expected <= 0)
		total = passed / done;
	else if (done < MIN_DONE)
		total = max(estimate->expected, passed);
	else
	{
		total = (1 - weight) * max(estimate->expected, passed) + weight * passed / done;
		/* the machine is expected to be as slow in later steps */
		rest *= total / estimate->expected;
	}

	share = total + rest > 0 ?
		estimate->base + (1 - estimate->base) * done * total / (total + rest) : estimate->base;
	estimate->share = min(max(share, estimate->share), ESTIMATE_MAX);
	estimate->end = now + total * (1 - done) + rest;
}

double
estimate_part(const Estimate *estimate)
{
	double		all = estimate->expected + estimate->rest;

	return all > 0 ? (1 - estimate->base) * estimate->expected / all : 0;
}
