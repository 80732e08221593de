/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "snapshot/places.h"
#include "process/files.h"
#include "process/limits.h"
#include "capture/before.h"
#include "capture/threads.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

enum {
	MAPS_TEXT_MAX = 64 << 20,
	MAPS_TRIES_MAX = 3,
	CGROUP_TEXT_MAX = 16 << 10,
	PATH_TEXT_MAX = 4096,
	STATUS_TEXT_MAX = 16 << 10,
	/* Files are opened with the permissions of a process's user: nobody's where that cannot be read. The kernel
	 * shows ids that it cannot map by the same number: user_namespaces(7). */
	UNKNOWN_OWNER = 65534,
};

static const char *keep_text(struct sw_take *take, const char *s, size_t length)
{
	const char *kept = sw_arena_strndup(&take->snap->priv->arena, s, length);
	return kept != NULL ? kept : "";
}

/* As it was named when it was started: the kernel adds a word to the name when the file is gone. */
static const char *exe_path(struct sw_take *take)
{
	char text[PATH_TEXT_MAX];
	struct statx st;
	ssize_t n = readlinkat(take->live_fd, "exe", text, sizeof(text) - 1);
	if (n <= 0)
		return "";
	text[n] = '\0';
	size_t length;
	const struct sw_map map = {.path = text};
	/* The program's file system is not asked: it may not answer. */
	if (!sw_map_path_deleted(&map, &length) ||
	    statx(take->live_fd, "exe", AT_STATX_DONT_SYNC, STATX_NLINK, &st) < 0 ||
	    st.stx_nlink > 0)
		length = (size_t) n;
	return keep_text(take, text, length);
}

static void process_describe(struct sw_take *take)
{
	const struct sw_target *target = take->target;
	struct sw_process *p = &take->snap->process;
	char text[STATUS_TEXT_MAX];
	uint64_t uid, gid;
	*p = (struct sw_process){.pid = target->pid,
				 .starttime = target->starttime,
				 .uid = UNKNOWN_OWNER,
				 .gid = UNKNOWN_OWNER,
				 .elf_class = sw_proc_elf_class(take->live_fd),
				 .exe = "",
				 .cgroup = ""};
	if (sw_proc_read_small(target->proc_fd, "status", text, sizeof(text)) > 0 &&
	    sw_proc_status_number(text, "Uid", &uid) && sw_proc_status_number(text, "Gid", &gid)) {
		p->uid = (uid_t) uid;
		p->gid = (gid_t) gid;
	}
	struct timespec now;
	(void) clock_gettime(CLOCK_BOOTTIME, &now);
	p->uptime_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000 -
		       (int64_t) (target->starttime * 1000 / (uint64_t) sysconf(_SC_CLK_TCK));
	p->exe = exe_path(take);
	const char *path;
	size_t length;
	if (sw_proc_read_small(target->proc_fd, "cgroup", text, CGROUP_TEXT_MAX) > 0 &&
	    sw_proc_cgroup_find(text, &path, &length))
		p->cgroup = keep_text(take, path, length);
	/* A capture of some threads is one of many. */
	if (!take->maps_only && take->options.tids == NULL && !take->options.running_only &&
	    !take->options.blocked_only)
		sw_process_limits_read(target->proc_fd, &p->limits);
}

/* The error for a file below the directory of the thread through which we look; errno says why. */
static int cannot_open(const struct sw_take *take, const char *name)
{
	bool refused = errno == EACCES || errno == EPERM;
	if (sw_errno_is_shortage(errno))
		return sw_fail_errno(take->err, SW_E_IO, "process %d: its %s cannot be opened",
				     take->target->pid, name);
	if (refused && sw_target_thread_lives(take->live_fd, "stat"))
		return sw_target_denied(take->target, take->target->pid, take->err);
	return sw_fail(take->err, SW_E_EXITED, "process %d exited before its %s could be opened",
		       take->target->pid, name);
}

static uint64_t size_now(const struct sw_take *take)
{
	char statm[32] = "";
	ssize_t n = pread(take->stop.statm_fd, statm, sizeof(statm) - 1, 0);
	return n > 0 ? sw_proc_statm_pages(statm) : 0;
}

/* The text of maps, and the size of the memory at that time: read again while it changes. */
static int maps_text(struct sw_take *take, struct sw_text *text)
{
	for (int tries = 0;; tries++) {
		uint64_t before = size_now(take);
		text->size = 0;
		int r = sw_text_read_at(text, take->live_fd, "maps", MAPS_TEXT_MAX);
		take->maps_pages = size_now(take);
		if (r < 0 || before == take->maps_pages || tries == MAPS_TRIES_MAX)
			return r;
	}
}

/* Maps and modules, as they are now; when there are some already, those that are gone stay. */
int sw_take_maps(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_map *maps = NULL;
	size_t n = 0, bad = 0;
	int r = maps_text(take, &text);
	if (r == -SW_E_IO)
		return cannot_open(take, "maps");
	if (r == 0)
		r = sw_maps_parse(&snap->priv->arena, text.data, text.size, &maps, &n, &bad);
	/* Read again: a library may have come after the first time, or gone before the second. */
	if (r == 0 && n > 0 && snap->n_maps > 0)
		r = sw_maps_merge(&snap->priv->arena, maps, n, snap->maps, snap->n_maps, &maps, &n);
	if (r < 0)
		return sw_fail(take->err, -r, "process %d: maps: %s", take->target->pid,
			       sw_error_text(r));
	if (n == 0)
		return sw_fail(take->err, SW_E_EXITED, "process %d has no memory any more",
			       take->target->pid);
	snap->maps = maps;
	snap->n_maps = n;
	if (bad > 0)
		sw_snapshot_warn(snap, SW_WARN_MEMORY, 0, SW_E_FORMAT,
				 "%zu lines of maps could not be read", bad);
	if (sw_pages_classify(&snap->priv->pages, &snap->priv->arena, take->live_fd, maps, n) < 0)
		return sw_fail_nomem(take->err);
	sw_cleanup(sw_live_deinit) struct sw_live live;
	sw_live_init(&live, take->target, take->live_fd, &snap->priv->pages, snap);
	const struct sw_opener opener = sw_live_opener(&live);
	return sw_snapshot_find_places(snap, &opener, take->err);
}

int sw_take_files(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	snap->live = true;
	take->live_fd = sw_target_live_fd(take->target);
	if (take->live_fd < 0 && sw_errno_is_shortage(errno))
		return cannot_open(take, "directory in /proc");
	if (take->live_fd < 0)
		return sw_fail(take->err, SW_E_EXITED, "process %d has exited", take->target->pid);
	process_describe(take);
	take->stop.is_32bit = snap->process.elf_class == 32;
	snap->priv->mem_fd = openat(take->live_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (snap->priv->mem_fd < 0 &&
	    (errno == EACCES || errno == EPERM || sw_errno_is_shortage(errno)))
		return cannot_open(take, "mem");
	take->stop.mem_fd = snap->priv->mem_fd;
	snap->priv->pages.live_fd = take->live_fd;
	snap->priv->pages.mem_fd = snap->priv->mem_fd;
	snap->priv->pages.pagemap_fd = openat(take->live_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	if (snap->priv->pages.pagemap_fd < 0 && sw_errno_is_shortage(errno))
		return cannot_open(take, "pagemap");
	take->stop.pagemap_fd = snap->priv->pages.pagemap_fd;
	take->stop.statm_fd = openat(take->live_fd, "statm", O_RDONLY | O_CLOEXEC);
	if (take->stop.statm_fd < 0 && sw_errno_is_shortage(errno))
		return cannot_open(take, "statm");
	if (!sw_pages_space_answers(&snap->priv->pages, take->options.lock_ms))
		return sw_fail(take->err, SW_E_MEMORY,
			       "process %d: one of its threads locks its memory and waits in the "
			       "kernel, as for a file system that does not answer",
			       (int) take->target->pid);
	return 0;
}

int sw_take_before(struct sw_take *take)
{
	struct sw_snapshot *snap = take->snap;
	int r = sw_take_files(take);
	if (r == 0)
		r = sw_take_threads_and_maps(take);
	if (r < 0)
		return r;
	take->space->proc_fd = take->target->proc_fd;
	sw_capture_space_prepare(take->space, take->tables);
	take->space->reader = sw_pages_reader(&snap->priv->pages);
	take->stop.arg = take->space;
	return 0;
}
