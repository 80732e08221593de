/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The modules that were loaded, by what the dynamic linker and the kernel left in memory. Source:
 * glibc 2.36 elf/link.h and include/link.h (struct r_debug_extended, struct link_map), musl 1.2.3
 * include/link.h; getauxval(3); System V gABI 4.3, chapter 5 (DT_DEBUG).
 */
#include "saved/core_loaded.h"
#include "cleanup.h"
#include "errors.h"
#include "formats/elf_file.h"
#include "saved/core_open.h"

#include <stdlib.h>

enum {
	SEGMENTS_MAX = 256, /* of one image; core_open.c reads as many */
	DYNAMIC_MAX = 256,  /* entries of a dynamic section; real ones have 30 */
	NEAR_SEGMENTS = 64, /* mappings between an image's header and its dynamic section */
	FILES_FIRST = 64,
	HEADER_PAGE = 4096,
};

/* An ELF file that is loaded. */
struct image {
	uint64_t bias;
	struct sw_elf_segment segments[SEGMENTS_MAX];
	size_t n_segments;
};

struct finder {
	const struct sw_snapshot *snap;
	struct sw_arena *arena; /* its */
	const struct sw_core_elf *core;
	struct sw_core_notes *notes;
	struct sw_core_loaded *found;
	const char *exe_path;
	struct sw_memory memory;
	struct sw_core_file *files; /* owned */
	size_t n, capacity;
	size_t links; /* entries that were read */
	bool nomem;
};

static bool memory_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return sw_core_elf_read(arg, avma, buffer, length);
}

static uint64_t page_begin(uint64_t avma)
{
	return avma & ~(uint64_t) (HEADER_PAGE - 1);
}

static const struct sw_elf_segment *segment_typed(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->n_segments; i++)
		if (image->segments[i].type == type)
			return &image->segments[i];
	return NULL;
}

static bool image_read(struct sw_memory memory, uint64_t base, struct image *ret)
{
	ret->n_segments = sw_elf_segments_read(memory, base, ret->segments, SEGMENTS_MAX);
	return segment_typed(ret, PT_LOAD) != NULL;
}

/* The image whose header is in memory at base_avma. */
static bool image_at(const struct finder *f, uint64_t base_avma, struct image *ret)
{
	if (!image_read(f->memory, base_avma, ret))
		return false;
	/* The first one in the file is that with the header; it is the lowest one, too. */
	const struct sw_elf_segment *first = segment_typed(ret, PT_LOAD);
	ret->bias = sw_memory_wrap(f->memory, base_avma - page_begin(first->svma - first->off));
	return true;
}

/* The image that an address is in, by the nearest header below it. */
static bool image_around(const struct finder *f, uint64_t avma, struct image *ret)
{
	size_t i = sw_core_elf_next(f->core, avma);
	if (i == f->core->n_segments)
		return false;
	for (size_t k = 0; k <= i && k < NEAR_SEGMENTS; k++)
		if (image_at(f, f->core->segments[i - k].start_avma, ret))
			return true;
	return false;
}

/* The image as its file says that it is; its bias is not known. */
static bool image_of_file(const struct finder *f, const char *path, struct image *ret)
{
	sw_cleanup(sw_close_p) int fd = sw_core_open_named(f->snap, path);
	return fd >= 0 && image_read(sw_core_file_memory(&fd), 0, ret);
}

/* All that is mapped of the file. */
static void image_add(struct finder *f, const struct image *image, const char *path)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct sw_elf_segment *s = &image->segments[i];
		uint64_t end_svma;
		if (s->type != PT_LOAD || s->file_bytes == 0 ||
		    __builtin_add_overflow(s->svma, s->file_bytes + HEADER_PAGE - 1, &end_svma))
			continue;
		if (f->n == SW_CORE_FILES_MAX) {
			f->found->limited = true;
			return;
		}
		struct sw_core_file file = {
			.start_avma = sw_memory_wrap(f->memory, image->bias + page_begin(s->svma)),
			.end_avma = sw_memory_wrap(f->memory, image->bias + page_begin(end_svma)),
			.file_off = page_begin(s->off),
			.path = path};
		struct sw_core_file *files =
			sw_grow(f->files, f->n, &f->capacity, FILES_FIRST, sizeof(*files));
		if (files == NULL) {
			f->nomem = true;
			return;
		}
		f->files = files;
		if (file.start_avma < file.end_avma)
			f->files[f->n++] = file;
	}
}

/* Whether the segment begins as an ELF file does, and is not written to. */
static bool has_header(const struct sw_core_segment *s)
{
	return s->data.size >= sizeof(Elf32_Ehdr) && !(s->prot & SW_MAP_WRITE) &&
	       memcmp(s->data.data, ELFMAG, SELFMAG) == 0;
}

/* A text of the process; borrowed from the core file. */
static bool text_at(const struct finder *f, uint64_t avma, const char **ret)
{
	const struct sw_core_segment *s = sw_core_elf_segment(f->core, avma);
	return s != NULL && sw_bytes_str(s->data, avma - s->start_avma, ret) && **ret != '\0';
}

/* DT_DEBUG: where struct r_debug is. */
static bool debug_of(const struct finder *f, const struct image *image, uint64_t *ret_avma)
{
	const struct sw_elf_segment *dynamic = segment_typed(image, PT_DYNAMIC);
	const unsigned word = sw_memory_word_bytes(f->memory);
	uint64_t tag, value;
	if (dynamic == NULL)
		return false;
	uint64_t at = sw_memory_wrap(f->memory, image->bias + dynamic->svma);
	for (size_t i = 0; i < DYNAMIC_MAX; i++, at += 2 * word) {
		if (!sw_memory_word(f->memory, at, &tag) || tag == DT_NULL ||
		    !sw_memory_word(f->memory, at + word, &value))
			return false;
		if (tag == DT_DEBUG) {
			*ret_avma = value;
			return value != 0;
		}
	}
	return false;
}

/* ---- the program ------------------------------------------------------------------------------ */

/* The auxiliary vector has to agree with the program's headers. */
static bool is_program(const struct finder *f, struct image *image, uint64_t entry_svma)
{
	const struct sw_elf_segment *headers = segment_typed(image, PT_PHDR);
	image->bias = sw_memory_wrap(f->memory, f->notes->entry_avma - entry_svma);
	return f->notes->entry_avma != 0 &&
	       (headers == NULL ||
		sw_memory_wrap(f->memory, image->bias + headers->svma) == f->notes->phdr_avma);
}

/* path: where the core file says that it is; NULL: it does not say it. */
static bool program_of_file(const struct finder *f, const char *path, struct image *ret)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (f->exe_path != NULL)
		fd = sw_core_open_regular(f->exe_path);
	else if (path != NULL)
		fd = sw_core_open_named(f->snap, path);
	Elf64_Ehdr header;
	return fd >= 0 && sw_elf_header(sw_core_file_memory(&fd), 0, &header) &&
	       image_read(sw_core_file_memory(&fd), 0, ret) && is_program(f, ret, header.e_entry);
}

/* A program has DT_DEBUG, and what it loads has not. */
static bool program_by_scan(const struct finder *f, struct image *ret)
{
	uint64_t debug_avma;
	for (size_t i = 0; i < f->core->n_segments; i++) {
		const struct sw_core_segment *s = &f->core->segments[i];
		if (has_header(s) && image_at(f, s->start_avma, ret) &&
		    debug_of(f, ret, &debug_avma))
			return true;
	}
	return false;
}

static bool program_find(const struct finder *f, const char *path, struct image *ret)
{
	return (f->notes->phdr_avma != 0 && image_at(f, page_begin(f->notes->phdr_avma), ret)) ||
	       program_of_file(f, path, ret) || program_by_scan(f, ret);
}

/* ---- the dynamic linker's list ---------------------------------------------------------------- */

/* An entry of the list: its bias, name and dynamic section. */
struct link {
	uint64_t bias, name_avma, dynamic_avma, next_avma;
};

/* struct link_map: addr, name, ld, next, prev */
static bool link_read(const struct finder *f, uint64_t avma, struct link *ret)
{
	const unsigned word = sw_memory_word_bytes(f->memory);
	return sw_memory_word(f->memory, avma, &ret->bias) &&
	       sw_memory_word(f->memory, avma + word, &ret->name_avma) &&
	       sw_memory_word(f->memory, avma + 2 * word, &ret->dynamic_avma) &&
	       sw_memory_word(f->memory, avma + 3 * word, &ret->next_avma);
}

static bool link_image(const struct finder *f, const struct link *link, const char *path,
		       struct image *ret)
{
	if ((image_at(f, link->bias, ret) || image_around(f, link->dynamic_avma, ret)) &&
	    ret->bias == link->bias)
		return true;
	if (path[0] != '/' || !image_of_file(f, path, ret))
		return false;
	/* Another file may have its name now. */
	const struct sw_elf_segment *dynamic = segment_typed(ret, PT_DYNAMIC);
	ret->bias = link->bias;
	return dynamic != NULL &&
	       sw_memory_wrap(f->memory, ret->bias + dynamic->svma) == link->dynamic_avma;
}

static void link_add(struct finder *f, const struct link *link)
{
	const char *path;
	struct image image;
	/* The program has no name here, and the vDSO no file. An image whose name cannot be read is found by
	 * its build-id. */
	if (text_at(f, link->name_avma, &path) &&
	    page_begin(link->dynamic_avma) != page_begin(f->notes->vdso_avma) &&
	    link_image(f, link, path, &image))
		image_add(f, &image, path);
}

/* Read one list; *ret_next_avma: where the next one is. Returns false if it is not whole. */
static bool list_read(struct finder *f, uint64_t debug_avma, uint64_t *ret_next_avma)
{
	enum {
		MAP = 1,
		NEXT = 5,
		NAMESPACES = 2
	}; /* words, and the version that has the last one */
	const unsigned word = sw_memory_word_bytes(f->memory);
	uint32_t version;
	struct link link;
	*ret_next_avma = 0;
	if (!sw_memory_read(f->memory, debug_avma, &version, sizeof(version)) ||
	    !sw_memory_word(f->memory, debug_avma + MAP * word, &link.next_avma) ||
	    (version >= NAMESPACES &&
	     !sw_memory_word(f->memory, debug_avma + NEXT * word, ret_next_avma)))
		return false;
	while (link.next_avma != 0) {
		if (f->links == SW_CORE_LINKS_MAX) {
			f->found->limited = true;
			return true;
		}
		f->links++;
		if (!link_read(f, link.next_avma, &link))
			return false;
		link_add(f, &link);
	}
	return true;
}

static void lists_read(struct finder *f, uint64_t debug_avma)
{
	for (size_t i = 0; debug_avma != 0 && !f->found->limited; i++) {
		if (i == SW_CORE_NAMESPACES_MAX) {
			f->found->limited = true;
		} else if (!list_read(f, debug_avma, &debug_avma)) {
			f->found->damaged = true;
			return;
		}
	}
}

/* ---- what nothing names ----------------------------------------------------------------------- */

/* Code of the image is mapped: a file of data may have an ELF header, too. */
static bool has_code(const struct finder *f, const struct image *image)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct sw_elf_segment *s = &image->segments[i];
		const struct sw_core_segment *mapped =
			sw_core_elf_segment(f->core,
					    sw_memory_wrap(f->memory, image->bias + s->svma));
		if (s->type == PT_LOAD && (s->flags & PF_X) && mapped != NULL &&
		    (mapped->prot & SW_MAP_EXEC))
			return true;
	}
	return false;
}

static void nameless_add(struct finder *f, const struct sw_core_segment *s, struct image *image)
{
	uint8_t id[SW_BUILD_ID_MAX];
	char path[SW_CORE_ID_PATH_MAX];
	size_t id_bytes =
		sw_core_build_id(f->memory, s->start_avma, s->end_avma - s->start_avma, id);
	sw_cleanup(sw_close_p) int fd = sw_core_open_build_id(f->snap, id, id_bytes, path);
	if (fd < 0) {
		f->found->n_nameless++;
		return;
	}
	const char *kept = sw_arena_strdup(f->arena, path);
	f->nomem |= kept == NULL;
	if (kept != NULL)
		image_add(f, image, kept);
}

static void nameless_find(struct finder *f)
{
	struct image image;
	for (size_t i = 0; i < f->core->n_segments && !f->nomem; i++) {
		const struct sw_core_segment *s = &f->core->segments[i];
		if (has_header(s) && s->start_avma != f->notes->vdso_avma &&
		    sw_core_notes_file(f->notes, s->start_avma) == NULL &&
		    image_at(f, s->start_avma, &image) && has_code(f, &image))
			nameless_add(f, s, &image);
	}
}

/* The files that were found so far are handed over, sorted by address. */
static void hand_over(struct finder *f)
{
	struct sw_core_file *files = sw_arena_calloc(f->arena, f->n, sizeof(*files));
	f->nomem |= files == NULL;
	if (files == NULL || f->n == 0)
		return;
	memcpy(files, f->files, f->n * sizeof(*files));
	f->notes->files = files;
	f->notes->n_files = f->n;
	sw_core_notes_sort_files(f->notes);
}

static void all_find(struct finder *f)
{
	struct image program;
	uint64_t debug_avma;
	const char *path = NULL;
	bool named = text_at(f, f->notes->execfn_avma, &path);
	if (program_find(f, named && path[0] == '/' ? path : NULL, &program)) {
		if (!named)
			path = f->exe_path != NULL ? f->exe_path : f->notes->comm;
		f->found->program = path;
		image_add(f, &program, path);
		if (debug_of(f, &program, &debug_avma))
			lists_read(f, debug_avma);
		else
			f->found->damaged = segment_typed(&program, PT_INTERP) != NULL;
	}
	hand_over(f);
	nameless_find(f);
	hand_over(f);
}

int sw_core_loaded_find(const struct sw_snapshot *snap, const struct sw_core_elf *core,
			const char *exe_path, struct sw_core_notes *notes,
			struct sw_core_loaded *ret)
{
	const struct sw_memory_ops ops = {.read = memory_read, .is_32bit = core->is_32bit};
	struct sw_core_loaded found = {0};
	struct finder f = {.snap = snap,
			   .arena = &snap->priv->arena,
			   .core = core,
			   .notes = notes,
			   .found = &found,
			   .exe_path = exe_path,
			   .memory = {&ops, (void *) core}};
	all_find(&f);
	free(f.files);
	if (f.nomem)
		return -SW_E_NOMEM;
	*ret = found;
	return 0;
}
