/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"

static void print_is(struct pe_case *c, const char *expected)
{
	struct sw_text text = {0};
	sw_pe_function_print(&c->env, &c->function, &text);
	assert_false(text.failed);
	assert_string_equal(text.data, expected);
	sw_text_deinit(&text);
}

TEST(test_version_1)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(1 | 1 << 3, 50, 24, 5 | 3 << 4, PE_SLOT(50, 9, 15), PE_U32(0x123450),
			      PE_SLOT(45, 8, 6), PE_U16(3), PE_SLOT(40, 5, 12), PE_U32(0x7fff8),
			      PE_SLOT(35, 4, 7), PE_U16(5), PE_SLOT(30, 3, 0), PE_SLOT(25, 2, 15),
			      PE_SLOT(20, 1, 0), PE_U16(0xffff), PE_SLOT(15, 1, 1),
			      PE_U32(0x12345678), PE_SLOT(10, 0, 15), PE_SLOT(4, 6, 0), PE_U16(9),
			      PE_SLOT(3, 7, 0), PE_U16(9), PE_U16(9), PE_SLOT(0, 10, 1),
			      PE_U32(0x4321)));
	print_is(&c, "function: [0x140001000, 0x140001100), rva 0x1000..0x1100\n"
		     "unwind information: rva 0x2000, version 1, flags: exception-handler, "
		     "prologue: 50 bytes, codes: 12, frame: rbp - 0x30, handler: rva 0x4321\n"
		     "  +0x32: save xmm15 at frame + 0x123450\n"
		     "  +0x2d: save xmm6 at frame + 0x30\n"
		     "  +0x28: save r12 at frame + 0x7fff8\n"
		     "  +0x23: save rdi at frame + 0x28\n"
		     "  +0x1e: set rbp = rsp + 0x30\n"
		     "  +0x19: allocate 0x80\n"
		     "  +0x14: allocate 0x7fff8\n"
		     "  +0x0f: allocate 0x12345678\n"
		     "  +0x0a: push r15\n"
		     "  +0x04: obsolete, ignored\n"
		     "  +0x03: obsolete, ignored\n"
		     "  +0x00: machine frame with error code\n");
}

TEST(test_version_2_and_chain)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(2 | 4 << 3, 0, 2, 0, PE_SLOT(3, 6, 1), PE_SLOT(0x80, 6, 0),
			      PE_ENTRY(0x1200, 0x1300, PE_INFO + 0x101)));
	pe_case_bytes(&c, PE_INFO + 0x100, PE_BYTES(PE_ENTRY(0x1200, 0x1280, PE_INFO + 0x200)));
	pe_case_bytes(&c, PE_INFO + 0x200, PE_BYTES(1, 0, 1, 0, PE_SLOT(0, 10, 0)));
	print_is(&c,
		 "function: [0x140001000, 0x140001100), rva 0x1000..0x1100\n"
		 "unwind information: rva 0x2000, version 2, flags: chained, prologue: 0 bytes, "
		 "codes: 0\n"
		 "  epilogue: rva 0x10fd, 3 bytes\n"
		 "  epilogue: rva 0x1080, 3 bytes\n"
		 "chained to: [0x140001200, 0x140001280), rva 0x1200..0x1280, by an indirect "
		 "entry\n"
		 "unwind information: rva 0x2200, version 1, flags: none, prologue: 0 bytes, "
		 "codes: 1\n"
		 "  +0x00: machine frame\n");
}

TEST(test_malformed)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, PE_BYTES(3, 0, 0, 0));
	print_is(&c,
		 "function: [0x140001000, 0x140001100), rva 0x1000..0x1100\n"
		 "unwind information: rva 0x2000, malformed: unwind information of version 3 is "
		 "not supported\n");
	c.function.unwind_rva = PE_IMAGE_BYTES;
	print_is(&c, "function: [0x140001000, 0x140001100), rva 0x1000..0x1100\n"
		     "unwind information: rva 0x3000, 0x140003000 cannot be read\n");
	/* a chain that leads to itself */
	pe_case_init(&c, NULL, 0, PE_BYTES(1 | 4 << 3, 0, 0, 0, PE_ENTRY(0x1000, 0x1100, PE_INFO)));
	struct sw_text text = {0};
	sw_pe_function_print(&c.env, &c.function, &text);
	assert_false(text.failed);
	assert_string_equal(text.data + text.size - 33, "malformed: the chain is too long\n");
	sw_text_deinit(&text);
}
