/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into a program under test: memory is refused.
 *
 *	REFUSE_AT=N	the Nth allocation fails, counted from 1, and all after it
 *	REFUSE_ONCE=1	only that one
 *	REFUSE_COUNT=F	at its end the program writes into the file F how many there were
 *
 * Not counted are those of libdw and libelf, which end the program or crash without memory
 * (elfutils 0.188: __libdw_oom(), and the assertion of resize_coordinator() in
 * lib/dynamicsizehash_concurrent.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

enum { SPARED_MAX = 4 };

static struct {
	ElfW(Addr) start, end;
} spared[SPARED_MAX];
static size_t n_spared;
static unsigned long n_calls, refuse_at = ULONG_MAX;
static bool ready, once;
static int count_fd = -1;

static int spare(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void) size;
	(void) arg;
	if (strstr(info->dlpi_name, "/libdw") == NULL && strstr(info->dlpi_name, "/libelf") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || n_spared == SPARED_MAX)
			continue;
		spared[n_spared].start = info->dlpi_addr + p->p_vaddr;
		spared[n_spared++].end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("REFUSE_AT");
	(void) dl_iterate_phdr(spare, NULL);
	once = getenv("REFUSE_ONCE") != NULL;
	refuse_at = at != NULL ? strtoul(at, NULL, 10) : ULONG_MAX;
	const char *count = getenv("REFUSE_COUNT");
	if (count != NULL) /* at its end the program may open nothing any more */
		count_fd = open(count, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ready = true;
}

__attribute__((destructor)) static void end(void)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%lu\n", n_calls);
	if (count_fd >= 0)
		(void) !write(count_fd, line, (size_t) n); /* who reads it notices */
}

static bool refuse(const void *caller)
{
	for (size_t i = 0; i < n_spared; i++)
		if ((ElfW(Addr)) caller >= spared[i].start && (ElfW(Addr)) caller < spared[i].end)
			return false;
	if (!ready || ++n_calls < refuse_at || (once && n_calls > refuse_at))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return refuse(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}
