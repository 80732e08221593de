/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * OpenTelemetry profiles, as protobuf: ProfilesData of open-telemetry/opentelemetry-proto,
 * opentelemetry/proto/profiles/v1development/profiles.proto (after v1.9.0, June 2026). The bytes are an
 * ExportProfilesServiceRequest, too. A resource per process, with one profile: of samples of CPU time,
 * or of time by the clock or off the CPU, as engines know these types.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/locations.h"
#include "profile/pool.h"
#include "profile/protobuf.h"
#include "profile/resources.h"
#include "profile/writers.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Numbers of fields. */
enum {
	DATA_RESOURCE_PROFILES = 1,
	DATA_DICTIONARY = 2,
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION = 2,
	DICTIONARY_FUNCTION = 3,
	DICTIONARY_LINK = 4,
	DICTIONARY_STRING = 5,
	DICTIONARY_ATTRIBUTE = 6,
	DICTIONARY_STACK = 7,
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE = 2,
	RESOURCE_PROFILES_SCHEMA_URL = 3,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
	SCOPE_PROFILES_SCHEMA_URL = 3,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_STRING = 1,
	ANY_INT = 3,
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_VALUES = 4,
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_OFFSET = 3,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	STACK_LOCATIONS = 1,
};

/* The schema of the semantic conventions by which attributes are named. */
static const char schema_url[] = "https://opentelemetry.io/schemas/1.37.0";

/* An element of the attribute table. */
struct attribute {
	uint32_t key; /* string of the pool */
	uint32_t is_int;
	uint64_t value; /* string of the values, or number */
};

struct writer {
	struct sw_text *to;
	struct sw_text stacks;               /* of the dictionary */
	struct sw_text message, part, inner; /* reused */
	const struct sw_profile *p;
	const struct sw_profile_values *of; /* NULL: samples and time */
	const char *id;                     /* NULL: none */
	struct sw_profile_locations locations;
	struct sw_profile_resources resources;
	struct sw_profile_pool pool;
	struct sw_profile_pool values; /* texts of attributes, which are in no table of strings */
	struct sw_profile_table attributes;
	uint32_t *stack_of; /* owned; of each node: its stack, 0: none yet */
	uint32_t n_stacks;
	bool failed;
};

static uint32_t string(struct writer *w, const char *s)
{
	return sw_profile_pool_string(&w->pool, s);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Puts its index into w->inner, which is packed. */
static void put_attribute(struct writer *w, const struct attribute *attribute)
{
	uint32_t index = 0;
	if (sw_profile_table_find(&w->attributes, w->p->seed, attribute, true, &index) < 0)
		w->failed = true;
	sw_proto_packed(&w->inner, index + 1);
}

static void put_text_attribute(struct writer *w, const char *key, const char *value)
{
	if (value[0] != '\0')
		put_attribute(w, &(struct attribute){.key = string(w, key),
						     .value = sw_profile_pool_string(&w->values,
										     value)});
}

static void put_number_attribute(struct writer *w, const char *key, uint64_t value)
{
	put_attribute(w,
		      &(struct attribute){.key = string(w, key), .is_int = true, .value = value});
}

/* A resource has its attributes written out. */
static void put_resource_text(struct writer *w, const char *key, const char *value)
{
	if (value[0] == '\0')
		return;
	sw_proto_string(&w->inner, KEY_VALUE_KEY, key);
	sw_proto_string(&w->part, ANY_STRING, value);
	sw_proto_message(&w->inner, KEY_VALUE_VALUE, &w->part);
	sw_proto_message(&w->message, RESOURCE_ATTRIBUTES, &w->inner);
}

static void put_resource_number(struct writer *w, const char *key, uint64_t value)
{
	sw_proto_string(&w->inner, KEY_VALUE_KEY, key);
	sw_proto_int_always(&w->part, ANY_INT, value);
	sw_proto_message(&w->inner, KEY_VALUE_VALUE, &w->part);
	sw_proto_message(&w->message, RESOURCE_ATTRIBUTES, &w->inner);
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint32_t stack_of(struct writer *w, uint32_t node)
{
	if (node == 0 || w->stack_of[node] != 0)
		return w->stack_of[node];
	int n = sw_profile_locations_of(&w->locations, node);
	w->failed |= n < 0;
	for (int i = 0; i < n; i++)
		sw_proto_packed(&w->inner, w->locations.stack[i]);
	sw_proto_message(&w->part, STACK_LOCATIONS, &w->inner);
	sw_proto_message(&w->stacks, DICTIONARY_STACK, &w->part);
	return w->stack_of[node] = ++w->n_stacks;
}

static void put_sample(struct writer *w, struct sw_text *profile, const struct sw_profile_row *row,
		       uint64_t value)
{
	const struct sw_profile_thread *thread = sw_profile_thread_at(w->p, row->thread);
	uint32_t stack = stack_of(w, row->node);
	sw_proto_int(&w->part, SAMPLE_STACK, stack);
	put_number_attribute(w, "thread.id", thread->tid);
	put_text_attribute(w, "thread.name", sw_profile_text_of(w->p, thread->name));
	if (w->of == NULL) /* events have none */
		put_text_attribute(w, "snapwalk.thread.state", sw_profile_state_word(row->state));
	put_text_attribute(w, "snapwalk.thread.wait", sw_profile_text_of(w->p, row->wait));
	sw_proto_message(&w->part, SAMPLE_ATTRIBUTES, &w->inner);
	sw_proto_packed(&w->inner, value);
	sw_proto_message(&w->part, SAMPLE_VALUES, &w->inner);
	sw_proto_message(profile, PROFILE_SAMPLES, &w->part);
}

static void put_value_type(struct writer *w, struct sw_text *profile, unsigned field,
			   const char *type, const char *unit)
{
	sw_proto_int(&w->part, VALUE_TYPE_TYPE, string(w, type));
	sw_proto_int(&w->part, VALUE_TYPE_UNIT, string(w, unit));
	sw_proto_message(profile, field, &w->part);
}

/* The value of a row that counts: of several, as pprof has them, the last one. */
static uint64_t value_of(const struct writer *w, size_t row, bool by_time)
{
	const struct sw_profile_row *r = sw_profile_row_at(w->p, row);
	if (w->of != NULL)
		return row < w->of->n_rows ? w->of->rows[row][w->of->n_types - 1] : 0;
	return by_time ? sw_profile_row_ns(w->p, r) : r->count;
}

/* Put 16 bytes that are the same each time this profile is written, and others for each of its processes. */
static void put_id(const struct writer *w, struct sw_text *profile,
		   const struct sw_profile_process *process)
{
	char bytes[sizeof(XXH128_canonical_t)];
	XXH128_canonical_t canonical;
	const uint64_t which = (uint64_t) process->pid << 32 | process->generation;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(w->id, strlen(w->id), which));
	memcpy(bytes, &canonical, sizeof(bytes));
	sw_proto_bytes(profile, PROFILE_ID, bytes, sizeof(bytes));
}

/*
 * Put the rows of one process. Pyroscope 2 knows samples/count with the period cpu/nanoseconds, which the eBPF profiler of
 * OpenTelemetry writes, and off_cpu/nanoseconds without a period (grafana/pyroscope 3fe6a45,
 * pkg/ingester/otlp/convert.go).
 */
static void put_profile(struct writer *w, struct sw_text *scope,
			const struct sw_profile_process *process)
{
	const struct sw_profile *p = w->p;
	const char *mode = p->info.mode != NULL ? p->info.mode : "wall";
	const char *type = strcmp(mode, "off") == 0 ? "off_cpu" : mode;
	bool has_period = w->of == NULL && sw_profile_period_ns(p) > 0;
	bool by_time = has_period && strcmp(mode, "cpu") != 0;
	struct sw_text profile = {0};
	if (w->of != NULL)
		put_value_type(w, &profile, PROFILE_SAMPLE_TYPE,
			       w->of->types[w->of->n_types - 1].type,
			       w->of->types[w->of->n_types - 1].unit);
	else
		put_value_type(w, &profile, PROFILE_SAMPLE_TYPE, by_time ? type : "samples",
			       by_time ? "nanoseconds" : "count");
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(p, i);
		uint64_t value = value_of(w, i, by_time);
		const struct sw_profile_thread *thread = sw_profile_thread_at(p, row->thread);
		if (thread->pid == process->pid && thread->generation == process->generation &&
		    value > 0)
			put_sample(w, &profile, row, value);
	}
	sw_proto_fixed64(&profile, PROFILE_TIME, (uint64_t) p->info.begin_ns);
	sw_proto_int(&profile, PROFILE_DURATION, (uint64_t) p->info.duration_ns);
	if (!by_time && has_period) {
		put_value_type(w, &profile, PROFILE_PERIOD_TYPE, type, "nanoseconds");
		sw_proto_int(&profile, PROFILE_PERIOD, sw_profile_period_ns(p));
	}
	if (w->id != NULL)
		put_id(w, &profile, process);
	sw_proto_message(scope, SCOPE_PROFILES_PROFILES, &profile);
	sw_text_deinit(&profile);
}

/* Puts the attributes that the process publishes of itself. Returns whether the name of its service is among it. */
static bool put_published(struct writer *w, const struct sw_profile_process *process)
{
	bool has_name = false;
	const struct sw_profile_attribute *a;
	size_t place = sw_profile_resources_first(&w->resources, process);
	while ((a = sw_profile_resources_next(&w->resources, process, &place)) != NULL) {
		const char *key = sw_profile_text_of(w->p, a->key);
		const char *value = sw_profile_text_of(w->p, a->value);
		if (sw_profile_resources_is_own(key, process->container != 0, process->unit != 0))
			continue;
		put_resource_text(w, key, value);
		has_name |= strcmp(key, "service.name") == 0 && value[0] != '\0';
	}
	return has_name;
}

static void put_resource(struct writer *w, const struct sw_profile_process *process)
{
	struct sw_text resource = {0}, scope = {0};
	const char *comm = sw_profile_text_of(w->p, process->comm);
	if (!put_published(w, process))
		put_resource_text(w, "service.name", comm);
	if (process->pid != 0)
		put_resource_number(w, "process.pid", process->pid);
	put_resource_text(w, "process.executable.name", comm);
	put_resource_text(w, "process.executable.path", sw_profile_text_of(w->p, process->exe));
	put_resource_text(w, "container.id", sw_profile_text_of(w->p, process->container));
	put_resource_text(w, "snapwalk.unit", sw_profile_text_of(w->p, process->unit));
	put_resource_text(w, "host.name", sw_profile_text_of(w->p, w->p->host));
	if (w->p->info.unit != NULL && w->p->info.n_lost > 0)
		put_resource_number(w, "snapwalk.events.lost", w->p->info.n_lost);
	sw_proto_message(&resource, RESOURCE_PROFILES_RESOURCE, &w->message);
	sw_proto_string(&w->message, SCOPE_NAME, "snapwalk");
	sw_proto_string(&w->message, SCOPE_VERSION, SW_VERSION);
	sw_proto_message(&scope, SCOPE_PROFILES_SCOPE, &w->message);
	put_profile(w, &scope, process);
	sw_proto_string(&scope, SCOPE_PROFILES_SCHEMA_URL, schema_url);
	sw_proto_message(&resource, RESOURCE_PROFILES_SCOPE, &scope);
	sw_proto_string(&resource, RESOURCE_PROFILES_SCHEMA_URL, schema_url);
	sw_proto_message(w->to, DATA_RESOURCE_PROFILES, &resource);
	sw_text_deinit(&resource);
	sw_text_deinit(&scope);
}

/* ---- the dictionary: the first element of each table is the empty one ------------------------ */

static void put_mappings(struct writer *w, struct sw_text *to)
{
	for (size_t i = 0; i < w->p->modules.n; i++) {
		const struct sw_profile_module *m = sw_profile_module_at(w->p, i);
		sw_proto_int(&w->part, MAPPING_START, m->start_avma);
		sw_proto_int(&w->part, MAPPING_LIMIT, m->end_avma);
		sw_proto_int(&w->part, MAPPING_OFFSET, m->mapping_off);
		sw_proto_int(&w->part, MAPPING_FILENAME,
			     string(w, sw_profile_text_of(w->p, m->path)));
		put_text_attribute(w, "process.executable.build_id.gnu",
				   sw_profile_text_of(w->p, m->build_id));
		if (w->inner.size > 0)
			sw_proto_message(&w->part, MAPPING_ATTRIBUTES, &w->inner);
		sw_proto_message(to, DICTIONARY_MAPPING, &w->part);
	}
}

/* The words of OpenTelemetry's semantic conventions, attribute profile.frame.type; "": it has none. */
static const char *frame_type(const char *kind)
{
	static const struct {
		const char *kind, *type;
	} types[] = {
		{"native", "native"}, {"pe", "native"},       {"clr", "dotnet"}, {"jvm", "jvm"},
		{"kernel", "kernel"}, {"cpython", "cpython"}, {"v8js", "v8js"},  {"wasm", "v8js"},
		{"go", "go"},         {"php", "php"},         {"ruby", "ruby"},  {"beam", "beam"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(types); i++)
		if (strcmp(types[i].kind, kind) == 0)
			return types[i].type;
	return "";
}

static void put_location(struct writer *w, struct sw_text *to, uint32_t id)
{
	uint32_t frames[SW_PROFILE_LOCATION_LINES_MAX];
	size_t n =
		sw_profile_location_lines(&w->locations, id, frames, SW_PROFILE_LOCATION_LINES_MAX);
	const struct sw_profile_frame *first = sw_profile_frame_at(w->p, frames[0]);
	sw_proto_int(&w->message, LOCATION_MAPPING, first->module);
	sw_proto_int(&w->message, LOCATION_ADDRESS, sw_profile_location_avma(&w->locations, id));
	for (size_t i = 0; i < n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(w->p, frames[i]);
		sw_proto_int(&w->part, LINE_FUNCTION, sw_profile_pool_function(&w->pool, w->p, f));
		sw_proto_int(&w->part, LINE_LINE, f->line);
		sw_proto_message(&w->message, LOCATION_LINES, &w->part);
	}
	put_text_attribute(w, "profile.frame.type",
			   frame_type(sw_profile_text_of(w->p, first->kind)));
	if (w->inner.size > 0)
		sw_proto_message(&w->message, LOCATION_ATTRIBUTES, &w->inner);
	sw_proto_message(to, DICTIONARY_LOCATION, &w->message);
}

static void put_functions(struct writer *w, struct sw_text *to)
{
	for (uint32_t i = 0; i < w->pool.tables->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(w->pool.tables, i);
		sw_proto_int(&w->part, FUNCTION_NAME, f->function);
		sw_proto_int(&w->part, FUNCTION_SYSTEM_NAME, f->function);
		sw_proto_int(&w->part, FUNCTION_FILENAME, f->file);
		sw_proto_message(to, DICTIONARY_FUNCTION, &w->part);
	}
}

static void put_attributes(struct writer *w, struct sw_text *to)
{
	sw_proto_bytes(to, DICTIONARY_ATTRIBUTE, "", 0);
	for (size_t i = 0; i < w->attributes.n; i++) {
		const struct attribute *a = (const struct attribute *) w->attributes.items + i;
		sw_proto_int(&w->part, ATTRIBUTE_KEY, a->key);
		if (a->is_int)
			sw_proto_int_always(&w->inner, ANY_INT, a->value);
		else
			sw_proto_string(&w->inner, ANY_STRING,
					sw_profile_text_of(w->values.tables, (uint32_t) a->value));
		sw_proto_message(&w->part, ATTRIBUTE_VALUE, &w->inner);
		sw_proto_message(to, DICTIONARY_ATTRIBUTE, &w->part);
	}
}

/* After all samples, which add to the tables; strings last. */
static void put_dictionary(struct writer *w)
{
	struct sw_text dictionary = {0};
	put_mappings(w, &dictionary);
	sw_proto_bytes(&dictionary, DICTIONARY_LOCATION, "", 0);
	for (uint32_t i = 1; i <= w->locations.n; i++)
		put_location(w, &dictionary, i);
	if (!w->pool.failed && !w->values.failed) {
		put_functions(w, &dictionary);
		put_attributes(w, &dictionary);
	}
	sw_proto_bytes(&dictionary, DICTIONARY_LINK, "", 0);
	sw_proto_bytes(&dictionary, DICTIONARY_STACK, "", 0);
	sw_text_append(&dictionary, w->stacks.data, w->stacks.size);
	for (uint32_t i = 0; !w->pool.failed && i < w->pool.tables->strings.n; i++) {
		const char *s = sw_profile_text_of(w->pool.tables, i);
		sw_proto_bytes(&dictionary, DICTIONARY_STRING, s, strlen(s));
	}
	sw_proto_message(w->to, DATA_DICTIONARY, &dictionary);
	sw_text_deinit(&dictionary);
}

int sw_profile_otlp(struct sw_text *text, const struct sw_profile *p,
		    const struct sw_profile_write_options *options)
{
	struct writer w = {
		.to = text,
		.p = p,
		.of = options->values,
		.id = options->id,
		.attributes = {.item_bytes = sizeof(struct attribute),
			       .key_bytes = sizeof(struct attribute)},
		.stack_of = calloc(p->nodes.n + 1, sizeof(*w.stack_of)),
	};
	sw_profile_locations_init(&w.locations, p);
	sw_profile_pool_init(&w.pool);
	sw_profile_pool_init(&w.values);
	w.failed |= sw_profile_resources_init(&w.resources, p) < 0 || w.stack_of == NULL ||
		    w.pool.failed || w.values.failed;
	for (size_t i = 0; i < p->processes.n && !w.failed; i++)
		put_resource(&w, sw_profile_process_at(p, i));
	if (!w.failed)
		put_dictionary(&w);
	bool failed = w.failed || w.pool.failed || w.values.failed || w.stacks.failed ||
		      w.message.failed || w.part.failed || w.inner.failed;
	sw_profile_locations_deinit(&w.locations);
	sw_profile_resources_deinit(&w.resources);
	sw_profile_pool_deinit(&w.pool);
	sw_profile_pool_deinit(&w.values);
	free(w.attributes.items);
	sw_map64_deinit(&w.attributes.index);
	free(w.stack_of);
	sw_text_deinit(&w.stacks);
	sw_text_deinit(&w.message);
	sw_text_deinit(&w.part);
	sw_text_deinit(&w.inner);
	return failed ? -SW_E_NOMEM : 0;
}
