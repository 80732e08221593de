/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "snapshot/bias.h"
#include "snapshot/places.h"
#include "test.h"

#include <elf.h>
#include <sys/mman.h>

enum { IMAGE_BYTES = 0x3000, BASE = 0x7f0000000000 };

/* A library: headers at 0, text at file offset 0x1000 and address 0x2000, data at 0x2000. */
static void image_make(uint8_t image[IMAGE_BYTES])
{
	Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(ehdr),
			   .e_ehsize = sizeof(ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2};
	const Elf64_Phdr phdr[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x800, .p_memsz = 0x800},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = 0x1010,
		 .p_vaddr = 0x2010,
		 .p_filesz = 0xe00,
		 .p_memsz = 0xe00},
	};
	memset(image, 0x90, IMAGE_BYTES);
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), phdr, sizeof(phdr));
}

/* An opener over one file and one memory, that counts. */
struct openings {
	int fd; /* duplicated for each opening; -1: there is none */
	bool deleted;
	size_t opened, read_bytes;
	struct fake_memory memory;
	char path[64];
};

static int opener_open(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	struct openings *o = arg;
	assert_true((map->prot & SW_MAP_EXEC) || map->file_off == 0);
	o->opened++;
	(void) strncpy(o->path, path, sizeof(o->path) - 1); /* short names only */
	if (o->fd < 0)
		return -1;
	*ret_deleted = o->deleted;
	return dup(o->fd);
}

static bool opener_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct openings *o = arg;
	o->read_bytes += length;
	return sw_memory_read(fake_memory(&o->memory), avma, buffer, length);
}

static struct sw_map *map_add(struct sw_snapshot *snap, uint64_t start, uint64_t end,
			      const char *prot, uint64_t off, const char *path, uint64_t inode)
{
	struct sw_map *map = fake_snapshot_map(snap, start, end, prot, path);
	map->file_off = off;
	map->inode = inode;
	return map;
}

static void library_add(struct sw_snapshot *snap, uint64_t base, const char *path)
{
	(void) map_add(snap, base, base + 0x1000, "r--p", 0, path, 7);
	(void) map_add(snap, base + 0x2000, base + 0x3000, "r-xp", 0x1000, path, 7);
	(void) map_add(snap, base + 0x3000, base + 0x4000, "rw-p", 0x2000, path, 7);
	(void) map_add(snap, base + 0x4000, base + 0x5000, "rw-p", 0, "", 0);
}

static void find(struct sw_snapshot *snap, struct openings *o)
{
	const struct sw_opener opener = {.open = opener_open, .read = opener_read, .arg = o};
	fake_snapshot_finish(snap);
	assert_int_equal(sw_snapshot_find_places(snap, &opener, NULL), 0);
}

static int image_file(size_t bytes)
{
	uint8_t image[IMAGE_BYTES];
	image_make(image);
	int fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, bytes), bytes);
	return fd;
}

TEST(file_is_one_place)
{
	struct openings o = {.fd = image_file(IMAGE_BYTES)};
	struct sw_snapshot *snap = fake_snapshot_create();
	library_add(snap, BASE, "/lib/x.so");
	(void) map_add(snap, BASE + 0x100000, BASE + 0x101000, "rw-p", 0, "[stack]", 0);
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_int_equal(o.opened, 1);
	assert_string_equal(o.path, "/lib/x.so");
	struct sw_place *place = &snap->places[0];
	assert_int_equal(place->start_avma, BASE);
	assert_int_equal(place->end_avma, BASE + 0x4000);
	assert_int_equal(sw_module_kind(place->module), SW_MODULE_ELF);
	assert_string_equal(sw_module_path(place->module), "/lib/x.so");
	assert_false(sw_module_deleted(place->module));
	assert_ptr_equal(sw_snapshot_place(snap, BASE + 0x2345), place);
	assert_ptr_equal(sw_snapshot_place(snap, BASE + 0x3000), place);
	assert_null(sw_snapshot_place(snap, BASE + 0x4000)); /* anonymous: no module's */
	assert_null(sw_snapshot_place(snap, BASE + 0x100000));
	/* 0x7f0000002000 is file offset 0x1000, which is address 0x2000 */
	assert_true(sw_place_resolve(place, snap));
	assert_int_equal(place->bias, BASE);
	assert_true(sw_place_resolve(place, snap)); /* remembered */
	fake_snapshot_destroy(snap);
	(void) close(o.fd);
}

/* The same file loaded twice (dlmopen), and read as data once more. */
TEST(file_twice)
{
	struct openings o = {.fd = image_file(IMAGE_BYTES)};
	struct sw_snapshot *snap = fake_snapshot_create();
	library_add(snap, BASE, "/lib/x.so");
	library_add(snap, BASE + 0x5000, "/lib/x.so");
	(void) map_add(snap, BASE + 0x10000, BASE + 0x13000, "r--s", 0, "/lib/x.so", 7);
	find(snap, &o);
	assert_int_equal(snap->n_places, 2);
	assert_ptr_equal(snap->places[0].module, snap->places[1].module);
	assert_int_equal(snap->places[1].start_avma, BASE + 0x5000);
	assert_int_equal(snap->places[1].end_avma, BASE + 0x9000);
	assert_true(sw_place_resolve(&snap->places[1], snap));
	assert_int_equal(snap->places[1].bias, BASE + 0x5000);
	assert_null(sw_snapshot_place(snap, BASE + 0x10000));
	fake_snapshot_destroy(snap);
	(void) close(o.fd);
}

TEST(data_files_are_not_opened)
{
	struct openings o = {.fd = -1};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, 0x1000, 0x2000, "r--p", 0, "/usr/lib/locale/locale-archive", 7);
	(void) map_add(snap, 0x3000, 0x4000, "rw-s", 0, "/dev/shm/x", 8);
	(void) map_add(snap, 0x5000, 0x6000, "rwxp", 0, "", 0);
	find(snap, &o);
	assert_int_equal(snap->n_places, 0);
	assert_int_equal(o.opened, 0);
	assert_int_equal(snap->n_warnings, 0);
	fake_snapshot_destroy(snap);
}

/* The file is gone: its image comes from the mappings, each at its place in the file. */
TEST(image_from_memory)
{
	uint8_t image[IMAGE_BYTES];
	image_make(image);
	const struct fake_region regions[] = {{BASE, image, 0x1000},
					      {BASE + 0x2000, image + 0x1000, 0x2000}};
	struct openings o = {.fd = -1, .memory = {regions, 2, 0}};
	struct sw_snapshot *snap = fake_snapshot_create();
	library_add(snap, BASE, "/lib/x.so (deleted)");
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_string_equal(o.path, "/lib/x.so");
	struct sw_module *module = snap->places[0].module;
	assert_string_equal(sw_module_path(module), "/lib/x.so");
	assert_true(sw_module_deleted(module));
	assert_int_equal(sw_module_kind(module), SW_MODULE_ELF);
	size_t size;
	const void *got = sw_module_image(module, &size);
	assert_int_equal(size, IMAGE_BYTES);
	assert_memory_equal(got, image, IMAGE_BYTES);
	assert_true(sw_place_resolve(&snap->places[0], snap));
	assert_int_equal(snap->places[0].bias, BASE);
	assert_int_equal(snap->n_warnings, 0);
	fake_snapshot_destroy(snap);
}

TEST(image_not_to_be_had)
{
	struct openings o = {.fd = -1};
	struct sw_snapshot *snap = fake_snapshot_create();
	library_add(snap, BASE, "/lib/x.so");
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	size_t size;
	assert_null(sw_module_image(snap->places[0].module, &size));
	assert_non_null(sw_module_problem(snap->places[0].module));
	assert_false(sw_place_resolve(&snap->places[0], snap));
	assert_int_equal(snap->n_warnings, 1);
	assert_int_equal(snap->warnings[0].code, SW_WARN_MODULE);
	fake_snapshot_destroy(snap);
}

/* A hostile target maps more than anybody wants to copy. */
TEST(image_too_large)
{
	uint8_t image[IMAGE_BYTES];
	image_make(image);
	const struct fake_region regions[] = {{BASE, image, IMAGE_BYTES}};
	struct openings o = {.fd = -1, .memory = {regions, 1, 0}};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, BASE, BASE + 0x3000, "r-xp", 0, "/lib/x.so (deleted)", 7);
	(void) map_add(snap, BASE + 0x3000, BASE + 0x4000, "r-xp", UINT64_MAX - 0xfff,
		       "/lib/x.so (deleted)", 7);
	find(snap, &o);
	size_t size;
	assert_null(sw_module_image(snap->places[0].module, &size));
	assert_int_equal(o.read_bytes, 64 + 4); /* the first bytes, is it PE, is it ELF; no more */
	assert_int_equal(snap->n_warnings, 1);
	fake_snapshot_destroy(snap);
}

/* Code that a JIT compiler maps executable from a memory file. */
TEST(code_without_format)
{
	static const uint8_t code[16] = {0xc3};
	const struct fake_region regions[] = {{BASE, code, sizeof(code)}};
	struct openings o = {.fd = -1, .memory = {regions, 1, 0}};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, BASE, BASE + 0x1000, "r-xs", 0, "/memfd:doublemapper (deleted)", 7);
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_int_equal(sw_module_kind(snap->places[0].module), SW_MODULE_ANON);
	assert_string_equal(sw_module_path(snap->places[0].module), "/memfd:doublemapper");
	assert_false(sw_place_resolve(&snap->places[0], snap));
	assert_int_equal(snap->n_warnings, 0);
	fake_snapshot_destroy(snap);
}

/* The mapping is unmapped while we look, or is not the beginning of the file: no image that is
 * missed. */
TEST(code_without_format_gone)
{
	static const uint64_t offs[] = {0, 0x10000};
	for (size_t i = 0; i < 2; i++) {
		struct openings o = {.fd = -1, .memory = {NULL, 0, 0}};
		struct sw_snapshot *snap = fake_snapshot_create();
		(void) map_add(snap, BASE, BASE + 0x1000, "r-xs", offs[i],
			       "/memfd:doublemapper (deleted)", 7);
		find(snap, &o);
		assert_int_equal(snap->n_places, 1);
		assert_int_equal(sw_module_kind(snap->places[0].module), SW_MODULE_ANON);
		assert_int_equal(snap->n_warnings, 0);
		fake_snapshot_destroy(snap);
	}
}

TEST(vdso)
{
	uint8_t image[IMAGE_BYTES];
	image_make(image);
	const struct fake_region regions[] = {{BASE, image, IMAGE_BYTES}};
	struct openings o = {.fd = -1, .memory = {regions, 1, 0}};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, BASE, BASE + 0x3000, "r-xp", 0, "[vdso]", 0);
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_int_equal(o.opened, 0);
	assert_int_equal(sw_module_kind(snap->places[0].module), SW_MODULE_VDSO);
	assert_string_equal(sw_module_path(snap->places[0].module), "[vdso]");
	assert_false(sw_module_deleted(snap->places[0].module));
	fake_snapshot_destroy(snap);
}

/* A file that is not what is mapped: cut short, so that the text is not in it. */
TEST(bias_that_does_not_fit)
{
	struct openings o = {.fd = image_file(IMAGE_BYTES)};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, BASE, BASE + 0x1000, "r-xp", 0x9000, "/lib/x.so", 7);
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_false(sw_place_resolve(&snap->places[0], snap));
	assert_int_equal(snap->places[0].resolved, -1);
	fake_snapshot_destroy(snap);
	(void) close(o.fd);
}

/* node maps the text of its builtins a second time, here with nothing of another file between: a
 * place of its own, with a bias of its own. */
TEST(same_code_again)
{
	enum { AGAIN = BASE + 0x800000 };
	struct openings o = {.fd = image_file(IMAGE_BYTES)};
	struct sw_snapshot *snap = fake_snapshot_create();
	library_add(snap, BASE, "/lib/x.so");
	(void) map_add(snap, AGAIN, AGAIN + 0x1000, "r-xp", 0x1000, "/lib/x.so", 7);
	(void) map_add(snap, AGAIN + 0x1000, AGAIN + 0x2000, "rw-p", 0, "", 0);
	find(snap, &o);
	assert_int_equal(snap->n_places, 2);
	assert_ptr_equal(snap->places[0].module, snap->places[1].module);
	assert_int_equal(snap->places[0].end_avma, BASE + 0x4000);
	assert_int_equal(snap->places[1].start_avma, AGAIN);
	assert_true(sw_place_resolve(&snap->places[0], snap));
	assert_true(sw_place_resolve(&snap->places[1], snap));
	assert_int_equal(snap->places[0].bias, BASE);
	assert_int_equal(snap->places[1].bias, AGAIN - 0x2000);
	assert_ptr_equal(sw_snapshot_place(snap, AGAIN + 0x345), &snap->places[1]);
	fake_snapshot_destroy(snap);
	(void) close(o.fd);
}

/* Segments of code that share a page of the file, and parts of one with other protections between. */
TEST(code_in_parts)
{
	struct openings o = {.fd = image_file(IMAGE_BYTES)};
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) map_add(snap, BASE, BASE + 0x1000, "r--p", 0, "/lib/x.so", 7);
	(void) map_add(snap, BASE + 0x2000, BASE + 0x3000, "r-xp", 0x1000, "/lib/x.so", 7);
	(void) map_add(snap, BASE + 0x3000, BASE + 0x4000, "rwxp", 0x2000, "/lib/x.so", 7);
	(void) map_add(snap, BASE + 0x4000, BASE + 0x6000, "r-xp", 0x2000, "/lib/x.so", 7);
	find(snap, &o);
	assert_int_equal(snap->n_places, 1);
	assert_int_equal(snap->places[0].end_avma, BASE + 0x6000);
	fake_snapshot_destroy(snap);
	(void) close(o.fd);
}
