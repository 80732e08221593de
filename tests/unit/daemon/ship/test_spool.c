/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/known.h"
#include "ship/spool.h"
#include "cleanup.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char directory[] = "/tmp/ship-spool-XXXXXX";
static struct sw_ship_shared shared;

static int setup(void **state)
{
	(void) snprintf(directory, sizeof(directory), "/tmp/ship-spool-XXXXXX");
	memset(&shared, 0, sizeof(shared));
	return mkdtemp(directory) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void) snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static void make(struct sw_ship_batch *batch, const char *id, const char *body)
{
	*batch = (struct sw_ship_batch){.n_ids = 1, .body = strdup(body), .size = strlen(body)};
	(void) snprintf(batch->ids[0].text, sizeof(batch->ids[0].text), "%s", id);
}

static void add(struct sw_spool *spool, enum sw_ship_kind kind, const char *id, const char *body)
{
	struct sw_ship_batch batch;
	make(&batch, id, body);
	assert_int_equal(sw_spool_add(spool, kind, &batch, NULL), 0);
	assert_int_equal(batch.file_bytes, sw_spool_cost(&batch));
	sw_ship_batch_deinit(&batch);
}

static size_t count(const struct sw_spool *spool, enum sw_ship_kind kind)
{
	sw_cleanup(sw_free_p) uint64_t *numbers = NULL;
	size_t n = 0;
	assert_int_equal(sw_spool_list(spool, kind, &numbers, &n, NULL), 0);
	for (size_t i = 1; i < n; i++)
		assert_true(numbers[i - 1] < numbers[i]);
	return n;
}

static int collect_ids(void *arg, const char *id)
{
	strcat(arg, id);
	strcat(arg, " ");
	return 0;
}

TEST_WITH(test_life_of_a_batch, setup, teardown)
{
	struct sw_spool spool;
	struct sw_ship_batch batch = {0};
	char ids[256] = "";
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	add(&spool, SW_SHIP_PROFILES, "first", "one\n\0");
	add(&spool, SW_SHIP_PROFILES, "second", "two");
	add(&spool, SW_SHIP_DUMPS, "dump", "three");
	assert_int_equal(count(&spool, SW_SHIP_PROFILES), 2);
	assert_int_equal(count(&spool, SW_SHIP_DUMPS), 1);
	assert_int_equal(sw_spool_read(&spool, SW_SHIP_PROFILES, 1, &batch, NULL), 0);
	assert_string_equal(batch.ids[0].text, "first");
	assert_int_equal(batch.size, 4);
	assert_memory_equal(batch.body, "one\n", 4);
	assert_int_equal(batch.file_bytes, sw_spool_cost(&batch));
	assert_int_equal(sw_spool_done(&spool, SW_SHIP_PROFILES, 1, &batch, NULL), 0);
	sw_ship_batch_deinit(&batch);
	assert_int_equal(count(&spool, SW_SHIP_PROFILES), 1);
	assert_int_equal(sw_spool_known(&spool, collect_ids, ids, NULL), 0);
	assert_string_equal(ids, "first second dump ");
	sw_spool_close(&spool);

	/* After a new start numbers go on, and what is there is counted. */
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	assert_int_equal(shared.spool_files, 2);
	assert_true(shared.spool_bytes > 0);
	assert_int_equal(spool.next[SW_SHIP_PROFILES], 3);
	assert_int_equal(spool.next[SW_SHIP_DUMPS], 2);
	sw_spool_close(&spool);
}

TEST_WITH(test_keys, setup, teardown)
{
	struct sw_ship_batch one = {.n_ids = 2, .ids = {{"a"}, {"bc"}}};
	struct sw_ship_batch same = {.n_ids = 2, .ids = {{"a"}, {"bc"}}};
	struct sw_ship_batch other = {.n_ids = 2, .ids = {{"ab"}, {"c"}}};
	struct sw_spool spool;
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	one.body = same.body = other.body = "";
	assert_int_equal(sw_spool_add(&spool, SW_SHIP_DUMPS, &one, NULL), 0);
	assert_int_equal(sw_spool_add(&spool, SW_SHIP_DUMPS, &same, NULL), 0);
	assert_int_equal(sw_spool_add(&spool, SW_SHIP_DUMPS, &other, NULL), 0);
	assert_int_equal(strlen(one.key), SW_SHIP_KEY_SIZE - 1);
	assert_string_equal(one.key, same.key);
	assert_string_not_equal(one.key, other.key);
	sw_spool_close(&spool);
}

TEST(test_damaged)
{
	static const char *const bad[] = {
		"",
		"snapwalk-ship/1 ",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3 id\nab",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3 id\nabcd",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3 id",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3\nabc",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef x id\nabc",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef -3 id\nabc",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3 ../id\nabc",
		"snapwalk-ship/1 0123456789abcdef0123456789abcdeX 3 id\nabc",
		"snapwalk-ship/1 0123 3 id\nabc",
		"snapwalk-ship/2 0123456789abcdef0123456789abcdef 3 id\nabc",
	};
	struct sw_ship_batch batch = {0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		struct sw_error err = {0};
		if (sw_ship_batch_parse(bad[i], strlen(bad[i]), &batch, &err) != -SW_E_FORMAT)
			fail_msg("'%s' was taken", bad[i]);
	}
	static const char good[] =
		"snapwalk-ship/1 0123456789abcdef0123456789abcdef 3 id other\nab\n";
	assert_int_equal(sw_ship_batch_parse(good, strlen(good), &batch, NULL), 0);
	assert_int_equal(batch.n_ids, 2);
	assert_string_equal(batch.ids[1].text, "other");
	assert_memory_equal(batch.body, "ab\n", 3);
	sw_ship_batch_deinit(&batch);
}

TEST(test_ids)
{
	char id[SW_SHIP_ID_MAX + 2];
	memset(id, 'a', sizeof(id));
	id[SW_SHIP_ID_MAX + 1] = '\0';
	assert_false(sw_ship_id_valid(id));
	id[SW_SHIP_ID_MAX] = '\0';
	assert_true(sw_ship_id_valid(id));
	assert_true(sw_ship_id_valid("20261130T212500.123Z-42-ab"));
	assert_false(sw_ship_id_valid(""));
	assert_false(sw_ship_id_valid("a b"));
	assert_false(sw_ship_id_valid("a/b"));
	assert_false(sw_ship_id_valid("a\n"));
}

/* The directory of another's, and one that others may write to. */
TEST_WITH(test_directory, setup, teardown)
{
	struct sw_spool spool;
	struct sw_error err = {0};
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(sw_spool_open(directory, &shared, &spool, &err), -SW_E_NOT_PERMITTED);
	assert_int_equal(chmod(directory, 0700), 0);
	assert_int_equal(sw_spool_open(directory, &shared, &spool, &err), 0);
	sw_spool_close(&spool);
	assert_int_equal(sw_spool_open("/nowhere/spool", &shared, &spool, &err), -SW_E_IO);
}

TEST_WITH(test_lock, setup, teardown)
{
	struct sw_spool spool, other;
	struct sw_error err = {0};
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	assert_int_equal(sw_spool_open(directory, &shared, &other, &err), -SW_E_RUNNING);
	assert_string_equal(err.message, "another snapwalk-ship uses this spool");
	sw_spool_close(&spool);
	assert_int_equal(sw_spool_open(directory, &shared, &other, NULL), 0);
	sw_spool_close(&other);
}

TEST_WITH(test_cannot_write, setup, teardown)
{
	struct sw_spool spool;
	struct sw_ship_batch batch;
	struct sw_error err = {0};
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	/* The name under which a batch is written is taken by what cannot be opened for writing. */
	assert_int_equal(mkdirat(spool.dir_fd, "p-00000000000000000001.new", 0700), 0);
	make(&batch, "id", "body");
	assert_int_equal(sw_spool_add(&spool, SW_SHIP_PROFILES, &batch, &err), -SW_E_IO);
	assert_int_equal(spool.next[SW_SHIP_PROFILES], 1);
	assert_int_equal(count(&spool, SW_SHIP_PROFILES), 0);
	assert_int_equal(unlinkat(spool.dir_fd, "p-00000000000000000001.new", AT_REMOVEDIR), 0);
	assert_int_equal(sw_spool_add(&spool, SW_SHIP_PROFILES, &batch, NULL), 0);
	assert_int_equal(count(&spool, SW_SHIP_PROFILES), 1);
	sw_ship_batch_deinit(&batch);
	sw_spool_close(&spool);
}

/* The list of what is done ends in half a line, after a crash. */
TEST_WITH(test_cut_list, setup, teardown)
{
	static const char list[] = "whole\nhal f";
	struct sw_spool spool;
	char ids[256] = "";
	assert_int_equal(sw_spool_open(directory, &shared, &spool, NULL), 0);
	assert_int_equal(sw_spool_write(&spool, "p-done", list, strlen(list), NULL), 0);
	assert_int_equal(sw_spool_known(&spool, collect_ids, ids, NULL), 0);
	assert_string_equal(ids, "whole ");
	sw_spool_close(&spool);
}

TEST(test_known)
{
	struct sw_ship_known known = {0};
	char id[32];
	const size_t n = 2 * (size_t) SW_SHIP_DONE_MAX + 10;
	for (size_t i = 0; i < n; i++) {
		(void) snprintf(id, sizeof(id), "id-%zu", i);
		assert_int_equal(sw_ship_known_add(&known, id), 0);
	}
	assert_true(sw_ship_known_has(&known, id));
	(void) snprintf(id, sizeof(id), "id-%zu", n - SW_SHIP_DONE_MAX);
	assert_true(sw_ship_known_has(&known, id));
	assert_false(sw_ship_known_has(&known, "id-0"));
	assert_false(sw_ship_known_has(&known, "other"));
	sw_ship_known_deinit(&known);
}
