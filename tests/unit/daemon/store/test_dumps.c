/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeping dumps, and giving them back. */
#include "store_case.h"
#include "cleanup.h"
#include "test.h"

#include <sys/stat.h>
#include "skip.h"

TEST(ids)
{
	static const char sixty_four[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	char too_long[66];
	snprintf(too_long, sizeof(too_long), "%sx", sixty_four);
	assert_true(sw_store_id_valid("20261120T103550.084579-42-deadbeef"));
	assert_true(sw_store_id_valid(sixty_four));
	assert_false(sw_store_id_valid(too_long));
	assert_false(sw_store_id_valid(""));
	assert_false(sw_store_id_valid("."));
	assert_false(sw_store_id_valid("../x"));
	assert_false(sw_store_id_valid("a/b"));
	assert_false(sw_store_id_valid("a_b"));
	assert_false(sw_store_id_valid("a\n"));
}

TEST(keep_and_read)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct stat st;
	char path[128], text[256];
	size_t size;
	char *json = NULL;
	assert_int_equal(rmdir(f.dir), 0); /* it makes the directory */
	struct sw_store *store = store_case_open(&f);
	assert_int_equal(stat(f.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(sw_store_count(store), 0);
	store_case_put(store, "b", f.now_ns, 5000);
	store_case_put(store, "a", f.now_ns + 1, 6000);
	store_case_put(store, "c", f.now_ns - 1, 7000);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(sw_store_count(store), 3);
		const struct sw_store_entry *e = sw_store_entry(store, 0);
		assert_string_equal(e->id, "a");
		assert_string_equal(e->summary, "{\"id\":\"x\"}");
		assert_string_equal(e->comm, "ser\"ver");
		const struct sw_store_entry put = store_case_entry("a", 0);
		assert_memory_equal(&e->subject.rights, &put.subject.rights,
				    sizeof(put.subject.rights));
		assert_string_equal(e->subject.comm, "ser\"ver\xff");
		assert_string_equal(e->subject.exe, "/opt/100%/se\nr");
		assert_int_equal(e->pid, 42);
		assert_true(e->time_ns == f.now_ns + 1);
		assert_string_equal(sw_store_entry(store, 1)->id, "b");
		assert_string_equal(sw_store_entry(store, 2)->id, "c");
		assert_null(sw_store_entry(store, 3));
		assert_ptr_equal(sw_store_find(store, "a"), e);
		assert_null(sw_store_find(store, "d"));
		uint64_t bytes = 0;
		for (size_t i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "%s/%s.json.zst", f.dir,
				 sw_store_entry(store, i)->id);
			assert_int_equal(stat(path, &st), 0);
			assert_int_equal(st.st_mode & 07777, 0640);
			assert_int_equal(sw_store_entry(store, i)->file_bytes, st.st_size);
			bytes += (uint64_t) st.st_size;
		}
		assert_int_equal(sw_store_bytes(store), bytes);
		assert_true(store_case_has(store, "a", 6000, f.now_ns + 1));
		assert_true(store_case_has(store, "b", 5000, f.now_ns));
		assert_true(store_case_has(store, "c", 7000, f.now_ns - 1));
		assert_int_equal(sw_store_get(store, "d", &json, &size, &err), -SW_E_NOT_FOUND);
		assert_int_equal(sw_store_get(store, "../b", &json, &size, &err), -SW_E_NOT_FOUND);
		sw_store_close(store);
		store = store_case_open(&f);
	}
	/* The same again is refused, and what is there stays. */
	struct sw_store_entry e = store_case_entry("a", f.now_ns);
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_INVALID);
	assert_true(store_case_has(store, "a", 6000, f.now_ns + 1));
	e.id = "../a";
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_INVALID);
	e.id = "z";
	e.summary = "[]";
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_INVALID);
	/* Somebody removes a file behind our back. */
	snprintf(path, sizeof(path), "%s/b.json.zst", f.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sw_store_get(store, sw_store_find(store, "b")->id, &json, &size, &err),
			 -SW_E_NOT_FOUND);
	assert_string_equal(err.message, "dump b is no longer there");
	assert_int_equal(sw_store_count(store), 2);
	store_case_names(f.dir, text, sizeof(text));
	assert_string_equal(text, "a.json.zst c.json.zst ");
	sw_store_close(store);
	store_case_remove(&f);
}

/* A dump that is there now is not shown to those who may see the one that was there. */
TEST(replaced)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	char from[128], to[128];
	size_t size = 7;
	char *json = NULL;
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "a", f.now_ns, 5000);
	store_case_put(store, "b", f.now_ns, 5000);
	snprintf(from, sizeof(from), "%s/b.json.zst", f.dir);
	snprintf(to, sizeof(to), "%s/a.json.zst", f.dir);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(sw_store_get(store, "a", &json, &size, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "the file of dump a was replaced: it has dump b in it");
	assert_null(json);
	assert_int_equal(size, 7);
	sw_store_close(store);
	store_case_remove(&f);
}

/* Any zstd reads it: the head is a frame to step over. */
TEST(others_can_read)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("x", f.now_ns);
	char command[128], text[64] = "";
	if (system("zstd --version >/dev/null 2>&1") != 0) {
		store_case_remove(&f);
		SKIP("zstd is not installed", "package zstd");
	}
	struct sw_store *store = store_case_open(&f);
	assert_int_equal(sw_store_put(store, &e, "{\"schema\":1}", 12, &err), 0);
	snprintf(command, sizeof(command), "zstd -dc %s/x.json.zst", f.dir);
	FILE *p = popen(command, "re");
	assert_non_null(p);
	assert_non_null(fgets(text, sizeof(text), p));
	assert_int_equal(pclose(p), 0);
	assert_string_equal(text, "{\"schema\":1}");
	sw_store_close(store);
	store_case_remove(&f);
}

/* A directory that was there already: others must not look in. */
TEST(closed)
{
	struct store_case f = store_case_make();
	struct stat st;
	assert_int_equal(chmod(f.dir, 02775), 0);
	sw_store_close(store_case_open(&f));
	assert_int_equal(stat(f.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02770);
	store_case_remove(&f);
}

/* A link where the file is made first: nothing is written through it. */
TEST(no_links)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("x", f.now_ns);
	char link[128], elsewhere[128];
	struct stat st;
	struct sw_store *store = store_case_open(&f);
	snprintf(link, sizeof(link), "%s/.new-x.json.zst", f.dir);
	snprintf(elsewhere, sizeof(elsewhere), "%s-elsewhere", f.dir);
	assert_int_equal(symlink(elsewhere, link), 0);
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_IO);
	assert_int_equal(stat(elsewhere, &st), -1);
	assert_int_equal(sw_store_count(store), 0);
	(void) unlink(link); /* the store has done it */
	sw_store_close(store);
	store_case_remove(&f);
}

/* A dump gets its name when it is whole: what has that name until then stays as it is, or is replaced. */
TEST(named_at_last)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("x", f.now_ns);
	char path[128];
	struct sw_store *store = store_case_open(&f);
	snprintf(path, sizeof(path), "%s/x.json.zst", f.dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(sw_store_put(store, &e, "{\"schema\":1}", 12, &err), 0);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(st.st_nlink, 0); /* nobody wrote to it: another file is there now */
	assert_int_equal(close(fd), 0);
	sw_store_close(store);
	store_case_remove(&f);
}

/* A directory that cannot be. */
TEST(no_directory)
{
	static char dir[] = "/dev/null/x";
	struct sw_config config = {.state_dir = dir};
	struct sw_store *store = NULL;
	struct sw_error err = {0};
	assert_int_equal(sw_store_open(&config, &store, &err), -SW_E_IO);
	assert_string_equal(err.message, "/dev/null/x: Not a directory");
	assert_null(store);
	sw_store_close(NULL);
}
