/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot from a minidump: the process and its threads, whatever system they ran on. */
#include "saved/minidump.h"
#include "arch/arch.h"
#include "errors.h"
#include "parts.h"
#include "saved/crash.h"
#include "saved/minidump_context.h"
#include "saved/minidump_linux.h"
#include "saved/minidump_windows.h"
#include "snapshot/read.h"

#include <string.h>

enum { NS_PER_S = 1000000000, MS_PER_S = 1000 };

/* ---- the process and its threads -------------------------------------------------------------- */

/* As Linux would call a program of that name: cut to 15 bytes, where a character ends. */
static void comm_put(char to[static SW_COMM_MAX], const char *name)
{
	size_t n = strlen(name);
	if (n > SW_COMM_MAX - 1)
		n = SW_COMM_MAX - 1;
	while (n > 0 && ((unsigned char) name[n] & 0xc0) == 0x80)
		n--;
	memcpy(to, name, n);
	to[n] = '\0';
}

/* Windows lists the program first, and so do all writers; here modules are by address. */
static const struct sw_minidump_module *program_of(const struct sw_minidump *md)
{
	static const char ending[] = ".exe";
	for (size_t i = 0; i < md->n_modules; i++) {
		size_t n = strlen(md->modules[i].path);
		if (n >= strlen(ending) &&
		    strcasecmp(md->modules[i].path + n - strlen(ending), ending) == 0)
			return &md->modules[i];
	}
	return NULL;
}

static void process_set(struct sw_minidump_filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_process *p = &f->snap->process;
	const struct sw_minidump_module *program =
		md->is_linux ? sw_minidump_linux_program(md) : program_of(md);
	/* Where the pid is not known, the first thread of a process of Linux most often has it. */
	const uint32_t pid = md->pid != 0 || !md->is_linux ? md->pid : md->threads[0].id;
	p->pid = pid != 0 && pid <= INT32_MAX ? (pid_t) pid : 1; /* not known */
	p->elf_class = 64;
	p->ppid = -1;
	p->uid = (uid_t) -1;
	p->gid = (gid_t) -1;
	p->has_no_host = true;
	p->exe = p->cgroup = "";
	if (program != NULL) {
		comm_put(p->comm, sw_minidump_name(program->path));
		p->exe = program->path;
	}
	p->uptime_ms = md->begin_s != 0 && md->time_s >= md->begin_s
			       ? (md->time_s - md->begin_s) * MS_PER_S
			       : -1;
	if (md->time_s != 0)
		f->snap->time_ns = md->time_s * NS_PER_S;
	if (md->is_linux)
		sw_minidump_linux_status(md->proc.status, p);
}

/*
 * From sp, on Linux from the red zone below it, to the end of what the dump has there without a gap. A thread of Linux that
 * used its stack up is in the guard below it.
 */
static void stack_set(struct sw_minidump_filler *f, struct sw_thread *t)
{
	struct sw_snapshot *snap = f->snap;
	uint64_t sp = t->regs.sp_avma, below = f->md.is_linux ? SW_ARCH_RED_ZONE : 0;
	size_t i = sw_snapshot_copy_find(snap, sp);
	const struct sw_range *r = i < snap->priv->n_copies ? &snap->priv->copies[i] : NULL;
	if (r != NULL && r->start_avma > sp && f->md.is_linux &&
	    r->start_avma - sp <= SW_STACK_GUARD_MAX)
		sp = r->start_avma;
	if (r == NULL || r->start_avma > sp) {
		sw_snapshot_warn(snap, SW_WARN_MEMORY, t->tid, SW_E_MEMORY,
				 "thread %d: its stack is not in the minidump", t->tid);
		return;
	}
	uint64_t skip = sp - r->start_avma;
	skip -= skip < below ? skip : below;
	t->stack_avma = r->start_avma + skip;
	t->stack = r->data + skip;
	t->stack_bytes = r->bytes - (size_t) skip;
	t->stack_end_avma = r->start_avma + r->bytes;
}

static void thread_set(struct sw_minidump_filler *f, const struct sw_minidump_thread *from,
		       struct sw_thread *t)
{
	const struct sw_minidump *md = &f->md;
	const struct sw_minidump_exception *e = &md->exception;
	bool failed = md->has_exception && e->thread == from->id;
	*t = (struct sw_thread){.tid = (pid_t) from->id,
				.state = '?',
				.syscall = -1,
				.cpu_ns = from->cpu_ns,
				.stop_ns = -1,
				.since_ns = -1,
				.stayed = true};
	/* Crashpad has the thread pointer there, and Breakpad nothing. */
	*(md->is_linux ? &t->fs_base : &t->gs_base) = from->teb_avma;
	if (from->name != NULL && from->name[0] != '\0')
		comm_put(t->comm, from->name);
	else
		memcpy(t->comm, f->snap->process.comm, sizeof(t->comm));
	t->captured =
		sw_minidump_registers(failed && e->context.size > 0 ? e->context : from->context,
				      &t->regs);
	t->captured_by = t->captured ? SW_CAPTURED_CORE : SW_CAPTURED_NOT;
	if (t->captured) {
		stack_set(f, t);
		return;
	}
	t->reason = SW_E_NOT_FOUND;
	sw_snapshot_warn(f->snap, SW_WARN_THREAD_MISSING, t->tid, SW_E_NOT_FOUND,
			 "thread %d: the minidump has no registers of it%s", t->tid,
			 md->is_linux ? "" : ": the thread wrote the dump");
}

static int threads_set(struct sw_minidump_filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	snap->threads = sw_arena_calloc(&snap->priv->arena, md->n_threads, sizeof(*snap->threads));
	if (snap->threads == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < md->n_threads; i++)
		if (md->threads[i].id != 0 && md->threads[i].id <= INT32_MAX &&
		    (i == 0 || md->threads[i].id != md->threads[i - 1].id))
			thread_set(f, &md->threads[i], &snap->threads[snap->n_threads++]);
	return 0;
}

int sw_minidump_fill(struct sw_snapshot *snap, const char *name,
		     const struct sw_minidump_images *images, struct sw_error *err)
{
	struct sw_minidump_filler f = {.snap = snap, .images = images};
	struct sw_bytes file = {snap->priv->file, snap->priv->file_bytes};
	int r = sw_minidump_images_check(images, err);
	if (r < 0)
		return r;
	r = sw_minidump_parse(&snap->priv->arena, file, name, &f.md, err);
	if (r < 0)
		return r;
	if (images->exe_path != NULL && !f.md.is_linux)
		return sw_fail(
			err, SW_E_INVALID,
			"%s: this is a minidump, whose images are given by --images DIR, not by "
			"--exe",
			name);
	snap->ranges = f.md.ranges;
	snap->n_ranges = f.md.n_ranges;
	process_set(&f);
	sw_snapshot_index(snap); /* memory is read from here on */
	r = threads_set(&f);
	if (r == 0)
		r = f.md.is_linux ? sw_minidump_linux_fill(&f) : sw_minidump_windows_fill(&f);
	if (r == 0)
		sw_minidump_warn(&f);
	sw_text_deinit(&f.missing);
	return r < 0 ? sw_fail_nomem(err) : 0;
}
