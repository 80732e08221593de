/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk by the answers of unwinders: here they answer what each test wants. */
#include "walk/walks.h"
#include "arch/arch.h"
#include "fake.h"
#include "fake_kernel.h"
#include "unwind/unwinder.h"
#include "test.h"

enum {
	CODE = 0x401000,
	CODE_BYTES = 0x1000,
	DATA = 0x500000, /* mapped, not executable */
	ANSWERS_MAX = 512,
};

#define SP (FAKE_STACK_AVMA + UINT64_C(1) * FAKE_STACK_BYTES)

struct answer {
	enum sw_step step;
	uint64_t pc, sp;
	struct sw_stepped more; /* beside the registers */
};

static struct answer answers[ANSWERS_MAX];
static size_t n_asked, n_second;
static uint64_t lookups[ANSWERS_MAX];
static size_t late_at; /* the deadline comes while this one is asked for; 0: never */

static enum sw_step first_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct answer *a = &answers[n_asked];
	lookups[n_asked++] = cursor->lookup_avma;
	if (late_at != 0 && n_asked == late_at)
		fake_kernel.now_ns += INT64_C(10) * 1000000000;
	*ret = a->more;
	sw_regs_set(&ret->regs, SW_ARCH_RA, a->pc);
	sw_regs_set(&ret->regs, SW_ARCH_SP, a->sp);
	return a->step;
}

static enum sw_step second_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	n_second++;
	return SW_STEP_END;
}

static const struct sw_unwinder_ops first = {.name = "first",
					     .trust = SW_TRUST_CFI,
					     .weak_trust = SW_TRUST_SCAN,
					     .kinds = SW_CODE_ANON,
					     .step = first_step};
static const struct sw_unwinder_ops second = {.name = "second",
					      .trust = SW_TRUST_SCAN,
					      .weak_trust = SW_TRUST_SCAN,
					      .kinds = SW_CODE_ANON,
					      .step = second_step};
static const struct sw_unwinder_ops *const unwinders[] = {&first, &second};
static const struct sw_tables tables = {.unwinders = unwinders, .n_unwinders = 2};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_walks *walks;
};

static int setup(void **state)
{
	static struct fixture f;
	static const uint64_t words[64];
	f = (struct fixture){.snap = fake_snapshot_create()};
	fake_kernel = (struct fake_kernel){0};
	memset(answers, 0, sizeof(answers));
	n_asked = n_second = late_at = 0;
	(void) fake_snapshot_map(f.snap, CODE, CODE + CODE_BYTES, "r-xp", "");
	(void) fake_snapshot_map(f.snap, DATA, DATA + CODE_BYTES, "rw-p", "");
	(void) fake_snapshot_stack(f.snap, 1, CODE + 0x10, words, 64);
	fake_snapshot_finish(f.snap);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_walks_destroy(f->walks);
	fake_snapshot_destroy(f->snap);
	return 0;
}

static const struct sw_walk *walk(struct fixture *f, const struct sw_walk_options *options)
{
	assert_int_equal(sw_walk_all_with(f->snap, &tables, options, &f->walks, NULL), 0);
	assert_int_equal(f->walks->n_walks, 1);
	return &f->walks->walks[0];
}

static struct answer ok(uint64_t pc, uint64_t sp)
{
	return (struct answer){.step = SW_STEP_OK, .pc = pc, .sp = sp};
}

/* The place of a call is looked up, not of what follows it; where a signal came the place itself. */
TEST_WITH(test_lookup, setup, teardown)
{
	answers[0] = ok(CODE + 0x20, SP + 16);
	answers[1] = ok(CODE + 0x30, SP + 32);
	answers[1].more.callee_signal = true;
	answers[1].more.flags = SW_FRAME_EXACT_PC;
	answers[2].step = SW_STEP_END;
	const struct sw_walk *w = walk(*state, NULL);
	assert_int_equal(w->end, SW_END_COMPLETE);
	assert_int_equal(w->n_frames, 3);
	assert_int_equal(lookups[0], CODE + 0x10);
	assert_int_equal(lookups[1], CODE + 0x1f);
	assert_int_equal(lookups[2], CODE + 0x30);
	assert_int_equal(w->frames[0].flags & SW_FRAME_SIGNAL, 0);
	assert_int_equal(w->frames[1].flags & SW_FRAME_SIGNAL, SW_FRAME_SIGNAL);
	assert_int_equal(w->frames[2].flags & SW_FRAME_SIGNAL, 0);
}

TEST_WITH(test_return_0, setup, teardown)
{
	answers[0] = ok(0, SP + 16);
	const struct sw_walk *w = walk(*state, NULL);
	assert_int_equal(w->end, SW_END_BAD_UNWIND_INFO);
	assert_int_equal(w->n_frames, 1);
	assert_string_equal(w->why, "the return address is 0, which proves no end");
}

TEST_WITH(test_not_executable, setup, teardown)
{
	answers[0] = ok(DATA + 0x20, SP + 16);
	const struct sw_walk *w = walk(*state, NULL);
	assert_int_equal(w->end, SW_END_BAD_UNWIND_INFO);
	assert_int_equal(w->n_frames, 1);
	assert_string_equal(w->why, "the return address is not in executable memory");
}

/* A wild pc is what a signal came for. */
TEST_WITH(test_signal_anywhere, setup, teardown)
{
	answers[0] = ok(DATA + 0x20, SP + 16);
	answers[0].more.callee_signal = true;
	answers[0].more.flags = SW_FRAME_EXACT_PC;
	answers[1].step = SW_STEP_END;
	const struct sw_walk *w = walk(*state, NULL);
	assert_int_equal(w->end, SW_END_COMPLETE);
	assert_int_equal(w->n_frames, 2);
	assert_int_equal(w->frames[1].pc_avma, DATA + 0x20);
}

TEST_WITH(test_trust, setup, teardown)
{
	answers[0] = ok(CODE + 0x20, SP + 16);
	answers[1] = ok(CODE + 0x30, SP + 32);
	answers[1].more.weak = true;
	answers[2].step = SW_STEP_END;
	const struct sw_walk *w = walk(*state, NULL);
	assert_int_equal(w->frames[0].trust, SW_TRUST_CONTEXT);
	assert_int_equal(w->frames[1].trust, SW_TRUST_CFI);
	assert_int_equal(w->frames[2].trust, SW_TRUST_SCAN);
}

/* Where one fails others are asked, unless theirs would be wrong, too. */
TEST_OF(test_final, struct fixture *f)
{
	answers[0].step = SW_STEP_FAIL;
	answers[0].more.end = SW_END_BAD_UNWIND_INFO;
	answers[0].more.why = "of the first";
	answers[1] = answers[0];
	answers[1].more.final = true;
	const struct sw_walk *w = walk(f, NULL);
	assert_int_equal(w->end, SW_END_COMPLETE);
	assert_int_equal(n_second, 1);
	sw_walks_destroy(f->walks);
	w = walk(f, NULL);
	assert_int_equal(w->end, SW_END_BAD_UNWIND_INFO);
	assert_string_equal(w->why, "of the first");
	assert_int_equal(n_second, 1);
}

/* Time that is over in the middle of a stack ends its walk soon after. */
TEST_WITH(test_deadline, setup, teardown)
{
	const struct sw_walk_options options = {.deadline_ns =
							INT64_C(1005) *
							1000000000, /* the clock begins at 1000 s */
						.max_frames = ANSWERS_MAX};
	for (size_t i = 0; i < ANSWERS_MAX; i++)
		answers[i] = ok(CODE + 0x20, SP + 16 * (i + 1));
	late_at = 70;
	const struct sw_walk *w = walk(*state, &options);
	assert_int_equal(w->end, SW_END_TIMEOUT);
	assert_string_equal(w->why, "the time limit was reached while walking");
	assert_in_range(w->n_frames, 70, 140);
}

/* ---- frames of an interpreter ------------------------------------------------------------------- */

/* The answers of frames() for the native frames, from the innermost one on. */
static struct {
	bool without, may_miss, adds;
	size_t adds_more;
	const char *cut_why;
} said[4];
static size_t n_said;

static bool language_probe(const struct sw_snapshot *snap)
{
	return true;
}

static int language_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	*ret_state = said;
	return 0;
}

static void language_close(void *state)
{
}

static bool language_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
			    struct sw_frame_sink *sink)
{
	sink->without = said[n_said].without;
	sink->may_miss = said[n_said].may_miss;
	sink->cut_why = said[n_said].cut_why;
	if (said[n_said].adds)
		assert_true(sink->add(sink, 0x1000, 1));
	size_t more = said[n_said++].adds_more;
	while (more > 0 && sink->add(sink, 0x1000, 1))
		more--;
	return false;
}

static int language_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return 0;
}

static const struct sw_walk *
walk_language_with(struct fixture *f, const struct sw_walk_options *options, enum sw_step last)
{
	static const struct sw_runtime_ops language = {.name = "language",
						       .kind = "language",
						       .trust = SW_TRUST_RUNTIME,
						       .weak_trust = SW_TRUST_RUNTIME,
						       .kinds = SW_CODE_ANON,
						       .probe = language_probe,
						       .open = language_open,
						       .close = language_close,
						       .frames = language_frames,
						       .names = language_names};
	static const struct sw_runtime_ops *const runtimes[] = {&language};
	static const struct sw_tables with = {.unwinders = unwinders,
					      .n_unwinders = 2,
					      .runtimes = runtimes,
					      .n_runtimes = 1};
	n_said = n_asked = 0;
	answers[0] = ok(CODE + 0x20, SP + 16);
	answers[1] = ok(CODE + 0x30, SP + 32);
	answers[2] = (struct answer){
		.step = last, .more = {.final = true, .end = SW_END_BAD_UNWIND_INFO, .why = "cut"}};
	sw_walks_destroy(f->walks);
	assert_int_equal(sw_walk_all_with(f->snap, &with, options, &f->walks, NULL), 0);
	return &f->walks->walks[0];
}

static const struct sw_walk *walk_language(struct fixture *f, enum sw_step last)
{
	return walk_language_with(f, NULL, last);
}

/* More frames of a language than a walk may have: it ends there, as the outermost ones are not among them. */
TEST_WITH(test_language_limit, setup, teardown)
{
	static const struct sw_walk_options options[] = {{.outermost = true}, {.outermost = false}};
	for (size_t i = 0; i < 2 * SW_ARRAY_SIZE(options); i++) {
		memset(said, 0, sizeof(said));
		said[1 + i / 2].adds_more = 3000;
		const struct sw_walk *w = walk_language_with(*state, &options[i % 2], SW_STEP_END);
		assert_int_equal(w->end, SW_END_FRAME_LIMIT);
		assert_string_equal(w->why, "more frames than --depth allows");
		assert_int_equal(w->n_left_out, 0);
		assert_int_equal(w->n_frames, SW_DEFAULT_FRAMES);
	}
}

/* A complete stack with native frames for those of a language, but none of these, says that they may be missing. */
TEST_WITH(test_without, setup, teardown)
{
	memset(said, 0, sizeof(said));
	said[1].without = true;
	said[2].without = true;
	const struct sw_walk *w = walk_language(*state, SW_STEP_END);
	assert_int_equal(w->end, SW_END_COMPLETE);
	assert_int_equal(w->n_frames, 3);
	assert_false(w->frames[0].flags & SW_FRAME_MAY_MISS);
	assert_true(w->frames[1].flags & SW_FRAME_MAY_MISS);
	assert_false(w->frames[2].flags & SW_FRAME_MAY_MISS);
	w = walk_language(*state, SW_STEP_FAIL); /* it is said to be cut */
	assert_int_equal(w->end, SW_END_BAD_UNWIND_INFO);
	assert_false(w->frames[1].flags & SW_FRAME_MAY_MISS);
	said[2].adds = true; /* what begins has none before all others */
	w = walk_language(*state, SW_STEP_END);
	assert_int_equal(w->n_frames, 4);
	for (size_t i = 0; i < w->n_frames; i++)
		assert_false(w->frames[i].flags & SW_FRAME_MAY_MISS);
	said[1].may_miss = true;
	w = walk_language(*state, SW_STEP_END);
	assert_true(w->frames[1].flags & SW_FRAME_MAY_MISS);
	assert_false(w->frames[3].flags & SW_FRAME_MAY_MISS);
}

/* A stack of whose runtime not all could be read is not complete, whatever it has; one that ends before says why it ends. */
TEST_WITH(test_runtime_data, setup, teardown)
{
	memset(said, 0, sizeof(said));
	said[1].adds = true;
	said[1].cut_why = "not all could be read";
	const struct sw_walk *w = walk_language(*state, SW_STEP_END);
	assert_int_equal(w->end, SW_END_RUNTIME_DATA);
	assert_string_equal(w->why, "not all could be read");
	assert_int_equal(w->n_frames, 4);
	w = walk_language(*state, SW_STEP_FAIL);
	assert_int_equal(w->end, SW_END_BAD_UNWIND_INFO);
	said[1].cut_why = NULL;
	w = walk_language(*state, SW_STEP_END);
	assert_int_equal(w->end, SW_END_COMPLETE);
}
