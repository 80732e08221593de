/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .gnu_debuglink and the file that it leads to. u8 bits (1: its checksum is set right, 2: both have a
 * build-id, 4: that of the file is another) | u8 n | n bytes of the section | bytes to lay over the
 * debug file, which lies beside the program under one name. Nothing but that file is ever found.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "debugfile.h"
#include "elf_make.h"
#include "lay_over.h"
#include "provider.h"
#include "snapshot/module.h"

#include <fcntl.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT = 0x1000, CHECKSUM = 1, BUILD_ID = 2, OTHER_ID = 4 };

static const char secret[] = "\177ELF: not to be found";
static char directory[32], program[96], debug[96], outside[64];
static struct elf_make main_file, debug_file;
static uint8_t changed[ELF_MAKE_BYTES];

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, bytes, size) == (ssize_t) size && close(fd) == 0);
}

static void remove_all(void)
{
	char path[64];
	(void) unlink(program); /* each may not have been made */
	(void) unlink(debug);
	(void) unlink(outside);
	(void) snprintf(path, sizeof(path), "%s/bin", directory); /* fits */
	(void) rmdir(path);
	(void) rmdir(directory);
}

static void directory_make(void)
{
	char path[64];
	strcpy(directory, "/tmp/snapwalk-XXXXXX");
	check(mkdtemp(directory) != NULL && atexit(remove_all) == 0);
	(void) snprintf(path, sizeof(path), "%s/bin", directory); /* these fit */
	(void) snprintf(program, sizeof(program), "%s/prog", path);
	(void) snprintf(debug, sizeof(debug), "%s/prog.debug", path);
	(void) snprintf(outside, sizeof(outside), "%s/secret", directory);
	check(mkdir(path, 0700) == 0);
	write_file(outside, secret, sizeof(secret));
}

static void debug_make(uint8_t bits)
{
	static const uint8_t id[] = {1, 2, 3, 4, 5, 6, 7, 8}, other[] = {1, 2, 3, 4, 5, 6, 7, 9};
	elf_make_init(&debug_file);
	uint32_t text = elf_make_section(&debug_file, ".text", SHT_NOBITS,
					 SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL, 0x100);
	elf_make_symbol(&debug_file, "one", STB_LOCAL, STT_FUNC, (uint16_t) text, TEXT, 0x40);
	elf_make_symtab(&debug_file, SHT_SYMTAB);
	if (bits & BUILD_ID)
		elf_make_build_id(&debug_file, bits & OTHER_ID ? other : id, sizeof(id));
	elf_make_finish(&debug_file);
	elf_make_init(&main_file);
	(void) elf_make_section(&main_file, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT,
				NULL, 0x100);
	if (bits & BUILD_ID)
		elf_make_build_id(&main_file, id, sizeof(id));
}

static void link_set(uint8_t bits, const uint8_t *bytes, size_t size)
{
	uint8_t section[UINT8_MAX + 8] = {0};
	memcpy(section, bytes, size);
	size_t name = strnlen((const char *) section, size), at = (name + 1 + 3) & ~(size_t) 3;
	uint32_t crc = lzma_crc32(changed, debug_file.size, 0);
	if (bits & CHECKSUM) {
		memcpy(section + at, &crc, sizeof(crc));
		size = at + sizeof(crc);
	}
	(void) elf_make_section(&main_file, ".gnu_debuglink", SHT_PROGBITS, 0, 0, section, size);
	elf_make_finish(&main_file);
}

static void look(void)
{
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct stat st;
	write_file(program, main_file.bytes, main_file.size);
	write_file(debug, changed, debug_file.size);
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && fstat(fd, &st) == 0 && sw_context_create(&ctx, NULL) == 0);
	check(sw_context_module_file(ctx, SW_MODULE_ELF, program, false, fd, &st, &module) == 0);
	struct sw_unit unit = {.module = module, .kind = 1 << SW_MODULE_ELF, .elf_tried = true};
	unit.is_elf = sw_elf_init(&unit.elf, (struct sw_bytes){main_file.bytes, main_file.size});
	const struct sw_request request = {.debug_dir = directory};
	const struct sw_debugfile *found = sw_unit_debugfile(&unit, &request);
	if (found != NULL) {
		struct sw_bytes f = found->image.bytes;
		bool is_debug = f.size == debug_file.size && memcmp(f.data, changed, f.size) == 0;
		/* The link may lead to the program itself. */
		check(is_debug ||
		      (f.size == main_file.size && memcmp(f.data, main_file.bytes, f.size) == 0));
	}
	sw_debugfile_destroy(unit.debugfile);
	sw_context_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || data[1] > size - 2)
		return 0;
	if (directory[0] == '\0')
		directory_make();
	debug_make(data[0]);
	memcpy(changed, debug_file.bytes, debug_file.size);
	lay_over(changed, debug_file.size, data + 2 + data[1], size - 2 - data[1]);
	link_set(data[0], data + 2, data[1]);
	look();
	return 0;
}
