/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/word_kind.h"
#include "cleanup.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sw_word_kind kind_of_directory(const char *path)
{
	char name[PATH_MAX];
	struct stat st;
	int n = snprintf(name, sizeof(name), "%s/snapshot", path);
	bool is_snapshot =
		n > 0 && (size_t) n < sizeof(name) && stat(name, &st) == 0 && S_ISREG(st.st_mode);
	return is_snapshot ? SW_WORD_SNAPSHOT : SW_WORD_OTHER;
}

/* e_type, in the byte order of the file; ET_NONE for what is not ELF. */
static unsigned elf_type(const uint8_t *bytes, size_t size)
{
	enum { TYPE_OFF = offsetof(Elf64_Ehdr, e_type) }; /* the same in both classes */
	if (size < sizeof(Elf32_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return ET_NONE;
	bool big = bytes[EI_DATA] == ELFDATA2MSB;
	return big ? (unsigned) bytes[TYPE_OFF] << 8 | bytes[TYPE_OFF + 1]
		   : (unsigned) bytes[TYPE_OFF + 1] << 8 | bytes[TYPE_OFF];
}

enum sw_word_kind sw_word_kind(const char *path)
{
	struct stat st;
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	if (stat(path, &st) < 0)
		return SW_WORD_NO_FILE;
	if (S_ISDIR(st.st_mode))
		return kind_of_directory(path);
	if (!S_ISREG(st.st_mode))
		return SW_WORD_OTHER;
	bool may_run = (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
	unsigned type = n > 0 ? elf_type(bytes, (size_t) n) : ET_NONE;
	if (type == ET_CORE)
		return SW_WORD_CORE;
	if (type != ET_NONE)
		return SW_WORD_PROGRAM;
	if (n >= 4 && memcmp(bytes, "MDMP", 4) == 0)
		return SW_WORD_MINIDUMP;
	if (n > 0 && bytes[0] == '{')
		return SW_WORD_JSON;
	return may_run ? SW_WORD_PROGRAM : SW_WORD_OTHER;
}
