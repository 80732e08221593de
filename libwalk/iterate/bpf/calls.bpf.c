/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread that makes one system call, when it begins or returns. Every call of every process comes here: all
 * but the wanted ones are left by a comparison or two.
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { ERROR_MAX = 4095 }; /* include/linux/err.h */

/* Results below the user's errors, include/linux/errno.h: the call is made again, or fails with EINTR. */
enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516, EINTR = 4 };

/* An argument by its number, from 1 on. */
static __always_inline uint64_t argument_of(const uint64_t arguments[SW_CALLED_ARGUMENTS],
					    uint32_t number)
{
	uint64_t value = 0;
	for (uint32_t i = 0; i < SW_CALLED_ARGUMENTS; i++)
		if (i + 1 == number)
			value = arguments[i];
	return value;
}

static __always_inline bool tests_pass(const struct sw_called_setup *called,
				       const uint64_t arguments[SW_CALLED_ARGUMENTS])
{
	for (uint32_t i = 0; i < SW_CALLED_TESTS_MAX; i++) {
		const struct sw_called_test *test = &called->tests[i];
		if (i >= called->n_tests)
			break;
		if ((argument_of(arguments, test->argument + 1) & test->mask) != test->value)
			return false;
	}
	return called->least_of == 0 ||
	       argument_of(arguments, (uint32_t) called->least_of) >= called->least;
}

static __always_inline bool result_is_wanted(const struct sw_called_setup *called, int64_t result)
{
	if (called->error == 0)
		return true;
	if (result >= 0 || result < -ERROR_MAX)
		return false;
	if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK)
		result = -EINTR;
	return called->error == SW_CALLED_ANY_ERROR || result == -(int64_t) called->error;
}

/* Copies memory of arguments, as far as the buffer has space and the page is there. */
static __always_inline void memory_copy(struct scratch *s, const struct sw_called_setup *called,
					const uint64_t arguments[SW_CALLED_ARGUMENTS])
{
	if (called->text != 0)
		text_put(s, argument_of(arguments, called->text));
	if (called->bytes != 0) {
		uint64_t n = argument_of(arguments, called->n_bytes) & UINT32_MAX;
		if (n > SW_CALLED_BYTES_MAX)
			n = SW_CALLED_BYTES_MAX;
		(void) piece(s, argument_of(arguments, called->bytes), (uint32_t) n,
			     SW_CALLED_BYTES); /* absent: the event has none */
	}
}

static __always_inline int call_take(const uint64_t *ctx, bool exit)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || (called->tgid != 0 && (uint32_t) task->tgid != called->tgid))
		return 0;
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax, arguments[SW_CALLED_ARGUMENTS];
	bool is_32bit = (user->cs & SELECTOR) == USER32_CS;
	int64_t result = exit ? (int64_t) ctx[1] : 0;
	if (number != called->number || is_32bit != (called->is_32bit != 0) ||
	    !is_process(called, task) || (exit && !result_is_wanted(called, result)))
		return 0;
	arguments_read(user, is_32bit, arguments);
	if (!tests_pass(called, arguments))
		return 0;
	struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = exit ? SW_CALLED_EXIT : SW_CALLED_ENTER,
		.value = {(uint64_t) result},
	};
	struct taking t;
	if (!taking_known(&t, called))
		return 0;
	event_put(t.s, &event);
	memory_copy(t.s, called, arguments);
	sample_make(t.s, t.task, t.setup, t.recipe, true);
	(void) taking_end(&t); /* what was lost is counted */
	return 0;
}

SEC("raw_tp/sys_enter")
int sw_call_enter(const uint64_t *ctx)
{
	return call_take(ctx, false);
}

SEC("raw_tp/sys_exit")
int sw_call_exit(const uint64_t *ctx)
{
	return call_take(ctx, true);
}
