/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/protobuf.h"

#include <snapwalk/otlp.h>

/* Numbers of fields; those of profiles and of logs are the same. */
enum { RESPONSE_PARTIAL_SUCCESS = 1, PARTIAL_REJECTED = 1 };

/* The last field of that number counts, as for each reader of protobuf. */
static bool find(struct sw_bytes message, uint32_t number, bool is_bytes,
		 struct sw_proto_field *ret)
{
	struct sw_proto_field field;
	uint64_t at = 0;
	bool found = false;
	while (sw_proto_next(message, &at, &field) > 0)
		if (field.number == number && field.is_bytes == is_bytes) {
			*ret = field;
			found = true;
		}
	return found;
}

uint64_t sw_otlp_rejected(const void *data, size_t size)
{
	const struct sw_bytes message = {.data = data, .size = size};
	struct sw_proto_field partial, rejected;
	if (!find(message, RESPONSE_PARTIAL_SUCCESS, true, &partial) ||
	    !find(partial.bytes, PARTIAL_REJECTED, false, &rejected) || rejected.value > INT64_MAX)
		return 0;
	return rejected.value;
}
