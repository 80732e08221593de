/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Separate debug files: found by build-id and by debuglink, and refused when they are another's.
 */
#include "elf_make.h"
#include "fake.h"
#include "snapshot/module.h"
#include "skip.h"
#include "test.h"

#include <snapwalk/symbolize.h>

#include <limits.h>
#include <lzma.h>
#include <sys/inotify.h>
#include <sys/stat.h>

enum { TEXT = 0x1000, BIAS = 0x400000 };

static const uint8_t id[] = {0xab, 0xcd, 0xef, 0x01, 0x23};
static const uint8_t other_id[] = {0xab, 0xcd, 0xef, 0x01, 0x24};

struct fixture {
	char dir[64];
	struct elf_make stripped, debug;
	struct sw_snapshot *snap;
	struct sw_place *place;
	struct sw_symbolizer *symbolizer;
	struct sw_symbols *symbols;
	const char *mapped; /* NULL: what is at the module's path */
	struct sw_symbolize_options options;
	bool may_read; /* the answer for the process's user */
	char asked[PATH_MAX];
};

static bool may_read(void *arg, const char *path, int fd)
{
	struct fixture *f = arg;
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	(void) snprintf(f->asked, sizeof(f->asked), "%s", path);
	return f->may_read;
}

static char *path_of(const struct fixture *f, const char *name, char *ret)
{
	assert_true(snprintf(ret, PATH_MAX, "%s/%s", f->dir, name) < PATH_MAX);
	return ret;
}

static void make_dir(const struct fixture *f, const char *name)
{
	char path[PATH_MAX];
	assert_int_equal(mkdir(path_of(f, name, path), 0700), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->dir, "/tmp/sw-debugfile-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	make_dir(f, ".build-id");
	make_dir(f, ".build-id/ab");
	elf_make_init(&f->stripped);
	elf_make_init(&f->debug);
	(void) elf_make_section(&f->stripped, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				TEXT, NULL, 0x100);
	uint32_t text = elf_make_section(&f->debug, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, 0x100);
	elf_make_symbol(&f->debug, "in_debug_file", STB_LOCAL, STT_FUNC, (uint16_t) text, TEXT,
			0x40);
	elf_make_symtab(&f->debug, SHT_SYMTAB);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];
	sw_symbols_destroy(f->symbols);
	sw_symbolizer_destroy(f->symbolizer);
	fake_snapshot_destroy(f->snap);
	assert_true(snprintf(command, sizeof(command), "rm -r %s", f->dir) > 0);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* A module of this test's own directory is there as a file, and mapped from it. */
static void module_open(struct fixture *f, const char *path)
{
	if (strncmp(path, f->dir, strlen(f->dir)) != 0)
		return;
	if (access(path, F_OK) < 0)
		elf_make_write(&f->stripped, path);
	f->place->module->fd = open(f->mapped != NULL ? f->mapped : path, O_RDONLY | O_CLOEXEC);
	assert_true(f->place->module->fd >= 0);
}

/* The symbol of an address of the stripped module at path, or NULL. */
static const struct sw_symbol *look_up(struct fixture *f, const char *path)
{
	elf_make_finish(&f->stripped);
	f->snap = fake_snapshot_create();
	f->place = fake_snapshot_module(f->snap, SW_MODULE_ELF, path, BIAS, BIAS + TEXT,
					BIAS + TEXT + 0x1000, f->stripped.bytes, f->stripped.size);
	module_open(f, path);
	struct sw_frame frame = {.pc_avma = BIAS + TEXT + 8,
				 .flags = SW_FRAME_EXACT_PC,
				 .place = f->place};
	f->place->resolved = 1;
	struct sw_walk walk = {.frames = &frame, .n_frames = 1};
	struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	struct sw_symbolize_options o = f->options;
	o.debug_dir = f->dir;
	const struct sw_symbol *found = NULL;
	assert_int_equal(sw_symbolizer_create(f->snap->ctx, &f->symbolizer, NULL), 0);
	assert_int_equal(sw_symbolize(f->symbolizer, &walks, &o, &f->symbols, NULL), 0);
	assert_int_equal(f->symbols->n_unfinished, 0);
	return sw_symbols_find(f->symbols, &frame, &found) > 0 ? found : NULL;
}

static void expect_found(struct fixture *f, const struct sw_symbol *symbol)
{
	assert_non_null(symbol);
	assert_string_equal(symbol->function, "in_debug_file");
	assert_int_equal(symbol->function_offset, 8);
	assert_int_equal(symbol->source, SW_SOURCE_DEBUGFILE);
	assert_int_equal(sw_symbols_source(f->symbols, f->place), SW_SOURCE_DEBUGFILE);
}

static void write_debug(struct fixture *f, const char *name)
{
	char path[PATH_MAX];
	elf_make_write(&f->debug, path_of(f, name, path));
}

TEST_OF(test_build_id, struct fixture *f)
{
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, id, sizeof(id));
	elf_make_finish(&f->debug);
	write_debug(f, ".build-id/ab/cdef0123.debug");
	expect_found(f, look_up(f, "/bin/x"));
}

/* A process that may read all files asks whether the process's user may, whosever the file is. */
static void expect_asked(struct fixture *f, uid_t owner, mode_t mode, bool allowed)
{
	static const char name[] = ".build-id/ab/cdef0123.debug";
	char path[PATH_MAX];
	f->options = (struct sw_symbolize_options){.may_read = may_read, .may_read_arg = f};
	f->may_read = allowed;
	f->asked[0] = '\0';
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, id, sizeof(id));
	elf_make_finish(&f->debug);
	write_debug(f, name);
	assert_int_equal(chmod(path_of(f, name, path), mode), 0);
	if (owner != getuid())
		assert_int_equal(chown(path, owner, owner), 0);
	const struct sw_symbol *symbol = look_up(f, "/bin/x");
	assert_string_equal(f->asked, path);
	if (allowed)
		expect_found(f, symbol);
	else
		assert_null(symbol);
}

enum { ANOTHER = 4001 };

TEST_OF(test_below_debug_dir_of_user, struct fixture *f)
{
	expect_asked(f, geteuid() == 0 ? ANOTHER : getuid(), 0644, true);
}

TEST_OF(test_below_debug_dir_of_user_not_permitted, struct fixture *f)
{
	expect_asked(f, geteuid() == 0 ? ANOTHER : getuid(), 0644, false);
}

/* A directory on the way may be closed to that user. */
TEST_OF(test_below_debug_dir_of_root_not_permitted, struct fixture *f)
{
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	expect_asked(f, 0, 0644, false);
}

TEST_OF(test_build_id_of_another, struct fixture *f)
{
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, other_id, sizeof(other_id));
	elf_make_finish(&f->debug);
	write_debug(f, ".build-id/ab/cdef0123.debug");
	assert_null(look_up(f, "/bin/x"));
	assert_int_equal(sw_symbols_source(f->symbols, f->place), SW_SOURCE_NONE);
}

static void link_to(struct fixture *f, const char *name, uint32_t wrong)
{
	elf_make_finish(&f->debug);
	elf_make_debuglink(&f->stripped, name,
			   lzma_crc32(f->debug.bytes, f->debug.size, 0) ^ wrong);
}

TEST_OF(test_debuglink_beside_it, struct fixture *f)
{
	char path[PATH_MAX];
	link_to(f, "x.debug", 0);
	write_debug(f, "x.debug");
	expect_found(f, look_up(f, path_of(f, "x", path)));
}

TEST_OF(test_debuglink_in_subdirectory, struct fixture *f)
{
	char path[PATH_MAX];
	link_to(f, "x.debug", 0);
	make_dir(f, ".debug");
	write_debug(f, ".debug/x.debug");
	expect_found(f, look_up(f, path_of(f, "x", path)));
}

TEST_OF(test_debuglink_below_debug_dir, struct fixture *f)
{
	link_to(f, "x.debug", 0);
	make_dir(f, "opt");
	make_dir(f, "opt/tool");
	write_debug(f, "opt/tool/x.debug");
	expect_found(f, look_up(f, "/opt/tool/x"));
}

TEST_OF(test_debuglink_wrong_crc, struct fixture *f)
{
	char path[PATH_MAX];
	link_to(f, "x.debug", 1);
	write_debug(f, "x.debug");
	assert_null(look_up(f, path_of(f, "x", path)));
}

/* Build-ids that differ refuse it even if the checksum is right. */
TEST_OF(test_debuglink_other_build_id, struct fixture *f)
{
	char path[PATH_MAX];
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, other_id, sizeof(other_id));
	link_to(f, "x.debug", 0);
	write_debug(f, "x.debug");
	assert_null(look_up(f, path_of(f, "x", path)));
}

/* A link must be a name, not a way out of the directory; and not a FIFO that blocks whoever opens. */
TEST_OF(test_debuglink_hostile, struct fixture *f)
{
	char path[PATH_MAX];
	make_dir(f, "in");
	link_to(f, "../x.debug", 0);
	write_debug(f, "x.debug");
	assert_null(look_up(f, path_of(f, "in/x", path)));
}

/* How often a file was opened, O_PATH apart, since inotify_fd watches it. */
static size_t opens(int inotify_fd)
{
	char events[4096];
	ssize_t n = read(inotify_fd, events, sizeof(events));
	return n < 0 ? 0 : (size_t) n / sizeof(struct inotify_event);
}

static int watch(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(inotify_add_watch(fd, path, IN_OPEN) >= 0);
	return fd;
}

/* Opening is what does harm: a watchdog, a tape, whoever waits at the other end of a FIFO. */
TEST_OF(test_debuglink_fifo, struct fixture *f)
{
	char path[PATH_MAX];
	link_to(f, "x.debug", 0);
	assert_int_equal(mkfifo(path_of(f, "x.debug", path), 0600), 0);
	int fd = watch(path);
	assert_null(look_up(f, path_of(f, "x", path)));
	assert_int_equal(opens(fd), 0);
	(void) close(fd);
}

TEST_OF(test_build_id_fifo, struct fixture *f)
{
	char path[PATH_MAX];
	elf_make_build_id(&f->stripped, id, sizeof(id));
	assert_int_equal(mkfifo(path_of(f, ".build-id/ab/cdef0123.debug", path), 0600), 0);
	int fd = watch(path);
	assert_null(look_up(f, "/bin/x"));
	assert_int_equal(opens(fd), 0);
	(void) close(fd);
}

/* The right file, but where a link leads out of the debug directory: it is not opened. */
TEST_OF(test_build_id_outside, struct fixture *f)
{
	char outside[PATH_MAX], link[PATH_MAX];
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, id, sizeof(id));
	elf_make_finish(&f->debug);
	assert_true(snprintf(outside, sizeof(outside), "%s-outside", f->dir) > 0);
	elf_make_write(&f->debug, outside);
	assert_int_equal(symlink(outside, path_of(f, ".build-id/ab/cdef0123.debug", link)), 0);
	int fd = watch(outside);
	const struct sw_symbol *found = look_up(f, "/bin/x");
	size_t n = opens(fd);
	(void) unlink(outside);
	assert_null(found);
	assert_int_equal(n, 0);
	(void) close(fd);
}

/* Distributions link from .build-id to the file's place in the same directory. */
TEST_OF(test_build_id_link_inside, struct fixture *f)
{
	char link[PATH_MAX];
	elf_make_build_id(&f->stripped, id, sizeof(id));
	elf_make_build_id(&f->debug, id, sizeof(id));
	elf_make_finish(&f->debug);
	write_debug(f, "x.debug");
	assert_int_equal(symlink("../../x.debug", path_of(f, ".build-id/ab/cdef0123.debug", link)),
			 0);
	int fd = watch(path_of(f, "x.debug", link));
	expect_found(f, look_up(f, "/bin/x"));
	assert_true(opens(fd) > 0);
	(void) close(fd);
}

/* In a container the same path is another file: what is beside that one is the host's. */
TEST_OF(test_debuglink_beside_another, struct fixture *f)
{
	char path[PATH_MAX], other[PATH_MAX];
	link_to(f, "x.debug", 0);
	write_debug(f, "x.debug");
	int fd = watch(path_of(f, "x.debug", path));
	const char *module = path_of(f, "x", path);
	elf_make_write(&f->debug, module); /* the host's */
	elf_make_finish(&f->stripped);
	elf_make_write(&f->stripped, path_of(f, "mapped", other));
	f->mapped = other;
	assert_null(look_up(f, module));
	assert_int_equal(opens(fd), 0);
	(void) close(fd);
}
