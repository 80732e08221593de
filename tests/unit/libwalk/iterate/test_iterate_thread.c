/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/thread.h"
#include "test.h"

/* Source: linux include/linux/sched.h, v6.18; /proc of that kernel shows these letters. */
TEST(states)
{
	static const struct {
		uint32_t state, exit_state;
		char letter;
	} rows[] = {
		{0, 0, 'R'},       {1, 0, 'S'},     {0x2001, 0, 'S'}, /* interruptible, freezable */
		{2, 0, 'D'},       {0x102, 0, 'D'},                   /* killable: a vfork parent */
		{0x402, 0, 'I'},                                      /* idle */
		{0x104, 0, 'T'},   {8, 0, 't'},     {0x80, 0x20, 'Z'},
		{0x80, 0x10, 'X'}, {0x40, 0, 'P'},  {0x800, 0, 'R'}, /* new */
		{0x8000, 0, 'D'},                                    /* frozen */
		{0x1000, 0, 'D'}, /* waits for a lock of a real-time kernel */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sw_iterate_record r = {.state = rows[i].state,
					      .exit_state = rows[i].exit_state};
		assert_int_equal(sw_iterate_state(&r), rows[i].letter);
	}
}

TEST(registers_true)
{
	struct sw_iterate_record r = {.flags = 0x400040};
	assert_true(sw_iterate_has_registers(&r));
	assert_false(sw_iterate_is_worker(&r));
	static const uint32_t workers[] = {0x200000, 0x10, 0x4000};
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		r.flags = 0x400040 | workers[i];
		assert_true(sw_iterate_is_worker(&r));
		assert_false(sw_iterate_has_registers(&r));
	}
	r = (struct sw_iterate_record){.flags = 0x4}; /* ends */
	assert_false(sw_iterate_has_registers(&r));
	assert_false(sw_iterate_is_worker(&r));
	r = (struct sw_iterate_record){.on_cpu = 1};
	assert_false(sw_iterate_has_registers(&r));
	r = (struct sw_iterate_record){.in_exec = 1};
	assert_false(sw_iterate_has_registers(&r));
	r = (struct sw_iterate_record){.exit_state = 0x20};
	assert_false(sw_iterate_has_registers(&r));
}

TEST(registers_layout)
{
	struct sw_iterate_record r = {0};
	for (size_t i = 0; i < SW_ITERATE_REGS; i++)
		r.regs[i] = 1000 + i;
	struct user_regs_struct regs;
	sw_iterate_registers(&r, &regs);
	assert_int_equal(regs.r15, 1000);
	assert_int_equal(regs.rbp, 1004);
	assert_int_equal(regs.orig_rax, 1015);
	assert_int_equal(regs.rip, 1016);
	assert_int_equal(regs.rsp, 1019);
	assert_int_equal(regs.fs_base, 1021);
	assert_int_equal(regs.gs, 1026);
	assert_false(sw_iterate_is_32bit(&r));
	r.regs[offsetof(struct user_regs_struct, cs) / sizeof(uint64_t)] = 0x23;
	assert_true(sw_iterate_is_32bit(&r));
}

TEST(waits)
{
	struct sw_iterate_record r = {.clock_ns = 9000, .arrived_ns = 4000, .stint_ns = 500};
	assert_int_equal(sw_iterate_waits_ns(&r), 4500);
	/* preempted or woken: it waits for a CPU */
	r.queued_ns = 8000;
	assert_int_equal(sw_iterate_waits_ns(&r), 1000);
	/* never ran yet */
	r.arrived_ns = r.stint_ns = 0;
	assert_int_equal(sw_iterate_waits_ns(&r), 1000);
	r.queued_ns = 0;
	assert_int_equal(sw_iterate_waits_ns(&r), -1);
	r.on_cpu = 1;
	assert_int_equal(sw_iterate_waits_ns(&r), 0);
	/* another CPU's clock is ahead */
	r = (struct sw_iterate_record){.clock_ns = 9000, .arrived_ns = 9001};
	assert_int_equal(sw_iterate_waits_ns(&r), 0);
}

TEST(names)
{
	struct sw_iterate_record r;
	char name[SW_ITERATE_COMM + 1];
	memset(&r, 'a', sizeof(r)); /* not terminated */
	sw_iterate_comm(&r, name);
	assert_string_equal(name, "aaaaaaaaaaaaaaaa");
}
