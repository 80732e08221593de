/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/otel/process.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "runtimes/otel/message.h"
#include "snapshot/live.h"
#include "snapshot/read.h"

#include <inttypes.h>
#include <string.h>

enum {
	HEADER_BYTES = 32,
	VERSION_AT = 8,
	SIZE_AT = 12,
	PUBLISHED_AT = 16,
	PAYLOAD_AT = 24,
	VERSION = 2,
	/* Numbers of fields. */
	CONTEXT_RESOURCE = 1,
	CONTEXT_EXTRA = 2,
	RESOURCE_ATTRIBUTES = 1,
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
	ANY_STRING = 1,
	ANY_BOOL = 2,
	ANY_INT = 3,
	ANY_DOUBLE = 4,
	ANY_ARRAY = 5,
	ARRAY_VALUES = 1,
};

static const char signature[] = "OTEL_CTX";
/* The metadata of threads' attributes: OTEP 4947. */
static const char key_map[] = "threadlocal.attribute_key_map";
static const char schema[] = "threadlocal.schema_version";
static const char *const schemas[] = {"tlsdesc_v1_dev", "tls_v1"};

/* ---- payload --------------------------------------------------------------------------------- */

/* A key, and the message of its value. */
static bool pair_parse(struct sw_bytes bytes, struct sw_bytes *ret_key, struct sw_bytes *ret_value)
{
	struct sw_otel_message m = {bytes, 0};
	struct sw_otel_field f;
	*ret_key = *ret_value = (struct sw_bytes){0};
	while (sw_otel_message_next(&m, &f)) {
		if (f.wire == SW_OTEL_BYTES && f.number == PAIR_KEY)
			*ret_key = f.bytes;
		else if (f.wire == SW_OTEL_BYTES && f.number == PAIR_VALUE)
			*ret_value = f.bytes;
	}
	return ret_key->size > 0;
}

static const char *copy(struct sw_arena *arena, struct sw_bytes text)
{
	return sw_arena_strndup(arena, text.size > 0 ? (const char *) text.data : "", text.size);
}

/* A scalar as text. Lists and maps have none: *ret stays NULL. -SW_E_NOMEM. */
static int value_text(struct sw_bytes value, struct sw_arena *arena, const char **ret, bool *cut)
{
	struct sw_otel_message m = {value, 0};
	struct sw_otel_field f;
	double number;
	*ret = NULL;
	if (!sw_otel_message_next(&m, &f))
		return 0;
	if (f.number == ANY_STRING && f.wire == SW_OTEL_BYTES) {
		*cut |= f.bytes.size > SW_OTEL_VALUE_MAX;
		if (f.bytes.size > SW_OTEL_VALUE_MAX ||
		    (f.bytes.size > 0 && memchr(f.bytes.data, '\0', f.bytes.size) != NULL))
			return 0;
		*ret = copy(arena, f.bytes);
	} else if (f.number == ANY_BOOL && f.wire == SW_OTEL_VARINT) {
		*ret = f.value != 0 ? "true" : "false";
	} else if (f.number == ANY_INT && f.wire == SW_OTEL_VARINT) {
		*ret = sw_arena_printf(arena, "%" PRId64, (int64_t) f.value);
	} else if (f.number == ANY_DOUBLE && f.wire == SW_OTEL_64) {
		memcpy(&number, &f.value, sizeof(number));
		*ret = sw_arena_printf(arena, "%.17g", number);
	} else {
		return 0;
	}
	return *ret == NULL ? -SW_E_NOMEM : 0;
}

/* Keys are of ASCII, so that nothing has to be replaced in them, which would make two the same. */
static bool key_is_good(struct sw_bytes key)
{
	for (size_t i = 0; i < key.size; i++)
		if (key.data[i] <= ' ' || key.data[i] > '~')
			return false;
	return true;
}

static bool has_key(const struct sw_resource *resource, struct sw_bytes key)
{
	for (size_t i = 0; i < resource->n_attributes; i++)
		if (strlen(resource->attributes[i].key) == key.size &&
		    memcmp(resource->attributes[i].key, key.data, key.size) == 0)
			return true;
	return false;
}

/* Keys come once; of a second one nothing says which is right. */
static int attribute_add(struct sw_bytes pair, struct sw_arena *arena, struct sw_attribute *to,
			 struct sw_otel_process *ret)
{
	struct sw_resource *resource = &ret->resource;
	struct sw_bytes key, value;
	const char *text;
	if (!pair_parse(pair, &key, &value) || has_key(resource, key))
		return 0;
	if (!key_is_good(key))
		return 0;
	if (key.size > SW_OTEL_KEY_MAX || resource->n_attributes == SW_OTEL_ATTRIBUTES_MAX) {
		ret->cut = true;
		return 0;
	}
	int r = value_text(value, arena, &text, &ret->cut);
	if (r < 0 || text == NULL)
		return r;
	const char *name = copy(arena, key);
	if (name == NULL)
		return -SW_E_NOMEM;
	to[resource->n_attributes++] = (struct sw_attribute){name, text};
	return 0;
}

static int resource_parse(struct sw_bytes bytes, struct sw_arena *arena, struct sw_attribute *to,
			  struct sw_otel_process *ret)
{
	struct sw_otel_message m = {bytes, 0};
	struct sw_otel_field f;
	int r = 0;
	while (r == 0 && sw_otel_message_next(&m, &f))
		if (f.number == RESOURCE_ATTRIBUTES && f.wire == SW_OTEL_BYTES)
			r = attribute_add(f.bytes, arena, to, ret);
	return r;
}

static bool is_key(const char *text)
{
	const struct sw_bytes key = {(const uint8_t *) text, strlen(text)};
	return key.size > 0 && key.size <= SW_OTEL_KEY_MAX && key_is_good(key);
}

/* A list of strings. One that is none has its place, too. */
static int keys_parse(struct sw_bytes list, struct sw_arena *arena, struct sw_otel_process *ret)
{
	struct sw_otel_message m = {list, 0};
	struct sw_otel_field f;
	ret->n_keys = 0;
	while (sw_otel_message_next(&m, &f)) {
		const char *text;
		if (f.number != ARRAY_VALUES || f.wire != SW_OTEL_BYTES)
			continue;
		if (ret->n_keys == SW_OTEL_KEYS_MAX) {
			ret->cut = true;
			return 0;
		}
		int r = value_text(f.bytes, arena, &text, &ret->cut);
		if (r < 0)
			return r;
		ret->keys[ret->n_keys++] = text != NULL && is_key(text) ? text : NULL;
	}
	return 0;
}

static bool is_text(struct sw_bytes bytes, const char *text)
{
	return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static bool is_schema(struct sw_bytes value)
{
	struct sw_otel_message m = {value, 0};
	struct sw_otel_field f;
	if (!sw_otel_message_next(&m, &f) || f.number != ANY_STRING || f.wire != SW_OTEL_BYTES)
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(schemas); i++)
		if (is_text(f.bytes, schemas[i]))
			return true;
	return false;
}

static int extra_parse(struct sw_bytes pair, struct sw_arena *arena, struct sw_otel_process *ret)
{
	struct sw_bytes key, value;
	struct sw_otel_field f;
	if (!pair_parse(pair, &key, &value))
		return 0;
	ret->has_threads |= is_text(key, schema) && is_schema(value);
	if (!is_text(key, key_map))
		return 0;
	struct sw_otel_message m = {value, 0};
	if (!sw_otel_message_next(&m, &f) || f.number != ANY_ARRAY || f.wire != SW_OTEL_BYTES)
		return 0;
	return keys_parse(f.bytes, arena, ret);
}

int sw_otel_payload_parse(struct sw_bytes payload, struct sw_arena *arena,
			  struct sw_otel_process *ret)
{
	struct sw_otel_message m = {payload, 0};
	struct sw_otel_field f;
	int r = 0;
	struct sw_attribute *attributes =
		sw_arena_calloc(arena, SW_OTEL_ATTRIBUTES_MAX, sizeof(*attributes));
	if (attributes == NULL)
		return -SW_E_NOMEM;
	*ret = (struct sw_otel_process){.resource.attributes = attributes};
	while (r == 0 && sw_otel_message_next(&m, &f)) {
		if (f.wire == SW_OTEL_BYTES && f.number == CONTEXT_RESOURCE)
			r = resource_parse(f.bytes, arena, attributes, ret);
		else if (f.wire == SW_OTEL_BYTES && f.number == CONTEXT_EXTRA)
			r = extra_parse(f.bytes, arena, ret);
	}
	return r;
}

/* ---- where it is ----------------------------------------------------------------------------- */

bool sw_otel_process_is_named(const char *path)
{
	static const char *const names[] = {"/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]",
					    "[anon:OTEL_CTX]"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (sw_begins_with(path, names[i]))
			return true;
	return false;
}

bool sw_otel_process_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if (sw_otel_process_is_named(snap->maps[i].path))
			return true;
	return false;
}

enum context {
	CONTEXT_NONE,
	CONTEXT_CHANGING, /* it is being written, or was between two reads */
	CONTEXT_WHOLE,
};

struct header {
	uint32_t size;
	uint64_t published, payload_avma;
};

static bool header_parse(const uint8_t *data, struct header *ret)
{
	const struct sw_bytes b = {data, HEADER_BYTES};
	uint32_t version;
	return memcmp(data, signature, sizeof(signature) - 1) == 0 &&
	       sw_bytes_u32(b, VERSION_AT, &version) && version == VERSION &&
	       sw_bytes_u32(b, SIZE_AT, &ret->size) &&
	       sw_bytes_u64(b, PUBLISHED_AT, &ret->published) &&
	       sw_bytes_u64(b, PAYLOAD_AT, &ret->payload_avma);
}

/* The payload is whole if the header says the same before and after it was read. */
static enum context payload_read(const struct sw_snapshot *snap, const struct sw_map *map,
				 uint8_t *payload, size_t *ret_size)
{
	/* Samples of a series never read what may have gone on since; the header proves by itself what was read. Nothing of
	 * it is kept: the process may write another one before the next sample. */
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	if (snap->priv->base != NULL) {
		snap = snap->priv->base;
		m = sw_live_memory(snap);
	}
	uint8_t before[HEADER_BYTES], after[HEADER_BYTES];
	struct header header;
	if (map->end_avma - map->start_avma < HEADER_BYTES ||
	    !sw_memory_read(m, map->start_avma, before, sizeof(before)) ||
	    !header_parse(before, &header))
		return CONTEXT_NONE;
	if (header.published == 0)
		return CONTEXT_CHANGING;
	if (header.size > SW_OTEL_PAYLOAD_MAX) {
		sw_snapshot_note_limit(
			snap,
			"OTEL_CTX: a resource that says to have more than 64 KiB was left out");
		return CONTEXT_NONE;
	}
	bool whole = sw_memory_read(m, header.payload_avma, payload, header.size);
	*ret_size = header.size;
	if (snap->live && (!sw_live_peek(snap, map->start_avma, after, sizeof(after)) ||
			   memcmp(before, after, sizeof(before)) != 0))
		return CONTEXT_CHANGING;
	return whole ? CONTEXT_WHOLE : CONTEXT_NONE;
}

int sw_otel_process_read(const struct sw_snapshot *snap, struct sw_arena *arena,
			 struct sw_otel_process *ret, bool *ret_found)
{
	enum { TRIES_MAX = 8 };
	sw_cleanup(sw_free_p) uint8_t *payload = malloc(SW_OTEL_PAYLOAD_MAX);
	size_t size, tries = 0;
	bool changed = false;
	*ret_found = false;
	if (payload == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < snap->n_maps && tries < TRIES_MAX; i++) {
		if (!sw_otel_process_is_named(snap->maps[i].path))
			continue;
		tries++;
		enum context context = payload_read(snap, &snap->maps[i], payload, &size);
		changed |= context == CONTEXT_CHANGING;
		if (context != CONTEXT_WHOLE)
			continue;
		*ret_found = true;
		return sw_otel_payload_parse((struct sw_bytes){payload, size}, arena, ret);
	}
	*ret = (struct sw_otel_process){.changed = changed};
	*ret_found = changed;
	return 0;
}
