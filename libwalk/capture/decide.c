/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May run while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "capture/decide.h"
#include "iterate/thread.h"

enum { FLAG_EXITING = 0x4, FLAG_KTHREAD = 0x200000 }; /* include/linux/sched.h, v6.1 */

enum sw_take_how sw_take_how(const struct sw_iterate_record *record, bool is_32bit, int *ret_reason)
{
	*ret_reason = 0;
	if (sw_iterate_is_worker(record))
		*ret_reason = record->flags & FLAG_KTHREAD ? SW_E_KERNEL_THREAD : SW_E_IO_WORKER;
	else if (record->exit_state != 0)
		*ret_reason = SW_E_ZOMBIE;
	else if (record->flags & FLAG_EXITING)
		*ret_reason = SW_E_EXITED;
	else if (sw_iterate_has_registers(record) && sw_iterate_is_32bit(record) != is_32bit)
		*ret_reason = SW_E_ARCH;
	if (*ret_reason != 0)
		return SW_TAKE_NOT;
	return sw_iterate_has_registers(record) ? SW_TAKE_READ : SW_TAKE_AGAIN;
}

/* The next step when the copies of hooks are not of one instant. */
static enum sw_next next_whole(const struct sw_round *r)
{
	if (r->mode == SW_STOP_NEVER && r->blocked_only && r->n_whole >= SW_WHOLE_MAX)
		return SW_NEXT_WHOLE_LAST;
	if (r->mode == SW_STOP_NEVER)
		return r->elapsed_ns < r->limit_ns / 2 ? SW_NEXT_WHOLE : SW_NEXT_WHOLE_LAST;
	/* Threads that wait for an event mostly go on doing so, and need not be stopped. With
	 * hundreds of threads that run in turn their stop takes as long as one of all, and has to
	 * be the only one. */
	bool late = r->n_whole >= SW_WHOLE_MAX || r->elapsed_ns > SW_WAITING_NS;
	if (late && r->n_runnable < SW_RUNNABLE_MAX && r->n_waiting <= SW_WAITING_MAX)
		return SW_NEXT_WHOLE_RUNNABLE;
	if (late)
		return SW_NEXT_WHOLE_STOP;
	/* Another one would run on the CPU of the one that is stopped. */
	return r->n_waiting > 0 || r->n_rest_running == 0 ? SW_NEXT_WHOLE : SW_NEXT_WHOLE_RUNNING;
}

static enum sw_next next_rest(const struct sw_round *r)
{
	/* On a busy machine a window may begin so late that the time says nothing. */
	bool tried = r->n_tries >= SW_MOVING_TRIES;
	if (r->mode == SW_STOP_NEVER && r->blocked_only && r->n_rest == r->n_rest_running)
		return SW_NEXT_GIVE_UP;
	if (r->mode == SW_STOP_NEVER)
		return r->elapsed_ns < r->limit_ns || !tried ? SW_NEXT_REST : SW_NEXT_GIVE_UP;
	/* No stop takes a thread that waits in state D, for a lock of its address space at that instant,
	 * or one that began too late to be asked. A few looks later they do something else. */
	if (r->n_stops >= SW_STOPS_MAX)
		return r->n_since_stop < SW_AFTER_TRIES ? SW_NEXT_REST : SW_NEXT_GIVE_UP;
	bool late = tried && (r->elapsed_ns > SW_MOVING_NS || r->elapsed_ns > r->limit_ns / 2);
	/* At most as many threads are on a CPU as there are CPUs, and a thread that waits for one
	 * would have to get it before it can stop. So threads on no CPU are stopped only if that
	 * was not enough. */
	if (late && (r->n_rest_running == 0 || r->n_stops > 0))
		return SW_NEXT_REST_STOP;
	/* Threads that begin and end all the time are on a CPU in no two looks: the last stop is of all. */
	if (r->n_stops == SW_STOPS_MAX - 1)
		return SW_NEXT_REST_STOP;
	/* A thread that is on a CPU does not wait in a call that a stop would interrupt. */
	bool enough = r->n_waiting > 0 ? tried && r->elapsed_ns > SW_WAITING_NS
				       : r->n_tries + 1 >= SW_RUNNING_TRIES;
	return (enough || late) && r->n_rest_running > 0 ? SW_NEXT_REST_RUNNING : SW_NEXT_REST;
}

enum sw_next sw_next_round(const struct sw_round *r)
{
	bool void_hooks = r->hooks && !r->quiescent && !r->all_stopped;
	if (void_hooks)
		return next_whole(r);
	return r->n_rest == 0 ? SW_NEXT_DONE : next_rest(r);
}
