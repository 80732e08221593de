/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/table.h"
#include "methods/context.h"
#include "rpc/params.h"
#include "store/pins.h"
#include "worker/spawner.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <unistd.h>

/* name: ends with "_us". */
static void histogram_add(struct json_object *counters, const char *name,
			  const struct sw_histogram *histogram)
{
	char key[64];
	for (int i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
		(void) snprintf(key, sizeof(key), "%s_bucket{le=\"%s\"}", name,
				sw_histogram_bounds[i]);
		sw_object_add(counters, key,
			      json_object_new_int64((int64_t) histogram->buckets[i]));
	}
	(void) snprintf(key, sizeof(key), "%s_sum", name);
	sw_object_add(counters, key, json_object_new_int64((int64_t) histogram->sum_us));
	(void) snprintf(key, sizeof(key), "%s_count", name);
	sw_object_add(counters, key,
		      json_object_new_int64(
			      (int64_t) histogram->buckets[SW_HISTOGRAM_BUCKETS - 1]));
}

static struct json_object *counters_json(const struct sw_counters *n)
{
	struct json_object *counters = json_object_new_object();
#define SW_COUNTER(name) sw_object_add(counters, #name, json_object_new_int64((int64_t) n->name));
	SW_COUNTERS(SW_COUNTER)
#undef SW_COUNTER
	histogram_add(counters, "stop_us", &n->stop_us);
	histogram_add(counters, "capture_us", &n->capture_us);
	return counters;
}

static struct json_object *continuous_json(const struct sw_continuous *continuous)
{
	struct json_object *object = json_object_new_object();
	sw_object_add(object, "profiles", json_object_new_int64((int64_t) continuous->n_running));
	sw_object_add(object, "cpu_percent",
		      json_object_new_double(continuous->share.measured_x100 / 100.0));
	sw_object_add(object, "rate_percent",
		      json_object_new_int64(continuous->share.rate_percent));
	return object;
}

void sw_method_status(struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	const struct sw_jobs *jobs = methods->jobs;
	const struct sw_store *store = jobs->publisher.store;
	const char *bad;
	if (!sw_params_read(call->message.parameters, NULL, 0, NULL, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"pid", (uint64_t) getpid()},
		{"uptime_ms", (uint64_t) (sw_clock_ns() - methods->start_ns) / 1000000},
		{"capturing", jobs->n_running + jobs->n_lasting},
		{"watching", jobs->n_watching},
		{"queued", jobs->n_queued},
		{"connections", methods->server->n_connections},
		{"subscribers", jobs->publisher.n_subscribers},
		{"stored", store != NULL ? sw_store_count(store) : 0},
		{"pinned", store != NULL ? sw_store_count_pinned(store) : 0},
		{"stored_bytes", store != NULL ? sw_store_bytes(store) : 0},
	};
	struct json_object *status = sw_object_string("version", SW_VERSION);
	for (size_t i = 0; i < SW_ARRAY_SIZE(numbers); i++)
		sw_object_add(status, numbers[i].name,
			      json_object_new_int64((int64_t) numbers[i].value));
	if (store != NULL)
		sw_object_add(status, "directory", json_object_new_string(sw_store_path(store)));
	sw_object_add(status, "stop",
		      json_object_new_string(sw_config_stop_modes[jobs->config->stop]));
	if (jobs->spawner->iterator_refused[0] != '\0')
		sw_object_add(status, "iterator_refused",
			      json_object_new_string(jobs->spawner->iterator_refused));
	if (jobs->spawner->realtime_refused)
		sw_object_add(status, "realtime_refused", json_object_new_boolean(true));
	if (methods->rules.n_profiles > 0)
		sw_object_add(status, "continuous", continuous_json(&methods->continuous));
	sw_object_add(status, "counters", counters_json(jobs->counters));
	sw_call_reply(call, status, false);
}
