/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_file.h"
#include "elf_make.h"
#include "test.h"

static struct elf_make made;

static int setup(void **state)
{
	elf_make_init(&made);
	(void) elf_make_section(&made, ".text", SHT_PROGBITS, SHF_EXECINSTR, 0x1000, "code", 4);
	(void) elf_make_section(&made, ".bss", SHT_NOBITS, SHF_WRITE, 0x2000, NULL, 64);
	elf_make_build_id(&made, "\x01\x02\x03\x04\x05", 5);
	elf_make_finish(&made);
	return 0;
}

static bool open_made(struct sw_elf *elf)
{
	return sw_elf_init(elf, (struct sw_bytes){made.bytes, made.size});
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *) made.bytes; /* our own bytes, aligned */
}

TEST_WITH(test_sections, setup, NULL)
{
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes bytes;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	assert_int_equal(section.index, 1);
	assert_int_equal(section.svma, 0x1000);
	assert_int_equal(section.flags, SHF_EXECINSTR);
	assert_true(sw_elf_section_bytes(&elf, &section, &bytes));
	assert_int_equal(bytes.size, 4);
	assert_memory_equal(bytes.data, "code", 4);
	assert_true(sw_elf_section_named(&elf, ".bss", &section));
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	assert_false(sw_elf_section_named(&elf, ".none", &section));
	assert_true(sw_elf_section_typed(&elf, SHT_NOTE, &section));
	assert_string_equal(section.name, ".note.gnu.build-id");
	assert_false(sw_elf_section(&elf, 5, &section));
}

TEST_WITH(test_build_id, setup, NULL)
{
	struct sw_elf elf;
	struct sw_bytes id;
	assert_true(open_made(&elf));
	assert_true(sw_elf_build_id(&elf, &id));
	assert_int_equal(id.size, 5);
	assert_memory_equal(id.data, "\x01\x02\x03\x04\x05", 5);
}

TEST_WITH(test_loaded, setup, NULL)
{
	struct sw_elf elf;
	struct sw_bytes bytes;
	Elf64_Phdr load = {.p_type = PT_LOAD,
			   .p_offset = 0x40,
			   .p_vaddr = 0x9000,
			   .p_filesz = 0x20,
			   .p_memsz = 0x100};
	header()->e_phoff = made.size;
	header()->e_phnum = 1;
	memcpy(made.bytes + made.size, &load, sizeof(load));
	made.size += sizeof(load);
	assert_true(open_made(&elf));
	assert_false(sw_elf_loaded(&elf, 0x8fff, &bytes));
	assert_true(sw_elf_loaded(&elf, 0x9000, &bytes));
	assert_ptr_equal(bytes.data, made.bytes + 0x40);
	assert_int_equal(bytes.size, 0x20);
	assert_true(sw_elf_loaded(&elf, 0x901f, &bytes));
	assert_int_equal(bytes.size, 1);
	assert_false(sw_elf_loaded(&elf, 0x9020, &bytes)); /* zeros, not in the file */
}

/*
 * A file for i386: header | program headers | section headers: none, names, .symtab | names | symbols
 */
struct file_32 {
	Elf32_Ehdr header;
	Elf32_Phdr load, dynamic;
	Elf32_Shdr sections[3];
	char names[24];
	Elf32_Sym symbols[2];
	Elf32_Dyn tags[3];
};

static const struct file_32 *make_32(void)
{
	static struct file_32 f;
	f = (struct file_32){
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_386,
			   .e_entry = 0x1234,
			   .e_phoff = offsetof(struct file_32, load),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 2,
			   .e_shoff = offsetof(struct file_32, sections),
			   .e_shentsize = sizeof(Elf32_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 1},
		.load = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = 0x8048000,
			 .p_filesz = sizeof(f),
			 .p_memsz = 0x2000,
			 .p_align = 0x1000},
		.dynamic = {.p_type = PT_DYNAMIC,
			    .p_offset = offsetof(struct file_32, tags),
			    .p_filesz = sizeof(f.tags)},
		.sections = {[1] = {.sh_name = 1,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = offsetof(struct file_32, names),
				    .sh_size = sizeof(f.names)},
			     [2] = {.sh_name = 8,
				    .sh_type = SHT_SYMTAB,
				    .sh_offset = offsetof(struct file_32, symbols),
				    .sh_size = sizeof(f.symbols),
				    .sh_link = 1,
				    .sh_entsize = sizeof(Elf32_Sym)}},
		.names = "\0.names\0.symtab\0f",
		.symbols = {[1] = {.st_name = 16,
				   .st_value = 0x8048100,
				   .st_size = 0x20,
				   .st_info = STT_FUNC,
				   .st_shndx = 1}},
		.tags = {{DT_PLTGOT, {0x804a000}}, {DT_STRSZ, {7}}, {DT_NULL, {0}}},
	};
	return &f;
}

TEST(test_32_bit)
{
	const struct file_32 *f = make_32();
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_elf_segment segment;
	struct sw_elf_table table;
	struct sw_elf_dynamic dynamic;
	struct sw_bytes bytes;
	Elf64_Sym symbol;
	struct file_32 changed = *f;
	assert_true(sw_elf_init(&elf, (struct sw_bytes){(const uint8_t *) f, sizeof(*f)}));
	assert_true(elf.is_32bit);
	assert_int_equal(elf.header.e_entry, 0x1234);
	assert_int_equal(elf.n_sections, 3);
	assert_true(sw_elf_section_named(&elf, ".symtab", &section));
	assert_int_equal(section.index, 2);
	assert_int_equal(section.entry_bytes, 16);
	assert_int_equal(elf.n_segments, 2);
	assert_true(sw_elf_segment(&elf, 0, &segment));
	assert_int_equal(segment.svma, 0x8048000);
	assert_int_equal(segment.flags, PF_R | PF_X);
	assert_int_equal(segment.memory_bytes, 0x2000);
	assert_int_equal(segment.align, 0x1000);
	assert_true(sw_elf_loaded(&elf, 0x8048010, &bytes));
	assert_ptr_equal(bytes.data, (const uint8_t *) f + 0x10);
	assert_true(sw_elf_table_typed(&elf, SHT_SYMTAB, &table));
	assert_true(sw_elf_symbol_read(&table, 1, &symbol));
	assert_int_equal(symbol.st_value, 0x8048100);
	assert_int_equal(symbol.st_size, 0x20);
	assert_int_equal(symbol.st_info, STT_FUNC);
	assert_false(sw_elf_symbol_read(&table, 2, &symbol));
	assert_false(sw_elf_symbol_read(&table, UINT64_MAX, &symbol));
	assert_true(sw_elf_dynamic(&elf, &dynamic));
	assert_int_equal(dynamic.got_svma, 0x804a000);
	assert_int_equal(dynamic.strings_bytes, 7);
	/* As in the file, and as ld.so leaves it in memory. */
	assert_int_equal(sw_elf_dynamic_avma(&elf, 0x10000000, 0x8049ff4), 0x18049ff4);
	assert_int_equal(sw_elf_dynamic_avma(&elf, 0x10000000, 0x18049ff4), 0x18049ff4);
	/* Cut short, with headers of the other class, of another machine. */
	assert_false(
		sw_elf_init(&elf, (struct sw_bytes){(const uint8_t *) f, sizeof(Elf32_Ehdr) - 1}));
	changed.header.e_phentsize = sizeof(Elf64_Phdr);
	changed.header.e_shentsize = sizeof(Elf64_Shdr);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){(uint8_t *) &changed, sizeof(changed)}));
	assert_int_equal(elf.n_segments, 0);
	assert_int_equal(elf.n_sections, 0);
	changed.header.e_machine = EM_X86_64; /* x32 */
	assert_false(sw_elf_init(&elf, (struct sw_bytes){(uint8_t *) &changed, sizeof(changed)}));
}

TEST_WITH(test_not_elf, setup, NULL)
{
	struct sw_elf elf;
	assert_false(sw_elf_init(&elf, (struct sw_bytes){NULL, 0}));
	assert_false(sw_elf_init(&elf, (struct sw_bytes){made.bytes, sizeof(Elf64_Ehdr) - 1}));
	made.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(open_made(&elf));
	made.bytes[EI_CLASS] = ELFCLASS64;
	made.bytes[EI_DATA] = ELFDATA2MSB;
	assert_false(open_made(&elf));
	made.bytes[EI_DATA] = ELFDATA2LSB;
	made.bytes[0] = 'M';
	assert_false(open_made(&elf));
}

/* Headers that lie: an ELF file without sections is left. */
TEST_WITH(test_lies, setup, NULL)
{
	struct sw_elf elf;
	struct sw_elf_section section;
	uint64_t true_off = header()->e_shoff;
	static const uint64_t offsets[] = {0, UINT64_MAX, UINT64_MAX - 64, INT64_MAX};
	for (size_t i = 0; i < 4; i++) {
		header()->e_shoff = offsets[i];
		assert_true(open_made(&elf));
		assert_int_equal(elf.n_sections, 0);
	}
	header()->e_shoff = true_off + 1; /* the last one is cut */
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
	header()->e_shoff = true_off;
	header()->e_shentsize = 65;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
	header()->e_shentsize = sizeof(Elf64_Shdr);
	header()->e_shstrndx = 77; /* names that are not there are empty */
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section(&elf, 1, &section));
	assert_string_equal(section.name, "");
	header()->e_phoff = UINT64_MAX - 8;
	header()->e_phnum = 1024;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_segments, 0);
}

TEST_WITH(test_section_outside, setup, NULL)
{
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes bytes;
	assert_true(open_made(&elf));
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	section.off = made.size - 3;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	section.off = UINT64_MAX;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	section.off = 0;
	section.size = UINT64_MAX;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
}

/* Sections past 0xff00: their number is in the first header (gABI 4.1). */
TEST_WITH(test_extended_numbers, setup, NULL)
{
	struct sw_elf elf;
	struct sw_elf_section section;
	Elf64_Shdr *first = (Elf64_Shdr *) (made.bytes + header()->e_shoff);
	first->sh_size = header()->e_shnum;
	first->sh_link = header()->e_shstrndx;
	header()->e_shnum = 0;
	header()->e_shstrndx = SHN_XINDEX;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	first->sh_size = UINT64_MAX / 64 + 2;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
}
