/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PHP whose structures anybody wrote. The input is laid over a small one that is right, in parts: u16
 * offset / 4 | u8 length | bytes. Then the calls on three frames of execute_ex() are asked for and
 * named, and the request that it serves is read. What a file says of itself is scanned, too.
 */
#include "php_world.h"
#include "lay_over.h"

#include "bytes.h"
#include "runtimes/php/names.h"
#include "runtimes/php/request.h"

#include <string.h>

enum { READS_MAX = 200000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct php_world w;
	static struct sw_description d;
	static struct php_sink sink;
	static struct sw_served served;
	char version[16];
	php_world_init(&w);
	lay_over(w.data, sizeof(w.data), data, size);
	for (size_t i = 0; i < 3; i++) {
		(void) php_world_frames(&w, i, PHP_LEAF, PHP_OPCODES, &sink);
		for (size_t k = 0; k < sink.n; k++)
			(void) sw_php_names(&w.php, &sink.frames[k], &d);
	}
	memset(&served, 0, sizeof(served));
	if (sw_php_request(&w.php, &w.thread, &served) &&
	    (strlen(served.uri) >= sizeof(served.uri) ||
	     strlen(served.script) >= sizeof(served.script)))
		__builtin_trap();
	(void) sw_php_version_scan(data, size, version, sizeof(version));
	uint32_t end;
	(void) sw_php_fp_slot((struct sw_bytes){data, size}, &end);
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	php_world_deinit(&w);
	return 0;
}
