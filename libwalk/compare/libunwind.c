/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The second opinion: libunwind finds the row in the tables, interprets it and computes the caller's
 * registers; memory and registers come from the snapshot, so that no ptrace is needed and core files
 * and fixtures walk too. Shared with our own walk are only the module map and the memory.
 */
#include "snapshot/snapshot.h"
#include "arch/arch.h"
#include "errors.h"
#include "arena.h"
#include "compare/load.h"
#include "compare/table.h"
#include "native/call_site.h"
#include "walk/names.h"
#include "walk/tables.h"
#include "walk/walks.h"
#include "snapshot/read.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	DEADLINE_EVERY = 64,
	FIRST_FRAMES = 64,
	/* Words one step may read. libunwind has no limit of its own on DWARF expressions that loop;
	 * each operation reads at least its own opcode. A plain step reads some hundred words. */
	STEP_READS_MAX = 1 << 20,
};

/* The walk of one thread in the making; libunwind hands it to the accessors. */
struct opinion {
	const struct sw_libunwind *lib;
	const struct sw_walk_options *options;
	struct sw_walks *walks;
	struct sw_libunwind_table *tables; /* owned, one for each place */
	const struct sw_thread *thread;
	struct sw_snapshot_memory memory;
	struct sw_frame *frames; /* owned, reused for the next thread */
	size_t n_frames, capacity, max_frames;
	enum sw_end end;
	const char *why;
	/* The events of the step that is being made. */
	size_t step_reads;
	bool bad_info;        /* the row was refused */
	bool unreadable;      /* memory was wanted that is not there */
	uint64_t wanted_avma; /* the first such address */
	bool failed_nomem;
};

static const struct sw_place *place_of(const struct opinion *o, uint64_t avma)
{
	return sw_snapshot_place(o->walks->snap, avma);
}

/* The answer of libunwind for an address that it has no row for. Not -UNW_ENOINFO: it would then
 * guess by frame pointer, and find frames where there are none. */
enum { NO_ROW = -UNW_EINVALIDIP };

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct opinion *o = arg;
	const struct sw_place *place = place_of(o, ip);
	struct sw_memory memory = sw_snapshot_memory(&o->memory);
	if (place == NULL)
		return NO_ROW;
	struct sw_libunwind_table *table = &o->tables[place - o->walks->snap->places];
	/* The search takes for granted that ip is inside. */
	if (!sw_libunwind_table_find(table, o->walks->snap, place, memory) ||
	    ip < table->info.start_ip || ip >= table->info.end_ip)
		return NO_ROW;
	int r = o->lib->dwarf_search_unwind_table(as, ip, &table->info, info, need_unwind_info, o);
	if (r == -UNW_ENOINFO)
		return NO_ROW;
	if (r < 0)
		return r;
	if (need_unwind_info && !sw_libunwind_instructions_ok(info, memory)) {
		o->bad_info = true;
		return -UNW_EBADFRAME;
	}
	return 0;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	/* libunwind frees what the table search made itself. */
	(void) as, (void) info, (void) arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void) as, (void) ret, (void) arg;
	return -UNW_ENOINFO; /* no program registers dynamic code with libunwind */
}

static int access_mem(unw_addr_space_t as, unw_word_t avma, unw_word_t *value, int write, void *arg)
{
	struct opinion *o = arg;
	(void) as;
	if (write)
		return -UNW_EINVAL;
	if (++o->step_reads > STEP_READS_MAX)
		return -UNW_EBADFRAME;
	if (sw_libunwind_index_word(o->tables, o->walks->snap->n_places, avma, value) ||
	    sw_memory_read(sw_snapshot_memory(&o->memory), avma, value, sizeof(*value)))
		return 0;
	if (!o->unreadable)
		o->wanted_avma = avma;
	o->unreadable = true;
	return -UNW_EINVAL;
}

/* libunwind's numbers are DWARF's: enum x86_64_regnum_t of libunwind-x86_64.h. */
static int access_reg(unw_addr_space_t as, unw_regnum_t number, unw_word_t *value, int write,
		      void *arg)
{
	const struct opinion *o = arg;
	(void) as;
	if (write || number < 0 || !sw_regs_get(&o->thread->regs, (unsigned) number, value))
		return -UNW_EBADREG;
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *arg)
{
	(void) as, (void) number, (void) value, (void) write, (void) arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void) as, (void) cursor, (void) arg;
	return -UNW_EINVAL;
}

static bool frame_append(struct opinion *o, const struct sw_frame *frame)
{
	struct sw_frame *grown =
		sw_grow(o->frames, o->n_frames, &o->capacity, FIRST_FRAMES, sizeof(*grown));
	if (grown == NULL) {
		o->failed_nomem = true;
		return false;
	}
	o->frames = grown;
	o->frames[o->n_frames++] = *frame;
	return true;
}

static void finish(struct opinion *o, enum sw_end end, const char *why)
{
	o->end = end;
	o->why = why;
}

/* The step failed: says why from what the accessors saw. */
static void finish_failed(struct opinion *o, int r)
{
	const struct sw_thread *t = o->thread;
	if (o->step_reads > STEP_READS_MAX)
		finish(o, SW_END_BAD_UNWIND_INFO, "libunwind read too much for one frame");
	else if (o->bad_info)
		finish(o, SW_END_BAD_UNWIND_INFO, "call frame instructions that are out of range");
	else if (o->unreadable && o->wanted_avma >= t->stack_avma + t->stack_bytes &&
		 o->wanted_avma < t->stack_end_avma)
		finish(o, SW_END_STACK_LIMIT, "the stack goes on beyond its copy");
	else if (o->unreadable)
		finish(o, SW_END_MEMORY, "libunwind wanted memory that could not be read");
	else if (r == NO_ROW)
		finish(o, SW_END_NO_UNWIND_INFO, "libunwind found no unwind information");
	else if (r == -UNW_EBADFRAME)
		finish(o, SW_END_NO_PROGRESS, "libunwind says: the same frame again");
	else
		finish(o, SW_END_BAD_UNWIND_INFO, "libunwind could not use the unwind information");
}

/* A frame was found: checks it as the walker does and appends it. False ends the walk. */
static bool step_accept(struct opinion *o, unw_cursor_t *cursor, size_t live_before)
{
	struct sw_frame *callee = &o->frames[o->n_frames - 1];
	unw_word_t pc, sp;
	if (o->lib->get_reg(cursor, UNW_REG_IP, &pc) < 0 ||
	    o->lib->get_reg(cursor, UNW_REG_SP, &sp) < 0) {
		finish(o, SW_END_INTERNAL, "libunwind does not tell pc and sp");
		return false;
	}
	/* After a step it is about the frame that was stepped out of (tdep_fetch_frame of v1.6.2,
	 * src/x86_64/Gos-linux.c). */
	bool signal = o->lib->is_signal_frame(cursor) > 0;
	if (signal)
		callee->flags |= SW_FRAME_SIGNAL;
	if (pc == 0 && !signal && sw_is_end_of_mapping(o->walks->snap, callee->sp_avma, sp)) {
		finish(o, SW_END_COMPLETE, NULL);
		return false;
	}
	if (pc == 0) {
		finish(o, SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
		return false;
	}
	if (!signal && sp <= callee->sp_avma) {
		finish(o, SW_END_NO_PROGRESS, "the caller's frame is not above its callee's");
		return false;
	}
	const struct sw_map *map = sw_snapshot_map(o->walks->snap, pc - !signal);
	if (!signal && (map == NULL || !(map->prot & SW_MAP_EXEC))) {
		finish(o, SW_END_BAD_UNWIND_INFO, "the return address is not in executable memory");
		return false;
	}
	struct sw_frame frame = {
		.pc_avma = pc,
		.sp_avma = sp,
		.by = "libunwind",
		.trust = SW_TRUST_CFI,
		.flags =
			(uint16_t) ((signal ? SW_FRAME_EXACT_PC : 0) |
				    (o->memory.live_reads != live_before ? SW_FRAME_LIVE_READ : 0)),
	};
	frame.place = place_of(o, sw_frame_lookup_avma(&frame));
	frame.kind = sw_place_code_name(frame.place);
	return frame_append(o, &frame);
}

static bool step(struct opinion *o, unw_cursor_t *cursor)
{
	size_t live_before = o->memory.live_reads;
	o->step_reads = 0;
	o->bad_info = o->unreadable = false;
	int r = o->lib->step(cursor);
	if (r > 0)
		return step_accept(o, cursor, live_before);
	if (r == 0)
		finish(o, SW_END_COMPLETE, NULL); /* the return address is undefined */
	else
		finish_failed(o, r);
	return false;
}

static void walk_frames(struct opinion *o, unw_addr_space_t as)
{
	unw_cursor_t cursor;
	if (o->lib->init_remote(&cursor, as, o) < 0) {
		finish(o, SW_END_INTERNAL, "libunwind could not begin");
		return;
	}
	for (size_t n = 0;; n++) {
		if (o->n_frames >= o->max_frames) {
			finish(o, SW_END_FRAME_LIMIT, "more frames than --depth allows");
			return;
		}
		if (o->options->deadline_ns != 0 && n % DEADLINE_EVERY == 0 &&
		    sw_clock_ns() > o->options->deadline_ns) {
			finish(o, SW_END_TIMEOUT, "the time limit was reached while walking");
			return;
		}
		if (!step(o, &cursor))
			return;
	}
}

static void walk_thread(struct opinion *o, unw_addr_space_t as, const struct sw_thread *thread,
			struct sw_walk *walk)
{
	o->thread = thread;
	o->memory = (struct sw_snapshot_memory){.snap = o->walks->snap, .thread = thread};
	o->n_frames = 0;
	finish(o, SW_END_INTERNAL, NULL);
	struct sw_frame first = {.pc_avma = thread->regs.pc_avma,
				 .sp_avma = thread->regs.sp_avma,
				 .place = place_of(o, thread->regs.pc_avma),
				 .by = "context",
				 .trust = SW_TRUST_CONTEXT,
				 .flags = SW_FRAME_EXACT_PC};
	first.kind = sw_place_code_name(first.place);
	if (!frame_append(o, &first))
		return;
	walk_frames(o, as);
	*walk = (struct sw_walk){.thread = thread,
				 .n_frames = o->n_frames,
				 .end = o->end,
				 .why = o->why,
				 .frames = sw_arena_alloc(&o->walks->priv->arena,
							  o->n_frames * sizeof(*o->frames))};
	if (walk->frames == NULL)
		o->failed_nomem = true;
	else
		memcpy(walk->frames, o->frames, o->n_frames * sizeof(*o->frames));
	o->walks->live_reads += o->memory.live_reads;
}

static int walk_threads(const struct sw_libunwind *loaded, struct sw_walks *walks,
			const struct sw_walk_options *options, struct sw_error *err)
{
	struct sw_libunwind lib = *loaded;
	unw_accessors_t accessors = {.find_proc_info = find_proc_info,
				     .put_unwind_info = put_unwind_info,
				     .get_dyn_info_list_addr = get_dyn_info_list_addr,
				     .access_mem = access_mem,
				     .access_reg = access_reg,
				     .access_fpreg = access_fpreg,
				     .resume = resume};
	const struct sw_snapshot *snap = walks->snap;
	struct opinion o = {.lib = &lib, .options = options, .walks = walks};
	o.max_frames = options->max_frames == 0 ? SW_DEFAULT_FRAMES : options->max_frames;
	if (o.max_frames > SW_MAX_FRAMES)
		o.max_frames = SW_MAX_FRAMES;
	o.tables = calloc(snap->n_places + 1, sizeof(*o.tables));
	unw_addr_space_t as = lib.create_addr_space(&accessors, 0);
	if (o.tables == NULL || as == NULL) {
		o.failed_nomem = true;
	} else {
		/* The cache of libunwind is keyed by pc alone: a pc that is a return address in one
		 * stack and the interrupted instruction in another would get the same row. */
		(void) lib.set_caching_policy(as, UNW_CACHE_NONE); /* cannot fail */
		for (size_t i = 0; i < snap->n_threads && !o.failed_nomem; i++)
			if (snap->threads[i].captured)
				walk_thread(&o, as, &snap->threads[i],
					    &walks->walks[walks->n_walks++]);
	}
	if (as != NULL)
		lib.destroy_addr_space(as);
	for (size_t i = 0; o.tables != NULL && i < snap->n_places; i++)
		sw_libunwind_table_deinit(&o.tables[i]);
	free(o.tables);
	free(o.frames);
	return o.failed_nomem ? sw_fail_nomem(err) : 0;
}

int sw_walk_libunwind(const struct sw_snapshot *snap, const struct sw_walk_options *options,
		      struct sw_walks **ret, struct sw_error *err)
{
	static const struct sw_walk_options defaults = {0};
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = NULL;
	struct sw_libunwind lib;
	if (snap->process.elf_class == 32)
		return sw_fail(
			err, SW_E_ARCH,
			"process %d is a 32-bit program, which libunwind of this machine does "
			"not walk",
			(int) snap->process.pid);
	int r = sw_libunwind_load(&lib, err);
	if (r == 0)
		r = sw_walks_create(snap, &sw_tables, &walks, err);
	if (r == 0)
		r = walk_threads(&lib, walks, options != NULL ? options : &defaults, err);
	if (r == 0)
		r = sw_walks_identify(walks, err);
	if (r < 0)
		return r;
	walks->walk_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(walks);
	return 0;
}
