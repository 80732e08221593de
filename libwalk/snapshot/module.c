/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/module.h"
#include "cleanup.h"
#include "errors.h"
#include "formats/pe_image.h"

#include <snapwalk/module.h>

#include <string.h>
#include <sys/mman.h>

enum { MODULES_MAX = 65536, MODULE_IMAGE_MAX = INT32_MAX };

int sw_context_create(struct sw_context **ret, struct sw_error *err)
{
	struct sw_context *ctx = calloc(1, sizeof(*ctx));
	if (ctx == NULL)
		return sw_fail_nomem(err);
	ctx->iterator_fd = ctx->returns_fd = -EBADF;
	int r = sw_local_create(&ctx->local, err);
	if (r < 0)
		free(ctx);
	else
		*ret = ctx;
	return r;
}

void sw_context_size(const struct sw_context *ctx, size_t *ret_modules, uint64_t *ret_bytes)
{
	*ret_modules = ctx->n_modules;
	*ret_bytes = 0;
	for (size_t i = 0; i < ctx->n_modules; i++)
		*ret_bytes += ctx->modules[i]->image_size;
}

struct sw_local *sw_context_local(const struct sw_context *ctx)
{
	return ctx->local;
}

static void module_destroy(struct sw_module *m)
{
	if (m == NULL)
		return;
	sw_slots_deinit(&m->slots);
	if (m->image_copied)
		free((void *) m->image);
	else if (m->image != NULL)
		(void) munmap((void *) m->image, m->image_size); /* ours, cannot fail */
	sw_close_p(&m->fd);
	free(m->path);
	free(m);
}

void sw_context_destroy(struct sw_context *ctx)
{
	if (ctx == NULL)
		return;
	for (size_t i = 0; i < ctx->n_modules; i++)
		module_destroy(ctx->modules[i]);
	free(ctx->modules);
	sw_slots_deinit(&ctx->slots);
	sw_map64_deinit(&ctx->by_identity);
	sw_close_p(&ctx->iterator_fd);
	sw_close_p(&ctx->returns_fd);
	sw_local_destroy(ctx->local);
	free(ctx);
}

/* Makes an empty module and enters it under its key. */
static struct sw_module *module_add(struct sw_context *ctx, enum sw_module_kind kind,
				    const char *path, uint64_t key)
{
	if (ctx->n_modules == ctx->capacity) {
		size_t capacity = ctx->capacity == 0 ? 64 : ctx->capacity * 2;
		if (capacity > MODULES_MAX)
			return NULL;
		struct sw_module **grown = reallocarray(ctx->modules, capacity, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		ctx->modules = grown;
		ctx->capacity = capacity;
	}
	struct sw_module *m = calloc(1, sizeof(*m));
	char *kept = strdup(path);
	if (m == NULL || kept == NULL || sw_map64_put(&ctx->by_identity, key, ctx->n_modules) < 0) {
		free(m);
		free(kept);
		return NULL;
	}
	m->kind = kind;
	m->path = kept;
	m->fd = -EBADF;
	ctx->modules[ctx->n_modules++] = m;
	return m;
}

static uint64_t key_mix(uint64_t key, uint64_t value)
{
	return sw_mix64(key ^ value);
}

static uint64_t key_string(uint64_t key, const char *s)
{
	for (; *s != '\0'; s++)
		key = key_mix(key, (unsigned char) *s);
	return key;
}

static bool same_file(const struct sw_module *m, const struct stat *st, const char *path)
{
	return m->fd >= 0 && m->dev == st->st_dev && m->inode == st->st_ino &&
	       m->size == st->st_size && m->mtime.tv_sec == st->st_mtim.tv_sec &&
	       m->mtime.tv_nsec == st->st_mtim.tv_nsec && strcmp(m->path, path) == 0;
}

int sw_context_module_file(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
			   bool deleted, int fd, const struct stat *st, struct sw_module **ret)
{
	sw_cleanup(sw_close_p) int owned_fd = fd;
	uint64_t key = key_mix(key_mix((uint64_t) st->st_dev, st->st_ino), (uint64_t) st->st_size);
	key = key_mix(key_mix(key, (uint64_t) st->st_mtim.tv_sec), (uint64_t) st->st_mtim.tv_nsec);
	key = key_string(key, path);
	uint64_t index;
	if (sw_map64_get(&ctx->by_identity, key, &index) &&
	    same_file(ctx->modules[index], st, path)) {
		ctx->modules[index]->deleted = deleted;
		*ret = ctx->modules[index];
		return 0;
	}
	struct sw_module *m = module_add(ctx, kind, path, key);
	if (m == NULL)
		return -SW_E_NOMEM;
	m->deleted = deleted;
	m->dev = st->st_dev;
	m->inode = st->st_ino;
	m->size = st->st_size;
	m->mtime = st->st_mtim;
	m->fd = sw_take_fd(owned_fd);
	*ret = m;
	return 0;
}

static uint64_t key_of_image(const char *path, const uint8_t *image, size_t size)
{
	uint64_t key = key_string(size, path);
	for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, image + i, sizeof(word));
		key = key_mix(key, word);
	}
	return key;
}

int sw_context_module_memory(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
			     bool deleted, uint8_t *image, size_t image_size, const char *problem,
			     struct sw_module **ret)
{
	sw_cleanup(sw_free_p) uint8_t *owned = image;
	uint64_t key = key_of_image(path, image, image != NULL ? image_size : 0);
	uint64_t index;
	if (sw_map64_get(&ctx->by_identity, key, &index)) {
		struct sw_module *m = ctx->modules[index];
		bool same = strcmp(m->path, path) == 0 && m->image_copied == (image != NULL) &&
			    (image == NULL || (m->image_size == image_size &&
					       memcmp(m->image, image, image_size) == 0));
		if (same) {
			*ret = m;
			return 0;
		}
	}
	struct sw_module *m = module_add(ctx, kind, path, key);
	if (m == NULL)
		return -SW_E_NOMEM;
	m->deleted = deleted;
	m->image_tried = true;
	m->image_copied = image != NULL;
	m->image = sw_take_ptr(owned);
	m->image_size = image != NULL ? image_size : 0;
	m->problem = image != NULL ? NULL : problem;
	*ret = m;
	return 0;
}

/* A module of which nothing but its name and its build-id is here. */
static int module_absent(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
			 const uint8_t *build_id, size_t build_id_bytes, struct sw_module **ret)
{
	uint64_t key = key_string(key_mix(UINT64_C(0x61627365), build_id_bytes), path), index;
	for (size_t i = 0; i < build_id_bytes; i++)
		key = key_mix(key, build_id[i]);
	if (sw_map64_get(&ctx->by_identity, key, &index)) {
		struct sw_module *m = ctx->modules[index];
		if (m->kind == kind && m->build_id_bytes == build_id_bytes &&
		    memcmp(m->build_id, build_id, build_id_bytes) == 0 &&
		    strcmp(m->path, path) == 0) {
			*ret = m;
			return 0;
		}
	}
	struct sw_module *m = module_add(ctx, kind, path, key);
	if (m == NULL)
		return -SW_E_NOMEM;
	m->image_tried = m->build_id_tried = true;
	m->problem = "its file is not here";
	m->build_id_bytes = build_id_bytes;
	memcpy(m->build_id, build_id, build_id_bytes);
	*ret = m;
	return 0;
}

int sw_context_module(struct sw_context *ctx, enum sw_module_kind kind, const char *path, int fd,
		      const uint8_t *build_id, size_t build_id_bytes, struct sw_module **ret,
		      struct sw_error *err)
{
	sw_cleanup(sw_close_p) int owned_fd = fd;
	struct stat st;
	if (build_id_bytes > SW_BUILD_ID_MAX)
		return sw_fail(err, SW_E_LIMIT, "a build-id of %zu bytes", build_id_bytes);
	if (fd >= 0 && fstat(fd, &st) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	int r = fd >= 0 ? sw_context_module_file(ctx, kind, path, false, sw_take_fd(owned_fd), &st,
						 ret)
			: module_absent(ctx, kind, path, build_id, build_id_bytes, ret);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

const char *sw_module_path(const struct sw_module *module)
{
	return module->path;
}

enum sw_module_kind sw_module_kind(const struct sw_module *module)
{
	return module->kind;
}

bool sw_module_deleted(const struct sw_module *module)
{
	return module->deleted;
}

static void image_map(struct sw_module *m)
{
	m->image_tried = true;
	if (m->fd < 0) {
		m->problem = "its file could not be opened";
		return;
	}
	if (m->size <= 0 || m->size > MODULE_IMAGE_MAX) {
		m->problem = m->size <= 0 ? "its file is empty" : "its file is larger than 2 GiB";
		return;
	}
	void *p = mmap(NULL, (size_t) m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
	if (p == MAP_FAILED) {
		m->problem = "its file could not be mapped";
		return;
	}
	m->image = p;
	m->image_size = (size_t) m->size;
}

const void *sw_module_image(struct sw_module *module, size_t *ret_size)
{
	if (!module->image_tried)
		image_map(module);
	*ret_size = module->image_size;
	return module->image;
}

int sw_module_fd(const struct sw_module *module)
{
	return module->fd;
}

const char *sw_module_problem(struct sw_module *module)
{
	size_t size;
	(void) sw_module_image(module, &size); /* only for its side effect: problem is decided */
	return module->problem;
}

const struct sw_elf *sw_module_elf(struct sw_module *module)
{
	if (!module->elf_tried && module->kind != SW_MODULE_PE) {
		struct sw_bytes image = {0};
		module->elf_tried = true;
		image.data = sw_module_image(module, &image.size);
		module->is_elf = image.data != NULL && sw_elf_init(&module->elf, image);
		if (image.data != NULL && !module->is_elf)
			module->problem = "it is no ELF file";
	}
	return module->is_elf ? &module->elf : NULL;
}

static size_t pe_build_id(struct sw_module *module, uint8_t id[SW_BUILD_ID_MAX])
{
	struct sw_bytes file = {0};
	struct sw_pe_image pe;
	file.data = sw_module_image(module, &file.size);
	return sw_pe_image_parse(file, &pe) ? sw_pe_image_build_id(&pe, file, id) : 0;
}

static size_t elf_build_id(struct sw_module *module, uint8_t id[SW_BUILD_ID_MAX])
{
	const struct sw_elf *elf = sw_module_elf(module);
	struct sw_bytes found;
	if (elf == NULL || !sw_elf_build_id(elf, &found) || found.size > SW_BUILD_ID_MAX)
		return 0;
	memcpy(id, found.data, found.size);
	return found.size;
}

const uint8_t *sw_module_build_id(struct sw_module *module, size_t *ret_length)
{
	if (!module->build_id_tried) {
		module->build_id_tried = true;
		module->build_id_bytes = module->kind == SW_MODULE_PE
						 ? pe_build_id(module, module->build_id)
						 : elf_build_id(module, module->build_id);
	}
	*ret_length = module->build_id_bytes;
	return module->build_id_bytes > 0 ? module->build_id : NULL;
}
