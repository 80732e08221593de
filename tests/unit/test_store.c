/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store.h"
#include "store_file.h"
#include "cleanup.h"
#include "text.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

static const int64_t S = 1000000000;

struct fixture {
	char dir[64];
	struct sw_config config;
	int64_t now_ns;
};

static void clock_read(struct fixture *f)
{
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &t), 0);
	f->now_ns = t.tv_sec * S + t.tv_nsec;
}

static struct fixture fixture_make(void)
{
	struct fixture f = {
		.dir = "/tmp/snapwalk-store-XXXXXX",
		.config = {.store_max_use = 1 << 20,
			   .store_max_files = 1000,
			   .store_max_age_s = 3600,
			   .dump_bytes_max = 1 << 20},
	};
	assert_non_null(mkdtemp(f.dir));
	clock_read(&f);
	return f;
}

static struct sw_store *open_store(struct fixture *f)
{
	struct sw_store *store = NULL;
	struct sw_error err = {0};
	f->config.state_dir = f->dir;
	assert_int_equal(sw_store_open(&f->config, &store, &err), 0);
	return store;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void) st, (void) type, (void) ftw;
	return remove(path);
}

static void fixture_remove(struct fixture *f)
{
	assert_int_equal(nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0);
}

static struct sw_store_entry entry(const char *id, int64_t time_ns)
{
	return (struct sw_store_entry){.id = id,
				       .summary = "{\"id\":\"x\"}",
				       .uid = 1000,
				       .pid = 42,
				       .comm = "ser\"ver",
				       .time_ns = time_ns};
}

/* Text that does not get smaller. */
static void fill_random(char *to, size_t size, uint64_t seed)
{
	static const char hex[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
	for (size_t i = 0; i < size; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		to[i] = hex[seed >> 58];
	}
}

static void put(struct sw_store *store, const char *id, int64_t time_ns, size_t size)
{
	struct sw_error err = {0};
	struct sw_store_entry e = entry(id, time_ns);
	sw_cleanup(sw_free_p) char *json = malloc(size);
	assert_non_null(json);
	fill_random(json, size, size + (uint64_t) time_ns);
	if (sw_store_put(store, &e, json, size, &err) != 0)
		fail_msg("%s: %s", id, err.message);
}

static bool has(struct sw_store *store, const char *id, size_t size, int64_t time_ns)
{
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *json = NULL, *expect = malloc(size);
	size_t n = 0;
	int rc = sw_store_get(store, id, &json, &n, &err);
	if (rc == -SW_E_NOT_FOUND)
		return false;
	assert_int_equal(rc, 0);
	fill_random(expect, size, size + (uint64_t) time_ns);
	assert_int_equal(n, size);
	assert_memory_equal(json, expect, size);
	assert_int_equal(json[n], 0);
	return true;
}

static void names(const char *dir, char *ret, size_t size)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);
	ret[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
			snprintf(ret + strlen(ret), size - strlen(ret), "%s ", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void ids(void **state)
{
	static const char sixty_four[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	char too_long[66];
	(void) state;
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

static void keep_and_read(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct stat st;
	char path[128], text[256];
	size_t size;
	char *json = NULL;
	(void) state;
	assert_int_equal(rmdir(f.dir), 0); /* it makes the directory */
	struct sw_store *store = open_store(&f);
	assert_int_equal(stat(f.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(sw_store_count(store), 0);
	put(store, "b", f.now_ns, 5000);
	put(store, "a", f.now_ns + 1, 6000);
	put(store, "c", f.now_ns - 1, 7000);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(sw_store_count(store), 3);
		const struct sw_store_entry *e = sw_store_entry(store, 0);
		assert_string_equal(e->id, "a");
		assert_string_equal(e->summary, "{\"id\":\"x\"}");
		assert_string_equal(e->comm, "ser\"ver");
		assert_int_equal(e->uid, 1000);
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
		assert_true(has(store, "a", 6000, f.now_ns + 1));
		assert_true(has(store, "b", 5000, f.now_ns));
		assert_true(has(store, "c", 7000, f.now_ns - 1));
		assert_int_equal(sw_store_get(store, "d", &json, &size, &err), -SW_E_NOT_FOUND);
		assert_int_equal(sw_store_get(store, "../b", &json, &size, &err), -SW_E_NOT_FOUND);
		sw_store_close(store);
		store = open_store(&f);
	}
	/* The same again is refused, and what is there stays. */
	struct sw_store_entry e = entry("a", f.now_ns);
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_INVALID);
	assert_true(has(store, "a", 6000, f.now_ns + 1));
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
	names(f.dir, text, sizeof(text));
	assert_string_equal(text, "a.json.zst c.json.zst ");
	sw_store_close(store);
	fixture_remove(&f);
}

/* Any zstd reads it: the head is a frame to step over. */
static void others_can_read(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("x", f.now_ns);
	char command[128], text[64] = "";
	(void) state;
	if (system("zstd --version >/dev/null 2>&1") != 0) {
		fixture_remove(&f);
		skip();
	}
	struct sw_store *store = open_store(&f);
	assert_int_equal(sw_store_put(store, &e, "{\"schema\":1}", 12, &err), 0);
	snprintf(command, sizeof(command), "zstd -dc %s/x.json.zst", f.dir);
	FILE *p = popen(command, "re");
	assert_non_null(p);
	assert_non_null(fgets(text, sizeof(text), p));
	assert_int_equal(pclose(p), 0);
	assert_string_equal(text, "{\"schema\":1}");
	sw_store_close(store);
	fixture_remove(&f);
}

static void max_files(void **state)
{
	struct fixture f = fixture_make();
	(void) state;
	f.config.store_max_files = 3;
	struct sw_store *store = open_store(&f);
	for (int i = 0; i < 5; i++) {
		char id[8];
		snprintf(id, sizeof(id), "d%d", i);
		put(store, id, f.now_ns + i, 1000);
	}
	assert_int_equal(sw_store_count(store), 3);
	assert_string_equal(sw_store_entry(store, 0)->id, "d4");
	assert_string_equal(sw_store_entry(store, 2)->id, "d2");
	/* Fewer after a reload, at once. */
	f.config.store_max_files = 1;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_count(store), 1);
	assert_true(has(store, "d4", 1000, f.now_ns + 4));
	assert_false(has(store, "d3", 1000, f.now_ns + 3));
	sw_store_close(store);
	char text[256];
	names(f.dir, text, sizeof(text));
	assert_string_equal(text, "d4.json.zst ");
	fixture_remove(&f);
}

static void max_use(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("big", f.now_ns + 9);
	(void) state;
	f.config.store_max_use = 100000;
	struct sw_store *store = open_store(&f);
	sw_cleanup(sw_free_p) char *json = malloc(200000);
	fill_random(json, 200000, 1);
	put(store, "a", f.now_ns, 50000); /* about 3/4 of it on disk: 6 bits in each byte */
	put(store, "b", f.now_ns + 1, 50000);
	assert_int_equal(sw_store_count(store), 2);
	put(store, "c", f.now_ns + 2, 50000);
	assert_int_equal(sw_store_count(store), 2);
	assert_true(sw_store_bytes(store) <= 100000);
	assert_false(has(store, "a", 50000, f.now_ns));
	/* Larger than all that may be: nothing is thrown away for it. */
	assert_int_equal(sw_store_put(store, &e, json, 200000, &err), -SW_E_LIMIT);
	assert_int_equal(sw_store_count(store), 2);
	assert_true(has(store, "b", 50000, f.now_ns + 1));
	assert_true(has(store, "c", 50000, f.now_ns + 2));
	sw_store_close(store);
	fixture_remove(&f);
}

static void max_age(void **state)
{
	struct fixture f = fixture_make();
	(void) state;
	struct sw_store *store = open_store(&f);
	put(store, "old", f.now_ns - 3500 * S, 100);
	put(store, "new", f.now_ns, 100);
	sw_store_vacuum(store, f.now_ns);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_vacuum(store, f.now_ns + 100 * S);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_vacuum(store, f.now_ns + 100 * S + 1);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "new");
	/* Keeping one drops what has become too old, and so does opening. */
	put(store, "older", f.now_ns - 4000 * S, 100);
	assert_int_equal(sw_store_count(store), 1);
	f.config.store_max_age_s = 5000;
	sw_store_reconfigure(store, &f.config);
	put(store, "older", f.now_ns - 4000 * S, 100);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_close(store);
	f.config.store_max_age_s = 3600;
	store = open_store(&f);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "new");
	/* 0: for ever. */
	f.config.store_max_age_s = 0;
	sw_store_reconfigure(store, &f.config);
	sw_store_vacuum(store, INT64_MAX);
	assert_int_equal(sw_store_count(store), 1);
	sw_store_close(store);
	fixture_remove(&f);
}

/* ---- full disks ------------------------------------------------------------------------------ */

/* A file system of 256 KiB; false when we may not. */
static bool mount_small(const struct fixture *f)
{
	return geteuid() == 0 && mount("none", f->dir, "tmpfs", 0, "size=256k,mode=0700") == 0;
}

static void disk_full(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("lost", f.now_ns + 50);
	char text[512], expect[512];
	size_t n = 0;
	int rc = 0;
	(void) state;
	if (!mount_small(&f)) {
		fixture_remove(&f);
		skip();
	}
	struct sw_store *store = open_store(&f);
	sw_cleanup(sw_free_p) char *json = malloc(50000);
	for (; rc == 0 && n < 100; n++) { /* until it is full */
		char id[8];
		snprintf(id, sizeof(id), "d%zu", n);
		e.id = id;
		e.time_ns = f.now_ns + (int64_t) n;
		fill_random(json, 50000, 50000 + (uint64_t) e.time_ns);
		rc = sw_store_put(store, &e, json, 50000, &err);
	}
	n--;
	assert_int_equal(rc, -SW_E_IO);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_in_range(n, 5, 6); /* of about 38,000 bytes each */
	snprintf(text, sizeof(text), "dump d%zu of", n);
	assert_non_null(strstr(err.message, text));
	assert_non_null(strstr(err.message, "is not kept: No space left on device"));
	/* The old ones are all there, and nothing half written. */
	assert_int_equal(sw_store_count(store), n);
	expect[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		char id[8];
		snprintf(id, sizeof(id), "d%zu", i);
		assert_true(has(store, id, 50000, f.now_ns + (int64_t) i));
		snprintf(expect + strlen(expect), sizeof(expect) - strlen(expect), "%s.json.zst ",
			 id);
	}
	names(f.dir, text, sizeof(text));
	assert_string_equal(text, expect);
	/* The same when old ones would have to go for MaxUse= as well: only once it is written. */
	f.config.store_max_use = sw_store_bytes(store);
	sw_store_reconfigure(store, &f.config);
	e.id = "lost";
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(sw_store_count(store), n);
	/* With KeepFree= there is room again, as the oldest make way. */
	f.config.store_max_use = 1 << 20;
	f.config.store_keep_free = 60000;
	sw_store_reconfigure(store, &f.config);
	e.id = "after";
	fill_random(json, 50000, 50000 + (uint64_t) e.time_ns);
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), 0);
	assert_false(has(store, "d0", 50000, f.now_ns));
	assert_true(has(store, "after", 50000, e.time_ns));
	sw_store_close(store);
	assert_int_equal(umount(f.dir), 0);
	fixture_remove(&f);
}

/* Somebody else has filled the disk: throwing all dumps away would not help, so none is. */
static void disk_full_of_others(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("lost", f.now_ns + 1);
	(void) state;
	if (!mount_small(&f)) {
		fixture_remove(&f);
		skip();
	}
	struct sw_store *store = open_store(&f);
	put(store, "kept", f.now_ns, 20000);
	f.config.store_keep_free = 1 << 20;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_IO);
	assert_non_null(
		strstr(err.message,
		       "is not kept: there would be less than KeepFree=1048576 bytes free"));
	sw_store_vacuum(store, f.now_ns);
	assert_true(has(store, "kept", 20000, f.now_ns));
	sw_store_close(store);
	assert_int_equal(umount(f.dir), 0);
	fixture_remove(&f);
}

/* Without a disk of our own: a limit on the size of files stops the write in the middle. */
static void write_fails(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("lost", f.now_ns + 1);
	struct rlimit old, small;
	char text[128];
	(void) state;
	struct sw_store *store = open_store(&f);
	put(store, "kept", f.now_ns, 20000);
	sw_cleanup(sw_free_p) char *json = malloc(50000);
	fill_random(json, 50000, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 10000, .rlim_max = old.rlim_max};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int rc = sw_store_put(store, &e, json, 50000, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void) signal(SIGXFSZ, handler);
	assert_int_equal(rc, -SW_E_IO);
	assert_int_equal(err.sys_errno, EFBIG);
	names(f.dir, text, sizeof(text));
	assert_string_equal(text, "kept.json.zst ");
	assert_true(has(store, "kept", 20000, f.now_ns));
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), 0);
	sw_store_close(store);
	fixture_remove(&f);
}

/* ---- hostile files --------------------------------------------------------------------------- */

static void put_file(const struct fixture *f, const char *name, const void *data, size_t size)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
}

static void foreign_files(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("good", f.now_ns);
	char path[160], text[512], *file, *json;
	size_t size;
	(void) state;
	assert_int_equal(sw_store_encode(&e, "{}", 2, &file, &size, &err), 0);
	put_file(&f, "good.json.zst", file, size);
	put_file(&f, "other-name.json.zst", file, size); /* its head says another id */
	put_file(&f, "cut.json.zst", file, 20);
	put_file(&f, "empty.json.zst", "", 0);
	put_file(&f, "text.json.zst", "hello", 5);
	put_file(&f, "README", "hello", 5);
	put_file(&f, "bad_name.json.zst", file, size);
	put_file(&f, ".new-half.json.zst", file, 20);
	snprintf(path, sizeof(path), "%s/link.json.zst", f.dir);
	assert_int_equal(symlink("good.json.zst", path), 0);
	snprintf(path, sizeof(path), "%s/fifo.json.zst", f.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/dir.json.zst", f.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	free(file);
	struct sw_store *store = open_store(&f);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "good");
	/* Left alone, but for the half one of ours and the empty one. */
	names(f.dir, text, sizeof(text));
	assert_string_equal(text, "README bad_name.json.zst cut.json.zst dir.json.zst "
				  "fifo.json.zst good.json.zst link.json.zst other-name.json.zst "
				  "text.json.zst ");
	/* A dump that becomes a link is not followed. */
	snprintf(path, sizeof(path), "%s/good.json.zst", f.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(sw_store_get(store, "good", &json, &size, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, ELOOP);
	sw_store_close(store);
	fixture_remove(&f);
}

/* Each byte of a dump's frame changed: said, never believed. */
static void damaged(void **state)
{
	struct fixture f = fixture_make();
	struct sw_error err = {0};
	struct sw_store_entry e = entry("x", f.now_ns);
	char *file = NULL, *json = NULL, original[300];
	size_t size, n;
	uint32_t head;
	(void) state;
	fill_random(original, sizeof(original), 3);
	assert_int_equal(sw_store_encode(&e, original, sizeof(original), &file, &size, &err), 0);
	memcpy(&head, file + 4, 4);
	assert_int_equal(sw_store_decode(file, size, 300, &json, &n, &err), 0);
	assert_int_equal(n, 300);
	assert_memory_equal(json, original, 300);
	free(json);
	json = NULL;
	assert_int_equal(sw_store_decode(file, size, 299, &json, &n, &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "a stored dump of 300 bytes is above the limit");
	/* Cut anywhere, or with something behind it. */
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(sw_store_decode(file, cut, 300, &json, &n, &err), -SW_E_FORMAT);
	sw_cleanup(sw_free_p) char *longer = calloc(1, size + 1);
	memcpy(longer, file, size);
	assert_int_equal(sw_store_decode(longer, size + 1, 300, &json, &n, &err), -SW_E_FORMAT);
	for (size_t at = 8 + head; at < size; at++) {
		file[at] ^= 0x10;
		int rc = sw_store_decode(file, size, 1 << 20, &json, &n, &err);
		if (rc == 0) { /* a bit that means nothing to zstd: the text is still right */
			assert_int_equal(n, 300);
			assert_memory_equal(json, original, 300);
			free(json);
			json = NULL;
		} else {
			assert_true(rc == -SW_E_FORMAT || rc == -SW_E_LIMIT);
		}
		file[at] ^= 0x10;
	}
	free(file);
	fixture_remove(&f);
}

/* A frame that says it holds a terabyte. */
static void bomb(void **state)
{
	static const uint8_t file[] = {
		0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, '{', '}', 0x28, 0xB5, 0x2F, 0xFD, /* magic */
		0xE0,                               /* 8 bytes of size, single segment */
		0,    0,    0,    0,    0, 1, 0, 0, /* 2^40 */
		0x03, 0,    0,                      /* last block: 2^0 … RLE of 0 bytes */
		0,
	};
	struct sw_error err = {0};
	char *json = NULL;
	size_t n;
	(void) state;
	assert_int_equal(sw_store_decode(file, sizeof(file), 64 << 20, &json, &n, &err),
			 -SW_E_LIMIT);
	assert_string_equal(err.message, "a stored dump of 1099511627776 bytes is above the limit");
}

static void heads(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
#define HEAD(version, id, uid, pid, comm, time, bytes, summary)                      \
	"{\"snapwalk_store\":" version ",\"id\":" id ",\"uid\":" uid ",\"pid\":" pid \
	",\"comm\":" comm ",\"time_ns\":" time ",\"bytes\":" bytes ",\"summary\":" summary "}"
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "{\"a\":[1]}"), 0},
		{HEAD("1", "\"x\"", "4294967295", "2147483647", "\"\"", "0", "0", "{}"), 0},
		{HEAD("2", "\"x\"", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"../x\"", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "7", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "-1", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "4294967296", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "0", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"a\\u0000b\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "-5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5.5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "[]"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\xff\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "{}") "x", -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2",
		      "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]"),
		 -SW_E_FORMAT},
		{"{}", -SW_E_FORMAT},
		{"", -SW_E_FORMAT},
		{"[1]", -SW_E_FORMAT},
	};
	(void) state;
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char file[512] = {0x50, 0x2A, 0x4D, 0x18, (char) strlen(cases[i].text)};
		struct sw_store_head head = {0};
		size_t size = 8 + strlen(cases[i].text);
		assert_true(strlen(cases[i].text) < 256);
		memcpy(file + 8, cases[i].text, strlen(cases[i].text));
		if (sw_store_head_parse(file, size, &head, NULL) != cases[i].rc)
			fail_msg("%s", cases[i].text);
		if (cases[i].rc == 0) {
			assert_string_equal(head.entry.id, "x");
			assert_string_equal(head.entry.summary, i == 0 ? "{\"a\":[1]}" : "{}");
			assert_int_equal(head.dump_bytes, i == 0 ? 2 : 0);
		}
		sw_store_head_deinit(&head);
		assert_int_equal(sw_store_head_parse(file, size - 1, &head, NULL), -SW_E_FORMAT);
	}
}

/* A directory that was there already: others must not look in. */
static void closed(void **state)
{
	struct fixture f = fixture_make();
	struct stat st;
	(void) state;
	assert_int_equal(chmod(f.dir, 02775), 0);
	sw_store_close(open_store(&f));
	assert_int_equal(stat(f.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02770);
	fixture_remove(&f);
}

/* A directory that cannot be. */
static void no_directory(void **state)
{
	static char dir[] = "/dev/null/x";
	struct sw_config config = {.state_dir = dir};
	struct sw_store *store = NULL;
	struct sw_error err = {0};
	(void) state;
	assert_int_equal(sw_store_open(&config, &store, &err), -SW_E_IO);
	assert_string_equal(err.message, "/dev/null/x: Not a directory");
	assert_null(store);
	sw_store_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids),
		cmocka_unit_test(keep_and_read),
		cmocka_unit_test(others_can_read),
		cmocka_unit_test(max_files),
		cmocka_unit_test(max_use),
		cmocka_unit_test(max_age),
		cmocka_unit_test(disk_full),
		cmocka_unit_test(disk_full_of_others),
		cmocka_unit_test(write_fails),
		cmocka_unit_test(foreign_files),
		cmocka_unit_test(damaged),
		cmocka_unit_test(bomb),
		cmocka_unit_test(heads),
		cmocka_unit_test(no_directory),
		cmocka_unit_test(closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
