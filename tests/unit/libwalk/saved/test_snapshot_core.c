/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshot_core.c with core_elf.c, core_notes.c and core_open.c. */
#include "arch/arch.h"
#include "cleanup.h"
#include "core_builder.h"
#include "saved/core_open.h"
#include "snapshot/module.h"
#include "snapshot/read.h"
#include "test.h"

#include <elf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>

enum { PAGE = 0x1000, STACK = 0x7ffd00000000, TEXT = 0x400000, VDSO = 0x7fff0000 };

/* A context, a directory for files and space for one core, made anew for each test. */
struct fixture {
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_error err;
	char dir[64];
	char path[96];
	char file[96];
	struct core_builder b;
};

static uint8_t stack_page[PAGE], zero_page[PAGE];

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL || sw_context_create(&f->ctx, NULL) < 0)
		return -1;
	strcpy(f->dir, "/tmp/test_snapshot_core.XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	(void) snprintf(f->path, sizeof(f->path), "%s/core", f->dir);
	(void) snprintf(f->file, sizeof(f->file), "%s/prog", f->dir);
	for (size_t i = 0; i < PAGE; i++)
		stack_page[i] = (uint8_t) i;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_snapshot_destroy(f->snap);
	sw_context_destroy(f->ctx);
	(void) unlink(f->path);
	(void) unlink(f->file);
	(void) rmdir(f->dir);
	free(f);
	return 0;
}

/* A thread on a stack page, which is all that a core needs. */
static void plain_core(struct core_builder *b)
{
	core_process(b, 41, 1, 1000, 'R', "sleeper");
	core_thread(b, 41, TEXT + 0x123, STACK + 0x800, 35);
	core_auxv(b, VDSO, TEXT + 0x10);
	core_load(b, TEXT, PAGE, PF_R | PF_X, NULL, 0);
	core_load(b, STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
}

static int open_core(struct fixture *f, const char *exe)
{
	sw_snapshot_destroy(f->snap);
	f->snap = NULL;
	return sw_snapshot_from_core(f->ctx, f->path, exe, &f->snap, &f->err);
}

static void assert_failure(struct fixture *f, int code, const char *message)
{
	char wanted[SW_ERROR_MESSAGE_MAX];
	(void) snprintf(wanted, sizeof(wanted), "%s%s", f->path, message);
	assert_int_equal(open_core(f, NULL), -code);
	assert_int_equal(f->err.code, code);
	assert_string_equal(f->err.message, wanted);
	assert_null(f->snap);
}

static void assert_warning(struct fixture *f, size_t i, enum sw_warning_code code,
			   const char *message)
{
	assert_true(i < f->snap->n_warnings);
	assert_int_equal(f->snap->warnings[i].code, code);
	assert_string_equal(f->snap->warnings[i].message, message);
}

TEST_WITH(test_plain, setup, teardown)
{
	struct fixture *f = *state;
	plain_core(&f->b);
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	const struct sw_snapshot *s = f->snap;
	assert_int_equal(s->process.pid, 41);
	assert_int_equal(s->process.ppid, 1);
	assert_int_equal(s->process.uid, 1000);
	assert_string_equal(s->process.comm, "sleeper");
	assert_string_equal(s->process.exe, "");
	assert_false(s->live);
	assert_int_equal(s->times.stopped_ns, 0);
	struct stat st;
	assert_int_equal(stat(f->path, &st), 0);
	assert_true(s->time_ns == (int64_t) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	assert_int_equal(s->n_threads, 1);
	const struct sw_thread *t = &s->threads[0];
	assert_int_equal(t->tid, 41);
	assert_true(t->captured);
	assert_int_equal(t->state, 'R');
	assert_string_equal(t->comm, "sleeper");
	assert_int_equal(t->syscall, 35);
	assert_true(t->cpu_ns == 1000750000);
	assert_int_equal(t->stop_ns, -1);
	assert_int_equal(t->fs_base, 41 * 0x100 + 0x20);
	assert_int_equal(t->gs_base, 41 * 0x100 + 0x21);
	assert_int_equal(t->regs.known, 0x1ffff);
	assert_true(t->regs.pc_avma == TEXT + 0x123);
	assert_true(t->regs.sp_avma == STACK + 0x800);
	for (unsigned i = 0; i < 16; i++)
		assert_true(t->regs.val[i] ==
			    (i == SW_ARCH_SP ? STACK + 0x800 : (uint64_t) 41 * 0x100 + i));
	assert_true(t->stack_avma == STACK + 0x800 - SW_ARCH_RED_ZONE);
	assert_true(t->stack_end_avma == STACK + PAGE);
	assert_int_equal(t->stack_bytes, 0x800 + SW_ARCH_RED_ZONE);
	assert_memory_equal(t->stack, stack_page + 0x800 - SW_ARCH_RED_ZONE, t->stack_bytes);
	assert_int_equal(s->n_maps, 2);
	assert_int_equal(s->maps[0].prot, SW_MAP_READ | SW_MAP_EXEC);
	assert_int_equal(s->maps[1].prot, SW_MAP_READ | SW_MAP_WRITE);
	assert_int_equal(s->n_ranges, 1);
	assert_true(s->ranges[0].start_avma == STACK && s->ranges[0].bytes == PAGE);
	assert_int_equal(s->n_warnings, 1);
	assert_warning(f, 0, SW_WARN_MODULE,
		       "the core file does not say which files were mapped, nor what the program "
		       "was: name it with --exe");
}

/* A core of a program for i386: one thread on the page at 0xffffd000, in poll(), killed by SIGSEGV. */
static void put_32(uint8_t *to, size_t at, uint32_t value)
{
	memcpy(to + at, &value, sizeof(value));
}

TEST_OF(test_32_bit, struct fixture *f)
{
	enum { STACK_32 = 0xffffd000, TEXT_32 = 0x8048000, NOTES = 512 };
	/* ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs eflags esp ss */
	static const uint32_t regs[17] = {3,
					  1,
					  2,
					  6,
					  7,
					  5,
					  (uint32_t) -516,
					  0,
					  0,
					  0x6b,
					  0x63,
					  168,
					  TEXT_32 + 0x123,
					  0x23,
					  0,
					  STACK_32 + 0x800,
					  0};
	uint8_t prstatus[144] = {0}, prpsinfo[124] = {0}, siginfo[128] = {0};
	const uint32_t auxv[] = {AT_SYSINFO_EHDR, 0xf7fc0000, AT_ENTRY, TEXT_32 + 0x10, 0, 0};
	uint32_t files[5 + 1] = {1, PAGE, TEXT_32, TEXT_32 + PAGE, 0};
	/* struct user_desc: number, base, limit, flags. The last one is there only in part. */
	static const uint32_t tls[] = {12,         0xf7d00000, 0xfffff, 0x51, 13,
				       0x7ffd8000, 0xfff,      0x41,    13};
	memcpy(files + 5, "/p", 3);
	put_32(prstatus, 12, SIGSEGV);
	put_32(prstatus, 24, 41);
	put_32(prstatus, 40, 2); /* user time: 2 s */
	memcpy(prstatus + 72, regs, sizeof(regs));
	prpsinfo[1] = 'R';
	put_32(prpsinfo, 8, 1000);
	put_32(prpsinfo, 12, 41);
	put_32(prpsinfo, 16, 7);
	strcpy((char *) prpsinfo + 28, "old");
	put_32(siginfo, 0, SIGSEGV);
	put_32(siginfo, 8, 1);
	put_32(siginfo, 12, 0xdead0);
	core_note(&f->b, "CORE", NT_PRPSINFO, prpsinfo, sizeof(prpsinfo));
	core_note(&f->b, "CORE", NT_PRSTATUS, prstatus, sizeof(prstatus));
	core_note(&f->b, "LINUX", NT_386_TLS, tls, sizeof(tls));
	core_note(&f->b, "CORE", NT_SIGINFO, siginfo, sizeof(siginfo));
	core_note(&f->b, "CORE", NT_AUXV, auxv, sizeof(auxv));
	core_note(&f->b, "CORE", NT_FILE, files, sizeof(files));
	Elf32_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_CORE,
			     .e_machine = EM_386,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf32_Phdr),
			     .e_phnum = 3};
	Elf32_Phdr segments[3] = {
		{.p_type = PT_NOTE, .p_offset = NOTES, .p_filesz = (uint32_t) f->b.n_notes},
		{.p_type = PT_LOAD, .p_vaddr = TEXT_32, .p_memsz = PAGE, .p_flags = PF_R | PF_X},
		{.p_type = PT_LOAD,
		 .p_vaddr = STACK_32,
		 .p_offset = 2 * PAGE,
		 .p_filesz = PAGE,
		 .p_memsz = PAGE,
		 .p_flags = PF_R | PF_W}};
	uint8_t *file = calloc(3, PAGE);
	assert_non_null(file);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
	memcpy(file + NOTES, f->b.notes, f->b.n_notes);
	memcpy(file + 2 * PAGE, stack_page, PAGE);
	sw_cleanup(sw_fclose_p) FILE *out = fopen(f->path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(file, PAGE, 3, out), 3);
	assert_int_equal(fflush(out), 0);
	free(file);

	assert_int_equal(open_core(f, NULL), 0);
	const struct sw_snapshot *s = f->snap;
	const struct sw_thread *t = &s->threads[0];
	assert_int_equal(s->process.elf_class, 32);
	assert_int_equal(s->process.pid, 41);
	assert_int_equal(s->process.ppid, 7);
	assert_int_equal(s->process.uid, 1000);
	assert_string_equal(s->process.comm, "old");
	assert_string_equal(s->process.exe, "/p");
	assert_int_equal(s->n_threads, 1);
	assert_int_equal(t->syscall, SW_SYSCALL_I386 + 168);
	assert_int_equal(t->cpu_ns, 2000000000);
	assert_int_equal(t->regs.known, 0x100ff);
	assert_int_equal(t->regs.pc_avma, TEXT_32 + 0x123);
	assert_int_equal(t->regs.sp_avma, STACK_32 + 0x800);
	assert_int_equal(t->regs.val[SW_X86_64_RBX], 3);
	assert_int_equal(t->regs.val[SW_X86_64_RDX], 2);
	assert_int_equal(t->regs.val[SW_X86_64_RSI], 6);
	assert_int_equal(t->regs.val[SW_X86_64_RBP], 5);
	assert_int_equal(t->stack_end_avma, STACK_32 + PAGE);
	assert_int_equal(t->fs_base,
			 0xf7d00000); /* that of gs: as in 64-bit programs, the thread's record */
	assert_int_equal(t->gs_base, 0x7ffd8000);
	assert_int_equal(s->crash.signal, SIGSEGV);
	assert_int_equal(s->crash.address_avma, 0xdead0);
	assert_int_equal(s->n_warnings, 1); /* /p is not there */
}

/* Threads are sorted by tid; only the process's thread has its name, only a crash its state. */
TEST_WITH(test_threads, setup, teardown)
{
	struct fixture *f = *state;
	core_process(&f->b, 10, 1, 0, 'D', "many");
	core_thread(&f->b, 12, TEXT, STACK + 0x100, -1);
	core_thread(&f->b, 10, TEXT, STACK + 0x40, 202);
	core_thread(&f->b, 11, TEXT, 0x1234, -514);
	core_load(&f->b, STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	const struct sw_thread *t = f->snap->threads;
	assert_int_equal(f->snap->n_threads, 3);
	assert_int_equal(t[0].tid, 10);
	assert_int_equal(t[1].tid, 11);
	assert_int_equal(t[2].tid, 12);
	assert_string_equal(t[0].comm, "many");
	assert_string_equal(t[1].comm, "");
	assert_int_equal(t[0].state, '?');
	assert_int_equal(t[2].state, 'R'); /* in no system call */
	assert_int_equal(f->snap->crash.signal, 0);
	assert_int_equal(t[0].syscall, 202);
	assert_int_equal(t[1].syscall, -1);
	/* The red zone ends where the mapping begins; a stack that is nowhere has no end. */
	assert_true(t[0].stack_avma == STACK && t[0].stack_bytes == PAGE);
	assert_int_equal(t[1].stack_bytes, 0);
	assert_int_equal(t[1].stack_end_avma, 0);
}

/* The signal of the first thread, and what the note about it says; others' do not count. */
static void crash_make(struct fixture *f, int signal, int signo, int code)
{
	enum { CURSIG_OFF = 12, REGS_OFF = 112, RDI = 14, RAX = 10 };
	static const uint8_t store[] = {0x89, 0x07}; /* mov %eax,(%rdi) */
	int siginfo[32] = {signo, 0, code, 0, 0x7000, 0};
	uint64_t rdi = 0x7000, rax = (uint64_t) -512;
	f->b = (struct core_builder){0};
	core_process(&f->b, 10, 1, 0, 'R', "many");
	core_thread(&f->b, 12, TEXT, STACK + 0x100, -1);
	uint8_t *status = f->b.notes + f->b.n_notes - sizeof(struct elf_prstatus);
	memcpy(status + CURSIG_OFF, &(short){(short) signal}, sizeof(short));
	memcpy(status + REGS_OFF + RDI * sizeof(rdi), &rdi, sizeof(rdi));
	core_note(&f->b, "CORE", NT_SIGINFO, siginfo, sizeof(siginfo));
	core_thread(&f->b, 11, TEXT, STACK + 0x40, 202);
	status = f->b.notes + f->b.n_notes - sizeof(struct elf_prstatus);
	memcpy(status + CURSIG_OFF, &(short){SIGBUS}, sizeof(short));
	memcpy(status + REGS_OFF + RAX * sizeof(rax), &rax, sizeof(rax));
	core_load(&f->b, TEXT, PAGE, PF_R | PF_X, store, sizeof(store));
	core_load(&f->b, STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
	core_write(&f->b, f->path, SIZE_MAX);
	sw_snapshot_destroy(f->snap);
	f->snap = NULL;
	assert_int_equal(open_core(f, NULL), 0);
}

TEST_WITH(test_crash, setup, teardown)
{
	struct fixture *f = *state;
	crash_make(f, SIGSEGV, SIGSEGV, SEGV_MAPERR);
	const struct sw_crash *c = &f->snap->crash;
	assert_int_equal(c->signal, SIGSEGV);
	assert_int_equal(c->tid, 12);
	assert_true(c->has_code && c->code == SEGV_MAPERR);
	assert_true(c->has_address && c->address_avma == 0x7000);
	assert_int_equal(c->access, SW_ACCESS_WRITE);
	assert_int_equal(c->sender_pid, 0);
	assert_int_equal(f->snap->threads[0].state, 'S'); /* its call was to begin anew */
	/* Sent: the same bytes are the sender. */
	crash_make(f, SIGSEGV, SIGSEGV, SI_USER);
	c = &f->snap->crash;
	assert_true(!c->has_address && c->access == SW_ACCESS_UNKNOWN);
	assert_int_equal(c->sender_pid, 0x7000);
	/* The note is of another signal; one that does not end a process with a core. */
	crash_make(f, SIGSEGV, SIGILL, SEGV_MAPERR);
	c = &f->snap->crash;
	assert_true(c->signal == SIGSEGV && !c->has_code && !c->has_address);
	crash_make(f, SIGSTOP, SIGSTOP, SI_USER);
	assert_int_equal(f->snap->crash.signal, 0);
}

TEST_OF(test_files_and_vdso, struct fixture *f)
{
	static const struct core_file files[] = {
		{TEXT, TEXT + PAGE, 0, "/nonexistent/prog"},
		{TEXT + PAGE, TEXT + 3 * PAGE, 1, "/nonexistent/prog"},
		{TEXT + 3 * PAGE, TEXT + 4 * PAGE, 7, "/nonexistent/data (deleted)"},
	};
	core_process(&f->b, 41, 1, 0, 'R', "prog");
	core_thread(&f->b, 41, TEXT, STACK + 0x800, -1);
	core_files(&f->b, files, 3);
	core_auxv(&f->b, VDSO, TEXT + PAGE + 4);
	core_load(&f->b, TEXT, PAGE, PF_R, NULL, 0);
	/* gdb leaves TEXT + PAGE out */
	core_load(&f->b, TEXT + 2 * PAGE, PAGE, PF_R | PF_W, zero_page, PAGE);
	core_load(&f->b, TEXT + 3 * PAGE, PAGE, PF_R, NULL, 0);
	core_load(&f->b, VDSO, PAGE, PF_R | PF_X, zero_page, PAGE);
	core_load(&f->b, STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	const struct sw_snapshot *s = f->snap;
	assert_string_equal(s->process.exe, "/nonexistent/prog");
	assert_int_equal(s->n_maps, 6);
	assert_true(s->maps[1].start_avma == TEXT + PAGE);
	assert_true(s->maps[1].end_avma == TEXT + 2 * PAGE);
	assert_int_equal(s->maps[1].file_off, PAGE);
	assert_int_equal(s->maps[1].prot, SW_MAP_READ | SW_MAP_EXEC);
	assert_string_equal(s->maps[1].path, "/nonexistent/prog");
	assert_int_equal(s->maps[2].file_off, 2 * PAGE);
	assert_int_equal(s->maps[2].prot, SW_MAP_READ | SW_MAP_WRITE);
	assert_string_equal(s->maps[3].path, "/nonexistent/data (deleted)");
	assert_int_equal(s->maps[3].file_off, 7 * PAGE);
	assert_true(s->maps[3].inode != s->maps[2].inode);
	assert_string_equal(s->maps[4].path, "[vdso]");
	assert_string_equal(s->maps[5].path, "");
	/* The program and the vdso are where code may be. */
	assert_int_equal(s->n_places, 2);
	assert_string_equal(sw_module_path(s->places[0].module), "/nonexistent/prog");
	assert_true(s->places[0].start_avma == TEXT && s->places[0].end_avma == TEXT + 3 * PAGE);
	assert_int_equal(sw_module_kind(s->places[1].module), SW_MODULE_VDSO);
}

TEST_OF(test_many_headers, struct fixture *f)
{
	plain_core(&f->b);
	f->b.extended_count = true;
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_maps, 2);
	assert_int_equal(f->snap->n_warnings, 1);
	/* Without the section header, that is last, the headers still end where their contents begin. */
	core_write(&f->b, f->path, f->b.size - 1);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_maps, 2);
	assert_warning(f, 0, SW_WARN_PARTIAL, "the core file is cut short: 64 bytes are missing");
}

TEST_OF(test_cut_short, struct fixture *f)
{
	plain_core(&f->b);
	core_write(&f->b, f->path, SIZE_MAX);
	size_t whole = f->b.size;
	/* Half of the stack page is gone: what is left begins below sp. */
	core_write(&f->b, f->path, whole - PAGE / 2 + 0x10);
	assert_int_equal(open_core(f, NULL), 0);
	assert_warning(f, 0, SW_WARN_PARTIAL, "the core file is cut short: 2032 bytes are missing");
	assert_int_equal(f->snap->threads[0].stack_bytes, 0x10 + SW_ARCH_RED_ZONE);
	assert_true(f->snap->threads[0].stack_end_avma == STACK + PAGE);
	/* All of it is gone. */
	core_write(&f->b, f->path, whole - PAGE);
	assert_int_equal(open_core(f, NULL), 0);
	assert_warning(f, 2, SW_WARN_MEMORY, "thread 41: its stack is not in the core file");
	assert_int_equal(f->snap->threads[0].stack_bytes, 0);
	assert_int_equal(f->snap->warnings[2].tid, 41);
	/* Every shorter length is an error in words or a snapshot with a warning. */
	for (size_t size = whole - PAGE; size-- > 0;) {
		core_write(&f->b, f->path, size);
		int r = open_core(f, NULL);
		assert_true(r == 0 || r == -SW_E_FORMAT);
		assert_true(r < 0 ? f->err.message[0] != '\0' : f->snap->n_warnings > 1);
	}
}

TEST_OF(test_refused, struct fixture *f)
{
	assert_int_equal(open_core(f, NULL), -SW_E_IO);
	assert_int_equal(f->err.sys_errno, ENOENT);
	plain_core(&f->b);
	core_write(&f->b, f->path, 0);
	assert_failure(f, SW_E_FORMAT, ": an empty file, not a core file");
	core_write(&f->b, f->path, 63);
	assert_failure(f, SW_E_FORMAT, ": cut short within the ELF header");
	core_write(&f->b, f->path, 64);
	assert_failure(f, SW_E_FORMAT, ": no program headers: cut short?");
	core_write(&f->b, f->path, 64 + 3 * sizeof(Elf64_Phdr));
	assert_failure(f, SW_E_FORMAT, ": holds no thread's registers: cut short?");
	static const struct {
		size_t at;
		uint8_t value;
		int code;
		const char *message;
	} cases[] = {
		{0, 'X', SW_E_FORMAT, ": not an ELF file, thus no core file"},
		{EI_CLASS, ELFCLASS32, SW_E_ARCH,
		 ": a core file of another machine (ELF machine 62)"},
		{EI_CLASS, 9, SW_E_FORMAT, ": an ELF file of unknown class"},
		{EI_DATA, ELFDATA2MSB, SW_E_ARCH, ": of a big-endian machine"},
		{offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, SW_E_ARCH,
		 ": a core file of another machine (ELF machine 183)"},
		{offsetof(Elf64_Ehdr, e_type), ET_DYN, SW_E_FORMAT,
		 ": a program or shared library, not a core file"},
		{offsetof(Elf64_Ehdr, e_type), ET_EXEC, SW_E_FORMAT,
		 ": a program or shared library, not a core file"},
		{offsetof(Elf64_Ehdr, e_type), ET_REL, SW_E_FORMAT,
		 ": an object file, not a core file"},
		{offsetof(Elf64_Ehdr, e_type), 77, SW_E_FORMAT,
		 ": an ELF file of type 77, not a core file"},
		{offsetof(Elf64_Ehdr, e_phentsize), 32, SW_E_FORMAT,
		 ": program headers of 32 bytes"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		core_write(&f->b, f->path, SIZE_MAX);
		int fd = open(f->path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(pwrite(fd, &cases[i].value, 1, (off_t) cases[i].at), 1);
		assert_int_equal(close(fd), 0);
		assert_failure(f, cases[i].code, cases[i].message);
	}
	int fd = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\x28\xb5\x2f\xfd", 4, 0), 4);
	assert_int_equal(close(fd), 0);
	assert_failure(f, SW_E_FORMAT, ": compressed with zstd: decompress it first");
	assert_int_equal(sw_snapshot_from_core(f->ctx, f->dir, NULL, &f->snap, &f->err),
			 -SW_E_FORMAT);
	assert_int_equal(sw_snapshot_from_core(f->ctx, "/dev/null", NULL, &f->snap, &f->err),
			 -SW_E_FORMAT);
	assert_string_equal(f->err.message, "/dev/null: not a regular file");
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, "/nonexistent/exe"), -SW_E_IO);
	assert_string_equal(f->err.message, "/nonexistent/exe: No such file or directory");
}

TEST_OF(test_malformed_notes, struct fixture *f)
{
	static const uint64_t many_files[] = {1000, PAGE, 1, 2, 3};
	plain_core(&f->b);
	core_note(&f->b, "CORE", NT_PRSTATUS, "short", 5);
	core_note(&f->b, "OTHER", NT_PRSTATUS, zero_page, 336);
	core_note(&f->b, "CORE", NT_FILE, many_files, sizeof(many_files));
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_threads, 1);
	assert_warning(f, 0, SW_WARN_PARTIAL, "the core file has malformed notes");
	/* A note larger than its segment: what came before stays. */
	uint32_t header[] = {5, 0xfffffff0, NT_PRSTATUS};
	memcpy(f->b.notes + f->b.n_notes, header, sizeof(header));
	f->b.n_notes += sizeof(header);
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_threads, 1);
}

TEST_OF(test_hostile_segments, struct fixture *f)
{
	plain_core(&f->b);
	core_load(&f->b, UINT64_MAX - 0xff, 0x1000, PF_R, zero_page, PAGE); /* wraps */
	core_load(&f->b, STACK + 0x10, PAGE, PF_R, zero_page, PAGE);        /* overlaps */
	core_load(&f->b, 0x1000, 0x10, PF_R, zero_page, PAGE);              /* filesz > memsz */
	core_write(&f->b, f->path, SIZE_MAX);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_maps, 3);
	assert_int_equal(f->snap->ranges[0].bytes, 0x10);
	struct sw_snapshot_memory m = {.snap = f->snap};
	uint8_t bytes[0x20];
	assert_true(sw_memory_read(sw_snapshot_memory(&m), 0x1000, bytes, 0x10));
	assert_false(sw_memory_read(sw_snapshot_memory(&m), 0x1000, bytes, 0x11));
}

/* A core of more segments with notes than are read says so. */
TEST(test_note_segments)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[SW_CORE_NOTE_SEGMENTS_MAX + 2];
	} file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(Elf64_Ehdr),
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr)}};
	for (size_t more = 0; more < 2; more++) {
		sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
		struct sw_core_elf core;
		size_t n = SW_CORE_NOTE_SEGMENTS_MAX + more;
		for (size_t i = 0; i < n; i++)
			file.segments[i] =
				(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = sizeof(file)};
		file.segments[n] = (Elf64_Phdr){.p_type = PT_LOAD,
						.p_offset = sizeof(file),
						.p_vaddr = TEXT,
						.p_memsz = PAGE};
		file.header.e_phnum = (Elf64_Half) (n + 1);
		assert_int_equal(sw_core_elf_parse(&arena,
						   (struct sw_bytes){(uint8_t *) &file,
								     sizeof(file)},
						   "core", &core, NULL),
				 0);
		assert_int_equal(core.n_notes, SW_CORE_NOTE_SEGMENTS_MAX);
		assert_int_equal(core.n_segments, 1);
		assert_int_equal(core.limited, more == 1);
	}
}

/* An ELF file of two pages with a build-id note: text and data. */
static void make_program(uint8_t page[PAGE], uint8_t id_byte)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdrs[3];
		uint32_t note[3];
		char owner[4];
		uint8_t id[20];
	} image = {
		.ehdr = {.e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 3},
		.phdrs = {{.p_type = PT_LOAD,
			   .p_flags = PF_R,
			   .p_vaddr = TEXT,
			   .p_filesz = PAGE,
			   .p_memsz = PAGE},
			  {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_offset = PAGE,
			   .p_vaddr = TEXT + PAGE,
			   .p_filesz = PAGE,
			   .p_memsz = PAGE},
			  {.p_type = PT_NOTE, .p_align = 4, .p_filesz = 36}},
		.note = {4, 20, NT_GNU_BUILD_ID},
		.owner = "GNU",
	};
	memcpy(image.ehdr.e_ident, ELFMAG, SELFMAG);
	image.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	image.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	image.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	image.phdrs[2].p_offset = (uint64_t) ((uint8_t *) image.note - (uint8_t *) &image);
	memset(image.id, id_byte, sizeof(image.id));
	memset(page, 0, PAGE);
	memcpy(page, &image, sizeof(image));
}

static void write_program(const char *path, const uint8_t page[PAGE])
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(page, 1, PAGE, file), PAGE);
	assert_int_equal(fwrite(zero_page, 1, PAGE, file), PAGE);
	assert_int_equal(fclose(file), 0);
}

static void program_core(struct fixture *f, const uint8_t *first_page)
{
	const struct core_file files[] = {
		{TEXT, TEXT + PAGE, 0, f->file},
		{TEXT + PAGE, TEXT + 2 * PAGE, 1, f->file},
	};
	core_process(&f->b, 41, 1, 0, 'R', "prog");
	core_thread(&f->b, 41, TEXT, STACK + 0x800, -1);
	core_files(&f->b, files, 2);
	core_auxv(&f->b, 0, TEXT + PAGE + 4);
	core_load(&f->b, TEXT, PAGE, PF_R, first_page, first_page != NULL ? PAGE : 0);
	core_load(&f->b, STACK, PAGE, PF_R | PF_W, stack_page, PAGE);
	core_write(&f->b, f->path, SIZE_MAX);
}

TEST_OF(test_build_id, struct fixture *f)
{
	uint8_t ours[PAGE], other[PAGE];
	size_t n;
	make_program(ours, 0xaa);
	make_program(other, 0xbb);
	program_core(f, ours);
	write_program(f->file, ours);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_warnings, 0);
	assert_int_equal(f->snap->n_places, 1);
	assert_false(sw_module_deleted(f->snap->places[0].module));
	assert_int_equal(sw_module_build_id(f->snap->places[0].module, &n)[0], 0xaa);
	assert_int_equal(n, 20);
	/* The permissions that gdb left out are known from the file. */
	assert_int_equal(f->snap->maps[1].prot, SW_MAP_READ | SW_MAP_EXEC);
	/* Another program has taken the name: memory is used, the first page of it. */
	write_program(f->file, other);
	char wanted[200];
	(void) snprintf(wanted, sizeof(wanted),
			"%s: not the file that the process had mapped (build-id differs)", f->file);
	assert_int_equal(open_core(f, NULL), 0);
	assert_warning(f, 0, SW_WARN_MODULE, wanted);
	assert_true(sw_module_deleted(f->snap->places[0].module));
	assert_int_equal(sw_module_build_id(f->snap->places[0].module, &n)[0], 0xaa);
}

TEST_OF(test_exe_path, struct fixture *f)
{
	uint8_t page[PAGE];
	make_program(page, 0xcc);
	program_core(f, page);
	char moved[96];
	(void) snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	write_program(moved, page);
	assert_int_equal(open_core(f, moved), 0);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(f->snap->n_warnings, 0);
	assert_string_equal(sw_module_path(f->snap->places[0].module), f->file);
	size_t size;
	assert_non_null(sw_module_image(f->snap->places[0].module, &size));
	assert_int_equal(size, 2 * PAGE);
}

/* Without its first page the file cannot be checked: it is used, and if it is newer one is told. */
TEST_OF(test_unchecked, struct fixture *f)
{
	uint8_t page[PAGE];
	make_program(page, 0xcc);
	write_program(f->file, page);
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(AT_FDCWD, f->file, old, 0), 0);
	program_core(f, NULL);
	assert_int_equal(open_core(f, NULL), 0);
	assert_int_equal(f->snap->n_warnings, 0);
	assert_int_equal(utimensat(AT_FDCWD, f->path, old, 0), 0);
	old[1].tv_sec = 2000;
	assert_int_equal(utimensat(AT_FDCWD, f->file, old, 0), 0);
	assert_int_equal(open_core(f, NULL), 0);
	char wanted[200];
	(void) snprintf(wanted, sizeof(wanted),
			"%s: newer than the core file, which holds no build-id to check it",
			f->file);
	assert_warning(f, 0, SW_WARN_MODULE, wanted);
	assert_false(sw_module_deleted(f->snap->places[0].module));
}

TEST_OF(test_open_regular, struct fixture *f)
{
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(sw_core_open_regular(f->path), -1); /* and does not wait for a writer */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sw_core_open_regular(f->dir), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(sw_core_open_regular("/nonexistent/x"), -1);
	assert_int_equal(errno, ENOENT);
}

/* As lld lays a library out: the code's segment begins in the page in which the one before ends. */
TEST(test_file_prot)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdrs[3];
	} image = {.ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 3},
		   .phdrs = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x2998},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = 0x29a0,
			      .p_filesz = 0x3600},
			     {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_W,
			      .p_offset = 0x6000,
			      .p_filesz = 0x100}}};
	int fd = memfd_create("library", MFD_CLOEXEC);
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	assert_int_equal(sw_core_file_prot(fd, 0), SW_MAP_READ);
	assert_int_equal(sw_core_file_prot(fd, 0x1000), SW_MAP_READ);
	assert_int_equal(sw_core_file_prot(fd, 0x2000), SW_MAP_READ | SW_MAP_EXEC);
	assert_int_equal(sw_core_file_prot(fd, 0x5000), SW_MAP_READ | SW_MAP_EXEC);
	assert_int_equal(sw_core_file_prot(fd, 0x6000), SW_MAP_READ | SW_MAP_WRITE);
	assert_int_equal(sw_core_file_prot(fd, 0x7000), 0);
	(void) close(fd);

	/* Small read-only data, then data in the same page: what is left out is the former. */
	image.phdrs[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R,
				      .p_offset = 0x3000,
				      .p_filesz = 0x1fc};
	image.phdrs[2] = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_W,
				      .p_offset = 0x3dd0,
				      .p_filesz = 0x1280};
	fd = memfd_create("program", MFD_CLOEXEC);
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	assert_int_equal(sw_core_file_prot(fd, 0x3000), SW_MAP_READ);
	assert_int_equal(sw_core_file_prot(fd, 0x4000), SW_MAP_READ | SW_MAP_WRITE);
	(void) close(fd);
}
