/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PE images among maps: pe_places.c and what places.c and places_loaded.c make of it. */
#include "fake.h"
#include "pe_load.h"
#include "snapshot/bias.h"
#include "snapshot/pe_places.h"
#include "snapshot/places.h"
#include "test.h"

#include <sys/mman.h>

enum { BASE = 0x40000000, END = BASE + PE_LOAD_BYTES, TEB = 0x7ffd0000, OTHER = 0x7f0000000000 };

/* An image in memory, its file, and the loader's list of one module. */
struct world {
	struct pe_make pe;
	uint8_t *loaded;
	uint64_t teb[16], peb[4], ldr[4], entry[12];
	uint16_t name[8];
	struct fake_region regions[6];
	struct fake_memory memory;
	int fd; /* of the file, duplicated for each opening; -1: there is none */
	size_t opened;
	struct sw_snapshot *snap;
};

static void world_make(struct world *w, uint64_t base)
{
	memset(w, 0, sizeof(*w));
	pe_make_init(&w->pe);
	pe_make_section(&w->pe, ".text", 0x1000, PE_MAKE_CODE, "code", 4);
	pe_make_section(&w->pe, ".data", 0x2000, PE_MAKE_DATA, "data", 4);
	pe_make_function(&w->pe, 0x1000, 0x1010, 0x2000);
	pe_make_finish(&w->pe);
	w->loaded = pe_load(&w->pe);
	w->teb[0x30 / 8] = TEB;
	w->teb[0x60 / 8] = 0x10000;
	w->peb[0x18 / 8] = 0x11000;
	w->ldr[2] = 0x12000;
	w->entry[0] = 0x11010;
	w->entry[6] = base;
	memcpy(w->name, (const uint16_t[]){'Z', ':', '\\', 'x'}, 8);
	w->entry[9] = 8;
	w->entry[10] = 0x13000;
	const struct fake_region regions[] = {{base, w->loaded, PE_LOAD_BYTES},
					      {TEB, w->teb, sizeof(w->teb)},
					      {0x10000, w->peb, sizeof(w->peb)},
					      {0x11000, w->ldr, sizeof(w->ldr)},
					      {0x12000, w->entry, sizeof(w->entry)},
					      {0x13000, w->name, sizeof(w->name)}};
	memcpy(w->regions, regions, sizeof(regions));
	w->memory = (struct fake_memory){w->regions, 6, 0};
	w->fd = -1;
	w->snap = fake_snapshot_create();
}

static void world_end(struct world *w)
{
	if (w->fd >= 0)
		(void) close(w->fd);
	free(w->loaded);
	fake_snapshot_destroy(w->snap);
}

static void file_make(struct world *w)
{
	w->fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(w->fd >= 0);
	assert_int_equal(write(w->fd, w->pe.bytes, w->pe.size), w->pe.size);
}

static int opener_open(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	struct world *w = arg;
	*ret_deleted = false;
	w->opened++;
	return w->fd >= 0 ? dup(w->fd) : -1;
}

static bool opener_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct world *w = arg;
	return sw_memory_read(fake_memory(&w->memory), avma, buffer, length);
}

static void map_add(struct world *w, uint64_t start, uint64_t end, const char *prot, uint64_t off,
		    const char *path)
{
	struct sw_map *map = fake_snapshot_map(w->snap, start, end, prot, path);
	map->file_off = off;
	map->inode = path[0] != '\0' ? 7 : 0;
}

static void find(struct world *w)
{
	const struct sw_opener opener = {.open = opener_open, .read = opener_read, .arg = w};
	fake_snapshot_finish(w->snap);
	assert_int_equal(sw_snapshot_find_places(w->snap, &opener, NULL), 0);
	assert_int_equal(sw_snapshot_add_loaded(w->snap, &opener, NULL), 0);
}

/* As an ordinary program lies under Wine: only its header is the file's. */
static void program_add(struct world *w)
{
	map_add(w, BASE, BASE + 0x1000, "r--p", 0, "/w/x.exe");
	map_add(w, BASE + 0x1000, BASE + 0x2000, "r-xp", 0, "");
	map_add(w, BASE + 0x2000, BASE + 0x5000, "rw-p", 0, "");
	map_add(w, BASE + 0x5000, BASE + 0x6000, "rw-p", 0xb000, "/w/x.exe");
	map_add(w, BASE + 0x6000, END, "r--p", 0, "");
}

TEST(test_program)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	file_make(&w);
	map_add(&w, 0x1000, 0x2000, "r-xp", 0, "/bin/first");
	program_add(&w);
	map_add(&w, OTHER, OTHER + 0x1000, "r-xp", 0, "/lib/other.so");
	find(&w);
	assert_int_equal(w.snap->n_places, 3);
	struct sw_place *place = &w.snap->places[1];
	assert_int_equal(place->start_avma, BASE);
	assert_int_equal(place->end_avma, END);
	assert_int_equal(sw_module_kind(place->module), SW_MODULE_PE);
	assert_string_equal(sw_module_path(place->module), "/w/x.exe");
	assert_int_equal(w.snap->maps[0].place, 0);
	for (size_t i = 1; i < 6; i++)
		assert_int_equal(w.snap->maps[i].place, 1);
	assert_int_equal(w.snap->maps[6].place, 2);
	assert_ptr_equal(sw_snapshot_place(w.snap, BASE + 0x1234), place);
	assert_true(sw_place_resolve(place, w.snap));
	assert_int_equal(place->bias, BASE);
	assert_memory_equal(sw_module_image(place->module, &size), w.pe.bytes, w.pe.size);
	assert_int_equal(size, w.pe.size);
	assert_int_equal(w.snap->n_warnings, 0);
	world_end(&w);
}

/* A PE module is not at fault for being no ELF file. */
TEST(test_module)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	pe_make_patch(&w.pe, 8, 0x63f14e2b, 4);
	file_make(&w);
	program_add(&w);
	find(&w);
	struct sw_module *module = w.snap->places[0].module;
	assert_null(sw_module_elf(module));
	const uint8_t *id = sw_module_build_id(module, &size);
	assert_int_equal(size, 12);
	assert_memory_equal(id, "\x63\xf1\x4e\x2b\x00\x30\x00\x00\x00\x00\x00\x00", 12);
	assert_null(sw_module_problem(module));
	world_end(&w);
}

/* The neighbours' anonymous memory is one mapping with the image's; it is cut where the image ends. */
TEST(test_merged_maps)
{
	struct world w;
	world_make(&w, BASE);
	file_make(&w);
	map_add(&w, BASE, BASE + 0x1000, "r--p", 0, "/w/x.exe");
	map_add(&w, BASE + 0x1000, END + 0x5000, "r-xp", 0, "");
	find(&w);
	assert_int_equal(w.snap->n_places, 1);
	assert_int_equal(w.snap->n_maps, 3);
	assert_int_equal(w.snap->maps[1].end_avma, END);
	assert_int_equal(w.snap->maps[1].place, 0);
	assert_int_equal(w.snap->maps[2].start_avma, END);
	assert_int_equal(w.snap->maps[2].end_avma, END + 0x5000);
	assert_int_equal(w.snap->maps[2].place, -1);
	assert_null(sw_snapshot_place(w.snap, END));
	world_end(&w);
}

/* Files that are read as data, and images without code. */
TEST(test_no_modules)
{
	struct world w;
	world_make(&w, BASE);
	w.entry[0] = 0x11010;
	w.entry[6] = 0; /* the list knows nothing of it */
	map_add(&w, BASE, BASE + 0x1000, "r--p", 0, "/w/data.dll");
	map_add(&w, BASE + 0x1000, END, "rw-p", 0, "");
	find(&w);
	assert_int_equal(w.snap->n_places, 0);
	assert_int_equal(w.opened, 0);
	world_end(&w);
	world_make(&w, BASE);
	map_add(&w, BASE, BASE + 0x1000, "r--s", 0, "/w/apisetschema.dll");
	map_add(&w, BASE + 0x1000, END, "r-xp", 0, "");
	find(&w);
	assert_int_equal(w.snap->n_places, 0);
	world_end(&w);
	/* Executable memory is there, but not where the header has code. */
	world_make(&w, BASE);
	map_add(&w, BASE, BASE + 0x2000, "r--p", 0, "/w/data.dll");
	map_add(&w, BASE + 0x2000, END, "r-xp", 0, "");
	find(&w);
	assert_int_equal(w.snap->n_places, 0);
	world_end(&w);
}

/* A header that claims the memory behind it, too, where other modules are. */
TEST(test_ends_at_others)
{
	struct world w;
	world_make(&w, BASE);
	file_make(&w);
	map_add(&w, BASE, BASE + 0x1000, "r--p", 0, "/w/x.exe");
	map_add(&w, BASE + 0x1000, BASE + 0x2000, "r-xp", 0, "");
	map_add(&w, BASE + 0x3000, BASE + 0x4000, "rw-s", 0x1000, "/tmp/server-1/tmpmap (deleted)");
	map_add(&w, BASE + 0x8000, BASE + 0x9000, "r-xp", 0x1000, "/lib/other.so");
	map_add(&w, BASE + 0x9000, BASE + 0xa000, "r-xp", 0, "");
	find(&w);
	assert_int_equal(w.snap->n_places, 2);
	assert_int_equal(w.snap->places[0].end_avma, BASE + 0x8000);
	assert_int_equal(w.snap->maps[2].place, 0); /* sections that processes share */
	assert_int_equal(w.snap->maps[3].place, 1);
	assert_int_equal(w.snap->maps[4].place, -1);
	world_end(&w);
	/* The same program twice, the second right behind the first's half. */
	world_make(&w, BASE);
	file_make(&w);
	map_add(&w, BASE, BASE + 0x1000, "r--p", 0, "/w/x.exe");
	map_add(&w, BASE + 0x1000, BASE + 0x2000, "r-xp", 0, "");
	map_add(&w, BASE + 0x2000, BASE + 0x3000, "r--p", 0, "/w/x.exe");
	find(&w);
	assert_int_equal(w.snap->n_places, 1);
	assert_int_equal(w.snap->places[0].end_avma, BASE + 0x2000);
	world_end(&w);
}

/* The file is gone: its image comes from memory, in the layout of the file. */
TEST(test_image_from_memory)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	program_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 1);
	const uint8_t *image = sw_module_image(w.snap->places[0].module, &size);
	assert_non_null(image);
	assert_memory_equal(image, w.pe.bytes, PE_MAKE_HEADERS);
	assert_memory_equal(image + PE_MAKE_HEADERS, "code", 5);
	assert_memory_equal(image + PE_MAKE_HEADERS + 0x200, "data", 5);
	assert_int_equal(size, PE_MAKE_HEADERS + 0x400 + 12); /* .pdata is last */
	assert_memory_equal(image + PE_MAKE_HEADERS + 0x400, w.pe.functions, 12);
	world_end(&w);
}

/* Pages that cannot be read stay zero; an image that is too large is not copied at all. */
TEST(test_image_limits)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	w.regions[0].size = 0x2000;
	uint8_t *image =
		sw_pe_image_from_memory(fake_memory(&w.memory), BASE, SW_IMAGE_COPY_MAX, &size);
	assert_non_null(image);
	assert_memory_equal(image + PE_MAKE_HEADERS, "code", 5);
	assert_memory_equal(image + PE_MAKE_HEADERS + 0x200, "\0\0\0", 4);
	free(image);
	assert_null(sw_pe_image_from_memory(fake_memory(&w.memory), BASE, size - 1, &size));
	assert_null(sw_pe_image_from_memory(fake_memory(&w.memory), BASE + 0x1000, size, &size));
	/* Sections that lie on one another: little file, much to copy. */
	for (size_t i = 0; i < 3; i++) {
		uint8_t *section = w.loaded + PE_MAKE_HEADER + 24 + 240 + i * 40;
		static const uint32_t much = 30 << 20;
		memcpy(section + 8, &much, 4);
		memcpy(section + 16, &much, 4);
	}
	assert_null(
		sw_pe_image_from_memory(fake_memory(&w.memory), BASE, SW_IMAGE_COPY_MAX, &size));
	world_end(&w);
}

static void thread_add(struct world *w)
{
	static const uint64_t words[] = {0};
	fake_snapshot_stack(w->snap, 1, BASE + 0x1000, words, 1)->gs_base = TEB;
}

/* Where files cannot be mapped executable nothing in maps tells of the image, and its first page may
 * be one mapping with what lies before it. */
TEST(test_loaded)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	w.fd = -1;
	map_add(&w, 0x1000, 0x2000, "r-xp", 0, "/bin/first");
	map_add(&w, BASE - 0x3000, BASE + 0x1000, "r--p", 0, "");
	map_add(&w, BASE + 0x1000, END, "r-xp", 0, "");
	map_add(&w, OTHER, OTHER + 0x1000, "r-xp", 0, "/bin/last");
	thread_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 3);
	assert_string_equal(sw_module_path(w.snap->places[0].module), "/bin/first");
	assert_string_equal(sw_module_path(w.snap->places[1].module), "Z:\\x");
	assert_string_equal(sw_module_path(w.snap->places[2].module), "/bin/last");
	assert_int_equal(w.snap->places[1].start_avma, BASE);
	assert_int_equal(w.snap->places[1].end_avma, END);
	assert_null(sw_snapshot_place(w.snap, BASE - 1));
	assert_ptr_equal(sw_snapshot_place(w.snap, BASE), &w.snap->places[1]);
	assert_ptr_equal(sw_snapshot_place(w.snap, BASE + 0x1000), &w.snap->places[1]);
	assert_ptr_equal(sw_snapshot_place(w.snap, OTHER), &w.snap->places[2]);
	assert_ptr_equal(sw_snapshot_place(w.snap, 0x1000), &w.snap->places[0]);
	const uint8_t *image = sw_module_image(w.snap->places[1].module, &size);
	assert_memory_equal(image + PE_MAKE_HEADERS, "code", 5);
	world_end(&w);
}

/* The images of maps and of the list count together for one snapshot: too many of them, and the
 * next ones are modules without an image. */
TEST(test_limit_of_all)
{
	for (int listed = 0; listed < 2; listed++) {
		struct world w;
		size_t size;
		world_make(&w, BASE);
		map_add(&w, BASE, BASE + 0x1000, "r--p", 0, listed ? "" : "/w/gone.exe");
		map_add(&w, BASE + 0x1000, END, "r-xp", 0, "");
		thread_add(&w);
		w.snap->priv->image_bytes = SW_IMAGE_COPY_TOTAL - 0x100;
		find(&w);
		assert_int_equal(w.snap->n_places, 1);
		assert_null(sw_module_image(w.snap->places[0].module, &size));
		world_end(&w);
	}
}

/* A core file without the page of the header: it is the file's, and the rest is as in maps. */
TEST(test_loaded_header_of_file)
{
	struct world w;
	size_t size;
	world_make(&w, BASE);
	file_make(&w);
	w.regions[0].start_avma += 0x1000;
	w.regions[0].bytes = w.loaded + 0x1000;
	w.regions[0].size -= 0x1000;
	program_add(&w);
	thread_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 1);
	assert_int_equal(w.snap->places[0].end_avma, END);
	assert_string_equal(sw_module_path(w.snap->places[0].module), "/w/x.exe");
	assert_int_equal(sw_module_image(w.snap->places[0].module, &size) != NULL, true);
	assert_int_equal(size, w.pe.size);
	world_end(&w);
}

/* The loader's list may be wrong: modules that maps show already, no image, a list without an
 * end. */
TEST(test_loaded_wrong)
{
	struct world w;
	world_make(&w, BASE);
	file_make(&w);
	program_add(&w);
	thread_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 1);
	assert_int_equal(w.snap->n_warnings, 0);
	world_end(&w);
	world_make(&w, BASE);
	w.loaded[0] = 'X';
	map_add(&w, BASE, END, "r-xp", 0, "");
	thread_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 0);
	assert_int_equal(w.snap->n_warnings, 0);
	world_end(&w);
	world_make(&w, BASE);
	w.entry[0] = 0x12000; /* its own next */
	map_add(&w, BASE, BASE + 0x1000, "r--p", 0, "");
	map_add(&w, BASE + 0x1000, END, "r-xp", 0, "");
	thread_add(&w);
	find(&w);
	assert_int_equal(w.snap->n_places, 1); /* once */
	assert_int_equal(w.snap->n_warnings, 1);
	assert_int_equal(w.snap->warnings[0].code, SW_WARN_MODULE);
	assert_string_equal(w.snap->warnings[0].message,
			    "the process's list of its Windows modules "
			    "is damaged: some may be missing");
	world_end(&w);
}
