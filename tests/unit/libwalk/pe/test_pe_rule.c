/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"

enum { RBX = 3, RSI = 4, RDI = 5, RBP = 6, R12 = 12, R13 = 13 }; /* DWARF numbers */

/*
 *	0: push %rbp  1: push %rbx  2: sub $32,%rsp  6: lea 16(%rsp),%rbp  11: mov %rsi,8(%rsp)
 */
static const uint8_t frame[] = {
	1,
	16,
	6,
	5 | 1 << 4,
	PE_SLOT(16, 4, 6),
	PE_U16(1), /* rsi at frame + 8 */
	PE_SLOT(11, 3, 0),
	PE_SLOT(6, 2, 3),
	PE_SLOT(2, 0, 3),
	PE_SLOT(1, 0, 5),
};

static void step_is(struct pe_case *c, uint32_t offset, uint64_t pc, uint64_t sp)
{
	assert_int_equal(pe_case_step(c, offset), SW_PE_OK);
	assert_int_equal(c->ret.pc_avma, pc);
	assert_int_equal(c->ret.sp_avma, sp);
}

TEST(test_each_place_of_a_prologue)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, frame, sizeof(frame));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19));
	step_is(&c, 0, 0x10, PE_STACK + 8);
	assert_int_equal(pe_case_reg(&c, RBP), 0xa6);
	step_is(&c, 1, 0x11, PE_STACK + 16);
	assert_int_equal(pe_case_reg(&c, RBP), 0x10);
	assert_int_equal(pe_case_reg(&c, RBX), 0xa3);
	step_is(&c, 2, 0x12, PE_STACK + 24);
	assert_int_equal(pe_case_reg(&c, RBX), 0x10);
	assert_int_equal(pe_case_reg(&c, RBP), 0x11);
	step_is(&c, 6, 0x16, PE_STACK + 56); /* the frame register counts not yet */
	assert_int_equal(pe_case_reg(&c, RBX), 0x14);
	step_is(&c, 10, 0x16, PE_STACK + 56);
	/* from here on rsp may be anywhere: frame = rbp - 16 = PE_STACK + 8 */
	sw_regs_set(&c.regs, RBP, PE_STACK + 24);
	step_is(&c, 11, 0x17, PE_STACK + 64);
	assert_int_equal(pe_case_reg(&c, RSI), 0xa4); /* not saved yet */
	step_is(&c, 16, 0x17, PE_STACK + 64);
	assert_int_equal(pe_case_reg(&c, RSI), 0x12);
	assert_int_equal(pe_case_reg(&c, RBX), 0x15);
	assert_int_equal(pe_case_reg(&c, RBP), 0x16);
	step_is(&c, 200, 0x17, PE_STACK + 64);
}

/*
 *	0: mov %rbx,16(%rsp)  5: push %rbp  6: mov %rsp,%rbp
 * Saves count from the frame as it is before the frame register is popped.
 */
TEST(test_save_before_the_push_of_the_frame_register)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 9, 4, 5, PE_SLOT(9, 3, 0), PE_SLOT(6, 0, 5), PE_SLOT(5, 4, 3),
			      PE_U16(3)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	sw_regs_set(&c.regs, RBP, PE_STACK + 8);
	step_is(&c, 9, 0x12, PE_STACK + 24);
	assert_int_equal(pe_case_reg(&c, RBP), 0x11);
	assert_int_equal(pe_case_reg(&c, RBX), 0x14);
	/* Before it is set, from rsp. */
	step_is(&c, 6, 0x11, PE_STACK + 16);
	assert_int_equal(pe_case_reg(&c, RBP), 0x10);
	assert_int_equal(pe_case_reg(&c, RBX), 0x13);
}

/* Which registers a caller may rely on, where nothing is said of them. */
TEST(test_preserved)
{
	static const uint8_t none[] = {1, 0, 0, 0};
	struct pe_case c;
	pe_case_init(&c, NULL, 0, none, sizeof(none));
	pe_case_stack(&c, PE_WORDS(0x10));
	sw_regs_forget(&c.regs, R13);
	step_is(&c, 0, 0x10, PE_STACK + 8);
	assert_int_equal(c.ret.known, 1u << RBX | 1u << RSI | 1u << RDI | 1u << RBP | 1u << 7 |
					      0xd000 | 1u << 16);
	assert_int_equal(pe_case_reg(&c, RDI), 0xa5);
	c.env.rules = SW_PE_CLR_SYSV;
	step_is(&c, 0, 0x10, PE_STACK + 8);
	assert_int_equal(c.ret.known, 1u << RBX | 1u << RBP | 1u << 7 | 0xd000 | 1u << 16);
}

TEST(test_large_allocations)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 8, 5, 0, PE_SLOT(8, 1, 1), PE_U32(0xfffffff8u), PE_SLOT(4, 1, 0),
			      PE_U16(2)));
	pe_case_stack(&c, PE_WORDS(0, 0, 0x12));
	step_is(&c, 4, 0x12, PE_STACK + 24);
	/* 4 GiB further up */
	assert_int_equal(pe_case_step(&c, 8), SW_PE_UNREADABLE);
	assert_int_equal(c.env.fault_avma, PE_STACK + 16 + UINT64_C(0xfffffff8));
}

/* The far form of a save lies beyond what the near one reaches: 512 KiB. */
TEST(test_far_saves)
{
	static const uint64_t far[] = {0x77, 0x10};
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 9, 6, 0, PE_SLOT(9, 5, 12), PE_U32(0x100000), PE_SLOT(9, 1, 1),
			      PE_U32(0x100008)));
	c.regions[1] = (struct fake_region){PE_STACK + 0x100000, far, sizeof(far)};
	step_is(&c, 9, 0x10, PE_STACK + 0x100010);
	assert_int_equal(pe_case_reg(&c, R12), 0x77);
}

TEST(test_large_frame_offset)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 9, 4, 5 | 15 << 4, PE_SLOT(9, 11, 0), PE_U32(0x1000),
			      PE_SLOT(1, 0, 5)));
	c.env.rules = SW_PE_CLR_SYSV;
	pe_case_stack(&c, PE_WORDS(0x10, 0x11));
	sw_regs_set(&c.regs, RBP, PE_STACK + 0x10000);
	sw_regs_set(&c.regs, SW_ARCH_SP, 0x10);
	step_is(&c, 9, 0x11, PE_STACK + 16);
	assert_int_equal(pe_case_reg(&c, RBP), 0x10);
}

/* PUSH_MACHFRAME: rip, cs, eflags, rsp, ss; with an error code below them. */
TEST(test_machine_frames)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 0, 3), PE_SLOT(0, 10, 0)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x33, 0x246, 0x9000, 0x2b));
	assert_int_equal(pe_case_step(&c, 1), SW_PE_OK_MACHINE);
	assert_int_equal(c.ret.pc_avma, 0x11);
	assert_int_equal(c.ret.sp_avma, 0x9000);
	assert_int_equal(pe_case_reg(&c, RBX), 0x10);
	assert_int_equal(pe_case_step(&c, 0), SW_PE_OK_MACHINE);
	assert_int_equal(c.ret.pc_avma, 0x10);
	assert_int_equal(c.ret.sp_avma, 0x246);

	pe_case_init(&c, NULL, 0, PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 0, 3), PE_SLOT(0, 10, 1)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x77, 0x11, 0x33, 0x246, 0x9000, 0x2b));
	assert_int_equal(pe_case_step(&c, 1), SW_PE_OK_MACHINE);
	assert_int_equal(c.ret.pc_avma, 0x11);
	assert_int_equal(c.ret.sp_avma, 0x9000);

	/* the interrupted rsp cannot be read */
	pe_case_stack(&c, PE_WORDS(0x10, 0x77, 0x11, 0x33, 0x246));
	assert_int_equal(pe_case_step(&c, 1), SW_PE_UNREADABLE);
	assert_int_equal(c.env.fault_avma, PE_STACK + 40);
}

/*
 * As Wine 10.0's KiUserExceptionDispatcher: no prologue, all is there at the first instruction, and
 * registers come from a context below the machine frame.
 */
TEST(test_saves_at_entry)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 0, 4, 0, PE_SLOT(0, 4, 3), PE_U16(1), PE_SLOT(0, 2, 2),
			      PE_SLOT(0, 10, 0)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x77, 0x12, 0x11, 0x33, 0x246, 0x9000, 0x2b));
	assert_int_equal(pe_case_step(&c, 0), SW_PE_OK_MACHINE);
	assert_int_equal(c.ret.pc_avma, 0x11);
	assert_int_equal(c.ret.sp_avma, 0x9000);
	assert_int_equal(pe_case_reg(&c, RBX), 0x77);
}

/* A part that saves one more register, and lies before the function it belongs to. */
TEST(test_chained)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 4 << 3, 5, 2, 0, PE_SLOT(5, 4, 12), PE_U16(1),
			      PE_ENTRY(PE_CODE + 0x400, PE_CODE + 0x500, PE_INFO + 0x100)));
	pe_case_bytes(&c, PE_INFO + 0x100,
		      PE_BYTES(1, 200, 2, 0, PE_SLOT(200, 2, 1), PE_SLOT(100, 0, 3)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13));
	step_is(&c, 5, 0x13, PE_STACK + 32);
	assert_int_equal(pe_case_reg(&c, R12), 0x11);
	assert_int_equal(pe_case_reg(&c, RBX), 0x12);
	step_is(&c, 0, 0x13, PE_STACK + 32); /* the part's own save is not done yet */
	assert_int_equal(pe_case_reg(&c, R12), 0xac);
	assert_int_equal(pe_case_reg(&c, RBX), 0x12);
}

/* A part without codes of its own that relies on its parent's frame register. */
TEST(test_chained_frame_register)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 4 << 3, 5, 2, 5 | 1 << 4, PE_SLOT(5, 4, 12), PE_U16(0),
			      PE_ENTRY(PE_CODE - 0x100, PE_CODE, PE_INFO + 0x100)));
	pe_case_bytes(&c, PE_INFO + 0x100, frame, sizeof(frame));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17));
	sw_regs_set(&c.regs, RBP, PE_STACK + 24);
	sw_regs_set(&c.regs, SW_ARCH_SP, 0x10);
	step_is(&c, 5, 0x17, PE_STACK + 64);
	assert_int_equal(pe_case_reg(&c, R12), 0x11);
	assert_int_equal(pe_case_reg(&c, RSI), 0x12);
}

TEST(test_indirect_entry)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, frame, sizeof(frame));
	pe_case_bytes(&c, PE_INFO + 0x100,
		      PE_BYTES(PE_ENTRY(PE_CODE, PE_CODE + 0x80, PE_INFO + 0x10c + 1)));
	pe_case_bytes(&c, PE_INFO + 0x10c, PE_BYTES(PE_ENTRY(PE_CODE, PE_CODE + 0x80, PE_INFO)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11));
	c.function.unwind_rva = PE_INFO + 0x100 + 1;
	step_is(&c, 1, 0x11, PE_STACK + 16);
	assert_int_equal(pe_case_reg(&c, RBP), 0x10);
}

/* Memory that is missing costs the register, not the frame. */
TEST(test_lost_registers)
{
	struct pe_case c;
	uint64_t value;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1, 1, 4, 0, PE_SLOT(1, 5, 12), PE_U32(0x5000), PE_SLOT(1, 0, 1)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11));
	step_is(&c, 1, 0x11, PE_STACK + 16);
	assert_false(sw_regs_get(&c.ret, R12, &value));
	/* a volatile register that the table says is saved is known */
	assert_int_equal(pe_case_reg(&c, SW_X86_64_RCX), 0x10);

	pe_case_init(&c, NULL, 0, frame, sizeof(frame));
	sw_regs_forget(&c.regs, RBP);
	pe_case_stack(&c, PE_WORDS(0x10, 0x11));
	assert_int_equal(pe_case_step(&c, 20), SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information needs a register that was lost");
	step_is(&c, 1, 0x11, PE_STACK + 16);
}

static void bad(struct pe_case *c, const char *why)
{
	assert_int_equal(pe_case_step(c, 20), SW_PE_BAD);
	assert_string_equal(c->env.why, why);
}

TEST(test_malformed)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 10, 0), PE_SLOT(1, 0, 3)));
	bad(&c, "unwind codes follow a machine frame");

	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 4 << 3, 1, 1, 0, PE_SLOT(1, 10, 0), 0, 0,
			      PE_ENTRY(PE_CODE, PE_CODE + 1, PE_INFO + 0x100)));
	bad(&c, "unwind codes follow a machine frame");

	/* a chain that leads to itself */
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 4 << 3, 0, 0, 0, PE_ENTRY(PE_CODE, PE_CODE + 1, PE_INFO)));
	bad(&c, "the unwind information's chain is too long");

	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 4 << 3, 0, 0, 0, PE_ENTRY(PE_CODE, PE_CODE, PE_INFO)));
	bad(&c, "the function entry's range is empty");

	/* an indirect entry that is its own target */
	pe_case_init(&c, NULL, 0, PE_BYTES(PE_ENTRY(PE_CODE, PE_CODE + 0x100, PE_INFO + 1)));
	c.function.unwind_rva = PE_INFO + 1;
	bad(&c, "too many indirect function entries");

	uint8_t pushes[4 + 2 * 100] = {1, 0, 100, 0};
	for (size_t i = 0; i < 100; i++)
		pushes[5 + 2 * i] = 3 << 4;
	pe_case_init(&c, NULL, 0, pushes, sizeof(pushes));
	bad(&c, "the unwind information has too many codes");

	pe_case_init(&c, NULL, 0, PE_BYTES(0));
	c.function.unwind_rva = PE_IMAGE_BYTES;
	assert_int_equal(pe_case_step(&c, 20), SW_PE_UNREADABLE);
	assert_int_equal(c.env.fault_avma, PE_BASE + PE_IMAGE_BYTES);
	c.function.unwind_rva = PE_IMAGE_BYTES + 1;
	assert_int_equal(pe_case_step(&c, 20), SW_PE_UNREADABLE);
}
