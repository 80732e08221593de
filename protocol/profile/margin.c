/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/margin.h"

/* By Newton's method: the library goes without libm for one function. x is from 0 to 1. */
static double root_of(double x)
{
	enum { STEPS = 40 };
	double root = 1;
	for (int i = 0; i < STEPS; i++)
		root = (root + x / root) / 2;
	return root;
}

double sw_profile_margin(uint64_t part, uint64_t whole, uint64_t n_rounds)
{
	static const double z = 1.96; /* of the normal distribution, for 95 % */
	double n = (double) (n_rounds > 0 && n_rounds < whole ? n_rounds : whole);
	double p = (double) part / (double) whole;
	double wide = 1 + z * z / n;
	double middle = (p + z * z / (2 * n)) / wide;
	double half = z / wide * root_of(p * (1 - p) / n + z * z / (4 * n * n));
	/* The range is not symmetric: the farther end of it counts. */
	double below = p - (middle - half), above = middle + half - p;
	return 100 * (below > above ? below : above);
}
