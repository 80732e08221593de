/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "test.h"

#include <snapwalk/alerts.h>

/* As Alertmanager 0.25.0 sent it, shortened: one alert resolved, one firing, a newline behind. */
static const char payload[] =
	"{\"receiver\":\"snapwalk\",\"status\":\"firing\",\"alerts\":["
	"{\"status\":\"resolved\",\"labels\":{\"alertname\":\"ProcessStuck\",\"pid\":\"1235\"},"
	"\"annotations\":{\"summary\":\"second\"},\"startsAt\":\"2026-11-20T10:35:50.084579388Z\","
	"\"endsAt\":\"0001-01-01T00:00:00Z\",\"generatorURL\":\"\","
	"\"fingerprint\":\"bc231b67fddce732\"},"
	"{\"status\":\"firing\",\"labels\":{\"alertname\":\"ProcessStuck\",\"pid\":\"1234\"},"
	"\"annotations\":{},\"startsAt\":\"2026-11-20T10:35:50.084579388Z\","
	"\"fingerprint\":\"88420c30b31dd8ee\"}],"
	"\"groupLabels\":{},\"commonLabels\":{},\"commonAnnotations\":{},"
	"\"externalURL\":\"http://vm:19993\",\"version\":\"4\",\"groupKey\":\"{}\","
	"\"truncatedAlerts\":0}\n";

TEST(test_payload)
{
	struct sw_alerts a;
	assert_int_equal(sw_alerts_parse(payload, strlen(payload), &a, NULL), 0);
	assert_int_equal(a.n_alerts, 2);
	assert_false(a.alerts[0].firing);
	assert_true(a.alerts[1].firing);
	assert_string_equal(a.alerts[1].fingerprint, "88420c30b31dd8ee");
	struct json_object *p = sw_alert_trigger(&a.alerts[1], "alertmanager");
	sw_alerts_deinit(&a);
	/* The parameters that are passed on outlive the payload. */
	assert_string_equal(json_object_to_json_string_ext(p, JSON_C_TO_STRING_PLAIN),
			    "{\"source\":\"alertmanager\",\"status\":\"firing\","
			    "\"fingerprint\":\"88420c30b31dd8ee\","
			    "\"starts_at\":\"2026-11-20T10:35:50.084579388Z\","
			    "\"labels\":{\"alertname\":\"ProcessStuck\",\"pid\":\"1234\"}}");
	assert_int_equal(json_object_put(p), 1);
}

/* Text above U+007F, which json-c 0.18 refuses when it is strict. */
TEST(test_text)
{
	static const char text[] = "{\"alerts\":[{\"status\":\"firing\",\"labels\":"
				   "{\"price\":\"\xe2\x82\xac \xef\xbf\xbd\"}}]}";
	struct sw_alerts a;
	struct sw_error err = {0};
	assert_int_equal(sw_alerts_parse(text, strlen(text), &a, &err), 0);
	assert_string_equal(json_object_get_string(
				    json_object_object_get(a.alerts[0].labels, "price")),
			    "\xe2\x82\xac \xef\xbf\xbd");
	sw_alerts_deinit(&a);
}

TEST(test_every_cut_is_refused)
{
	struct sw_alerts a;
	struct sw_error err;
	for (size_t size = 0; size < strlen(payload) - 2; size++)
		assert_int_equal(sw_alerts_parse(payload, size, &a, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "the payload: this JSON is cut short");
}

static void bad(const char *text, int code, const char *message)
{
	struct sw_alerts a;
	struct sw_error err = {0};
	assert_int_equal(sw_alerts_parse(text, strlen(text), &a, &err), -code);
	assert_string_equal(err.message, message);
}

TEST(test_malformed)
{
	bad("[]", SW_E_FORMAT, "the payload: this is JSON, but not an object");
	bad("{}", SW_E_FORMAT, "the payload has no alerts");
	bad("{} {}", SW_E_FORMAT, "the payload: this cannot be read as JSON, at byte 3");
	bad("{\"alerts\":{}}", SW_E_FORMAT, "the payload has no alerts");
	bad("{\"alerts\":[],\"version\":\"3\"}", SW_E_FORMAT, "the payload is not of version 4");
	bad("{\"alerts\":[],\"version\":4}", SW_E_FORMAT, "the payload is not of version 4");
	bad("{\"alerts\":[1]}", SW_E_FORMAT, "alert 0 is not an object");
	bad("{\"alerts\":[{}]}", SW_E_FORMAT, "alert 0 is neither firing nor resolved");
	bad("{\"alerts\":[{\"status\":\"firing\"}]}", SW_E_FORMAT, "alert 0 has no labels");
	bad("{\"alerts\":[{\"status\":\"firing\",\"labels\":{\"a\":1}}]}", SW_E_FORMAT,
	    "alert 0: the label a is not a short string");
	bad("{\"alerts\":[{\"status\":\"firing\",\"labels\":{\"a\":\"x\\u0000y\"}}]}", SW_E_FORMAT,
	    "the payload: this cannot be read as JSON, at byte 52");
	bad("{\"alerts\":[{\"status\":\"firing\",\"fingerprint\":7,\"labels\":{}}]}", SW_E_FORMAT,
	    "alert 0: fingerprint is not a short string");
	bad("{\"alerts\":\"\xff\"}", SW_E_FORMAT,
	    "the payload: this cannot be read as JSON, at byte 11");
	bad("{\"a\":[[[[[[[[[]]]]]]]]]}", SW_E_FORMAT,
	    "the payload: this cannot be read as JSON, at byte 13");
}

TEST(test_limits)
{
	sw_cleanup(sw_free_p) char *text = calloc(1, SW_ALERTS_BYTES_MAX + 2);
	struct sw_alerts a;
	struct sw_error err = {0};
	assert_non_null(text);
	memset(text, ' ', SW_ALERTS_BYTES_MAX + 1);
	memcpy(text, "{\"alerts\":[]}", strlen("{\"alerts\":[]}"));
	assert_int_equal(sw_alerts_parse(text, SW_ALERTS_BYTES_MAX, &a, &err), 0);
	assert_int_equal(a.n_alerts, 0);
	sw_alerts_deinit(&a);
	bad(text, SW_E_LIMIT, "the payload is longer than 1048576 bytes");
	size_t used = (size_t) sprintf(text, "{\"alerts\":[0");
	for (size_t i = 0; i < SW_ALERTS_MAX; i++)
		used += (size_t) sprintf(text + used, ",0");
	(void) sprintf(text + used, "]}");
	bad(text, SW_E_LIMIT, "the payload has more than 1024 alerts");
	used = (size_t) sprintf(text, "{\"alerts\":[{\"status\":\"firing\",\"labels\":{\"\":\"\"");
	for (int i = 0; i < SW_ALERT_LABELS_MAX; i++)
		used += (size_t) sprintf(text + used, ",\"%d\":\"\"", i);
	(void) sprintf(text + used, "}}]}");
	bad(text, SW_E_LIMIT, "alert 0 has more than 128 labels");
}
