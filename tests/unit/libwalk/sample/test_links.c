/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/links.h"
#include "fake_process.h"
#include "test.h"

static void look(size_t number, struct fake_look *ret)
{
	*ret = (struct fake_look){.n = 1, .records = {{.tid = 1, .runtime_ns = 5}}};
}

static size_t record_read(struct sw_sample_links *links, pid_t tid)
{
	struct sw_iterate_record record;
	size_t n = SIZE_MAX;
	assert_int_equal(sw_sample_link_read(links, tid, &record, &n, NULL), 0);
	return n;
}

/* The links that were asked for last are kept. */
TEST(test_kept)
{
	struct sw_sample_links links;
	fake_process = (struct fake_process){.look = look};
	sw_sample_links_init(&links, -EBADF, -EBADF);
	for (pid_t tid = 1; tid <= SW_SAMPLE_LINKS; tid++)
		assert_int_equal(record_read(&links, tid), tid == 1);
	assert_int_equal(fake_process.n_links, SW_SAMPLE_LINKS);
	assert_int_equal(record_read(&links, 1), 1);
	assert_int_equal(fake_process.n_links, SW_SAMPLE_LINKS);
	(void) record_read(&links, SW_SAMPLE_LINKS + 1); /* in the place of thread 2 */
	assert_int_equal(record_read(&links, 1), 1);
	(void) record_read(&links, 3);
	assert_int_equal(fake_process.n_links, SW_SAMPLE_LINKS + 1);
	(void) record_read(&links, 2);
	assert_int_equal(fake_process.n_links, SW_SAMPLE_LINKS + 2);
	sw_sample_links_deinit(&links);
	fake_process = (struct fake_process){0};
}

/* A thread that ended since it was seen has no record, which is no error. */
TEST(test_ended)
{
	struct sw_sample_links links;
	fake_process = (struct fake_process){.look = look, .gone_tid = 7};
	sw_sample_links_init(&links, -EBADF, -EBADF);
	assert_int_equal(record_read(&links, 7), 0);
	assert_int_equal(fake_process.n_looks, 0);
	assert_int_equal(record_read(&links, 1), 1);
	sw_sample_links_deinit(&links);
	fake_process = (struct fake_process){0};
}
