/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files by their build-ids. Layouts: GDB manual 13.1, "Debugging Information in Separate Files"; the cache of
 * debuginfod_find_debuginfo(3) of elfutils 0.176 to 0.192.
 */
#include "finder/plain.h"
#include "cleanup.h"
#include "debugfile.h"
#include "errors.h"
#include "pe_image.h"
#include "symbolizer.h"

#include <snapwalk/finder.h>
#include <snapwalk/module.h>

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 2 * SW_ID_BYTES_MOST + 32, PAGE_BYTES = 4096 };

struct sw_finder {
	struct sw_debug_search search; /* first: it is the finder */
	struct sw_context *ctx;        /* borrowed */
	struct sw_finder_options options;
	struct sw_plain_index *plain; /* owned; one of each directory */
	/* The module that sw_finder_svma() was asked about last, and its file. */
	struct sw_module *asked; /* borrowed */
	struct sw_image image;   /* a debug file, where there is no other one */
	struct sw_elf elf;
	bool is_whole, has_elf;
};

/* A file that is looked for. */
struct wanted {
	struct sw_bytes id;
	enum sw_plain_kind kind;
	char hex[2 * SW_ID_BYTES_MOST + 1];
	struct sw_image *image; /* the caller's */
	struct sw_elf *elf;     /* of an ELF file */
};

static bool pe_found_at(const struct wanted *w, const struct sw_request *request,
			const char *directory, const char *name)
{
	struct sw_pe_image pe;
	uint8_t id[SW_BUILD_ID_MAX];
	if (!sw_image_map(w->image, request, directory, name))
		return false;
	if (sw_pe_image_parse(w->image->bytes, &pe) &&
	    sw_pe_image_build_id(&pe, w->image->bytes, id) == w->id.size &&
	    memcmp(id, w->id.data, w->id.size) == 0)
		return true;
	sw_image_deinit(w->image);
	return false;
}

/* An executable file that has no code is the debug file of one. */
static bool found_at(const struct wanted *w, struct sw_local *local, const char *directory,
		     const char *name)
{
	const struct sw_request request = {.local = local};
	if (w->kind == SW_PLAIN_PE)
		return pe_found_at(w, &request, directory, name);
	if (!sw_image_map_id(&request, directory, name, w->id, w->image, w->elf))
		return false;
	if (w->kind == SW_PLAIN_DEBUG || !sw_elf_is_debug_file(w->elf))
		return true;
	sw_image_deinit(w->image);
	return false;
}

/* The layouts in which the build-id leads to the file at once. */
static bool found_by_name(const struct wanted *w, struct sw_local *local, const char *directory)
{
	static const char *const trees[] = {".build-id/", ""};
	const char *end = w->kind == SW_PLAIN_DEBUG ? ".debug" : "";
	const char *kind = w->kind == SW_PLAIN_DEBUG ? "debuginfo" : "executable";
	char name[NAME_BYTES];
	if (w->kind == SW_PLAIN_PE)
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(trees); i++) {
		(void) snprintf(name, sizeof(name), "%s%.2s/%s%s", trees[i], w->hex, w->hex + 2,
				end); /* fits */
		if (found_at(w, local, directory, name))
			return true;
	}
	(void) snprintf(name, sizeof(name), "%s/%s", w->hex, kind); /* fits */
	return found_at(w, local, directory, name);
}

/* Directories that our user gave may be on any file system: a server that does not answer is waited for. */
static bool found_in_given(struct sw_finder *f, const struct wanted *w)
{
	const struct sw_finder_options *o = &f->options;
	for (size_t i = 0; i < o->n_directories; i++) {
		if (found_by_name(w, NULL, o->directories[i]))
			return true;
		sw_plain_index_build(&f->plain[i], o->directories[i], o->deadline_ns);
		const char *name = sw_plain_index_find(&f->plain[i], w->id, w->kind);
		if (name != NULL && found_at(w, NULL, o->directories[i], name))
			return true;
	}
	return false;
}

/* Packages of the directories that were given. */
static bool found_in_packages(const struct sw_finder *f, const struct wanted *w)
{
	const struct sw_finder_options *o = &f->options;
	const char *directory = o->unpack != NULL ? o->unpack(o->unpack_arg, w->hex) : NULL;
	return directory != NULL && found_by_name(w, NULL, directory);
}

static bool found_in_cache(const struct sw_finder *f, const struct wanted *w)
{
	return f->options.cache != NULL && found_by_name(w, NULL, f->options.cache);
}

static bool found_below(struct sw_finder *f, const struct wanted *w)
{
	return found_in_given(f, w) || (w->kind == SW_PLAIN_DEBUG && found_in_packages(f, w)) ||
	       found_in_cache(f, w);
}

static bool wanted_init(struct wanted *ret, struct sw_bytes id, enum sw_plain_kind kind,
			struct sw_image *image, struct sw_elf *elf)
{
	*ret = (struct wanted){.id = id, .kind = kind, .image = image, .elf = elf};
	if (id.size < SW_ID_BYTES_LEAST || id.size > SW_ID_BYTES_MOST)
		return false;
	sw_build_id_hex(id, ret->hex);
	return true;
}

static bool debug_file_find(const struct sw_debug_search *search, struct sw_bytes id,
			    struct sw_image *image, struct sw_elf *elf, bool or_whole)
{
	struct sw_finder *f = (struct sw_finder *) search; /* ours */
	struct wanted w;
	if (!wanted_init(&w, id, SW_PLAIN_DEBUG, image, elf))
		return false;
	bool found = found_below(f, &w);
	if (!found && f->options.fetch != NULL && f->options.fetch(f->options.fetch_arg, w.hex))
		found = found_in_cache(f, &w);
	if (found || !or_whole)
		return found;
	w.kind = SW_PLAIN_CODE;
	if (!found_below(f, &w))
		return false;
	if (sw_elf_has_symbols(elf))
		return true;
	sw_image_deinit(image);
	return false;
}

/*
 * The file of a module: one that was given, as it may not be stripped as the others are; at its path; or where its build-id
 * leads to.
 */
static bool file_find(struct sw_finder *f, const char *path, const struct wanted *w)
{
	struct sw_local *local = sw_context_local(f->ctx);
	if (found_in_given(f, w))
		return true;
	if (path[0] == '/' && found_at(w, local, "/", path + 1))
		return true;
	return found_by_name(w, local, "/usr/lib") ||
	       found_by_name(w, local, f->options.debug_dir) || found_in_cache(f, w);
}

int sw_finder_module(struct sw_finder *f, enum sw_module_kind kind, const char *path,
		     const uint8_t *build_id, size_t build_id_bytes, struct sw_module **ret,
		     struct sw_error *err)
{
	struct sw_image image = {0};
	struct sw_elf elf;
	struct wanted w;
	int fd = -EBADF;
	const enum sw_plain_kind of_file = kind == SW_MODULE_PE ? SW_PLAIN_PE : SW_PLAIN_CODE;
	bool has_id =
		(kind == SW_MODULE_ELF || kind == SW_MODULE_PE) &&
		wanted_init(&w, (struct sw_bytes){build_id, build_id_bytes}, of_file, &image, &elf);
	if (has_id && kind == SW_MODULE_ELF && f->options.expect != NULL)
		f->options.expect(f->options.unpack_arg, w.hex);
	if (has_id && file_find(f, path, &w)) {
		fd = sw_take_fd(image.fd); /* which is mapped again, by the module */
		sw_image_deinit(&image);
	}
	return sw_context_module(f->ctx, kind, path, fd, build_id, build_id_bytes, ret, err);
}

int sw_finder_named(struct sw_finder *f, const char *name, struct sw_module **ret,
		    struct sw_error *err)
{
	const struct sw_finder_options *o = &f->options;
	struct sw_bytes id;
	*ret = NULL;
	for (size_t i = 0; i < o->n_directories; i++) {
		sw_plain_index_build(&f->plain[i], o->directories[i], o->deadline_ns);
		if (sw_plain_index_named(&f->plain[i], name, &id))
			return sw_finder_module(f, SW_MODULE_ELF, name, id.data, id.size, ret, err);
	}
	return 0;
}

/* ---- offsets in mappings --------------------------------------------------------------------- */

static bool is_code(const struct sw_elf_segment *s)
{
	return s->type == PT_LOAD && (s->flags & PF_X);
}

static uint64_t page_of(uint64_t svma)
{
	return svma & ~(uint64_t) (PAGE_BYTES - 1);
}

/* The file of code has the offsets of its segments. */
static bool svma_by_offset(const struct sw_elf *elf, uint64_t off, uint64_t *ret)
{
	struct sw_elf_segment s;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (is_code(&s) && off >= s.off && off - s.off < s.file_bytes) {
			*ret = s.svma + (off - s.off);
			return true;
		}
	return false;
}

/* A debug file has addresses alone: what is mapped is its code, if there is one part of it, and all of that is mapped. */
static bool svma_by_only_code(const struct sw_elf *elf, uint64_t bytes, uint64_t inside,
			      uint64_t *ret)
{
	struct sw_elf_segment s, code = {0};
	size_t n = 0;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (is_code(&s)) {
			code = s;
			n++;
		}
	*ret = page_of(code.svma) + inside;
	return n == 1 && *ret >= code.svma && *ret - code.svma < code.memory_bytes &&
	       bytes >= code.svma + code.memory_bytes - page_of(code.svma);
}

static bool svma_from_first(const struct sw_elf *elf, uint64_t off, uint64_t *ret)
{
	struct sw_elf_segment s;
	uint64_t first = UINT64_MAX;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && page_of(s.svma) < first)
			first = page_of(s.svma);
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s) && first != UINT64_MAX; i++)
		if (is_code(&s) && first + off >= s.svma && first + off - s.svma < s.memory_bytes) {
			*ret = first + off;
			return true;
		}
	return false;
}

static void asked_deinit(struct sw_finder *f)
{
	if (f->has_elf && !f->is_whole)
		sw_image_deinit(&f->image);
	f->asked = NULL;
	f->has_elf = f->is_whole = false;
}

static void asked_find(struct sw_finder *f, struct sw_module *module)
{
	struct sw_bytes file = {0}, id = {0};
	struct wanted w;
	asked_deinit(f);
	f->asked = module;
	file.data = sw_module_image(module, &file.size);
	f->is_whole = f->has_elf = file.data != NULL && sw_elf_init(&f->elf, file);
	id.data = sw_module_build_id(module, &id.size);
	if (!f->is_whole && wanted_init(&w, id, SW_PLAIN_DEBUG, &f->image, &f->elf))
		f->has_elf = found_by_name(&w, sw_context_local(f->ctx), f->options.debug_dir) ||
			     debug_file_find(&f->search, id, &f->image, &f->elf, false);
}

bool sw_finder_svma(struct sw_finder *f, struct sw_module *module, uint64_t mapping_off,
		    uint64_t mapping_bytes, uint64_t off, uint64_t *ret)
{
	if (f->asked != module)
		asked_find(f, module);
	if (!f->has_elf)
		return false;
	if (mapping_off == 0)
		return svma_from_first(&f->elf, off, ret);
	if (f->is_whole)
		return svma_by_offset(&f->elf, off, ret);
	return off >= mapping_off &&
	       svma_by_only_code(&f->elf, mapping_bytes, off - mapping_off, ret);
}

int sw_finder_create(struct sw_context *ctx, const struct sw_finder_options *options,
		     struct sw_finder **ret, struct sw_error *err)
{
	struct sw_finder *f = calloc(1, sizeof(*f));
	if (f == NULL)
		return sw_fail_nomem(err);
	f->search.find = debug_file_find;
	f->ctx = ctx;
	f->options = *options;
	if (f->options.debug_dir == NULL)
		f->options.debug_dir = SW_DEBUG_DIR;
	f->plain = calloc(options->n_directories + 1, sizeof(*f->plain));
	if (f->plain == NULL) {
		free(f);
		return sw_fail_nomem(err);
	}
	*ret = f;
	return 0;
}

void sw_finder_destroy(struct sw_finder *finder)
{
	if (finder == NULL)
		return;
	for (size_t i = 0; i < finder->options.n_directories; i++)
		sw_plain_index_deinit(&finder->plain[i]);
	asked_deinit(finder);
	free(finder->plain);
	free(finder);
}

void sw_symbolizer_set_finder(struct sw_symbolizer *symbolizer, struct sw_finder *finder)
{
	symbolizer->search = &finder->search;
}
