/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * google/pprof proto/profile.proto, gzipped. Samples have labels: thread, tid, pid, state, what
 * they wait for, and unit and container of the process. Locations have the address that they had in the first process; mappings have
 * build-ids, so that names can also come later.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/locations.h"
#include "profile/pool.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/resources.h"
#include "profile/writers.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum { GZIP_LEVEL = 6 };

struct writer {
	struct sw_text to;
	struct sw_text message, part; /* reused */
	const struct sw_profile *p;
	const struct sw_profile_values *values; /* NULL: samples and time */
	struct sw_profile_locations locations;
	struct sw_profile_resources resources;
	struct sw_profile_pool pool;
};

static uint32_t string(struct writer *w, const char *s)
{
	return sw_profile_pool_string(&w->pool, s);
}

static void put_value_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	sw_proto_int(&w->message, VALUE_TYPE_TYPE, string(w, type));
	sw_proto_int(&w->message, VALUE_TYPE_UNIT, string(w, unit));
	sw_proto_message(&w->to, field, &w->message);
}

static void put_label(struct writer *w, const char *key, const char *value)
{
	if (value[0] == '\0')
		return;
	sw_proto_int(&w->part, LABEL_KEY, string(w, key));
	sw_proto_int(&w->part, LABEL_STR, string(w, value));
	sw_proto_message(&w->message, SAMPLE_LABEL, &w->part);
}

static void put_number_label(struct writer *w, const char *key, uint64_t value)
{
	sw_proto_int(&w->part, LABEL_KEY, string(w, key));
	sw_proto_int(&w->part, LABEL_NUM, value);
	sw_proto_message(&w->message, SAMPLE_LABEL, &w->part);
}

/* The attributes of a process's resource by which people look for a service; others would only make each sample longer. */
static void put_service(struct writer *w, const struct sw_profile_process *process)
{
	static const char *const keys[] = {"service.name",
					   "service.version",
					   "service.namespace",
					   "service.instance.id",
					   "k8s.pod.name",
					   "k8s.namespace.name",
					   "deployment.environment.name"};
	const struct sw_profile_attribute *a;
	size_t place = sw_profile_resources_first(&w->resources, process);
	while ((a = sw_profile_resources_next(&w->resources, process, &place)) != NULL)
		for (size_t k = 0; k < SW_ARRAY_SIZE(keys); k++)
			if (strcmp(sw_profile_text_of(w->p, a->key), keys[k]) == 0)
				put_label(w, keys[k], sw_profile_text_of(w->p, a->value));
}

/* The unit, the container and the service of the process. */
static void put_owner(struct writer *w, const struct sw_profile_thread *thread)
{
	const struct sw_profile_process *process = sw_profile_process_of(w->p, thread);
	if (process == NULL)
		return;
	put_label(w, "unit", sw_profile_text_of(w->p, process->unit));
	put_label(w, "container", sw_profile_text_of(w->p, process->container));
	put_service(w, process);
}

/* Puts the labels of a row. A row that was added up over threads has none of a thread. */
static void put_labels(struct writer *w, const struct sw_profile_row *row)
{
	const struct sw_profile *p = w->p;
	const struct sw_profile_thread *thread = sw_profile_thread_at(p, row->thread);
	put_number_label(w, "pid", thread->pid);
	put_owner(w, thread);
	if (w->values != NULL)
		return;
	put_label(w, "thread", sw_profile_text_of(p, thread->name));
	put_number_label(w, "tid", thread->tid);
	put_label(w, "state", sw_profile_state_word(row->state));
	put_label(w, "wait", sw_profile_text_of(p, row->wait));
}

static void put_values(struct writer *w, size_t row)
{
	const struct sw_profile_row *r = sw_profile_row_at(w->p, row);
	if (w->values == NULL) {
		sw_proto_packed(&w->part, r->count);
		sw_proto_packed(&w->part, sw_profile_row_ns(w->p, r));
	} else {
		for (size_t i = 0; i < w->values->n_types; i++)
			sw_proto_packed(&w->part,
					row < w->values->n_rows ? w->values->rows[row][i] : 0);
	}
	sw_proto_message(&w->message, SAMPLE_VALUE, &w->part);
}

static void put_sample(struct writer *w, size_t number)
{
	const struct sw_profile_row *row = sw_profile_row_at(w->p, number);
	int n = sw_profile_locations_of(&w->locations, row->node);
	w->to.failed |= n < 0;
	for (int i = 0; i < n; i++)
		sw_proto_packed(&w->part, w->locations.stack[i]);
	sw_proto_message(&w->message, SAMPLE_LOCATION_ID, &w->part);
	put_values(w, number);
	put_labels(w, row);
	sw_proto_message(&w->to, PROFILE_SAMPLE, &w->message);
}

/* pprof symbolizes what says that it has no functions, and takes the first for the program. */
static void put_mapping(struct writer *w, uint32_t id)
{
	const struct sw_profile_module *m = sw_profile_module_at(w->p, id);
	sw_proto_int(&w->message, MAPPING_ID, id);
	sw_proto_int(&w->message, MAPPING_MEMORY_START, m->start_avma);
	sw_proto_int(&w->message, MAPPING_MEMORY_LIMIT, m->end_avma);
	sw_proto_int(&w->message, MAPPING_FILE_OFFSET, m->mapping_off);
	sw_proto_int(&w->message, MAPPING_FILENAME, string(w, sw_profile_text_of(w->p, m->path)));
	sw_proto_int(&w->message, MAPPING_BUILD_ID,
		     string(w, sw_profile_text_of(w->p, m->build_id)));
	for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
		sw_proto_int(&w->message, field, 1);
	sw_proto_message(&w->to, PROFILE_MAPPING, &w->message);
}

static void put_mappings(struct writer *w)
{
	const struct sw_profile *p = w->p;
	const char *exe =
		p->processes.n > 0 ? sw_profile_text_of(p, sw_profile_process_at(p, 0)->exe) : "";
	for (int others = 0; others < 2; others++)
		for (uint32_t i = 1; i < p->modules.n; i++) {
			const struct sw_profile_module *m = sw_profile_module_at(p, i);
			if ((strcmp(sw_profile_text_of(p, m->path), exe) != 0) == others)
				put_mapping(w, i);
		}
}

static void put_location(struct writer *w, uint32_t id)
{
	uint32_t frames[SW_PROFILE_LOCATION_LINES_MAX];
	size_t n =
		sw_profile_location_lines(&w->locations, id, frames, SW_PROFILE_LOCATION_LINES_MAX);
	const struct sw_profile_frame *first = sw_profile_frame_at(w->p, frames[0]);
	sw_proto_int(&w->message, LOCATION_ID, id);
	sw_proto_int(&w->message, LOCATION_MAPPING_ID, first->module);
	sw_proto_int(&w->message, LOCATION_ADDRESS, sw_profile_location_avma(&w->locations, id));
	for (size_t i = 0; i < n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(w->p, frames[i]);
		sw_proto_int(&w->part, LINE_FUNCTION_ID,
			     sw_profile_pool_function(&w->pool, w->p, f));
		sw_proto_int(&w->part, LINE_LINE, f->line);
		sw_proto_message(&w->message, LOCATION_LINE, &w->part);
	}
	sw_proto_message(&w->to, PROFILE_LOCATION, &w->message);
}

static void put_functions(struct writer *w)
{
	for (uint32_t i = 1; !w->pool.failed && i < w->pool.tables->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(w->pool.tables, i);
		sw_proto_int(&w->message, FUNCTION_ID, i);
		sw_proto_int(&w->message, FUNCTION_NAME, f->function);
		sw_proto_int(&w->message, FUNCTION_SYSTEM_NAME, f->function);
		sw_proto_int(&w->message, FUNCTION_FILENAME, f->file);
		sw_proto_message(&w->to, PROFILE_FUNCTION, &w->message);
	}
}

/* A comment on what is not in the profile. */
static void put_left_out(struct writer *w, uint64_t n, const char *what)
{
	w->part.size = 0;
	sw_text_printf(&w->part, "%llu %s and are not in the profile", (unsigned long long) n,
		       what);
	if (!w->part.failed)
		sw_proto_int(&w->to, PROFILE_COMMENT, string(w, w->part.data));
}

static void put_all(struct writer *w)
{
	const struct sw_profile *p = w->p;
	const char *mode = p->info.mode != NULL ? p->info.mode : "wall";
	const struct sw_profile_values samples = {.types = {{"samples", "count"},
							    {mode, "nanoseconds"}},
						  .n_types = 2};
	const struct sw_profile_values *values = w->values != NULL ? w->values : &samples;
	for (size_t i = 0; i < values->n_types; i++)
		put_value_type(w, PROFILE_SAMPLE_TYPE, values->types[i].type,
			       values->types[i].unit);
	for (size_t i = 0; i < p->rows.n; i++)
		put_sample(w, i);
	put_mappings(w);
	for (uint32_t i = 1; i <= w->locations.n; i++)
		put_location(w, i);
	put_functions(w);
	sw_proto_int(&w->to, PROFILE_TIME_NANOS, (uint64_t) p->info.begin_ns);
	sw_proto_int(&w->to, PROFILE_DURATION_NANOS, (uint64_t) p->info.duration_ns);
	if (w->values == NULL) {
		put_value_type(w, PROFILE_PERIOD_TYPE, mode, "nanoseconds");
		sw_proto_int(&w->to, PROFILE_PERIOD, sw_profile_period_ns(p));
	}
	if (p->left_count + p->left_ns > 0)
		put_left_out(w, p->left_count, "samples found no space");
	if (p->info.unit != NULL && p->info.n_lost > 0)
		put_left_out(w, p->info.n_lost, "events were lost");
	sw_proto_int(&w->to, PROFILE_DEFAULT_SAMPLE_TYPE,
		     string(w, w->values != NULL ? w->values->types[w->values->n_types - 1].type
						 : values->types[sw_profile_by_time(p)].type));
	/* last: all others add to it */
	for (uint32_t i = 0; !w->pool.failed && i < w->pool.tables->strings.n; i++) {
		const char *s = sw_profile_text_of(w->pool.tables, i);
		sw_proto_bytes(&w->to, PROFILE_STRING_TABLE, s, strlen(s));
	}
}

static int compress(struct sw_text *text, const struct sw_text *from)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
	if (compressor == NULL)
		return -SW_E_NOMEM;
	size_t bound = libdeflate_gzip_compress_bound(compressor, from->size);
	char *packed = malloc(bound);
	size_t size = packed != NULL ? libdeflate_gzip_compress(compressor, from->data, from->size,
								packed, bound)
				     : 0;
	libdeflate_free_compressor(compressor);
	sw_text_append(text, packed, size);
	free(packed);
	return size > 0 ? 0 : -SW_E_NOMEM;
}

int sw_profile_pprof(struct sw_text *text, const struct sw_profile *p,
		     const struct sw_profile_write_options *options)
{
	struct writer w = {.p = p, .values = options->values};
	sw_profile_locations_init(&w.locations, p);
	sw_profile_pool_init(&w.pool);
	w.to.failed = sw_profile_resources_init(&w.resources, p) < 0;
	if (!w.to.failed)
		put_all(&w);
	int r = w.to.failed || w.message.failed || w.part.failed || w.pool.failed ? -SW_E_NOMEM : 0;
	if (r == 0)
		r = compress(text, &w.to);
	sw_profile_locations_deinit(&w.locations);
	sw_profile_resources_deinit(&w.resources);
	sw_profile_pool_deinit(&w.pool);
	sw_text_deinit(&w.to);
	sw_text_deinit(&w.message);
	sw_text_deinit(&w.part);
	return r;
}
