/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stack_id.h"

#include <string.h>
#include <xxhash.h>

static void add_string(struct sw_text *bytes, const char *s)
{
	sw_text_append(bytes, s, strlen(s) + 1);
}

static void add_offset(struct sw_text *bytes, uint64_t offset)
{
	char little[8];
	for (size_t i = 0; i < sizeof(little); i++)
		little[i] = (char) (offset >> (8 * i) & 0xff);
	sw_text_append(bytes, little, sizeof(little));
}

void sw_stack_id_add(struct sw_text *bytes, const struct sw_stack_id_frame *frame)
{
	if (frame->name != NULL) {
		sw_text_append(bytes, "N", 1);
		add_string(bytes, frame->name);
	} else if (frame->build_id != NULL && frame->build_id_bytes <= UINT8_MAX) {
		char head[2] = {'B', (char) frame->build_id_bytes};
		sw_text_append(bytes, head, sizeof(head));
		sw_text_append(bytes, (const char *) frame->build_id, frame->build_id_bytes);
		add_offset(bytes, frame->offset);
	} else if (frame->path != NULL && frame->path[0] != '\0') {
		sw_text_append(bytes, "P", 1);
		add_string(bytes, frame->path);
		add_offset(bytes, frame->offset);
	} else {
		sw_text_append(bytes, "U", 1);
	}
}

uint64_t sw_stack_id(const struct sw_text *bytes)
{
	return XXH3_64bits(bytes->data, bytes->size);
}
