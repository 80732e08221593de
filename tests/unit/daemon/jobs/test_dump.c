/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/dump.h"
#include "jobs/summary.h"
#include "cleanup.h"
#include "test.h"

#define HEAD                                                                                      \
	"\"schema\":\"snapwalk.dump/1\",\"id\":\"20261120T103550.084579-42-0a1b2c3d\",\"seq\":1," \
	"\"time\":\"2026-11-20T10:35:50.084579Z\",\"reason\":\"why\",\"complete\":true,"          \
	"\"process\":{\"pid\":42,\"starttime\":998877,\"uid\":1000,\"comm\":\"server\","          \
	"\"exe\":null,\"cgroup\":\"/a\",\"unit\":null},"                                          \
	"\"timings\":{\"stopped_us\":850,\"total_us\":5200}"
#define ARRAYS                                                                                 \
	",\"threads\":[{\"tid\":42},{\"tid\":43}],\"stacks\":[{\"id\":\"x\"}],\"modules\":[]," \
	"\"warnings\":[]"

#define PROFILE                                                                               \
	"\"schema\":\"snapwalk.profile/1\",\"id\":\"0-1\",\"time\":\"2026-11-20T10:35:50Z\"," \
	"\"complete\":true,\"process\":{\"pid\":42,\"starttime\":1,\"uid\":1,\"comm\":\"a\"," \
	"\"exe\":\"\",\"cgroup\":\"\"},\"timings\":{\"stopped_us\":1,\"total_us\":2}"
#define TABLES                                                                                   \
	",\"processes\":[{\"pid\":42}],\"threads\":[{\"tid\":42}],\"modules\":[],\"frames\":[]," \
	"\"nodes\":[[null,0]],\"samples\":[{\"thread\":0},{\"thread\":0}]"

static int create(const char *text, struct sw_dump **ret, struct sw_error *err)
{
	char *copy = strdup(text);
	assert_non_null(copy);
	return sw_dump_create(copy, strlen(copy), ret, err);
}

static struct sw_dump *dump_of(const char *text)
{
	struct sw_dump *dump = NULL;
	struct sw_error err = {0};
	if (create(text, &dump, &err) < 0)
		fail_msg("%s", err.message);
	return dump;
}

TEST(test_summary)
{
	struct sw_dump *dump = dump_of("{" HEAD ARRAYS "}\n");
	assert_string_equal(dump->id, "20261120T103550.084579-42-0a1b2c3d");
	assert_string_equal(dump->comm, "server");
	assert_string_equal(dump->exe, "");
	assert_int_equal(dump->pid, 42);
	assert_int_equal(dump->uid, 1000);
	assert_int_equal(dump->starttime, 998877);
	assert_int_equal(dump->stopped_us, 850);
	assert_int_equal(dump->n_threads, 2);
	assert_true(dump->complete);
	assert_true(dump->time_ns == INT64_C(1795170950084579000));
	assert_int_equal(dump->size, strlen("{" HEAD ARRAYS "}"));
	char wanted[1024];
	(void) snprintf(
		wanted, sizeof(wanted),
		"{\"id\":\"20261120T103550.084579-42-0a1b2c3d\","
		"\"time\":\"2026-11-20T10:35:50.084579Z\",\"reason\":\"why\",\"complete\":true,"
		"\"process\":{\"pid\":42,\"starttime\":998877,\"uid\":1000,\"comm\":\"server\","
		"\"exe\":\"\",\"cgroup\":\"/a\",\"unit\":null},"
		"\"timings\":{\"stopped_us\":850,\"total_us\":5200},"
		"\"n_threads\":2,\"n_stacks\":1,\"bytes\":%zu,\"stored\":false}",
		dump->size);
	assert_string_equal(sw_dump_summary_text(dump), wanted);
	assert_int_equal(sw_dump_set_stored(dump, true), 0);
	assert_non_null(strstr(sw_dump_summary_text(dump), "\"stored\":true"));
	sw_dump_unref(dump);
}

/* A worker that parsed hostile files may say anything. */
TEST(test_refused)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{" HEAD ARRAYS,
		"{" HEAD "}",
		"{" HEAD ",\"threads\":[],\"stacks\":[],\"modules\":[]}",
		"{" HEAD ",\"threads\":{},\"stacks\":[],\"modules\":[],\"warnings\":[]}",
		"{" HEAD ARRAYS ",\"threads\":[]}",
		"{" HEAD ARRAYS ",\"x\":\"\xff\"}",
		/* a profile without its tables, with those of a dump, and one that says it late */
		"{" PROFILE "}",
		"{" PROFILE ARRAYS "}",
		"{\"x\":1," PROFILE TABLES "}",
		"{\"id\":\"../../etc/passwd\",\"time\":\"2026-11-20T10:35:50Z\",\"complete\":true,"
		"\"process\":{\"pid\":42,\"starttime\":1,\"uid\":1,\"comm\":\"a\"},"
		"\"timings\":{\"stopped_us\":1,\"total_us\":1}" ARRAYS "}",
		"{\"id\":\"0-1\",\"time\":\"2026-11-20T10:35:50Z\",\"complete\":true,"
		"\"process\":{\"pid\":-1,\"starttime\":1,\"uid\":1,\"comm\":\"a\"},"
		"\"timings\":{\"stopped_us\":1,\"total_us\":1}" ARRAYS "}",
		"{\"id\":\"0-1\",\"time\":\"yesterday\",\"complete\":true,"
		"\"process\":{\"pid\":1,\"starttime\":1,\"uid\":1,\"comm\":\"a\"},"
		"\"timings\":{\"stopped_us\":1,\"total_us\":1}" ARRAYS "}",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		struct sw_dump *dump = NULL;
		struct sw_error err = {0};
		int r = create(bad[i], &dump, &err);
		if (r != -SW_E_FORMAT)
			fail_msg("%d for %s", r, bad[i]);
		assert_null(dump);
	}
}

TEST(test_parts)
{
	static const char *const wanted[] = {
		"{\"head\":{" HEAD "}}",
		"{\"modules\":[]}",
		"{\"stacks\":[{\"id\":\"x\"}]}",
		"{\"threads\":[{\"tid\":42},{\"tid\":43}]}",
		"{\"warnings\":[]}",
	};
	struct sw_dump *dump = dump_of("{" HEAD ARRAYS "}");
	struct sw_dump_cursor cursor = {0};
	struct sw_text text = {0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++) {
		assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), 1);
		assert_string_equal(text.data, wanted[i]);
		sw_text_deinit(&text);
	}
	assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_YES, &text), 0);
	assert_memory_equal(text.data, "{\"summary\":{", 12);
	assert_non_null(strstr(text.data, "},\"coalesced\":true}"));
	sw_text_deinit(&text);

	assert_int_equal(sw_dump_whole(dump, SW_COALESCED_UNSAID, &text), 0);
	assert_memory_equal(text.data, "{\"dump\":{" HEAD ARRAYS "},\"summary\":{", 20);
	assert_null(strstr(text.data, "coalesced"));
	sw_text_deinit(&text);
	sw_dump_unref(dump);
}

/* A profile has other arrays; what it is says its first member. */
TEST(test_profile)
{
	static const char *const wanted[] = {
		"{\"head\":{" PROFILE "}}",
		"{\"processes\":[{\"pid\":42}]}",
		"{\"threads\":[{\"tid\":42}]}",
		"{\"modules\":[]}",
		"{\"frames\":[]}",
		"{\"nodes\":[[null,0]]}",
		"{\"samples\":[{\"thread\":0},{\"thread\":0}]}",
	};
	struct sw_dump *dump = dump_of("{" PROFILE TABLES "}");
	struct sw_dump_cursor cursor = {0};
	struct sw_text text = {0};
	assert_true(dump->profile);
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++) {
		assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), 1);
		assert_string_equal(text.data, wanted[i]);
		sw_text_deinit(&text);
	}
	assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), 0);
	assert_non_null(strstr(text.data, "\"kind\":\"profile\""));
	assert_non_null(strstr(text.data, "\"n_threads\":1,\"n_stacks\":2,"));
	sw_text_deinit(&text);
	assert_int_equal(sw_dump_whole(dump, SW_COALESCED_NO, &text), 0);
	assert_memory_equal(text.data, "{\"profile\":{" PROFILE TABLES "},", 20);
	sw_text_deinit(&text);
	sw_dump_unref(dump);
	dump = dump_of("{" HEAD ARRAYS "}");
	assert_false(dump->profile);
	assert_null(strstr(sw_dump_summary_text(dump), "kind"));
	sw_dump_unref(dump);
}

/* 3 MiB of threads come in parts of about 1 MiB, whole and in order. */
TEST(test_large)
{
	enum { THREADS = 3000 };
	struct sw_text big = {0};
	sw_text_printf(&big,
		       "{" HEAD ",\"stacks\":[],\"modules\":[],\"warnings\":[],\"threads\":[");
	for (int i = 0; i < THREADS; i++)
		sw_text_printf(&big, "%s{\"tid\":%d,\"x\":\"%01000d\"}", i > 0 ? "," : "", i, 0);
	sw_text_printf(&big, "]}");
	assert_false(big.failed);
	struct sw_dump *dump = dump_of(big.data);
	assert_int_equal(dump->n_threads, THREADS);
	struct sw_dump_cursor cursor = {0};
	struct sw_text text = {0};
	int parts = 0, next = 0;
	while (sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text) > 0) {
		if (strncmp(text.data, "{\"threads\":[", 12) == 0) {
			assert_true(text.size < SW_DUMP_PART_MAX + 2048);
			struct json_object *part = json_tokener_parse(text.data);
			struct json_object *threads = json_object_object_get(part, "threads");
			size_t n = json_object_array_length(threads);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(json_object_get_int(json_object_object_get(
							 json_object_array_get_idx(threads, i),
							 "tid")),
						 next++);
			json_object_put(part);
			parts++;
		}
		sw_text_deinit(&text);
	}
	sw_text_deinit(&text);
	assert_int_equal(next, THREADS);
	assert_int_equal(parts, 3);
	sw_dump_unref(dump);
	sw_text_deinit(&big);
}

/* No client takes a message of 16 MiB. */
TEST(test_too_large)
{
	struct sw_text big = {0};
	sw_text_printf(&big,
		       "{" HEAD ",\"stacks\":[{\"x\":\"%0*d\"}],\"threads\":[],\"modules\":[],"
		       "\"warnings\":[]}",
		       SW_DUMP_REPLY_MAX, 0);
	struct sw_dump *dump = dump_of(big.data);
	struct sw_dump_cursor cursor = {0};
	struct sw_text text = {0};
	assert_int_equal(sw_dump_whole(dump, SW_COALESCED_NO, &text), -SW_E_LIMIT);
	assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), 1);
	assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), 1);
	assert_int_equal(sw_dump_next(dump, &cursor, SW_COALESCED_NO, &text), -SW_E_LIMIT);
	sw_text_deinit(&text);
	sw_dump_unref(dump);
	sw_text_deinit(&big);
}

TEST(test_times)
{
	int64_t ns;
	assert_true(sw_time_parse("1970-01-01T00:00:01Z", &ns) && ns == 1000000000);
	assert_true(sw_time_parse("1970-01-01T00:00:01.5Z", &ns) && ns == 1500000000);
	assert_true(sw_time_parse("1970-01-01T01:00:00+01:00", &ns) && ns == 0);
	assert_true(sw_time_parse("2026-11-20T10:35:50.084579388Z", &ns) &&
		    ns == INT64_C(1795170950084579388));
	assert_false(sw_time_parse("1970-01-01T00:00:01", &ns));
	assert_false(sw_time_parse("1970-01-01", &ns));
	assert_false(sw_time_parse("1970-01-01T00:00:01Zx", &ns));
	assert_false(sw_time_parse("0001-01-01T00:00:00Z", &ns));
}
