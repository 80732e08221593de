/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a process has other code, by its maps, while they change. */
#include "sample/code.h"
#include "fake.h"
#include "fake_kernel.h"
#include "fake_process.h"
#include "test.h"

#define CODE "400000-401000 r-xp 00000000 08:01 7 /bin/a\n"

static char directory[32];
static struct sw_target target;
static struct sw_sample_code code;
static struct sw_snapshot *base;
static size_t n_read;

static void file_write(const char *name, const char *text)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "%s/%s", directory, name); /* fits */
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void look(size_t number, struct fake_look *ret)
{
	ret->n = 0;
}

static void reading(const char *name)
{
	n_read += strcmp(name, "maps") == 0;
}

static void maps_write(const char *maps, const char *size)
{
	file_write("maps", maps);
	file_write("statm", size);
}

/* A second later; how often the maps were read for it. */
static size_t reads_of(const char *maps, const char *size, bool is_other)
{
	maps_write(maps, size);
	fake_kernel.now_ns += 1000000000;
	n_read = 0;
	assert_int_equal(sw_sample_code_is_other(&code, &target, base), is_other);
	return n_read;
}

/* A process whose maps and size are files. */
static void directory_make(void)
{
	strcpy(directory, "/tmp/snapwalk-test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	target = (struct sw_target){.pid = 11, .pidfd = -EBADF, .proc_fd = fd, .task_fd = -EBADF};
	fake_kernel = (struct fake_kernel){0};
	fake_process = (struct fake_process){.look = look, .reading = reading, .live_fd = fd};
	code = (struct sw_sample_code){0};
	base = fake_snapshot_create();
}

static void directory_remove(void)
{
	char command[64];
	fake_process = (struct fake_process){0};
	fake_snapshot_destroy(base);
	assert_int_equal(close(target.proc_fd), 0);
	(void) snprintf(command, sizeof(command), "rm -r %s", directory); /* fits */
	assert_int_equal(system(command), 0);
}

TEST(test_changes)
{
	directory_make();
	assert_int_equal(reads_of(CODE, "10 1", false), 1);
	assert_int_equal(reads_of(CODE, "10 1", false), 0); /* nothing was mapped */
	assert_int_equal(reads_of(CODE "500000-600000 rw-p 0 00:00 0\n", "20 1", false), 1);
	assert_int_equal(reads_of(CODE "500000-600000 r-xp 0 00:00 0\n", "30 1", true), 1);
	assert_int_equal(reads_of(CODE "500000-600000 r-xp 0 00:00 0\n", "30 1", false), 0);
	/* Twice within a second it is not asked. */
	maps_write(CODE, "40 1");
	n_read = 0;
	assert_false(sw_sample_code_is_other(&code, &target, base));
	assert_int_equal(n_read, 0);
	assert_int_equal(reads_of(CODE, "40 1", true), 1);
	/* No thread lives through which the maps could be read. */
	fake_process.ended = true;
	assert_int_equal(reads_of(CODE, "50 1", true), 0);
	directory_remove();
}

/* Walks came to code that the maps do not have, which changes no size. */
TEST(test_asked)
{
	static const char later[] = "400000-401000 r--p 00000000 08:01 7 /bin/a\n";
	directory_make();
	assert_int_equal(reads_of(CODE, "10 1", false), 1);
	maps_write(later, "10 1");
	sw_sample_code_ask(&code);
	n_read = 0;
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS / 2; /* too early */
	assert_false(sw_sample_code_is_other(&code, &target, base));
	assert_int_equal(n_read, 0);
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS / 2;
	assert_true(sw_sample_code_is_other(&code, &target, base));
	assert_int_equal(n_read, 1);
	/* The question is answered. */
	assert_int_equal(reads_of(CODE, "10 1", false), 0);
	assert_int_equal(reads_of(later, "11 1", false), 1);
	/* Asked in vain: the next time is a second later. */
	sw_sample_code_ask(&code);
	assert_int_equal(reads_of(later, "11 1", false), 1);
	sw_sample_code_ask(&code);
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS;
	assert_false(sw_sample_code_is_other(&code, &target, base));
	assert_int_equal(n_read, 1);
	assert_int_equal(reads_of(CODE, "11 1", true), 1);
	sw_sample_code_ask(&code);
	maps_write(later, "11 1");
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS;
	assert_true(sw_sample_code_is_other(&code, &target, base));
	/* The maps are read anew for another reason, which answers nothing. */
	sw_sample_code_ask(&code);
	code.hash = 0;
	assert_int_equal(reads_of(later, "11 1", false), 1);
	sw_sample_code_ask(&code);
	maps_write(CODE, "11 1");
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS;
	assert_true(sw_sample_code_is_other(&code, &target, base));
	/* Maps that cannot be read are an answer, too. */
	sw_sample_code_ask(&code);
	fake_process.ended = true;
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS;
	assert_true(sw_sample_code_is_other(&code, &target, base));
	fake_kernel.now_ns += SW_SAMPLE_CODE_NS;
	assert_false(sw_sample_code_is_other(&code, &target, base));
	directory_remove();
}

/* A mapping that a runtime is found by may come when all code is there. */
TEST(test_announced)
{
	static const char later[] =
		CODE "600000-601000 rw-s 00000000 00:01 9   /memfd:OTEL_CTX (deleted)\n";
	static const struct sw_map named = {.start_avma = 0x600000,
					    .end_avma = 0x601000,
					    .path = "/memfd:OTEL_CTX (deleted)"};
	enum { EVERY_NS = 1000000000 };
	struct sw_sample_code other = {0};
	directory_make();
	maps_write(CODE, "10 1");
	assert_false(sw_sample_code_is_announced(&other, &target, base, EVERY_NS));
	assert_int_equal(reads_of(CODE, "10 1", false), 1);
	assert_int_equal(reads_of(CODE "600000-601000 rw-p 0 00:00 0 [anon:other]\n", "11 1",
				  false),
			 1);
	assert_int_equal(reads_of(later, "12 1", true), 1);
	assert_true(sw_sample_code_is_announced(&other, &target, base, EVERY_NS));
	maps_write(later, "13 1"); /* too early */
	assert_false(sw_sample_code_is_announced(&other, &target, base, EVERY_NS));
	fake_kernel.now_ns += EVERY_NS;
	assert_true(sw_sample_code_is_announced(&other, &target, base, EVERY_NS));
	/* The maps that are known have it. */
	base->maps = (struct sw_map *) &named;
	base->n_maps = 1;
	assert_int_equal(reads_of(later, "14 1", false), 1);
	assert_false(sw_sample_code_is_announced(&other, &target, base, EVERY_NS));
	base->maps = NULL;
	base->n_maps = 0;
	directory_remove();
}
