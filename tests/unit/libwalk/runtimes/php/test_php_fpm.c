/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/php/fpm: the pool of a process of php-fpm, over made memory. */
#include "fake.h"
#include "runtimes/php/fpm.h"
#include "test.h"

enum { BOARD = 0x20000, OTHER = 0x30000 };

struct board {
	char lock[16], pool[32];
	uint32_t pm, padding;
	uint64_t start;
	uint32_t idle, active, most_active, more;
	uint64_t requests;
	uint32_t reached, queue, longest, limit, processes, free;
};

static struct board board;
static uint8_t other[sizeof(board)];
static struct sw_thread_pool pool;

static void setup_board(void)
{
	board = (struct board){.pool = "www", .pm = 2, .active = 3, .queue = 7, .processes = 5};
}

static void look(void)
{
	static const char shared[] = "/dev/zero (deleted)";
	struct sw_map maps[] = {
		{.start_avma = OTHER, .end_avma = OTHER + 0x1000, .path = shared},
		{.start_avma = 0x1000, .end_avma = 0x2000, .path = shared}, /* it cannot be read */
		{.start_avma = BOARD, .end_avma = BOARD + 0x1000, .path = shared},
	};
	struct fake_memory fake =
		FAKE_MEMORY({BOARD, &board, sizeof(board)}, {OTHER, other, sizeof(other)});
	struct sw_snapshot snap = {.maps = maps, .n_maps = 3};
	pool = (struct sw_thread_pool){0};
	sw_php_fpm_pool(&snap, fake_memory(&fake), &pool);
}

TEST(test_pool)
{
	setup_board();
	look();
	assert_true(pool.known);
	assert_string_equal(pool.name, "www");
	assert_int_equal(pool.working, 3);
	assert_int_equal(pool.threads, 3);
	assert_int_equal(pool.most, 5);
	assert_int_equal(pool.queued, 7);
	assert_int_equal(pool.taken_ms, -1);
	assert_true(pool.waits);
	board.idle = 2;
	board.queue = 0;
	look();
	assert_int_equal(pool.threads, 5);
	assert_int_equal(pool.queued, 0);
	assert_false(pool.waits);
	board.queue = UINT32_MAX; /* the kernel does not tell it */
	look();
	assert_int_equal(pool.queued, -1);
	assert_false(pool.waits);
}

/* Memory that is shared for another purpose. */
TEST(test_no_pool)
{
	static const struct {
		size_t off;
		uint32_t value;
	} cases[] = {
		{offsetof(struct board, pool), 0},
		{offsetof(struct board, pool), 0x01777777},
		{offsetof(struct board, pm), 0},
		{offsetof(struct board, pm), 4},
		{offsetof(struct board, idle), 6},
		{offsetof(struct board, idle), 3}, /* more than there may be, together */
		{offsetof(struct board, idle), UINT32_MAX},
		{offsetof(struct board, active), UINT32_MAX},
		{offsetof(struct board, processes), 0},
		{offsetof(struct board, processes), (1 << 16) + 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup_board();
		memcpy((uint8_t *) &board + cases[i].off, &cases[i].value, sizeof(cases[i].value));
		look();
		assert_false(pool.known);
	}
	setup_board();
	memset(board.pool, 'w', sizeof(board.pool)); /* no end */
	look();
	assert_false(pool.known);
}
