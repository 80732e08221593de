/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core_builder.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>
#include <cmocka.h>

enum { PAGE = 4096 };

static void put(struct core_builder *b, const void *data, size_t size)
{
	assert_true(size <= sizeof(b->notes) - b->n_notes);
	memcpy(b->notes + b->n_notes, data, size);
	b->n_notes += size;
}

static void put_padding(struct core_builder *b)
{
	static const uint8_t zeros[4];
	put(b, zeros, -b->n_notes & 3);
}

void core_note(struct core_builder *b, const char *owner, uint32_t type, const void *desc,
	       size_t size)
{
	uint32_t header[] = {(uint32_t) strlen(owner) + 1, (uint32_t) size, type};
	put(b, header, sizeof(header));
	put(b, owner, strlen(owner) + 1);
	put_padding(b);
	put(b, desc, size);
	put_padding(b);
}

void core_thread(struct core_builder *b, int tid, uint64_t pc, uint64_t sp, int64_t syscall)
{
	uint64_t base = (uint64_t) tid * 0x100;
	struct user_regs_struct regs = {
		.rax = base,
		.rdx = base + 1,
		.rcx = base + 2,
		.rbx = base + 3,
		.rsi = base + 4,
		.rdi = base + 5,
		.rbp = base + 6,
		.rsp = sp,
		.r8 = base + 8,
		.r9 = base + 9,
		.r10 = base + 10,
		.r11 = base + 11,
		.r12 = base + 12,
		.r13 = base + 13,
		.r14 = base + 14,
		.r15 = base + 15,
		.rip = pc,
		.orig_rax = (uint64_t) syscall,
		.fs_base = base + 0x20,
		.gs_base = base + 0x21,
	};
	struct elf_prstatus status = {.pr_pid = tid, .pr_utime = {1, 500}, .pr_stime = {0, 250}};
	memcpy(&status.pr_reg, &regs, sizeof(regs));
	core_note(b, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

void core_process(struct core_builder *b, int pid, int ppid, int uid, char state, const char *comm)
{
	struct elf_prpsinfo info = {.pr_sname = state,
				    .pr_uid = (unsigned) uid,
				    .pr_pid = pid,
				    .pr_ppid = ppid};
	memcpy(info.pr_fname, comm, strnlen(comm, sizeof(info.pr_fname)));
	core_note(b, "CORE", NT_PRPSINFO, &info, sizeof(info));
}

void core_auxv(struct core_builder *b, uint64_t vdso, uint64_t entry)
{
	uint64_t auxv[] = {AT_SYSINFO_EHDR, vdso, AT_ENTRY, entry, AT_NULL, 0};
	core_note(b, "CORE", NT_AUXV, auxv, sizeof(auxv));
}

void core_files(struct core_builder *b, const struct core_file *files, size_t n)
{
	uint8_t desc[CORE_NOTE_BYTES / 2];
	uint64_t head[] = {n, PAGE};
	size_t size = sizeof(head);
	memcpy(desc, head, sizeof(head));
	for (size_t i = 0; i < n; i++, size += 24) {
		uint64_t entry[] = {files[i].start, files[i].end, files[i].pages};
		memcpy(desc + size, entry, sizeof(entry));
	}
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(files[i].path) + 1;
		assert_true(length <= sizeof(desc) - size);
		memcpy(desc + size, files[i].path, length);
		size += length;
	}
	core_note(b, "CORE", NT_FILE, desc, size);
}

void core_load(struct core_builder *b, uint64_t start, uint64_t memsz, uint32_t flags,
	       const void *data, size_t filesz)
{
	assert_true(b->n_loads < CORE_LOADS);
	b->loads[b->n_loads++] = (struct core_load){start, memsz, filesz, flags, data};
}

static void put_bytes(struct core_builder *b, size_t at, const void *data, size_t size)
{
	assert_true(at <= sizeof(b->bytes) && size <= sizeof(b->bytes) - at);
	if (size > 0)
		memcpy(b->bytes + at, data, size);
	if (at + size > b->size)
		b->size = at + size;
}

void core_layout(struct core_builder *b)
{
	size_t n_phdrs = b->n_loads + 1, at = sizeof(Elf64_Ehdr);
	size_t data = at + n_phdrs * sizeof(Elf64_Phdr);
	b->size = 0;
	Elf64_Phdr note = {.p_type = PT_NOTE, .p_offset = data, .p_filesz = b->n_notes};
	put_bytes(b, at, &note, sizeof(note));
	put_bytes(b, data, b->notes, b->n_notes);
	data += b->n_notes;
	for (size_t i = 0; i < b->n_loads; i++) {
		const struct core_load *l = &b->loads[i];
		Elf64_Phdr load = {.p_type = PT_LOAD,
				   .p_flags = l->flags,
				   .p_offset = data,
				   .p_vaddr = l->start,
				   .p_filesz = l->filesz,
				   .p_memsz = l->memsz};
		at += sizeof(load);
		put_bytes(b, at, &load, sizeof(load));
		put_bytes(b, data, l->data, l->filesz);
		data += l->filesz;
	}
	Elf64_Ehdr ehdr = {.e_type = ET_CORE,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(ehdr),
			   .e_ehsize = sizeof(ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = (uint16_t) n_phdrs};
	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	if (b->extended_count) {
		Elf64_Shdr shdr = {.sh_info = (uint32_t) n_phdrs};
		ehdr.e_phnum = PN_XNUM;
		ehdr.e_shoff = data;
		ehdr.e_shentsize = sizeof(shdr);
		ehdr.e_shnum = 1;
		put_bytes(b, data, &shdr, sizeof(shdr));
	}
	put_bytes(b, 0, &ehdr, sizeof(ehdr));
}

void core_write(struct core_builder *b, const char *path, size_t limit)
{
	core_layout(b);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	size_t size = b->size < limit ? b->size : limit;
	assert_int_equal(fwrite(b->bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}
