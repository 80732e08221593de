/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The separate debug file of a module: below the debug directory by build-id, else by the name and
 * checksum in .gnu_debuglink (GDB manual 13.1, "Debugging Information in Separate Files").
 * Never asks the network.
 */
#include "debugfile.h"
#include "cleanup.h"
#include "own_fd.h"
#include "provider.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const uint64_t IMAGE_BYTES_MAX = UINT64_C(16) << 30;

void sw_image_deinit(struct sw_image *image)
{
	if (image->mapped) {
		(void) munmap((void *) image->bytes.data, image->bytes.size); /* ours */
		sw_close_p(&image->fd);
	} else {
		free((void *) image->bytes.data);
	}
	*image = (struct sw_image){0};
}

static int path_open(struct sw_local *local, const char *path, int flags)
{
	return local != NULL ? sw_local_open(local, path, flags)
			     : open(path, O_PATH | O_CLOEXEC | flags);
}

/*
 * An O_PATH descriptor of directory/name, if that is a regular file and lies below directory when all
 * links are followed. O_PATH opens nothing: opening alone sets a watchdog going, rewinds a tape, or
 * waits at a FIFO. (openat2() with RESOLVE_BENEATH is refused in sandboxes, whose filter cannot see
 * its flags.)
 */
static int beneath(struct sw_local *local, const char *directory, const char *name, bool plain,
		   struct stat *st)
{
	char path[PATH_MAX], top[PATH_MAX], found[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s",
			 plain && strcmp(directory, "/") == 0 ? "" : directory, name);
	if (n < 0 || (size_t) n >= sizeof(path))
		return -1;
	sw_cleanup(sw_close_p) int fd = path_open(local, path, 0);
	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	/* The kernel says where it is without links. */
	if (plain)
		return sw_own_fd_path(fd, found, sizeof(found)) && strcmp(found, path) == 0
			       ? sw_take_fd(fd)
			       : -1;
	sw_cleanup(sw_close_p) int top_fd = path_open(local, directory, 0);
	if (top_fd < 0 || !sw_own_fd_path(top_fd, top, sizeof(top)) ||
	    !sw_own_fd_path(fd, found, sizeof(found)))
		return -1;
	size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
	return strncmp(found, top, length) == 0 && found[length] == '/' ? sw_take_fd(fd) : -1;
}

static bool user_may_read(const struct sw_request *request, int path_fd)
{
	char path[PATH_MAX];
	const struct sw_symbolize_options *o = request->options;
	return o == NULL || o->may_read == NULL ||
	       (sw_own_fd_path(path_fd, path, sizeof(path)) &&
		o->may_read(o->may_read_arg, path, path_fd));
}

/* beside: the file is beside a module, and not below the debug directory. */
static bool image_map(struct sw_image *image, const struct sw_request *request,
		      const char *directory, const char *name, bool beside)
{
	struct stat st;
	sw_cleanup(sw_close_p) int path_fd = beneath(request->local, directory, name, beside, &st);
	if (path_fd < 0 || st.st_size <= 0 || (uint64_t) st.st_size > IMAGE_BYTES_MAX ||
	    !user_may_read(request, path_fd))
		return false;
	sw_cleanup(sw_close_p) int fd = sw_own_fd_open_to_read(path_fd);
	if (fd < 0)
		return false;
	void *p = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	*image = (struct sw_image){{p, (size_t) st.st_size}, true, sw_take_fd(fd)};
	return true;
}

bool sw_image_map(struct sw_image *image, const struct sw_request *request, const char *directory,
		  const char *name)
{
	return image_map(image, request, directory, name, false);
}

bool sw_image_map_beside(struct sw_image *image, const struct sw_request *request,
			 const char *directory, const char *name)
{
	return image_map(image, request, directory, name, true);
}

void sw_build_id_hex(struct sw_bytes id, char ret[static 2 * SW_ID_BYTES_MOST + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < id.size; i++) {
		ret[2 * i] = digits[id.data[i] >> 4];
		ret[2 * i + 1] = digits[id.data[i] & 15];
	}
	ret[2 * id.size] = '\0';
}

static bool same_bytes(struct sw_bytes a, struct sw_bytes b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

bool sw_elf_has_symbols(const struct sw_elf *elf)
{
	struct sw_elf_section section;
	return sw_elf_section_typed(elf, SHT_SYMTAB, &section) ||
	       (sw_elf_section_named(elf, ".debug_info", &section) && section.type != SHT_NOBITS);
}

bool sw_elf_is_debug_file(const struct sw_elf *elf)
{
	struct sw_elf_section text;
	bool has_code = sw_elf_section_named(elf, ".text", &text) && text.type != SHT_NOBITS;
	return !has_code && sw_elf_has_symbols(elf);
}

bool sw_image_map_id(const struct sw_request *request, const char *directory, const char *name,
		     struct sw_bytes id, struct sw_image *image, struct sw_elf *elf)
{
	struct sw_bytes found;
	if (!sw_image_map(image, request, directory, name))
		return false;
	if (sw_elf_init(elf, image->bytes) && sw_elf_build_id(elf, &found) && same_bytes(found, id))
		return true;
	sw_image_deinit(image);
	return false;
}

bool sw_debugfile_by_build_id(const struct sw_request *request, struct sw_bytes id,
			      struct sw_image *image, struct sw_elf *elf)
{
	if (id.size < SW_ID_BYTES_LEAST || id.size > SW_ID_BYTES_MOST)
		return false;
	char hex[2 * SW_ID_BYTES_MOST + 1], path[sizeof(hex) + 32];
	sw_build_id_hex(id, hex);
	(void) snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", hex, hex + 2); /* fits */
	return sw_image_map_id(request, request->debug_dir, path, id, image, elf);
}

/* .gnu_debuglink: a file name with NUL, padded to 4, and the CRC-32 of the whole file. */
struct debuglink {
	const char *name; /* borrowed */
	uint32_t crc;
};

static bool debuglink_read(const struct sw_elf *elf, struct debuglink *ret)
{
	struct sw_elf_section section;
	struct sw_bytes bytes;
	const char *name;
	if (!sw_elf_section_named(elf, ".gnu_debuglink", &section) ||
	    !sw_elf_section_bytes(elf, &section, &bytes) || !sw_bytes_str(bytes, 0, &name))
		return false;
	uint64_t crc_off = (strlen(name) + 1 + 3) & ~UINT64_C(3);
	if (name[0] == '\0' || strchr(name, '/') != NULL ||
	    !sw_bytes_u32(bytes, crc_off, &ret->crc))
		return false;
	ret->name = name;
	return true;
}

/* The build-id, where both files have one, proves more than the checksum and costs nothing. */
static bool link_matches(const struct sw_elf *main, const struct sw_elf *elf, uint32_t crc)
{
	struct sw_bytes ours, theirs;
	if (sw_elf_build_id(main, &ours) && sw_elf_build_id(elf, &theirs))
		return same_bytes(ours, theirs);
	/* The polynomial of zlib's and xz's CRC-32. */
	return lzma_crc32(elf->image.data, elf->image.size, 0) == crc;
}

bool sw_unit_is_here(const struct sw_unit *unit, struct sw_local *local)
{
	struct stat mapped, named;
	struct sw_module *module = unit->module;
	int fd = sw_module_fd(module);
	/* Without a link it is the copy of a file whose file system may not answer. */
	if (fd < 0 || fstat(fd, &mapped) < 0 || mapped.st_nlink == 0)
		return false;
	sw_cleanup(sw_close_p) int named_fd = path_open(local, sw_module_path(module), 0);
	return named_fd >= 0 && fstat(named_fd, &named) == 0 && mapped.st_dev == named.st_dev &&
	       mapped.st_ino == named.st_ino;
}

static bool linked_map(const struct sw_elf *main, const struct debuglink *link,
		       const struct sw_request *request, const char *directory, const char *name,
		       bool beside, struct sw_image *image, struct sw_elf *elf)
{
	if (!image_map(image, request, directory, name, beside))
		return false;
	if (sw_elf_init(elf, image->bytes) && link_matches(main, elf, link->crc))
		return true;
	sw_image_deinit(image);
	return false;
}

/* Parsing has no right over other users' files: in a home of mode 0700 nothing is found, not even by root. */
static bool is_closed(const char *path, struct sw_local *local)
{
	sw_cleanup(sw_close_p) int fd = path_open(local, path, 0);
	return fd < 0 && errno == EACCES;
}

static bool by_debuglink(const struct sw_elf *main, const struct sw_unit *unit,
			 const struct sw_request *request, struct sw_debugfile *file)
{
	struct sw_image *image = &file->image;
	struct sw_elf *elf = &file->elf;
	struct debuglink link;
	char directory[PATH_MAX], name[PATH_MAX];
	const char *path = sw_module_path(unit->module);
	const char *slash = strrchr(path, '/');
	if (path[0] != '/' || !debuglink_read(main, &link))
		return false;
	int n = snprintf(directory, sizeof(directory), "%.*s", (int) (slash - path), path);
	if (n < 0 || (size_t) n >= sizeof(directory))
		return false;
	const char *beside = n == 0 ? "/" : directory;
	if (sw_unit_is_here(unit, request->local)) {
		if (linked_map(main, &link, request, beside, link.name, true, image, elf))
			return true;
		n = snprintf(name, sizeof(name), ".debug/%s", link.name);
		if (n > 0 && (size_t) n < sizeof(name) &&
		    linked_map(main, &link, request, beside, name, true, image, elf))
			return true;
	} else {
		file->refused = is_closed(path, request->local);
	}
	n = snprintf(name, sizeof(name), "%s/%s", directory, link.name);
	return n > 0 && (size_t) n < sizeof(name) &&
	       linked_map(main, &link, request, request->debug_dir, name, false, image, elf);
}

/* The build-id of a module; without a file it is the one that a dump has. */
static bool id_of(const struct sw_elf *main, const struct sw_unit *unit, struct sw_bytes *ret)
{
	if (main != NULL)
		return sw_elf_build_id(main, ret);
	if (unit->kind != 1 << SW_MODULE_ELF)
		return false;
	ret->data = sw_module_build_id(unit->module, &ret->size);
	return ret->data != NULL;
}

static bool debugfile_open(struct sw_unit *unit, struct sw_debugfile *file,
			   const struct sw_request *request)
{
	const struct sw_debug_search *search = request->search;
	const struct sw_elf *main = sw_unit_elf(unit);
	struct sw_bytes id;
	bool has_id = id_of(main, unit, &id);
	if (has_id && sw_debugfile_by_build_id(request, id, &file->image, &file->elf))
		return true;
	if (main != NULL && by_debuglink(main, unit, request, file))
		return true;
	return has_id && search != NULL &&
	       search->find(search, id, &file->image, &file->elf,
			    main == NULL || !sw_elf_has_symbols(main));
}

const struct sw_debugfile *sw_unit_debugfile(struct sw_unit *unit, const struct sw_request *request)
{
	struct sw_debugfile *file = unit->debugfile;
	if (file == NULL) {
		file = calloc(1, sizeof(*file));
		if (file == NULL)
			return NULL;
		unit->debugfile = file;
		file->found = debugfile_open(unit, file, request);
	}
	return file->found ? file : NULL;
}

void sw_debugfile_destroy(struct sw_debugfile *file)
{
	if (file == NULL)
		return;
	sw_image_deinit(&file->image);
	free(file);
}
