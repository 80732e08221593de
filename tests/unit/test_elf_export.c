/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_export.h"
#include "fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

/*
 * Everything is in one bucket, and a name without end is behind each symbol: to measure it for each of
 * them would take a minute and more.
 */
static void test_endless_names(void **state)
{
	enum {
		DYNAMIC = 0x100,
		HASH = 0x200,
		SYMBOLS = 0x8000,
		STRINGS = SYMBOLS + SW_ELF_EXPORT_CHAIN_MAX * sizeof(Elf64_Sym),
		STRING_BYTES = 256 << 20,
	};
	struct library *l = *state;
	const char *name = "AAAA";
	const uint32_t hash = 5381U * 33 * 33 * 33 * 33 + 'A' * (33U * 33 * 33 + 33 * 33 + 33 + 1);
	uint8_t *image = calloc(1, STRINGS + STRING_BYTES);
	assert_non_null(image);
	const Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = 1,
				 .e_phoff = sizeof(ehdr),
				 .e_ehsize = sizeof(ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2};
	const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD, .p_filesz = STRINGS + STRING_BYTES, .p_flags = PF_R},
		{.p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_filesz = 4 * sizeof(Elf64_Dyn)}};
	const Elf64_Dyn dynamic[] = {{DT_GNU_HASH, {HASH}},
				     {DT_SYMTAB, {SYMBOLS}},
				     {DT_STRTAB, {STRINGS}}};
	const uint32_t head[] = {1, 0, 1, 0, UINT32_MAX, UINT32_MAX, 0};
	const uint32_t chain = hash & ~1U;
	const Elf64_Sym symbol = {.st_shndx = 1, .st_value = 1};
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), phdrs, sizeof(phdrs));
	memcpy(image + DYNAMIC, dynamic, sizeof(dynamic));
	memcpy(image + HASH, head, sizeof(head));
	for (size_t i = 0; i < SW_ELF_EXPORT_CHAIN_MAX; i++) {
		memcpy(image + HASH + sizeof(head) + 4 * i, &chain, sizeof(chain));
		memcpy(image + SYMBOLS + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
	memset(image + STRINGS, 'A', STRING_BYTES - 1);

	struct sw_module *module;
	assert_int_equal(sw_context_module_memory(l->ctx, SW_MODULE_ELF, "/lib/x.so", false, image,
						  STRINGS + STRING_BYTES, NULL, &module),
			 0);
	uint64_t svma, bytes;
	clock_t begin = clock();
	assert_false(sw_elf_export_find(module, name, &svma, &bytes));
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	/* It was asked for each of them: the last one is it. */
	Elf64_Sym last = symbol;
	last.st_name = STRING_BYTES - 5;
	memcpy(image + SYMBOLS + (SW_ELF_EXPORT_CHAIN_MAX - 1) * sizeof(last), &last, sizeof(last));
	assert_true(sw_elf_export_find(module, name, &svma, &bytes));
	assert_int_equal(svma, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endless_names, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
