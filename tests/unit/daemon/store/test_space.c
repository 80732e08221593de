/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The dumps that go when there is no space, and those that are lost when there is none to be
 * had. */
#include "store_case.h"
#include "store/space.h"
#include "cleanup.h"
#include "test.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "skip.h"

static const int64_t S = 1000000000;

TEST(max_files)
{
	struct store_case f = store_case_make();
	f.config.store_max_files = 3;
	struct sw_store *store = store_case_open(&f);
	for (int i = 0; i < 5; i++) {
		char id[8];
		snprintf(id, sizeof(id), "d%d", i);
		store_case_put(store, id, f.now_ns + i, 1000);
	}
	assert_int_equal(sw_store_count(store), 3);
	assert_string_equal(sw_store_entry(store, 0)->id, "d4");
	assert_string_equal(sw_store_entry(store, 2)->id, "d2");
	/* Fewer after a reload, at once. */
	f.config.store_max_files = 1;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_count(store), 1);
	assert_true(store_case_has(store, "d4", 1000, f.now_ns + 4));
	assert_false(store_case_has(store, "d3", 1000, f.now_ns + 3));
	sw_store_close(store);
	char text[256];
	store_case_names(f.dir, text, sizeof(text));
	assert_string_equal(text, "d4.json.zst ");
	store_case_remove(&f);
}

TEST(max_use)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("big", f.now_ns + 9);
	f.config.store_max_use = 100000;
	struct sw_store *store = store_case_open(&f);
	sw_cleanup(sw_free_p) char *json = malloc(200000);
	store_case_random(json, 200000, 1);
	store_case_put(store, "a", f.now_ns,
		       50000); /* about 3/4 of it on disk: 6 bits in each byte */
	store_case_put(store, "b", f.now_ns + 1, 50000);
	assert_int_equal(sw_store_count(store), 2);
	store_case_put(store, "c", f.now_ns + 2, 50000);
	assert_int_equal(sw_store_count(store), 2);
	assert_true(sw_store_bytes(store) <= 100000);
	assert_false(store_case_has(store, "a", 50000, f.now_ns));
	/* Larger than all that may be: nothing is thrown away for it. */
	assert_int_equal(sw_store_put(store, &e, json, 200000, &err), -SW_E_LIMIT);
	assert_int_equal(sw_store_count(store), 2);
	assert_true(store_case_has(store, "b", 50000, f.now_ns + 1));
	assert_true(store_case_has(store, "c", 50000, f.now_ns + 2));
	sw_store_close(store);
	store_case_remove(&f);
}

/* Put a dump of that user or alert. */
static int put_by(struct sw_store *store, const char *id, int64_t time_ns, uid_t by, bool alert)
{
	struct sw_store_entry e = store_case_entry(id, time_ns);
	char json[1000];
	struct sw_error err = {0};
	e.by = by;
	e.alert = alert;
	store_case_random(json, sizeof(json), 3);
	return sw_store_put(store, &e, json, sizeof(json), &err);
}

static bool has(const struct sw_store *store, const char *id)
{
	return sw_store_find(store, id) != NULL;
}

TEST(shares)
{
	struct store_case f = store_case_make();
	char id[16];
	f.config.store_max_files = 10;
	struct sw_store *store = store_case_open(&f);
	assert_int_equal(put_by(store, "root", f.now_ns, 0, false), 0);
	assert_int_equal(put_by(store, "alert0", f.now_ns + 1, 0, true), 0);
	assert_int_equal(put_by(store, "alert1", f.now_ns + 2, 0, true), 0);
	assert_int_equal(put_by(store, "other", f.now_ns + 3, 7, false), 0);
	for (int i = 0; i < 200; i++) {
		(void) snprintf(id, sizeof(id), "mass%d", i);
		assert_int_equal(put_by(store, id, f.now_ns + 10 + i, 5, false), 0);
	}
	assert_true(has(store, "root"));
	assert_true(has(store, "alert0"));
	assert_true(has(store, "alert1"));
	assert_true(has(store, "other"));
	assert_true(has(store, "mass199"));
	assert_int_equal(sw_store_count(store), 10);
	/* Also after the next start: the files say whose they are. */
	sw_store_close(store);
	store = store_case_open(&f);
	for (int i = 200; i < 220; i++) {
		(void) snprintf(id, sizeof(id), "mass%d", i);
		assert_int_equal(put_by(store, id, f.now_ns + 10 + i, 5, false), 0);
	}
	assert_true(has(store, "root") && has(store, "alert0") && has(store, "other"));
	/* Alerts push the heaviest user out, not beyond half of all. */
	for (int i = 0; i < 20; i++) {
		(void) snprintf(id, sizeof(id), "more%d", i);
		assert_int_equal(put_by(store, id, f.now_ns + 500 + i, 0, true), 0);
	}
	assert_false(has(store, "alert0"));
	assert_true(has(store, "more19") && has(store, "root") && has(store, "other"));
	assert_true(has(store, "mass219"));
	sw_store_close(store);
	store_case_remove(&f);
	/* Alerts that have most, but not more than half, stay for users with a dump each. */
	f = store_case_make();
	f.config.store_max_files = 10;
	store = store_case_open(&f);
	for (int i = 0; i < 10; i++) {
		(void) snprintf(id, sizeof(id), i < 5 ? "alert%d" : "user%d", i);
		assert_int_equal(put_by(store, id, f.now_ns + i, (uid_t) i, i < 5), 0);
	}
	assert_int_equal(put_by(store, "user10", f.now_ns + 10, 10, false), 0);
	assert_true(has(store, "alert0") && has(store, "alert4") && has(store, "user10"));
	assert_false(has(store, "user5"));
	sw_store_close(store);
	store_case_remove(&f);
}

TEST(max_age)
{
	struct store_case f = store_case_make();
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "old", f.now_ns - 3500 * S, 100);
	store_case_put(store, "new", f.now_ns, 100);
	sw_store_vacuum(store, f.now_ns);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_vacuum(store, f.now_ns + 100 * S);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_vacuum(store, f.now_ns + 100 * S + 1);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "new");
	/* Keeping one drops what has become too old, and so does opening. */
	store_case_put(store, "older", f.now_ns - 4000 * S, 100);
	assert_int_equal(sw_store_count(store), 1);
	f.config.store_max_age_s = 5000;
	sw_store_reconfigure(store, &f.config);
	store_case_put(store, "older", f.now_ns - 4000 * S, 100);
	assert_int_equal(sw_store_count(store), 2);
	sw_store_close(store);
	f.config.store_max_age_s = 3600;
	store = store_case_open(&f);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "new");
	/* 0: for ever. */
	f.config.store_max_age_s = 0;
	sw_store_reconfigure(store, &f.config);
	sw_store_vacuum(store, INT64_MAX);
	assert_int_equal(sw_store_count(store), 1);
	sw_store_close(store);
	store_case_remove(&f);
}

/* ---- full disks ------------------------------------------------------------------------------ */

/* A file system of 256 KiB; false when we may not. */
static bool mount_small(const struct store_case *f)
{
	return geteuid() == 0 && mount("none", f->dir, "tmpfs", 0, "size=256k,mode=0700") == 0;
}

TEST(disk_full)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("lost", f.now_ns + 50);
	char text[512], expect[512];
	size_t n = 0;
	int rc = 0;
	if (!mount_small(&f)) {
		store_case_remove(&f);
		SKIP("no small file system can be mounted",
		     "root that may mount (no container without CAP_SYS_ADMIN)");
	}
	struct sw_store *store = store_case_open(&f);
	sw_cleanup(sw_free_p) char *json = malloc(50000);
	for (; rc == 0 && n < 100; n++) { /* until it is full */
		char id[8];
		snprintf(id, sizeof(id), "d%zu", n);
		e.id = id;
		e.time_ns = f.now_ns + (int64_t) n;
		store_case_random(json, 50000, 50000 + (uint64_t) e.time_ns);
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
		assert_true(store_case_has(store, id, 50000, f.now_ns + (int64_t) i));
		snprintf(expect + strlen(expect), sizeof(expect) - strlen(expect), "%s.json.zst ",
			 id);
	}
	store_case_names(f.dir, text, sizeof(text));
	assert_string_equal(text, expect);
	/* The same when old ones would have to go for MaxUse= as well: only once it is written. */
	f.config.store_max_use = sw_store_bytes(store);
	sw_store_reconfigure(store, &f.config);
	e.id = "lost";
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(sw_store_count(store), n);
	/* With KeepFree= there is space again, as the oldest make way. */
	f.config.store_max_use = 1 << 20;
	f.config.store_keep_free = 60000;
	sw_store_reconfigure(store, &f.config);
	e.id = "after";
	store_case_random(json, 50000, 50000 + (uint64_t) e.time_ns);
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), 0);
	assert_false(store_case_has(store, "d0", 50000, f.now_ns));
	assert_true(store_case_has(store, "after", 50000, e.time_ns));
	sw_store_close(store);
	assert_int_equal(umount(f.dir), 0);
	store_case_remove(&f);
}

/* Somebody else has filled the disk: throwing all dumps away would not help, so none is. */
TEST(disk_full_of_others)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("lost", f.now_ns + 1);
	if (!mount_small(&f)) {
		store_case_remove(&f);
		SKIP("no small file system can be mounted",
		     "root that may mount (no container without CAP_SYS_ADMIN)");
	}
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "kept", f.now_ns, 20000);
	f.config.store_keep_free = 1 << 20;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_IO);
	assert_non_null(
		strstr(err.message,
		       "is not kept: there would be less than KeepFree=1048576 bytes free"));
	sw_store_vacuum(store, f.now_ns);
	assert_true(store_case_has(store, "kept", 20000, f.now_ns));
	sw_store_close(store);
	assert_int_equal(umount(f.dir), 0);
	store_case_remove(&f);
}

/* Without a disk of our own: a limit on the size of files stops the write in the middle. */
TEST(write_fails)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("lost", f.now_ns + 1);
	struct rlimit old, small;
	char text[128];
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "kept", f.now_ns, 20000);
	sw_cleanup(sw_free_p) char *json = malloc(50000);
	store_case_random(json, 50000, 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 10000, .rlim_max = old.rlim_max};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int rc = sw_store_put(store, &e, json, 50000, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void) signal(SIGXFSZ, handler);
	assert_int_equal(rc, -SW_E_IO);
	assert_int_equal(err.sys_errno, EFBIG);
	store_case_names(f.dir, text, sizeof(text));
	assert_string_equal(text, "kept.json.zst ");
	assert_true(store_case_has(store, "kept", 20000, f.now_ns));
	assert_int_equal(sw_store_put(store, &e, json, 50000, &err), 0);
	sw_store_close(store);
	store_case_remove(&f);
}
