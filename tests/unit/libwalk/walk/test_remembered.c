/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "copies/record.h"
#include "slots.h"
#include "snapshot/snapshot.h"
#include "test.h"
#include "walk_case.h"

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE, WORDS = 16 };

/*
 *	00 recurse:	call recurse		e8 fb ff ff ff
 *	05		ret			c3
 *	10 start:	call recurse		e8 eb ff ff ff
 *	15		hlt			f4
 *	20 framed:	call recurse		e8 db ff ff ff	(its row: CFA = rbp + 16)
 *	25		leave; ret
 */
static const uint8_t code[0x30] = {
	[0x00] = 0xe8, 0xfb, 0xff,          0xff, 0xff, 0xc3, [0x10] = 0xe8, 0xeb, 0xff, 0xff,
	0xff,          0xf4, [0x20] = 0xe8, 0xdb, 0xff, 0xff, 0xff,          0xc9, 0xc3,
};

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x10},
	{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x07, 16)},
	/* rbp saved at CFA - 16 */
	{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x0c, 6, 16, 0x86, 2)},
};

/* Copies of one thread, one after another, as a sampler has them. */
struct fixture {
	struct sw_snapshot *snap;
	struct sw_thread *thread;
	struct sw_slots kept;
	struct sw_copy copy;
	uint64_t *stack; /* of the thread */
	uint64_t sp_avma;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = 3};
	uint64_t words[WORDS] = {CODE + 0x05, CODE + 0x05, CODE + 0x15};
	f->snap = fake_snapshot_create();
	walk_module(f->snap, BIAS, &parts);
	(void) fake_snapshot_stack(f->snap, 1, CODE, words, WORDS);
	fake_snapshot_finish(f->snap);
	f->thread = &f->snap->threads[0];
	f->stack = (uint64_t *) (uintptr_t) f->thread->stack;
	f->sp_avma = f->thread->regs.sp_avma;
	f->thread->copy = &f->copy;
	f->snap->priv->kept = &f->kept;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_slots_deinit(&f->kept);
	fake_snapshot_destroy(f->snap);
	free(f);
	return 0;
}

/* Walks the copy as it is: as many frames, remembered or not, and the same as without memory. */
static void walk_as(struct fixture *f, enum sw_walk_memory how, size_t n_frames,
		    size_t n_remembered)
{
	struct sw_walks *walks, *alone;
	const struct sw_walk_options options = {.memory = how}, forget = {.memory = SW_WALK_FORGET};
	assert_int_equal(sw_walk_all(f->snap, &options, &walks, NULL), 0);
	f->snap->priv->kept = NULL;
	assert_int_equal(sw_walk_all(f->snap, &forget, &alone, NULL), 0);
	f->snap->priv->kept = &f->kept;
	const struct sw_walk *a = &walks->walks[0], *b = &alone->walks[0];
	assert_int_equal(walks->n_remembered, n_remembered);
	assert_int_equal(walks->n_differ, 0);
	assert_int_equal(a->n_frames, n_frames);
	assert_int_equal(b->n_frames, n_frames);
	assert_int_equal(a->end, b->end);
	for (size_t i = 0; i < n_frames; i++) {
		assert_int_equal(a->frames[i].pc_avma, b->frames[i].pc_avma);
		assert_int_equal(a->frames[i].sp_avma, b->frames[i].sp_avma);
		assert_ptr_equal(a->frames[i].by, b->frames[i].by);
		assert_int_equal(a->frames[i].flags, b->frames[i].flags);
		assert_int_equal(a->frames[i].trust, b->frames[i].trust);
	}
	assert_ptr_equal(a->thread, f->thread);
	sw_walks_destroy(walks);
	sw_walks_destroy(alone);
}

static void walk_is_new(struct fixture *f, size_t n_frames)
{
	walk_as(f, SW_WALK_REMEMBER, n_frames, 0);
}

static void walk_is_remembered(struct fixture *f, size_t n_frames)
{
	walk_as(f, SW_WALK_REMEMBER, n_frames, 1);
}

TEST_WITH(test_same, setup, teardown)
{
	struct fixture *f = *state;
	walk_is_new(f, 4);
	walk_is_remembered(f, 4);
	walk_is_remembered(f, 4);
}

/* Words behind the last frame and registers that the walk does not ask for may be anything. */
TEST_WITH(test_not_asked_for, setup, teardown)
{
	struct fixture *f = *state;
	sw_regs_set(&f->thread->regs, 3, 1);
	walk_is_new(f, 4);
	f->stack[WORDS - 1] = 4711;
	sw_regs_set(&f->thread->regs, 3, 4711);
	walk_is_remembered(f, 4);
}

/* Each return address leads elsewhere, and back. */
TEST_WITH(test_memory, setup, teardown)
{
	struct fixture *f = *state;
	walk_is_new(f, 4);
	f->stack[2] = CODE + 0x05;
	f->stack[3] = CODE + 0x15;
	walk_is_new(f, 5);
	walk_is_remembered(f, 5);
	f->stack[0] = CODE + 0x15;
	walk_is_new(f, 2);
	f->stack[0] = CODE + 0x05;
	walk_is_remembered(f, 5);
	f->stack[2] = CODE + 0x15;
	walk_is_remembered(f, 4);
}

/* A register that says where the caller's frame is. */
TEST_WITH(test_register, setup, teardown)
{
	struct fixture *f = *state;
	sw_regs_set(&f->thread->regs, SW_ARCH_RA, CODE + 0x25);
	sw_regs_set(&f->thread->regs, 6, f->sp_avma);
	walk_is_new(f, 3);
	walk_is_remembered(f, 3);
	sw_regs_set(&f->thread->regs, 6, f->sp_avma + 8);
	walk_is_new(f, 2);
	walk_is_remembered(f, 2);
	sw_regs_set(&f->thread->regs, 6, f->sp_avma);
	walk_is_remembered(f, 3);
}

/* The same words at another place, and in another thread. */
TEST_WITH(test_beginning, setup, teardown)
{
	struct fixture *f = *state;
	walk_is_new(f, 4);
	f->thread->fs_base = 0x1000;
	walk_is_new(f, 4);
	f->copy.head.flags = SW_SAMPLED_FAULT;
	walk_is_new(f, 4);
	f->copy.head.flags = 0;
	walk_is_remembered(f, 4);
	sw_regs_set(&f->thread->regs, SW_ARCH_SP, f->sp_avma + 8);
	walk_is_new(f, 3);
}

TEST_WITH(test_ways, setup, teardown)
{
	struct fixture *f = *state;
	walk_as(f, SW_WALK_FORGET, 4, 0);
	walk_as(f, SW_WALK_FORGET, 4, 0);
	walk_is_new(f, 4);
	walk_is_remembered(f, 4);
	walk_as(f, SW_WALK_REMEMBER_BOTH, 4, 0); /* other options: it begins anew */
	walk_as(f, SW_WALK_REMEMBER_BOTH, 4, 1);
}

/* A walk that did not come to its end may do so in the next copy. */
TEST_WITH(test_not_complete, setup, teardown)
{
	struct fixture *f = *state;
	f->stack[1] = 0x1234;
	walk_is_new(f, 2);
	walk_is_new(f, 2);
}

/* Stacks that are never the same are not kept any more, and what is found again pays again. */
TEST_WITH(test_many, setup, teardown)
{
	enum { MANY = 1000 };
	struct fixture *f = *state;
	for (size_t i = 0; i < MANY; i++) {
		f->thread->fs_base = 0x1000 * i;
		walk_is_new(f, 4);
	}
	for (size_t i = 0; i < 3 * MANY; i++) {
		const struct sw_walk_options options = {0};
		struct sw_walks *walks;
		f->thread->fs_base = 0;
		assert_int_equal(sw_walk_all(f->snap, &options, &walks, NULL), 0);
		sw_walks_destroy(walks);
	}
	walk_is_remembered(f, 4);
}
