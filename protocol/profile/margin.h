/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_MARGIN_H
#define SW_PROFILE_MARGIN_H

#include <stdint.h>

/*
 * How far a share of samples may be off, in percentage points: in 95 of 100 cases the share of the time lies within it,
 * if rounds of samples do not depend on one another. The threads that one round finds may well do the same: they count
 * as one sample, where there are more samples than rounds.
 * whole is not 0; part is at most whole; n_rounds is 0 where it is not known.
 * Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, 1927.
 */
double sw_profile_margin(uint64_t part, uint64_t whole, uint64_t n_rounds);

#endif
