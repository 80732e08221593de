/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_PROTOBUF_H
#define SW_PROFILE_PROTOBUF_H

#include "bytes.h"
#include "text.h"

#include <stdint.h>

/*
 * Protocol buffers, as far as profiles need them (protobuf.dev/programming-guides/encoding): varints,
 * fixed64 and length-delimited fields. Zero and "" are what a reader takes for a field that is absent:
 * they are not written.
 */
void sw_proto_int(struct sw_text *to, unsigned field, uint64_t value);
/* Also zero: an element of a oneof, or of a table in which 0 has a meaning. */
void sw_proto_int_always(struct sw_text *to, unsigned field, uint64_t value);
void sw_proto_fixed64(struct sw_text *to, unsigned field, uint64_t value);
/* Also an empty one: an element of a repeated field. */
void sw_proto_bytes(struct sw_text *to, unsigned field, const char *data, size_t size);
void sw_proto_string(struct sw_text *to, unsigned field, const char *s);

/* Puts a message into another one and empties it, for the next. Out of memory is handed on. */
void sw_proto_message(struct sw_text *to, unsigned field, struct sw_text *message);

/* An element of a packed repeated field: these are then put as bytes, by sw_proto_message(). */
void sw_proto_packed(struct sw_text *to, uint64_t value);

/* ---- reading: the bytes are anybody's --------------------------------------------------------- */

/* A field of a message. Groups are not read. */
struct sw_proto_field {
	uint32_t number;
	bool is_bytes;         /* length-delimited: a string, a message, or packed elements */
	uint64_t value;        /* of a varint, fixed64 or fixed32 */
	struct sw_bytes bytes; /* borrowed from the message */
};

/* The next field of a message, of which *at is the offset. 1; 0: there are no more; -1: it is malformed. */
int sw_proto_next(struct sw_bytes message, uint64_t *at, struct sw_proto_field *ret);
/* The next element of a repeated field of varints, packed or not; *at begins with 0. Likewise. */
int sw_proto_element(const struct sw_proto_field *field, uint64_t *at, uint64_t *ret);

#endif
