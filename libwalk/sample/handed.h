/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_HANDED_H
#define SW_SAMPLE_HANDED_H

#include <snapwalk/sampler.h>

/*
 * A sample as bytes, from one process of a program to another:
 *
 *	head | changes | threads | stacks of them | ranges | bytes of them
 */
struct sw_handed {
	uint8_t *bytes; /* owned */
	size_t bytes_max;
	/* Memory for unpacking, owned. */
	struct sw_snapshot *snap; /* of sw_borrowed_create(); the caller makes it */
	struct sw_sample_change *changes;
	size_t changes_max;
	struct sw_thread *threads;
	size_t threads_max;
	struct sw_range *ranges;
	size_t ranges_max;
};

void sw_handed_deinit(struct sw_handed *handed);
int sw_handed_pack(struct sw_handed *handed, const struct sw_sample *sample, const void **ret,
		   size_t *ret_size, struct sw_error *err);
int sw_handed_unpack(struct sw_handed *handed, const void *bytes, size_t size,
		     struct sw_sample *ret, struct sw_error *err);

#endif
