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
#include <stdlib.h>

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

/* Writes a module's file, if there is anything to write; false with errno. */
static bool save_module(struct sw_fixture_saver *s, size_t index)
{
	struct sw_module *module = s->modules[index];
	char name[NAME_BYTES] = "";
	size_t image_size;
	const void *image = sw_module_image(module, &image_size);
	if (image != NULL) {
		int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
		module_name(module, index, false, name);
		sw_cleanup(sw_close_p) int fd = openat(s->modules_fd, name, flags, 0600);
		if (fd < 0 && errno == EEXIST) { /* two modules with one build-id */
			module_name(module, index, true, name);
			fd = openat(s->modules_fd, name, flags, 0600);
		}
		if (fd < 0)
			return false;
		if (!(module->fd >= 0 ? copy_file(module->fd, fd)
				      : sw_write_all(fd, image, image_size)))
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
