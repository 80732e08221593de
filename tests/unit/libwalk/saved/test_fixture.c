/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshot_save.c, snapshot_load.c and fixture_text.c. */
#include "arch/arch.h"
#include "cleanup.h"
#include "fake.h"
#include "own_way.h"
#include "saved/fixture_text.h"
#include "test.h"

#include <sys/stat.h>
#include <sys/syscall.h>

struct fixture {
	char dir[64]; /* in which everything lies */
	char first[80], second[80];
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_error err;
};

/* The object that replaces the next new directory: another user may do that before it is opened. */
static enum { SWAP_LINK, SWAP_FULL, SWAP_OPEN_TO_ALL, N_SWAPS } swap_kind;
static const char *swap_with; /* NULL: nothing */
static char swapped[128];     /* the name of the last new directory */

/* The C library's, for libwalk and for us. */
int mkdirat(int parent_fd, const char *name, mode_t mode)
{
	if (syscall(SYS_mkdirat, parent_fd, name, mode) < 0)
		return -1;
	if (swap_with == NULL)
		return 0;
	(void) snprintf(swapped, sizeof(swapped), "%.*s/%s",
			(int) (strrchr(swap_with, '/') - swap_with), swap_with, name);
	assert_int_equal(renameat(parent_fd, name, parent_fd, "moved"), 0);
	if (swap_kind == SWAP_LINK)
		assert_int_equal(symlinkat(swap_with, parent_fd, name), 0);
	else
		assert_int_equal(renameat(AT_FDCWD, swap_with, parent_fd, name), 0);
	return 0;
}

/* The file that another user renames at the last moment, to the name in `moved_to`; NULL: none. */
static const char *moved_from, *moved_to;
static const char *put_there; /* what is renamed to moved_from then */

/* The system call is replaced: the other user's renames happen just before it. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (moved_from != NULL) {
		assert_int_equal(rename(moved_from, moved_to), 0);
		assert_int_equal(rename(put_there, moved_from), 0);
		moved_from = NULL;
	}
	return (int) syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL || sw_context_create(&f->ctx, NULL) < 0)
		return -1;
	strcpy(f->dir, "/tmp/test_fixture.XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	(void) snprintf(f->first, sizeof(f->first), "%s/first", f->dir);
	(void) snprintf(f->second, sizeof(f->second), "%s/second", f->dir);
	return 0;
}

/* Removes what a fixture may hold, and nothing else: what is left makes rmdir() fail. */
static void remove_fixture(const char *directory)
{
	static const char *const parts[] = {"modules", "."};
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts); i++) {
		char path[128];
		(void) snprintf(path, sizeof(path), "%s/%s", directory, parts[i]);
		sw_cleanup(sw_closedir_p) DIR *dir = opendir(path);
		for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
			if (e->d_name[0] != '.')
				(void) unlinkat(dirfd(dir), e->d_name,
						strcmp(e->d_name, "modules") == 0 ? AT_REMOVEDIR
										  : 0);
	}
	(void) rmdir(directory);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_snapshot_destroy(f->snap);
	sw_context_destroy(f->ctx);
	remove_fixture(f->first);
	remove_fixture(f->second);
	int left = rmdir(f->dir); /* nothing temporary may be left over */
	free(f);
	return left;
}

static int load(struct fixture *f, const char *directory)
{
	sw_snapshot_destroy(f->snap);
	f->snap = NULL;
	return sw_snapshot_load(f->ctx, directory, &f->snap, &f->err);
}

static void write_file(const char *directory, const char *name, const char *text, size_t size)
{
	char path[128];
	(void) snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* A fixture of just a text and 16 bytes of memory. */
static void write_text(struct fixture *f, const char *text)
{
	if (mkdir(f->first, 0700) < 0)
		assert_int_equal(errno, EEXIST);
	write_file(f->first, "snapshot", text, strlen(text));
	write_file(f->first, "memory", "0123456789abcdef", 16);
}

static void read_text(const char *directory, struct sw_text *text)
{
	char path[128];
	(void) snprintf(path, sizeof(path), "%s/snapshot", directory);
	assert_int_equal(sw_text_read_at(text, AT_FDCWD, path, 1 << 20), 0);
}

TEST(test_strings)
{
	static const struct {
		const char *plain, *encoded;
	} cases[] = {
		{"", " -"},          {"-", " %2D"},
		{"--", " --"},       {"/usr/bin/a b", " /usr/bin/a%20b"},
		{"100%", " 100%25"}, {"line\nend\x7f\xc3\xa9", " line%0Aend%7F%C3%A9"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		sw_fixture_put_string(&text, cases[i].plain);
		assert_string_equal(text.data, cases[i].encoded);
		struct sw_fixture_line line = {text.data, text.data + text.size, false};
		char back[32];
		sw_fixture_string(&line, back, sizeof(back));
		assert_false(line.bad);
		assert_string_equal(back, cases[i].plain);
	}
}

TEST(test_bad_strings)
{
	static const char *const cases[] = {"", "%", "%4", "%4g", "%00", "12345678"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_fixture_line line = {cases[i], cases[i] + strlen(cases[i]), false};
		char back[8];
		sw_fixture_string(&line, back, sizeof(back));
		assert_true(line.bad);
		assert_string_equal(back, "");
	}
}

TEST(test_numbers)
{
	static const char text[] = "0 18446744073709551615 0xffffffffffffffff 0xAb -5 "
				   "-9223372036854775807 9223372036854775807";
	struct sw_fixture_line line = {text, text + sizeof(text) - 1, false};
	assert_true(sw_fixture_u64(&line, 0) == 0);
	assert_true(sw_fixture_u64(&line, UINT64_MAX) == UINT64_MAX);
	assert_true(sw_fixture_u64(&line, UINT64_MAX) == UINT64_MAX);
	assert_true(sw_fixture_u64(&line, 0xab) == 0xab);
	assert_true(sw_fixture_i64(&line, -5, -5) == -5);
	assert_true(sw_fixture_i64(&line, INT64_MIN, 0) == -INT64_MAX);
	assert_true(sw_fixture_i64(&line, 0, INT64_MAX) == INT64_MAX);
	assert_false(line.bad);
	assert_true(sw_fixture_u64(&line, 1) == 0);
	assert_true(line.bad); /* no word is left */
	static const char *const bad[] = {"18446744073709551616",
					  "0x10000000000000000",
					  "0x",
					  "x1",
					  "1x",
					  "a",
					  "-1",
					  "+1",
					  "2"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		struct sw_fixture_line l = {bad[i], bad[i] + strlen(bad[i]), false};
		assert_true(sw_fixture_u64(&l, strcmp(bad[i], "2") == 0 ? 1 : UINT64_MAX) == 0);
		assert_true(l.bad);
	}
	static const char *const bad_signed[] = {"9223372036854775808", "-", "--1", "-6", "6"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad_signed); i++) {
		struct sw_fixture_line l = {bad_signed[i], bad_signed[i] + strlen(bad_signed[i]),
					    false};
		assert_true(sw_fixture_i64(&l, -5, 5) == 0);
		assert_true(l.bad);
	}
}

/* A snapshot with something in every field. */
static struct sw_snapshot *make_snapshot(void)
{
	static const uint64_t words[] = {1, 2, 3, 4};
	struct sw_snapshot *s = fake_snapshot_create();
	s->process = (struct sw_process){.pid = 7,
					 .ppid = 3,
					 .uid = 4294967294,
					 .starttime = 998877,
					 .uptime_ms = 81234,
					 .elf_class = 64,
					 .comm = "a b",
					 .exe = "/bin/a b",
					 .cgroup = "/system.slice/x"};
	s->time_ns = 1795175805404453924;
	s->times = (struct sw_times){1, 2, 3, 4, 5};
	s->interrupted_calls = 6;
	s->crash = (struct sw_crash){.signal = 11,
				     .tid = 7,
				     .has_code = true,
				     .code = -6,
				     .has_address = true,
				     .address_avma = 0xdead0000,
				     .access = SW_ACCESS_WRITE,
				     .sender_pid = 4321,
				     .sender_uid = 4294967293};
	s->live = true;
	(void) fake_snapshot_module(s, SW_MODULE_VDSO, "[vdso]", 0x1000, 0x1000, 0x2000,
				    "image of memory", 15);
	(void) fake_snapshot_module(s, SW_MODULE_ELF, "/gone", 0x3000, 0x3000, 0x4000, NULL, 0);
	struct stat st;
	struct sw_module *m;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sw_context_module_file(s->ctx, SW_MODULE_ELF, "/the exe", true, fd, &st,
						&m),
			 0);
	for (uint64_t at = 0x5000; at < 0x7000; at += 0x1000) { /* mapped twice, copied once */
		struct sw_map *map = fake_snapshot_map(s, at, at + 0x1000, "r-xp", "/the exe");
		*map = (struct sw_map){at,        at + 0x1000,           0x123000, 99, 8, 1,
				       map->prot, (int32_t) s->n_places, map->path};
		s->places[s->n_places++] =
			(struct sw_place){.module = m, .start_avma = at, .end_avma = at + 0x1000};
	}
	struct sw_thread *t = fake_snapshot_stack(s, 7, 0x1234, words, 4);
	for (unsigned i = 0; i < SW_REGS_MAX; i += 2)
		sw_regs_set(&t->regs, i, 0xf000000000000000 + i);
	t->fs_base = 0x7f0000000000;
	t->own_tid = 77;
	t->since_ns = 123456789;
	t->wait_bytes = sizeof(t->wait);
	memset(t->wait, 0xa5, t->wait_bytes);
	t->gs_base = 1;
	t->interrupted = true;
	t->stop_ns = 55;
	strcpy(t->wchan, "futex_wait_queue");
	struct sw_thread *dead = fake_snapshot_stack(s, 8, 0, NULL, 0);
	dead->captured = false;
	dead->reason = SW_E_EXITED;
	dead->state = 'Z';
	dead->flags = 0x400040;
	fake_snapshot_range(s, 0x9000, "range of memory", 15);
	sw_snapshot_warn(s, SW_WARN_PROGRAM, 0, 0, "no coroutines");
	sw_snapshot_warn(s, SW_WARN_THREAD_MISSING, 8, SW_E_EXITED, "thread 8: it exited 100%%");
	fake_snapshot_finish(s);
	return s;
}

static void assert_same_thread(const struct sw_thread *a, const struct sw_thread *b)
{
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->captured, b->captured);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->flags, b->flags);
	assert_string_equal(a->comm, b->comm);
	assert_string_equal(a->wchan, b->wchan);
	assert_int_equal(a->interrupted, b->interrupted);
	assert_true(a->syscall == b->syscall && a->cpu_ns == b->cpu_ns && a->stop_ns == b->stop_ns);
	assert_memory_equal(&a->regs, &b->regs, sizeof(a->regs));
	assert_int_equal(a->own_tid, b->own_tid);
	if (a->captured) {
		assert_true(a->since_ns == b->since_ns && a->stayed == b->stayed);
		assert_int_equal(a->wait_bytes, b->wait_bytes);
		assert_memory_equal(a->wait, b->wait, a->wait_bytes);
	}
	assert_true(a->fs_base == b->fs_base && a->gs_base == b->gs_base);
	assert_true(a->stack_avma == b->stack_avma && a->stack_end_avma == b->stack_end_avma);
	assert_int_equal(a->stack_bytes, b->stack_bytes);
	if (a->stack_bytes > 0)
		assert_memory_equal(a->stack, b->stack, a->stack_bytes);
}

static void assert_same(const struct sw_snapshot *a, const struct sw_snapshot *b)
{
	assert_int_equal(a->process.pid, b->process.pid);
	assert_int_equal(a->process.ppid, b->process.ppid);
	assert_int_equal(a->process.uid, b->process.uid);
	assert_int_equal(a->process.starttime, b->process.starttime);
	assert_int_equal(a->process.uptime_ms, b->process.uptime_ms);
	assert_int_equal(a->process.elf_class, b->process.elf_class);
	assert_string_equal(a->process.comm, b->process.comm);
	assert_string_equal(a->process.exe, b->process.exe);
	assert_string_equal(a->process.cgroup, b->process.cgroup);
	assert_true(a->time_ns == b->time_ns);
	assert_memory_equal(&a->times, &b->times, sizeof(a->times));
	assert_int_equal(a->interrupted_calls, b->interrupted_calls);
	assert_int_equal(a->crash.signal, b->crash.signal);
	assert_int_equal(a->crash.tid, b->crash.tid);
	assert_int_equal(a->crash.has_code, b->crash.has_code);
	assert_int_equal(a->crash.code, b->crash.code);
	assert_int_equal(a->crash.has_address, b->crash.has_address);
	assert_int_equal(a->crash.address_avma, b->crash.address_avma);
	assert_int_equal(a->crash.access, b->crash.access);
	assert_int_equal(a->crash.sender_pid, b->crash.sender_pid);
	assert_int_equal(a->crash.sender_uid, b->crash.sender_uid);
	assert_int_equal(a->n_threads, b->n_threads);
	for (size_t i = 0; i < a->n_threads; i++)
		assert_same_thread(&a->threads[i], &b->threads[i]);
	assert_int_equal(a->n_maps, b->n_maps);
	for (size_t i = 0; i < a->n_maps; i++) {
		assert_memory_equal(&a->maps[i], &b->maps[i], offsetof(struct sw_map, path));
		assert_string_equal(a->maps[i].path, b->maps[i].path);
	}
	assert_int_equal(a->n_ranges, b->n_ranges);
	for (size_t i = 0; i < a->n_ranges; i++) {
		assert_int_equal(a->ranges[i].start_avma, b->ranges[i].start_avma);
		assert_int_equal(a->ranges[i].bytes, b->ranges[i].bytes);
		assert_memory_equal(a->ranges[i].data, b->ranges[i].data, a->ranges[i].bytes);
	}
	assert_int_equal(a->n_places, b->n_places);
	for (size_t i = 0; i < a->n_places; i++) {
		struct sw_module *ma = a->places[i].module, *mb = b->places[i].module;
		size_t na, nb;
		assert_int_equal(a->places[i].start_avma, b->places[i].start_avma);
		assert_int_equal(a->places[i].end_avma, b->places[i].end_avma);
		assert_int_equal(ma->kind, mb->kind);
		assert_int_equal(ma->deleted, mb->deleted);
		assert_string_equal(ma->path, mb->path);
		const void *ia = sw_module_image(ma, &na), *ib = sw_module_image(mb, &nb);
		assert_int_equal(na, nb);
		assert_int_equal(ia == NULL, ib == NULL);
		if (ia != NULL)
			assert_memory_equal(ia, ib, na);
	}
	assert_int_equal(a->n_warnings, b->n_warnings);
	for (size_t i = 0; i < a->n_warnings; i++) {
		assert_int_equal(a->warnings[i].code, b->warnings[i].code);
		assert_int_equal(a->warnings[i].tid, b->warnings[i].tid);
		assert_int_equal(a->warnings[i].reason, b->warnings[i].reason);
		assert_string_equal(a->warnings[i].message, b->warnings[i].message);
	}
}

TEST_OF(test_round_trip, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	assert_int_equal(sw_snapshot_save(made, f->first, &f->err), 0);
	assert_int_equal(load(f, f->first), 0);
	assert_false(f->snap->live);
	assert_same(made, f->snap);
	assert_ptr_equal(f->snap->places[2].module, f->snap->places[3].module);
	assert_string_equal(sw_module_problem(f->snap->places[1].module),
			    "its file was not recorded");
	/* Saved again it is the same text. */
	assert_int_equal(sw_snapshot_save(f->snap, f->second, &f->err), 0);
	sw_cleanup(sw_text_deinit) struct sw_text first = {0}, second = {0};
	read_text(f->first, &first);
	read_text(f->second, &second);
	assert_string_equal(first.data, second.data);
	struct stat st;
	assert_int_equal(stat(f->first, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700); /* it holds a process's memory */
	fake_snapshot_destroy(made);
}

/* The fixture says that threads ran while hooks copied, or while the reader read. */
TEST_OF(test_torn, struct fixture *f)
{
	static const struct {
		bool torn, reader, whole, expected;
	} cases[] = {{false, false, false, false},
		     {true, true, true, true},
		     {false, true, true, false},
		     {false, true, false, true}};
	uint8_t pool[1];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_snapshot *made = make_snapshot();
		made->priv->hooks_torn = cases[i].torn;
		made->priv->hooks_whole = cases[i].whole;
		made->priv->copier_pool = cases[i].reader ? pool : NULL;
		assert_int_equal(sw_snapshot_save(made, f->first, &f->err), 0);
		made->priv->copier_pool = NULL;
		fake_snapshot_destroy(made);
		assert_int_equal(load(f, f->first), 0);
		assert_int_equal(f->snap->priv->hooks_torn, cases[i].expected);
		remove_fixture(f->first);
	}
}

/* Stacks that lie in a range, as those of core files do, are written once. */
TEST_OF(test_stack_in_range, struct fixture *f)
{
	struct sw_snapshot *made = fake_snapshot_create();
	static uint8_t bytes[3 * FAKE_PAGE];
	memset(bytes + FAKE_PAGE - 8, 0x5a, 16); /* the rest is a hole */
	fake_snapshot_range(made, 0x10000, bytes, sizeof(bytes));
	struct sw_thread *t = fake_snapshot_thread(made, 1, 1, 0x10100, NULL, 0);
	t->stack = made->ranges[0].data + 0x100;
	t->stack_bytes = sizeof(bytes) - 0x100;
	fake_snapshot_finish(made);
	assert_int_equal(sw_snapshot_save(made, f->first, &f->err), 0);
	char path[128];
	struct stat st;
	(void) snprintf(path, sizeof(path), "%s/memory", f->first);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, sizeof(bytes));
	assert_int_equal(load(f, f->first), 0);
	assert_same(made, f->snap);
	fake_snapshot_destroy(made);
}

TEST_OF(test_save_refused, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	char wanted[128];
	assert_int_equal(mkdir(f->first, 0700), 0);
	assert_int_equal(sw_snapshot_save(made, f->first, &f->err), -SW_E_IO);
	(void) snprintf(wanted, sizeof(wanted), "%s: it is there already", f->first);
	assert_string_equal(f->err.message, wanted);
	assert_int_equal(sw_snapshot_save(made, "/nonexistent/dir/x", &f->err), -SW_E_IO);
	assert_string_equal(f->err.message, "/nonexistent/dir/x: No such file or directory");
	/* A module that cannot be written: nothing is left, as teardown's rmdir() finds. */
	char slashes[96];
	(void) snprintf(slashes, sizeof(slashes), "%s///", f->second);
	size_t size;
	assert_non_null(sw_module_image(made->places[2].module, &size));
	sw_close_p(&made->places[2].module->fd);
	made->places[2].module->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sw_snapshot_save(made, slashes, &f->err), -SW_E_IO);
	assert_int_equal(f->err.sys_errno, EISDIR);
	assert_int_equal(access(f->second, F_OK), -1);
	fake_snapshot_destroy(made);
}

/* Another user swaps a directory for a link to a victim's while it is written. */
static void swap(const struct fixture *f, const char *temporary, const char *victim)
{
	char moved[96];
	(void) snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	assert_int_equal(rename(temporary, moved), 0);
	assert_int_equal(symlink(victim, temporary), 0);
}

/* Files of a victim must stay when the name of the temporary directory leads to them by then. */
TEST_OF(test_save_end_of_swapped, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	char victim[96], moved[96], file[112];
	(void) snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	(void) snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	(void) snprintf(file, sizeof(file), "%s/file", victim);
	assert_int_equal(mkdir(victim, 0700), 0);
	write_file(victim, "file", "kept", 4);
	for (int i = 0; i < 3; i++) {
		sw_cleanup(sw_free_p) char *temporary = NULL;
		sw_cleanup(sw_close_p) int fd = -EBADF;
		assert_int_equal(sw_snapshot_save_begin(f->first, &temporary, &fd, &f->err), 0);
		assert_int_equal(sw_snapshot_save_fill(made, fd, -EBADF, NULL, &f->err), 0);
		swap(f, temporary, victim);
		/* The name is free, or is not, or nothing is kept. */
		if (i == 1)
			assert_int_equal(mkdir(f->first, 0700), 0);
		int r = sw_snapshot_save_end(fd, temporary, i == 2 ? NULL : f->first, &f->err);
		assert_int_equal(r, i == 2 ? 0 : -SW_E_IO);
		assert_int_equal(access(file, F_OK), 0);
		assert_int_equal(rmdir(f->first), i == 1 ? 0 : -1); /* no link has its name */
		assert_int_equal(unlink(temporary), 0);
		assert_int_equal(rmdir(moved), 0); /* it is empty */
	}
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(victim), 0);
	fake_snapshot_destroy(made);
}

/* The directory is placed and removed where it was made, though another user has replaced what it lies in by a link. */
TEST_OF(test_save_end_of_swapped_parent, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	char parent[96], real[96], victim[96], first[112], placed[112], left[160];
	(void) snprintf(parent, sizeof(parent), "%s/parent", f->dir);
	(void) snprintf(real, sizeof(real), "%s/real", f->dir);
	(void) snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	(void) snprintf(first, sizeof(first), "%s/first", parent);
	(void) snprintf(placed, sizeof(placed), "%s/first", real);
	assert_int_equal(mkdir(victim, 0700), 0);
	for (int keep = 0; keep < 2; keep++) {
		sw_cleanup(sw_free_p) char *temporary = NULL;
		sw_cleanup(sw_close_p) int fd = -EBADF;
		assert_int_equal(mkdir(parent, 0700), 0);
		assert_int_equal(sw_snapshot_save_begin(first, &temporary, &fd, &f->err), 0);
		assert_int_equal(sw_snapshot_save_fill(made, fd, -EBADF, NULL, &f->err), 0);
		assert_int_equal(rename(parent, real), 0);
		assert_int_equal(symlink(victim, parent), 0);
		(void) snprintf(left, sizeof(left), "%s%s", victim, strrchr(temporary, '/'));
		assert_int_equal(mkdir(left, 0700), 0);
		assert_int_equal(sw_snapshot_save_end(fd, temporary, keep ? first : NULL, &f->err),
				 0);
		assert_int_equal(rmdir(left), 0);
		if (keep)
			remove_fixture(placed);
		assert_int_equal(unlink(parent), 0);
		assert_int_equal(rmdir(real), 0);
	}
	assert_int_equal(rmdir(victim), 0);
	fake_snapshot_destroy(made);
}

/* Another directory that gets the name is no success. */
TEST_OF(test_save_end_of_swapped_late, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	char moved[96];
	sw_cleanup(sw_free_p) char *temporary = NULL;
	sw_cleanup(sw_close_p) int fd = -EBADF;
	(void) snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	assert_int_equal(mkdir(f->second, 0700), 0);
	assert_int_equal(sw_snapshot_save_begin(f->first, &temporary, &fd, &f->err), 0);
	assert_int_equal(sw_snapshot_save_fill(made, fd, -EBADF, NULL, &f->err), 0);
	moved_to = moved;
	put_there = f->second;
	moved_from = temporary;
	assert_int_equal(sw_snapshot_save_end(fd, temporary, f->first, &f->err), -SW_E_IO);
	assert_null(moved_from);
	assert_non_null(strstr(f->err.message, "another directory"));
	assert_int_equal(rmdir(f->first), 0); /* the other one */
	assert_int_equal(rmdir(moved), 0);    /* it is empty */
	fake_snapshot_destroy(made);
}

/* A directory that another user puts in the new one's place before it is opened is refused, and stays as it is. */
TEST_OF(test_save_begin_of_swapped, struct fixture *f)
{
	char moved[96], file[112];
	(void) snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	(void) snprintf(file, sizeof(file), "%s/file", f->second);
	for (int i = 0; i < N_SWAPS; i++) {
		char *temporary = NULL;
		int fd = -EBADF;
		assert_int_equal(mkdir(f->second, i == SWAP_OPEN_TO_ALL ? 0755 : 0700), 0);
		if (i != SWAP_OPEN_TO_ALL)
			write_file(f->second, "file", "kept", 4);
		swap_kind = i;
		swap_with = f->second;
		assert_int_equal(sw_snapshot_save_begin(f->first, &temporary, &fd, &f->err),
				 -SW_E_IO);
		swap_with = NULL;
		assert_null(temporary);
		assert_int_equal(fd, -EBADF);
		assert_int_equal(rmdir(moved), 0);
		if (i == SWAP_LINK)
			assert_int_equal(unlink(swapped), 0);
		else if (i == SWAP_FULL)
			assert_int_equal(rename(swapped, f->second), 0);
		if (i != SWAP_OPEN_TO_ALL) {
			assert_int_equal(unlink(file), 0);
			assert_int_equal(rmdir(f->second), 0);
		}
	}
}

/* A user who may put a link there may let it lead to any directory of ours. */
TEST_OF(test_save_by_link, struct fixture *f)
{
	enum { ANOTHER = 65534 };
	struct sw_snapshot *made = make_snapshot();
	char real[96], link[96], by_link[112], store[112], wanted[256];
	(void) snprintf(real, sizeof(real), "%s/real", f->dir);
	(void) snprintf(link, sizeof(link), "%s/link", f->dir);
	(void) snprintf(by_link, sizeof(by_link), "%s/first", link);
	(void) snprintf(store, sizeof(store), "%s/store", link);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, link), 0);
	assert_int_equal(sw_snapshot_save(made, by_link, &f->err), 0);
	assert_int_equal(load(f, by_link), 0);
	remove_fixture(by_link);
	if (geteuid() == 0) {
		assert_int_equal(lchown(link, ANOTHER, ANOTHER), 0);
		assert_int_equal(sw_snapshot_save(made, by_link, &f->err), -SW_E_IO);
		(void) snprintf(wanted, sizeof(wanted),
				"%s: the way there leads through a link of another user", by_link);
		assert_string_equal(f->err.message, wanted);
		assert_int_equal(sw_own_way_make(store, 0700, NULL), -SW_E_IO);
		assert_int_equal(sw_snapshot_save_shared(made, f->first, link, &f->err), -SW_E_IO);
		assert_non_null(strstr(f->err.message, "a link of another user"));
		assert_int_equal(access(f->first, F_OK), -1);
	}
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(real), 0); /* it is empty */
	fake_snapshot_destroy(made);
}

/* The number of names in a directory, of which the last one without a build-id is in ret. */
static size_t list_store(const char *directory, char ret[128])
{
	size_t n = 0;
	sw_cleanup(sw_closedir_p) DIR *dir = opendir(directory);
	for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
		n += e->d_name[0] != '.';
		if (strncmp(e->d_name, "crc32-", 6) == 0)
			(void) snprintf(ret, 128, "%s/%.32s", directory, e->d_name);
	}
	return n;
}

static nlink_t links_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_nlink : 0;
}

TEST_OF(test_store, struct fixture *f)
{
	struct sw_snapshot *made = make_snapshot();
	char store[96], path[128] = "";
	(void) snprintf(store, sizeof(store), "%s/store", f->dir);
	assert_int_equal(sw_snapshot_save_shared(made, f->first, store, &f->err), -SW_E_IO);
	assert_memory_equal(f->err.message, store, strlen(store));
	assert_int_equal(mkdir(store, 0700), 0);
	assert_int_equal(sw_snapshot_save_shared(made, f->first, store, &f->err), 0);
	assert_int_equal(sw_snapshot_save_shared(made, f->second, store, &f->err), 0);
	/* The program, and the image of memory, which has no build-id. */
	assert_int_equal(list_store(store, path), 2);
	assert_int_equal(links_of(path), 3);
	assert_int_equal(load(f, f->second), 0);
	assert_same(made, f->snap);
	/* Another file of that name and size is not taken, and stays. */
	remove_fixture(f->second);
	assert_int_equal(unlink(path), 0);
	write_file(store, strrchr(path, '/') + 1, "image of nothing", 15);
	assert_int_equal(sw_snapshot_save_shared(made, f->second, store, &f->err), 0);
	assert_int_equal(links_of(path), 1);
	assert_int_equal(list_store(store, path), 2);
	assert_int_equal(load(f, f->second), 0);
	assert_same(made, f->snap);
	remove_fixture(store);
	fake_snapshot_destroy(made);
}

#define HEAD "snapwalk-fixture 1\narch x86_64\nprocess 1 0 0 5 -1 64 c - -\n"
#define REGS "regs 0x0 0x10 0x20 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

TEST_OF(test_loaded_literal, struct fixture *f)
{
	write_text(f, HEAD "\nlater 1 2 3\n"
			   "thread 9 1 0 0x40 S -1 0 -1 -1 0x0 0x0 0x1000 0x3000 6 4 x%20y -\n" REGS
			   "range 0x5000 4 12 word added later\nend\nrubbish after the end");
	assert_int_equal(load(f, f->first), 0);
	const struct sw_thread *t = &f->snap->threads[0];
	assert_int_equal(t->tid, 9);
	assert_string_equal(t->comm, "x y");
	assert_int_equal(t->regs.pc_avma, 0x10);
	assert_int_equal(t->regs.sp_avma, 0x20);
	assert_int_equal(t->stack_bytes, 6);
	assert_memory_equal(t->stack, "456789", 6);
	assert_int_equal(t->stack_end_avma, 0x3000);
	assert_int_equal(f->snap->n_ranges, 1);
	assert_memory_equal(f->snap->ranges[0].data, "cdef", 4);
	assert_int_equal(f->snap->n_warnings, 0);
}

/* Bytes beyond the memory file are missing, and that is said. */
TEST_OF(test_short_memory, struct fixture *f)
{
	write_text(f, HEAD "thread 9 1 0 0 S -1 0 -1 -1 0 0 0x1000 0x3000 100 10 x -\n" REGS
			   "range 0x5000 4 0xffffffffffffffff\nend\n");
	assert_int_equal(load(f, f->first), 0);
	assert_int_equal(f->snap->threads[0].stack_bytes, 6);
	assert_int_equal(f->snap->n_ranges, 0);
	assert_int_equal(f->snap->n_warnings, 1);
	assert_int_equal(f->snap->warnings[0].code, SW_WARN_PARTIAL);
	assert_string_equal(f->snap->warnings[0].message, "the fixture's memory is cut short");
}

TEST_OF(test_missing_module, struct fixture *f)
{
	write_text(f, HEAD "module 0 0 abc /lib/x\nplace 0 0x1000 0x2000\n"
			   "map 0x1000 0x2000 0 1 0 0 0x5 0 /lib/x\nend\n");
	assert_int_equal(load(f, f->first), 0);
	assert_string_equal(f->snap->warnings[0].message,
			    "/lib/x: its copy in the fixture is missing");
	size_t size;
	assert_null(sw_module_image(sw_snapshot_place(f->snap, 0x1800)->module, &size));
}

TEST_OF(test_malformed, struct fixture *f)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", ": not a fixture"},
		{"hello\n", ": not a fixture"},
		{"snapwalk-fixture 2\nend\n", ": a fixture of another version"},
		{"snapwalk-fixture 12\nend\n", ": a fixture of another version"},
		{HEAD, ": cut short: it has no last line 'end'"},
		{HEAD "thread 1 2", ": line 4: malformed 'thread'"},
		{"snapwalk-fixture 1\narch arm\nend\n", ": line 2: malformed 'arch'"},
		{HEAD REGS "end\n", ": line 4: malformed 'regs'"},
		{HEAD "range 0xffffffffffffffff 4 0\nend\n", ": line 4: malformed 'range'"},
		{HEAD "map 0x2000 0x1000 0 0 0 0 5 -1 x\nend\n", ": line 4: malformed 'map'"},
		{HEAD "map 0x1000 0x2000 0 0 0 0 16 -1 x\nend\n", ": line 4: malformed 'map'"},
		{HEAD "map 0x1000 0x2000 0 0 0 0 5 0 x\nend\n",
		 ": a map of a place that is not there"},
		{HEAD "place 0 0x1000 0x2000\nend\n", ": line 4: malformed 'place'"},
		{HEAD "module 9 0 - x\nend\n", ": line 4: malformed 'module'"},
		{HEAD "module 0 0 ../secret x\nend\n", ": line 4: malformed 'module'"},
		{HEAD "module 0 0 .. x\nend\n", ": line 4: malformed 'module'"},
		{HEAD "warning 12 0 0 x\nend\n", ": line 4: malformed 'warning'"},
		{HEAD "wait -1 1 0 0\nend\n", ": line 4: malformed 'wait'"},
		{HEAD "process 1 0 0 5 -1 128 c - -\nend\n", ": line 4: malformed 'process'"},
		{HEAD "time 1 -1 0 0 0 0 0\nend\n", ": line 4: malformed 'time'"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char wanted[160];
		write_text(f, cases[i].text);
		(void) snprintf(wanted, sizeof(wanted), "%s%s", f->first, cases[i].message);
		assert_int_equal(load(f, f->first), -SW_E_FORMAT);
		assert_string_equal(f->err.message, wanted);
		assert_null(f->snap);
	}
	assert_int_equal(load(f, f->second), -SW_E_IO);
	assert_int_equal(load(f, f->dir), -SW_E_IO); /* a directory without the files */
}

/* A line for each thread more than the limit. */
TEST_OF(test_limit, struct fixture *f)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_text_printf(&text, HEAD);
	for (unsigned i = 0; i <= 65536; i++)
		sw_text_append(&text, "thread\n", 7);
	assert_false(text.failed);
	write_text(f, text.data);
	char wanted[160];
	(void) snprintf(wanted, sizeof(wanted), "%s: more than 65536 lines 'thread'", f->first);
	assert_int_equal(load(f, f->first), -SW_E_LIMIT);
	assert_string_equal(f->err.message, wanted);
}
