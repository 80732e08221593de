/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/metrics.h"
#include "test.h"

static const char own[] =
	"# HELP snapwalk_gate_requests_total HTTP requests, by answer.\n"
	"# TYPE snapwalk_gate_requests_total counter\n"
	"snapwalk_gate_requests_total{code=\"200\"} 3\n"
	"snapwalk_gate_requests_total{code=\"400\"} 0\n"
	"snapwalk_gate_requests_total{code=\"401\"} 0\n"
	"snapwalk_gate_requests_total{code=\"403\"} 0\n"
	"snapwalk_gate_requests_total{code=\"404\"} 0\n"
	"snapwalk_gate_requests_total{code=\"405\"} 0\n"
	"snapwalk_gate_requests_total{code=\"409\"} 0\n"
	"snapwalk_gate_requests_total{code=\"413\"} 0\n"
	"snapwalk_gate_requests_total{code=\"421\"} 0\n"
	"snapwalk_gate_requests_total{code=\"500\"} 0\n"
	"snapwalk_gate_requests_total{code=\"503\"} 1\n"
	"# HELP snapwalk_gate_alerts_total Alerts received, by what came of them.\n"
	"# TYPE snapwalk_gate_alerts_total counter\n"
	"snapwalk_gate_alerts_total{result=\"captured\"} 2\n"
	"snapwalk_gate_alerts_total{result=\"skipped\"} 0\n"
	"snapwalk_gate_alerts_total{result=\"resolved\"} 0\n"
	"snapwalk_gate_alerts_total{result=\"duplicate\"} 5\n"
	"snapwalk_gate_alerts_total{result=\"busy\"} 0\n"
	"snapwalk_gate_alerts_total{result=\"refused\"} 0\n"
	"snapwalk_gate_alerts_total{result=\"failed\"} 0\n";

static void expect(const char *status, const char *wanted)
{
	struct sw_gate gate;
	sw_gate_init(&gate, "/nonexistent", "token");
	gate.requests[0] = 3;
	gate.requests[SW_GATE_N_CODES - 1] = 1;
	gate.results[SW_GATE_CAPTURED] = 2;
	gate.results[SW_GATE_DUPLICATE] = 5;
	struct sw_text text = {0}, all = {0};
	struct json_object *object = status == NULL ? NULL : json_tokener_parse(status);
	assert_true((status == NULL) == (object == NULL));
	sw_gate_metrics_text(&gate, object, &text);
	sw_text_printf(&all,
		       "# HELP snapwalk_up Whether the daemon answers.\n"
		       "# TYPE snapwalk_up gauge\n%s%s",
		       wanted, own);
	assert_string_equal(text.data, all.data);
	sw_text_deinit(&text);
	sw_text_deinit(&all);
	(void) json_object_put(object);
	sw_gate_deinit(&gate);
}

TEST(test_without_daemon)
{
	expect(NULL, "snapwalk_up 0\n");
}

TEST(test_gauges)
{
	expect("{\"version\":\"0.1\",\"pid\":1,\"uptime_ms\":61005,\"capturing\":1,\"watching\":3,"
	       "\"queued\":2,"
	       "\"stored_bytes\":9007199254740993}",
	       "snapwalk_up 1\n"
	       "# HELP snapwalk_captures_running Captures under way.\n"
	       "# TYPE snapwalk_captures_running gauge\n"
	       "snapwalk_captures_running 1\n"
	       "# HELP snapwalk_processes_watched Processes whose events are waited for.\n"
	       "# TYPE snapwalk_processes_watched gauge\n"
	       "snapwalk_processes_watched 3\n"
	       "# HELP snapwalk_queue_length Captures that wait.\n"
	       "# TYPE snapwalk_queue_length gauge\n"
	       "snapwalk_queue_length 2\n"
	       "# HELP snapwalk_stored_bytes Bytes of the dumps on disk.\n"
	       "# TYPE snapwalk_stored_bytes gauge\n"
	       "snapwalk_stored_bytes 9007199254740993\n"
	       "# HELP snapwalk_uptime_seconds Since the daemon began.\n"
	       "# TYPE snapwalk_uptime_seconds gauge\n"
	       "snapwalk_uptime_seconds 61.005\n");
}

TEST(test_counters)
{
	expect("{\"counters\":{\"captures_total{result=\\\"ok\\\"}\":7,\"coalesced_total\":3,"
	       "\"captures_total{result=\\\"failed\\\"}\":1,\"stop_us_sum\":1250007,"
	       "\"stop_us_count\":8,\"wait_us_total\":5,\"snapwalk_dump_bytes_sum\":12}}",
	       "snapwalk_up 1\n"
	       "# HELP snapwalk_captures_total Captures that ended with a dump.\n"
	       "# TYPE snapwalk_captures_total counter\n"
	       "snapwalk_captures_total{result=\"ok\"} 7\n"
	       "snapwalk_captures_total{result=\"failed\"} 1\n"
	       "# HELP snapwalk_coalesced_total Calls that were answered with the dump of another "
	       "call.\n"
	       "# TYPE snapwalk_coalesced_total counter\n"
	       "snapwalk_coalesced_total 3\n"
	       "# HELP snapwalk_stop_seconds How long a capture stopped threads; 0: it stopped "
	       "none.\n"
	       "# TYPE snapwalk_stop_seconds summary\n"
	       "snapwalk_stop_seconds_sum 1.250007\n"
	       "snapwalk_stop_seconds_count 8\n"
	       "# TYPE snapwalk_wait_seconds_total counter\n"
	       "snapwalk_wait_seconds_total 0.000005\n"
	       "# TYPE snapwalk_dump_bytes summary\n"
	       "snapwalk_dump_bytes_sum 12\n");
}

TEST(test_histogram)
{
	expect("{\"counters\":{\"stop_us_sum\":2500,\"stop_us_bucket{le=\\\"0.001\\\"}\":1,"
	       "\"stop_us_bucket{le=\\\"+Inf\\\"}\":2,\"stop_us_count\":2}}",
	       "snapwalk_up 1\n"
	       "# HELP snapwalk_stop_seconds How long a capture stopped threads; 0: it stopped "
	       "none.\n"
	       "# TYPE snapwalk_stop_seconds histogram\n"
	       "snapwalk_stop_seconds_sum 0.002500\n"
	       "snapwalk_stop_seconds_bucket{le=\"0.001\"} 1\n"
	       "snapwalk_stop_seconds_bucket{le=\"+Inf\"} 2\n"
	       "snapwalk_stop_seconds_count 2\n");
}

/* Nothing that a scraper would choke on is passed on. */
TEST(test_strange_counters)
{
	expect("{\"counters\":{\"\":1,\"a b\":1,\"A\":1,\"1a\":1,\"a{\":1,\"a{}\":1,\"a{b=c}\":1,"
	       "\"a{b=\\\"c\\\"\":1,\"a{b=\\\"\\n\\\"}\":1,\"a{b=\\\"c\\\"}x\":1,\"a\\nb\":1,"
	       "\"negative\":-1,\"real\":1.5,\"text\":\"1\",\"good\":1}}",
	       "snapwalk_up 1\n"
	       "# TYPE snapwalk_good counter\n"
	       "snapwalk_good 1\n");
	expect("{\"counters\":[1]}", "snapwalk_up 1\n");
}
