/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs as bytes, generated (iterate.mk). Light skeletons: a loader program in the kernel makes
 * the relocations against the kernel's own BTF, in 1 to 2 ms; with libbpf the whole BTF would be read
 * here, in 20 to 45. They need libbpf's headers and nothing of it to link.
 */
#include "iterate/programs.h"

#include <errno.h>
#include <string.h>

/* Generated code: not ours to warn about. */
#include <blocked.lskel.h>
#include <calls.lskel.h>
#include <deaths.lskel.h>
#include <descriptors.lskel.h>
#include <digests.h>
#include <files.lskel.h>
#include <functions.lskel.h>
#include <lives.lskel.h>
#include <mappings.lskel.h>
#include <made.lskel.h>
#include <moved.lskel.h>
#include <returns.lskel.h>
#include <sample.lskel.h>
#include <tasks.lskel.h>

/* Takes the descriptor out of a skeleton. */
static int take(int *fd)
{
	int taken = *fd;
	*fd = 0; /* sw_..._destroy() leaves 0 alone */
	return taken;
}

bool sw_iterate_programs_built(void)
{
	return true;
}

static int threads_load(int *ret_program_fd)
{
	struct sw_tasks *skeleton = sw_tasks__open();
	if (skeleton == NULL)
		return -ENOMEM;
	int r = sw_tasks__load(skeleton);
	if (r == 0)
		*ret_program_fd = take(&skeleton->progs.sw_tasks.prog_fd);
	sw_tasks__destroy(skeleton);
	return r;
}

static int returns_load(int *ret_program_fd)
{
	struct sw_returns *skeleton = sw_returns__open();
	if (skeleton == NULL)
		return -ENOMEM;
	int r = sw_returns__load(skeleton);
	if (r == 0)
		*ret_program_fd = take(&skeleton->progs.sw_returns.prog_fd);
	sw_returns__destroy(skeleton);
	return r;
}

static int files_load(int *ret_program_fd)
{
	struct sw_files *skeleton = sw_files__open();
	if (skeleton == NULL)
		return -ENOMEM;
	int r = sw_files__load(skeleton);
	if (r == 0)
		*ret_program_fd = take(&skeleton->progs.sw_files.prog_fd);
	sw_files__destroy(skeleton);
	return r;
}

int sw_iterate_moved_load(size_t max_threads, int *ret_program_fd)
{
	struct sw_moved *skeleton = sw_moved__open();
	if (skeleton == NULL)
		return -ENOMEM;
	if (max_threads > skeleton->maps.sw_seen.max_entries)
		skeleton->maps.sw_seen.max_entries = (uint32_t) max_threads;
	int r = sw_moved__load(skeleton);
	if (r == 0) /* which keeps its map */
		*ret_program_fd = take(&skeleton->progs.sw_moved.prog_fd);
	sw_moved__destroy(skeleton);
	return r;
}

/* The sizes of the maps that every program has which copies threads. */
#define MAPS_SIZE(skeleton, sizes)                                                \
	do {                                                                      \
		(skeleton)->maps.sw_scratch.max_entries = (sizes)->n_cpus;        \
		(skeleton)->maps.sw_counts.max_entries = (sizes)->n_cpus;         \
		(skeleton)->maps.sw_processes.max_entries = (sizes)->n_processes; \
		(skeleton)->maps.sw_recipes.max_entries = (sizes)->n_processes;   \
		(skeleton)->maps.sw_ring.max_entries = (sizes)->ring_bytes;       \
	} while (0)

/* The descriptors of those maps. */
#define MAPS_TAKE(skeleton)                                          \
	.setup_fd = take(&(skeleton)->maps.sw_setup.map_fd),         \
	.processes_fd = take(&(skeleton)->maps.sw_processes.map_fd), \
	.recipes_fd = take(&(skeleton)->maps.sw_recipes.map_fd),     \
	.counts_fd = take(&(skeleton)->maps.sw_counts.map_fd),       \
	.ring_fd = take(&(skeleton)->maps.sw_ring.map_fd)

int sw_iterate_sample_load(const struct sw_iterate_sample_sizes *sizes,
			   struct sw_iterate_sample *ret)
{
	struct sw_sample *skeleton = sw_sample__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_sample__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_sample){.program_fd =
							  take(&skeleton->progs.sw_sample.prog_fd),
						  MAPS_TAKE(skeleton)};
	sw_sample__destroy(skeleton);
	return r;
}

static int descriptors_load(const struct sw_iterate_sample_sizes *sizes,
			    struct sw_iterate_programs *ret)
{
	struct sw_descriptors *skeleton = sw_descriptors__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_descriptors__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_descriptor_enter.prog_fd),
					take(&skeleton->progs.sw_descriptor_exit.prog_fd),
					take(&skeleton->progs.sw_descriptor_ends.prog_fd)},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"sys_enter", "sys_exit", "sched_process_exit"}};
	sw_descriptors__destroy(skeleton);
	return r;
}

static int mappings_load(const struct sw_iterate_sample_sizes *sizes,
			 struct sw_iterate_programs *ret)
{
	struct sw_mappings *skeleton = sw_mappings__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_mappings__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_mapping_enter.prog_fd),
					take(&skeleton->progs.sw_mapping_exit.prog_fd),
					take(&skeleton->progs.sw_mapping_ends.prog_fd)},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"sys_enter", "sys_exit", "sched_process_exit"}};
	sw_mappings__destroy(skeleton);
	return r;
}

static int lives_load(const struct sw_iterate_sample_sizes *sizes, struct sw_iterate_programs *ret)
{
	struct sw_lives *skeleton = sw_lives__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_lives__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_thread_made.prog_fd),
					take(&skeleton->progs.sw_thread_ended.prog_fd),
					take(&skeleton->progs.sw_thread_alone.prog_fd)},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"task_newtask", "sched_process_exit",
					 "sched_process_exec"}};
	sw_lives__destroy(skeleton);
	return r;
}

/* Of returns: the first notes when a call begins. */
static int functions_load(bool returns, const struct sw_iterate_sample_sizes *sizes,
			  struct sw_iterate_programs *ret)
{
	struct sw_functions *skeleton = sw_functions__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_functions__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(returns ? &skeleton->progs.sw_function_note.prog_fd
						     : &skeleton->progs.sw_function_enter.prog_fd),
					returns ? take(&skeleton->progs.sw_function_return.prog_fd)
						: -EBADF,
					-EBADF},
			.link_fds = {-EBADF, -EBADF, -EBADF}};
	sw_functions__destroy(skeleton);
	return r;
}

static int deaths_load(const struct sw_iterate_sample_sizes *sizes, struct sw_iterate_programs *ret)
{
	struct sw_deaths *skeleton = sw_deaths__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_deaths__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_death_sent.prog_fd),
					take(&skeleton->progs.sw_death_signal.prog_fd),
					take(&skeleton->progs.sw_death_exit.prog_fd)},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"signal_generate", "signal_deliver",
					 "sched_process_exit"}};
	sw_deaths__destroy(skeleton);
	return r;
}

static int made_load(const struct sw_iterate_sample_sizes *sizes, struct sw_iterate_programs *ret)
{
	struct sw_made *skeleton = sw_made__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_made__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_made.prog_fd), -EBADF, -EBADF},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"sched_process_fork"}};
	sw_made__destroy(skeleton);
	return r;
}

static int blocked_load(const struct sw_iterate_sample_sizes *sizes,
			struct sw_iterate_programs *ret)
{
	struct sw_blocked *skeleton = sw_blocked__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	int r = sw_blocked__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(&skeleton->progs.sw_blocked.prog_fd), -EBADF, -EBADF},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {"sched_switch"}};
	sw_blocked__destroy(skeleton);
	return r;
}

int sw_iterate_calls_load(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  struct sw_iterate_programs *ret)
{
	if (which == SW_ITERATE_DESCRIPTORS)
		return descriptors_load(sizes, ret);
	if (which == SW_ITERATE_MAPPINGS)
		return mappings_load(sizes, ret);
	if (which == SW_ITERATE_LIVES)
		return lives_load(sizes, ret);
	if (which == SW_ITERATE_DEATHS)
		return deaths_load(sizes, ret);
	if (which == SW_ITERATE_MADE)
		return made_load(sizes, ret);
	if (which == SW_ITERATE_BLOCKED)
		return blocked_load(sizes, ret);
	if (which == SW_ITERATE_FUNCTION_BEGINS || which == SW_ITERATE_FUNCTION_RETURNS)
		return functions_load(which == SW_ITERATE_FUNCTION_RETURNS, sizes, ret);
	struct sw_calls *skeleton = sw_calls__open();
	if (skeleton == NULL)
		return -ENOMEM;
	MAPS_SIZE(skeleton, sizes);
	bool begins = which == SW_ITERATE_CALL_BEGINS;
	int r = sw_calls__load(skeleton);
	if (r == 0)
		*ret = (struct sw_iterate_programs){
			.sample = {.program_fd = -EBADF, MAPS_TAKE(skeleton)},
			.called_fd = take(&skeleton->maps.sw_called.map_fd),
			.program_fds = {take(begins ? &skeleton->progs.sw_call_enter.prog_fd
						    : &skeleton->progs.sw_call_exit.prog_fd),
					-EBADF, -EBADF},
			.link_fds = {-EBADF, -EBADF, -EBADF},
			.trace_points = {begins ? "sys_enter" : "sys_exit"}};
	sw_calls__destroy(skeleton);
	return r;
}

int sw_iterate_program_load(enum sw_iterate_program program, int *ret_program_fd)
{
	switch (program) {
	case SW_ITERATE_THREADS: return threads_load(ret_program_fd);
	case SW_ITERATE_RETURNS: return returns_load(ret_program_fd);
	case SW_ITERATE_FILES: return files_load(ret_program_fd);
	}
	return -EINVAL;
}

const char *sw_iterate_program_identity(enum sw_iterate_program program)
{
	switch (program) {
	case SW_ITERATE_THREADS: return "tasks-" SW_DIGEST_TASKS;
	case SW_ITERATE_RETURNS: return "returns-" SW_DIGEST_RETURNS;
	case SW_ITERATE_FILES: return "files-" SW_DIGEST_FILES;
	}
	return NULL;
}
