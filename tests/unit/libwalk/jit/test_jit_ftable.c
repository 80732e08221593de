/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ftable_read.c: registries in fake memory, still and while they change. */
#include "jit/ftable/read.h"
#include "jit/ftable/record.h"
#include "fake.h"
#include "test.h"

enum { REGISTRY = 0x1000, CHUNK_A = 0x2000, CHUNK_B = 0x4000, TABLES = 4 };

struct chunk {
	struct swft_chunk head;
	struct swft_table tables[TABLES];
};

/* A registry in fake memory: two chunks, b before a. */
static struct {
	struct swft_registry registry;
	struct chunk a, b;
	struct fake_region regions[3];
	struct fake_memory fake;
} made;

static struct swft_table table(uint64_t id, uint32_t kind, uint64_t start, uint64_t end)
{
	return (struct swft_table){.state = SWFT_LIVE,
				   .kind = kind,
				   .id = id,
				   .check = ~id,
				   .start = start,
				   .end = end,
				   .seq = 2};
}

static int setup(void **state)
{
	memset(&made, 0, sizeof(made));
	memcpy(made.registry.magic, "SWFTABLE", 8);
	made.registry.version = SWFT_VERSION;
	made.registry.registry_bytes = sizeof(made.registry);
	made.registry.chunk_bytes = sizeof(struct swft_chunk);
	made.registry.table_bytes = sizeof(struct swft_table);
	made.registry.first = CHUNK_B;
	made.b.head = (struct swft_chunk){.next = CHUNK_A, .capacity = TABLES, .used = 1};
	made.a.head = (struct swft_chunk){.capacity = TABLES, .used = 2};
	made.b.tables[0] = table(3, SWFT_FRAME_POINTER, 0x30000, 0x31000);
	made.a.tables[0] = table(1, SWFT_FIXED, 0x10000, 0x10100);
	made.a.tables[0].cfa_offset = 32;
	made.a.tables[1] = table(2, SWFT_FIXED, 0x20000, 0x20100);
	made.regions[0] = (struct fake_region){REGISTRY, &made.registry, sizeof(made.registry)};
	made.regions[1] = (struct fake_region){CHUNK_A, &made.a, sizeof(made.a)};
	made.regions[2] = (struct fake_region){CHUNK_B, &made.b, sizeof(made.b)};
	made.fake = (struct fake_memory){.regions = made.regions, .n_regions = 3};
	return 0;
}

static const struct sw_memory none;

static struct sw_ftables read_still(void)
{
	struct sw_ftables t = {0};
	size_t left = SW_FTABLE_RECORDS_BYTES;
	assert_int_equal(sw_ftables_read(fake_memory(&made.fake), none, REGISTRY, &left, &t), 0);
	return t;
}

TEST_WITH(test_whole, setup, NULL)
{
	struct sw_ftables t = read_still();
	assert_null(t.problem);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.all[0].id, 3);
	assert_int_equal(t.all[0].kind, SWFT_FRAME_POINTER);
	assert_int_equal(t.all[0].record_avma, CHUNK_B + sizeof(struct swft_chunk));
	assert_int_equal(t.all[1].start_avma, 0x10000);
	assert_int_equal(t.all[1].end_avma, 0x10100);
	assert_int_equal(t.all[1].cfa_offset, 32);
	assert_int_equal(t.all[2].record_avma,
			 CHUNK_A + sizeof(struct swft_chunk) + sizeof(struct swft_table));
	assert_false(t.all[0].live);
	sw_ftables_deinit(&t);
}

/* Stopped in the middle of a change: what is live is right, whatever seq is; what is dead is
 * skipped. */
TEST_WITH(test_stopped_in_a_change, setup, NULL)
{
	made.a.tables[0].seq = 7;
	made.a.tables[1].seq = 9;
	made.a.tables[1].state = SWFT_DEAD;
	made.a.tables[1].check = 5; /* half written */
	struct sw_ftables t = read_still();
	assert_int_equal(t.n, 2);
	assert_int_equal(t.n_dead, 1);
	assert_int_equal(t.n_bad, 0);
	assert_int_equal(t.all[1].id, 1);
	sw_ftables_deinit(&t);
}

/* A copy that was marked as changed while it was made. */
TEST_WITH(test_marked_busy, setup, NULL)
{
	made.a.tables[1].state = SW_FTABLE_STATE_BUSY;
	struct sw_ftables t = read_still();
	assert_int_equal(t.n, 2);
	assert_int_equal(t.n_busy, 1);
	sw_ftables_deinit(&t);
}

/* Larger structures of a later version: what is behind ours is skipped. */
TEST_WITH(test_larger_tables, setup, NULL)
{
	static uint8_t bytes[sizeof(struct swft_chunk) + 16 + 2 * (sizeof(struct swft_table) + 24)];
	memcpy(bytes, &made.a.head, sizeof(made.a.head));
	memcpy(bytes + sizeof(made.a.head) + 16, &made.a.tables[0], sizeof(struct swft_table));
	memcpy(bytes + sizeof(made.a.head) + 16 + sizeof(struct swft_table) + 24, &made.a.tables[1],
	       sizeof(struct swft_table));
	made.registry.first = CHUNK_A;
	made.registry.chunk_bytes += 16;
	made.registry.table_bytes += 24;
	made.regions[1] = (struct fake_region){CHUNK_A, bytes, sizeof(bytes)};
	struct sw_ftables t = read_still();
	assert_null(t.problem);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.all[0].id, 1);
	assert_int_equal(t.all[1].id, 2);
	sw_ftables_deinit(&t);
}

static void problem_is(const char *problem, size_t n_tables)
{
	struct sw_ftables t = read_still();
	if (problem == NULL)
		assert_null(t.problem);
	else
		assert_string_equal(t.problem, problem);
	assert_int_equal(t.n, n_tables);
	sw_ftables_deinit(&t);
}

TEST_WITH(test_problems, setup, NULL)
{
	made.registry.magic[0] = 'x';
	problem_is("there is no registry", 0);
	(void) setup(state);
	made.registry.version = 2;
	problem_is("the registry is of another version", 0);
	(void) setup(state);
	made.registry.table_bytes = 100;
	problem_is("the registry's head is malformed", 0);
	(void) setup(state);
	made.registry.table_bytes = SW_FTABLE_TABLE_BYTES_MAX + 1;
	problem_is("the registry's head is malformed", 0);
	(void) setup(state);
	made.registry.first = 0;
	problem_is(NULL, 0);
	(void) setup(state);
	made.b.head.next = 0x99999000;
	problem_is("a chunk of tables could not be read", 1);
	(void) setup(state);
	made.a.head.used = TABLES + 1;
	problem_is("a chunk of tables is malformed", 1);
	(void) setup(state);
	made.a.head.used = made.a.head.capacity = 400;
	problem_is("a chunk of tables could not be read", 1);
	(void) setup(state);
	made.a.head.next = CHUNK_A;
	made.b.head.used = 0;
	problem_is("its list of chunks leads back to itself", 2);
}

TEST_WITH(test_bad_tables, setup, NULL)
{
	made.a.head.used = TABLES;
	made.a.tables[0].check = 0;
	made.a.tables[1].end = made.a.tables[1].start;
	made.a.tables[2] = table(5, 77, 1, 2);
	made.a.tables[3] = table(6, SWFT_FIXED, 1, 2);
	made.a.tables[3].state = 12;
	struct sw_ftables t = read_still();
	assert_int_equal(t.n, 1);
	assert_int_equal(t.n_bad, 4);
	sw_ftables_deinit(&t);
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Memory that another thread writes: after each so many reads a table is changed. */
struct changing {
	size_t reads, every, times;
};

static bool changing_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct changing *c = arg;
	struct sw_memory memory = fake_memory(&made.fake);
	if (++c->reads % c->every == 0 && c->times > 0) {
		made.a.tables[1].seq += 2;
		made.a.tables[1].id += 10;
		made.a.tables[1].check = ~made.a.tables[1].id;
		c->times--;
	}
	return sw_memory_read(memory, avma, buffer, length);
}

static struct sw_ftables read_running(struct changing *c)
{
	static const struct sw_memory_ops ops = {.read = changing_read};
	struct fake_memory empty = {0};
	struct sw_ftables t = {0};
	size_t left = SW_FTABLE_RECORDS_BYTES;
	assert_int_equal(sw_ftables_read(fake_memory(&empty), (struct sw_memory){&ops, c}, REGISTRY,
					 &left, &t),
			 0);
	return t;
}

TEST_WITH(test_running, setup, NULL)
{
	struct changing c = {.every = 1};
	struct sw_ftables t = read_running(&c);
	assert_null(t.problem);
	assert_int_equal(t.n, 3);
	assert_true(t.all[2].live);
	sw_ftables_deinit(&t);
}

/* Changed while it was read: read again, and then it is right. */
TEST_WITH(test_running_change, setup, NULL)
{
	for (size_t every = 1; every < 12; every++) {
		(void) setup(state);
		struct changing c = {.every = every, .times = 2};
		struct sw_ftables t = read_running(&c);
		assert_int_equal(t.n + t.n_busy, 3);
		for (size_t i = 0; i < t.n; i++)
			if (t.all[i].start_avma == 0x20000)
				assert_int_equal(t.all[i].id, 2 + (t.all[i].seq - 2) / 2 * 10);
		assert_int_equal(t.n_busy, 0);
		sw_ftables_deinit(&t);
	}
}

/* A table that never comes to rest, and one whose writer died in the middle, are not waited for. */
TEST_WITH(test_running_busy, setup, NULL)
{
	made.a.tables[0].seq = 5;
	struct changing c = {.every = 1, .times = SIZE_MAX};
	struct sw_ftables t = read_running(&c);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.n_busy, 2);
	assert_true(c.reads < 200);
	sw_ftables_deinit(&t);
}

TEST_WITH(test_unchanged, setup, NULL)
{
	struct sw_ftables t = read_still();
	assert_true(sw_ftable_unchanged(fake_memory(&made.fake), &t.all[2]));
	made.a.tables[1].seq++;
	assert_false(sw_ftable_unchanged(fake_memory(&made.fake), &t.all[2]));
	assert_false(sw_ftable_unchanged(none, &t.all[0]));
	sw_ftables_deinit(&t);
}

TEST_WITH(test_deferred, setup, NULL)
{
	made.a.tables[0].kind = SWFT_DEFERRED;
	memcpy(made.a.tables[0].format, "eh_frame", 8);
	made.a.tables[1].kind = SWFT_DEFERRED;
	memcpy(made.a.tables[1].format, "runtime_function", 16);
	made.a.tables[1].data = 0x6000;
	made.a.tables[1].count = UINT64_MAX;
	struct sw_ftables t = read_still();
	assert_int_equal(t.all[1].kind, SWFT_DEFERRED);
	assert_true(t.all[1].deferred);
	assert_int_equal(t.all[2].kind, SWFT_RUNTIME_FUNCTION);
	assert_string_equal(t.all[2].format, "runtime_function");
	assert_int_equal(sw_ftable_data_bytes(&t.all[2]), UINT64_MAX); /* too many, said so */
	sw_ftables_deinit(&t);
	made.a.tables[0].count = 100; /* the process runs, and its store of data was not seen */
	t = read_still();
	assert_int_equal(t.all[1].kind, SWFT_DEFERRED);
	sw_ftables_deinit(&t);
	made.a.tables[0].data = 0x5000;
	t = read_still();
	assert_int_equal(t.all[1].kind, SWFT_EH_FRAME);
	assert_int_equal(sw_ftable_data_bytes(&t.all[1]), 100);
	sw_ftables_deinit(&t);
}

/* Several registries may lead to the same chunks: all of them together have the limit. */
TEST_WITH(test_limit_of_all, setup, NULL)
{
	size_t left = 7 * sizeof(struct swft_table);
	struct sw_ftables t = {0};
	for (int i = 0; i < 2; i++)
		assert_int_equal(sw_ftables_read(fake_memory(&made.fake), none, REGISTRY, &left,
						 &t),
				 0);
	assert_null(t.problem);
	assert_int_equal(t.n, 6);
	assert_int_equal(left, sizeof(struct swft_table));
	assert_int_equal(sw_ftables_read(fake_memory(&made.fake), none, REGISTRY, &left, &t), 0);
	assert_string_equal(t.problem, "more tables than the limit");
	assert_int_equal(t.n, 7);
	assert_int_equal(left, 0);
	sw_ftables_deinit(&t);
}
