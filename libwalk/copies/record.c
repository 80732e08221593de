/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/record.h"

#include <assert.h>
#include <string.h>

static bool part_parse(const uint8_t *bytes, size_t size, size_t *at, struct sw_copy_part *ret)
{
	struct sw_sampled_part part;
	if (size - *at < sizeof(part))
		return false;
	memcpy(&part, bytes + *at, sizeof(part));
	*at += sizeof(part);
	size_t padded = ((size_t) part.bytes + 7) & ~(size_t) 7;
	if (part.bytes == 0 || part.bytes > SW_SAMPLED_PART_MAX || padded > size - *at)
		return false;
	*ret = (struct sw_copy_part){part.avma, bytes + *at, part.bytes, part.kind};
	*at += padded;
	return true;
}

bool sw_copy_parse(const uint8_t *bytes, size_t size, struct sw_copy_part *parts,
		   struct sw_copy *ret)
{
	struct sw_copy copy = {.parts = parts};
	static_assert(sizeof(copy.regs) == sizeof(copy.head.regs), "the same words");
	if (size < sizeof(copy.head))
		return false;
	memcpy(&copy.head, bytes, sizeof(copy.head));
	if (copy.head.bytes != size || copy.head.n_parts > SW_COPY_PARTS_MAX)
		return false;
	for (size_t at = sizeof(copy.head); copy.n_parts < copy.head.n_parts; copy.n_parts++)
		if (!part_parse(bytes, size, &at, &parts[copy.n_parts]))
			return false;
	memcpy(&copy.regs, copy.head.regs, sizeof(copy.regs));
	*ret = copy;
	return true;
}
