/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fixtures, a snapshot as a directory: what is in them, and taking it from their lines.
 *
 *	snapshot	text, described below
 *	memory		bytes of stacks and ranges; where they lie says the text
 *	modules/NAME	copies of the files that code was mapped from, or of their image in memory; and
 *			of files beside the process
 *
 * The text has one record in each line: a keyword and words with spaces between. Numbers are decimal,
 * or hexadecimal after 0x. Strings have bytes outside '!'..'~' and '%' as %XX; "-" is the empty one.
 *
 *	snapwalk-fixture 1		the format's version; always the first line
 *	arch x86_64
 *	process PID PPID UID STARTTIME UPTIME_MS ELF_CLASS COMM EXE CGROUP
 *	time TIME_NS ATTACH_NS STOPPED_NS LONGEST_NS COPY_NS TAKE_NS INTERRUPTED
 *	crash SIGNAL TID HAS_CODE CODE HAS_ADDRESS ADDRESS ACCESS SENDER_PID SENDER_UID
 *					of a core file's process only
 *	exception CODE TID HAS_ADDRESS ADDRESS ACCESS OVERFLOW
 *					of a minidump's process only
 *	range START BYTES OFFSET	OFFSET is into memory
 *	torn				threads ran while the data of runtimes was copied: ranges are not of one instant
 *	thread TID CAPTURED REASON FLAGS STATE SYSCALL INTERRUPTED CPU_NS STOP_NS FS_BASE GS_BASE
 *		STACK_START STACK_END STACK_BYTES OFFSET COMM WCHAN	(in one line)
 *	regs KNOWN PC SP VALUE...	of the thread before; 17 values by DWARF number
 *	owntid TID			of the thread before, where it has another id in its own pid namespace:
 *					locks hold that one. -1: it could not be asked for
 *	wait SINCE_NS STAYED BYTES OFFSET
 *					of the thread before: for how long it has been off the CPU, whether it ran
 *					while others were captured, and the memory around the futex it waits on
 *	context BYTES OFFSET		of the thread before: what it publishes of its request
 *	module KIND DELETED NAME PATH	numbered from 0; NAME is "-" when there is no file
 *	place MODULE START END		numbered from 0
 *	map START END FILE_OFFSET INODE MAJOR MINOR PROT PLACE PATH
 *	side KIND NAME			a file beside the process, copied to modules/NAME: snapshot/side_file.h
 *	warning CODE TID REASON MESSAGE
 *	end				always the last line: without it the file was cut short
 *
 * Lines with other keywords are skipped, so that later versions may add some; a line that changes
 * what the known ones mean needs a new version. Words are only ever added at the end of a line.
 * Times, addresses and codes are those of walk.h.
 */
#include "snapshot/snapshot.h"
#include "cleanup.h"
#include "saved/fixture_load.h"
#include "snapshot/module.h"
#include "snapshot/side_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	THREADS_MAX = 65536,
	RANGES_MAX = 262144,
	PLACES_MAX = 65536,
	MODULES_MAX = 65536,
	STATE_BYTES = 2,
};

/* [offset, offset + *bytes) of the memory file; *bytes is cut to what it holds. */
static const uint8_t *memory_at(struct sw_fixture_loader *l, uint64_t offset, size_t *bytes)
{
	const struct sw_snapshot_priv *priv = l->snap->priv;
	size_t held = offset < priv->file_bytes ? priv->file_bytes - (size_t) offset : 0;
	if (*bytes > held) {
		*bytes = held;
		l->cut = true;
	}
	return *bytes > 0 ? priv->file + offset : NULL;
}

static void take_process(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_process *p = &l->snap->process;
	struct sw_arena *arena = &l->snap->priv->arena;
	p->pid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	p->ppid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	p->uid = (uid_t) sw_fixture_u64(line, UINT32_MAX);
	p->starttime = sw_fixture_u64(line, UINT64_MAX);
	p->uptime_ms = sw_fixture_i64(line, -1, INT64_MAX);
	p->elf_class = (int) sw_fixture_i64(line, 32, 64);
	sw_fixture_string(line, p->comm, sizeof(p->comm));
	p->exe = sw_fixture_strdup(line, arena, &l->nomem);
	p->cgroup = sw_fixture_strdup(line, arena, &l->nomem);
}

static void take_time(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_times *t = &l->snap->times;
	l->snap->time_ns = sw_fixture_i64(line, INT64_MIN, INT64_MAX);
	t->attach_ns = sw_fixture_i64(line, 0, INT64_MAX);
	t->stopped_ns = sw_fixture_i64(line, 0, INT64_MAX);
	t->longest_thread_ns = sw_fixture_i64(line, 0, INT64_MAX);
	t->copy_ns = sw_fixture_i64(line, 0, INT64_MAX);
	t->take_ns = sw_fixture_i64(line, 0, INT64_MAX);
	l->snap->interrupted_calls = (size_t) sw_fixture_u64(line, SIZE_MAX);
}

static void take_crash(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	enum { SIGNALS = 64 };
	struct sw_crash *c = &l->snap->crash;
	c->signal = (int) sw_fixture_i64(line, 1, SIGNALS);
	c->tid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	c->has_code = sw_fixture_u64(line, 1);
	c->code = (int) sw_fixture_i64(line, INT32_MIN, INT32_MAX);
	c->has_address = sw_fixture_u64(line, 1);
	c->address_avma = sw_fixture_u64(line, UINT64_MAX);
	c->access = (enum sw_access_kind) sw_fixture_u64(line, SW_ACCESS_EXECUTE);
	c->sender_pid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	c->sender_uid = (uid_t) sw_fixture_u64(line, UINT32_MAX);
}

static void take_exception(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_crash *c = &l->snap->crash;
	c->exception = (uint32_t) sw_fixture_u64(line, UINT32_MAX);
	c->tid = (pid_t) sw_fixture_i64(line, 1, INT32_MAX);
	c->has_address = sw_fixture_u64(line, 1);
	c->address_avma = sw_fixture_u64(line, UINT64_MAX);
	c->access = (enum sw_access_kind) sw_fixture_u64(line, SW_ACCESS_EXECUTE);
	c->stack_overflow = sw_fixture_u64(line, 1);
}

static void take_arch(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	static const char wanted[] = "x86_64";
	size_t size;
	const char *word = sw_fixture_word(line, &size);
	(void) l;
	if (size != sizeof(wanted) - 1 || memcmp(word, wanted, size) != 0)
		line->bad = true;
}

static void take_range(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_range r = {.start_avma = sw_fixture_u64(line, UINT64_MAX)};
	r.bytes = (size_t) sw_fixture_u64(line, SIZE_MAX);
	uint64_t end;
	r.data = memory_at(l, sw_fixture_u64(line, UINT64_MAX), &r.bytes);
	if (__builtin_add_overflow(r.start_avma, r.bytes, &end))
		line->bad = true;
	if (!line->bad && r.bytes > 0)
		l->snap->ranges[l->snap->n_ranges++] = r;
}

static void take_thread(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_thread *t = &l->snap->threads[l->snap->n_threads];
	char state[STATE_BYTES];
	uint64_t end;
	t->tid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	t->captured = sw_fixture_u64(line, 1);
	t->reason = (int) sw_fixture_u64(line, INT32_MAX);
	t->since_ns = -1;
	t->stayed = true; /* nothing else is known: of a core file, or written before that was */
	t->captured_by = t->captured ? SW_CAPTURED_FIXTURE : SW_CAPTURED_NOT;
	t->flags = (uint32_t) sw_fixture_u64(line, UINT32_MAX);
	sw_fixture_string(line, state, sizeof(state));
	t->state = state[0] != '\0' ? state[0] : '?';
	t->syscall = sw_fixture_i64(line, -1, INT64_MAX);
	t->interrupted = sw_fixture_u64(line, 1);
	t->cpu_ns = sw_fixture_i64(line, -1, INT64_MAX);
	t->stop_ns = sw_fixture_i64(line, -1, INT64_MAX);
	t->fs_base = sw_fixture_u64(line, UINT64_MAX);
	t->gs_base = sw_fixture_u64(line, UINT64_MAX);
	t->stack_avma = sw_fixture_u64(line, UINT64_MAX);
	t->stack_end_avma = sw_fixture_u64(line, UINT64_MAX);
	t->stack_bytes = (size_t) sw_fixture_u64(line, SIZE_MAX);
	t->stack = memory_at(l, sw_fixture_u64(line, UINT64_MAX), &t->stack_bytes);
	sw_fixture_string(line, t->comm, sizeof(t->comm));
	sw_fixture_string(line, t->wchan, sizeof(t->wchan));
	if (__builtin_add_overflow(t->stack_avma, t->stack_bytes, &end))
		line->bad = true;
	l->thread = t;
	l->snap->n_threads++;
}

static void take_regs(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	if (l->thread == NULL) {
		line->bad = true;
		return;
	}
	struct sw_regs *r = &l->thread->regs;
	r->known = (uint32_t) sw_fixture_u64(line, (UINT64_C(1) << SW_REGS_MAX) - 1);
	r->pc_avma = sw_fixture_u64(line, UINT64_MAX);
	r->sp_avma = sw_fixture_u64(line, UINT64_MAX);
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		r->val[i] = sw_fixture_u64(line, UINT64_MAX);
}

static void take_owntid(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	if (l->thread == NULL)
		line->bad = true;
	else
		l->thread->own_tid = (pid_t) sw_fixture_i64(line, -1, INT32_MAX);
}

static void take_wait(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_thread *t = l->thread;
	if (t == NULL) {
		line->bad = true;
		return;
	}
	t->since_ns = sw_fixture_i64(line, -1, INT64_MAX);
	t->stayed = sw_fixture_u64(line, 1);
	t->wait_bytes = (size_t) sw_fixture_u64(line, sizeof(t->wait));
	const uint8_t *bytes = memory_at(l, sw_fixture_u64(line, UINT64_MAX), &t->wait_bytes);
	if (line->p < line->end) /* not in those that were written before that was */
		t->instant = (uint32_t) sw_fixture_u64(line, UINT32_MAX);
	if (t->wait_bytes > 0)
		memcpy(t->wait, bytes, t->wait_bytes);
}

static void take_context(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_thread *t = l->thread;
	if (t == NULL) {
		line->bad = true;
		return;
	}
	t->context_bytes = (size_t) sw_fixture_u64(line, SW_CONTEXT_BYTES);
	t->context = memory_at(l, sw_fixture_u64(line, UINT64_MAX), &t->context_bytes);
}

/* Only plain names: what is read lies below the fixture's directory. */
static bool name_ok(const char *name)
{
	return name[0] != '.' && strchr(name, '/') == NULL;
}

/* fd of modules/NAME, or -1: a regular file that is no link to elsewhere. */
static int module_open(struct sw_fixture_loader *l, const char *name, struct stat *st)
{
	if (name[0] == '\0' || l->modules_fd < 0)
		return -1;
	/* NONBLOCK: a fifo must not make us wait. */
	sw_cleanup(sw_close_p) int fd =
		openat(l->modules_fd, name,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	return sw_take_fd(fd);
}

static void take_module(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_snapshot *snap = l->snap;
	char name[NAME_MAX + 1];
	enum sw_module_kind kind = (enum sw_module_kind) sw_fixture_u64(line, SW_MODULE_ANON);
	bool deleted = sw_fixture_u64(line, 1);
	sw_fixture_string(line, name, sizeof(name));
	const char *path = sw_fixture_strdup(line, &snap->priv->arena, &l->nomem);
	if (!name_ok(name))
		line->bad = true;
	if (line->bad || l->nomem)
		return;
	struct stat st;
	int fd = module_open(l, name, &st), r;
	if (fd >= 0)
		r = sw_context_module_file(snap->ctx, kind, path, deleted, fd, &st,
					   &l->modules[l->n_modules]);
	else
		r = sw_context_module_memory(snap->ctx, kind, path, deleted, NULL, 0,
					     "its file was not recorded",
					     &l->modules[l->n_modules]);
	if (fd < 0 && name[0] != '\0')
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND,
				 "%s: its copy in the fixture is missing", path);
	if (r < 0)
		l->nomem = true;
	else
		l->n_modules++;
}

static void take_place(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	uint64_t module = sw_fixture_u64(line, UINT32_MAX);
	struct sw_place p = {.start_avma = sw_fixture_u64(line, UINT64_MAX)};
	p.end_avma = sw_fixture_u64(line, UINT64_MAX);
	if (module >= l->n_modules || p.start_avma >= p.end_avma)
		line->bad = true;
	if (line->bad)
		return;
	p.module = l->modules[module];
	l->snap->places[l->snap->n_places++] = p;
}

static void take_map(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	struct sw_map m = {.start_avma = sw_fixture_u64(line, UINT64_MAX)};
	m.end_avma = sw_fixture_u64(line, UINT64_MAX);
	m.file_off = sw_fixture_u64(line, UINT64_MAX);
	m.inode = sw_fixture_u64(line, UINT64_MAX);
	m.dev_major = (uint32_t) sw_fixture_u64(line, UINT32_MAX);
	m.dev_minor = (uint32_t) sw_fixture_u64(line, UINT32_MAX);
	m.prot = (uint32_t) sw_fixture_u64(line, SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC |
							 SW_MAP_SHARED);
	m.place = (int32_t) sw_fixture_i64(line, -1, INT32_MAX);
	m.path = sw_fixture_strdup(line, &l->snap->priv->arena, &l->nomem);
	if (m.start_avma >= m.end_avma)
		line->bad = true;
	if (!line->bad)
		l->snap->maps[l->snap->n_maps++] = m;
}

static void take_side(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	char kind[NAME_MAX + 1], name[NAME_MAX + 1];
	struct stat st;
	sw_fixture_string(line, kind, sizeof(kind));
	sw_fixture_string(line, name, sizeof(name));
	if (!name_ok(name))
		line->bad = true;
	int fd = line->bad ? -1 : module_open(l, name, &st);
	int r = fd >= 0 ? sw_side_file_keep(l->snap, kind, fd) : 0;
	if (r == -SW_E_NOMEM)
		l->nomem = true;
	else if (!line->bad && (fd < 0 || r < 0))
		sw_snapshot_warn(l->snap, SW_WARN_PARTIAL, 0, SW_E_NOT_FOUND,
				 "%s: its copy in the fixture is missing", kind);
}

static void take_warning(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	char message[SW_ERROR_MESSAGE_MAX];
	enum sw_warning_code code = (enum sw_warning_code) sw_fixture_u64(line, SW_WARN_LIMIT);
	pid_t tid = (pid_t) sw_fixture_i64(line, 0, INT32_MAX);
	int reason = (int) sw_fixture_u64(line, INT32_MAX);
	sw_fixture_string(line, message, sizeof(message));
	if (!line->bad)
		sw_snapshot_warn(l->snap, code, tid, reason, "%s", message);
}

static void take_torn(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	(void) line;
	l->snap->priv->hooks_torn = true;
}

static void take_end(struct sw_fixture_loader *l, struct sw_fixture_line *line)
{
	(void) line;
	l->ended = true;
}

static const struct sw_fixture_record records[] = {
	{"arch", take_arch, SIZE_MAX, 0},
	{"process", take_process, SIZE_MAX, 0},
	{"time", take_time, SIZE_MAX, 0},
	{"crash", take_crash, SIZE_MAX, 0},
	{"exception", take_exception, SIZE_MAX, 0},
	{"range", take_range, offsetof(struct sw_fixture_counts, ranges), RANGES_MAX},
	{"torn", take_torn, SIZE_MAX, 0},
	{"thread", take_thread, offsetof(struct sw_fixture_counts, threads), THREADS_MAX},
	{"regs", take_regs, SIZE_MAX, 0},
	{"owntid", take_owntid, SIZE_MAX, 0},
	{"wait", take_wait, SIZE_MAX, 0},
	{"context", take_context, SIZE_MAX, 0},
	{"module", take_module, offsetof(struct sw_fixture_counts, modules), MODULES_MAX},
	{"place", take_place, offsetof(struct sw_fixture_counts, places), PLACES_MAX},
	{"map", take_map, offsetof(struct sw_fixture_counts, maps), SW_MAPS_MAX},
	{"side", take_side, SIZE_MAX, 0},
	{"warning", take_warning, SIZE_MAX, 0},
	{"end", take_end, SIZE_MAX, 0},
};

const struct sw_fixture_record *sw_fixture_record_find(const char *word, size_t size)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(records); i++)
		if (strlen(records[i].keyword) == size &&
		    memcmp(records[i].keyword, word, size) == 0)
			return &records[i];
	return NULL;
}
