/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/perfmap_text.h"
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

struct file {
	int fd;
	struct sw_perfmap_text *text;
	uint64_t end;
};

static struct file file_open(void)
{
	struct file f = {.fd = memfd_create("map", MFD_CLOEXEC)};
	assert_true(f.fd >= 0);
	f.text = sw_perfmap_text_create(f.fd);
	assert_non_null(f.text);
	return f;
}

static void file_close(struct file *f)
{
	sw_perfmap_text_drop(f->text);
	(void) close(f->fd); /* a memfd */
}

/* Appends to the file, and looks at it. */
static void add(struct file *f, const char *lines)
{
	assert_int_equal(write(f->fd, lines, strlen(lines)), strlen(lines));
	assert_int_equal(sw_perfmap_text_look(f->text, &f->end), 0);
}

/* The name at an address; "" for none. Returns its place. */
static uint64_t name_is(const struct file *f, uint64_t avma, const char *name)
{
	struct sw_perfmap_line line = {0};
	uint64_t place = UINT64_MAX;
	assert_int_equal(sw_perfmap_text_find(f->text, avma, &line, &place), name[0] != '\0');
	assert_int_equal(line.name.size, strlen(name));
	assert_memory_equal(line.name.data, name, line.name.size);
	return place;
}

TEST(test_grows)
{
	struct file f = file_open();
	add(&f, "");
	assert_int_equal(f.end, 0);
	name_is(&f, 0x1000, "");
	add(&f, "1000 100 first\n2000 10 oth");
	assert_int_equal(f.end, 15);
	assert_int_equal(name_is(&f, 0x1080, "first"), 0);
	name_is(&f, 0x2000, "");
	add(&f, "er\n");
	assert_int_equal(f.end, 29);
	assert_int_equal(name_is(&f, 0x2000, "other"), 15);
	/* A line that covers a part hides what was there. */
	add(&f, "1080 20 second\n");
	assert_int_equal(name_is(&f, 0x1080, "second"), 29);
	assert_int_equal(name_is(&f, 0x1000, "first"), 0);
	assert_int_equal(name_is(&f, 0x10a0, "first"), 0);
	file_close(&f);
}

/* Lines are numerous, so that new ones become old ones again and again. */
TEST(test_many)
{
	enum { TIMES = 40, LINES = 1000, CODE = 16 };
	struct file f = file_open();
	char line[64], *lines = malloc(LINES * sizeof(line));
	assert_non_null(lines);
	for (unsigned i = 0; i < TIMES; i++) {
		size_t n = 0;
		for (unsigned k = 0; k < LINES; k++)
			n += (size_t) sprintf(lines + n, "%x %x f%u.%u\n",
					      0x10000 + (i % 20 * LINES + k) * CODE, CODE, i, k);
		add(&f, lines);
		for (unsigned seen = 0; seen < 20; seen++) {
			unsigned by = i / 20 * 20 + seen; /* the last that published it */
			by = by > i ? by - 20 : by;
			if (by > i)
				continue; /* nobody did */
			(void) sprintf(line, "f%u.%u", by, seen * 7);
			name_is(&f, 0x10000 + (seen * LINES + seen * 7) * CODE, line);
		}
	}
	free(lines);
	file_close(&f);
}

/* A file that is written anew has other lines, behind those that were there before. */
static void written_anew(const char *lines)
{
	struct file f = file_open();
	add(&f, "1000 10 first\n2000 10 other\n");
	const uint64_t before = f.end;
	assert_int_equal(ftruncate(f.fd, 0), 0);
	assert_int_equal(lseek(f.fd, 0, SEEK_SET), 0);
	add(&f, lines);
	assert_true(name_is(&f, 0x2000, "second") >= before);
	name_is(&f, 0x1000, "");
	file_close(&f);
}

TEST(test_written_anew)
{
	written_anew("2000 10 second\n");
	written_anew("2000 10 second\n3000 10 third\n4000 10 fourth\n");
}

/* Users of one text look at the same lines; each knows the end of those that it has looked at. */
TEST(test_shared)
{
	struct file f = file_open(), later = f;
	add(&f, "1000 10 first\n");
	later.text = sw_perfmap_text_share(f.text);
	later.fd = f.fd;
	add(&later, "1000 10 second\n");
	assert_int_equal(f.end, 14);
	assert_true(name_is(&f, 0x1000, "second") >= f.end);
	sw_perfmap_text_drop(f.text);
	name_is(&later, 0x1000, "second");
	file_close(&later);
}

TEST(test_too_large)
{
	struct file f = file_open();
	add(&f, "1000 10 first\n");
	assert_int_equal(ftruncate(f.fd, (off_t) 300 << 20), 0);
	assert_int_equal(sw_perfmap_text_look(f.text, &f.end), 0);
	name_is(&f, 0x1000, "");
	file_close(&f);
}

TEST(test_no_file)
{
	struct file f = {.fd = -1, .text = sw_perfmap_text_create(-1)};
	assert_int_equal(sw_perfmap_text_look(f.text, &f.end), 0);
	assert_int_equal(f.end, 0);
	name_is(&f, 0x1000, "");
	sw_perfmap_text_drop(f.text);
	sw_perfmap_text_drop(NULL);
}
