/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/otel/thread.h"
#include "native/tls_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <string.h>

/* Also on a machine that has no turn for us the search ends. */
static const int64_t ALL_NS = 1000000000;

enum { SPAN_AT = 16, VALID_AT = 24, FLAGS_AT = 25, SIZE_AT = 26 };
enum { STRINGS_MAX = 64 << 20 }; /* without a hash table they are searched as a whole */

static const char variable_name[] = "otel_thread_ctx_v1";

/* ---- where it is ----------------------------------------------------------------------------- */

/* A file that is too large to be searched is told as a search that took too long. */
static void unfinished(const struct sw_snapshot *snap)
{
	sw_snapshot_note_limit(snap, "requests of threads are not here: not all files of the "
				     "process were searched for what leads to them, which took "
				     "too long");
}

static bool variable_find(const struct sw_snapshot *snap, const struct sw_place *place,
			  struct sw_tls_variable *ret)
{
	struct sw_elf_symbols symbols;
	if (sw_module_kind(place->module) != SW_MODULE_ELF ||
	    !sw_elf_symbols_open(sw_module_elf(place->module), &symbols))
		return false;
	if (symbols.gnu_hash.size == 0 && symbols.dynsym.strings.size > STRINGS_MAX) {
		unfinished(snap);
		return false;
	}
	return sw_tls_find(&symbols, variable_name, ret);
}

void sw_otel_threads_before(struct sw_capture *capture)
{
	const struct sw_budget budget = sw_budget_begin(SW_OTEL_SEARCH_NS, ALL_NS);
	sw_otel_threads_search(capture, &budget);
}

void sw_otel_threads_search(struct sw_capture *capture, const struct sw_budget *budget)
{
	const struct sw_snapshot *snap = capture->snap;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		if (sw_budget_spent(budget)) {
			unfinished(snap);
			return;
		}
		struct sw_tls_variable variable;
		struct sw_way way;
		if (!variable_find(snap, place, &variable))
			continue;
		if (variable.kind != SW_TLS_PROGRAM && !sw_place_resolve(place, snap))
			continue;
		if (!sw_tls_way(&variable, capture->memory, place->bias, &way))
			continue;
		way.offsets[way.n++] = 0; /* the variable is a pointer to the record */
		sw_capture_of_threads(capture, &way);
		return;
	}
}

/* ---- what it says ---------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* The place of a key among the first n; n: it is not there. */
static size_t key_find(const struct sw_attribute *all, size_t n, const char *key)
{
	size_t i = 0;
	while (i < n && strcmp(all[i].key, key) != 0)
		i++;
	return i;
}

/* The next attribute; false: what is left is none. */
static bool next(struct sw_bytes bytes, uint64_t *at, uint8_t *ret_key, struct sw_bytes *ret_value)
{
	uint8_t length;
	if (!sw_bytes_u8(bytes, *at, ret_key) || !sw_bytes_u8(bytes, *at + 1, &length) ||
	    !sw_bytes_sub(bytes, *at + 2, length, ret_value))
		return false;
	*at += 2u + length;
	return true;
}

static void attributes_parse(struct sw_bytes bytes, const struct sw_otel_process *process,
			     struct sw_arena *arena, struct sw_trace *ret)
{
	struct sw_attribute *all = NULL;
	struct sw_bytes value;
	uint64_t at = 0;
	uint8_t key;
	while (next(bytes, &at, &key, &value)) {
		if (key >= process->n_keys || process->keys[key] == NULL ||
		    (value.size > 0 && memchr(value.data, '\0', value.size) != NULL))
			continue;
		if (all == NULL)
			all = sw_arena_calloc(arena, process->n_keys, sizeof(*all));
		const char *text =
			sw_arena_strndup(arena, value.size > 0 ? (const char *) value.data : "",
					 value.size);
		if (all == NULL || text == NULL)
			return; /* as if it had no more */
		size_t i = key_find(all, ret->n_attributes, process->keys[key]);
		all[i] = (struct sw_attribute){process->keys[key], text};
		ret->attributes = all;
		ret->n_attributes += i == ret->n_attributes;
	}
}

bool sw_otel_record_parse(struct sw_bytes record, const struct sw_otel_process *process,
			  struct sw_arena *arena, struct sw_trace *ret, bool *ret_cut)
{
	struct sw_bytes attributes;
	uint8_t valid;
	uint16_t size;
	*ret = (struct sw_trace){0};
	if (!sw_bytes_copy(record, 0, ret->trace_id, sizeof(ret->trace_id)) ||
	    !sw_bytes_copy(record, SPAN_AT, ret->span_id, sizeof(ret->span_id)) ||
	    !sw_bytes_u8(record, VALID_AT, &valid) || !sw_bytes_u8(record, FLAGS_AT, &ret->flags) ||
	    !sw_bytes_u16(record, SIZE_AT, &size) || valid != 1)
		return false;
	ret->has_ids = !is_zero(ret->trace_id, sizeof(ret->trace_id)) &&
		       !is_zero(ret->span_id, sizeof(ret->span_id));
	uint64_t there = record.size - SW_OTEL_RECORD_BYTES;
	*ret_cut |= size > there;
	if (sw_bytes_sub(record, SW_OTEL_RECORD_BYTES, size < there ? size : there, &attributes))
		attributes_parse(attributes, process, arena, ret);
	return ret->has_ids || ret->n_attributes > 0;
}
