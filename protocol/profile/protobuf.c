/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/protobuf.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5, WIRE_BITS = 3, VARINT_BYTES_MAX = 10 };

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

/* ---- reading ---------------------------------------------------------------------------------- */

/* Bits beyond the 64th are dropped, as the format's own readers do. */
static bool read_varint(struct sw_bytes message, uint64_t *at, uint64_t *ret)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte;
		if (!sw_bytes_u8(message, *at, &byte))
			return false;
		++*at;
		value |= (uint64_t) (byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool read_value(struct sw_bytes message, uint64_t *at, unsigned wire,
		       struct sw_proto_field *ret)
{
	uint64_t size;
	uint32_t half;
	switch (wire) {
	case VARINT: return read_varint(message, at, &ret->value);
	case FIXED64:
		*at += sizeof(ret->value);
		return sw_bytes_u64(message, *at - sizeof(ret->value), &ret->value);
	case FIXED32:
		*at += sizeof(half);
		if (!sw_bytes_u32(message, *at - sizeof(half), &half))
			return false;
		ret->value = half;
		return true;
	case LENGTH:
		ret->is_bytes = true;
		if (!read_varint(message, at, &size) ||
		    !sw_bytes_sub(message, *at, size, &ret->bytes))
			return false;
		*at += size;
		return true;
	default: return false;
	}
}

int sw_proto_next(struct sw_bytes message, uint64_t *at, struct sw_proto_field *ret)
{
	uint64_t key;
	*ret = (struct sw_proto_field){0};
	if (*at >= message.size)
		return 0;
	if (!read_varint(message, at, &key) || key >> WIRE_BITS > UINT32_MAX)
		return -1;
	ret->number = (uint32_t) (key >> WIRE_BITS);
	return read_value(message, at, key & ((1U << WIRE_BITS) - 1), ret) ? 1 : -1;
}

int sw_proto_element(const struct sw_proto_field *field, uint64_t *at, uint64_t *ret)
{
	if (field->is_bytes) {
		if (*at >= field->bytes.size)
			return 0;
		return read_varint(field->bytes, at, ret) ? 1 : -1;
	}
	*ret = field->value;
	return (*at)++ == 0;
}
