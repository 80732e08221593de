/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: whose threads we hold, by the process's own directory. The target is partly STOPPED: see
 * stop/run.c for what may not be done.
 */
#include "stop/threads.h"
#include "cleanup.h"
#include "process/proc.h"
#include "stop/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TID_TEXT_MAX = 16 };

/* How many of the threads that we know of are not known to be gone. */
static size_t alive_count(const struct sw_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += !(s->tracees[i].phase == SW_TRACEE_LOST &&
		       s->tracees[i].reason == SW_E_EXITED);
	return n;
}

/* The directory's link count is 2 + the number of threads: fs/proc/base.c, proc_task_getattr().
 * Listing it takes a microsecond a thread, this takes one. */
bool sw_stop_all_known(const struct sw_stop *s)
{
	struct stat st;
	return fstat(s->task_fd, &st) == 0 && st.st_nlink >= 2 && st.st_nlink - 2 == alive_count(s);
}

/* Adds threads that are not known yet. The kernel lists in order of creation, as we keep them: the
 * search goes on where it last was. */
void sw_stop_list_new(struct sw_stop *s)
{
	size_t listed;
	if (!sw_proc_tids(s->task_fd, s->tids, s->capacity, &listed))
		return;
	s->overflow |= listed > s->capacity;
	if (listed > s->capacity)
		listed = s->capacity;
	size_t known = s->n, at = 0;
	for (size_t i = 0; i < listed; i++) {
		size_t steps = 0;
		while (steps < known && s->tracees[at % known].tid != s->tids[i]) {
			steps++;
			at++;
		}
		if (steps < known)
			continue;
		if (s->n == s->capacity) {
			s->overflow = true;
			return;
		}
		s->tracees[s->n] = (struct sw_tracee){.tid = s->tids[i], .fresh = true};
		/* Killed between two instructions we leave no half of it. */
		atomic_signal_fence(memory_order_release);
		s->n++;
	}
}

/* Without stdio: the target is stopped. */
static const char *tid_text(pid_t tid, char buffer[static TID_TEXT_MAX])
{
	char *p = buffer + TID_TEXT_MAX - 1;
	*p = '\0';
	for (unsigned v = (unsigned) tid; v > 0; v /= 10)
		*--p = (char) ('0' + v % 10);
	return p;
}

bool sw_stop_is_foreign(const struct sw_stop *s, const struct sw_tracee *t)
{
	char name[TID_TEXT_MAX];
	return faccessat(s->task_fd, tid_text(t->tid, name), F_OK, 0) < 0 && errno == ENOENT;
}

/* Whether the process, as it stands, may be copied. All its threads share the memory: any one that
 * is held will do. */
bool sw_stop_is_permitted(const struct sw_stop *s)
{
	if (s->permit == NULL)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		char name[TID_TEXT_MAX];
		if (s->tracees[i].phase != SW_TRACEE_STOPPED)
			continue;
		sw_cleanup(sw_close_p) int fd =
			openat(s->task_fd, tid_text(s->tracees[i].tid, name),
			       O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return s->permit(s->permit_arg, fd);
	}
	return !sw_stop_holds_any(s); /* nothing is held: nothing will be copied */
}
