/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The programs as bytes, generated (iterate.mk). Light skeletons: a loader program in the kernel makes
 * the relocations against the kernel's own BTF, in 1 to 2 ms; with libbpf the whole BTF would be read
 * here, in 20 to 45. They need libbpf's headers and nothing of it to link.
 */
#include "iterate/programs.h"
#include "iterate/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Needs the headers above. */
#include <bpf/skel_internal.h>

/* A flag of struct bpf_loader_ctx, which loaders that run outside the kernel do not use: the programs are for links. */
static const uint32_t LINKED = UINT32_C(1) << 31;

/* Runs a loader, as bpf_load_and_run() of libbpf. */
static int loader_run(struct bpf_load_and_run_opts *opts)
{
	if ((opts->ctx->flags & LINKED) == 0)
		return bpf_load_and_run(opts);
	void *data = malloc(opts->data_sz);
	if (data == NULL)
		return -ENOMEM;
	memcpy(data, opts->data, opts->data_sz);
	struct bpf_load_and_run_opts linked = *opts;
	linked.data = data;
	opts->ctx->flags &= ~LINKED;
	int r = sw_iterate_places_data(data, opts->data_sz) > 0 ? bpf_load_and_run(&linked)
								: -EINVAL;
	opts->ctx->flags |= LINKED; /* it may be run again */
	free(data);
	return r;
}
#define bpf_load_and_run loader_run

/* Generated code: not ours to warn about. */
#include <blocked.lskel.h>
#include <calls.lskel.h>
#include <deaths.lskel.h>
#include <descriptors.lskel.h>
#include <digests.h>
#include <epolls.lskel.h>
#include <faults.lskel.h>
#include <files.lskel.h>
#include <functions.lskel.h>
#include <host.lskel.h>
#include <lives.lskel.h>
#include <locks.lskel.h>
#include <mappings.lskel.h>
#include <made.lskel.h>
#include <moved.lskel.h>
#include <pairs.lskel.h>
#include <returns.lskel.h>
#include <sample.lskel.h>
#include <shm.lskel.h>
#include <tasks.lskel.h>
#include <timers.lskel.h>

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

/* Loads a skeleton that has one program, and takes its descriptor: 0, or below. */
#define PROGRAM_LOAD(name, ret_program_fd)                                       \
	({                                                                       \
		struct name *skeleton = name##__open();                          \
		int r = skeleton == NULL ? -ENOMEM : name##__load(skeleton);     \
		if (r == 0)                                                      \
			*(ret_program_fd) = take(&skeleton->progs.name.prog_fd); \
		name##__destroy(skeleton);                                       \
		r;                                                               \
	})

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

/* The kernel's log is of the program that was loaded last: that which was refused. */
enum { LOG_BYTES = 1 << 20 };

/* Loads a skeleton: 0, or below. One that the verifier may have refused is loaded once more, with its log. */
#define SAYING_LOAD(name, skeleton, ret_said)                                          \
	({                                                                             \
		int status = name##__load(skeleton);                                   \
		char *log = sw_verifier_refused(status) ? calloc(1, LOG_BYTES) : NULL; \
		(ret_said)->text[0] = '\0';                                            \
		if (log != NULL) {                                                     \
			(skeleton)->ctx.log_level = 1;                                 \
			(skeleton)->ctx.log_size = LOG_BYTES;                          \
			(skeleton)->ctx.log_buf = (uintptr_t) log;                     \
			status = name##__load(skeleton);                               \
			log[LOG_BYTES - 1] = '\0';                                     \
			if (status < 0)                                                \
				sw_verifier_said_of(log, ret_said);                    \
		}                                                                      \
		free(log);                                                             \
		status;                                                                \
	})

/* Loads a skeleton that copies threads at events of the clock: 0, or below. known: its map of that name, or -EBADF. */
#define SAMPLE_LOAD(name, sizes, known, ret, ret_said)                                             \
	({                                                                                         \
		struct name *skeleton = name##__open();                                            \
		if (skeleton != NULL)                                                              \
			MAPS_SIZE(skeleton, sizes);                                                \
		int r = skeleton == NULL ? -ENOMEM : SAYING_LOAD(name, skeleton, ret_said);        \
		if (r == 0)                                                                        \
			*(ret) =                                                                   \
				(struct sw_iterate_sample){.program_fd = take(                     \
								   &skeleton->progs.name.prog_fd), \
							   .known_fd = (known),                    \
							   MAPS_TAKE(skeleton)};                   \
		name##__destroy(skeleton);                                                         \
		r;                                                                                 \
	})

int sw_iterate_sample_load(const struct sw_iterate_sample_sizes *sizes,
			   struct sw_iterate_sample *ret, struct sw_verifier_said *ret_said)
{
	return sizes->all ? SAMPLE_LOAD(sw_host, sizes, take(&skeleton->maps.sw_known.map_fd), ret,
					ret_said)
			  : SAMPLE_LOAD(sw_sample, sizes, -EBADF, ret, ret_said);
}

/*
 * Loads a skeleton that copies threads at events, with as many programs and trace points as are given: 0, or below.
 * PROGRAM() names them, and may choose by what the function is told.
 */
#define EVENTS_LOAD(name, sizes, ret, ret_said, ...) \
	EVENTS_LOAD_SIZED(name, sizes, (void) 0, ret, ret_said, __VA_ARGS__)
/* The same with maps of its own, whose sizes the third argument sets. */
#define EVENTS_LOAD_SIZED(name, sizes, set, ret, ret_said, ...)                             \
	({                                                                                  \
		struct name *skeleton = name##__open();                                     \
		if (skeleton != NULL) {                                                     \
			MAPS_SIZE(skeleton, sizes);                                         \
			skeleton->ctx.flags |= (sizes)->linked ? LINKED : 0;                \
			set;                                                                \
		}                                                                           \
		int r = skeleton == NULL ? -ENOMEM : SAYING_LOAD(name, skeleton, ret_said); \
		if (r == 0)                                                                 \
			*(ret) = (struct sw_iterate_programs){                              \
				.sample = {.program_fd = -EBADF,                            \
					   .known_fd = -EBADF,                              \
					   MAPS_TAKE(skeleton)},                            \
				.called_fd = take(&skeleton->maps.sw_called.map_fd),        \
				.link_fds = {-EBADF, -EBADF, -EBADF},                       \
				__VA_ARGS__};                                               \
		name##__destroy(skeleton);                                                  \
		r;                                                                          \
	})
#define PROGRAM(name) take(&skeleton->progs.name.prog_fd)

int sw_iterate_calls_load(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  struct sw_iterate_programs *ret, struct sw_verifier_said *ret_said)
{
	switch (which) {
	case SW_ITERATE_CALL_BEGINS:
		return EVENTS_LOAD(sw_calls, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_call_enter), -EBADF, -EBADF},
				   .trace_points = {"sys_enter"});
	case SW_ITERATE_CALL_RETURNS:
		return EVENTS_LOAD(sw_calls, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_call_exit), -EBADF, -EBADF},
				   .trace_points = {"sys_exit"});
	case SW_ITERATE_DESCRIPTORS:
		return EVENTS_LOAD(sw_descriptors, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_descriptor_enter),
						   PROGRAM(sw_descriptor_exit),
						   PROGRAM(sw_descriptor_ends)},
				   .trace_points = {"sys_enter", "sys_exit", "sched_process_exit"});
	case SW_ITERATE_MAPPINGS:
		return EVENTS_LOAD(sw_mappings, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_mapping_enter),
						   PROGRAM(sw_mapping_exit),
						   PROGRAM(sw_mapping_ends)},
				   .trace_points = {"sys_enter", "sys_exit", "sched_process_exit"});
	case SW_ITERATE_TIMERS:
		return EVENTS_LOAD(sw_timers, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_timer_exit),
						   PROGRAM(sw_timer_program), -EBADF},
				   .trace_points = {"sys_exit", "sched_process_exec"});
	case SW_ITERATE_SHM:
		return EVENTS_LOAD(sw_shm, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_shm_enter), PROGRAM(sw_shm_exit),
						   PROGRAM(sw_shm_program)},
				   .trace_points = {"sys_enter", "sys_exit", "sched_process_exec"});
	case SW_ITERATE_EPOLLS:
		return EVENTS_LOAD(sw_epolls, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_epoll_enter), PROGRAM(sw_epoll_exit),
						   -EBADF},
				   .trace_points = {"sys_enter", "sys_exit"},
				   .list_program_fd = PROGRAM(sw_epoll_list));
	case SW_ITERATE_LIVES:
		return EVENTS_LOAD(sw_lives, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_thread_made),
						   PROGRAM(sw_thread_ended),
						   PROGRAM(sw_thread_alone)},
				   .trace_points = {"task_newtask", "sched_process_exit",
						    "sched_process_exec"});
	case SW_ITERATE_DEATHS:
		return EVENTS_LOAD(sw_deaths, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_death_sent), PROGRAM(sw_death_signal),
						   PROGRAM(sw_death_exit)},
				   .trace_points = {"signal_generate", "signal_deliver",
						    "sched_process_exit"});
	case SW_ITERATE_MADE:
		return EVENTS_LOAD(sw_made, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_made), -EBADF, -EBADF},
				   .trace_points = {"sched_process_fork"});
	case SW_ITERATE_BLOCKED:
		return EVENTS_LOAD(sw_blocked, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_blocked), -EBADF, -EBADF},
				   .trace_points = {"sched_switch"});
	case SW_ITERATE_FAULTS:
		return EVENTS_LOAD(sw_faults, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_fault), -EBADF, -EBADF},
				   .trace_points = {"page_fault_user"});
	case SW_ITERATE_FUNCTION_BEGINS:
		return EVENTS_LOAD(sw_functions, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_function_enter), -EBADF, -EBADF});
	case SW_ITERATE_FUNCTION_RETURNS: /* the first notes when a call begins */
		return EVENTS_LOAD(sw_functions, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_function_note),
						   PROGRAM(sw_function_return), -EBADF});
	case SW_ITERATE_PAIRS:
		return EVENTS_LOAD_SIZED(
			sw_pairs, sizes,
			skeleton->maps.sw_held.max_entries =
				(sizes)->n_held != 0 ? (sizes)->n_held : SW_CALLED_HELD_DEFAULT,
			ret, ret_said,
			.program_fds = {PROGRAM(sw_pair_note), PROGRAM(sw_pair_acquired),
					PROGRAM(sw_pair_released), PROGRAM(sw_pair_program)},
			.trace_points = {NULL, NULL, NULL, "sched_process_exec"},
			.held_fd = take(&skeleton->maps.sw_held.map_fd));
	case SW_ITERATE_PAIR_CALLS:
		return EVENTS_LOAD(sw_pairs, sizes, ret, ret_said,
				   .program_fds = {PROGRAM(sw_pair_begun), -EBADF,
						   PROGRAM(sw_pair_taken)});
	}
	return -EINVAL;
}

int sw_iterate_program_load(enum sw_iterate_program program, int *ret_program_fd)
{
	switch (program) {
	case SW_ITERATE_THREADS: return PROGRAM_LOAD(sw_tasks, ret_program_fd);
	case SW_ITERATE_RETURNS: return PROGRAM_LOAD(sw_returns, ret_program_fd);
	case SW_ITERATE_FILES: return PROGRAM_LOAD(sw_files, ret_program_fd);
	case SW_ITERATE_LOCKS: return PROGRAM_LOAD(sw_locks, ret_program_fd);
	}
	return -EINVAL;
}

const char *sw_iterate_program_identity(enum sw_iterate_program program)
{
	switch (program) {
	case SW_ITERATE_THREADS: return "tasks-" SW_DIGEST_TASKS;
	case SW_ITERATE_RETURNS: return "returns-" SW_DIGEST_RETURNS;
	case SW_ITERATE_FILES: return "files-" SW_DIGEST_FILES;
	case SW_ITERATE_LOCKS: return "locks-" SW_DIGEST_LOCKS;
	}
	return NULL;
}
