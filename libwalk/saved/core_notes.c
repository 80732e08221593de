/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The notes of Linux x86-64 and i386 core files, as the kernel and gdb write them.
 * Source: System V gABI 4.1, chapter 5 (note layout); Linux v6.1 include/uapi/linux/elfcore.h and
 * include/linux/elfcore.h (elf_prstatus, elf_prpsinfo), arch/x86/include/uapi/asm/ptrace.h
 * (user_regs_struct), fs/binfmt_elf.c fill_files_note() (NT_FILE), getauxval(3); of i386
 * include/linux/elfcore-compat.h and arch/x86/include/asm/user32.h (user_regs_struct32), and
 * arch/x86/kernel/tls.c regset_tls_get() (NT_386_TLS, which gdb does not write).
 */
#include "saved/core_notes.h"
#include "arch/arch.h"
#include "errors.h"
#include "formats/elf_file.h"

#include <stdlib.h>

enum {
	NOTE_HEADER_BYTES = 12,
	NOTE_ALIGN = 4,
	PRSTATUS_CURSIG_OFF = 12,
	PRPSINFO_SNAME_OFF = 1,
	PRPSINFO_FNAME_BYTES = 16,
	NONE = 0xff, /* no such word */
	/* struct user_desc: entry_number, base_addr, limit, flags */
	USER_DESC_BYTES = 16,
	USER_DESC_BASE_OFF = 4,
	/* A segment's selector: the descriptor's number, which of two tables, privileges. */
	SELECTOR_LOCAL = 4,
	SELECTOR_SHIFT = 3,
	WORD_FS_32 = 9, /* of user_regs_struct32 */
	WORD_GS_32 = 10,
	THREADS_FIRST = 64,
};

/* Sizes and offsets that differ between the two machines. */
struct layout {
	uint8_t word_bytes;
	/* struct elf_prstatus; utime_off: two struct timeval: user, system */
	uint8_t pid_off, utime_off, regs_off;
	uint16_t prstatus_bytes;
	/* struct elf_prpsinfo */
	uint8_t uid_off, uid_bytes, process_off, ppid_off, fname_off, prpsinfo_bytes;
	/* struct user_regs_struct: number of words before each, of those of struct sw_regs by number */
	uint8_t orig_rax, fs_base, gs_base;
	uint8_t word[SW_REGS_MAX];
};

static const struct layout layout_64 = {
	.word_bytes = 8,
	.pid_off = 32,
	.utime_off = 48,
	.regs_off = 112,
	.prstatus_bytes = 336,
	.uid_off = 16,
	.uid_bytes = 4,
	.process_off = 24,
	.ppid_off = 28,
	.fname_off = 40,
	.prpsinfo_bytes = 136,
	.orig_rax = 15,
	.fs_base = 21,
	.gs_base = 22,
	.word = {10 /* rax */, 12 /* rdx */, 11 /* rcx */, 5 /* rbx */, 13 /* rsi */, 14 /* rdi */,
		 4 /* rbp */, 19 /* rsp */, 9 /* r8 */, 8 /* r9 */, 7 /* r10 */, 6 /* r11 */,
		 3 /* r12 */, 2 /* r13 */, 1 /* r14 */, 0 /* r15 */, 16 /* rip */},
};

static const struct layout layout_32 = {
	.word_bytes = 4,
	.pid_off = 24,
	.utime_off = 40,
	.regs_off = 72,
	.prstatus_bytes = 144,
	.uid_off = 8,
	.uid_bytes = 2,
	.process_off = 12,
	.ppid_off = 16,
	.fname_off = 28,
	.prpsinfo_bytes = 124,
	.orig_rax = 11,
	.fs_base = NONE,
	.gs_base = NONE,
	.word = {6 /* eax */, 2 /* edx */, 1 /* ecx */, 0 /* ebx */, 3 /* esi */, 4 /* edi */,
		 5 /* ebp */, 15 /* esp */, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
		 12 /* eip */},
};

static const struct layout *layout_of(const struct sw_core_notes *notes)
{
	return notes->is_32bit ? &layout_32 : &layout_64;
}

/* A word of the machine. */
static bool word_at(const struct layout *l, struct sw_bytes bytes, uint64_t off, uint64_t *ret)
{
	uint32_t half;
	if (l->word_bytes == sizeof(*ret))
		return sw_bytes_u64(bytes, off, ret);
	if (!sw_bytes_u32(bytes, off, &half))
		return false;
	*ret = half;
	return true;
}

static uint64_t user_reg(const struct layout *l, struct sw_bytes prstatus, unsigned word)
{
	uint64_t value = 0;
	if (word != NONE)
		(void) word_at(l, prstatus, l->regs_off + word * l->word_bytes,
			       &value); /* inside: the size was checked */
	return value;
}

/* In none: -1. */
static int64_t call_number(const struct layout *l, struct sw_bytes prstatus)
{
	uint64_t number = user_reg(l, prstatus, l->orig_rax);
	if (l == &layout_32)
		return (int32_t) (uint32_t) number < 0 ? -1 : SW_SYSCALL_I386 + (int64_t) number;
	return (int64_t) number < 0 ? -1 : (int64_t) number;
}

/* User and system time; -1 when the writer did not fill them in (gdb). */
static int64_t cpu_time_ns(const struct layout *l, struct sw_bytes prstatus)
{
	enum { SECONDS_MAX = 1 << 30 };
	int64_t total_ns = 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t s = 0, us = 0, at = l->utime_off + i * 2 * l->word_bytes;
		(void) word_at(l, prstatus, at, &s); /* likewise */
		(void) word_at(l, prstatus, at + l->word_bytes, &us);
		if (s > SECONDS_MAX || us >= 1000000)
			return -1;
		total_ns += (int64_t) s * 1000000000 + (int64_t) us * 1000;
	}
	return total_ns > 0 ? total_ns : -1;
}

static int take_prstatus(struct sw_arena *arena, struct sw_bytes desc, struct sw_core_notes *notes)
{
	const struct layout *l = layout_of(notes);
	if (desc.size != l->prstatus_bytes) {
		notes->malformed = true;
		return 0;
	}
	if (notes->n_threads >= SW_CORE_THREADS_MAX) {
		notes->limited = true;
		return 0;
	}
	if (notes->n_threads == notes->threads_capacity) {
		size_t capacity =
			notes->threads_capacity == 0 ? THREADS_FIRST : notes->threads_capacity * 2;
		struct sw_thread *grown = sw_arena_calloc(arena, capacity, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		if (notes->n_threads > 0)
			memcpy(grown, notes->threads, notes->n_threads * sizeof(*grown));
		notes->threads = grown;
		notes->threads_capacity = capacity;
	}
	struct sw_thread *t = &notes->threads[notes->n_threads++];
	uint32_t tid = 0;
	(void) sw_bytes_u32(desc, l->pid_off, &tid); /* inside: size was checked */
	*t = (struct sw_thread){
		.tid = (pid_t) tid,
		.state = '?',
		.captured = true,
		.stayed = true, /* all are of one instant */
		.syscall = call_number(l, desc),
		.cpu_ns = cpu_time_ns(l, desc),
		.stop_ns = -1,
		.since_ns = -1,
		.captured_by = SW_CAPTURED_CORE,
		.fs_base = user_reg(l, desc, l->fs_base),
		.gs_base = user_reg(l, desc, l->gs_base),
	};
	uint16_t signal = 0;
	if (notes->n_threads == 1 && sw_bytes_u16(desc, PRSTATUS_CURSIG_OFF, &signal))
		notes->signal = signal;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if (l->word[i] != NONE)
			sw_regs_set(&t->regs, i, user_reg(l, desc, l->word[i]));
	notes->fs = (uint16_t) (notes->is_32bit ? user_reg(l, desc, WORD_FS_32) : 0);
	notes->gs = (uint16_t) (notes->is_32bit ? user_reg(l, desc, WORD_GS_32) : 0);
	return 0;
}

/* Where segments of the last thread begin: those in the table of all, where set_thread_area(2) puts them. */
static void take_tls(struct sw_bytes desc, struct sw_core_notes *notes)
{
	if (!notes->is_32bit || notes->n_threads == 0 || notes->limited)
		return;
	struct sw_thread *t = &notes->threads[notes->n_threads - 1];
	uint32_t number, base_avma;
	for (uint64_t at = 0; sw_bytes_u32(desc, at, &number) &&
			      sw_bytes_u32(desc, at + USER_DESC_BASE_OFF, &base_avma);
	     at += USER_DESC_BYTES) {
		if (base_avma == 0)
			continue;
		/* struct sw_thread has them the other way round. */
		if (!(notes->gs & SELECTOR_LOCAL) && notes->gs >> SELECTOR_SHIFT == number)
			t->fs_base = base_avma;
		if (!(notes->fs & SELECTOR_LOCAL) && notes->fs >> SELECTOR_SHIFT == number)
			t->gs_base = base_avma;
	}
}

static void take_prpsinfo(struct sw_bytes desc, struct sw_core_notes *notes)
{
	const struct layout *l = layout_of(notes);
	if (desc.size != l->prpsinfo_bytes) {
		notes->malformed = true;
		return;
	}
	uint8_t state = 0;
	uint32_t uid = 0, pid = 0, ppid = 0;
	(void) sw_bytes_u8(desc, PRPSINFO_SNAME_OFF, &state); /* all inside: size was checked */
	(void) sw_bytes_copy(desc, l->uid_off, &uid, l->uid_bytes); /* little-endian */
	(void) sw_bytes_u32(desc, l->process_off, &pid);
	(void) sw_bytes_u32(desc, l->ppid_off, &ppid);
	const char *fname = (const char *) desc.data + l->fname_off;
	notes->has_process = true;
	notes->state = strchr("RSDTtZXI", state) != NULL && state != '\0' ? (char) state : '?';
	notes->uid = uid;
	notes->pid = (pid_t) pid;
	notes->ppid = (pid_t) ppid;
	memset(notes->comm, 0, sizeof(notes->comm));
	memcpy(notes->comm, fname, strnlen(fname, PRPSINFO_FNAME_BYTES));
}

static void take_auxv(struct sw_bytes desc, struct sw_core_notes *notes)
{
	const struct layout *l = layout_of(notes);
	uint64_t type, value;
	for (uint64_t offset = 0;
	     word_at(l, desc, offset, &type) && word_at(l, desc, offset + l->word_bytes, &value);
	     offset += 2 * l->word_bytes) {
		if (type == AT_NULL)
			return;
		if (type == AT_SYSINFO_EHDR)
			notes->vdso_avma = value;
		if (type == AT_ENTRY)
			notes->entry_avma = value;
		if (type == AT_PHDR)
			notes->phdr_avma = value;
		if (type == AT_EXECFN)
			notes->execfn_avma = value;
	}
}

static int compare_files(const void *a, const void *b)
{
	const struct sw_core_file *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

/* No real core has overlaps in its note; lists of the dynamic linker have its own file more than once. */
void sw_core_notes_sort_files(struct sw_core_notes *notes)
{
	qsort(notes->files, notes->n_files, sizeof(*notes->files), compare_files);
	size_t kept = 0;
	uint32_t number = 0;
	for (size_t i = 0; i < notes->n_files; i++) {
		struct sw_core_file *f = &notes->files[i];
		if (kept > 0 && f->start_avma < notes->files[kept - 1].end_avma)
			continue;
		if (kept == 0 || strcmp(f->path, notes->files[kept - 1].path) != 0)
			number++;
		f->number = number;
		notes->files[kept++] = *f;
	}
	notes->n_files = kept;
}

/* count, page size, count × {start, end, offset in pages}, count × path with NUL. */
static int take_files(struct sw_arena *arena, struct sw_bytes desc, struct sw_core_notes *notes)
{
	const struct layout *l = layout_of(notes);
	const uint64_t entry_bytes = 3 * l->word_bytes, table_off = 2 * l->word_bytes;
	uint64_t count = 0, page_bytes = 0;
	if (!word_at(l, desc, 0, &count) || !word_at(l, desc, l->word_bytes, &page_bytes) ||
	    count > (desc.size - table_off) / entry_bytes) {
		notes->malformed = true;
		return 0;
	}
	uint64_t path_off = table_off + count * entry_bytes;
	if (count > SW_CORE_FILES_MAX) {
		notes->limited = true;
		count = SW_CORE_FILES_MAX;
	}
	if (notes->n_files > 0 || count == 0)
		return 0; /* the kernel and gdb write one */
	notes->files = sw_arena_calloc(arena, (size_t) count, sizeof(*notes->files));
	if (notes->files == NULL)
		return -SW_E_NOMEM;
	for (uint64_t i = 0; i < count; i++) {
		struct sw_core_file f = {0};
		uint64_t entry = table_off + i * entry_bytes, pages = 0;
		(void) word_at(l, desc, entry, &f.start_avma); /* inside: count was checked */
		(void) word_at(l, desc, entry + l->word_bytes, &f.end_avma);
		(void) word_at(l, desc, entry + 2 * l->word_bytes, &pages);
		if (!sw_bytes_str(desc, path_off, &f.path)) {
			notes->malformed = true;
			break;
		}
		path_off += strlen(f.path) + 1;
		if (f.start_avma < f.end_avma &&
		    !__builtin_mul_overflow(pages, page_bytes, &f.file_off))
			notes->files[notes->n_files++] = f;
	}
	sw_core_notes_sort_files(notes);
	return 0;
}

static int take_note(struct sw_arena *arena, uint32_t type, struct sw_bytes desc,
		     struct sw_core_notes *notes)
{
	switch (type) {
	case NT_PRSTATUS: return take_prstatus(arena, desc, notes);
	case NT_FILE: return take_files(arena, desc, notes);
	case NT_PRPSINFO: take_prpsinfo(desc, notes); break;
	case NT_AUXV: take_auxv(desc, notes); break;
	case NT_SIGINFO: /* gdb writes one for each thread, the first thread's first */
		if (notes->siginfo.size == 0)
			notes->siginfo = desc;
		break;
	}
	return 0;
}

int sw_core_notes_parse(struct sw_arena *arena, struct sw_bytes segment,
			struct sw_core_notes *notes)
{
	static const char owner[] = "CORE", linux_owner[] = "LINUX";
	struct sw_elf_note note;
	uint64_t offset = 0;
	/* Each turn goes on by at least a header: bounded by the size of the file. */
	while (sw_elf_note(segment, NOTE_ALIGN, &offset, &note)) {
		if (note.type == NT_386_TLS && note.name.size == sizeof(linux_owner) &&
		    memcmp(note.name.data, linux_owner, sizeof(linux_owner)) == 0)
			take_tls(note.value, notes);
		if (note.name.size != sizeof(owner) ||
		    memcmp(note.name.data, owner, sizeof(owner)) != 0)
			continue;
		int r = take_note(arena, note.type, note.value, notes);
		if (r < 0)
			return r;
	}
	/* The last one may lack its padding. */
	if (sw_bytes_has(segment, offset, NOTE_HEADER_BYTES))
		notes->malformed = true;
	return 0;
}

const struct sw_core_file *sw_core_notes_file(const struct sw_core_notes *notes, uint64_t avma)
{
	size_t low = 0, high = notes->n_files;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (notes->files[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == notes->n_files || avma < notes->files[low].start_avma)
		return NULL;
	return &notes->files[low];
}
