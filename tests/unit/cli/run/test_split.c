/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/split.h"
#include "cleanup.h"
#include "common/complain.h"
#include "test.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>

enum { PARTS = 8, SUBJECTS = PARTS * SW_SPLIT_SUBJECTS - 1, LONG_BYTES = 4 << 20 };

/* The memory that the workers and we share. */
struct shared {
	_Atomic pid_t writes; /* the worker that writes a part which no pipe holds */
};

static struct shared *shared;
static pid_t parent;
static unsigned n_forks, n_good_forks; /* those before have been, and so many are permitted */

/* In the place of libc's function. */
pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void)) dlsym(RTLD_NEXT, "fork");
	if (n_forks++ >= n_good_forks) {
		errno = EAGAIN;
		return -1;
	}
	return real();
}

static void say(struct sw_delivery *d, const char *text)
{
	struct sw_error err;
	assert_int_equal(sw_output_write(&d->output, text, strlen(text), &err), 0);
}

/* A line for each subject, with the number of the dump. */
static int dump_lines(void *arg, struct sw_delivery *d, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		char line[64];
		(void) snprintf(line, sizeof(line), "%zu %zu\n", i, ++d->n_written);
		say(d, line);
		d->n_matched++;
	}
	return first == 0 ? SW_STATUS_MISSING : SW_STATUS_COMPLETE;
}

/* Dump likewise; a worker fills its pipe with the second part. */
static int dump_much(void *arg, struct sw_delivery *d, size_t first, size_t end)
{
	static char much[LONG_BYTES + 1];
	if (getpid() != parent && first == SW_SPLIT_SUBJECTS) {
		memset(much, 'x', LONG_BYTES);
		say(d, much);
		shared->writes = getpid();
	}
	return dump_lines(arg, d, first, end);
}

static bool sleeps(pid_t pid)
{
	char path[32], state = '?';
	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %*s %c", &state), 1);
	assert_int_equal(fclose(f), 0);
	return state == 'S';
}

static void kill_after_the_first(size_t done, size_t all)
{
	assert_int_equal(all, SUBJECTS);
	if (done != SW_SPLIT_SUBJECTS)
		return;
	while (shared->writes == 0 || !sleeps(shared->writes))
		(void) usleep(1000);
	assert_int_equal(kill(shared->writes, SIGKILL), 0);
}

static int split(const struct sw_split_work *work)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0}, expected = {0};
	static const struct sw_options options;
	struct sw_delivery d = {
		.options = &options,
		.format = SW_FORMAT_JSON,
		.output = {.fd = -EBADF, .direct = true, .memory = &text},
	};
	int status = sw_split(&d, SUBJECTS, work);
	for (int i = 0; i < SUBJECTS; i++)
		sw_text_printf(&expected, "%d %d\n", i, i + 1);
	assert_string_equal(text.data, expected.data);
	assert_int_equal(d.n_written, SUBJECTS);
	assert_int_equal(d.n_matched, SUBJECTS);
	assert_false(d.broken);
	return status;
}

static int setup(void **state)
{
	parent = getpid();
	n_forks = 0;
	n_good_forks = UINT32_MAX;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	return munmap(shared, sizeof(*shared));
}

TEST_WITH(parts_come_in_order, setup, teardown)
{
	const struct sw_split_work work = {.dump = dump_lines};
	assert_int_equal(split(&work), SW_STATUS_MISSING);
	assert_true(n_forks > 0);
}

TEST_WITH(what_cannot_be_started_is_done_here, setup, teardown)
{
	const struct sw_split_work work = {.dump = dump_lines};
	for (unsigned good = 0; good < 3; good++) {
		n_forks = 0;
		n_good_forks = good;
		assert_int_equal(split(&work), SW_STATUS_MISSING);
		assert_true(n_forks > 0);
	}
}

/* The worker's first part may be there; the rest of its parts is dumped here, and nothing of half a
 * part is written. */
TEST_WITH(what_a_worker_leaves_is_done_here, setup, teardown)
{
	const struct sw_split_work work = {.dump = dump_much, .progress = kill_after_the_first};
	assert_int_equal(split(&work), SW_STATUS_MISSING);
	assert_true(shared->writes > 0);
}
