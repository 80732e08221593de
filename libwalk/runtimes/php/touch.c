/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what the walk will read: the calls, and for each function in them what its name, file and line need. All of that may be
 * freed as soon as the process goes on, and its memory be used for another function, so nothing of it is
 * read later.
 */
#include "runtimes/php/touch.h"
#include "cleanup.h"
#include "map.h"
#include "runtimes/php/frames.h"
#include "runtimes/php/generators.h"
#include "runtimes/php/names.h"
#include "runtimes/php/request.h"

enum { OPCODES_BYTES = 32768 /* of the function that runs */ };

/* All instructions of the function that runs: which one it is at only the walk can tell. */
static void opcodes_touch(const struct sw_php *php, const struct sw_php_call *call)
{
	uint8_t bytes[OPCODES_BYTES];
	uint64_t n = call->opcodes_end_avma - call->opcodes_avma;
	if (call->opcodes_avma != 0 && n <= sizeof(bytes))
		(void) sw_memory_read(php->memory, call->opcodes_avma, bytes,
				      (size_t) n); /* else its line is not known */
}

/* A function, with all that its name, file and line need. */
static void function_touch(struct sw_php *php, uint64_t func_avma)
{
	const struct sw_frame frame = {.pc_avma = func_avma, .cookie = func_avma};
	struct sw_description said;
	uint8_t bytes[SW_PHP_FUNC_BYTES];
	/* Where its instructions are and where its lines begin and end stands there, too. */
	(void) sw_memory_read(php->memory, func_avma, bytes, sizeof(bytes));
	(void) sw_php_names(php, &frame, &said);
}

/* The calls of a thread, and of each of their functions the name. known: functions that were read before. */
static void calls_touch(struct sw_php *php, const struct sw_thread *thread, struct sw_map64 *known)
{
	const struct sw_php_chain *c = &php->chain;
	bool running = true; /* no function of PHP's own was seen yet */
	uint64_t value;
	uint32_t line;
	sw_php_chain_read(php, thread);
	for (size_t i = 0; i < c->n; i++) {
		const struct sw_php_call *call = &c->calls[i];
		if (call->type == 0)
			continue;
		if (!sw_map64_get(known, call->func_avma, &value)) {
			function_touch(php, call->func_avma);
			(void) sw_map64_put(known, call->func_avma, 0); /* else it is read again */
		}
		if (call->type == SW_PHP_INTERNAL_FUNCTION)
			continue;
		(void) sw_memory_read(php->memory, call->opline_avma + SW_PHP_OP_LINE, &line,
				      sizeof(line)); /* else its line is not known */
		if (running)
			opcodes_touch(php, call);
		running = false;
	}
}

static void request_touch(struct sw_php *php, const struct sw_thread *thread)
{
	struct sw_served served;
	php->chain.tid = thread->tid; /* whose it is the walk decides */
	php->chain.n_native = 1;
	(void) sw_php_request(php, thread, &served);
}

void sw_php_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	const struct sw_php_before *before = found;
	const struct sw_thread any = {.captured = true};
	struct sw_php php = {.snap = snap, .memory = memory, .found = before->found};
	sw_cleanup(sw_map64_deinit) struct sw_map64 known = {0};
	/* All threads see the same globals. */
	if (!php.found.threads) {
		calls_touch(&php, &any, &known);
		if (before->requests)
			request_touch(&php, &any);
	}
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		uint64_t resumers[SW_PHP_RESUMERS_MAX];
		if (!t->captured)
			continue;
		sw_php_frames_touch(&php, t);
		if (!php.found.threads && sw_php_resumers(&php.found, t, resumers) == 0)
			continue;
		calls_touch(&php, t, &known);
		if (before->requests && php.found.threads)
			request_touch(&php, t);
	}
	sw_php_chain_deinit(&php.chain);
}
