/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/otel/message.h"

enum { VARINT_BYTES_MAX = 10, WIRE_BITS = 3 };

static bool varint(struct sw_otel_message *m, uint64_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;
	for (unsigned i = 0; i < VARINT_BYTES_MAX && sw_bytes_u8(m->bytes, m->at, &byte); i++) {
		m->at++;
		value |= (uint64_t) (byte & 0x7f) << (7 * i);
		if ((byte & 0x80) != 0)
			continue;
		*ret = value;
		return true;
	}
	return false;
}

static bool value_read(struct sw_otel_message *m, struct sw_otel_field *f)
{
	uint64_t length;
	uint32_t half;
	switch (f->wire) {
	case SW_OTEL_VARINT: return varint(m, &f->value);
	case SW_OTEL_64:
		if (!sw_bytes_u64(m->bytes, m->at, &f->value))
			return false;
		m->at += sizeof(f->value);
		return true;
	case SW_OTEL_32:
		if (!sw_bytes_u32(m->bytes, m->at, &half))
			return false;
		f->value = half;
		m->at += sizeof(half);
		return true;
	case SW_OTEL_BYTES:
		if (!varint(m, &length) || !sw_bytes_sub(m->bytes, m->at, length, &f->bytes))
			return false;
		m->at += length;
		return true;
	}
	return false; /* groups, which nothing uses any more */
}

bool sw_otel_message_next(struct sw_otel_message *message, struct sw_otel_field *ret)
{
	uint64_t tag;
	if (!varint(message, &tag) || tag >> WIRE_BITS == 0 ||
	    tag >> WIRE_BITS > UINT32_MAX >> WIRE_BITS)
		return false;
	*ret = (struct sw_otel_field){.number = (uint32_t) (tag >> WIRE_BITS),
				      .wire = (enum sw_otel_wire)(tag & 7)};
	return value_read(message, ret);
}
