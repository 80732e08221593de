/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "archives/visit.h"
#include "arena.h"
#include "bytes.h"
#include "cleanup.h"
#include "debugfile.h"
#include "dwarf/deadline.h"
#include "errors.h"
#include "parts.h"

#include <snapwalk/packages.h>

#include <elf.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	DEPTH_MAX = 24,
	ENTRIES_MAX = 1 << 20, /* of all directories */
	PACKAGES_MAX = 1 << 12,
	FILES_MAX = 1 << 20, /* of a package */
	EXPECTED_MAX = 1 << 12,
	SEEN_MAX = 1 << 16, /* debug files that nobody has asked for yet */
	DIRECTORY_MODE = 0700,
	FILE_MODE = 0600,
	CHUNK_BYTES = 1 << 18,
	WHY_BYTES = 256,
};
/* Limits of a package when it is unpacked, of one file that is kept, and of all of them. */
static const uint64_t PACKAGE_BYTES_MAX = UINT64_C(16) << 30, FILE_BYTES_MAX = UINT64_C(8) << 30,
		      KEPT_BYTES_MAX = UINT64_C(16) << 30;

static const char PARTIAL[] = "partial";

struct id {
	uint8_t data[SW_ID_BYTES_MOST];
	size_t size;
};

struct expected {
	struct id id;
	bool is_kept;
};

/* A debug file of a package that was read while nobody had asked for it. */
struct seen {
	struct id id;
	size_t package;
};

struct sw_packages {
	struct sw_archive_library lib;
	char **paths; /* owned */
	size_t n, capacity;
	size_t n_read;             /* the first ones */
	struct expected *expected; /* owned */
	size_t n_expected, expected_capacity;
	struct seen *seen; /* owned */
	size_t n_seen, seen_capacity;
	int64_t deadline_ns;
	uint64_t kept_bytes;
	char why[WHY_BYTES];
	/* While a package is read: */
	int directory_fd; /* borrowed */
	size_t reading;
	bool is_again; /* it was read before: what it has was seen */
	uint8_t chunk[CHUNK_BYTES];
};

/* ---- which packages --------------------------------------------------------------------------- */

static bool is_package(const char *name)
{
	static const char *const ends[] = {".deb", ".ddeb", ".rpm"};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot != NULL && i < SW_ARRAY_SIZE(ends); i++)
		if (strcmp(dot, ends[i]) == 0)
			return true;
	return false;
}

static int path_add(struct sw_packages *p, const char *path)
{
	char **grown = sw_grow(p->paths, p->n, &p->capacity, 16, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	p->paths = grown;
	p->paths[p->n] = strdup(path);
	if (p->paths[p->n] == NULL)
		return -SW_E_NOMEM;
	p->n++;
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int directory_look(struct sw_packages *p, const char *directory)
{
	sw_cleanup(sw_free_p) char *copy = strdup(directory); /* which is not const there */
	char *const roots[] = {copy, NULL};
	if (copy == NULL)
		return -SW_E_NOMEM;
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;
	int r = tree != NULL ? 0 : -SW_E_NOMEM;
	for (size_t i = 0; r == 0 && i < ENTRIES_MAX && p->n < PACKAGES_MAX &&
			   !sw_deadline_passed(p->deadline_ns) && (entry = fts_read(tree)) != NULL;
	     i++) {
		if (entry->fts_info == FTS_D && entry->fts_level > DEPTH_MAX)
			(void) fts_set(tree, entry, FTS_SKIP); /* fails for bad options alone */
		if (entry->fts_info == FTS_F && is_package(entry->fts_name))
			r = path_add(p, entry->fts_path);
	}
	if (tree != NULL)
		(void) fts_close(tree); /* was read */
	return r;
}

/* ---- build-ids -------------------------------------------------------------------------------- */

static bool id_is(const struct id *id, struct sw_bytes bytes)
{
	return id->size == bytes.size && memcmp(id->data, bytes.data, bytes.size) == 0;
}

static bool id_of(struct sw_bytes bytes, struct id *ret)
{
	if (bytes.size < SW_ID_BYTES_LEAST || bytes.size > SW_ID_BYTES_MOST)
		return false;
	memcpy(ret->data, bytes.data, bytes.size);
	ret->size = bytes.size;
	return true;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool id_read(const char *hex, struct id *ret)
{
	size_t n = strlen(hex);
	if (n % 2 != 0 || n / 2 < SW_ID_BYTES_LEAST || n / 2 > SW_ID_BYTES_MOST)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		ret->data[i] = (uint8_t) (high << 4 | low);
	}
	ret->size = n / 2;
	return true;
}

static struct expected *expected_find(struct sw_packages *p, struct sw_bytes id)
{
	for (size_t i = 0; i < p->n_expected; i++)
		if (id_is(&p->expected[i].id, id))
			return &p->expected[i];
	return NULL;
}

/* NULL: too many are expected already, or there is no memory. */
static struct expected *expect(struct sw_packages *p, const struct id *id)
{
	struct expected *found = expected_find(p, (struct sw_bytes){id->data, id->size});
	if (found != NULL || p->n_expected == EXPECTED_MAX)
		return found;
	struct expected *grown =
		sw_grow(p->expected, p->n_expected, &p->expected_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	p->expected = grown;
	grown[p->n_expected] = (struct expected){.id = *id};
	return &grown[p->n_expected++];
}

/* A file that does not fit is not found later. */
static void seen_add(struct sw_packages *p, struct sw_bytes id)
{
	struct seen *grown =
		p->n_seen < SEEN_MAX && !p->is_again
			? sw_grow(p->seen, p->n_seen, &p->seen_capacity, 64, sizeof(*grown))
			: NULL;
	if (grown == NULL)
		return;
	p->seen = grown;
	grown[p->n_seen].package = p->reading;
	p->n_seen += id_of(id, &grown[p->n_seen].id);
}

/* ---- a file of a package ---------------------------------------------------------------------- */

/* Keeps the first reason, with the name of the package that is read. */
static void why_note(struct sw_packages *p, const char *why)
{
	if (p->why[0] == '\0')
		(void) snprintf(p->why, sizeof(p->why), "%s: %s",
				sw_path_name(p->paths[p->reading]), why); /* cut if longer */
}

/* Writes a file whose first n bytes are in the chunk. */
static bool file_write(struct sw_packages *p, struct sw_archive_file *file, int fd, ssize_t n)
{
	uint64_t size = 0;
	for (; n > 0; n = sw_archive_file_read(file, p->chunk, sizeof(p->chunk))) {
		size += (uint64_t) n;
		if (size > FILE_BYTES_MAX || size > KEPT_BYTES_MAX - p->kept_bytes ||
		    write(fd, p->chunk, (size_t) n) != n) {
			why_note(p, "a file of it is too large to be unpacked here");
			return false;
		}
	}
	return n == 0;
}

/* Gives the file that was written its name, by what it is. */
static void file_keep(struct sw_packages *p, const struct sw_elf *elf, struct sw_bytes file)
{
	char name[2 * SW_ID_BYTES_MOST + 1], path[sizeof(name) + 16];
	struct sw_bytes id;
	if (!sw_elf_is_debug_file(elf) || !sw_elf_build_id(elf, &id) ||
	    id.size < SW_ID_BYTES_LEAST || id.size > SW_ID_BYTES_MOST)
		return;
	struct expected *expected = expected_find(p, id);
	if (expected == NULL) {
		seen_add(p, id);
		return;
	}
	sw_build_id_hex(id, name);
	(void) snprintf(path, sizeof(path), "%s/debuginfo", name); /* fits */
	(void) mkdirat(p->directory_fd, name, DIRECTORY_MODE);     /* then renaming fails */
	if (expected->is_kept || renameat(p->directory_fd, PARTIAL, p->directory_fd, path) < 0)
		return;
	expected->is_kept = true;
	p->kept_bytes += file.size;
}

static void file_look(struct sw_packages *p, int fd)
{
	struct stat st;
	struct sw_elf elf;
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	void *map = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	const struct sw_bytes file = {map, (size_t) st.st_size};
	if (sw_elf_init(&elf, file))
		file_keep(p, &elf, file);
	(void) munmap(map, file.size); /* ours */
}

/* The first bytes say whether it is an ELF file, most others are passed over. */
static bool visit_file(void *arg, struct sw_archive_file *file)
{
	struct sw_packages *p = arg;
	ssize_t n = sw_archive_file_read(file, p->chunk, sizeof(p->chunk));
	if (n < (ssize_t) sizeof(Elf32_Ehdr) || memcmp(p->chunk, ELFMAG, SELFMAG) != 0)
		return true;
	int fd = openat(p->directory_fd, PARTIAL, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0) {
		why_note(p, "its files cannot be unpacked here");
		return false;
	}
	if (file_write(p, file, fd, n))
		file_look(p, fd);
	(void) close(fd); /* a failed write is a file that is not found */
	(void) unlinkat(p->directory_fd, PARTIAL, 0); /* has another name, where it is kept */
	return true;
}

/* -1: it cannot be opened, or is no regular file. */
static int package_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		sw_close_p(&fd);
	return fd;
}

static void package_read(struct sw_packages *p, size_t i, bool is_again)
{
	const struct sw_archive_limits limits = {.bytes = PACKAGE_BYTES_MAX,
						 .files = FILES_MAX,
						 .deadline_ns = p->deadline_ns};
	const struct sw_archive_visitor visitor = {.file = visit_file, .arg = p};
	struct sw_error err = {0};
	sw_cleanup(sw_close_p) int fd = package_open(p->paths[i]);
	p->reading = i;
	p->is_again = is_again;
	if (fd < 0)
		why_note(p, "it cannot be opened");
	else if (sw_archive_visit(&p->lib, fd, &limits, &visitor, &err) < 0)
		why_note(p, err.message);
}

/* ---- public ----------------------------------------------------------------------------------- */

int sw_packages_create(const char *const *directories, size_t n, int64_t deadline_ns,
		       struct sw_packages **ret, struct sw_error *err)
{
	struct sw_packages *p = calloc(1, sizeof(*p));
	int r = p != NULL ? 0 : -SW_E_NOMEM;
	if (p != NULL)
		p->deadline_ns = deadline_ns;
	for (size_t i = 0; i < n && r == 0; i++)
		r = directory_look(p, directories[i]);
	if (r < 0)
		(void) sw_fail_nomem(err);
	else if (p->n > 0)
		r = sw_archive_library_load(&p->lib, err);
	if (r < 0 || p->n == 0)
		sw_packages_destroy(sw_take_ptr(p));
	if (r == 0)
		*ret = p;
	return r;
}

void sw_packages_destroy(struct sw_packages *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->paths[i]);
	free(p->paths);
	free(p->expected);
	free(p->seen);
	free(p);
}

void sw_packages_expect(struct sw_packages *p, const char *build_id)
{
	struct id id;
	if (id_read(build_id, &id))
		(void) expect(p, &id); /* then it is read again for this one */
}

/* The packages that have it though they were read already. */
static void seen_read(struct sw_packages *p, struct sw_bytes id)
{
	for (size_t i = 0; i < p->n_seen && !expected_find(p, id)->is_kept; i++)
		if (id_is(&p->seen[i].id, id))
			package_read(p, p->seen[i].package, true);
}

bool sw_packages_unpack(struct sw_packages *p, const char *build_id, int directory_fd)
{
	struct id id;
	if (!id_read(build_id, &id) || expect(p, &id) == NULL)
		return false;
	const struct sw_bytes wanted = {id.data, id.size};
	p->directory_fd = directory_fd;
	seen_read(p, wanted);
	while (!expected_find(p, wanted)->is_kept && p->n_read < p->n &&
	       !sw_deadline_passed(p->deadline_ns))
		package_read(p, p->n_read++, false);
	return expected_find(p, wanted)->is_kept;
}

const char *sw_packages_why(const struct sw_packages *p)
{
	return p->why[0] != '\0' ? p->why : NULL;
}
