/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk_case.h"
#include "arch/arch.h"
#include "walk/tables.h"
#include "snapshot/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void walk_is(struct sw_snapshot *snap, const struct sw_walk_options *options,
	     const struct walk_frame *frames, size_t n_frames, enum sw_end end, const char *why)
{
	struct sw_walks *walks;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, options, &walks, NULL), 0);
	assert_int_equal(walks->n_walks, 1);
	const struct sw_walk *walk = &walks->walks[0];
	for (size_t i = 0; i < walk->n_frames && i < n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		assert_int_equal(f->pc_avma, frames[i].pc_avma);
		assert_int_equal(f->sp_avma, frames[i].sp_avma);
		assert_string_equal(f->by, frames[i].by);
		assert_string_equal(sw_trust_name(f->trust), frames[i].trust);
		assert_int_equal(f->flags, frames[i].flags);
		assert_ptr_equal(f->place, sw_snapshot_place(snap, sw_frame_lookup_avma(f)));
	}
	assert_int_equal(walk->n_frames, n_frames);
	assert_string_equal(sw_end_name(walk->end), sw_end_name(end));
	if (why == NULL)
		assert_null(walk->why);
	else
		assert_string_equal(walk->why, why);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

void walk_module(struct sw_snapshot *snap, uint64_t bias, const struct image_parts *parts)
{
	uint8_t *image = elf_image(parts);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/fake", bias, bias,
				    bias + IMAGE_BYTES, image, IMAGE_BYTES);
	free(image);
}

void walk_cursor_init(struct walk_cursor *w, struct sw_snapshot *snap,
		      const struct sw_thread *thread, bool exact_pc)
{
	uint64_t lookup = thread->regs.pc_avma - !exact_pc;
	w->memory = (struct sw_snapshot_memory){.snap = snap, .thread = thread};
	w->cursor = (struct sw_cursor){.snap = snap,
				       .thread = thread,
				       .memory = sw_snapshot_memory(&w->memory),
				       .regs = thread->regs,
				       .place = sw_snapshot_place(snap, lookup),
				       .lookup_avma = lookup,
				       .exact_pc = exact_pc,
				       .depth = 1};
}

const struct sw_unwinder_ops *walk_unwinder(const char *name)
{
	for (size_t i = 0; i < sw_tables.n_unwinders; i++)
		if (strcmp(sw_tables.unwinders[i]->name, name) == 0)
			return sw_tables.unwinders[i];
	fail_msg("no unwinder %s", name);
	return NULL;
}

uint64_t walk_reg(const struct sw_regs *regs, unsigned number)
{
	uint64_t value = 0;
	assert_true(sw_regs_get(regs, number, &value));
	return value;
}
