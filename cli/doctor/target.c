/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of one process. */
#include "cleanup.h"
#include "doctor/verdict.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SMALL_FILE = 64 * 1024,
	TASKS_MAX = 32768,
	AUXV_BYTES = 1024,       /* Linux 6.12 has up to 50 words */
	PF_KTHREAD = 0x00200000, /* include/linux/sched.h, Linux 6.1 */
};

/* The results of one pass over /proc/PID/task. */
struct tasks {
	size_t n, uninterruptible, stopped, zombies;
	pid_t traced, tracer; /* the first one that is traced */
};

static bool other_read(const struct sw_doctor *d, const char *path, struct sw_text *text)
{
	return sw_text_read_at(text, d->proc_fd, path, SMALL_FILE) == 0 && text->size > 0;
}

/* State letter and flags of /proc/PID/stat (proc(5)). */
static bool stat_read(const struct sw_doctor *d, const char *path, char *state, unsigned *flags)
{
	struct sw_text text = {0};
	bool ok = other_read(d, path, &text);
	const char *end = ok ? strrchr(text.data, ')') : NULL;
	ok = end != NULL && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", state, flags) == 2;
	sw_text_deinit(&text);
	return ok;
}

/* Whether an auxiliary vector with words of that size has the size of pages, as every one has. */
static bool auxv_has_page_size(const uint8_t *auxv, size_t size, size_t word)
{
	for (size_t at = 0; size - at >= 2 * word; at += 2 * word) {
		uint64_t type = 0, value = 0;
		memcpy(&type, auxv + at, word); /* little endian: the lower bytes */
		memcpy(&value, auxv + at + word, word);
		if (type == AT_PAGESZ)
			return value == (uint64_t) sysconf(_SC_PAGESIZE);
	}
	return false;
}

/*
 * The class is told by the auxiliary vector, which the kernel has: the program itself may be on a
 * file system that does not answer, and opening it would never end.
 */
static unsigned elf_class(const struct sw_doctor *d)
{
	uint8_t auxv[AUXV_BYTES];
	sw_cleanup(sw_close_p) int fd = openat(d->proc_fd, "auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));
	if (n > 0 && auxv_has_page_size(auxv, (size_t) n, sizeof(uint64_t)))
		return ELFCLASS64;
	return n > 0 && auxv_has_page_size(auxv, (size_t) n, sizeof(uint32_t)) ? ELFCLASS32 : 0;
}

static void check_kind(struct sw_doctor *d)
{
	char state;
	unsigned flags;
	if (!stat_read(d, "stat", &state, &flags))
		sw_doctor_say(d, SW_VERDICT_REFUSED, "kind", "choose a process that still runs",
			      "it ended meanwhile");
	else if (flags & PF_KTHREAD)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "kind", "read /proc/PID/stack as root",
			      "a kernel thread has no user stack");
	else if (d->pid == getpid())
		sw_doctor_say(d, SW_VERDICT_REFUSED, "kind", "give another process",
			      "this is snapwalk itself");
	else if (elf_class(d) == ELFCLASS32)
		sw_doctor_say(d, SW_VERDICT_OK, "kind", NULL, "a 32-bit program");
	else if (elf_class(d) == ELFCLASS64)
		sw_doctor_say(d, SW_VERDICT_OK, "kind", NULL, "a 64-bit program");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "kind", NULL, "its program cannot be read");
}

/* A check of credentials matters only if the kernel really refuses. */
static enum sw_verdict if_refused(const struct sw_doctor *d)
{
	return d->probe_errno == 0 ? SW_VERDICT_OK : SW_VERDICT_REFUSED;
}

/* ptrace(2), "Ptrace access mode checking": all three ids of the target must be the caller's. */
static void check_uid(struct sw_doctor *d)
{
	const char *line = strstr(d->other.data, "\nUid:");
	int real = -1, effective = -1, saved = -1, ours = (int) geteuid();
	if (line == NULL || sscanf(line, "\nUid: %d %d %d", &real, &effective, &saved) != 3)
		return;
	if (real == ours && effective == ours && saved == ours)
		sw_doctor_say(d, SW_VERDICT_OK, "uid", NULL, "it runs as uid %d, as we do", real);
	else
		sw_doctor_say(d, if_refused(d), "uid",
			      d->probe_errno == 0 ? NULL : "run as root, or as the same user",
			      "it runs as uid %d (effective %d, saved %d), we as %d", real,
			      effective, saved, ours);
}

/* The kernel gives the files of a process that may not be dumped to root, but not its directory. */
static void check_dumpable(struct sw_doctor *d)
{
	struct stat directory, file;
	if (fstat(d->proc_fd, &directory) < 0 || fstatat(d->proc_fd, "auxv", &file, 0) < 0)
		return;
	if (directory.st_uid == file.st_uid)
		sw_doctor_say(d, SW_VERDICT_OK, "dumpable", NULL, "it may be dumped");
	else
		sw_doctor_say(d, if_refused(d), "dumpable",
			      d->probe_errno == 0 ? NULL : "run as root",
			      "it is not dumpable (changed its ids, or PR_SET_DUMPABLE)");
}

static void check_namespace(struct sw_doctor *d, const char *check, const char *link)
{
	char ours[64] = "", theirs[64] = "", path[32];
	(void) snprintf(path, sizeof(path), "/proc/self/%s", link);
	if (readlink(path, ours, sizeof(ours) - 1) < 0)
		return;
	if (readlinkat(d->proc_fd, link, theirs, sizeof(theirs) - 1) < 0) {
		sw_doctor_say(d, SW_VERDICT_NOTE, check,
			      d->probe_errno == 0
				      ? NULL
				      : "run as root outside of containers and user namespaces",
			      "its namespace cannot be read: it may be another one than ours");
		return;
	}
	if (strcmp(ours, theirs) == 0)
		sw_doctor_say(d, SW_VERDICT_OK, check, NULL, "the same namespace as ours");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, check,
			      d->probe_errno == 0 ? NULL : "run as root of the outer namespace",
			      "another namespace than ours");
}

static void task_look(const struct sw_doctor *d, const char *tid, struct tasks *t)
{
	char path[64], state;
	unsigned flags;
	(void) snprintf(path, sizeof(path), "task/%.20s/stat", tid);
	if (!stat_read(d, path, &state, &flags))
		return;
	t->n++;
	t->uninterruptible += state == 'D';
	t->stopped += state == 'T';
	t->zombies += state == 'Z';
	if (t->traced != 0)
		return;
	struct sw_text status = {0};
	(void) snprintf(path, sizeof(path), "task/%.20s/status", tid);
	if (other_read(d, path, &status)) {
		int64_t tracer = sw_status_field(&status, "TracerPid", 10);
		if (tracer > 0) {
			t->traced = (pid_t) atoi(tid);
			t->tracer = (pid_t) tracer;
		}
	}
	sw_text_deinit(&status);
}

static struct tasks tasks_look(const struct sw_doctor *d)
{
	struct tasks t = {0};
	int fd = openat(d->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return t;
	sw_cleanup(sw_closedir_p) DIR *directory = fdopendir(fd);
	if (directory == NULL) {
		(void) close(fd);
		return t;
	}
	for (struct dirent *e; t.n < TASKS_MAX && (e = readdir(directory)) != NULL;)
		if (e->d_name[0] != '.')
			task_look(d, e->d_name, &t);
	return t;
}

static void check_tracer(struct sw_doctor *d, const struct tasks *t)
{
	if (t->traced == 0) {
		sw_doctor_say(d, SW_VERDICT_OK, "tracer", NULL, "no other tracer");
		return;
	}
	char path[32];
	struct sw_text comm = {0};
	(void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) t->tracer);
	bool ok = sw_text_read_at(&comm, AT_FDCWD, path, SMALL_FILE) == 0 && comm.size > 0;
	sw_doctor_say(d, SW_VERDICT_REFUSED, "tracer", "end that tracer, or let it detach",
		      "thread %d is traced by %d (%.*s)", (int) t->traced, (int) t->tracer,
		      ok ? (int) strcspn(comm.data, "\n") : 1, ok ? comm.data : "?");
	sw_text_deinit(&comm);
}

static void check_threads(struct sw_doctor *d, const struct tasks *t)
{
	if (t->n > 0 && t->zombies == t->n)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "threads", "its parent has to collect it",
			      "it is a zombie: no stack is left");
	else if (t->uninterruptible > 0)
		sw_doctor_say(d, SW_VERDICT_NOTE, "threads",
			      "those are reported with what they wait for, without a stack",
			      "%zu of %zu wait uninterruptibly (D) and may not stop",
			      t->uninterruptible, t->n);
	else
		sw_doctor_say(d, SW_VERDICT_OK, "threads", NULL, "%zu thread%s%s", t->n,
			      sw_plural(t->n),
			      t->stopped > 0 ? ", stopped by a signal (they stay so)" : "");
}

/* Version 1 freezes in a way that ptrace cannot get through; version 2 lets it through. */
static void check_frozen(struct sw_doctor *d)
{
	struct sw_text cgroup = {0}, state = {0};
	const char *path = NULL;
	if (other_read(d, "cgroup", &cgroup)) {
		path = strstr(cgroup.data, ":freezer:");
		path = path != NULL ? path + strlen(":freezer:") : NULL;
	}
	bool frozen = false;
	if (path != NULL) {
		char file[4096];
		(void) snprintf(file, sizeof(file), "/sys/fs/cgroup/freezer%.*s/freezer.state",
				(int) strcspn(path, "\n"), path);
		frozen = sw_text_read_at(&state, AT_FDCWD, file, SMALL_FILE) == 0 &&
			 state.size > 0 && strncmp(state.data, "FROZEN", 6) == 0;
	}
	if (frozen)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "freezer", "thaw its cgroup",
			      "its cgroup is frozen: no thread can be stopped");
	else
		sw_doctor_say(d, SW_VERDICT_OK, "freezer", NULL,
			      "not frozen by a version 1 cgroup");
	sw_text_deinit(&cgroup);
	sw_text_deinit(&state);
}

static void check_probe(struct sw_doctor *d)
{
	if (d->probe_errno == 0)
		sw_doctor_say(d, SW_VERDICT_OK, "permission", NULL,
			      "the kernel allows it (asked by opening /proc/%d/mem)", (int) d->pid);
	else
		sw_doctor_say(d, SW_VERDICT_REFUSED, "permission",
			      geteuid() == 0
				      ? "see the checks above"
				      : "see the checks above; run as root if none of them refuses",
			      "the kernel refuses it: %s", strerrordesc_np(d->probe_errno));
}

void sw_doctor_target(struct sw_doctor *d)
{
	struct tasks t = tasks_look(d);
	check_kind(d);
	check_uid(d);
	check_dumpable(d);
	check_namespace(d, "user-ns", "ns/user");
	check_namespace(d, "pid-ns", "ns/pid");
	check_tracer(d, &t);
	check_threads(d, &t);
	check_frozen(d);
	if (t.n > t.zombies) /* a zombie has no memory to open */
		check_probe(d);
}
