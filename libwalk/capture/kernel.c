/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/kernel.h"
#include "capture/window.h"
#include "cleanup.h"
#include "iterate/tasks.h"
#include "iterate/thread.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_BYTES =
		8192, /* 64 frames (MAX_STACK_TRACE_DEPTH, fs/proc/base.c, v6.1) of 128 bytes */
	FRAMES_MAX = 64,
	DISTINCT_MAX = 256, /* that are compared with the next one; further ones are kept each */
};

/* Threads that wait for the same have the same text. */
struct distinct {
	const char *text;
	const struct sw_kernel_stack *stack;
};

struct reader {
	struct sw_take *take;
	struct distinct distinct[DISTINCT_MAX];
	size_t n_distinct;
	size_t n_read, n_refused;
};

/* ---- the text ------------------------------------------------------------------------------- */

/* "[<0>] nfs_wait_bit_killable+0x1c/0xa0 [nfs]": proc_pid_stack(), fs/proc/base.c, and %pB. */
static bool line_parse(const char *line, size_t length, struct sw_arena *arena,
		       struct sw_kernel_frame *ret)
{
	const char *end = line + length;
	const char *name = memchr(line, ']', length);
	if (length == 0 || line[0] != '[' || name == NULL)
		return false;
	name++;
	while (name < end && *name == ' ')
		name++;
	const char *plus = memchr(name, '+', (size_t) (end - name));
	if (plus == NULL || plus == name)
		return false;
	ret->offset = strtoull(plus + 1, NULL, 16);
	const char *module = memchr(plus, '[', (size_t) (end - plus));
	size_t module_bytes = module == NULL ? 0 : (size_t) (end - module);
	ret->function = sw_arena_printf(arena, "%.*s%s%.*s", (int) (plus - name), name,
					module == NULL ? "" : " ", (int) module_bytes,
					module == NULL ? "" : module);
	return ret->function != NULL;
}

const struct sw_kernel_stack *sw_kernel_stack_parse(const char *text, struct sw_arena *arena)
{
	struct sw_kernel_frame frames[FRAMES_MAX];
	size_t n = 0;
	while (*text != '\0' && n < FRAMES_MAX) {
		size_t length = strcspn(text, "\n");
		n += line_parse(text, length, arena, &frames[n]);
		text += length + (text[length] == '\n');
	}
	struct sw_kernel_stack *stack = n == 0 ? NULL : sw_arena_alloc(arena, sizeof(*stack));
	struct sw_kernel_frame *kept =
		stack == NULL ? NULL : sw_arena_alloc(arena, n * sizeof(*kept));
	if (kept == NULL)
		return NULL;
	memcpy(kept, frames, n * sizeof(*kept));
	*stack = (struct sw_kernel_stack){kept, n};
	return stack;
}

static const struct sw_kernel_stack *stack_of(struct reader *r, const char *text)
{
	struct sw_arena *arena = &r->take->snap->priv->arena;
	for (size_t i = 0; i < r->n_distinct; i++)
		if (strcmp(r->distinct[i].text, text) == 0)
			return r->distinct[i].stack;
	struct distinct d = {.text = sw_arena_strdup(arena, text),
			     .stack = sw_kernel_stack_parse(text, arena)};
	if (d.text != NULL && d.stack != NULL && r->n_distinct < DISTINCT_MAX)
		r->distinct[r->n_distinct++] = d;
	return d.stack;
}

/* ---- of the process ------------------------------------------------------------------------- */

static void thread_read(struct reader *r, struct sw_thread *t)
{
	char name[32], text[TEXT_BYTES];
	(void) snprintf(name, sizeof(name), "%d/stack", (int) t->tid); /* fits */
	ssize_t n = sw_proc_read_small(r->take->target->task_fd, name, text, sizeof(text));
	r->n_refused += n < 0 && (errno == EACCES || errno == EPERM);
	if (n <= 0)
		return;
	t->kernel = stack_of(r, text);
	r->n_read += t->kernel != NULL;
}

static bool is_wanted(const struct sw_take *take, size_t i)
{
	const struct sw_window_thread *t = &take->window->threads[i];
	return t->taken && !t->by_ptrace && (take->options.kernel_stacks || t->state == 'D');
}

/* A look after the reading: who ran meanwhile, or since its registers were read, was elsewhere in the
 * kernel. */
static void moved_drop(struct sw_take *take)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	(void) sw_iterate_open(take->link_fd, &fd, NULL); /* -EBADF is not read: all are dropped */
	sw_window_look_again(take->window, fd);
	for (size_t i = 0; i < take->stop.n; i++)
		if (sw_window_since(take->window, i) == SW_SINCE_RAN)
			take->snap->threads[i].kernel = NULL;
}

static void warn(struct sw_take *take, const char *why, const char *remedy)
{
	take->snap->no_kernel_stacks = true;
	sw_snapshot_warn(take->snap, SW_WARN_CAPTURE, 0, SW_E_NOT_PERMITTED,
			 "no kernel stacks: %s%s", why, remedy);
}

static bool is_time(struct sw_take *take)
{
	bool time = take->describe_end_ns == 0 || sw_clock_ns() < take->describe_end_ns;
	take->n_undescribed += !time;
	return time;
}

void sw_kernel_stacks_read(struct sw_take *take)
{
	struct reader r = {.take = take};
	if (take->window == NULL) {
		if (take->options.kernel_stacks)
			warn(take, "all threads were stopped, and left what they called",
			     take->options.stop == SW_STOP_ALWAYS
				     ? " (--stop always)"
				     : "; run it as root on Linux 6.1 or newer, see snapwalk "
				       "doctor");
		return;
	}
	for (size_t i = 0; i < take->stop.n; i++)
		if (is_wanted(take, i) && is_time(take))
			thread_read(&r, &take->snap->threads[i]);
	if (r.n_read > 0)
		moved_drop(take);
	if (r.n_refused > 0 && take->options.kernel_stacks)
		warn(take, "the kernel shows them only with CAP_SYS_ADMIN", ": run it as root");
}
