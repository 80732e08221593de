/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_export.h"
#include "fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* A library of this process, so that the dynamic linker can be asked, too. */
struct library {
	struct sw_context *ctx;
	uint64_t base;
	uint8_t *image;
	size_t size;
};

static int setup(void **state)
{
	static struct library l;
	Dl_info info;
	struct stat st;
	*state = &l;
	if (dladdr((void *) (uintptr_t) json_object_new_object, &info) == 0 ||
	    sw_context_create(&l.ctx, NULL) < 0)
		return -1;
	l.base = (uintptr_t) info.dli_fbase;
	int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || (l.image = malloc((size_t) st.st_size)) == NULL)
		return -1;
	l.size = (size_t) st.st_size;
	bool whole = read(fd, l.image, l.size) == st.st_size;
	(void) close(fd);
	return whole ? 0 : -1;
}

static int teardown(void **state)
{
	struct library *l = *state;
	sw_context_destroy(l->ctx);
	free(l->image);
	return 0;
}

/* The first bytes of the library as a module of its own. */
static struct sw_module *module_of(struct library *l, size_t size)
{
	struct sw_module *module;
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, l->image, size);
	assert_int_equal(sw_context_module_memory(l->ctx, SW_MODULE_ELF, "/lib/x.so", false, copy,
						  size, NULL, &module),
			 0);
	return module;
}

static void test_found(void **state)
{
	struct library *l = *state;
	struct sw_module *module = module_of(l, l->size);
	static const char *const names[] = {"json_object_new_object", "json_tokener_parse_ex",
					    "json_object_put", "json_c_version"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t svma = 0, bytes = 0;
		void *address = dlsym(RTLD_DEFAULT, names[i]);
		assert_non_null(address);
		assert_true(sw_elf_export_find(module, names[i], &svma, &bytes));
		assert_int_equal(svma + l->base, (uintptr_t) address);
		assert_int_not_equal(bytes, 0);
	}
}

static void test_not_found(void **state)
{
	struct library *l = *state;
	struct sw_module *module = module_of(l, l->size);
	uint64_t svma = 77, bytes = 78;
	assert_false(sw_elf_export_find(module, "json_object_new_objec", &svma, &bytes));
	assert_false(sw_elf_export_find(module, "", &svma, &bytes));
	assert_false(sw_elf_export_find(module, "malloc", &svma, &bytes)); /* it imports that */
	assert_int_equal(svma, 77);
	assert_int_equal(bytes, 78);
}

/* Cut anywhere, and with any one part of its tables overwritten: an answer, and no crash. */
static void test_damaged(void **state)
{
	struct library *l = *state;
	uint64_t svma, bytes;
	for (size_t size = 0; size < l->size; size += l->size / 64 + 1)
		(void) sw_elf_export_find(module_of(l, size), "json_object_put", &svma, &bytes);
	static const uint8_t values[] = {0x00, 0x7f, 0x80, 0xff};
	for (size_t at = 0; at < 8192 && at + 8 < l->size; at += 8) {
		uint8_t saved[8];
		memcpy(saved, l->image + at, sizeof(saved));
		memset(l->image + at, values[at / 8 % 4], sizeof(saved));
		(void) sw_elf_export_find(module_of(l, 16384 < l->size ? 16384 : l->size),
					  "json_object_put", &svma, &bytes);
		memcpy(l->image + at, saved, sizeof(saved));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
