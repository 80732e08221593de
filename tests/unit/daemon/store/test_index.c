/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index.h"
#include "cleanup.h"
#include "test.h"

static void insert(struct sw_store_index *index, int64_t time_ns, const char *id)
{
	struct sw_store_head *head = calloc(1, sizeof(*head));
	assert_non_null(head);
	head->text = strdup(id);
	head->entry = (struct sw_store_entry){.id = head->text,
					      .time_ns = time_ns,
					      .file_bytes = 10 + (uint64_t) time_ns};
	assert_int_equal(sw_store_index_reserve(index), 0);
	sw_store_index_insert(index, head);
}

/* By time, those of the same time by id; in whatever order they come. */
TEST(order)
{
	static const struct {
		int64_t time_ns;
		const char *id;
	} sorted[] = {{1, "m"}, {2, "b"}, {2, "c"}, {3, "a"}, {9, "z"}};
	static const int orders[][5] = {{0, 1, 2, 3, 4},
					{4, 3, 2, 1, 0},
					{2, 4, 0, 3, 1},
					{3, 1, 4, 2, 0}};
	for (size_t o = 0; o < SW_ARRAY_SIZE(orders); o++) {
		struct sw_store_index index = {0};
		for (size_t i = 0; i < 5; i++)
			insert(&index, sorted[orders[o][i]].time_ns, sorted[orders[o][i]].id);
		assert_int_equal(index.n, 5);
		assert_int_equal(index.bytes, 5 * 10 + 17);
		for (size_t i = 0; i < 5; i++)
			assert_string_equal(index.heads[i]->entry.id, sorted[i].id);
		sw_store_index_deinit(&index);
		assert_int_equal(index.n, 0);
	}
}

TEST(find_and_remove)
{
	struct sw_store_index index = {0};
	size_t at = 99;
	assert_null(sw_store_index_find(&index, "a", &at));
	for (int i = 0; i < 200; i++) { /* the table grows twice */
		char id[8];
		snprintf(id, sizeof(id), "i%d", i);
		insert(&index, i, id);
	}
	assert_string_equal(sw_store_index_find(&index, "i150", &at)->entry.id, "i150");
	assert_int_equal(at, 150);
	sw_store_index_remove(&index, 150);
	assert_null(sw_store_index_find(&index, "i150", &at));
	assert_int_equal(at, 150); /* set only when found */
	assert_string_equal(index.heads[150]->entry.id, "i151");
	assert_int_equal(index.n, 199);
	assert_int_equal(index.bytes, 200 * 10 + 199 * 100 - 160);
	sw_store_index_remove(&index, 198);
	sw_store_index_remove(&index, 0);
	assert_string_equal(index.heads[0]->entry.id, "i1");
	assert_string_equal(index.heads[196]->entry.id, "i198");
	sw_store_index_deinit(&index);
	sw_store_head_free(NULL);
}
