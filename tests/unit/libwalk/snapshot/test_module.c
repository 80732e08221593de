/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "snapshot/module.h"
#include "test.h"

struct fixture {
	struct sw_context *ctx;
	char path[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL || sw_context_create(&f->ctx, NULL) < 0)
		return -1;
	strcpy(f->path, "/tmp/test_module.XXXXXX");
	sw_cleanup(sw_close_p) int fd = mkstemp(f->path);
	return fd >= 0 && write(fd, "abc", 3) == 3 ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_context_destroy(f->ctx);
	(void) unlink(f->path);
	free(f);
	return 0;
}

static struct sw_module *from_file(struct fixture *f, const char *file, const char *name,
				   bool deleted)
{
	struct stat st;
	struct sw_module *m = NULL;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sw_context_module_file(f->ctx, SW_MODULE_ELF, name, deleted, fd, &st, &m),
			 0);
	return m;
}

static struct sw_module *from_memory(struct fixture *f, const char *name, const char *bytes,
				     const char *problem)
{
	struct sw_module *m = NULL;
	uint8_t *image = bytes != NULL ? (uint8_t *) strdup(bytes) : NULL;
	assert_int_equal(sw_context_module_memory(f->ctx, SW_MODULE_VDSO, name, false, image,
						  bytes != NULL ? strlen(bytes) : 0, problem, &m),
			 0);
	return m;
}

/* The same file is the same module, whoever opened it; another name or content is another one. */
TEST_OF(test_identity, struct fixture *f)
{
	struct sw_module *m = from_file(f, f->path, "/name", false);
	assert_string_equal(sw_module_path(m), "/name");
	assert_int_equal(sw_module_kind(m), SW_MODULE_ELF);
	assert_false(sw_module_deleted(m));
	assert_ptr_equal(from_file(f, f->path, "/name", true), m);
	assert_true(sw_module_deleted(m));
	assert_ptr_not_equal(from_file(f, f->path, "/other", false), m);
	sw_cleanup(sw_close_p) int fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "d", 1), 1);
	struct sw_module *longer = from_file(f, f->path, "/name", false);
	assert_ptr_not_equal(longer, m);
	assert_int_equal(f->ctx->n_modules, 3);
}

TEST_OF(test_file_image, struct fixture *f)
{
	struct sw_module *m = from_file(f, f->path, "/name", false);
	size_t size;
	assert_memory_equal(sw_module_image(m, &size), "abc", 3);
	assert_int_equal(size, 3);
	assert_null(sw_module_problem(m));
	/* The image stays when the file goes. */
	assert_int_equal(unlink(f->path), 0);
	assert_memory_equal(sw_module_image(m, &size), "abc", 3);
	/* No ELF file: said once, remembered. */
	assert_null(sw_module_elf(m));
	assert_null(sw_module_elf(m));
	assert_string_equal(sw_module_problem(m), "it is no ELF file");
	assert_null(sw_module_build_id(m, &size));
	assert_int_equal(size, 0);
}

/* Images count from when they are looked at. */
TEST_OF(test_size, struct fixture *f)
{
	size_t n_modules, size;
	uint64_t bytes;
	struct sw_module *m = from_file(f, f->path, "/name", false);
	(void) from_file(f, f->path, "/other", false);
	sw_context_size(f->ctx, &n_modules, &bytes);
	assert_int_equal(n_modules, 2);
	assert_int_equal(bytes, 0);
	(void) sw_module_image(m, &size);
	sw_context_size(f->ctx, &n_modules, &bytes);
	assert_int_equal(bytes, 3);
}

TEST_OF(test_empty_file, struct fixture *f)
{
	assert_int_equal(truncate(f->path, 0), 0);
	struct sw_module *m = from_file(f, f->path, "/name", false);
	size_t size = 1;
	assert_null(sw_module_image(m, &size));
	assert_int_equal(size, 0);
	assert_string_equal(sw_module_problem(m), "its file is empty");
	assert_null(sw_module_elf(m));
}

TEST_OF(test_memory_image, struct fixture *f)
{
	struct sw_module *m = from_memory(f, "[vdso]", "0123456789abcdef", NULL);
	size_t size;
	assert_memory_equal(sw_module_image(m, &size), "0123456789abcdef", 16);
	assert_int_equal(size, 16);
	assert_ptr_equal(from_memory(f, "[vdso]", "0123456789abcdef", NULL), m);
	assert_ptr_not_equal(from_memory(f, "[vdso]", "0123456789abcdeF", NULL), m);
	assert_ptr_not_equal(from_memory(f, "/other", "0123456789abcdef", NULL), m);
	struct sw_module *none = from_memory(f, "[vdso]", NULL, "it could not be read");
	assert_null(sw_module_image(none, &size));
	assert_int_equal(size, 0);
	assert_string_equal(sw_module_problem(none), "it could not be read");
	assert_ptr_equal(from_memory(f, "[vdso]", NULL, "it could not be read"), none);
}

/* This test program itself is an ELF file; with its build-id when the linker gave it one. */
TEST_OF(test_elf, struct fixture *f)
{
	struct sw_module *m = from_file(f, "/proc/self/exe", "/self", false);
	assert_non_null(sw_module_elf(m));
	assert_ptr_equal(sw_module_elf(m), sw_module_elf(m));
	assert_null(sw_module_problem(m));
	size_t size;
	const uint8_t *id = sw_module_build_id(m, &size);
	assert_int_equal(id != NULL, size > 0);
	assert_ptr_equal(sw_module_build_id(m, &size), id);
}

TEST_OF(test_many, struct fixture *f)
{
	struct sw_module *modules[300];
	for (size_t i = 0; i < SW_ARRAY_SIZE(modules); i++) {
		char name[16];
		(void) snprintf(name, sizeof(name), "/m%zu", i);
		modules[i] = from_file(f, f->path, name, false);
	}
	assert_int_equal(f->ctx->n_modules, SW_ARRAY_SIZE(modules));
	for (size_t i = 0; i < SW_ARRAY_SIZE(modules); i++)
		assert_ptr_equal(from_file(f, f->path, modules[i]->path, false), modules[i]);
}
