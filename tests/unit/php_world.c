/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "php_world.h"
#include "arch/arch.h"
#include "runtimes/php/frames.h"
#include "runtimes/php/request.h"

#include <string.h>

enum { FRAME_BYTES = 0x40, FP_SLOT = 8 };

static void put(struct php_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->data + (avma - PHP_WORLD), bytes, n);
}

void php_world_u64(struct php_world *w, uint64_t avma, uint64_t value)
{
	put(w, avma, &value, sizeof(value));
}

void php_world_u32(struct php_world *w, uint64_t avma, uint32_t value)
{
	put(w, avma, &value, sizeof(value));
}

static uint64_t string_put(struct php_world *w, unsigned i, const char *text, size_t length)
{
	uint64_t avma = PHP_STRINGS + 0x80 * i;
	php_world_u64(w, avma + SW_PHP_STRING_LENGTH, length);
	put(w, avma + SW_PHP_STRING_TEXT, text, length);
	return avma;
}

/* Function i and its call; instruction k of it is in line 10 * i + k. */
static void call_put(struct php_world *w, unsigned i, uint8_t type, uint64_t name, uint64_t scope,
		     uint32_t info)
{
	const struct sw_php_layout *at = w->php.found.layout;
	uint64_t call = PHP_CALLS + 0x100 * i, func = PHP_FUNCTIONS + 0x100 * i,
		 opcodes = PHP_OPCODES + 0x80 * i;
	php_world_u64(w, call + SW_PHP_ED_FUNC, func);
	php_world_u64(w, call + SW_PHP_ED_PREV, i < 3 ? call + 0x100 : 0);
	php_world_u32(w, call + SW_PHP_ED_INFO, info);
	put(w, func + SW_PHP_FUNC_TYPE, &type, 1);
	php_world_u64(w, func + SW_PHP_FUNC_NAME, name);
	php_world_u64(w, func + SW_PHP_FUNC_SCOPE, scope);
	if (type == SW_PHP_INTERNAL_FUNCTION)
		return;
	php_world_u64(w, call + SW_PHP_ED_OPLINE, opcodes + 2 * SW_PHP_OP_BYTES);
	php_world_u64(w, func + at->op_opcodes, opcodes);
	php_world_u32(w, func + at->op_last, 4);
	php_world_u64(w, func + at->op_filename, PHP_STRINGS);
	php_world_u32(w, func + at->op_line_start, 10 * i);
	php_world_u32(w, func + at->op_line_start + 4, 10 * i + 3);
	for (unsigned k = 0; k < 4; k++)
		php_world_u32(w, opcodes + k * SW_PHP_OP_BYTES + SW_PHP_OP_LINE, 10 * i + k);
}

static void request_put(struct php_world *w)
{
	static const char *const texts[] = {"GET",        "/index.php",  "q=1",
					    "/srv/a.php", "REQUEST_URI", "/cart/7?id=7"};
	static const uint8_t started = 1;
	uint64_t bucket = PHP_BUCKETS;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		put(w, PHP_CSTRINGS + 0x20 * i, texts[i], strlen(texts[i]) + 1);
	php_world_u64(w, PHP_SAPI + SW_PHP_SAPI_METHOD, PHP_CSTRINGS);
	php_world_u64(w, PHP_SAPI + SW_PHP_SAPI_URI, PHP_CSTRINGS + 0x20);
	php_world_u64(w, PHP_SAPI + SW_PHP_SAPI_QUERY, PHP_CSTRINGS + 0x40);
	php_world_u64(w, PHP_SAPI + SW_PHP_SAPI_SCRIPT, PHP_CSTRINGS + 0x60);
	php_world_u64(w, PHP_SAPI + SW_PHP_SAPI_CONTEXT, PHP_FCGI);
	put(w, PHP_SAPI + SW_PHP_SAPI_STARTED, &started, 1);
	php_world_u32(w, PHP_FCGI + SW_PHP_FCGI_HAS_ENV, 1);
	php_world_u64(w, PHP_FCGI + SW_PHP_REQUEST_URI_BUCKET, bucket);
	/* Another one with the same hash comes first. */
	php_world_u64(w, bucket + SW_PHP_BUCKET_NAME, PHP_CSTRINGS + 0x60);
	php_world_u64(w, bucket + SW_PHP_BUCKET_NEXT, bucket + 0x40);
	bucket += 0x40;
	php_world_u32(w, bucket, SW_PHP_REQUEST_URI_HASH);
	php_world_u32(w, bucket + SW_PHP_BUCKET_NAME_LENGTH, 11);
	php_world_u64(w, bucket + SW_PHP_BUCKET_NAME, PHP_CSTRINGS + 0x80);
	php_world_u64(w, bucket + SW_PHP_BUCKET_VALUE, PHP_CSTRINGS + 0xa0);
}

void php_world_init(struct php_world *w)
{
	memset(w, 0, sizeof(*w));
	w->region = (struct fake_region){PHP_WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->thread.tid = 7;
	w->pc_avma = PHP_CODE + 0x50;
	w->thread.captured = true;
	w->snap.n_threads = 1;
	w->snap.priv = &w->priv;
	w->php.snap = &w->snap;
	w->php.memory = fake_memory(&w->fake);
	w->php.found = (struct sw_php_found){.place = &w->place,
					     .layout = sw_php_layout_of(8, 2),
					     .globals_svma = PHP_GLOBALS,
					     .sapi_svma = PHP_SAPI,
					     .version = "8.2.36"};
	w->php.engine = (struct sw_php_engine){.start_svma = PHP_CODE,
					       .end_svma = PHP_CODE + 0x100,
					       .frame_bytes = FRAME_BYTES,
					       .fp_below = FRAME_BYTES - FP_SLOT,
					       .hybrid = true};
	string_put(w, 0, "/srv/a.php", 10);
	php_world_u64(w, PHP_CLASS + SW_PHP_CLASS_NAME, string_put(w, 1, "A", 1));
	call_put(w, 0, SW_PHP_USER_FUNCTION, string_put(w, 2, "leaf", 4), 0, 0);
	call_put(w, 1, SW_PHP_USER_FUNCTION, string_put(w, 3, "{closure}", 9), PHP_CLASS,
		 SW_PHP_CALL_TOP);
	call_put(w, 2, SW_PHP_INTERNAL_FUNCTION, string_put(w, 4, "array_map", 9), 0, 0);
	call_put(w, 3, SW_PHP_USER_FUNCTION, 0, 0, SW_PHP_CALL_TOP);
	request_put(w);
	php_world_u64(w, PHP_GLOBALS + w->php.found.layout->current_execute_data, PHP_LEAF);
	php_world_u64(w, PHP_STACK + FP_SLOT, PHP_MAIN); /* as it was before {closure} */
}

void php_world_deinit(struct php_world *w)
{
	sw_php_chain_deinit(&w->php.chain);
}

static bool frame_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct php_sink *s = (struct php_sink *) sink;
	if (s->n >= sizeof(s->frames) / sizeof(*s->frames))
		return false;
	s->frames[s->n++] = (struct sw_frame){.pc_avma = address_avma, .cookie = cookie};
	return true;
}

bool php_world_frames(struct php_world *w, size_t i, uint64_t fp, uint64_t ip, struct php_sink *ret)
{
	*ret = (struct php_sink){.sink.add = frame_add};
	struct sw_cursor c = {.snap = &w->snap,
			      .thread = &w->thread,
			      .memory = w->php.memory,
			      .place = &w->place,
			      .exact_pc = i == 0,
			      .lookup_avma = i == 0 ? w->pc_avma : PHP_CODE + 0x50,
			      .depth = i + 1,
			      .regs = {.pc_avma = i == 0 ? w->pc_avma : PHP_CODE + 0x50,
				       .sp_avma = PHP_STACK + i * FRAME_BYTES}};
	sw_regs_set(&c.regs, SW_X86_64_R14, fp);
	sw_regs_set(&c.regs, SW_X86_64_R15, ip);
	return sw_php_frames(&w->php, &c, c.regs.sp_avma + FRAME_BYTES, &ret->sink);
}
