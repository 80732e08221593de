/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles of pprof: what sample writes is read back the same; others lose nothing silently. */
#include "sample_report.h"
#include "cleanup.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/tables.h"
#include "test.h"

#include <time.h>

static const struct sw_profile_info info = {.mode = "wall",
					    .begin_ns = 1795170950084579123,
					    .duration_ns = 1000000000,
					    .rate_hz = 10,
					    .n_samples = 10,
					    .n_wanted = 10};

static char *write_as(const struct sw_profile *p, enum sw_profile_format format, size_t *ret_size)
{
	char *data = NULL;
	assert_int_equal(sw_profile_write(p, format, NULL, &data, ret_size, NULL), 0);
	return data;
}

static struct sw_profile *parsed(const char *data, size_t size)
{
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left = {1, 1, 1, 1};
	assert_true(sw_profile_is_pprof(data, size));
	assert_int_equal(sw_profile_parse_pprof(data, size, &p, &left, NULL), 0);
	assert_int_equal(left.n_values + left.n_labels + left.n_states, 0);
	return p;
}

/*
 * Marks, guesses, inlined calls, addresses and labels are read as sample wrote them. A frame whose place in its module was not
 * known has one by its address now.
 */
TEST(test_round_trip)
{
	struct sw_profile *p = NULL;
	size_t size, again;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, NULL, NULL), 0);
	sw_profile_set_info(p, &info);
	char *first = write_as(p, SW_PROFILE_PPROF, &size);
	struct sw_profile *read = parsed(first, size);
	char *folded = write_as(read, SW_PROFILE_FOLDED, &again);
	assert_string_equal(
		folded,
		"ser\\x1b[31mver;[cut: no_unwind_info];[unknown] [guess];"
		"libc.so.6+0x20000 [guess];server+0x100 1\n"
		"Order\\x1bqueue;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common "
		"1\n"
		"worker-12;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common 1\n"
		"bad\xef\xbf\xbd:name;[no stack: stop_timeout] 1\n");
	char *second = write_as(read, SW_PROFILE_PPROF, &size);
	struct sw_profile *same = parsed(second, size);
	char *third = write_as(same, SW_PROFILE_PPROF, &again);
	assert_int_equal(size, again);
	assert_memory_equal(second, third, size);
	free(first);
	free(folded);
	free(second);
	free(third);
	sw_profile_destroy(p);
	sw_profile_destroy(read);
	sw_profile_destroy(same);
}

/* ---- profiles of others ----------------------------------------------------------------------- */

struct made {
	struct sw_text file, message, part;
	unsigned n_strings;
};

static unsigned string(struct made *m, const char *s)
{
	sw_proto_bytes(&m->file, PROFILE_STRING_TABLE, s, strlen(s));
	return m->n_strings++;
}

static void type(struct made *m, const char *name, const char *unit)
{
	sw_proto_int(&m->message, VALUE_TYPE_TYPE, string(m, name));
	sw_proto_int(&m->message, VALUE_TYPE_UNIT, string(m, unit));
	sw_proto_message(&m->file, PROFILE_SAMPLE_TYPE, &m->message);
}

static void begin(struct made *m)
{
	*m = (struct made){0};
	(void) string(m, "");
	type(m, "samples", "count");
	type(m, "cpu", "milliseconds");
}

static void location(struct made *m, uint64_t id, uint64_t mapping, uint64_t address)
{
	sw_proto_int(&m->message, LOCATION_ID, id);
	sw_proto_int(&m->message, LOCATION_MAPPING_ID, mapping);
	sw_proto_int(&m->message, LOCATION_ADDRESS, address);
	sw_proto_message(&m->file, PROFILE_LOCATION, &m->message);
}

/* Elements of repeated fields may also stand one by one. */
static void sample(struct made *m, const uint64_t *locations, size_t n, uint64_t count, uint64_t ms)
{
	for (size_t i = 0; i < n; i++)
		sw_proto_int(&m->message, SAMPLE_LOCATION_ID, locations[i]);
	sw_proto_int_always(&m->message, SAMPLE_VALUE, count);
	sw_proto_int_always(&m->message, SAMPLE_VALUE, ms);
	sw_proto_message(&m->file, PROFILE_SAMPLE, &m->message);
}

static void mapping(struct made *m)
{
	sw_proto_int(&m->message, MAPPING_ID, 77);
	sw_proto_int(&m->message, MAPPING_MEMORY_START, 0x7f0000001000);
	sw_proto_int(&m->message, MAPPING_MEMORY_LIMIT, 0x7f0000003000);
	sw_proto_int(&m->message, MAPPING_FILE_OFFSET, 0x1000);
	sw_proto_int(&m->message, MAPPING_FILENAME, string(m, "/opt/bin/server"));
	sw_proto_int(&m->message, MAPPING_BUILD_ID, string(m, "c0ffee"));
	sw_proto_message(&m->file, PROFILE_MAPPING, &m->message);
}

static int parse(struct made *m, struct sw_profile **ret, struct sw_profile_left_out *ret_left,
		 struct sw_error *err)
{
	sw_text_deinit(&m->message);
	sw_text_deinit(&m->part);
	int r = sw_profile_parse_pprof(m->file.data, m->file.size, ret, ret_left, err);
	sw_text_deinit(&m->file);
	return r;
}

static void refused(struct made *m, const char *why)
{
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	struct sw_error err = {0};
	assert_int_equal(parse(m, &p, &left, &err), -SW_E_FORMAT);
	assert_non_null(strstr(err.message, why));
	assert_null(p);
}

TEST(test_offsets)
{
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	size_t size;
	begin(&m);
	mapping(&m);
	location(&m, 5, 77, 0x7f0000001234);
	location(&m, 6, 77, 0x7f00000015ff); /* in a call */
	location(&m, 7, 0, 0x1234);          /* of no file */
	sample(&m, (uint64_t[]){5, 6, 7}, 3, 3, 30);
	sample(&m, (uint64_t[]){5}, 1, 1, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	char *text = write_as(p, SW_PROFILE_FOLDED, &size);
	assert_string_equal(text, "server;[unknown];server+0x1600;server+0x1234 3\n"
				  "server;server+0x1234 1\n");
	const struct sw_profile_totals totals = sw_profile_totals(p);
	assert_int_equal(totals.count, 4);
	assert_int_equal(totals.ns, 40000000);
	assert_string_equal(sw_profile_get_info(p)->mode, "cpu");
	assert_int_equal(left.n_values + left.n_labels, 0);
	/* Offsets stay what they are in both formats that are read again. */
	char *pprof = write_as(p, SW_PROFILE_PPROF, &size);
	struct sw_profile *again = parsed(pprof, size);
	char *same = write_as(again, SW_PROFILE_FOLDED, &size);
	assert_string_equal(same, text);
	sw_profile_destroy(again);
	char *json = write_as(p, SW_PROFILE_JSON, &size);
	assert_int_equal(sw_profile_parse(json, size, &again, NULL), 0);
	const struct sw_profile_module *module = sw_profile_module_at(again, 1);
	assert_true(module->by_mapping);
	assert_int_equal(module->mapping_off, 0x1000);
	sw_profile_destroy(again);
	free(json);
	free(same);
	free(pprof);
	free(text);
	sw_profile_destroy(p);
}

static void pid(struct made *m, uint64_t number)
{
	sw_proto_int(&m->part, LABEL_KEY, string(m, "pid"));
	sw_proto_int(&m->part, LABEL_NUM, number);
	sw_proto_message(&m->message, SAMPLE_LABEL, &m->part);
}

/* The program of the first process is known, and of no other. */
TEST(test_processes)
{
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	begin(&m);
	mapping(&m);
	pid(&m, 11);
	sample(&m, NULL, 0, 1, 10);
	pid(&m, 12);
	sample(&m, NULL, 0, 1, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	assert_int_equal(p->processes.n, 2);
	const struct sw_profile_process *first = sw_profile_process_at(p, 0);
	assert_string_equal(sw_profile_text_of(p, first->exe), "/opt/bin/server");
	assert_string_equal(sw_profile_text_of(p, first->comm), "server");
	assert_int_equal(sw_profile_process_at(p, 1)->exe, 0);
	assert_int_equal(sw_profile_process_at(p, 1)->comm, 0);
	sw_profile_destroy(p);
}

/* Go's profiles of contention: nobody was on a CPU. */
TEST(test_delay)
{
	struct made m = {0};
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	(void) string(&m, "");
	type(&m, "contentions", "count");
	type(&m, "delay", "nanoseconds");
	sample(&m, NULL, 0, 2, 5000);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	assert_string_equal(sw_profile_get_info(p)->mode, "off");
	assert_int_equal(sw_profile_row_at(p, 0)->state, SW_PROFILE_BLOCKED);
	sw_profile_destroy(p);
}

/* A program that used 40 ms of a CPU in 30 seconds has four samples each 10 ms, not 3,000. */
TEST(test_cpu_time)
{
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	begin(&m);
	sample(&m, NULL, 0, 4, 40);
	sw_proto_int(&m.message, VALUE_TYPE_TYPE, string(&m, "cpu"));
	sw_proto_int(&m.message, VALUE_TYPE_UNIT, string(&m, "nanoseconds"));
	sw_proto_message(&m.file, PROFILE_PERIOD_TYPE, &m.message);
	sw_proto_int(&m.file, PROFILE_PERIOD, 10000000);
	sw_proto_int(&m.file, PROFILE_DURATION_NANOS, UINT64_C(30000000000));
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	const struct sw_profile_info *found = sw_profile_get_info(p);
	assert_int_equal(found->n_samples, 4);
	assert_int_equal(found->n_wanted, 4);
	assert_int_equal(found->rate_hz, 100);
	size_t size;
	char *again = write_as(p, SW_PROFILE_PPROF, &size);
	sw_profile_destroy(p);
	p = parsed(again, size);
	assert_int_equal(sw_profile_get_info(p)->n_samples, 4);
	assert_int_equal(sw_profile_get_info(p)->rate_hz, 100);
	sw_profile_destroy(p);
	free(again);
}

TEST(test_left_out)
{
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	begin(&m);
	type(&m, "inuse_space", "bytes");
	sw_proto_int(&m.part, LABEL_KEY, string(&m, "endpoint"));
	sw_proto_int(&m.part, LABEL_STR, string(&m, "/pay"));
	sw_proto_message(&m.message, SAMPLE_LABEL, &m.part);
	sw_proto_int(&m.part, LABEL_KEY, string(&m, "state"));
	sw_proto_int(&m.part, LABEL_STR, string(&m, "asleep"));
	sw_proto_message(&m.message, SAMPLE_LABEL, &m.part);
	sample(&m, NULL, 0, 1, 10);
	sw_proto_packed(&m.message, 1);
	sw_proto_packed(&m.message, 2);
	sw_proto_message(&m.file, PROFILE_COMMENT, &m.message);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	assert_int_equal(left.n_values, 1);
	assert_int_equal(left.n_labels, 2);
	assert_int_equal(left.n_comments, 2);
	assert_int_equal(left.n_states, 0); /* of CPU time */
	sw_profile_destroy(p);
	m = (struct made){0};
	(void) string(&m, "");
	type(&m, "samples", "count");
	type(&m, "wall", "nanoseconds");
	sample(&m, NULL, 0, 1, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	assert_int_equal(left.n_states, 1);
	sw_profile_destroy(p);
}

/* The outermost frames are left out, and the stack says so. */
TEST(test_deep)
{
	static uint64_t ids[SW_PROFILE_DEPTH_MAX + 10];
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	size_t size;
	begin(&m);
	mapping(&m);
	location(&m, 5, 77, 0x7f0000001234);
	for (size_t i = 0; i < SW_ARRAY_SIZE(ids); i++)
		ids[i] = 5;
	sample(&m, ids, SW_ARRAY_SIZE(ids), 1, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	char *text = write_as(p, SW_PROFILE_FOLDED, &size);
	assert_memory_equal(text, "server;[cut: frame_limit];server+0x1235;", 40);
	free(text);
	sw_profile_destroy(p);
}

/* A file whose name finds no space any more: its stacks are counted, and nothing else. */
TEST(test_no_space)
{
	enum { STACKS = 100000 }; /* those that sampling keeps */
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	begin(&m);
	for (uint64_t i = 1; i <= STACKS; i++) {
		location(&m, i, 0, i);
		sample(&m, &i, 1, 1, 10);
	}
	mapping(&m); /* the program's: its name is put with the first sample */
	sw_proto_int(&m.message, MAPPING_ID, 78);
	sw_proto_int(&m.message, MAPPING_FILENAME, string(&m, "/opt/lib/late.so"));
	sw_proto_message(&m.file, PROFILE_MAPPING, &m.message);
	location(&m, STACKS + 1, 78, 0x1234);
	sample(&m, (uint64_t[]){STACKS + 1}, 1, 3, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	assert_int_equal(sw_profile_totals(p).n_stacks, STACKS);
	assert_int_equal(sw_profile_totals(p).left_count, 3);
	sw_profile_destroy(p);
}

TEST(test_refused)
{
	struct made m;
	begin(&m);
	sample(&m, (uint64_t[]){5}, 1, 1, 10);
	refused(&m, "a location that it does not have");
	begin(&m);
	location(&m, 5, 78, 0x1000);
	sample(&m, (uint64_t[]){5}, 1, 1, 10);
	refused(&m, "a mapping that it does not have");
	begin(&m);
	sample(&m, NULL, 0, UINT64_MAX, 10);
	refused(&m, "a value is negative");
	m = (struct made){0};
	(void) string(&m, "");
	type(&m, "inuse_space", "bytes");
	refused(&m, "none of its values is a number of samples");
	m = (struct made){0};
	sw_proto_int(&m.message, VALUE_TYPE_UNIT, 9);
	sw_proto_message(&m.file, PROFILE_SAMPLE_TYPE, &m.message);
	refused(&m, "a string that it does not have");
}

/* The number that sw_mix64() makes this one of: what it does, undone from its end. */
static uint64_t unmixed(uint64_t x)
{
	x ^= x >> 31 ^ x >> 62;
	x *= UINT64_C(0x319642b2d24d8ec3);
	x ^= x >> 27 ^ x >> 54;
	x *= UINT64_C(0x96de1b173f119089);
	return x ^ x >> 30 ^ x >> 60;
}

/* Ids that are chosen for one slot of a map cost no more than others. Where they meet it is many seconds. */
TEST(test_ids)
{
	enum { IDS = 1 << 18, CPU_S = 4 };
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	const clock_t before = clock();
	begin(&m);
	for (uint64_t i = 1; i <= IDS; i++)
		location(&m, unmixed(i << 32), 0, i);
	assert_int_equal(sw_mix64(unmixed(5)), 5);
	sample(&m, (uint64_t[]){unmixed(UINT64_C(7) << 32)}, 1, 1, 10);
	assert_int_equal(parse(&m, &p, &left, NULL), 0);
	sw_profile_destroy(p);
	assert_true(clock() - before < CPU_S * CLOCKS_PER_SEC);
}

/* Messages that cost memory without a byte, or are read again and again, are refused. */
TEST(test_too_much)
{
	enum { MESSAGES = 1 << 22, LONG = 256 };
	static const char empty[] = {PROFILE_STRING_TABLE << 3 | 2, 0};
	struct made m;
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	struct sw_error err = {0};
	begin(&m);
	for (size_t i = m.n_strings; i < MESSAGES; i++)
		sw_text_append(&m.file, empty, sizeof(empty));
	assert_int_equal(sw_profile_parse_pprof(m.file.data, m.file.size, &p, &left, &err), 0);
	sw_profile_destroy(p);
	p = NULL;
	sw_text_append(&m.file, empty, sizeof(empty));
	assert_int_equal(parse(&m, &p, &left, &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "it has more than 4194304 messages of one kind");
	begin(&m);
	for (size_t i = 0; i < LONG; i++)
		sw_proto_int(&m.message, FUNCTION_NAME, 1);
	sw_proto_message(&m.file, PROFILE_FUNCTION, &m.message);
	refused(&m, "a mapping or a function is too long");
}

/* The size in a packed file is anybody's word. */
TEST(test_packed)
{
	struct sw_profile *p = NULL;
	struct sw_profile_left_out left;
	struct sw_error err = {0};
	size_t size;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	char *data = write_as(p, SW_PROFILE_PPROF, &size);
	sw_profile_destroy(p);
	data[size - 4]--;
	assert_int_equal(sw_profile_parse_pprof(data, size, &p, &left, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "it cannot be unpacked");
	data[size - 1] = 0x7f;
	assert_int_equal(sw_profile_parse_pprof(data, size, &p, &left, &err), -SW_E_LIMIT);
	assert_int_equal(sw_profile_parse_pprof(data, 17, &p, &left, &err), -SW_E_FORMAT);
	assert_false(sw_profile_is_pprof("{\"schema\"", 9));
	assert_false(sw_profile_is_pprof("", 0));
	assert_false(sw_profile_is_pprof("\n\n\n", 3));
	assert_false(sw_profile_is_pprof("\n{\"schema\"", 10));
	assert_false(sw_profile_is_pprof("\n \n{\"schema\"", 12));
	free(data);
}
