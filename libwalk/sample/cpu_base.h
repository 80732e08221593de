/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CPU_BASE_H
#define SW_SAMPLE_CPU_BASE_H

#include "sample/cpu_sampler.h"

/* Gives the maps and all that is of them up. */
void sw_cpu_base_drop(struct sw_cpu_sampler *s);

/* Takes them, and the recipe for copies. 0, -SW_E_*. */
int sw_cpu_base_take(struct sw_cpu_sampler *s, struct sw_error *err);

/* System calls go on without stacks where the process cannot be looked at any more: what was counted stays. */
int sw_cpu_base_renew(struct sw_cpu_sampler *s, struct sw_error *err);

/* Whether that is to be done. Where it failed, it is tried again only now and then. */
bool sw_cpu_base_is_due(const struct sw_cpu_sampler *s);

/* Whether the maps are to be taken again for code that came, which may be where other was, or for code that they do not have. */
bool sw_cpu_maps_are_old(const struct sw_cpu_sampler *s, uint64_t pc);

/* Whether a runtime has come that the maps do not have. Of all processes each is asked less often. */
bool sw_cpu_is_announced(struct sw_cpu_sampler *s);

/* Opens what tells which of the programs that a process becomes one after another it is. */
int sw_cpu_exec_link_open(struct sw_cpu_sampler *s, struct sw_error *err);

#endif
