/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/order.h"
#include "test.h"

static uint64_t told[2 * SW_EVENT_ORDER_MAX];
static size_t n_told;
static struct sw_event last;
static char last_text[8];

static int note(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err)
{
	assert_int_equal(row, event->number + 100);
	told[n_told++] = event->number;
	last = *event;
	if (event->text != NULL)
		memcpy(last_text, event->text, event->text_size);
	return 0;
}

static struct sw_event_order order;

static void begin(void)
{
	order = (struct sw_event_order){.tell = note};
	n_told = 0;
}

static void come(uint64_t number)
{
	char text[] = {'t', (char) ('0' + number % 10)}; /* is gone afterwards */
	const struct sw_event event = {.number = number,
				       .n_handles = 2,
				       .handles = {{.number = 1}, {.number = (uint32_t) number}},
				       .result = (int64_t) number,
				       .text = text,
				       .text_size = sizeof(text)};
	assert_int_equal(sw_event_order_add(&order, &event, (uint32_t) number + 100, NULL), 0);
	memset(text, 'x', sizeof(text));
}

static void expect(const uint64_t *numbers, size_t n)
{
	assert_int_equal(n_told, n);
	assert_memory_equal(told, numbers, n * sizeof(*numbers));
}

#define EXPECT(...)                                                  \
	do {                                                         \
		const uint64_t numbers[] = {__VA_ARGS__};            \
		expect(numbers, sizeof(numbers) / sizeof(*numbers)); \
	} while (0)

TEST(test_two_cpus)
{
	begin();
	come(0);
	come(2);
	EXPECT(0);
	come(1);
	EXPECT(0, 1, 2);
	assert_memory_equal(last_text, "t2", 2);
	assert_int_equal(last.handles[1].number, 2);
	assert_int_equal(last.result, 2);
	come(5);
	come(4);
	come(6);
	come(3);
	EXPECT(0, 1, 2, 3, 4, 5, 6);
	assert_int_equal(order.n, 0);
	sw_event_order_deinit(&order);
}

/* Events that never come are waited for during two turns. */
TEST(test_lost)
{
	begin();
	come(0);
	come(3);
	assert_int_equal(sw_event_order_turn(&order, NULL), 0);
	come(5);
	assert_int_equal(sw_event_order_turn(&order, NULL), 0);
	EXPECT(0);
	assert_int_equal(sw_event_order_turn(&order, NULL), 0);
	EXPECT(0, 3);
	come(4); /* before it is too late */
	EXPECT(0, 3, 4, 5);
	come(2); /* too late */
	EXPECT(0, 3, 4, 5, 2);
	come(6);
	come(9);
	assert_int_equal(sw_event_order_end(&order, NULL), 0);
	EXPECT(0, 3, 4, 5, 2, 6, 9);
	sw_event_order_deinit(&order);
}

TEST(test_limit)
{
	begin();
	for (uint64_t i = SW_EVENT_ORDER_MAX; i > 0; i--) {
		assert_int_equal(n_told, 0);
		come(i);
	}
	assert_int_equal(n_told, SW_EVENT_ORDER_MAX);
	for (size_t i = 0; i < n_told; i++)
		assert_int_equal(told[i], i + 1);
	assert_int_equal(order.n, 0);
	come(SW_EVENT_ORDER_MAX + 5); /* still waits */
	sw_event_order_deinit(&order);
	assert_int_equal(n_told, SW_EVENT_ORDER_MAX);
}
