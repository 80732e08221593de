/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"
#include "arch/x86_decode.h"

static struct sw_pe_info info;

static enum sw_pe_result read_info(struct pe_case *c, enum sw_pe_rules rules, const uint8_t *bytes,
				   size_t n)
{
	pe_case_init(c, NULL, 0, bytes, n);
	c->env.rules = rules;
	memset(&info, 0x5a, sizeof(info));
	return sw_pe_info_read(&c->env, PE_INFO, &info);
}

static void code_is(size_t i, unsigned offset, unsigned op, unsigned op_info, uint32_t value)
{
	assert_true(i < info.n_codes);
	assert_int_equal(info.codes[i].offset, offset);
	assert_int_equal(info.codes[i].op, op);
	assert_int_equal(info.codes[i].info, op_info);
	assert_int_equal(info.codes[i].value, value);
}

TEST(test_every_code)
{
	struct pe_case c;
	assert_int_equal(read_info(&c, SW_PE_WINDOWS,
				   PE_BYTES(1, 50, 24, 5 | 3 << 4,                  /* rbp - 48 */
					    PE_SLOT(50, 9, 15), PE_U32(0x123450),   /* xmm15 far */
					    PE_SLOT(45, 8, 6), PE_U16(3),           /* xmm6 */
					    PE_SLOT(40, 5, 12), PE_U32(0x7fff8),    /* r12 far */
					    PE_SLOT(35, 4, 7), PE_U16(5),           /* rdi */
					    PE_SLOT(30, 3, 0),                      /* set rbp */
					    PE_SLOT(25, 2, 15),                     /* 128 */
					    PE_SLOT(20, 1, 0), PE_U16(0xffff),      /* 524280 */
					    PE_SLOT(15, 1, 1), PE_U32(0x12345678),  /* unscaled */
					    PE_SLOT(10, 0, 15),                     /* r15 */
					    PE_SLOT(4, 6, 0), PE_U16(9),            /* obsolete */
					    PE_SLOT(3, 7, 0), PE_U16(9), PE_U16(9), /* obsolete */
					    PE_SLOT(0, 10, 1))),                    /* machine */
			 SW_PE_OK);
	assert_int_equal(info.version, 1);
	assert_int_equal(info.flags, 0);
	assert_int_equal(info.prologue_bytes, 50);
	assert_int_equal(info.frame_reg, 5);
	assert_int_equal(info.frame_bytes, 48);
	assert_int_equal(info.n_codes, 12);
	code_is(0, 50, SW_PE_SAVE_XMM128_FAR, 15, 0x123450);
	code_is(1, 45, SW_PE_SAVE_XMM128, 6, 48);
	code_is(2, 40, SW_PE_SAVE_NONVOL_FAR, 12, 0x7fff8);
	code_is(3, 35, SW_PE_SAVE_NONVOL, 7, 40);
	code_is(4, 30, SW_PE_SET_FPREG, 0, 0);
	code_is(5, 25, SW_PE_ALLOC_SMALL, 15, 128);
	code_is(6, 20, SW_PE_ALLOC_LARGE, 0, 524280);
	code_is(7, 15, SW_PE_ALLOC_LARGE, 1, 0x12345678);
	code_is(8, 10, SW_PE_PUSH_NONVOL, 15, 0);
	code_is(9, 4, SW_PE_EPILOG, 0, 0);
	code_is(10, 3, SW_PE_SPARE, 0, 0);
	code_is(11, 0, SW_PE_PUSH_MACHFRAME, 1, 0);
	assert_int_equal(info.epilogs.n, 0);
}

/* The data behind the codes begins at an even slot. */
TEST(test_tails)
{
	struct pe_case c;
	assert_int_equal(read_info(&c, SW_PE_WINDOWS,
				   PE_BYTES(1 | 3 << 3, 1, 1, 0, PE_SLOT(1, 0, 3), PE_U16(0xeeee),
					    PE_U32(0x1234))),
			 SW_PE_OK);
	assert_int_equal(info.flags, SW_PE_EHANDLER | SW_PE_UHANDLER);
	assert_int_equal(info.handler_rva, 0x1234);
	assert_int_equal(info.parent.begin_rva, 0);
	assert_int_equal(read_info(&c, SW_PE_WINDOWS,
				   PE_BYTES(1 | 4 << 3, 0, 2, 0, PE_SLOT(0, 4, 3), PE_U16(1),
					    PE_ENTRY(0x10, 0x20, 0x30))),
			 SW_PE_OK);
	assert_int_equal(info.handler_rva, 0);
	assert_int_equal(info.parent.begin_rva, 0x10);
	assert_int_equal(info.parent.end_rva, 0x20);
	assert_int_equal(info.parent.unwind_rva, 0x30);
	assert_int_equal(read_info(&c, SW_PE_WINDOWS, PE_BYTES(1, 0, 0, 0)), SW_PE_OK);
	assert_int_equal(info.n_codes, 0);
}

/* The bytes of llvm/test/MC/COFF/seh-unwindv2.s, two epilogues and padding, are of this form. */
TEST(test_listed_epilogues)
{
	struct pe_case c;
	assert_int_equal(read_info(&c, SW_PE_WINDOWS,
				   PE_BYTES(2, 5, 6, 0, PE_SLOT(3, 6, 1), PE_SLOT(0x34, 6, 2),
					    PE_SLOT(0x0b, 6, 0), PE_SLOT(0, 6, 0), PE_SLOT(5, 2, 3),
					    PE_SLOT(1, 0, 6))),
			 SW_PE_OK);
	assert_int_equal(info.version, 2);
	assert_int_equal(info.epilogs.bytes, 3);
	assert_true(info.epilogs.at_end);
	assert_int_equal(info.epilogs.n, 2);
	assert_int_equal(info.epilogs.from_end[0], 0x234);
	assert_int_equal(info.epilogs.from_end[1], 0x0b);
	assert_int_equal(info.n_codes, 2);
	code_is(0, 5, SW_PE_ALLOC_SMALL, 3, 32);
	code_is(1, 1, SW_PE_PUSH_NONVOL, 6, 0);
}

/* SET_FPREG_LARGE: the frame register lies up to 4 GiB above the frame's base. Only CoreCLR. */
TEST(test_large_frame_offset)
{
	static const uint8_t bytes[] = {1, 9, 3, 5 | 15 << 4, PE_SLOT(9, 11, 0), PE_U32(0x12345)};
	struct pe_case c;
	assert_int_equal(read_info(&c, SW_PE_CLR_SYSV, bytes, sizeof(bytes)), SW_PE_OK);
	assert_int_equal(info.frame_bytes, 0x123450);
	code_is(0, 9, SW_PE_SET_FPREG_LARGE, 0, 0x12345);
	assert_int_equal(read_info(&c, SW_PE_WINDOWS, bytes, sizeof(bytes)), SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information has an unknown code");
	assert_int_equal(read_info(&c, SW_PE_CLR_SYSV,
				   PE_BYTES(1, 9, 3, 5 | 14 << 4, PE_SLOT(9, 11, 0), PE_U32(1))),
			 SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information has a bad frame offset");
	assert_int_equal(read_info(&c, SW_PE_CLR_SYSV,
				   PE_BYTES(1, 9, 3, 5 | 15 << 4, PE_SLOT(9, 11, 0),
					    PE_U32(0x10000000u))),
			 SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information has a bad frame offset");
}

static void bad(const uint8_t *bytes, size_t n, const char *why)
{
	struct pe_case c;
	assert_int_equal(read_info(&c, SW_PE_WINDOWS, bytes, n), SW_PE_BAD);
	assert_string_equal(c.env.why, why);
}

TEST(test_malformed)
{
	bad(PE_BYTES(3, 0, 0, 0), "unwind information of version 3 is not supported");
	bad(PE_BYTES(0, 0, 0, 0), "unwind information of an unknown version");
	bad(PE_BYTES(4, 0, 0, 0), "unwind information of an unknown version");
	bad(PE_BYTES(1, 0, 0, 4), "the stack pointer as frame register");
	bad(PE_BYTES(1, 1, 1, 0, PE_SLOT(1, 12, 0)), "the unwind information has an unknown code");
	bad(PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 1, 2), 0, 0),
	    "the unwind information has an unknown code");
	bad(PE_BYTES(1, 1, 1, 0, PE_SLOT(1, 10, 2)), "the unwind information has an unknown code");
	/* the last code wants more slots than there are */
	bad(PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 5, 3), 0, 0),
	    "the unwind information has an unknown code");
	bad(PE_BYTES(1, 1, 1, 0, PE_SLOT(1, 0, 4)),
	    "the unwind information saves the stack pointer");
	bad(PE_BYTES(1, 1, 2, 0, PE_SLOT(1, 4, 4), 0, 0),
	    "the unwind information saves the stack pointer");
	bad(PE_BYTES(1, 1, 1, 0, PE_SLOT(1, 3, 5)),
	    "the unwind information names no frame register");
}

TEST(test_unreadable)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, PE_BYTES(0));
	assert_int_equal(sw_pe_info_read(&c.env, PE_IMAGE_BYTES, &info), SW_PE_UNREADABLE);
	assert_int_equal(c.env.fault_avma, PE_BASE + PE_IMAGE_BYTES);
	/* the header is there, its codes are not */
	pe_case_bytes(&c, PE_IMAGE_BYTES - 4, PE_BYTES(1, 0, 1, 0));
	assert_int_equal(sw_pe_info_read(&c.env, PE_IMAGE_BYTES - 4, &info), SW_PE_UNREADABLE);
	assert_int_equal(c.env.fault_avma, PE_BASE + PE_IMAGE_BYTES);
}

TEST(test_register_numbers)
{
	static const char *const names[SW_PE_REGS] = {
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
	};
	for (unsigned i = 0; i < SW_PE_REGS; i++)
		assert_string_equal(sw_arch_reg_name(false, sw_x86_dwarf_number(i)), names[i]);
}
