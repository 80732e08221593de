/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Children that are not trusted to end. */
#include "run/apart.h"
#include "cleanup.h"
#include "errors.h"
#include "skip.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static int answer(void *arg, int fd)
{
	return write(fd, "four", 4) == 4 ? 7 : 1;
}

static int sleep_on(void *arg, int fd)
{
	(void) pause(); /* no signal comes but that which kills it */
	return 0;
}

static int write_on(void *arg, int fd)
{
	char bytes[4096];
	memset(bytes, 'x', sizeof(bytes));
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	return 0;
}

static int finish(int (*work)(void *arg, int fd), int64_t for_ns, size_t max_bytes,
		  size_t *ret_size, int *ret_status)
{
	struct sw_apart apart;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	assert_int_equal(sw_apart_start(&apart, work, NULL, NULL), 0);
	int r = sw_apart_finish_within(&apart, for_ns > 0 ? sw_clock_ns() + for_ns : 0, max_bytes,
				       &text, ret_status, NULL);
	*ret_size = text.size;
	assert_int_equal(apart.pid, 0);
	return r;
}

TEST(test_answer)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(answer, 0, 4, &size, &status), 0);
	assert_int_equal(size, 4);
	assert_int_equal(status, 7);
}

/* 1: the map is still open; 2: it is still mapped; 4: the pipe of the answer is gone. */
static int bpf_look(void *arg, int fd)
{
	const int map_fd = *(const int *) arg;
	struct sw_error err;
	char line[4096];
	int found = 0;
	if (sw_apart_drop_bpf(&err) < 0)
		return 8;
	found |= fcntl(map_fd, F_GETFD) >= 0 ? 1 : 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		found |= strstr(line, "bpf-map") != NULL ? 2 : 0;
	if (maps != NULL)
		(void) fclose(maps); /* was read */
	return found | (write(fd, "x", 1) == 1 ? 0 : 4);
}

/* The child that parses has no map of the parent's, whose own stays. */
TEST(test_drop_bpf)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = sizeof(uint32_t),
			       .value_size = sizeof(uint64_t),
			       .max_entries = 1,
			       .map_flags = BPF_F_MMAPABLE};
	struct sw_apart apart;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int status = -1;
	sw_cleanup(sw_close_p) int fd = (int) syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		SKIP("no BPF map can be made", "root");
	size_t bytes = (size_t) sysconf(_SC_PAGESIZE);
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(sw_apart_start(&apart, bpf_look, &fd, NULL), 0);
	assert_int_equal(sw_apart_finish_within(&apart, 0, SIZE_MAX, &text, &status, NULL), 0);
	assert_int_equal(status, 0);
	assert_int_equal(text.size, 1);
	*(volatile uint64_t *) mapped = 1;
	assert_true(fcntl(fd, F_GETFD) >= 0);
	(void) munmap(mapped, bytes); /* as it was mapped */
}

TEST(test_deadline)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(sleep_on, 10000000, 4, &size, &status), -SW_E_TIMEOUT);
}

TEST(test_too_much)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(write_on, 0, 1 << 16, &size, &status), -SW_E_LIMIT);
	assert_int_equal(finish(answer, 0, 3, &size, &status), -SW_E_LIMIT);
}
