/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wine_stacks.h"
#include "wine_frames.h"

enum {
	FRAME_RSP = 0x88,
	/* Upper end of a signal stack: the kernel's frame, with the largest state of the processor
	 * that is saved (AMX: 11 KiB). */
	SIGNAL_LOOK_BYTES = 14 << 10,
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

/* All that is in use below a frame with this sp; what lies around sp itself only if asked for. */
static void stacks_add(struct sw_capture *capture, const struct sw_wine_teb *teb, uint64_t sp_avma,
		       bool own)
{
	uint64_t rsp;
	if (sw_wine_on_windows_stack(teb, sp_avma)) {
		if (own)
			windows_add(capture, teb, sp_avma);
		/* Of a call that has returned, or of those that called back. */
		unix_add(capture, teb, teb->syscall_frame_avma);
		return;
	}
	if (!sw_wine_on_unix_stack(teb, sp_avma))
		return;
	if (own)
		unix_add(capture, teb, sp_avma);
	/* On the Unix stack above the frame is only a thread that is about to leave it. */
	if (sw_capture_read(capture, teb->syscall_frame_avma + FRAME_RSP, &rsp, sizeof(rsp)))
		windows_add(capture, teb, rsp);
}

static void signal_add(struct sw_capture *capture, const struct sw_wine_teb *teb, uint64_t sp_avma)
{
	uint8_t raw[SIGNAL_LOOK_BYTES];
	uint64_t begin = teb->signal_end_avma - sizeof(raw), interrupted;
	size_t bytes = sizeof(raw);
	if (begin < sp_avma) {
		bytes = (size_t) (teb->signal_end_avma - sp_avma) & ~(size_t) 7;
		begin = teb->signal_end_avma - bytes;
	}
	if (sw_capture_read(capture, begin, raw, bytes) &&
	    sw_wine_signal_sp((struct sw_bytes){raw, bytes}, teb, &interrupted))
		stacks_add(capture, teb, interrupted, true);
}

int sw_wine_stacks(struct sw_capture *capture)
{
	for (size_t i = 0; i < capture->snap->n_threads; i++) {
		const struct sw_thread *t = &capture->snap->threads[i];
		uint8_t raw[SW_WINE_TEB_BYTES];
		struct sw_wine_teb teb;
		/* Linux' own code leaves gs base 0. */
		if (t->gs_base == 0 || !sw_capture_read(capture, t->gs_base, raw, sizeof(raw)) ||
		    !sw_wine_teb_parse((struct sw_bytes){raw, sizeof(raw)}, t->gs_base, &teb))
			continue;
		(void) sw_capture_stack(capture, t->gs_base,
					t->gs_base + sizeof(raw)); /* as above */
		if (sw_wine_on_windows_stack(&teb, t->regs.sp_avma))
			sw_capture_stack_known(capture, i, teb.stack_base_avma);
		if (sw_wine_on_signal_stack(&teb, t->regs.sp_avma)) {
			sw_capture_stack_known(capture, i, teb.signal_end_avma);
			signal_add(capture, &teb, t->regs.sp_avma);
			continue;
		}
		stacks_add(capture, &teb, t->regs.sp_avma, false);
	}
	return 0;
}
