/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_LIGHT_H
#define SW_SAMPLE_LIGHT_H

#include "capture/space.h"
#include "copies/recipe.h"
#include "process/target.h"
#include "sample/links.h"

/*
 * Reading the stacks of some threads of a process whose maps and modules are known, and stay: those of
 * the snapshot that it was made with. What sw_snapshot_take() finds out and sets aside each time is here
 * once. Without a recipe for native code only: no runtime is asked, no memory is read afterwards. With one what it
 * copies of a thread (copies/recipe.h) is read with the stack, and what is constant afterwards; nobody is stopped.
 */
struct sw_light;

/* A thread that is read, by its record of a pass that was made just now. */
struct sw_light_thread {
	const struct sw_iterate_record *record; /* borrowed */
	int reason;                             /* result: 0: it is captured */
};

struct sw_light_result {
	struct sw_snapshot
		*snap; /* the light's: threads that were asked for. Until the next call */
	size_t n_stopped, n_interrupted;
	int64_t stopped_ns, longest_ns, time_ns;
	bool unknown_code; /* a thread is where the maps have no code, or no stack: they are old */
	bool lost;         /* pages did not come: it is of no use any more */
	bool renewed; /* with a recipe: cookies of frames mean something else than in the samples before */
};

/* Whether a runtime has frames: with one that is only recognised, or only tells of threads, all are native. */
bool sw_light_has_frames(const struct sw_runtime_ops *runtime);

/* Whether a process has native code alone. */
bool sw_light_is_native(const struct sw_snapshot *snap, const struct sw_tables *tables);

/* Whether the process of a snapshot is such a one, and no probes have replaced addresses on its stacks. */
bool sw_light_is_possible(const struct sw_snapshot *snap, const struct sw_tables *tables);

/**
 * @param base        Borrowed until the end, and nothing of it may be freed before: its maps, modules
 *                    and strings are used.
 * @param links       Borrowed: of the process.
 * @param recipe      NULL: sw_light_is_possible(); else of sw_sample_recipe(), with SW_STOP_NEVER.
 * @return 0; -SW_E_NOMEM; -SW_E_IO.
 */
int sw_light_create(struct sw_snapshot *base, const struct sw_target *target,
		    const struct sw_snapshot_options *options, struct sw_sample_links *links,
		    const struct sw_recipe *recipe, struct sw_light **ret, struct sw_error *err);
/* Whether it has a recipe. */
bool sw_light_by_copies(const struct sw_light *light);
void sw_light_destroy(struct sw_light *light);

/* As sw_sampler_set_stop(). */
void sw_light_set_stop(struct sw_light *light, enum sw_stop_mode stop);

/* The number of threads that it can read. */
size_t sw_light_capacity(const struct sw_light *light);

/* 0; -SW_E_NOMEM; -SW_E_IO. That stacks are missing is no error. */
int sw_light_read(struct sw_light *light, struct sw_light_thread *threads, size_t n,
		  struct sw_light_result *ret, struct sw_error *err);

#endif
