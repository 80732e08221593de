/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nothing leads to the scoreboard of php-fpm without symbols. It lies at the beginning of anonymous memory that is shared:
 *
 *	lock  pool  pm  start  idle  active  most active  requests  ...  queue  longest  its limit  processes
 *	0     16    48  56     64    68      72           80             92     96       100        104
 *
 * The name of the pool, how it is managed (1 to 3) and the numbers prove it.
 *
 * Source: sapi/fpm/fpm/fpm_scoreboard.h, fpm_shm.c, fpm_conf.h (PM_STYLE_STATIC) of PHP-8.0 to PHP-8.4.
 */
#include "runtimes/php/fpm.h"
#include "bytes.h"
#include "snapshot/snapshot.h"

#include <ctype.h>
#include <string.h>

enum {
	POOL_OFF = 16,
	POOL_BYTES = 32,
	PM_OFF = 48,
	PM_MAX = 3,
	IDLE_OFF = 64,
	ACTIVE_OFF = 68,
	QUEUE_OFF = 92,
	PROCESSES_OFF = 104,
	HEAD_BYTES = 112,
	PROCESSES_MAX = 1 << 16,
	TRIED_MAX = 64, /* mappings */
};

_Static_assert((int) POOL_BYTES < (int) sizeof(((struct sw_thread_pool *) NULL)->name),
	       "a name fits");

/* A name that ends, without control characters; how PHP's own extensions share memory has none. */
static bool is_name(const uint8_t *bytes)
{
	size_t n = 0;
	while (n < POOL_BYTES && bytes[n] != '\0')
		if (!isgraph(bytes[n++]))
			return false;
	return n > 0 && n < POOL_BYTES;
}

static bool is_scoreboard(const uint8_t bytes[static HEAD_BYTES], struct sw_thread_pool *ret)
{
	struct sw_bytes b = {bytes, HEAD_BYTES};
	uint32_t pm, idle, active, queue, processes;
	if (!is_name(bytes + POOL_OFF) || !sw_bytes_u32(b, PM_OFF, &pm) || pm == 0 || pm > PM_MAX ||
	    !sw_bytes_u32(b, IDLE_OFF, &idle) || !sw_bytes_u32(b, ACTIVE_OFF, &active) ||
	    !sw_bytes_u32(b, QUEUE_OFF, &queue) || !sw_bytes_u32(b, PROCESSES_OFF, &processes) ||
	    processes == 0 || processes > PROCESSES_MAX || idle > processes || active > processes ||
	    idle + active > processes)
		return false;
	*ret = (struct sw_thread_pool){.known = true,
				       .working = active,
				       .threads = idle + active,
				       .most = processes,
				       .taken_ms = -1,
				       .waits = queue > 0 && queue <= INT32_MAX,
				       .queued = queue <= INT32_MAX ? (int64_t) queue : -1};
	memcpy(ret->name, bytes + POOL_OFF, POOL_BYTES);
	return true;
}

void sw_php_fpm_pool(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_thread_pool *ret)
{
	static const char shared[] = "/dev/zero (deleted)"; /* mm/shmem.c: shmem_zero_setup() */
	uint8_t bytes[HEAD_BYTES];
	size_t tried = 0;
	for (size_t i = 0; i < snap->n_maps && tried < TRIED_MAX; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (strcmp(map->path, shared) != 0)
			continue;
		tried++;
		if (sw_memory_read(memory, map->start_avma, bytes, sizeof(bytes)) &&
		    is_scoreboard(bytes, ret))
			return;
	}
}
