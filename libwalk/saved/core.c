/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot from an ELF core file, or a minidump. The file is mapped, not read: stacks and ranges point into it,
 * so that a core of many GB costs what is looked at. A core that is cut short while we look at it
 * is the one thing that is not guarded against (SIGBUS).
 */
#include "saved/core.h"
#include "unwind/capture.h"
#include "arch/arch.h"
#include "bytes.h"
#include "cleanup.h"
#include "saved/core_elf.h"
#include "saved/core_loaded.h"
#include "saved/core_notes.h"
#include "saved/core_open.h"
#include "saved/crash.h"
#include "saved/minidump.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "snapshot/places.h"
#include "snapshot/read.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

SW_DEFINE_CLEANUP(struct sw_snapshot *, sw_snapshot_destroy);

/* The state while the snapshot is made. */
struct reader {
	struct sw_snapshot *snap;
	struct sw_core_elf core;
	struct sw_core_notes notes;
	struct sw_core_loaded loaded; /* where notes name no files */
	const char *exe_path;         /* borrowed; NULL: not given */
	int64_t mtime_ns;
};

static int map_file(struct reader *r, const char *path, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = sw_core_open_regular(path);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == EISDIR || errno == EINVAL
			       ? sw_fail(err, SW_E_FORMAT, "%s: not a regular file", path)
			       : sw_fail_errno(err, SW_E_IO, "%s: this core file cannot be opened",
					       path);
	if (st.st_size == 0)
		return sw_fail(err, SW_E_FORMAT, "%s: an empty file, not a core file", path);
	void *p = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	r->snap->priv->file = p;
	r->snap->priv->file_bytes = (size_t) st.st_size;
	r->mtime_ns = (int64_t) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	r->snap->time_ns = r->mtime_ns;
	return 0;
}

/* The path of a mapping, copied once for all mappings of a file in a row. */
static const char *keep_path(struct reader *r, const struct sw_core_file *file)
{
	struct sw_snapshot *snap = r->snap;
	if (snap->n_maps > 0 && snap->maps[snap->n_maps - 1].inode == file->number)
		return snap->maps[snap->n_maps - 1].path;
	const char *kept = sw_arena_strdup(&snap->priv->arena, file->path);
	return kept != NULL ? kept : "";
}

static void add_map(struct reader *r, uint64_t start_avma, uint64_t end_avma, uint32_t prot,
		    const struct sw_core_file *file)
{
	struct sw_map map = {.start_avma = start_avma,
			     .end_avma = end_avma,
			     .prot = prot,
			     .place = -1,
			     .path = ""};
	if (file != NULL) {
		map.path = keep_path(r, file);
		map.file_off = file->file_off + (start_avma - file->start_avma);
		/* Cores do not tell device and inode; a number for each file stands for them. */
		map.inode = file->number;
	} else if (start_avma == r->notes.vdso_avma && start_avma != 0) {
		map.path = "[vdso]";
	}
	r->snap->maps[r->snap->n_maps++] = map;
}

/* Mapped files that no segment speaks of: gdb leaves out what can be had from the file. */
static void add_unsaid(struct reader *r, size_t index)
{
	const struct sw_core_file *f = &r->notes.files[index];
	sw_cleanup(sw_close_p) int fd = -EBADF;
	uint64_t at = f->start_avma;
	/* Each turn passes a segment or ends. */
	for (size_t i = sw_core_elf_next(&r->core, at); at < f->end_avma; i++) {
		const struct sw_core_segment *s =
			i < r->core.n_segments ? &r->core.segments[i] : NULL;
		uint64_t gap_end =
			s == NULL || s->start_avma > f->end_avma ? f->end_avma : s->start_avma;
		if (gap_end > at) {
			if (fd < 0 && f->path[0] == '/')
				fd = sw_core_open_named(r->snap, f->path);
			uint32_t prot =
				fd >= 0 ? sw_core_file_prot(fd, f->file_off + (at - f->start_avma))
					: 0;
			/* Left out means not written to; if it may be code, frames may be there. */
			add_map(r, at, gap_end, prot != 0 ? prot : SW_MAP_READ | SW_MAP_EXEC, f);
		}
		if (s == NULL || s->end_avma >= f->end_avma)
			return;
		at = s->end_avma > at ? s->end_avma : at;
	}
}

static int make_maps(struct reader *r, struct sw_error *err)
{
	struct sw_snapshot *snap = r->snap;
	/* A file's gaps are bounded by the segments between them. */
	size_t most = 2 * r->core.n_segments + r->notes.n_files;
	snap->maps = sw_arena_calloc(&snap->priv->arena, most, sizeof(*snap->maps));
	snap->ranges =
		sw_arena_calloc(&snap->priv->arena, r->core.n_segments, sizeof(*snap->ranges));
	if (snap->maps == NULL || snap->ranges == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < r->core.n_segments; i++) {
		const struct sw_core_segment *s = &r->core.segments[i];
		add_map(r, s->start_avma, s->end_avma, s->prot,
			sw_core_notes_file(&r->notes, s->start_avma));
		if (s->data.size > 0)
			snap->ranges[snap->n_ranges++] =
				(struct sw_range){s->start_avma, s->data.size, s->data.data};
	}
	for (size_t i = 0; i < r->notes.n_files; i++)
		add_unsaid(r, i);
	return 0;
}

/* From the red zone below sp to the end of what the core holds of the mapping. */
static void set_stack(struct reader *r, struct sw_thread *t)
{
	size_t i = sw_core_elf_next(&r->core, t->regs.sp_avma);
	/* A thread that used its stack up is in the guard below it. */
	i += i < r->core.n_segments && r->core.segments[i].prot == 0;
	if (i == r->core.n_segments)
		return;
	const struct sw_core_segment *s = &r->core.segments[i];
	uint64_t sp_avma = t->regs.sp_avma;
	if (s->start_avma > sp_avma) {
		if (s->start_avma - sp_avma > SW_STACK_GUARD_MAX || (s->prot & SW_MAP_WRITE) == 0)
			return;
		sp_avma = s->start_avma;
	}
	uint64_t skip = sp_avma - s->start_avma;
	skip -= skip < SW_ARCH_RED_ZONE ? skip : SW_ARCH_RED_ZONE;
	t->stack_avma = s->start_avma + skip;
	t->stack_end_avma = s->end_avma;
	if (skip < s->data.size) {
		t->stack = s->data.data + skip;
		t->stack_bytes = s->data.size - (size_t) skip;
	} else {
		sw_snapshot_warn(r->snap, SW_WARN_MEMORY, t->tid, SW_E_MEMORY,
				 "thread %d: its stack is not in the core file", t->tid);
	}
}

/*
 * The state of a thread when the process ended, which no note says. A waiting thread was woken to
 * end, or to be held by a debugger: its call returns one of the codes by which the kernel begins it
 * anew.
 */
static char state_of(const struct sw_thread *t, bool is_32bit)
{
	enum { RESTART_FIRST = 512, RESTART_LAST = 516 }; /* Linux include/linux/errno.h */
	uint64_t result = 0;
	if (t->syscall < 0)
		return 'R';
	if (!sw_regs_get(&t->regs, SW_ARCH_RESULT, &result))
		return '?';
	result = is_32bit ? (uint32_t) -result : -result;
	return (result >= RESTART_FIRST && result <= RESTART_LAST) || result == EINTR ? 'S' : '?';
}

static void set_threads(struct reader *r)
{
	struct sw_core_notes *n = &r->notes;
	r->snap->crash = sw_core_crash(n->threads[0].tid, n->signal, n->siginfo, n->is_32bit);
	for (size_t i = 0; i < n->n_threads; i++) {
		struct sw_thread *t = &n->threads[i];
		set_stack(r, t);
		t->state = state_of(t, n->is_32bit);
		/* The notes know one name and one state: the process's and its first thread's. That
		 * state is what the dump made of it (waiting for the dump, or traced), except when
		 * the kernel dumps because of that very thread, which comes first then. */
		if (i == 0 && t->tid == n->pid && n->state != '\0' && n->state != 't')
			t->state = n->state;
		if (t->tid == n->pid)
			memcpy(t->comm, n->comm, sizeof(t->comm));
	}
	r->snap->threads = n->threads;
	r->snap->n_threads = n->n_threads;
}

static int set_process(struct reader *r, struct sw_error *err)
{
	const struct sw_core_notes *n = &r->notes;
	struct sw_process *p = &r->snap->process;
	const struct sw_core_file *program = sw_core_notes_file(n, n->entry_avma);
	p->pid = n->has_process ? n->pid : n->threads[0].tid;
	p->ppid = n->ppid;
	p->uid = n->uid;
	p->elf_class = n->is_32bit ? 32 : 64;
	memcpy(p->comm, n->comm, sizeof(p->comm));
	if (program == NULL)
		return 0;
	const struct sw_map map = {.path = program->path};
	size_t length;
	(void) sw_map_path_deleted(&map, &length); /* wanted for the length */
	p->exe = sw_arena_strndup(&r->snap->priv->arena, program->path, length);
	return p->exe != NULL ? 0 : sw_fail_nomem(err);
}

static void warn_partial(struct reader *r)
{
	struct sw_snapshot *snap = r->snap;
	if (r->core.missing_bytes > 0)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_FORMAT,
				 "the core file is cut short: %" PRIu64 " bytes are missing",
				 r->core.missing_bytes);
	if (r->core.limited || r->notes.limited)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_LIMIT,
				 "the core file has more segments, threads or files than are read");
	if (r->notes.malformed)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_FORMAT,
				 "the core file has malformed notes");
}

/* Which files were mapped, where no note says it. */
static int find_loaded(struct reader *r, struct sw_error *err)
{
	static const char about[] = "the core file does not say which files were mapped";
	struct sw_snapshot *snap = r->snap;
	if (sw_core_loaded_find(snap, &r->core, r->exe_path, &r->notes, &r->loaded) < 0)
		return sw_fail_nomem(err);
	if (r->loaded.program == NULL)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND,
				 "%s, nor what the program was: name it with --exe", about);
	else if (r->loaded.limited)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, SW_E_LIMIT,
				 "%s, and the dynamic linker's list has more than are read", about);
	else if (r->loaded.damaged)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, SW_E_MEMORY,
				 "%s, and the dynamic linker's list is not whole in it", about);
	if (r->loaded.n_nameless > 0)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND,
				 "%s, and no file is found for %zu of them by its build-id", about,
				 r->loaded.n_nameless);
	return 0;
}

static int read_core(struct reader *r, const char *path, struct sw_error *err)
{
	struct sw_snapshot_priv *priv = r->snap->priv;
	struct sw_bytes file = {priv->file, priv->file_bytes};
	int result = sw_core_elf_parse(&priv->arena, file, path, &r->core, err);
	if (result < 0)
		return result;
	r->notes.is_32bit = r->core.is_32bit;
	for (size_t i = 0; i < r->core.n_notes; i++)
		if (sw_core_notes_parse(&priv->arena, r->core.notes[i], &r->notes) < 0)
			return sw_fail_nomem(err);
	if (r->notes.n_threads == 0)
		return sw_fail(err, SW_E_FORMAT, "%s: holds no thread's registers: cut short?",
			       path);
	warn_partial(r);
	result = r->notes.n_files == 0 ? find_loaded(r, err) : 0;
	if (result < 0)
		return result;
	set_threads(r);
	result = set_process(r, err);
	return result < 0 ? result : make_maps(r, err);
}

/* ---- what runtimes may do before they are opened ---------------------------------------------- */

/* Nothing changes any more, and all that there is can be read later. */
static int want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	(void) capture;
	(void) avma;
	(void) bytes;
	return 0;
}

static int open_here(struct sw_capture *capture, const char *path, struct stat *st)
{
	sw_cleanup(sw_close_p) int fd = sw_core_open_named(capture->snap, path);
	return fd >= 0 && fstat(fd, st) == 0 ? sw_take_fd(fd) : -1;
}

static ssize_t proc_read(struct sw_capture *capture, const char *name, char *buffer, size_t bytes)
{
	(void) capture;
	(void) name;
	(void) buffer;
	(void) bytes;
	return -1;
}

/* The core file does not change: what is copied is what would be read later. */
static void of_threads(struct sw_capture *capture, const struct sw_way *way)
{
	enum { PAGE = 4096 };
	struct sw_snapshot *snap = capture->snap;
	for (size_t i = 0; i < snap->n_threads; i++) {
		struct sw_thread *t = &snap->threads[i];
		uint64_t avma;
		if (!t->captured || !sw_way_end(way, capture->memory, t->fs_base, &avma))
			continue;
		size_t bytes = SW_CONTEXT_BYTES, in_page = PAGE - avma % PAGE;
		uint8_t *to = sw_arena_alloc(&snap->priv->arena, bytes);
		if (to == NULL)
			return;
		if (!sw_memory_read(capture->memory, avma, to, bytes)) {
			bytes = in_page < bytes ? in_page : bytes;
			if (!sw_memory_read(capture->memory, avma, to, bytes))
				continue;
		}
		t->context = to;
		t->context_bytes = bytes;
	}
}

static void runtimes_before(struct sw_snapshot *snap, const struct sw_tables *tables)
{
	static const struct sw_capture_ops ops = {.want = want,
						  .of_threads = of_threads,
						  .open = open_here,
						  .proc_read = proc_read};
	struct sw_snapshot_memory memory = {.snap = snap};
	tables = sw_tables_of(tables, snap);
	for (size_t i = 0; i < tables->n_runtimes; i++) {
		const struct sw_runtime_ops *r = tables->runtimes[i];
		if (r->before == NULL || !r->probe(snap))
			continue;
		struct sw_capture capture = {.snap = snap,
					     .ops = &ops,
					     .memory = sw_snapshot_memory(&memory),
					     .found = sw_slots_get(&snap->priv->found, r, NULL)};
		int code = capture.found != NULL ? r->before(&capture) : 0;
		if (code < 0)
			sw_snapshot_warn(snap, SW_WARN_CAPTURE, 0, -code, "%s: %s", r->name,
					 sw_error_text(code));
	}
}

/* Fills the snapshot from an ELF core file, which is mapped. */
static int core_fill(struct reader *reader, const char *core_path, struct sw_error *err)
{
	struct sw_snapshot *snap = reader->snap;
	const char *exe_path = reader->exe_path;
	if (exe_path != NULL) {
		sw_cleanup(sw_close_p) int fd = sw_core_open_regular(exe_path);
		if (fd < 0)
			return errno == EINVAL
				       ? sw_fail(err, SW_E_FORMAT,
						 "%s: not a regular file, and so no program",
						 exe_path)
				       : sw_fail_errno(err, SW_E_IO, "%s", exe_path);
	}
	int result = read_core(reader, core_path, err);
	if (result < 0)
		return result;
	const struct sw_core_file *program =
		sw_core_notes_file(&reader->notes, reader->notes.entry_avma);
	struct sw_core_opener o = {.snap = snap,
				   .core = &reader->core,
				   .core_mtime_ns = reader->mtime_ns,
				   .program = program != NULL ? program->path : NULL,
				   .exe_path = exe_path};
	struct sw_opener opener = sw_core_opener(&o);
	sw_snapshot_index(snap);
	result = sw_snapshot_find_places(snap, &opener, err);
	if (result == 0)
		result = sw_snapshot_add_loaded(snap, &opener, err);
	if (result < 0)
		return result;
	sw_core_crash_access(snap);
	sw_crash_overflow(snap);
	return 0;
}

int sw_core_snapshot(struct sw_context *ctx, const char *core_path,
		     const struct sw_core_options *options, const struct sw_tables *tables,
		     struct sw_snapshot **ret, struct sw_error *err)
{
	sw_cleanup(sw_snapshot_destroy_p) struct sw_snapshot *snap = NULL;
	const struct sw_minidump_images images = {options->images, options->n_images,
						  options->exe_path};
	int result = sw_snapshot_create(ctx, &snap, err);
	if (result < 0)
		return result;
	struct reader r = {.snap = snap, .exe_path = options->exe_path};
	result = map_file(&r, core_path, err);
	if (result < 0)
		return result;
	struct sw_bytes file = {snap->priv->file, snap->priv->file_bytes};
	if (!sw_minidump_is(file) && options->n_images > 0)
		return sw_fail(err, SW_E_INVALID,
			       "%s: this is no minidump, and --images is for minidumps: give the "
			       "program with --exe",
			       core_path);
	result = sw_minidump_is(file) ? sw_minidump_fill(snap, core_path, &images, err)
				      : core_fill(&r, core_path, err);
	if (result < 0)
		return result;
	runtimes_before(snap, tables);
	sw_snapshot_warn_limits(snap);
	*ret = sw_take_ptr(snap);
	return 0;
}
