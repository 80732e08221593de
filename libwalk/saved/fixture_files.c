/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies into a fixture the files that code was mapped from, and those beside the process. */
#include "saved/fixture_files.h"
#include "cleanup.h"
#include "saved/fixture_save.h"
#include "map.h"
#include "snapshot/module.h"
#include "snapshot/side_file.h"
#include "bytes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COPY_BYTES = 1 << 20, NAME_BYTES = 2 * SW_BUILD_ID_MAX + 32 };

/* The build-id in hexadecimal, or the module's index. */
static void module_name(struct sw_module *module, size_t index, bool by_index,
			char name[NAME_BYTES])
{
	size_t n;
	const uint8_t *id = by_index ? NULL : sw_module_build_id(module, &n);
	if (id == NULL) {
		(void) snprintf(name, NAME_BYTES, "module-%zu", index); /* fits */
		return;
	}
	for (size_t i = 0; i < n; i++)
		(void) snprintf(name + 2 * i, 3, "%02x", id[i]);
}

static bool copy_file(int from, int to)
{
	off_t off = 0;
	for (;;) {
		ssize_t n = copy_file_range(from, &off, to, NULL, COPY_BYTES, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && off > 0)
			return true;
		if (n <= 0)
			break; /* across file systems, special files: copied by hand */
	}
	sw_cleanup(sw_free_p) uint8_t *buffer = malloc(COPY_BYTES);
	while (buffer != NULL) {
		ssize_t n = pread(from, buffer, COPY_BYTES, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		if (!sw_write_all(to, buffer, (size_t) n))
			return false;
		off += n;
	}
	errno = ENOMEM;
	return false;
}

static bool write_module(struct sw_fixture_saver *s, size_t index, const struct sw_bytes *image,
			 char name[NAME_BYTES])
{
	struct sw_module *module = s->modules[index];
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	module_name(module, index, false, name);
	sw_cleanup(sw_close_p) int fd = openat(s->modules_fd, name, flags, 0600);
	if (fd < 0 && errno == EEXIST) { /* two modules with one build-id */
		module_name(module, index, true, name);
		fd = openat(s->modules_fd, name, flags, 0600);
	}
	if (fd < 0)
		return false;
	return module->fd >= 0 ? copy_file(module->fd, fd)
			       : sw_write_all(fd, image->data, image->size);
}

/* ---- the store ---------------------------------------------------------------------------- */

/* The name of a module in the store: its build-id, or what its contents amount to. Neither proves
 * what is in a file: the contents are compared. */
static void stored_name(struct sw_module *module, const struct sw_bytes *image,
			char name[NAME_BYTES])
{
	size_t n;
	if (sw_module_build_id(module, &n) != NULL)
		module_name(module, 0, false, name);
	else
		(void) snprintf(name, NAME_BYTES, "crc32-%08" PRIx32 "-%zu",
				libdeflate_crc32(0, image->data, image->size),
				image->size); /* fits */
}

static bool has_contents(int fd, const struct sw_bytes *image)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t) st.st_size != image->size)
		return false;
	sw_cleanup(sw_free_p) uint8_t *buffer = malloc(COPY_BYTES);
	size_t off = 0;
	while (buffer != NULL && off < image->size) {
		ssize_t n = pread(fd, buffer, COPY_BYTES, (off_t) off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (size_t) n > image->size - off ||
		    memcmp(buffer, image->data + off, (size_t) n) != 0)
			return false;
		off += (size_t) n;
	}
	return buffer != NULL;
}

/* Links the store's file of that name into the fixture, if it has the module's contents. */
static bool take_stored(struct sw_fixture_saver *s, size_t index, const struct sw_bytes *image,
			const char *stored, char name[NAME_BYTES])
{
	int r = -1;
	for (int by_index = 0; by_index < 2 && r < 0; by_index++) {
		module_name(s->modules[index], index, by_index, name);
		r = linkat(s->store_fd, stored, s->modules_fd, name, 0);
		if (r < 0 && errno != EEXIST)
			return false; /* it is not there, or has as many links as it may have */
	}
	if (r < 0)
		return false;
	sw_cleanup(sw_close_p) int fd =
		openat(s->modules_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (has_contents(fd, image))
		return true;
	(void) unlinkat(s->modules_fd, name, 0); /* or the module gets another name */
	return false;
}

/* A file appears in the store by a link, so that it is whole or not there. Another file of that
 * name stays. */
static bool give_stored(struct sw_fixture_saver *s, const char *stored, const char *name)
{
	if (linkat(s->modules_fd, name, s->store_fd, stored, 0) == 0 || errno == EEXIST)
		return true;
	s->store_failed = true;
	return false;
}

/* Writes a module's file, if there is anything to write; false with errno. */
static bool save_module(struct sw_fixture_saver *s, size_t index)
{
	struct sw_module *module = s->modules[index];
	char name[NAME_BYTES] = "", stored[NAME_BYTES];
	struct sw_bytes image = {0};
	image.data = sw_module_image(module, &image.size);
	if (image.data != NULL && s->store_fd < 0) {
		if (!write_module(s, index, &image, name))
			return false;
	} else if (image.data != NULL) {
		stored_name(module, &image, stored);
		if (!take_stored(s, index, &image, stored, name) &&
		    (!write_module(s, index, &image, name) || !give_stored(s, stored, name)))
			return false;
	}
	sw_text_printf(&s->text, "module %d %d", (int) module->kind, module->deleted);
	sw_fixture_put_string(&s->text, name);
	sw_fixture_put_string(&s->text, module->path);
	sw_text_append(&s->text, "\n", 1);
	return true;
}

/* Files beside the process, as far as they are looked at. */
bool sw_fixture_save_side_files(struct sw_fixture_saver *s)
{
	const char *kind;
	struct sw_bytes bytes;
	for (size_t i = 0; i < SW_SIDE_FILES_MAX; i++) {
		char name[NAME_BYTES];
		if (!sw_side_file_at(s->snap, i, &kind, &bytes))
			continue;
		(void) snprintf(name, sizeof(name), "side-%zu", i); /* fits */
		sw_cleanup(sw_close_p) int fd =
			openat(s->modules_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || !sw_write_all(fd, bytes.data, bytes.size))
			return false;
		sw_text_printf(&s->text, "side");
		sw_fixture_put_string(&s->text, kind);
		sw_fixture_put_string(&s->text, name);
		sw_text_append(&s->text, "\n", 1);
	}
	return true;
}

static size_t module_index(const struct sw_fixture_saver *s, const struct sw_map64 *seen,
			   const struct sw_module *module)
{
	uint64_t index = s->n_modules;
	(void) sw_map64_get(seen, (uintptr_t) module, &index); /* n_modules when it is new */
	return (size_t) index;
}

bool sw_fixture_save_places(struct sw_fixture_saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	struct sw_map64 seen = {0};
	bool ok = true;
	for (size_t i = 0; i < snap->n_places && ok; i++) {
		const struct sw_place *p = &snap->places[i];
		size_t index = module_index(s, &seen, p->module);
		if (index == s->n_modules) {
			errno = ENOMEM;
			ok = sw_map64_put(&seen, (uintptr_t) p->module, index) == 0;
			s->modules[s->n_modules++] = p->module;
			ok = ok && save_module(s, index);
		}
		sw_text_printf(&s->text, "place %zu 0x%" PRIx64 " 0x%" PRIx64 "\n", index,
			       p->start_avma, p->end_avma);
	}
	sw_map64_deinit(&seen);
	return ok;
}
