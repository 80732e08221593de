/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps that no limit removes, and how many of them there may be. */
#include "store_case.h"
#include "store/pins.h"
#include "cleanup.h"
#include "test.h"

#include <sys/stat.h>

static const int64_t S = 1000000000;

static void put_by(struct sw_store *store, const char *id, int64_t time_ns, uid_t by, bool alert)
{
	struct sw_store_entry e = store_case_entry(id, time_ns);
	struct sw_error err = {0};
	char json[1000];
	e.by = by;
	e.alert = alert;
	store_case_random(json, sizeof(json), (uint64_t) time_ns);
	if (sw_store_put(store, &e, json, sizeof(json), &err) != 0)
		fail_msg("%s: %s", id, err.message);
}

static int pin(struct sw_store *store, const char *id, uid_t by, bool limited)
{
	struct sw_error err = {0};
	return sw_store_pin(store, id, by, limited, &err);
}

static void assert_names(const struct store_case *f, const char *wanted)
{
	char text[512];
	store_case_names(f->dir, text, sizeof(text));
	assert_string_equal(text, wanted);
}

/* A pin is a file with the user's number, found again; the dump is deleted with it. */
TEST(files)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "a", f.now_ns, 100);
	store_case_put(store, "b", f.now_ns + 1, 100);
	assert_int_equal(pin(store, "a", 1234, true), 0);
	assert_int_equal(pin(store, "a", 99, true), 0); /* it stays whose it was */
	assert_int_equal(pin(store, "none", 0, false), -SW_E_NOT_FOUND);
	assert_int_equal(sw_store_unpin(store, "none", &err), -SW_E_NOT_FOUND);
	assert_int_equal(sw_store_remove(store, "none", &err), -SW_E_NOT_FOUND);
	assert_names(&f, "a.json.zst a.pin b.json.zst ");
	for (int i = 0; i < 2; i++) {
		const struct sw_store_entry *entry = sw_store_find(store, "a");
		assert_true(entry->pinned);
		assert_int_equal(entry->pinned_by, 1234);
		assert_false(sw_store_find(store, "b")->pinned);
		assert_int_equal(sw_store_count_pinned(store), 1);
		sw_store_close(store);
		store = store_case_open(&f);
	}
	assert_int_equal(sw_store_unpin(store, "a", &err), 0);
	assert_int_equal(sw_store_unpin(store, "a", &err), 0);
	assert_false(sw_store_find(store, "a")->pinned);
	assert_names(&f, "a.json.zst b.json.zst ");
	assert_int_equal(pin(store, "a", 0, false), 0);
	assert_int_equal(sw_store_remove(store, "a", &err), 0);
	assert_int_equal(sw_store_remove(store, "b", &err), 0);
	assert_names(&f, "");
	assert_int_equal(sw_store_count_pinned(store), 0);
	assert_int_equal(sw_store_bytes(store), 0);
	sw_store_close(store);
	store_case_remove(&f);
}

/* A pin that was not written by us, or not to its end, is root's; a pin that is no file pins
 * nothing. */
TEST(strange_files)
{
	static const struct {
		const char *text;
		uid_t by;
	} cases[] = {{"", 0},
		     {"1234", 0},
		     {"1234\n", 1234},
		     {"12x\n", 0},
		     {"-5\n", 0},
		     {"99999999999\n", 0},
		     {"4294967295\n", UINT32_MAX},
		     {" 7\n", 0}};
	struct store_case f = store_case_make();
	char path[128];
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "a", f.now_ns, 100);
	snprintf(path, sizeof(path), "%s/a.pin", f.dir);
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		sw_store_close(store);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fputs(cases[i].text, file) >= 0);
		assert_int_equal(fclose(file), 0);
		store = store_case_open(&f);
		assert_true(sw_store_find(store, "a")->pinned);
		assert_int_equal(sw_store_find(store, "a")->pinned_by, cases[i].by);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	sw_store_close(store);
	store = store_case_open(&f);
	assert_false(sw_store_find(store, "a")->pinned);
	/* A strange file is in nobody's way, and nothing is written through it. */
	assert_int_equal(pin(store, "a", 5, true), 0);
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, 2);
	/* Somebody has removed the dump itself. */
	snprintf(path, sizeof(path), "%s/a.json.zst", f.dir);
	assert_int_equal(unlink(path), 0);
	assert_false(store_case_has(store, "a", 100, f.now_ns));
	assert_names(&f, "");
	sw_store_close(store);
	store_case_remove(&f);
}

TEST(limits_pass_by)
{
	struct store_case f = store_case_make();
	f.config.store_max_files = 4;
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "old", f.now_ns - 2000 * S, 100);
	assert_int_equal(pin(store, "old", 0, false), 0);
	store_case_put(store, "older", f.now_ns - 3000 * S, 100);
	store_case_put(store, "later", f.now_ns - 1900 * S, 100);
	/* MaxAge= */
	f.config.store_max_age_s = 1000;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "old");
	/* MaxFiles= */
	for (int i = 0; i < 6; i++) {
		char id[8];
		snprintf(id, sizeof(id), "n%d", i);
		store_case_put(store, id, f.now_ns + i, 100);
	}
	assert_names(&f, "n3.json.zst n4.json.zst n5.json.zst old.json.zst old.pin ");
	/* MaxUse= */
	f.config.store_max_use = 3 * sw_store_find(store, "old")->file_bytes + 50;
	sw_store_reconfigure(store, &f.config);
	assert_names(&f, "n4.json.zst n5.json.zst old.json.zst old.pin ");
	/* Fewer than are pinned: they stay, and nothing else fits. */
	assert_int_equal(pin(store, "n5", 0, false), -SW_E_LIMIT);
	f.config.store_max_files = 1;
	sw_store_reconfigure(store, &f.config);
	assert_names(&f, "old.json.zst old.pin ");
	struct sw_store_entry e = store_case_entry("new", f.now_ns + 10);
	struct sw_error err = {0};
	assert_int_equal(sw_store_put(store, &e, "{}", 2, &err), -SW_E_LIMIT);
	assert_non_null(strstr(err.message, "pinned"));
	assert_names(&f, "old.json.zst old.pin ");
	/* KeepFree= takes none of them for what would not help. */
	f.config.store_keep_free = UINT64_C(1) << 60;
	sw_store_reconfigure(store, &f.config);
	assert_names(&f, "old.json.zst old.pin ");
	assert_int_equal(sw_store_unpin(store, "old", &err), 0);
	f.config = (struct sw_config){.store_max_use = 1 << 20,
				      .store_max_files = 10,
				      .store_max_age_s = 1000,
				      .state_dir = f.dir};
	sw_store_reconfigure(store, &f.config);
	assert_names(&f, "");
	sw_store_close(store);
	store_case_remove(&f);
}

/* Half for all, an eighth for what one user asked for; the rest of the store is everybody's. */
TEST(how_many)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	char id[8];
	f.config.store_max_files = 16;
	struct sw_store *store = store_case_open(&f);
	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "u%02d", i);
		put_by(store, id, f.now_ns + i, i < 6 ? 1000 : 2000, false);
	}
	assert_int_equal(pin(store, "u00", 1000, true), 0);
	assert_int_equal(pin(store, "u01", 1000, true), 0);
	assert_int_equal(pin(store, "u02", 1000, true), -SW_E_LIMIT);
	assert_int_equal(pin(store, "u06", 2000, true), 0);
	for (int i = 2; i < 6; i++) {
		snprintf(id, sizeof(id), "u%02d", i);
		assert_int_equal(pin(store, id, 0, false), 0);
	}
	assert_int_equal(sw_store_count_pinned(store), 7);
	assert_int_equal(pin(store, "u07", 2000, true), 0);
	assert_int_equal(pin(store, "u08", 0, false), -SW_E_LIMIT); /* more than half */
	assert_int_equal(sw_store_unpin(store, "u07", &err), 0);
	assert_int_equal(sw_store_unpin(store, "u06", &err), 0);
	/* A user whose dumps are all pinned loses none: the other's go. */
	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "v%02d", i);
		put_by(store, id, f.now_ns + 100 + i, 3000, false);
	}
	assert_int_equal(sw_store_count(store), 16);
	assert_null(sw_store_find(store, "u06"));
	for (int i = 0; i < 6; i++) {
		snprintf(id, sizeof(id), "u%02d", i);
		assert_non_null(sw_store_find(store, id));
	}
	/* Bytes likewise. */
	f.config.store_max_files = 1000;
	f.config.store_max_use =
		sw_store_find(store, "u00")->file_bytes * 16 + 400; /* they differ by some */
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(pin(store, "v07", 3000, true), 0);
	assert_int_equal(pin(store, "v06", 3000, true), 0);
	assert_int_equal(pin(store, "v05", 3000, true), -SW_E_LIMIT);
	sw_store_close(store);
	store_case_remove(&f);
}

/* Dumps of alerts that are pinned do not keep those of users from going. */
TEST(alerts)
{
	struct store_case f = store_case_make();
	f.config.store_max_files = 4;
	struct sw_store *store = store_case_open(&f);
	put_by(store, "a0", f.now_ns, 0, true);
	put_by(store, "a1", f.now_ns + 1, 0, true);
	assert_int_equal(pin(store, "a0", 0, false), 0);
	assert_int_equal(pin(store, "a1", 0, false), 0);
	put_by(store, "u0", f.now_ns + 2, 1000, false);
	put_by(store, "u1", f.now_ns + 3, 1000, false);
	/* More than half by now, but none of them may go. */
	put_by(store, "a2", f.now_ns + 4, 0, true);
	assert_names(&f, "a0.json.zst a0.pin a1.json.zst a1.pin a2.json.zst u1.json.zst ");
	/* Now one of them may. */
	put_by(store, "a3", f.now_ns + 5, 0, true);
	assert_names(&f, "a0.json.zst a0.pin a1.json.zst a1.pin a3.json.zst u1.json.zst ");
	sw_store_close(store);
	store_case_remove(&f);
}

/* MaxUse= is for all: beside what is pinned a dump has to fit, too, and nothing else is removed for one that does not. */
TEST(bytes_beside_pinned)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	char json[60000];
	struct sw_store_entry e = store_case_entry("new", f.now_ns + 2);
	f.config.store_max_use = 100000;
	struct sw_store *store = store_case_open(&f);
	store_case_put(store, "pinned", f.now_ns, 60000);
	assert_int_equal(pin(store, "pinned", 0, false), 0);
	store_case_put(store, "other", f.now_ns + 1, 100);
	store_case_random(json, sizeof(json), 7);
	f.config.store_max_use = sw_store_find(store, "pinned")->file_bytes * 3 / 2;
	sw_store_reconfigure(store, &f.config);
	assert_int_equal(sw_store_put(store, &e, json, sizeof(json), &err), -SW_E_LIMIT);
	assert_non_null(strstr(err.message, "1 that are pinned"));
	assert_names(&f, "other.json.zst pinned.json.zst pinned.pin ");
	sw_store_close(store);
	store_case_remove(&f);
}
