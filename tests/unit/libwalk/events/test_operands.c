/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of probes that a program declares. */
#include "events/operands.h"
#include "test.h"

static const uint8_t stack[16] = {1, 2, 3, 4, 5, 6, 7, 0x88, 0xff, 0xff};

static const struct sw_copy_part part = {.avma = 0x1000,
					 .data = stack,
					 .bytes = sizeof(stack),
					 .kind = SW_SAMPLED_KIND_STACK};

static struct sw_copy copy_make(void)
{
	return (struct sw_copy){
		.regs = {.rax = 0x1122334455667788, .rbx = 2, .rsp = 0x1000, .r15 = 15, .rdi = 7},
		.parts = &part,
		.n_parts = 1};
}

static bool value_of(const char *text, uint64_t *ret)
{
	struct sw_event_operand operand;
	struct sw_copy copy = copy_make();
	*ret = 0;
	assert_int_equal(sw_operands_parse(text, &operand, 1), 1);
	return sw_operand_value(&operand, &copy, ret);
}

TEST(test_values)
{
	static const struct {
		const char *text;
		uint64_t value;
	} known[] = {
		{"8@%rax", 0x1122334455667788},
		{"4@%eax", 0x55667788},
		{"-1@%al", (uint64_t) -0x78},
		{"1@%ah", 0x77},
		{"2@%ax", 0x7788},
		{"8@%r15", 15},
		{"4@%r15d", 15},
		{"8@%rdi", 7},
		{"-4@$-3", (uint64_t) -3},
		{"4@$-3", 0xfffffffd},
		{"8@$0x10", 16},
		{"8@(%rsp)", 0x8807060504030201},
		{"1@1(%rsp)", 2},
		{"-2@8(%rsp)", UINT64_MAX},
		{"2@8(%rsp)", 0xffff},
		{"4@(%rsp,%rbx,2)", 0x88070605},
		{"1@-1(%rsp,%rbx)", 2},
	};
	uint64_t value;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(value_of(known[i].text, &value));
		assert_int_equal(value, known[i].value);
	}
}

TEST(test_not_known)
{
	static const char *const texts[] = {"8@count(%rip)", "8@16(%rsp)",      "8@9(%rsp)",
					    "3@%rax",        "8@%xmm0",         "8@",
					    "@%rax",         "8%rax",           "8@%rax)",
					    "8@(%rsp",       "8@(%rsp,9)",      "8@$",
					    "1@0x1002",      "8@(%rsp,%rbx,16)"};
	uint64_t value;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(value_of(texts[i], &value));
}

TEST(test_several)
{
	struct sw_event_operand operands[3];
	assert_int_equal(sw_operands_parse("", operands, 3), 0);
	assert_int_equal(sw_operands_parse("  ", operands, 3), 0);
	assert_int_equal(sw_operands_parse("8@%rdi  4@$1", operands, 3), 2);
	assert_int_equal(operands[1].kind, SW_EVENT_OPERAND_CONSTANT);
	assert_int_equal(sw_operands_parse("8@%rdi x 4@$1 4@$2", operands, 3), 3);
	assert_int_equal(operands[1].kind, SW_EVENT_OPERAND_UNKNOWN);
	assert_int_equal(operands[2].value, 1);
}
