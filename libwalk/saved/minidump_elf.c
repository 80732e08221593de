/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "saved/minidump_elf.h"
#include "cleanup.h"
#include "formats/elf_file.h"
#include "saved/core_open.h"
#include "saved/minidump_linux.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SHORT_ID_BYTES = 16, HASHED_BYTES = 4096 };

/* The id that Breakpad makes of a file without a build-id. */
static bool text_hash(int fd, uint8_t hash[static SHORT_ID_BYTES])
{
	struct stat st;
	struct sw_elf elf;
	struct sw_elf_section text;
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	size_t size = (size_t) st.st_size;
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	bool found = sw_elf_init(&elf, (struct sw_bytes){p, size}) &&
		     sw_elf_section_named(&elf, ".text", &text) && text.off < size;
	memset(hash, 0, SHORT_ID_BYTES);
	if (found) {
		uint64_t n = text.size < HASHED_BYTES ? text.size : HASHED_BYTES;
		/* The last 16 bytes count in full. */
		n = (n + SHORT_ID_BYTES - 1) / SHORT_ID_BYTES * SHORT_ID_BYTES;
		for (uint64_t i = 0; i < n && i < size - text.off; i++)
			hash[i % SHORT_ID_BYTES] ^= ((const uint8_t *) p)[text.off + i];
	}
	(void) munmap(p, size); /* was mapped */
	return found;
}

bool sw_minidump_elf_matches(int fd, const struct sw_minidump_module *m)
{
	uint8_t id[SW_BUILD_ID_MAX] = {0};
	if (m->build_id_bytes == 0)
		return false;
	size_t n = sw_core_build_id(sw_core_file_memory(&fd), 0, UINT64_MAX, id);
	if (n == 0)
		return m->build_id_bytes == SHORT_ID_BYTES && text_hash(fd, id) &&
		       memcmp(id, m->build_id, SHORT_ID_BYTES) == 0;
	/* A shorter one is followed by zeros. */
	return (n == m->build_id_bytes || m->build_id_bytes == SHORT_ID_BYTES) &&
	       memcmp(id, m->build_id, m->build_id_bytes) == 0;
}

/* Consumes fd; returns it if it is the module's, else -1. */
static int if_matches(int fd, struct sw_minidump_module *m)
{
	sw_cleanup(sw_close_p) int owned = fd;
	if (fd < 0)
		return -1;
	if (sw_minidump_elf_matches(fd, m))
		return sw_take_fd(owned);
	m->other = true;
	return -1;
}

/* The directory was named by the user, and what is in it is looked at only below it. */
static int open_below(const char *directory, struct sw_minidump_module *m)
{
	char path[PATH_MAX], hex[2 * SW_BUILD_ID_MAX + 1] = "";
	const char *const names[] = {sw_minidump_name(m->path), m->path};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (names[i][0] == '\0' || strstr(names[i], "..") != NULL || n < 0 || n >= PATH_MAX)
			continue;
		int fd = if_matches(sw_core_open_regular(path), m);
		if (fd >= 0)
			return fd;
	}
	for (size_t i = 0; i < m->build_id_bytes; i++)
		(void) snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x",
				m->build_id[i]); /* fits */
	int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", directory, hex,
			 m->build_id_bytes > 1 ? hex + 2 : "");
	return n < 0 || n >= PATH_MAX ? -1 : if_matches(sw_core_open_regular(path), m);
}

int sw_minidump_elf_open(const struct sw_minidump_filler *f, struct sw_minidump_module *m)
{
	char path[SW_CORE_ID_PATH_MAX];
	int fd = -1;
	if (f->images->exe_path != NULL && m == sw_minidump_linux_program(&f->md))
		return if_matches(sw_core_open_regular(f->images->exe_path), m);
	for (size_t i = 0; fd < 0 && i < f->images->n; i++)
		fd = open_below(f->images->directories[i], m);
	/* A relative name would be one of the directory in which we are. */
	if (fd < 0 && m->path[0] == '/')
		fd = if_matches(sw_core_open_named(f->snap, m->path), m);
	return fd >= 0 ? fd : sw_core_open_build_id(f->snap, m->build_id, m->build_id_bytes, path);
}
