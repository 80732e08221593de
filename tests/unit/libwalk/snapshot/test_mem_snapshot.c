/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "snapshot/live.h"
#include "copies/record.h"
#include "snapshot/read.h"
#include "test.h"

#include <sys/mman.h>
#include <elf.h>

enum { CODE = 0x400000, CODE_END = 0x402000, RELRO_END = 0x403000, DATA_END = 0x404000 };

static const uint64_t stack_1[] = {1, 2, 3, 4};
static const uint64_t stack_2[] = {5, 6};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_snapshot_memory memory;
};

static struct fixture fixture_create(void)
{
	struct fixture f = {.snap = fake_snapshot_create()};
	(void) fake_snapshot_thread(f.snap, 7, CODE, 0x10000, stack_1, 4);
	(void) fake_snapshot_thread(f.snap, 8, CODE, 0x20000, stack_2, 2);
	return f;
}

static void fixture_finish(struct fixture *f)
{
	fake_snapshot_finish(f->snap);
	f->memory = (struct sw_snapshot_memory){.snap = f->snap,
						.thread = sw_snapshot_thread(f->snap, 7)};
}

static bool word(struct fixture *f, uint64_t avma, uint64_t *ret)
{
	return sw_memory_u64(sw_snapshot_memory(&f->memory), avma, ret);
}

TEST(stacks_and_ranges)
{
	static const uint64_t range[] = {0xaa, 0xbb};
	uint64_t value = 0;
	struct fixture f = fixture_create();
	fake_snapshot_range(f.snap, 0x30000, range, sizeof(range));
	fixture_finish(&f);
	assert_true(word(&f, 0x10000, &value));
	assert_int_equal(value, 1);
	assert_true(word(&f, 0x10018, &value));
	assert_int_equal(value, 4);
	assert_true(word(&f, 0x20008, &value)); /* another thread's */
	assert_int_equal(value, 6);
	assert_true(word(&f, 0x30008, &value));
	assert_int_equal(value, 0xbb);
	assert_true(word(&f, 0x10001, &value)); /* not aligned */
	assert_true(value == UINT64_C(0x0200000000000000));
	assert_false(word(&f, 0x10019, &value)); /* a byte too far */
	assert_false(word(&f, 0xffff, &value));
	assert_false(word(&f, 0x20010, &value));
	assert_false(word(&f, 0, &value));
	assert_false(word(&f, UINT64_MAX - 3, &value)); /* wraps around */
	assert_int_equal(f.memory.live_reads, 0);
	fake_snapshot_destroy(f.snap);
}

/* The end of one copy and the begin of the next, in one read. */
TEST(across_copies)
{
	static const uint64_t before[] = {0x11, 0x22}, after[] = {0x33};
	uint64_t words[6] = {0};
	struct fixture f = fixture_create();
	fake_snapshot_range(f.snap, 0xfff0, before, sizeof(before));
	fake_snapshot_range(f.snap, 0x10020, after, sizeof(after));
	fixture_finish(&f);
	struct sw_memory memory = sw_snapshot_memory(&f.memory);
	assert_true(sw_memory_read(memory, 0xfff8, words, sizeof(words)));
	static const uint64_t wanted[] = {0x22, 1, 2, 3, 4, 0x33};
	assert_memory_equal(words, wanted, sizeof(wanted));
	assert_false(sw_memory_read(memory, 0xffe8, words, sizeof(words)));
	fake_snapshot_destroy(f.snap);
}

/* Threads of a program with coroutines may have overlapping copies, one inside another. */
TEST(overlapping)
{
	static const uint64_t inner[] = {2, 3}, longer[] = {4, 44, 444};
	uint64_t words[6];
	struct fixture f = fixture_create();
	fake_snapshot_range(f.snap, 0x10008, inner, sizeof(inner));
	fake_snapshot_range(f.snap, 0x10018, longer, sizeof(longer));
	fixture_finish(&f);
	f.memory.thread = NULL;
	assert_true(sw_memory_read(sw_snapshot_memory(&f.memory), 0x10000, words, sizeof(words)));
	static const uint64_t wanted[] = {1, 2, 3, 4, 44, 444};
	assert_memory_equal(words, wanted, sizeof(wanted));
	fake_snapshot_destroy(f.snap);
}

/* An ELF image with a text segment and one that is writable until it is relocated. */
static void image_make(uint8_t image[0x3000])
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
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = 0x2000,
		 .p_vaddr = 0x2000,
		 .p_filesz = 0x1000,
		 .p_memsz = 0x2000},
	};
	for (size_t i = 0; i < 0x3000; i++)
		image[i] = (uint8_t) (i >> 4);
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), phdr, sizeof(phdr));
}

static struct fixture fixture_with_image(void)
{
	static uint8_t image[0x3000];
	struct fixture f = fixture_create();
	image_make(image);
	(void) fake_snapshot_module(f.snap, SW_MODULE_ELF, "/bin/x", CODE, CODE, CODE_END, image,
				    sizeof(image));
	struct sw_map *relro = fake_snapshot_map(f.snap, CODE_END, RELRO_END, "r--p", "/bin/x");
	relro->place = 0;
	relro->file_off = 0x2000;
	struct sw_map *data = fake_snapshot_map(f.snap, RELRO_END, DATA_END, "rw-p", "/bin/x");
	data->place = 0;
	data->file_off = 0x2000;
	return f;
}

/* Memory that was never writable is as in the file; memory that was relocated is not, although it
 * looks so. */
TEST(images)
{
	uint64_t value;
	struct fixture f = fixture_with_image();
	fixture_finish(&f);
	assert_true(word(&f, CODE + 0x1230, &value));
	assert_true(value == UINT64_C(0x2323232323232323));
	assert_true(word(&f, CODE_END - 8, &value));
	assert_false(word(&f, CODE_END - 4, &value)); /* runs into the relocated part */
	assert_false(word(&f, CODE_END, &value));
	assert_false(word(&f, RELRO_END, &value));
	assert_int_equal(f.memory.live_reads, 0);
	fake_snapshot_destroy(f.snap);
}

TEST(live)
{
	uint64_t value, words[5];
	struct fixture f = fixture_create();
	fixture_finish(&f);
	/* A file stands in for /proc/PID/mem: offsets are addresses. */
	int fd = memfd_create("memory", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0x12000), 0);
	assert_int_equal(pwrite(fd, &(uint64_t){0x99}, 8, 0x10020), 8);
	f.snap->priv->mem_fd = fd;
	f.snap->live = true;

	assert_true(word(&f, 0x10020, &value));
	assert_int_equal(value, 0x99);
	assert_int_equal(f.memory.live_reads, 1);
	assert_true(sw_memory_read(sw_snapshot_memory(&f.memory), 0x10000, words, sizeof(words)));
	static const uint64_t wanted[] = {1, 2, 3, 4, 0x99};
	assert_memory_equal(words, wanted, sizeof(wanted));
	assert_int_equal(f.memory.live_reads, 2);

	f.memory.no_live = true;
	assert_false(word(&f, 0x10020, &value));
	f.memory.no_live = false;
	assert_false(f.snap->priv->live_dead);
	assert_false(word(&f, 0x90000, &value)); /* behind the end: 0 bytes, as of a dead process */
	assert_true(f.snap->priv->live_dead);
	assert_true(word(&f, 0x10020, &value));  /* read before, and kept */
	assert_false(word(&f, 0x11000, &value)); /* not asked any more */
	assert_int_equal(f.memory.live_reads, 3);
	fake_snapshot_destroy(f.snap);
}

enum { MADE = 0x40000, MADE_END = MADE + 0x1000 };

/* Code that no file has is read from the running process, where that is wanted; what lies behind it is not. */
TEST(live_code)
{
	uint64_t value;
	struct fixture f = fixture_create();
	(void) fake_snapshot_map(f.snap, MADE, MADE_END, "r-xp", "");
	(void) fake_snapshot_map(f.snap, MADE_END, MADE_END + 0x1000, "rw-p", "");
	fixture_finish(&f);
	int fd = memfd_create("memory", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, MADE_END + 0x1000), 0);
	assert_int_equal(pwrite(fd, &(uint64_t){0x99}, 8, MADE + 8), 8);
	f.snap->priv->mem_fd = fd;
	f.snap->live = true;
	f.memory.no_live = true;
	assert_false(word(&f, MADE + 8, &value));
	f.memory.live_code = true;
	assert_true(word(&f, MADE + 8, &value));
	assert_int_equal(value, 0x99);
	assert_int_equal(f.memory.live_reads, 1);
	assert_true(word(&f, MADE_END - 8, &value));
	assert_false(word(&f, MADE_END - 4, &value));
	assert_false(word(&f, MADE_END, &value));
	assert_false(word(&f, 0x10020, &value));
	fake_snapshot_destroy(f.snap);
}

enum { PE = 0x10000, PE_TEXT = PE + 0x1000, PE_ANON = PE + 0x2000, PE_RDATA = PE + 0x3000 };

/* A PE file of the pages "1", "2", "3": header, text, read-only data; anonymous code in between. */
static struct fixture fixture_with_pe(void)
{
	static uint8_t image[0x3000];
	struct fixture f = {.snap = fake_snapshot_create()};
	for (size_t i = 0; i < sizeof(image); i++)
		image[i] = (uint8_t) (i / 0x1000 + 1);
	(void) fake_snapshot_module(f.snap, SW_MODULE_PE, "/w/x.dll", PE, PE, PE_TEXT, image,
				    sizeof(image));
	f.snap->maps[0].prot = SW_MAP_READ;
	static const struct {
		uint64_t start_avma, off;
		const char *prot, *path;
	} maps[] = {{PE_TEXT, 0x1000, "r-xp", "/w/x.dll"},
		    {PE_ANON, 0, "r-xp", ""},
		    {PE_RDATA, 0x2000, "r--p", "/w/x.dll (deleted)"},
		    {PE_RDATA + 0x1000, 0x1000, "r-xs", "/w/x.dll2"},
		    {PE_RDATA + 0x2000, 0x1000, "rwxp", "/w/x.dll"}};
	for (size_t i = 0; i < 5; i++) {
		struct sw_map *map =
			fake_snapshot_map(f.snap, maps[i].start_avma, maps[i].start_avma + 0x1000,
					  maps[i].prot, maps[i].path);
		map->file_off = maps[i].off;
		map->place = 0;
	}
	fake_snapshot_finish(f.snap);
	f.memory = (struct sw_snapshot_memory){.snap = f.snap};
	return f;
}

/* First byte of the page at avma; 0 when it cannot be read. */
static uint8_t page_is(struct fixture *f, uint64_t avma)
{
	uint8_t value;
	return sw_memory_read(sw_snapshot_memory(&f->memory), avma + 8, &value, 1) ? value : 0;
}

/* A core file or fixture without those pages: what was mapped from the file and never written to is
 * as in the file. Offsets of anonymous memory and of other files mean nothing. */
TEST(pe_images)
{
	struct fixture f = fixture_with_pe();
	assert_int_equal(page_is(&f, PE), 1);
	assert_int_equal(page_is(&f, PE_TEXT), 2);
	assert_int_equal(page_is(&f, PE_ANON), 0);
	assert_int_equal(page_is(&f, PE_RDATA), 3);
	assert_int_equal(page_is(&f, PE_RDATA + 0x1000), 0);
	assert_int_equal(page_is(&f, PE_RDATA + 0x2000), 0);
	fake_snapshot_destroy(f.snap);
}

/* A process that is there: its memory first, as the loader may have written to each page. When it
 * is gone, code is as in the file, and data may be relocated. */
TEST(pe_images_live)
{
	struct fixture f = fixture_with_pe();
	int fd = memfd_create("memory", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PE_RDATA + 0x3000), 0);
	for (uint64_t at = PE; at < PE_RDATA + 0x3000; at += 0x1000)
		assert_int_equal(pwrite(fd, "\x55", 1, (off_t) at + 8), 1);
	f.snap->priv->mem_fd = fd;
	f.snap->live = true;
	for (uint64_t at = PE; at < PE_RDATA + 0x3000; at += 0x1000)
		assert_int_equal(page_is(&f, at), 0x55);
	/* Only what may change since the stop is a mark on frames. */
	f.memory.live_reads = 0;
	for (uint64_t at = PE; at < PE_RDATA + 0x3000; at += 0x1000) {
		size_t before = f.memory.live_reads;
		const struct sw_map *map = sw_snapshot_map(f.snap, at);
		(void) page_is(&f, at);
		assert_int_equal(f.memory.live_reads - before,
				 map == NULL || map->place < 0 || (map->prot & SW_MAP_WRITE));
	}
	uint8_t bytes[16];
	f.memory.live_reads = 0;
	assert_true(sw_memory_read(sw_snapshot_memory(&f.memory), PE_RDATA - 8, bytes, 16));
	assert_int_equal(f.memory.live_reads, 1); /* out of a mapping: anything's */
	fake_snapshot_destroy(f.snap);

	f = fixture_with_pe();
	f.snap->live = true;
	f.snap->priv->live_dead = true;
	assert_int_equal(page_is(&f, PE_TEXT), 2);
	assert_int_equal(page_is(&f, PE_RDATA), 0);
	assert_int_equal(page_is(&f, PE_ANON), 0);
	fake_snapshot_destroy(f.snap);
}

struct seen {
	size_t n;
	struct sw_range ranges[8];
};

static bool see(void *arg, const struct sw_range *range)
{
	struct seen *seen = arg;
	assert_true(seen->n < 8);
	seen->ranges[seen->n++] = *range;
	return true;
}

/* Pages that were read live are told one by one, without what was copied in the stop. */
TEST(live_pages)
{
	uint64_t value;
	struct fixture f = fixture_create(); /* copies at [0x10000, +32) and [0x20000, +16) */
	fake_snapshot_range(f.snap, 0x10800, stack_2, sizeof(stack_2));
	fixture_finish(&f);
	int fd = memfd_create("memory", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0x30000), 0);
	assert_int_equal(pwrite(fd, &(uint64_t){0x77}, 8, 0x11ffc), 8);
	f.snap->priv->mem_fd = fd;
	f.snap->live = true;
	assert_true(word(&f, 0x10100, &value));
	assert_true(word(&f, 0x11ffc, &value)); /* across two pages */
	assert_int_equal(value, 0x77);
	struct seen seen = {0};
	assert_true(sw_live_each(f.snap, see, &seen));
	static const struct sw_range wanted[] = {{0x10020, 0x7e0, NULL},
						 {0x10810, 0x7f0, NULL},
						 {0x11000, 0x1000, NULL},
						 {0x12000, 0x1000, NULL}};
	assert_int_equal(seen.n, 4);
	for (size_t i = 0; i < seen.n; i++) {
		assert_int_equal(seen.ranges[i].start_avma, wanted[i].start_avma);
		assert_int_equal(seen.ranges[i].bytes, wanted[i].bytes);
	}
	assert_int_equal(seen.ranges[2].data[0xffc], 0x77);
	fake_snapshot_destroy(f.snap);
}

static uint8_t byte_at(const struct sw_snapshot *snap, uint64_t avma)
{
	struct sw_snapshot_memory m = {.snap = snap, .no_live = true};
	uint8_t byte = 0xff;
	(void) sw_memory_read(sw_snapshot_memory(&m), avma, &byte, 1); /* then it stays as it is */
	return byte;
}

/* Memory that was copied for one thread is not read for another one, of whose instant it is not. */
TEST(test_copies_of_threads)
{
	enum { PLACE = 0x9000, SHARED = 0xa000 };
	static const uint64_t words[2] = {0};
	static const uint8_t values[2] = {1, 2};
	static uint8_t shared_value = 3;
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_range shared = {SHARED, 1, &shared_value};
	struct sw_copy_part parts[2];
	struct sw_copy copies[2];
	for (size_t i = 0; i < 2; i++) {
		parts[i] = (struct sw_copy_part){PLACE + i, &values[i], 1, 1};
		copies[i] = (struct sw_copy){.parts = &parts[i], .n_parts = 1};
		(void) fake_snapshot_stack(snap, (pid_t) (1 + i), 0, words, 2);
		fake_snapshot_range(snap, PLACE + i, &values[i], 1);
	}
	fake_snapshot_range(snap, SHARED, &shared_value, 1);
	fake_snapshot_finish(snap);
	snap->priv->shared = &shared;
	snap->priv->n_shared = 1;
	for (size_t i = 0; i < 2; i++) {
		snap->threads[i].copy = &copies[i];
		sw_snapshot_index_copy(snap, &snap->threads[i]);
		assert_int_equal(byte_at(snap, PLACE), i == 0 ? 1 : 0xff);
		assert_int_equal(byte_at(snap, PLACE + 1), i == 1 ? 2 : 0xff);
		assert_int_equal(byte_at(snap, SHARED), 3);
		assert_int_equal(byte_at(snap, snap->threads[i].stack_avma), 0);
		assert_int_equal(byte_at(snap, snap->threads[1 - i].stack_avma), 0xff);
	}
	sw_snapshot_index_copy(snap, NULL);
	assert_int_equal(byte_at(snap, PLACE), 1);
	assert_int_equal(byte_at(snap, PLACE + 1), 2);
	fake_snapshot_destroy(snap);
}
