/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stacks of one sample, of a process that goes on between the looks at its threads. */
#include "sample/light.h"
#include "copies/record.h"
#include "fake.h"
#include "fake_kernel.h"
#include "fake_process.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum {
	STACK_AVMA = 0x700000,
	STACK_BYTES = 0x4000,
	CODE_AVMA = 0x400000,
	TEAM = 3,
	STACKS = TEAM + 1,
	RIP = 16, /* of struct user_regs_struct, as words */
	CS = 17,
	RSP = 19,
	FS_BASE = 21,
	ORIG_RAX = 15,
	USER_CS = 0x33,
};

static uint8_t memory[STACKS * STACK_BYTES];

struct fixture {
	struct sw_snapshot *base;
	struct sw_target target;
	struct sw_sample_links links;
	struct sw_light *light;
	struct fake_look first; /* the look by which threads were chosen */
	struct sw_light_thread threads[TEAM];
	struct sw_light_result result;
};

static struct fixture f;

static struct fake_look quiet(void)
{
	struct fake_look look = {.n = TEAM};
	for (size_t i = 0; i < TEAM; i++) {
		struct sw_iterate_record *r = &look.records[i];
		*r = (struct sw_iterate_record){.tid = (uint32_t) (11 + i),
						.start_ns = 5000 + i,
						.n_voluntary = 10,
						.exec_id = 2,
						.is_last = 1,
						.state = 1};
		r->regs[RIP] = CODE_AVMA + i;
		r->regs[RSP] = STACK_AVMA + i * STACK_BYTES + 0x1000;
		r->regs[FS_BASE] = STACK_AVMA + i * STACK_BYTES + 0x2000;
		r->regs[ORIG_RAX] = UINT64_MAX;
		r->regs[CS] = USER_CS;
	}
	return look;
}

static void start_with(void (*look)(size_t number, struct fake_look *ret),
		       const struct sw_recipe *recipe)
{
	const struct sw_snapshot_options options = {.stack_bytes = STACK_BYTES,
						    .total_bytes = 1 << 20,
						    .no_realtime = true,
						    .stop = recipe != NULL ? SW_STOP_NEVER
									   : SW_STOP_AUTO};
	f = (struct fixture){.base = fake_snapshot_create(),
			     .target = {.pid = 11, .proc_fd = -EBADF, .task_fd = FAKE_TASK_FD},
			     .first = quiet()};
	f.base->priv->mem_fd =
		recipe != NULL ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -EBADF;
	(void) fake_snapshot_map(f.base, CODE_AVMA, CODE_AVMA + 0x1000, "r-xp", "");
	for (size_t i = 0; i < STACKS; i++)
		(void) fake_snapshot_map(f.base, STACK_AVMA + i * STACK_BYTES,
					 STACK_AVMA + (i + 1) * STACK_BYTES, "rw-p", "");
	fake_process = (struct fake_process){.look = look};
	fake_kernel = (struct fake_kernel){.n = TEAM,
					   .n_ranges = 1,
					   .ranges = {{STACK_AVMA, memory, sizeof(memory)}}};
	for (size_t i = 0; i < TEAM; i++)
		fake_kernel.threads[i] =
			(struct fake_thread){.tid = (pid_t) (11 + i),
					     .regs = {.orig_rax = (unsigned long long) -1,
						      .cs = USER_CS,
						      .rip = CODE_AVMA + 0x100 + i,
						      .rsp = STACK_AVMA + i * STACK_BYTES +
							     0x1000}};
	sw_sample_links_init(&f.links, -EBADF, -EBADF);
	assert_int_equal(sw_light_create(f.base, &f.target, &options, &f.links, recipe, &f.light,
					 NULL),
			 0);
}

static void start(void (*look)(size_t number, struct fake_look *ret))
{
	start_with(look, NULL);
}

static void sample(void)
{
	for (size_t i = 0; i < TEAM; i++)
		f.threads[i] = (struct sw_light_thread){.record = &f.first.records[i]};
	assert_int_equal(sw_light_read(f.light, f.threads, TEAM, &f.result, NULL), 0);
	assert_false(f.result.lost);
}

static void end(void)
{
	sw_light_destroy(f.light);
	sw_sample_links_deinit(&f.links);
	fake_snapshot_destroy(f.base);
	fake_process = (struct fake_process){0};
}

/* For each thread: i(terator), p(trace), - (not captured). */
static void assert_captured(const char *wanted)
{
	char got[TEAM + 1] = "";
	for (size_t i = 0; i < TEAM; i++) {
		const struct sw_thread *t = &f.result.snap->threads[i];
		got[i] = !t->captured ? '-' : t->captured_by == SW_CAPTURED_PTRACE ? 'p' : 'i';
		assert_int_equal(t->stack_bytes > 0, t->captured);
	}
	assert_string_equal(got, wanted);
}

static void look_quiet(size_t number, struct fake_look *ret)
{
	*ret = quiet();
}

TEST(test_quiet)
{
	start(look_quiet);
	sample();
	assert_captured("iii");
	assert_int_equal(fake_process.n_looks, TEAM); /* one more at each */
	assert_false(f.result.unknown_code);
	assert_int_equal(f.result.n_stopped, 0);
	end();
}

static void look_ran(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[1].n_voluntary++;
	ret->records[1].regs[RIP] = CODE_AVMA + 0x200;
	ret->records[1].regs[RSP] = STACK_AVMA + (STACKS - 1) * STACK_BYTES + 0x1000;
}

/* A thread that ran since it was chosen is where it is now, and what was copied for where it was is not there. */
TEST(test_ran)
{
	start(look_ran);
	f.first.records[1].regs[RSP] +=
		0x800;                 /* on its own stack and on a coroutine's, as before */
	f.first.records[1].regs[RSP] = /* of a coroutine, as after it ran */
		STACK_AVMA + (STACKS - 1) * STACK_BYTES + 0x1800;
	sample();
	assert_captured("iii");
	assert_int_equal(f.result.snap->threads[1].regs.pc_avma, CODE_AVMA + 0x200);
	assert_int_equal(f.result.snap->n_ranges, 1); /* its own stack, once */
	assert_int_equal(fake_process.n_looks, TEAM + 1);
	end();
}

/* Memory was read through a thread that executed a program, or ended: what others seemed to have is of no use. */
static void look_exec(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[0].in_exec = 1;
}

static void look_ended(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[0].tid = 99;
}

TEST(test_carrier)
{
	start(look_exec);
	sample();
	assert_captured("-ii");
	assert_int_equal(fake_process.n_looks, TEAM + 2);
	end();
	start(look_ended);
	sample();
	assert_captured("-ii");
	assert_int_equal(f.threads[0].reason, SW_E_EXITED);
	assert_int_equal(fake_process.n_looks, TEAM + 2);
	end();
}

/* On a CPU: stopped, unless another tracer has it. */
TEST(test_on_cpu)
{
	for (uint32_t traced = 0; traced < 2; traced++) {
		start(look_quiet);
		f.first.records[1].on_cpu = 1;
		f.first.records[1].traced = traced;
		sample();
		assert_captured(traced ? "i-i" : "ipi");
		assert_int_equal(fake_kernel.threads[1].seized, !traced);
		assert_int_equal(f.result.n_stopped, !traced);
		assert_false(fake_kernel.threads[0].seized);
		end();
	}
}

/* A thread that executes a program is not stopped, and nothing counts that was read through it. */
static void look_other_program(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[0].exec_id++;
}

TEST(test_other_program)
{
	start(look_quiet);
	f.first.records[1].on_cpu = f.first.records[1].in_exec = 1;
	sample();
	assert_captured("i-i");
	assert_false(fake_kernel.threads[1].seized);
	end();
	start(look_other_program);
	sample();
	assert_captured("iii");
	assert_int_equal(fake_process.n_looks,
			 TEAM + TEAM); /* of the first window nothing counts */
	end();
}

/* A thread that was stopped for one sample sleeps in the next one. Its numbers are both the reader's and its own. */
TEST(test_after_stop)
{
	start(look_quiet);
	f.first.records[1].on_cpu = 1;
	f.first.records[1].inner_tid = 2;
	sample();
	assert_captured("ipi");
	assert_int_equal(f.result.snap->threads[1].tid, 12);
	assert_int_equal(f.result.snap->threads[1].own_tid, 2);
	/* The time is that of the copy of the others. */
	assert_true(f.result.time_ns <
		    INT64_C(1000) * 1000000000 + fake_kernel.threads[1].interrupt_ns);
	f.first.records[1].on_cpu = 0;
	sample();
	assert_captured("iii");
	end();
}

/* Where the maps have no code they are old. */
TEST(test_unknown_code)
{
	start(look_quiet);
	f.first.records[2].regs[RIP] = CODE_AVMA + 0x2000;
	sample();
	assert_false(f.result.unknown_code); /* it ran since, and is in known code */
	end();
	start(look_quiet);
	f.base->maps[0].end_avma = CODE_AVMA + 2;
	sample();
	assert_captured("iii");
	assert_true(f.result.unknown_code);
	end();
	start(look_quiet);
	f.base->maps[0].prot &= ~(unsigned) SW_MAP_EXEC;
	sample();
	assert_true(f.result.unknown_code);
	end();
}

/* ---- with a recipe --------------------------------------------------------------------------- */

/* A state for each thread, in a list, in memory of this process. */
static struct made_state {
	uint64_t thread_pointer, next, value;
} made[TEAM];

static struct sw_recipe states_made(void)
{
	struct sw_recipe r = {0};
	const struct fake_look look = quiet();
	for (size_t i = 0; i < TEAM; i++)
		made[i] = (struct made_state){look.records[i].regs[FS_BASE],
					      i + 1 < TEAM ? (uintptr_t) &made[i + 1] : 0, i};
	(void) sw_recipe_set(&r, 0, (uintptr_t) made);
	(void) sw_recipe_thread_pointer(&r, 1, 0);
	(void) sw_recipe_search(&r, &(struct sw_recipe_search){.to = 2,
							       .from = 0,
							       .key = 1,
							       .next_offset = 8,
							       .nodes_max = TEAM});
	(void) sw_recipe_copy(&r, &(struct sw_recipe_copy){.from = 2,
							   .kind = 1,
							   .bytes = sizeof(*made)});
	assert_true(sw_recipe_finish(&r));
	return r;
}

static void assert_copied(size_t i, uint64_t value)
{
	const struct sw_copy *copy = f.result.snap->threads[i].copy;
	struct made_state state;
	size_t n = 0;
	assert_non_null(copy);
	assert_int_equal(copy->n_parts, 1);
	assert_int_equal(copy->parts[0].avma, (uintptr_t) &made[i]);
	memcpy(&state, copy->parts[0].data, sizeof(state));
	assert_int_equal(state.value, value);
	for (size_t k = 0; k < f.result.snap->n_ranges; k++)
		n += f.result.snap->ranges[k].data == copy->parts[0].data;
	assert_int_equal(n, 1);
}

/* Each thread has what the recipe copies for it, of each sample anew. */
TEST(test_copies)
{
	const struct sw_recipe recipe = states_made();
	start_with(look_quiet, &recipe);
	assert_true(sw_light_by_copies(f.light));
	for (uint64_t turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < TEAM; i++)
			made[i].value = turn * 100 + i;
		sample();
		assert_captured("iii");
		for (size_t i = 0; i < TEAM; i++)
			assert_copied(i, turn * 100 + i);
	}
	end();
}

static void look_changed(size_t number, struct fake_look *ret)
{
	look_ran(number, ret);
	made[1].value = 50;
}

/* The memory of a thread that ran is copied once more; a thread that is not read has no copy. */
TEST(test_copies_of_who_ran)
{
	const struct sw_recipe recipe = states_made();
	start_with(look_changed, &recipe);
	f.first.records[2].on_cpu = 1;
	sample();
	assert_captured("ii-");
	assert_copied(0, 0);
	assert_copied(1, 50);
	assert_null(f.result.snap->threads[2].copy);
	end();
}

static void look_restless(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[1].n_voluntary += 1 + number;
}

/* A thread that runs between all looks has none either; ranges that are not of copies are those of the sample. */
TEST(test_copies_of_restless)
{
	const struct sw_recipe recipe = states_made();
	start_with(look_restless, &recipe);
	for (size_t turn = 0; turn < 2; turn++) {
		f.first.records[0].regs[RSP] = STACK_AVMA + (STACKS - 1) * STACK_BYTES + 0x1800;
		sample();
		assert_captured("i-i");
		assert_null(f.result.snap->threads[1].copy);
		assert_copied(2, 2);
	}
	end();
}
