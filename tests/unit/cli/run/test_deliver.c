/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/deliver.h"
#include "cleanup.h"
#include "common/complain.h"
#include "test.h"

#include <sys/stat.h>

/* A directory that can be taken away between the first byte and the name of the file. */
struct place {
	char directory[32];
	char file[64];
};

static int setup(void **state)
{
	static struct place p;
	strcpy(p.directory, "/tmp/snapwalk-XXXXXX");
	(void) snprintf(p.file, sizeof(p.file), "%s/out", mkdtemp(p.directory));
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	const struct place *p = *state;
	(void) unlink(p->file);
	(void) rmdir(p->directory); /* the test may have done it */
	return 0;
}

static void begin(const struct place *p, const struct sw_options *options, struct sw_delivery *d)
{
	assert_int_equal(sw_delivery_begin(d, options, SW_FORMAT_JSON, p->file, NULL), 0);
	assert_int_equal(sw_delivery_put(d, "it", NULL, "{}", 2), SW_STATUS_COMPLETE);
	assert_int_equal(access(p->file, F_OK), -1);
}

TEST_OF(test_written, const struct place *p)
{
	const struct sw_options options = {0};
	struct sw_delivery d;
	struct stat st;
	begin(p, &options, &d);
	assert_int_equal(sw_delivery_end(&d, SW_STATUS_COMPLETE), SW_STATUS_COMPLETE);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_size, 3);
}

/* The file could not be put in place: that is not told by status 0. */
TEST_OF(test_not_put_in_place, const struct place *p)
{
	const struct sw_options options = {0};
	struct sw_delivery d;
	begin(p, &options, &d);
	assert_int_equal(mkdir(p->file, 0700), 0); /* nothing can be renamed to it */
	assert_int_equal(sw_delivery_end(&d, SW_STATUS_COMPLETE), SW_STATUS_NOTHING);
	assert_int_equal(rmdir(p->file), 0);
	assert_int_equal(rmdir(p->directory), 0); /* and nothing is left behind */
}

/* Nothing to write: no file, and the status is what it was. */
TEST_OF(test_nothing, const struct place *p)
{
	const struct sw_options options = {0};
	struct sw_delivery d;
	assert_int_equal(sw_delivery_begin(&d, &options, SW_FORMAT_JSON, p->file, NULL), 0);
	assert_int_equal(sw_delivery_end(&d, SW_STATUS_MISSING), SW_STATUS_MISSING);
	assert_int_equal(access(p->file, F_OK), -1);
}
