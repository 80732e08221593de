/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/protobuf.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, VARINT_BYTES_MAX = 10 };

void sw_proto_packed(struct sw_text *to, uint64_t value)
{
	char bytes[VARINT_BYTES_MAX];
	size_t n = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char) (value | 0x80);
	bytes[n++] = (char) value;
	sw_text_append(to, bytes, n);
}

static void put_key(struct sw_text *to, unsigned field, unsigned wire)
{
	sw_proto_packed(to, (uint64_t) field << 3 | wire);
}

void sw_proto_int_always(struct sw_text *to, unsigned field, uint64_t value)
{
	put_key(to, field, VARINT);
	sw_proto_packed(to, value);
}

void sw_proto_int(struct sw_text *to, unsigned field, uint64_t value)
{
	if (value != 0)
		sw_proto_int_always(to, field, value);
}

void sw_proto_fixed64(struct sw_text *to, unsigned field, uint64_t value)
{
	char bytes[8];
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char) (value >> 8 * i);
	put_key(to, field, FIXED64);
	sw_text_append(to, bytes, sizeof(bytes));
}

void sw_proto_bytes(struct sw_text *to, unsigned field, const char *data, size_t size)
{
	put_key(to, field, LENGTH);
	sw_proto_packed(to, size);
	sw_text_append(to, data, size);
}

void sw_proto_string(struct sw_text *to, unsigned field, const char *s)
{
	if (s[0] != '\0')
		sw_proto_bytes(to, field, s, strlen(s));
}

void sw_proto_message(struct sw_text *to, unsigned field, struct sw_text *message)
{
	to->failed |= message->failed;
	sw_proto_bytes(to, field, message->size > 0 ? message->data : "", message->size);
	message->size = 0;
}
