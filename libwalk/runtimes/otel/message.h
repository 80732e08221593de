/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_OTEL_MESSAGE_H
#define SW_OTEL_MESSAGE_H

#include "bytes.h"

/*
 * Reads protobuf that somebody else wrote, field by field, and allocates nothing.
 * Source: protobuf.dev, "Encoding" (2024).
 *	struct sw_otel_message m = {bytes, 0};
 *	while (sw_otel_message_next(&m, &field))
 */
struct sw_otel_message {
	struct sw_bytes bytes; /* borrowed */
	uint64_t at;
};

enum sw_otel_wire { SW_OTEL_VARINT = 0, SW_OTEL_64 = 1, SW_OTEL_BYTES = 2, SW_OTEL_32 = 5 };

struct sw_otel_field {
	uint32_t number;
	enum sw_otel_wire wire;
	uint64_t value;        /* of all but SW_OTEL_BYTES */
	struct sw_bytes bytes; /* of SW_OTEL_BYTES; part of the message */
};

/* False: the message is over, or what follows is no field. */
bool sw_otel_message_next(struct sw_otel_message *message, struct sw_otel_field *ret);

#endif
