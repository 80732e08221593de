/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Portable PDBs beside assemblies. They are opened before the stop, while privileges are there, under
 * the name that the assembly's mapping has: nothing is read of them, and of the assembly, until the
 * process runs again. Only those are opened that the user of the process may read. Which of them belongs to which assembly is said by their ids.
 */
#include "runtimes/clr/metadata/pdb_files.h"
#include "cleanup.h"
#include "map.h"
#include "snapshot/side_file.h"
#include "snapshot/snapshot.h"

#include <stdio.h>
#include <string.h>

enum {
	FILES_MAX = 192,  /* that are opened; other side files need space, too */
	TRIES_MAX = 1024, /* assemblies that are looked at */
	NAME_BYTES = 200, /* of a file, without the directory */
};

static const char prefix[] = "pdb:";

/* "pdb:T.pdb" for /opt/T.dll, T.dll or T. False: the name is too long. */
static bool side_name(const char *path, char *to, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path, *dot = strrchr(name, '.');
	size_t n = dot != NULL && (strcmp(dot, ".dll") == 0 || strcmp(dot, ".exe") == 0)
			   ? (size_t) (dot - name)
			   : strlen(name);
	return n > 0 && n <= NAME_BYTES &&
	       snprintf(to, bytes, "%s%.*s.pdb", prefix, (int) n, name) < (int) bytes;
}

/* True when it was one more. */
static bool file_try(struct sw_capture *capture, const char *path)
{
	char name[sizeof(prefix) + NAME_BYTES + sizeof(".pdb")], beside[4096];
	const char *slash = strrchr(path, '/');
	if (slash == NULL || !side_name(path, name, sizeof(name)) ||
	    snprintf(beside, sizeof(beside), "%.*s/%s", (int) (slash - path), path,
		     name + sizeof(prefix) - 1) >= (int) sizeof(beside))
		return false;
	sw_cleanup(sw_close_p) int fd = sw_capture_open(capture, beside);
	return fd >= 0 && sw_side_file_keep(capture->snap, name, sw_take_fd(fd)) == 0;
}

static bool is_assembly(const struct sw_map *map)
{
	size_t n = strlen(map->path);
	return map->file_off == 0 && n > 4 && strcmp(map->path + n - 4, ".dll") == 0;
}

/* Assemblies may be mapped twice, flat and as loaded. A path that is taken for another one by its hash
 * has no lines. */
static bool is_new(struct sw_map64 *seen, const char *path)
{
	uint64_t key = 0, kept;
	for (size_t left = strlen(path); left > 0;) {
		uint64_t word = 0;
		size_t n = left < sizeof(word) ? left : sizeof(word);
		memcpy(&word, path, n);
		key = sw_mix64(key ^ word);
		path += n;
		left -= n;
	}
	return !sw_map64_get(seen, key, &kept) && sw_map64_put(seen, key, 1) == 0;
}

void sw_clr_pdb_files_prepare(struct sw_capture *capture)
{
	const struct sw_snapshot *snap = capture->snap;
	struct sw_map64 seen = {0};
	/* The executable of a program in one file has its assemblies in it. */
	size_t opened = file_try(capture, snap->process.exe), i;
	for (i = 0; i < snap->n_maps && opened < FILES_MAX && seen.count < TRIES_MAX; i++)
		if (is_assembly(&snap->maps[i]) && is_new(&seen, snap->maps[i].path) &&
		    file_try(capture, snap->maps[i].path))
			opened++;
	if (i < snap->n_maps)
		sw_side_file_refuse(
			capture->snap, prefix,
			"it has more assemblies than are looked at: methods of some have "
			"no lines");
	sw_map64_deinit(&seen);
}

const char *sw_clr_pdb_files_problem(const struct sw_snapshot *snap)
{
	return sw_side_file_refused(snap, prefix);
}

bool sw_clr_pdb_file_open(const struct sw_snapshot *snap, const char *module_name,
			  const uint8_t id[SW_CLR_PDB_ID_BYTES], struct sw_clr_pdb *ret)
{
	char name[sizeof(prefix) + NAME_BYTES + sizeof(".pdb")];
	struct sw_bytes bytes;
	if (!side_name(module_name, name, sizeof(name)))
		return false;
	for (size_t i = 0; i < SW_SIDE_FILES_MAX; i++) {
		uint64_t size = sw_side_file_size(snap, name, i);
		if (size == 0)
			return false;
		if (size <= SW_CLR_PDB_BYTES_MAX && sw_side_file_get(snap, name, i, &bytes) &&
		    sw_clr_pdb_open(ret, bytes, id))
			return true;
	}
	return false;
}
