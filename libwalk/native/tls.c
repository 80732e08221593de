/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Also while the target is held: tests/held.sh looks at what it calls. */
#include "native/tls.h"

enum { DTV_ENTRY_BYTES = 16 };

bool sw_tls_address(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		    uint64_t fs_base, uint64_t *ret_avma)
{
	uint64_t got = variable->got_svma + bias, module, offset, dtv, block;
	if (fs_base == 0)
		return false;
	if (variable->program) {
		*ret_avma = fs_base + (uint64_t) variable->offset;
		return true;
	}
	if (!sw_memory_u64(memory, got, &module) || !sw_memory_u64(memory, got + 8, &offset) ||
	    module == 0 || module > SW_TLS_MODULES_MAX ||
	    !sw_memory_u64(memory, fs_base + 8, &dtv) ||
	    !sw_memory_u64(memory, dtv + module * DTV_ENTRY_BYTES, &block))
		return false;
	*ret_avma = block + offset + (uint64_t) variable->offset;
	return block != 0 && block != UINT64_MAX; /* this: not allocated in this thread */
}
