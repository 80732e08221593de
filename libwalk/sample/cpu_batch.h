/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CPU_BATCH_H
#define SW_SAMPLE_CPU_BATCH_H

#include "sample/cpu_sampler.h"

/* Fills the batch until there is nothing more, or the next sample is not for it: that one is kept. */
void sw_cpu_batch_fill(struct sw_cpu_sampler *s, bool *new_program);

/* Makes the last copy the thread of the snapshot. */
void sw_cpu_copy_add(struct sw_cpu_sampler *s);

/* Counts the samples that are there and cannot be walked any more. */
void sw_cpu_rest_count(struct sw_cpu_sampler *s);

#endif
