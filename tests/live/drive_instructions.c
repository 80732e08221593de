/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_instructions PID TIMES: walks the process so often, and asks at each frame that call frame
 * information steps out of what following the instructions says. Prints each first disagreement at an
 * address, then "same N", "other N", "declined N".
 */
#include "arch/arch.h"
#include "capture/take.h"
#include "native/elf.h"
#include "native/instructions.h"
#include "walk/tables.h"
#include "walk/walks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS_MAX = 32, SEEN_MAX = 4096 };

static unsigned long same, other, declined;
static uint64_t seen[SEEN_MAX];
static size_t n_seen;

static bool is_new(uint64_t avma)
{
	for (size_t i = 0; i < n_seen; i++)
		if (seen[i] == avma)
			return false;
	if (n_seen < SEEN_MAX)
		seen[n_seen++] = avma;
	return true;
}

/* Registers that both know must be equal, too. */
static bool equal(const struct sw_regs *a, const struct sw_regs *b)
{
	if (a->sp_avma != b->sp_avma || a->pc_avma != b->pc_avma)
		return false;
	for (unsigned i = 0; i < SW_REGS_MAX; i++) {
		uint64_t x, y;
		if (sw_regs_get(a, i, &x) && sw_regs_get(b, i, &y) && x != y)
			return false;
	}
	return true;
}

static enum sw_step compare(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_cursor copy = *cursor;
	struct sw_stepped s = {0};
	static bool nested; /* what is asked here asks what the tables say of the frames above */
	enum sw_step truth = sw_unwind_elf.step(state, cursor, ret);
	if (nested || truth != SW_STEP_OK || ret->callee_signal || (ret->flags & SW_FRAME_EXACT_PC))
		return truth;
	uint64_t pc = cursor->regs.pc_avma - (cursor->place != NULL ? cursor->place->bias : 0);
	nested = true;
	enum sw_step step = sw_unwind_instructions.step(NULL, &copy, &s);
	nested = false;
	if (step != SW_STEP_OK) {
		declined++;
		if (is_new(pc))
			printf("declined at %s 0x%" PRIx64 "\n",
			       sw_module_path(cursor->place->module), pc);
	} else if (equal(&ret->regs, &s.regs)) {
		same++;
	} else {
		other++;
		if (is_new(pc))
			printf("other at %s 0x%" PRIx64 ": sp 0x%" PRIx64 " 0x%" PRIx64
			       ", pc 0x%" PRIx64 " 0x%" PRIx64 "\n",
			       sw_module_path(cursor->place->module), pc, ret->regs.sp_avma,
			       s.regs.sp_avma, ret->regs.pc_avma, s.regs.pc_avma);
	}
	return truth;
}

int main(int argc, char **argv)
{
	static const struct sw_unwinder_ops comparing = {.name = "comparing",
							 .trust = SW_TRUST_CFI,
							 .weak_trust = SW_TRUST_CFI,
							 .kinds = SW_CODE_ELF,
							 .step = compare};
	const struct sw_unwinder_ops *unwinders[ROWS_MAX] = {&comparing};
	const struct sw_snapshot_options options = {.max_stop_ms = 10000};
	struct sw_tables tables = sw_tables;
	struct sw_context *ctx;
	struct sw_target *target;
	if (argc < 3 || tables.n_unwinders + 1 > ROWS_MAX || sw_context_create(&ctx, NULL) < 0 ||
	    sw_target_open(atoi(argv[1]), &target, NULL) < 0)
		return 2;
	for (size_t i = 0; i < tables.n_unwinders; i++)
		unwinders[i + 1] = tables.unwinders[i];
	tables.unwinders = unwinders;
	tables.n_unwinders++;
	for (int n = atoi(argv[2]); n > 0; n--) {
		struct sw_snapshot *snap;
		struct sw_walks *walks;
		if (sw_capture_take(ctx, target, &options, &tables, &snap, NULL) < 0 ||
		    sw_walk_all_with(snap, &tables, NULL, &walks, NULL) < 0)
			return 1;
		sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
		nanosleep(&(struct timespec){.tv_nsec = 1000000 + rand() % 1000000}, NULL);
	}
	sw_target_close(target);
	sw_context_destroy(ctx);
	printf("same %lu\nother %lu\ndeclined %lu\n", same, other, declined);
	return 0;
}
