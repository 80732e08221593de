/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps as records of logs: open-telemetry/opentelemetry-proto v1.9.0, opentelemetry/proto/logs/v1/logs.proto. */
#include "cleanup.h"
#include "errors.h"
#include "profile/protobuf.h"
#include "profile/resources.h"

#include <snapwalk/clock.h>
#include <snapwalk/otlp.h>

#include <string.h>

/* Numbers of fields. */
enum {
	REQUEST_RESOURCE_LOGS = 1,
	RESOURCE_LOGS_RESOURCE = 1,
	RESOURCE_LOGS_SCOPE = 2,
	RESOURCE_LOGS_SCHEMA_URL = 3,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_LOGS_SCOPE = 1,
	SCOPE_LOGS_RECORDS = 2,
	SCOPE_LOGS_SCHEMA_URL = 3,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	RECORD_TIME = 1,
	RECORD_SEVERITY = 2,
	RECORD_SEVERITY_TEXT = 3,
	RECORD_BODY = 5,
	RECORD_ATTRIBUTES = 6,
	RECORD_OBSERVED_TIME = 11,
	RECORD_EVENT_NAME = 12,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_STRING = 1,
	ANY_BOOL = 2,
	ANY_INT = 3,
};

enum { SEVERITY_INFO = 9 };

/* The schema of the semantic conventions by which attributes are named: that of profiles, too. */
static const char schema_url[] = "https://opentelemetry.io/schemas/1.37.0";

static void put_value(struct sw_text *to, unsigned field, const char *key, struct sw_text *value)
{
	struct sw_text pair = {0};
	sw_proto_string(&pair, KEY_VALUE_KEY, key);
	sw_proto_message(&pair, KEY_VALUE_VALUE, value);
	sw_proto_message(to, field, &pair);
	sw_text_deinit(&pair);
	sw_text_deinit(value);
}

/* Puts nothing for NULL and "". */
static void put_text(struct sw_text *to, unsigned field, const char *key, const char *text)
{
	struct sw_text value = {0};
	if (text == NULL || text[0] == '\0')
		return;
	sw_proto_string(&value, ANY_STRING, text);
	put_value(to, field, key, &value);
}

static void put_number(struct sw_text *to, unsigned field, const char *key, uint64_t number)
{
	struct sw_text value = {0};
	sw_proto_int_always(&value, ANY_INT, number);
	put_value(to, field, key, &value);
}

static void put_flag(struct sw_text *to, unsigned field, const char *key, bool flag)
{
	struct sw_text value = {0};
	sw_proto_int_always(&value, ANY_BOOL, flag);
	put_value(to, field, key, &value);
}

static void put_resource(struct sw_text *to, const struct sw_report *r)
{
	struct sw_text resource = {0};
	bool has_name = false;
	for (size_t i = 0; i < r->process.n_resource; i++) {
		const struct sw_attribute *a = &r->process.resource[i];
		if (sw_profile_resources_is_own(a->key, r->process.container != NULL,
						r->process.unit != NULL))
			continue;
		put_text(&resource, RESOURCE_ATTRIBUTES, a->key, a->value);
		has_name |= strcmp(a->key, "service.name") == 0 && a->value[0] != '\0';
	}
	if (!has_name)
		put_text(&resource, RESOURCE_ATTRIBUTES, "service.name", r->process.comm);
	put_number(&resource, RESOURCE_ATTRIBUTES, "process.pid", (uint64_t) r->process.pid);
	put_text(&resource, RESOURCE_ATTRIBUTES, "process.executable.name", r->process.comm);
	put_text(&resource, RESOURCE_ATTRIBUTES, "process.executable.path", r->process.exe);
	put_text(&resource, RESOURCE_ATTRIBUTES, "container.id", r->process.container);
	put_text(&resource, RESOURCE_ATTRIBUTES, "snapwalk.unit", r->process.unit);
	put_text(&resource, RESOURCE_ATTRIBUTES, "host.name", r->host_name);
	sw_proto_message(to, RESOURCE_LOGS_RESOURCE, &resource);
	sw_text_deinit(&resource);
}

static void put_record(struct sw_text *to, const struct sw_report *r, const char *text)
{
	struct sw_text record = {0}, body = {0};
	sw_proto_fixed64(&record, RECORD_TIME, (uint64_t) r->time_ns);
	sw_proto_int(&record, RECORD_SEVERITY, SEVERITY_INFO);
	sw_proto_string(&record, RECORD_SEVERITY_TEXT, "INFO");
	sw_proto_string(&body, ANY_STRING, text);
	sw_proto_message(&record, RECORD_BODY, &body);
	put_text(&record, RECORD_ATTRIBUTES, "log.record.uid", r->id);
	put_text(&record, RECORD_ATTRIBUTES, "snapwalk.dump.reason", r->reason);
	put_number(&record, RECORD_ATTRIBUTES, "snapwalk.dump.threads", r->n_threads);
	put_flag(&record, RECORD_ATTRIBUTES, "snapwalk.dump.complete", r->complete);
	sw_proto_fixed64(&record, RECORD_OBSERVED_TIME, (uint64_t) sw_realtime_ns());
	sw_proto_string(&record, RECORD_EVENT_NAME, "snapwalk.dump");
	sw_proto_message(to, SCOPE_LOGS_RECORDS, &record);
	sw_text_deinit(&record);
	sw_text_deinit(&body);
}

int sw_otlp_log(const struct sw_report *report, const char *text, char **ret, size_t *ret_size,
		struct sw_error *err)
{
	struct sw_text request = {0}, logs = {0}, scope = {0}, inner = {0};
	put_resource(&logs, report);
	sw_proto_string(&inner, SCOPE_NAME, "snapwalk");
	sw_proto_string(&inner, SCOPE_VERSION, SW_VERSION);
	sw_proto_message(&scope, SCOPE_LOGS_SCOPE, &inner);
	put_record(&scope, report, text);
	sw_proto_string(&scope, SCOPE_LOGS_SCHEMA_URL, schema_url);
	sw_proto_message(&logs, RESOURCE_LOGS_SCOPE, &scope);
	sw_proto_string(&logs, RESOURCE_LOGS_SCHEMA_URL, schema_url);
	sw_proto_message(&request, REQUEST_RESOURCE_LOGS, &logs);
	bool failed = request.failed;
	sw_text_deinit(&logs);
	sw_text_deinit(&scope);
	sw_text_deinit(&inner);
	if (failed) {
		sw_text_deinit(&request);
		return sw_fail_nomem(err);
	}
	*ret = request.data;
	*ret_size = request.size;
	return 0;
}
