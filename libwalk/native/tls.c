/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tls.h"

enum { DTV = 8, DTV_ENTRY_BYTES = 16 };

/* A library's, by its module and the offset in the module's block. */
static bool way_of_block(struct sw_memory memory, uint64_t pair_avma, int64_t offset,
			 struct sw_way *ret)
{
	uint64_t module, in_block;
	if (!sw_memory_u64(memory, pair_avma, &module) ||
	    !sw_memory_u64(memory, pair_avma + 8, &in_block) || module == 0 ||
	    module > SW_TLS_MODULES_MAX)
		return false;
	*ret = (struct sw_way){{DTV, module * DTV_ENTRY_BYTES, in_block + (uint64_t) offset}, 3};
	return true;
}

static bool way_of_static(uint64_t word, int64_t offset, struct sw_way *ret)
{
	*ret = (struct sw_way){{word + (uint64_t) offset}, 1};
	return (int64_t) word < 0;
}

bool sw_tls_way(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		struct sw_way *ret)
{
	uint64_t got = variable->got_svma + bias, word;
	switch (variable->kind) {
	case SW_TLS_PROGRAM: *ret = (struct sw_way){{(uint64_t) variable->offset}, 1}; return true;
	case SW_TLS_WORD:
		return sw_memory_u64(memory, got, &word) &&
		       way_of_static(word, variable->offset, ret);
	case SW_TLS_DESCRIPTOR:
		/* The resolver in the first word says which of both it is, but is not exported. */
		return sw_memory_u64(memory, got + 8, &word) &&
		       ((int64_t) word < 0 ? way_of_static(word, variable->offset, ret)
					   : way_of_block(memory, word, variable->offset, ret));
	case SW_TLS_PAIR: return way_of_block(memory, got, variable->offset, ret);
	}
	return false;
}

bool sw_tls_address(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		    uint64_t fs_base, uint64_t *ret_avma)
{
	struct sw_way way;
	/* A word of UINT64_MAX: the block is not allocated in this thread. */
	return fs_base != 0 && sw_tls_way(variable, memory, bias, &way) &&
	       sw_way_end(&way, memory, fs_base, ret_avma);
}
