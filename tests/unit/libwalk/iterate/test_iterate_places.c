/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* iterate/places: which programs of a loader are for links at places of code. */
#include "iterate/places.h"
#include "test.h"

#include <linux/bpf.h>
#include <stddef.h>

enum { UPROBE_MULTI = 48, ATTR_BYTES = offsetof(union bpf_attr, prog_btf_fd), BYTES = 1024 };

static _Alignas(8) char data[BYTES];

static void attr_put(size_t at, uint32_t type, const char *name, uint32_t attach_type)
{
	union bpf_attr attr = {.prog_type = type,
			       .insn_cnt = 2,
			       .expected_attach_type = attach_type};
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	memcpy(data + at, &attr, ATTR_BYTES);
}

static uint32_t attach_type_at(size_t at)
{
	union bpf_attr attr;
	memcpy(&attr, data + at, ATTR_BYTES);
	return attr.expected_attach_type;
}

static int setup(void **state)
{
	memset(data, 0, sizeof(data));
	return 0;
}

TEST_WITH(test_programs_of_places, setup, NULL)
{
	attr_put(64, BPF_PROG_TYPE_KPROBE, "sw_function_ent", 0);
	attr_put(192, BPF_PROG_TYPE_RAW_TRACEPOINT, "sw_pair_program", 0);
	attr_put(320, BPF_PROG_TYPE_KPROBE, "sw_pair_note", 0);
	attr_put(448, BPF_PROG_TYPE_KPROBE, "sw_other", BPF_TRACE_KPROBE_MULTI);
	attr_put(576, BPF_PROG_TYPE_KPROBE, "another", 0);
	attr_put(BYTES - ATTR_BYTES, BPF_PROG_TYPE_KPROBE, "sw_last", 0);
	char before[BYTES];
	memcpy(before, data, BYTES);
	assert_int_equal(sw_iterate_places_data(data, BYTES), 3);
	assert_int_equal(attach_type_at(64), UPROBE_MULTI);
	assert_int_equal(attach_type_at(320), UPROBE_MULTI);
	assert_int_equal(attach_type_at(BYTES - ATTR_BYTES), UPROBE_MULTI);
	size_t n = 0;
	for (size_t i = 0; i < BYTES; i++)
		n += data[i] != before[i];
	assert_int_equal(n, 3); /* one byte of each, and nothing else */
}

/* Too few bytes for one. */
TEST_WITH(test_short, setup, NULL)
{
	attr_put(0, BPF_PROG_TYPE_KPROBE, "sw_first", 0);
	for (size_t size = 0; size < ATTR_BYTES; size++)
		assert_int_equal(sw_iterate_places_data(data, size), 0);
	assert_int_equal(sw_iterate_places_data(data, ATTR_BYTES), 1);
}
