/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/uprobes.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/bpf.h"
#include "iterate/called.h"
#include "iterate/places.h"
#include "parts.h"
#include "process/filesystems.h"
#include "process/proc.h"
#include "text.h"
#include "own_fd.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum {
	NOT_SUPPORTED = 524, /* the kernel's own ENOTSUPP, which errno.h does not have */
	INSN_BYTES = 15,     /* of an instruction, at most */
	NS_PER_MS = 1000000,
	TAKING_OUT_MS = 3000, /* is waited for processes whose memory is locked */
};

/* perf_event_open(2) with the source uprobe: the number of the source stands in sysfs (perf_uprobe in
 * kernel/events/core.c, v4.17 to v6.18). */
bool sw_event_probe_type(uint32_t *ret)
{
	enum { TEXT_MAX = 64 };
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	char *end;
	if (sw_text_read_at(&text, AT_FDCWD, "/sys/bus/event_source/devices/uprobe/type",
			    TEXT_MAX) < 0 ||
	    text.size == 0)
		return false;
	unsigned long number = strtoul(text.data, &end, 10);
	if (end == text.data || number > UINT32_MAX)
		return false;
	*ret = (uint32_t) number;
	return true;
}

/*
 * Whether the kernel and a disk answer for the file. For a probe the kernel reads the page of the file, and meanwhile holds
 * the lock of the target's memory and one that each fork(2) of the machine needs: kernel/events/uprobes.c,
 * register_for_each_vma(), v6.1 to v6.18. A server that does not answer would stop them all, and no signal ends it.
 */
static bool is_local(const struct sw_target *target, int file_fd)
{
	sw_cleanup(sw_close_p) int live_fd = sw_target_live_fd(target);
	sw_cleanup(sw_close_p) int self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int whose[] = {live_fd, self_fd};
	struct sw_fs_file file, root;
	if (!sw_filesystems_file(file_fd, &file))
		return false;
	if (sw_filesystems_root(&root) && sw_filesystems_same_device(&file, &root))
		return true; /* our own pages come from there */
	for (size_t i = 0; i < SW_ARRAY_SIZE(whose); i++) {
		sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
		struct sw_filesystems fs = {0};
		enum sw_fs_kind kind;
		if (whose[i] >= 0 && sw_filesystems_read(&arena, whose[i], &fs) == 0 &&
		    sw_filesystems_find(&fs, &file, &kind))
			return kind == SW_FS_LOCAL;
	}
	return false;
}

/* The bytes of an instruction, as many as one may have. */
static void bytes_put(int file_fd, uint64_t file_off, char *ret, size_t size)
{
	uint8_t bytes[INSN_BYTES];
	sw_cleanup(sw_close_p) int fd = sw_own_fd_open_to_read(file_fd); /* file_fd is a path */
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t) file_off);
	size_t at = 0;
	ret[0] = '\0';
	for (ssize_t i = 0; i < n && at + 4 <= size; i++)
		at += (size_t) snprintf(ret + at, size - at, "%s%02x", i > 0 ? " " : "",
					bytes[i]); /* fits */
}

/* The kernel has refused the last probe that was opened, at an instruction of a place; place NULL: there is none. */
static int refused(int error, const struct sw_event_place *place, uint64_t file_off,
		   struct sw_error *err)
{
	const char *name = place != NULL && place->name != NULL ? place->name : "this function";
	char bytes[3 * INSN_BYTES];
	switch (error) {
	case ENOMEM: return sw_fail_nomem(err);
	case EACCES:
	case EPERM:
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "the kernel refuses to probe code (CAP_SYS_ADMIN; CAP_PERFMON and "
			       "CAP_BPF from Linux 6.10 on)");
	case E2BIG:
		return sw_fail(err, SW_E_LIMIT, "more than %d places of code would be probed",
			       SW_UPROBES_MAX);
	case ESRCH: return sw_fail(err, SW_E_EXITED, "the process exited");
	case NOT_SUPPORTED:
		bytes_put(place->file_fd, file_off, bytes, sizeof(bytes));
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the kernel does not probe %.100s: the instruction at 0x%" PRIx64
			       " of its file (%s) is of a kind that it cannot step; name a "
			       "function that calls it, or that it calls",
			       name, file_off, bytes);
	default:
		errno = error;
		return sw_fail_errno(err, SW_E_UNSUPPORTED,
				     "the kernel cannot probe %.100s at 0x%" PRIx64 " of its file",
				     name, file_off);
	}
}

enum { SEMAPHORE_SHIFT = 32 }; /* of config: format/ref_ctr_offset in sysfs, v4.20 */

/* The attributes of a probe, which has path until it is open. */
static void attr_set(struct perf_event_attr *attr, char path[SW_OWN_FD_BYTES], uint32_t type,
		     int file_fd, uint64_t file_off)
{
	sw_own_fd_name(file_fd, path);
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = type;
	attr->uprobe_path = (uintptr_t) path;
	attr->probe_offset = file_off;
}

int sw_event_probe_open(uint32_t type, pid_t tid, int file_fd, uint64_t file_off,
			uint64_t semaphore_off)
{
	char path[SW_OWN_FD_BYTES];
	struct perf_event_attr attr;
	attr_set(&attr, path, type, file_fd, file_off);
	attr.config = semaphore_off << SEMAPHORE_SHIFT;
	int fd = (int) syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sw_uprobe_of_self(uint32_t type, int file_fd, uint64_t file_off)
{
	char path[SW_OWN_FD_BYTES];
	struct perf_event_attr attr;
	attr_set(&attr, path, type, file_fd, file_off);
	int fd = (int) syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0 || errno != EACCES)
		return fd < 0 ? -errno : fd;
	sw_own_fd_name(file_fd, path);
	return sw_iterate_places_nothing(getpid(), path, file_off);
}

/* The event, also where the kernel refuses it to this process; tid: of sw_uprobes_open(). */
static int event_open(const struct sw_uprobes_programs *programs, uint32_t type, pid_t tid,
		      int file_fd, uint64_t file_off, uint64_t semaphore_off)
{
	int fd = sw_event_probe_open(type, tid, file_fd, file_off, semaphore_off);
	if (fd != -EACCES || programs->probe_open == NULL)
		return fd;
	return programs->probe_open(programs->probe_arg, tid, file_fd, file_off, semaphore_off);
}

/* The program at an event, which is owned by p. 0, or a negative errno. number is the cookie of the program. */
static int event_link(struct sw_uprobes *p, int fd, uint64_t number, int program_fd)
{
	union bpf_attr link;
	p->fds[p->n] = fd;
	p->links[p->n++] = -EBADF;
	memset(&link, 0, sizeof(link));
	link.link_create.prog_fd = (uint32_t) program_fd;
	link.link_create.target_fd = (uint32_t) fd;
	link.link_create.attach_type = BPF_PERF_EVENT;
	link.link_create.perf_event.bpf_cookie = number;
	int link_fd = sw_bpf(BPF_LINK_CREATE, &link);
	if (link_fd < 0)
		return -errno;
	p->links[p->n - 1] = link_fd;
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

/* ---- groups ----------------------------------------------------------------------------------- */

/*
 * Instructions of one file, with the same program. One link has them all: it takes the kernel as long to take it out as one
 * alone. They are not more, as the memory of processes may be locked from the look at it on.
 */
enum { GROUP_MAX = 32 };
struct group {
	int program_fd;
	size_t n;
	const struct sw_event_place *places[GROUP_MAX];
	uint64_t offs[GROUP_MAX], semaphores_off[GROUP_MAX], cookies[GROUP_MAX];
	struct stat file; /* of the last one */
};

/* Being opened. */
struct opening {
	struct sw_uprobes *probes;
	const struct sw_uprobes_programs *programs;
	pid_t tid;
	uint32_t type;
	struct group group;
};

/* Puts the instructions i to i + n of the group there. 0, or a negative errno. */
static int part_link(struct opening *o, size_t i, size_t n)
{
	const struct group *g = &o->group;
	struct sw_uprobes *p = o->probes;
	int file_fd = g->places[i]->file_fd;
	char path[SW_OWN_FD_BYTES];
	if (!o->programs->linked) {
		int fd = event_open(o->programs, o->type, o->tid, file_fd, g->offs[i],
				    g->semaphores_off[i]);
		return fd < 0 ? fd : event_link(p, fd, g->cookies[i], g->program_fd);
	}
	sw_own_fd_name(file_fd, path);
	int fd = sw_iterate_places_link(g->program_fd, o->tid, path,
					&(struct sw_iterate_places){.offs = g->offs + i,
								    .semaphores_off =
									    g->semaphores_off + i,
								    .cookies = g->cookies + i,
								    .n = n});
	if (fd < 0)
		return fd;
	p->fds[p->n] = -EBADF;
	p->links[p->n++] = fd;
	return 0;
}

/* Waits until no process that maps the file has its memory locked, and puts the group there. It is empty then. */
static int group_end(struct opening *o, struct sw_error *err)
{
	struct group *g = &o->group;
	const size_t n = g->n;
	g->n = 0;
	if (n == 0)
		return 0;
	int r = sw_memory_locks_check(&o->probes->locks, g->places[0]->file_fd, err);
	if (r < 0)
		return r;
	if (n > 1 && part_link(o, 0, n) == 0)
		return 0;
	/* Each alone, so that the error names the one that is refused. */
	for (size_t i = 0; i < n; i++) {
		r = part_link(o, i, 1);
		if (r < 0)
			return refused(-r, g->places[i], g->offs[i], err);
	}
	return 0;
}

/* Whether an earlier probe is at that instruction: functions share code that they jump to, and the kernel has one breakpoint
 * there. Earlier probes are taken out later. */
static bool is_shared(const struct sw_uprobes *p, const struct stat *file, uint64_t file_off)
{
	for (size_t i = 0; i < p->n_at; i++)
		if (p->at[i].file_off == file_off && p->at[i].inode == file->st_ino &&
		    p->at[i].device == file->st_dev)
			return true;
	return false;
}

/* An instruction more, with the cookie of its program. semaphore_off: 0: none. */
static int instruction_put(struct opening *o, const struct sw_event_place *place, uint64_t file_off,
			   uint64_t semaphore_off, uint64_t cookie, int program_fd,
			   struct sw_error *err)
{
	struct sw_uprobes *p = o->probes;
	struct group *g = &o->group;
	struct stat file;
	int r = 0;
	if (p->n_at == SW_UPROBES_MAX || semaphore_off > UINT32_MAX)
		return refused(E2BIG, place, file_off, err);
	if (fstat(place->file_fd, &file) < 0)
		return refused(errno, place, file_off, err);
	if (g->n == (o->programs->linked ? GROUP_MAX : 1) ||
	    (g->n > 0 && (g->program_fd != program_fd || g->file.st_ino != file.st_ino ||
			  g->file.st_dev != file.st_dev)))
		r = group_end(o, err);
	if (r < 0)
		return r;
	cookie |= (uint64_t) is_shared(p, &file, file_off) << SW_CALLED_SHARED_AT;
	p->at[p->n_at].device = file.st_dev;
	p->at[p->n_at].inode = file.st_ino;
	p->at[p->n_at++].file_off = file_off;
	g->program_fd = program_fd;
	g->file = file;
	g->places[g->n] = place;
	g->offs[g->n] = file_off;
	g->semaphores_off[g->n] = semaphore_off;
	g->cookies[g->n++] = cookie;
	return 0;
}

/* ---- places ----------------------------------------------------------------------------------- */

static uint64_t value_bits(struct sw_event_value value)
{
	return (value.argument & SW_CALLED_VALUE_ARGUMENT) |
	       (value.pointed ? (uint64_t) SW_CALLED_VALUE_POINTED : 0);
}

/* The number of a place alone, where it is of no pair. */
static uint64_t cookie_of(const struct sw_event_place *place, size_t number)
{
	return (uint64_t) number | (uint64_t) place->pair << SW_CALLED_PAIR_AT |
	       value_bits(place->handle) << SW_CALLED_HANDLE_AT |
	       value_bits(place->size) << SW_CALLED_SIZE_AT |
	       (uint64_t) place->only_zero << SW_CALLED_ONLY_ZERO_AT |
	       (uint64_t) (place->size_times & SW_CALLED_VALUE_ARGUMENT) << SW_CALLED_TIMES_AT |
	       (uint64_t) place->nests << SW_CALLED_NESTS_AT |
	       (uint64_t) place->moves << SW_CALLED_MOVES_AT |
	       (uint64_t) !place->emulated << SW_CALLED_STEPPED_AT;
}

static int returns_put(struct opening *o, const struct sw_event_place *place, size_t number,
		       struct sw_error *err)
{
	const uint64_t cookie = cookie_of(place, number);
	int r = 0;
	for (size_t k = 0; r == 0 && k < place->n_returns; k++)
		r = instruction_put(o, place, place->returns_off[k], 0,
				    cookie | (place->returns_first >> k & 1) << SW_CALLED_FIRST_AT,
				    o->programs->return_fd, err);
	return r;
}

/* Each thing that is noted has its release watched, and each call that is noted comes to a return: those come first. */
static int places_put(struct opening *o, const struct sw_event_place *places, size_t n,
		      struct sw_error *err)
{
	enum { RELEASES, RETURNS, BEGINNINGS, TURNS };
	const struct sw_uprobes_programs *programs = o->programs;
	int r = 0;
	for (int turn = RELEASES; turn < TURNS; turn++)
		for (size_t i = 0; r == 0 && i < n && i < SW_EVENT_PLACES_MAX; i++) {
			if (turn == RETURNS && programs->return_fd >= 0)
				r = returns_put(o, &places[i], i, err);
			if (turn == (places[i].releases ? RELEASES : BEGINNINGS))
				r = instruction_put(o, &places[i], places[i].file_off,
						    places[i].semaphore_off,
						    cookie_of(&places[i], i),
						    places[i].releases ? programs->release_fd
								       : programs->begin_fd,
						    err);
		}
	return r < 0 ? r : group_end(o, err);
}

bool sw_event_probes_linked(void)
{
	return !sw_proc_is_capable(CAP_SYS_ADMIN) && sw_iterate_places_there();
}

bool sw_uprobes_linked(const struct sw_target *target)
{
	pid_t tid = 0;
	sw_cleanup(sw_close_p) int live_fd = sw_target_live_thread(target, &tid);
	return live_fd >= 0 && tid == target->pid && sw_event_probes_linked();
}

int sw_uprobes_open(const struct sw_target *target, const struct sw_event_place *places, size_t n,
		    const struct sw_uprobes_programs *programs, struct sw_uprobes *ret,
		    struct sw_error *err)
{
	struct sw_uprobes p = {.thread_fd = -EBADF,
			       .patience_ns = (int64_t) TAKING_OUT_MS * NS_PER_MS};
	uint32_t type;
	pid_t tid = 0;
	int r = 0;
	if (!sw_event_probe_type(&type))
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	/* The kernel knows the process by the memory of a thread. */
	sw_cleanup(sw_close_p) int live_fd = sw_target_live_thread(target, &tid);
	if (live_fd < 0)
		return refused(ESRCH, NULL, 0, err);
	if (programs->linked && tid != target->pid)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the first thread of the process has just ended: try again");
	for (size_t i = 0; i < n; i++)
		if (!is_local(target, places[i].file_fd))
			return sw_fail(
				err, SW_E_UNSUPPORTED,
				"the file of this code is on a file system that may not answer "
				"(FUSE, NFS), and the kernel would wait for it with locks held: "
				"copy "
				"it to a disk");
	r = sw_memory_locks_open(&p.locks, err);
	if (r == 0)
		r = places_put(&(struct opening){.probes = &p,
						 .programs = programs,
						 .tid = tid,
						 .type = type},
			       places, n, err);
	if (r < 0) {
		sw_uprobes_close(&p);
		sw_memory_locks_close(&p.locks);
		return r;
	}
	p.thread_fd = sw_take_fd(live_fd);
	*ret = p;
	return 0;
}

bool sw_uprobes_are_over(const struct sw_uprobes *p)
{
	return p->n > 0 && !sw_target_thread_lives(p->thread_fd, "stat");
}

bool sw_uprobes_close_last(struct sw_uprobes *p)
{
	struct sw_iterate_lock holder;
	const int64_t begin_ns = sw_clock_ns();
	if (p->n == 0)
		return false;
	if (p->patience_ns > 0 &&
	    sw_memory_locks_wait(&p->locks, -EBADF, p->patience_ns, &holder, NULL) == 1)
		p->patience_ns = 0; /* as an end of this process would */
	p->patience_ns -= sw_clock_ns() - begin_ns;
	p->n--;
	sw_close_p(&p->links[p->n]);
	sw_close_p(&p->fds[p->n]);
	if (p->n == 0) {
		sw_close_p(&p->thread_fd);
		sw_memory_locks_close(&p->locks);
	}
	return p->n > 0;
}

void sw_uprobes_close(struct sw_uprobes *p)
{
	while (sw_uprobes_close_last(p))
		continue;
}
