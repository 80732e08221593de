/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JSON_OBJECT_H
#define SW_JSON_OBJECT_H

#include "text.h"

#include <snapwalk/varlink.h>

/* sw_json_object_parse(); with large, an integer that has not 64 bits becomes a double. */
int sw_json_object_read(const char *text, size_t size, unsigned depth_max, bool large,
			struct json_object **ret, struct sw_error *err);

/* Appends an element as one line and frees it. NULL, or no memory, sets text->failed. */
void sw_json_object_append(struct sw_text *text, struct json_object *element);

#endif
