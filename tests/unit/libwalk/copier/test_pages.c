/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* copier/pages: memory that is fetched when it is missed. */
#include "copier/pages.h"
#include "test.h"

#include <sys/mman.h>

enum { PAGE = SW_COPIER_PAGE_BYTES, GAP = 0x666000 };

/* 128 MB, mapped as in the product: the leak sanitizer reads all static memory at the end of each test of the folder. */
static struct sw_copier_channel *channel;
static struct sw_copier_pages pages;
static struct {
	size_t n, n_ranges, n_bytes;
	bool refuse; /* from now on all is over */
} asked;

/* Each byte is the number of its page; nothing is at GAP. */
static void ask(const void *arg)
{
	asked.n++;
	asked.n_ranges += channel->n_ranges;
	if (asked.refuse)
		channel->over = 1;
	for (size_t i = 0, at = 0; i < channel->n_ranges; i++) {
		struct sw_copier_range *r = &channel->ranges[i];
		asked.n_bytes += r->bytes;
		r->ok = !asked.refuse && (r->avma > GAP || r->avma + r->bytes <= GAP);
		r->at = (uint32_t) (at + asked.n % 64 * 8 * PAGE);
		for (uint32_t k = 0; r->ok && k < r->bytes; k++)
			channel->pool[r->at + k] = (uint8_t) ((r->avma + k) / PAGE);
		at += r->bytes;
	}
}

static bool read_u8(uint64_t avma, uint8_t *ret)
{
	return sw_memory_read(sw_copier_pages_memory(&pages, false), avma, ret, 1);
}

/* As the copier does where nothing is foreseen. */
static void next_run(void)
{
	memset(channel->read, 0, sizeof(channel->read));
	channel->n_ranges = 0;
	sw_copier_pages_begin(&pages);
}

static int setup(void **state)
{
	channel = mmap(NULL, sizeof(*channel), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(channel != MAP_FAILED);
	memset(&asked, 0, sizeof(asked));
	pages = (struct sw_copier_pages){.channel = channel, .ask = ask};
	sw_copier_pages_begin(&pages);
	return 0;
}

static int teardown(void **state)
{
	munmap(channel, sizeof(*channel));
	return 0;
}

static unsigned n_granules(void)
{
	unsigned n = 0;
	for (size_t i = 0; i < SW_COPIER_PAGES_MAX; i++)
		n += (unsigned) __builtin_popcountll(channel->read[i]);
	return n;
}

/* Each run notes what is read of its pages, and nothing else. */
TEST_WITH(test_noted, setup, teardown)
{
	enum { GRANULE = SW_COPIER_GRANULE_BYTES };
	uint8_t bytes[2 * GRANULE], byte;
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	assert_true(sw_memory_read(m, 0x10000 + GRANULE - 1, bytes, GRANULE + 2));
	assert_int_equal(n_granules(), 3);
	assert_int_equal(channel->read[channel->ranges[0].at / PAGE], 7);
	assert_true(sw_memory_read(m, 0x10fff, bytes, 1));
	assert_int_equal(n_granules(), 4);
	assert_int_equal(channel->read[channel->ranges[0].at / PAGE], 7 | UINT64_C(1) << 63);
	assert_true(sw_memory_read(m, 0x10ffe, bytes, 3));
	assert_int_equal(n_granules(), 5);
	next_run();
	assert_int_equal(n_granules(), 0);
	assert_true(read_u8(0x10000, &byte));
	assert_int_equal(n_granules(), 1);
}

/* The bytes that were looked at are not noted, but the page is foreseen. */
TEST_WITH(test_look, setup, teardown)
{
	uint8_t byte;
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	assert_true(sw_memory_look(m, 0x10040, &byte, 1));
	assert_int_equal(byte, 0x10);
	assert_int_equal(asked.n, 1);
	assert_int_equal(n_granules(), 0);
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 1);
	assert_int_equal(channel->foreseen[0].avma, 0x10000);
	assert_int_equal(channel->foreseen[0].read, 0);
	assert_true(sw_memory_read(m, 0x10040, &byte, 1));
	assert_int_equal(asked.n, 1);
	assert_int_equal(n_granules(), 1);
	assert_false(sw_memory_look(m, GAP, &byte, 1));
	assert_true(sw_memory_look(sw_copier_pages_memory(&pages, true), 0x10040, &byte, 1));
}

/* A page of which something was only looked at is fetched, and that is all: it is not noted, nor foreseen. */
TEST_WITH(test_peek, setup, teardown)
{
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	uint8_t byte = 0;
	assert_true(sw_memory_peek(m, 0x10000, &byte, 1));
	assert_int_equal(byte, 0x10);
	assert_true(sw_memory_read(m, 0x11000, &byte, 1));
	assert_true(sw_memory_peek(m, 0x11040, &byte, 1));
	assert_int_equal(asked.n, 2);
	assert_int_equal(n_granules(), 1);
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 1);
	assert_int_equal(channel->foreseen[0].avma, 0x11000);
	assert_int_equal(channel->foreseen[0].read, 1);
}

/* A page is fetched once, and a read goes on in the next one. */
TEST_WITH(test_demand, setup, teardown)
{
	uint8_t bytes[PAGE + 2];
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	assert_int_equal(asked.n, 0);
	assert_true(sw_memory_read(m, 0x10ffff, bytes, sizeof(bytes)));
	assert_int_equal(bytes[0], 0x0f);
	assert_int_equal(bytes[1], 0x10);
	assert_int_equal(bytes[PAGE + 1], 0x11);
	assert_int_equal(asked.n, 3);
	assert_true(sw_memory_read(m, 0x110008, bytes, 8));
	assert_int_equal(asked.n, 3);
	assert_false(sw_memory_read(m, UINT64_MAX - 3, bytes, 8));
	assert_int_equal(asked.n, 3);
	assert_true(sw_memory_is_32bit(sw_copier_pages_memory(&pages, true)));
}

/* A page that is not there is not asked for again in the same run, but in the next one. */
TEST_WITH(test_missing, setup, teardown)
{
	uint8_t byte;
	for (int i = 0; i < 3; i++)
		assert_false(read_u8(GAP + 5, &byte));
	assert_int_equal(asked.n, 1);
	next_run();
	assert_int_equal(asked.n, 1);
	assert_false(read_u8(GAP + 5, &byte));
	assert_int_equal(asked.n, 2);
}

/* The first miss of each part of the work is fetched, all in one turn. */
TEST_WITH(test_parts, setup, teardown)
{
	static const uint64_t firsts[] = {0x3000, 0x5000, 0x3008, GAP};
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	uint8_t byte;
	assert_true(read_u8(0x9000, &byte));
	assert_false(m.ops->fetch(m.arg));
	for (size_t i = 0; i < 4; i++) {
		m.ops->part(m.arg);
		assert_true(i == 0 || !read_u8(firsts[i - 1], &byte));
		m.ops->part(m.arg);
		assert_true(read_u8(0x9001, &byte));
		assert_false(read_u8(firsts[i], &byte));
		/* Where it led to is not known, nor what else was there. */
		assert_false(read_u8(0x7000, &byte));
		assert_false(read_u8(0x9001, &byte));
	}
	assert_int_equal(asked.n, 1);
	assert_true(m.ops->fetch(m.arg));
	assert_int_equal(asked.n, 2);
	assert_int_equal(asked.n_ranges, 1 + 3);
	assert_false(m.ops->fetch(m.arg));
	assert_true(read_u8(0x3007, &byte));
	assert_int_equal(byte, 3);
	assert_true(read_u8(0x5000, &byte));
	assert_int_equal(byte, 5);
	assert_false(read_u8(GAP, &byte));
	assert_int_equal(asked.n, 2);
	assert_true(read_u8(0x7000, &byte));
	assert_int_equal(asked.n, 3);
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 4);
}

/* At the limit of a run nothing is fetched any more, and each read of what is missing fails. */
TEST_WITH(test_parts_over, setup, teardown)
{
	struct sw_memory m = sw_copier_pages_memory(&pages, false);
	uint8_t byte;
	m.ops->part(m.arg);
	assert_false(read_u8(0x3000, &byte));
	asked.refuse = true;
	assert_true(m.ops->fetch(m.arg));
	assert_true(pages.over);
	assert_false(read_u8(0x3000, &byte));
	m.ops->part(m.arg);
	assert_false(read_u8(0x5000, &byte));
	assert_false(m.ops->fetch(m.arg));
	assert_int_equal(asked.n, 1);
}

/* A rehearsal lists the pages that were read, by address, and what was read of them. */
TEST_WITH(test_listed, setup, teardown)
{
	static const uint64_t reads[] = {0x5000, 0x3000, 0x4fff, 0x9040};
	static const uint64_t pages_read[] = {0x3000, 0x4000, 0x5000, 0x9000};
	uint8_t byte;
	for (size_t i = 0; i < 4; i++)
		assert_true(read_u8(reads[i], &byte));
	assert_false(read_u8(GAP, &byte));
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(channel->foreseen[i].avma, pages_read[i]);
	assert_int_equal(channel->foreseen[1].read, UINT64_C(1) << 63);
	assert_int_equal(channel->foreseen[2].read, 1);
	assert_int_equal(channel->foreseen[3].read, 2);
	next_run();
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 0);
}

/* A page that the copier foresaw is there, or is not there, without a question. */
TEST_WITH(test_foreseen, setup, teardown)
{
	uint8_t byte;
	channel->ranges[0] = (struct sw_copier_range){.avma = 0x3000, .bytes = PAGE, .ok = 1};
	channel->ranges[1] = (struct sw_copier_range){.avma = 0x5000, .bytes = PAGE};
	channel->pool[7] = 33;
	channel->n_ranges = 2;
	sw_copier_pages_begin(&pages);
	assert_true(read_u8(0x3007, &byte));
	assert_int_equal(byte, 33);
	assert_false(read_u8(0x5000, &byte));
	assert_int_equal(asked.n, 0);
	assert_true(read_u8(0x4000, &byte));
	assert_int_equal(asked.n, 1);
	assert_int_equal(asked.n_bytes, PAGE);
	/* No one of them is listed that is not read. */
	next_run();
	channel->n_ranges = 1;
	channel->ranges[0] = (struct sw_copier_range){.avma = 0x3000, .bytes = PAGE, .ok = 1};
	sw_copier_pages_begin(&pages);
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, 0);
}

/* Too late: a page that was not copied may be there all the same. */
TEST_WITH(test_foreseen_over, setup, teardown)
{
	uint8_t byte;
	channel->ranges[0] = (struct sw_copier_range){.avma = 0x5000, .bytes = PAGE};
	channel->n_ranges = 1;
	channel->over = 1;
	sw_copier_pages_begin(&pages);
	assert_true(pages.over);
	assert_int_equal(pages.n, 0);
	assert_false(read_u8(0x5000, &byte));
	assert_int_equal(asked.n, 0);
}

/* From the deadline on only what was fetched before is there, and nobody is asked. */
TEST_WITH(test_over, setup, teardown)
{
	uint8_t byte;
	assert_true(read_u8(0x1000, &byte));
	asked.refuse = true;
	assert_false(read_u8(0x2000, &byte));
	assert_true(pages.over);
	assert_false(read_u8(0x3000, &byte));
	assert_int_equal(asked.n, 2);
	assert_true(read_u8(0x1001, &byte));
	asked.refuse = false;
	channel->over = 0;
	next_run();
	assert_true(read_u8(0x2000, &byte));
}

/* More pages than there is space for: the others cannot be read, and that is said. */
TEST_WITH(test_many, setup, teardown)
{
	uint8_t byte;
	size_t n = 0;
	while (n < SW_COPIER_SLOTS && read_u8(0x10000000 + n * PAGE, &byte))
		n++;
	assert_int_equal(n, SW_COPIER_KNOWN_MAX);
	assert_true(pages.over);
	sw_copier_pages_list(&pages);
	assert_int_equal(channel->n_foreseen, SW_COPIER_PAGES_MAX);
}
