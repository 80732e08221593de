/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters as the VM has them for jstat, made here. */
#include "runtimes/hotspot/counters.h"
#include "cleanup.h"
#include "test.h"

enum { BYTES = 4096, NAME_OFF = 20 };

struct counters {
	uint8_t data[BYTES];
	size_t size;
	uint32_t n;
};

static void put_u32(struct counters *c, size_t at, uint32_t value)
{
	memcpy(c->data + at, &value, sizeof(value));
}

static void begin(struct counters *c)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};
	memset(c, 0, sizeof(*c));
	memcpy(c->data, magic, sizeof(magic));
	c->size = 32;
	put_u32(c, 24, (uint32_t) c->size);
}

static void add(struct counters *c, const char *name, char type, const void *value, size_t size)
{
	size_t data_off = (NAME_OFF + strlen(name) + 1 + 7) & ~(size_t) 7;
	size_t length = (data_off + size + 7) & ~(size_t) 7, at = c->size;
	assert_true(at + length <= BYTES);
	put_u32(c, at, (uint32_t) length);
	put_u32(c, at + 4, NAME_OFF);
	put_u32(c, at + 8, type == 'B' ? (uint32_t) size : 0);
	c->data[at + 12] = (uint8_t) type;
	put_u32(c, at + 16, (uint32_t) data_off);
	memcpy(c->data + at + NAME_OFF, name, strlen(name) + 1);
	memcpy(c->data + at + data_off, value, size);
	c->size += length;
	put_u32(c, 28, ++c->n);
}

static void add_text(struct counters *c, const char *name, const char *text)
{
	add(c, name, 'B', text, strlen(text) + 1);
}

static void add_number(struct counters *c, const char *name, uint64_t value)
{
	add(c, name, 'J', &value, sizeof(value));
}

static void add_all(struct counters *c, const char *cause)
{
	begin(c);
	add_text(c, "sun.gc.cause", cause);
	add_text(c, "sun.gc.lastCause", "Allocation Failure");
	add_text(c, "sun.gc.collector.0.name", "G1 young collection pauses");
	add_number(c, "sun.gc.collector.0.invocations", 7);
	add_number(c, "sun.gc.collector.0.lastEntryTime", 100);
	add_number(c, "sun.gc.collector.0.lastExitTime", 200);
	add_text(c, "sun.gc.collector.1.name", "G1 full collection pauses");
	add_number(c, "sun.gc.collector.1.invocations", 301);
	add_number(c, "sun.gc.collector.1.lastEntryTime", 500);
	add_number(c, "sun.gc.collector.1.lastExitTime", 400);
	add_number(c, "sun.gc.collector.9.invocations", 1);
	add_number(c, "sun.rt.safepointTime", 920);
	add_number(c, "sun.rt.applicationTime", 80);
}

static struct sw_collecting read_all(const struct counters *c)
{
	struct sw_collecting ret = {0};
	sw_hotspot_counters_read((struct sw_bytes){c->data, c->size}, &ret);
	return ret;
}

TEST(test_collecting)
{
	struct counters c;
	add_all(&c, "G1 Compaction Pause");
	struct sw_collecting got = read_all(&c);
	assert_true(got.known && got.now);
	assert_string_equal(got.name, "G1 full collection pauses");
	assert_string_equal(got.cause, "G1 Compaction Pause");
	assert_int_equal(got.number, 301);
	assert_int_equal(got.stopped_permille, 920);
	add_all(&c, "No GC");
	got = read_all(&c);
	assert_true(got.known && !got.now);
	assert_string_equal(got.cause, "Allocation Failure");
	assert_string_equal(got.name, "G1 full collection pauses");
}

/* Memory that is something else, cut, or lies about its lengths. */
TEST(test_hostile)
{
	struct counters c;
	begin(&c);
	assert_false(read_all(&c).known);
	add_all(&c, "No GC");
	c.data[0] = 0;
	assert_false(read_all(&c).known);
	add_all(&c, "No GC");
	put_u32(&c, 28, UINT32_MAX);
	assert_false(read_all(&c).known);
	add_all(&c, "No GC");
	put_u32(&c, 32, UINT32_MAX); /* of the first entry */
	assert_false(read_all(&c).known);
	for (size_t at = 32; at < c.size; at += 4) {
		add_all(&c, "No GC");
		put_u32(&c, at, 0xfffffff0);
		(void) read_all(&c);
		put_u32(&c, at, 0);
		(void) read_all(&c);
	}
	add_all(&c, "a\x1b[31mb");
	assert_string_equal(read_all(&c).cause, "a");
}
