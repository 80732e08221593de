/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Texts of /proc: maps, stat, status, cgroup. Programs choose the names in them. */
#include "fuzz.h"
#include "process/proc.h"
#include "snapshot/snapshot.h"

#include <string.h>

static void fuzz_maps(const char *text, size_t size)
{
	struct sw_arena arena = {0};
	struct sw_map *maps;
	size_t n, bad, length;
	if (sw_maps_parse(&arena, text, size, &maps, &n, &bad) == 0)
		for (size_t i = 0; i < n; i++) {
			check(maps[i].start_avma < maps[i].end_avma);
			check(maps[i].prot < 16 && maps[i].place == -1);
			bool deleted = sw_map_path_deleted(&maps[i], &length);
			check(deleted ? length < strlen(maps[i].path)
				      : length == strlen(maps[i].path));
		}
	sw_arena_deinit(&arena);
}

static void fuzz_stat(const char *text, size_t size)
{
	struct sw_proc_stat stat;
	if (sw_proc_stat_parse(text, size, &stat))
		check(memchr(stat.comm, '\0', sizeof(stat.comm)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as large as the input, so that a byte too many is seen. */
	char *text = malloc(size + 1);
	const char *path;
	uint64_t number;
	size_t length;
	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_maps(text, size);
	fuzz_stat(text, size);
	(void) sw_proc_status_number(text, "Uid", &number);
	if (sw_proc_cgroup_find(text, &path, &length))
		check(path >= text && path + length <= text + size);
	free(text);
	return 0;
}
