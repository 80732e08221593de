/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: Microsoft, "Using SymStore": an image has the key of its TimeDateStamp with eight digits, then SizeOfImage. */
#include "saved/minidump_images.h"
#include "cleanup.h"
#include "errors.h"
#include "formats/pe_image.h"
#include "memory.h"
#include "saved/core_open.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { ENTRIES_MAX = 65536 /* of a directory that are looked at */ };

const char *sw_minidump_name(const char *path)
{
	const char *name = path;
	for (; *path != '\0'; path++)
		if (*path == '\\' || *path == '/')
			name = path + 1;
	return name;
}

int sw_minidump_images_check(const struct sw_minidump_images *images, struct sw_error *err)
{
	for (size_t i = 0; i < images->n; i++) {
		DIR *dir = opendir(images->directories[i]);
		if (dir == NULL)
			return sw_fail_errno(err, SW_E_IO, "--images %s", images->directories[i]);
		(void) closedir(dir);
	}
	if (images->exe_path == NULL)
		return 0;
	sw_cleanup(sw_close_p) int fd = sw_core_open_regular(images->exe_path);
	if (fd >= 0)
		return 0;
	return errno == EINVAL
		       ? sw_fail(err, SW_E_FORMAT, "%s: not a regular file, and so no program",
				 images->exe_path)
		       : sw_fail_errno(err, SW_E_IO, "%s", images->exe_path);
}

/* The name of an entry of a directory, whatever its case, into ret. */
static bool entry_find(const char *directory, const char *name, char ret[static NAME_MAX + 1])
{
	bool found = false;
	DIR *dir = opendir(directory);
	if (dir == NULL)
		return false;
	const struct dirent *entry;
	for (size_t i = 0; !found && i < ENTRIES_MAX && (entry = readdir(dir)) != NULL; i++)
		if (strcasecmp(entry->d_name, name) == 0) {
			(void) snprintf(ret, NAME_MAX + 1, "%s", entry->d_name); /* fits */
			found = true;
		}
	(void) closedir(dir);
	return found;
}

static bool is_the_image(int fd, const struct sw_minidump_module *module)
{
	struct sw_pe_image image;
	return sw_pe_image_read(sw_core_file_memory(&fd), 0, &image) &&
	       image.timestamp == module->timestamp && image.image_bytes == module->image_bytes;
}

/* DIRECTORY/NAME, or DIRECTORY/NAME/KEY/NAME. */
static int open_below(const char *directory, const struct sw_minidump_module *module,
		      const char *name, char path[static PATH_MAX], bool *ret_other)
{
	char entry[NAME_MAX + 1];
	struct stat st;
	if (!entry_find(directory, name, entry))
		return -1;
	int n = snprintf(path, PATH_MAX, "%s/%s", directory, entry);
	if (n < 0 || n >= PATH_MAX || stat(path, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode)) {
		char below[PATH_MAX];
		n = snprintf(below, sizeof(below), "%s/%08X%x", path, module->timestamp,
			     module->image_bytes);
		if (n < 0 || n >= PATH_MAX || !entry_find(below, name, entry))
			return -1;
		n = snprintf(path, PATH_MAX, "%s/%s", below, entry);
		if (n < 0 || n >= PATH_MAX)
			return -1;
	}
	sw_cleanup(sw_close_p) int fd = sw_core_open_regular(path);
	if (fd >= 0 && is_the_image(fd, module))
		return sw_take_fd(fd);
	*ret_other |= fd >= 0;
	return -1;
}

int sw_minidump_image_open(const struct sw_minidump_images *images,
			   const struct sw_minidump_module *module, bool *ret_other)
{
	char path[PATH_MAX];
	const char *name = sw_minidump_name(module->path);
	int fd = -1;
	*ret_other = false;
	for (size_t i = 0; fd < 0 && name[0] != '\0' && i < images->n; i++)
		fd = open_below(images->directories[i], module, name, path, ret_other);
	return fd;
}
