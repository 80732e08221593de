/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/stacks.h"
#include "arch/arch.h"
#include "runtimes/wine/frames.h"

enum {
	FRAME_RSP = 0x88, /* of a syscall_frame */
	FRAME_ESP = 0x0c,
	/* Upper end of a signal stack: the kernel's frame, with the largest state of the processor
	 * that is saved (AMX: 11 KiB). */
	SIGNAL_LOOK_BYTES = 14 << 10,
	GROUP = 32, /* threads whose TEBs are read at once: the stack that we run on is small */
};

/* A thread of Wine. */
struct wine_thread {
	size_t index;
	struct sw_wine_teb teb;
	uint64_t sp_avma; /* outside of signal handlers */
	uint64_t windows_sp_avma;
	bool in_signal;
};

static void unix_add(struct sw_capture *capture, const struct sw_wine_teb *teb, uint64_t sp_avma)
{
	const struct sw_map *map = sw_snapshot_map(capture->snap, sp_avma);
	uint64_t end = teb->unix_end_avma;
	if (map != NULL && map->end_avma < end)
		end = map->end_avma;
	(void) sw_capture_stack(capture, sp_avma, end); /* it keeps count of what is missing */
}

static void windows_add(struct sw_capture *capture, const struct sw_wine_teb *teb, uint64_t sp_avma)
{
	if (sw_wine_on_windows_stack(teb, sp_avma))
		(void) sw_capture_stack(capture, sp_avma, teb->stack_base_avma); /* as above */
}

/*
 * A CONTEXT that NtContinue() is putting into the syscall_frame lies below the stack that it makes
 * (runtimes/wine/replace.h). Only then does the thread have both addresses in registers.
 */
static uint64_t windows_low(const struct sw_capture *capture, const struct wine_thread *t)
{
	enum { BELOW_MAX = 64 << 10 };
	const struct sw_regs *regs = &capture->snap->threads[t->index].regs;
	uint64_t low = t->windows_sp_avma;
	bool replacing = false;
	for (unsigned i = 0; i < SW_ARCH_RA; i++) {
		uint64_t value = regs->val[i];
		replacing |= value == t->teb.syscall_frame_avma;
		if (value < low && t->windows_sp_avma - value <= BELOW_MAX &&
		    sw_wine_on_windows_stack(&t->teb, value))
			low = value;
	}
	return replacing ? low : t->windows_sp_avma;
}

/* All that is in use, but what the thread's own sp tells already. */
static void stacks_add(struct sw_capture *capture, const struct wine_thread *t)
{
	const struct sw_wine_teb *teb = &t->teb;
	if (sw_wine_on_windows_stack(teb, t->sp_avma)) {
		if (t->in_signal)
			windows_add(capture, teb, t->sp_avma);
		/* The frame is of a call that has returned, or of the calls that called back. */
		unix_add(capture, teb, teb->syscall_frame_avma);
	} else if (sw_wine_on_unix_stack(teb, t->sp_avma)) {
		if (t->in_signal)
			unix_add(capture, teb, t->sp_avma);
		windows_add(capture, teb, windows_low(capture, t));
	}
}

/* The stack that a signal interrupted, if the thread is in its handler. */
static void signal_find(struct sw_capture *capture, struct wine_thread *t)
{
	uint8_t raw[SIGNAL_LOOK_BYTES];
	uint64_t end = t->teb.signal_end_avma, begin = end - sizeof(raw), sp;
	if (begin < t->sp_avma)
		begin = (t->sp_avma + 7) & ~UINT64_C(7);
	size_t bytes = (size_t) (end - begin);
	if (sw_capture_read(capture, begin, raw, bytes) &&
	    sw_wine_signal_sp((struct sw_bytes){raw, bytes}, &t->teb, &sp))
		t->sp_avma = sp;
}

static void known_tell(struct sw_capture *capture, const struct wine_thread *t)
{
	const struct sw_wine_teb *teb = &t->teb;
	uint64_t sp = capture->snap->threads[t->index].regs.sp_avma;
	if (sw_wine_on_windows_stack(teb, sp))
		sw_capture_stack_known(capture, t->index, teb->stack_base_avma);
	else if (sw_wine_on_unix_stack(teb, sp))
		sw_capture_stack_known(capture, t->index, teb->unix_end_avma);
	else if (sw_wine_on_signal_stack(teb, sp))
		sw_capture_stack_known(capture, t->index, teb->signal_end_avma);
}

/* The TEBs of threads [first, last); how many there are. */
static size_t group_find(struct sw_capture *capture, size_t first, size_t last,
			 struct wine_thread threads[GROUP])
{
	uint8_t raw[GROUP][SW_WINE_TEB_BYTES];
	struct sw_capture_read reads[GROUP];
	size_t n = 0, found = 0;
	bool is_32bit = capture->snap->process.elf_class == 32;
	for (size_t i = first; i < last; i++) {
		uint64_t gs = capture->snap->threads[i].gs_base;
		/* Linux' own code leaves gs base 0. */
		if (gs == 0)
			continue;
		reads[n] = (struct sw_capture_read){gs, raw[n], sizeof(raw[n]), false};
		threads[n++].index = i;
	}
	sw_capture_read_many(capture, reads, n);
	for (size_t i = 0; i < n; i++) {
		struct wine_thread t = {.index = threads[i].index};
		struct sw_bytes bytes = {raw[i], sizeof(raw[i])};
		if (!reads[i].ok || !sw_wine_teb_parse(bytes, is_32bit, reads[i].avma, &t.teb))
			continue;
		t.sp_avma = capture->snap->threads[t.index].regs.sp_avma;
		t.in_signal = sw_wine_on_signal_stack(&t.teb, t.sp_avma);
		threads[found++] = t;
	}
	return found;
}

static void group_add(struct sw_capture *capture, size_t first, size_t last)
{
	struct wine_thread threads[GROUP];
	struct sw_capture_read reads[GROUP];
	size_t n = group_find(capture, first, last, threads);
	for (size_t i = 0; i < n; i++) {
		struct wine_thread *t = &threads[i];
		bool is_32bit = t->teb.is_32bit;
		/* Little-endian: of a word of 4 bytes the lower half. */
		reads[i] =
			(struct sw_capture_read){t->teb.syscall_frame_avma +
							 (is_32bit ? FRAME_ESP : FRAME_RSP),
						 &t->windows_sp_avma,
						 is_32bit ? 4 : sizeof(t->windows_sp_avma), false};
	}
	sw_capture_read_many(capture, reads, n);
	for (size_t i = 0; i < n; i++) {
		struct wine_thread *t = &threads[i];
		uint64_t teb = t->teb.teb_avma;
		if (t->in_signal)
			signal_find(capture, t);
		known_tell(capture, t);
		(void) sw_capture_stack(capture, teb, teb + SW_WINE_TEB_BYTES); /* as above */
		stacks_add(capture, t);
	}
}

int sw_wine_stacks(struct sw_capture *capture)
{
	size_t n = capture->snap->n_threads;
	for (size_t first = 0; first < n; first += GROUP)
		group_add(capture, first, n - first < GROUP ? n : first + GROUP);
	return 0;
}
