/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/path.h"
#include "bytes.h"
#include "cleanup.h"
#include "own_fd.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- as it is written ------------------------------------------------------------------------- */

/* Appends "/NAME"; "/.." takes the last one away. */
static size_t component_put(char *to, size_t size, size_t used, const char *name, size_t length)
{
	if (length == 0 || (length == 1 && name[0] == '.'))
		return used;
	if (length == 2 && name[0] == '.' && name[1] == '.') {
		while (used > 0 && to[--used] != '/')
			;
		to[used] = '\0';
		return used;
	}
	int n = snprintf(to + used, size - used, "/%.*s", (int) length, name);
	return used + (size_t) n < size ? used + (size_t) n : size - 1; /* cut: see path.h */
}

bool sw_path_canonical(const char *path, char *ret, size_t size)
{
	size_t used = 0;
	ret[0] = '\0';
	for (const char *p = path; *p != '\0';) {
		p += strspn(p, "/");
		size_t length = strcspn(p, "/");
		used = component_put(ret, size, used, p, length);
		p += length;
	}
	if (used == 0)
		(void) snprintf(ret, size, "/"); /* of two bytes at least */
	return strcmp(path, ret) == 0;
}

/* ---- as it is on this machine ----------------------------------------------------------------- */

/* The path that a descriptor was opened by, without links. */
static bool path_of(int fd, char *ret, size_t size)
{
	return sw_own_fd_path(fd, ret, size) && ret[0] == '/';
}

/* Where the components end that are no pattern: "/usr/bin" of "/usr/bin/a*". */
static size_t plain_length(const char *path)
{
	size_t length = strcspn(path, "*?[\\");
	if (path[length] == '\0')
		return length;
	while (length > 0 && path[length] != '/')
		length--;
	return length;
}

bool sw_path_resolve(const char *path, char *ret, size_t size)
{
	char part[PATH_MAX], resolved[PATH_MAX];
	size_t length = plain_length(path);
	if (length >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return false;
	}
	/* The longest part of it that is there. */
	for (;;) {
		memcpy(part, path, length);
		part[length] = '\0';
		sw_cleanup(sw_close_p) int fd =
			open(length > 0 ? part : "/", O_PATH | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0) {
			if (!path_of(fd, resolved, sizeof(resolved)))
				return false;
			break;
		}
		if (errno != ENOENT || length == 0)
			return false;
		while (length > 0 && path[--length] != '/')
			;
	}
	const char *begin = strcmp(resolved, "/") == 0 ? "" : resolved;
	const char *rest = path + length;
	int n = snprintf(ret, size, "%s%s", begin, rest);
	if (n <= 0 || (size_t) n >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	return true;
}

/* No process of this machine runs a file that is no ELF, nor one that is to be linked first or was a process. */
static const char *content_problem(int fd)
{
	unsigned char begin[EI_NIDENT + sizeof(uint16_t)];
	errno = 0;
	size_t n = sw_pread(fd, begin, sizeof(begin), 0);
	if (errno != 0)
		return NULL;
	if (n >= 2 && memcmp(begin, "#!", 2) == 0)
		return "a script, whose process runs the interpreter: write the name of the "
		       "process, as in /proc/PID/comm";
	if (n < SELFMAG || memcmp(begin, ELFMAG, SELFMAG) != 0)
		return "no ELF file, which a process runs by another program: write the name of "
		       "the process, as in /proc/PID/comm";
	const unsigned type = n < sizeof(begin) ? ET_EXEC : begin[EI_NIDENT] | begin[EI_NIDENT + 1];
	return type != ET_EXEC && type != ET_DYN ? "an ELF file that is no program" : NULL;
}

const char *sw_path_no_program(const char *path)
{
	struct stat st;
	sw_cleanup(sw_close_p) int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOTDIR || errno == ELOOP
			       ? "no program can have this path: a part of it is no directory"
			       : NULL;
	if (S_ISDIR(st.st_mode))
		return "a directory: write each program in it";
	if (!S_ISREG(st.st_mode))
		return "neither a file nor a link to one";
	/* A regular file: opening it has no effect. A user who may not read it does not know
	 * better. */
	sw_cleanup(sw_close_p) int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return file >= 0 ? content_problem(file) : NULL;
}
