/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store_case.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

void store_case_clock(struct store_case *f)
{
	f->now_ns = sw_realtime_ns();
}

struct store_case store_case_make(void)
{
	struct store_case f = {
		.dir = "/tmp/snapwalk-store-XXXXXX",
		.config = {.store_max_use = 1 << 20,
			   .store_max_files = 1000,
			   .store_max_age_s = 3600,
			   .dump_bytes_max = 1 << 20,
			   .own_group_is_alone = true},
	};
	assert_non_null(mkdtemp(f.dir));
	store_case_clock(&f);
	return f;
}

struct sw_store *store_case_open(struct store_case *f)
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

void store_case_remove(struct store_case *f)
{
	assert_int_equal(nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0);
}

struct sw_store_entry store_case_entry(const char *id, int64_t time_ns)
{
	return (struct sw_store_entry){.id = id,
				       .summary = "{\"id\":\"x\"}",
				       .subject = {.rights = {.uid = {1000, 1001, 1002},
							      .gid = {3, 4, 5},
							      .cap_permitted = 1ull << 40,
							      .user_ns = sw_user_ns_self(),
							      .dumpable = 1},
						   .comm = "ser\"ver\xff",
						   .exe = "/opt/100%/se\nr"},
				       .pid = 42,
				       .comm = "ser\"ver",
				       .time_ns = time_ns};
}

void store_case_random(char *to, size_t size, uint64_t seed)
{
	static const char hex[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
	for (size_t i = 0; i < size; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		to[i] = hex[seed >> 58];
	}
}

void store_case_put(struct sw_store *store, const char *id, int64_t time_ns, size_t size)
{
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry(id, time_ns);
	sw_cleanup(sw_free_p) char *json = malloc(size);
	assert_non_null(json);
	store_case_random(json, size, size + (uint64_t) time_ns);
	if (sw_store_put(store, &e, json, size, &err) != 0)
		fail_msg("%s: %s", id, err.message);
}

bool store_case_has(struct sw_store *store, const char *id, size_t size, int64_t time_ns)
{
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *json = NULL, *expect = malloc(size);
	size_t n = 0;
	int rc = sw_store_get(store, id, &json, &n, &err);
	if (rc == -SW_E_NOT_FOUND)
		return false;
	assert_int_equal(rc, 0);
	store_case_random(expect, size, size + (uint64_t) time_ns);
	assert_int_equal(n, size);
	assert_memory_equal(json, expect, size);
	assert_int_equal(json[n], 0);
	return true;
}

void store_case_names(const char *dir, char *ret, size_t size)
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
