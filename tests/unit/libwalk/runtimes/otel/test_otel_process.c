/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contexts of processes, by bytes that were written down from the message's definition. */
#include "cleanup.h"
#include "runtimes/otel/message.h"
#include "runtimes/otel/process.h"
#include "test.h"

#define BYTES(text) ((struct sw_bytes){(const uint8_t *) (text), sizeof(text) - 1})

TEST(fields)
{
	/* 1: 300; 2: "ab"; 3: fixed64 1; 4: fixed32 2 */
	struct sw_otel_message m = {BYTES("\x08\xac\x02\x12\x02"
					  "ab\x19\x01\0\0\0\0\0\0\0\x25\x02\0\0\0"),
				    0};
	struct sw_otel_field f;
	assert_true(sw_otel_message_next(&m, &f));
	assert_int_equal(f.number, 1);
	assert_int_equal(f.wire, SW_OTEL_VARINT);
	assert_int_equal(f.value, 300);
	assert_true(sw_otel_message_next(&m, &f));
	assert_int_equal(f.number, 2);
	assert_int_equal(f.bytes.size, 2);
	assert_memory_equal(f.bytes.data, "ab", 2);
	assert_true(sw_otel_message_next(&m, &f));
	assert_int_equal(f.value, 1);
	assert_true(sw_otel_message_next(&m, &f));
	assert_int_equal(f.number, 4);
	assert_int_equal(f.value, 2);
	assert_false(sw_otel_message_next(&m, &f));
}

TEST(damaged_fields)
{
	static const struct sw_bytes messages[] = {
		BYTES(""),
		BYTES("\x80"),     /* a tag that goes on */
		BYTES("\x08"),     /* without its value */
		BYTES("\x00\x01"), /* field 0 */
		BYTES("\x0b"),     /* a group */
		BYTES("\x12\x03"
		      "ab"),                                           /* longer than there is */
		BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* much longer */
		BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), /* no end of a number */
		BYTES("\x19\x01\0\0\0\0\0\0"),                         /* 7 bytes of 8 */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(messages); i++) {
		struct sw_otel_message m = {messages[i], 0};
		struct sw_otel_field f;
		if (sw_otel_message_next(&m, &f))
			fail_msg("message %zu was taken", i);
	}
}

/* KEY of one byte, VALUE of two. */
#define PAIR(key, value) "\x0a\x01" key "\x12\x04\x0a\x02" value

TEST(payload)
{
	static const char payload[] = "\x0a\x35"                 /* resource */
				      "\x0a\x09" PAIR("a", "xy") /* attributes */
		"\x0a\x09" PAIR("a", "zz")                       /* the key is there already */
		"\x0a\x07\x0a\x01"
		"b\x12\x02\x10\x01" /* true */
		"\x0a\x07\x0a\x01"
		"c\x12\x02\x18\x2a"         /* 42 */
		"\x0a\x09" PAIR("d", "x\0") /* a NUL in the value */
		"\x10\x05"                  /* dropped_attributes_count */
		"\x12\x2f"                  /* an extra attribute: a map of keys */
		"\x0a\x1d"
		"threadlocal.attribute_key_map"
		"\x12\x0e\x2a\x0c"
		"\x0a\x03\x0a\x01"
		"r"                /* 0 */
		"\x0a\x02\x18\x01" /* 1: no string */
		"\x0a\x01\x00";
	struct sw_otel_process p;
	struct sw_arena arena = {0};
	struct sw_bytes bytes = BYTES(payload);
	assert_int_equal(sw_otel_payload_parse(bytes, &arena, &p), 0);
	assert_int_equal(p.resource.n_attributes, 3);
	assert_string_equal(p.resource.attributes[0].key, "a");
	assert_string_equal(p.resource.attributes[0].value, "xy");
	assert_string_equal(p.resource.attributes[1].value, "true");
	assert_string_equal(p.resource.attributes[2].key, "c");
	assert_string_equal(p.resource.attributes[2].value, "42");
	assert_false(p.cut);
	assert_int_equal(p.n_keys, 3);
	assert_string_equal(p.keys[0], "r");
	assert_string_equal(p.keys[1], "1");
	assert_null(p.keys[2]);
	sw_arena_deinit(&arena);
}

/* As many attributes, keys and bytes as there may be, and one more. */
TEST(limits)
{
	static uint8_t payload[SW_OTEL_PAYLOAD_MAX];
	struct sw_otel_process p;
	struct sw_arena arena = {0};
	uint8_t *to = payload;
	enum { N = SW_OTEL_ATTRIBUTES_MAX + 1, EACH = 12 };
	*to++ = 0x0a;
	*to++ = (uint8_t) (N * EACH & 0x7f) | 0x80;
	*to++ = N * EACH >> 7;
	for (int i = 0; i < N; i++) {
		static const uint8_t pair[EACH] = {0x0a, 10, 0x0a, 2, 'k', 0,
						   0x12, 4,  0x0a, 2, 'v', 'w'};
		memcpy(to, pair, EACH);
		to[5] = (uint8_t) ('!' + i);
		to += EACH;
	}
	struct sw_bytes bytes = {payload, (size_t) (to - payload)};
	assert_int_equal(sw_otel_payload_parse(bytes, &arena, &p), 0);
	assert_int_equal(p.resource.n_attributes, SW_OTEL_ATTRIBUTES_MAX);
	assert_true(p.cut);
	bytes.size -= EACH; /* the list is longer than the payload: nothing of it counts */
	assert_int_equal(sw_otel_payload_parse(bytes, &arena, &p), 0);
	assert_int_equal(p.resource.n_attributes, 0);
	sw_arena_deinit(&arena);
}
