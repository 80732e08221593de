/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/find: programs that are called as node is, and are not read. */
#include "fake.h"
#include "runtimes/v8/find.h"
#include "test.h"

enum { BASE = 0x400000 };

static const char *missing_of(const void *image, size_t bytes)
{
	static char text[128];
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_place *place;
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/usr/bin/node", BASE, BASE, BASE + 0x1000,
				    image, bytes);
	fake_snapshot_finish(snap);
	const struct sw_v8_program *p = sw_v8_find(snap, &place);
	assert_non_null(p);
	assert_false(p->usable);
	(void) snprintf(text, sizeof(text), "%s", p->missing);
	fake_snapshot_destroy(snap);
	return text;
}

TEST(test_32bit)
{
	static uint8_t image[4096];
	const Elf32_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_shentsize = sizeof(Elf32_Shdr),
	};
	memcpy(image, &header, sizeof(header));
	assert_string_equal(missing_of(image, sizeof(image)), "it is a 32-bit program");
}

TEST(test_no_v8)
{
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header)};
	assert_string_equal(missing_of(&header, sizeof(header)), "this version of V8 is not known");
}
