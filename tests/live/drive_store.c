/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_store run DIR LOG: opens the daemon's store in DIR, keeps, pins, unpins and removes dumps in it. Appends
 * a line to LOG when the store is open and after each of the operations, which says what the store has then:
 *
 *	have ID[+] ...	in no order; "+": pinned
 *
 * drive_store check DIR: opens the store and prints that line, then for each dump that is not the one that
 * was kept under its id
 *
 *	bad ID WHY
 *
 * Both end with status 1 and "error WHY" when an operation fails.
 */
#include "store/dumps.h"
#include "store/pins.h"
#include "cleanup.h"
#include "bytes.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 8, TEXT_BYTES = 20000, LINE_BYTES = 1024, MAX_AGE_S = 3600 };

static const int64_t NS_PER_S = 1000000000;

enum op { PUT, PUT_OLD, PIN, UNPIN, REMOVE };

/* MaxFiles= is met on the way: an old dump goes for a new one, and what is pinned stays. PUT_OLD is older than
 * MaxAge= says. */
static const struct {
	enum op op;
	const char *id;
} STEPS[] = {
	{PUT, "a"}, {PUT, "b"}, {PIN, "a"},   {PUT, "c"},     {PUT, "d"}, {PUT, "e"},
	{PUT, "f"}, {PUT, "g"}, {PUT, "h"},   {PUT, "i"},     {PUT, "j"}, {REMOVE, "d"},
	{PIN, "e"}, {PUT, "k"}, {UNPIN, "a"}, {PUT_OLD, "l"}, {PUT, "m"}, {REMOVE, "e"},
};

static struct sw_config config_of(char *dir)
{
	return (struct sw_config){.state_dir = dir,
				  .store_max_use = 1 << 20,
				  .store_max_files = FILES_MAX,
				  .store_max_age_s = MAX_AGE_S,
				  .dump_bytes_max = 1 << 20};
}

/* Text that does not get smaller, and another one for each id. */
static void text_of(const char *id, char text[TEXT_BYTES])
{
	uint64_t seed = (uint64_t) id[0];
	for (size_t i = 0; i < TEXT_BYTES; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		text[i] = (char) ('0' + (seed >> 58));
	}
}

static int put(struct sw_store *store, const char *id, int64_t time_ns, struct sw_error *err)
{
	static char text[TEXT_BYTES];
	const struct sw_store_entry entry = {.id = id,
					     .summary = "{\"of\":\"drive_store\"}",
					     .subject = {.rights = {.uid = {1000, 1000, 1000},
								    .gid = {1000, 1000, 1000},
								    .dumpable = 1},
							 .comm = "driven",
							 .exe = "/usr/bin/driven"},
					     .by = 1000,
					     .pid = 42,
					     .comm = "driven",
					     .time_ns = time_ns};
	text_of(id, text);
	return sw_store_put(store, &entry, text, sizeof(text), err);
}

static int step(struct sw_store *store, enum op op, const char *id, int64_t time_ns,
		struct sw_error *err)
{
	switch (op) {
	case PUT: return put(store, id, time_ns, err);
	case PUT_OLD: return put(store, id, time_ns - 2 * MAX_AGE_S * NS_PER_S, err);
	case PIN: return sw_store_pin(store, id, 1000, false, err);
	case UNPIN: return sw_store_unpin(store, id, err);
	case REMOVE: return sw_store_remove(store, id, err);
	}
	return -SW_E_INVALID;
}

static bool say_have(const struct sw_store *store, int fd)
{
	char line[LINE_BYTES];
	int n = snprintf(line, sizeof(line), "have");
	for (size_t i = 0; i < sw_store_count(store); i++) {
		const struct sw_store_entry *entry = sw_store_entry(store, i);
		n += snprintf(line + n, sizeof(line) - (size_t) n, " %s%s", entry->id,
			      entry->pinned ? "+" : "");
	}
	line[n++] = '\n';
	return sw_write_all(fd, line, (size_t) n);
}

static int run(struct sw_store *store, int log, struct sw_error *err)
{
	const int64_t now_ns = sw_realtime_ns();
	bool said = say_have(store, log);
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]) && said; i++) {
		int r = step(store, STEPS[i].op, STEPS[i].id, now_ns + (int64_t) i, err);
		if (r < 0)
			return r;
		said = say_have(store, log);
	}
	return said ? 0 : -SW_E_IO;
}

static void check_one(struct sw_store *store, const char *id)
{
	static char wanted[TEXT_BYTES];
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *name = strdup(id); /* reading may remove the entry */
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	text_of(name, wanted);
	if (sw_store_get(store, name, &text, &size, &err) < 0)
		printf("bad %s %s\n", name, err.message);
	else if (size != sizeof(wanted) || memcmp(text, wanted, size) != 0)
		printf("bad %s another text of %zu bytes\n", name, size);
}

int main(int argc, char **argv)
{
	struct sw_store *store;
	struct sw_error err = {0};
	bool runs = argc == 4 && strcmp(argv[1], "run") == 0;
	if (!runs && !(argc == 3 && strcmp(argv[1], "check") == 0)) {
		fprintf(stderr, "usage: drive_store run DIR LOG | check DIR\n");
		return 2;
	}
	const struct sw_config config = config_of(argv[2]);
	int log = runs ? open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : 1;
	int r = sw_store_open(&config, &store, &err);
	if (r == 0 && runs)
		r = run(store, log, &err);
	if (r < 0) {
		printf("error %s\n", err.message);
		return 1;
	}
	if (!runs && !say_have(store, log))
		return 1;
	for (size_t i = sw_store_count(store); i > 0 && !runs; i--)
		check_one(store, sw_store_entry(store, i - 1)->id);
	sw_store_close(store);
	return 0;
}
