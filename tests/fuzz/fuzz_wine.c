/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Wine process whose memory somebody else wrote: TEB, syscall_frames, CONTEXTs, the list of
 * function tables and what it leads to, ntdll.dll's headers and exports. The input:
 *
 *	8 bytes   pc
 *	8 bytes   sp, in one of the thread's stacks
 *	the rest  16 bytes each: an address, and the word that is there instead
 *
 * over the process of tests/unit/wine_case.h, which has a page of code made by the program, too.
 */
#include "fuzz.h"
#include "unwind/unwinder.h"
#include "wine_case.h"
#include "runtimes/wine/frames.h"

#include <string.h>

enum {
	HEADER = 16,
	RECORD = 16,
	RECORDS_MAX = 256,
	PAGE = 4096,
	JIT = 0x60000000,     /* code, tables, unwind information */
	ENTRIES = 0x61000000, /* of the list of tables */
};

static uint64_t u64(const uint8_t *data)
{
	uint64_t value;
	memcpy(&value, data, sizeof(value));
	return value;
}

/* The copies are the test's own: what was captured may be anything. */
static void patch(struct sw_snapshot *snap, uint64_t avma, uint64_t value)
{
	struct sw_thread *t = &snap->threads[0];
	if (avma >= t->stack_avma && avma - t->stack_avma < t->stack_bytes &&
	    t->stack_bytes - (avma - t->stack_avma) >= sizeof(value))
		memcpy((uint8_t *) (uintptr_t) t->stack + (avma - t->stack_avma), &value,
		       sizeof(value));
	for (size_t i = 0; i < snap->n_ranges; i++) {
		struct sw_range *r = &snap->ranges[i];
		if (avma >= r->start_avma && avma - r->start_avma < r->bytes &&
		    r->bytes - (avma - r->start_avma) >= sizeof(value))
			memcpy((uint8_t *) (uintptr_t) r->data + (avma - r->start_avma), &value,
			       sizeof(value));
	}
}

static bool on_a_stack(uint64_t sp)
{
	return sp % 8 == 0 && ((sp >= WINE_SIGNAL && sp < WINE_SIGNAL_END) ||
			       (sp >= WINE_UNIX_END - 0x10000 && sp < WINE_UNIX_END) ||
			       (sp >= WINE_WINDOWS && sp < WINE_WINDOWS_END));
}

static void look(struct sw_snapshot *snap)
{
	struct sw_walks *walks;
	struct sw_description d;
	struct sw_walk_options options = {.max_frames = 512};
	if (sw_walk_all(snap, &options, &walks, NULL) != 0)
		abort();
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *walk = &walks->walks[i];
		if (walk->n_frames == 0 || walk->n_frames > options.max_frames)
			abort();
		if (walk->end != SW_END_COMPLETE && walk->why == NULL)
			abort();
		for (size_t j = 0; j < walk->n_frames; j++)
			(void) sw_walk_describe(walks, &walk->frames[j], &d);
	}
	sw_walks_destroy(walks);
}

/* The work of the hook in the stop, where nothing is known to be right. */
static void look_stopped(const struct wine_case *w, const uint8_t *data, size_t size)
{
	struct sw_wine_teb teb;
	uint64_t sp;
	if (sw_wine_teb_parse((struct sw_bytes){w->teb, sizeof(w->teb)}, false, WINE_TEB, &teb))
		(void) sw_wine_signal_sp((struct sw_bytes){data, size}, &teb, &sp);
	(void) sw_wine_teb_parse((struct sw_bytes){data, size}, size % 2 != 0, WINE_TEB, &teb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t page[PAGE];
	if (size < HEADER || !on_a_stack(u64(data + 8)))
		return 0;
	struct wine_case *w = malloc(sizeof(*w));
	if (w == NULL)
		abort();
	wine_case_init(w);
	look_stopped(w, data, size);
	struct sw_snapshot *snap = wine_case_snapshot(w, u64(data), u64(data + 8));
	fake_snapshot_range(snap, JIT, page, sizeof(page));
	fake_snapshot_range(snap, ENTRIES, page, sizeof(page));
	(void) fake_snapshot_map(snap, JIT, JIT + PAGE, "rwxp", "");
	data += HEADER;
	size -= HEADER;
	for (size_t n = 0; n < RECORDS_MAX && size >= RECORD; n++) {
		patch(snap, u64(data), u64(data + 8));
		data += RECORD;
		size -= RECORD;
	}
	fake_snapshot_finish(snap);
	look(snap);
	fake_snapshot_destroy(snap);
	free(w);
	return 0;
}
