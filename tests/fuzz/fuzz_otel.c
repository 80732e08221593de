/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context of a process and the record of a thread, whose bytes anybody wrote. */
#include "fuzz.h"
#include "runtimes/otel/thread.h"

#include <string.h>

static void expect(bool right)
{
	if (!right)
		abort();
}

/* A process with names for attributes, one of which is there twice: bytes are hardly ever a record and its names at once. */
static const struct sw_otel_process keyed = {.keys = {"route", NULL, "user", "route"}, .n_keys = 4};

static void record_check(struct sw_bytes bytes, const struct sw_otel_process *process,
			 struct sw_arena *arena)
{
	struct sw_trace t;
	bool cut = false;
	if (!sw_otel_record_parse(bytes, process, arena, &t, &cut))
		return;
	expect(t.has_ids || t.n_attributes > 0);
	expect(t.n_attributes <= process->n_keys && bytes.size >= SW_OTEL_RECORD_BYTES);
	for (size_t i = 0; i < t.n_attributes; i++)
		for (size_t k = 0; k < i; k++)
			expect(strcmp(t.attributes[k].key, t.attributes[i].key) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_arena arena = {0};
	struct sw_otel_process p;
	expect(sw_otel_payload_parse((struct sw_bytes){data, size}, &arena, &p) == 0);
	expect(p.resource.n_attributes <= SW_OTEL_ATTRIBUTES_MAX && p.n_keys <= SW_OTEL_KEYS_MAX);
	for (size_t i = 0; i < p.resource.n_attributes; i++) {
		const struct sw_attribute *a = &p.resource.attributes[i];
		expect(a->key[0] != '\0' && strlen(a->key) <= SW_OTEL_KEY_MAX &&
		       strlen(a->value) <= SW_OTEL_VALUE_MAX);
		for (size_t k = 0; k < i; k++)
			expect(strcmp(p.resource.attributes[k].key, a->key) != 0);
	}
	for (size_t i = 0; i < p.n_keys; i++)
		expect(p.keys[i] == NULL || strlen(p.keys[i]) <= SW_OTEL_KEY_MAX);
	record_check((struct sw_bytes){data, size}, &p, &arena);
	record_check((struct sw_bytes){data, size}, &keyed, &arena);
	sw_arena_deinit(&arena);
	return 0;
}
