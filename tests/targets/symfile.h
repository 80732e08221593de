/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SYMFILE_H
#define SYMFILE_H

/*
 * A JIT compiler's loader in small: an object file's code is put into executable memory, and the
 * object's section headers say where it is, with its relocations not applied, as LLVM publishes it.
 */
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

typedef void generated(void (*block)(void));

struct symfile {
	uint8_t *bytes; /* the object */
	size_t size;
	uint8_t *code; /* one page of code, one of .eh_frame */
	generated *outer;
};

enum { SYMFILE_PAGE = 4096, SYMFILE_ROOM = 2 * SYMFILE_PAGE };

static inline _Noreturn void symfile_die(const char *what)
{
	perror(what);
	exit(1);
}

static inline Elf64_Shdr *symfile_section(uint8_t *bytes, const char *name)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *) bytes;
	Elf64_Shdr *s = (Elf64_Shdr *) (bytes + ehdr->e_shoff);
	const char *names = (const char *) bytes + s[ehdr->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < ehdr->e_shnum; i++)
		if (strcmp(names + s[i].sh_name, name) == 0)
			return &s[i];
	return NULL;
}

static inline void symfile_read(struct symfile *f, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		symfile_die(path);
	f->size = (size_t) st.st_size;
	f->bytes = malloc(f->size);
	if (f->bytes == NULL || read(fd, f->bytes, f->size) != (ssize_t) f->size)
		symfile_die(path);
	close(fd);
}

/* .eh_frame behind the code, its addresses of code made right: what it is registered with. */
static inline uint8_t *symfile_eh_frame(struct symfile *f)
{
	Elf64_Shdr *frame = symfile_section(f->bytes, ".eh_frame");
	Elf64_Shdr *relas = symfile_section(f->bytes, ".rela.eh_frame");
	uint8_t *to = f->code + SYMFILE_PAGE;
	if (frame == NULL || relas == NULL)
		return NULL;
	memcpy(to, f->bytes + frame->sh_offset, frame->sh_size); /* then a length of 0 */
	const Elf64_Rela *r = (const Elf64_Rela *) (f->bytes + relas->sh_offset);
	for (size_t i = 0; i < relas->sh_size / sizeof(*r); i++) {
		/* R_X86_64_PC32 against .text, says the compiler */
		int32_t value = (int32_t) (f->code + r[i].r_addend - (to + r[i].r_offset));
		memcpy(to + r[i].r_offset, &value, sizeof(value));
	}
	return to;
}

/* Loads the code; prints where its functions are: "function NAME START END". */
static inline void symfile_load(struct symfile *f, const char *path)
{
	*f = (struct symfile){0};
	symfile_read(f, path);
	Elf64_Shdr *text = symfile_section(f->bytes, ".text");
	Elf64_Shdr *symtab = symfile_section(f->bytes, ".symtab");
	Elf64_Shdr *strtab = symfile_section(f->bytes, ".strtab");
	Elf64_Shdr *frame = symfile_section(f->bytes, ".eh_frame");
	f->code = mmap(NULL, SYMFILE_ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->code == MAP_FAILED)
		symfile_die("mmap");
	memcpy(f->code, f->bytes + text->sh_offset, text->sh_size);
	text->sh_addr = (uint64_t) (uintptr_t) f->code;
	if (frame != NULL)
		frame->sh_addr = text->sh_addr + SYMFILE_PAGE;
	const Elf64_Sym *sym = (const Elf64_Sym *) (f->bytes + symtab->sh_offset);
	for (size_t i = 0; i < symtab->sh_size / sizeof(*sym); i++) {
		const char *name = (const char *) f->bytes + strtab->sh_offset + sym[i].st_name;
		uint8_t *at = f->code + sym[i].st_value;
		if (ELF64_ST_TYPE(sym[i].st_info) != STT_FUNC)
			continue;
		printf("function %s %#lx %#lx\n", name, (unsigned long) (uintptr_t) at,
		       (unsigned long) (uintptr_t) at + sym[i].st_size);
		if (strcmp(name, "outer") == 0)
			f->outer = (generated *) (uintptr_t) at;
	}
}

/* The GDB JIT interface, version 1. */
struct jit_entry {
	struct jit_entry *next, *previous;
	const uint8_t *symfile;
	uint64_t size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_entry *relevant, *first;
};

#endif
