/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs code out of files that somebody damaged: copies of this very program, mapped as the loader
 * maps it, each with a thread that waits in it.
 *
 *	hostile_files FILE...
 *
 * It prints, before anything else, what a damaged copy must keep whole so that it can be run:
 *	code OFFSET BYTES	file range of the code that the threads execute
 *	thread TID FILE		for each file; "ready" at the end
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* hostile_enter() calls hostile_park(), which waits in pause() for ever. With CFI and no absolute
 * address, so that it runs wherever a copy is mapped. */
__asm__(".text\n"
	".p2align 6\n"
	".globl hostile_enter, hostile_park, hostile_end\n"
	".type hostile_enter, @function\n"
	".type hostile_park, @function\n"
	"hostile_enter:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	call 1f\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size hostile_enter, . - hostile_enter\n"
	"hostile_park:\n"
	"	.cfi_startproc\n"
	"1:	mov $34, %eax\n" /* SYS_pause */
	"	syscall\n"
	"	jmp 1b\n"
	"	.cfi_endproc\n"
	"	.size hostile_park, . - hostile_park\n"
	"hostile_end:\n");

extern char hostile_enter[], hostile_end[];
extern const char __ehdr_start[];

enum { PAGE = 4096 };
static atomic_int started;

struct job {
	const char *path;
	void (*enter)(void);
};

static void *run(void *arg)
{
	struct job *job = arg;
	printf("thread %d %s\n", gettid(), job->path);
	started++;
	job->enter();
	return NULL;
}

/* The layout comes from our own intact program headers, the bytes from the file. */
static char *map_copy(const char *path)
{
	const Elf64_Phdr *phdr = (const Elf64_Phdr *) getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM), span = 0;
	for (size_t i = 0; i < n; i++)
		if (phdr[i].p_type == PT_LOAD)
			span = phdr[i].p_vaddr + phdr[i].p_memsz;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *base = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || base == MAP_FAILED)
		err(1, "%s", path);
	for (size_t i = 0; i < n; i++) {
		if (phdr[i].p_type != PT_LOAD)
			continue;
		size_t start = phdr[i].p_vaddr & ~(size_t) (PAGE - 1);
		size_t lead = phdr[i].p_vaddr - start;
		int prot = (phdr[i].p_flags & PF_R ? PROT_READ : 0) |
			   (phdr[i].p_flags & PF_X ? PROT_EXEC : 0) |
			   (phdr[i].p_flags & PF_W ? PROT_WRITE : 0);
		if (mmap(base + start, phdr[i].p_filesz + lead, prot, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t) (phdr[i].p_offset - lead)) == MAP_FAILED)
			err(1, "mmap %s", path);
	}
	(void) close(fd);
	return base;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The first segments have file offset = address in the usual layouts; the code does not
	 * span pages, and its segment is where the headers say. */
	size_t code = (size_t) (hostile_enter - __ehdr_start);
	const Elf64_Phdr *phdr = (const Elf64_Phdr *) getauxval(AT_PHDR);
	for (size_t i = 0; i < getauxval(AT_PHNUM); i++)
		if (phdr[i].p_type == PT_LOAD && (phdr[i].p_flags & PF_X))
			printf("code %zu %zu\n", code - phdr[i].p_vaddr + phdr[i].p_offset,
			       (size_t) (hostile_end - hostile_enter));
	for (int i = 1; i < argc; i++) {
		struct job *job = malloc(sizeof(*job));
		pthread_t thread;
		*job = (struct job){argv[i], (void (*)(void))(map_copy(argv[i]) + code)};
		if (pthread_create(&thread, NULL, run, job) != 0)
			err(1, "pthread_create");
	}
	while (started < argc - 1)
		(void) usleep(1000);
	puts("ready");
	return getchar() == EOF;
}
