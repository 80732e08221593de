/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/holders.h"
#include "arena.h"
#include "cleanup.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "waits/visible.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	HOLDERS_MAX = 100000,
	PIDS_MAX = 65536,
	LINK_BYTES = 64,
	CLOCK_EVERY = 16,  /* processes */
	LINKS_A_LOOK = 64, /* at the clock, in a process */
};
enum { KEPT_NS = 1000 * 1000 * 1000 };
enum { FILES_AT_ONCE = 1365 }; /* the kernel hands out 32 KiB at a time */

bool sw_fd_link_parse(const char *link, const char *kind, uint64_t *ret_inode)
{
	size_t size = strlen(kind);
	if (strncmp(link, kind, size) != 0 || strncmp(link + size, ":[", 2) != 0)
		return false;
	char *end;
	const char *digits = link + size + 2;
	errno = 0;
	uint64_t inode = strtoull(digits, &end, 10);
	if (*digits < '0' || *digits > '9' || errno != 0 || strcmp(end, "]") != 0)
		return false;
	*ret_inode = inode;
	return true;
}

static void add(struct sw_holders *h, const struct sw_holder *holder)
{
	struct sw_holder *grown =
		h->n < HOLDERS_MAX ? sw_grow(h->items, h->n, &h->capacity, 1024, sizeof(*grown))
				   : NULL;
	if (grown == NULL) {
		h->complete = false;
		h->cut = true;
		return;
	}
	h->items = grown;
	h->items[h->n++] = *holder;
}

/* A file descriptor is added if its link names a pipe or a socket. Returns false if the link may
 * not be read, which holds for all descriptors of this process. */
static bool add_link(struct sw_holders *h, int fd_dir, const char *name, pid_t pid)
{
	char link[LINK_BYTES];
	struct sw_holder holder = {.pid = pid, .fd = -1};
	ssize_t n = readlinkat(fd_dir, name, link, sizeof(link) - 1);
	if (n <= 0)
		return n == 0 || (errno != EACCES && errno != EPERM);
	link[n] = '\0';
	if (sw_fd_link_parse(link, "pipe", &holder.inode))
		holder.fd = (int) strtol(name, NULL, 10);
	else if (!sw_fd_link_parse(link, "socket", &holder.inode))
		return true;
	add(h, &holder);
	return true;
}

/* The mode of the link says for what it is open: proc(5), /proc/PID/fd. */
bool sw_holder_has_end(const struct sw_holder *holder, bool written)
{
	char path[64], link[LINK_BYTES];
	struct stat st;
	uint64_t inode = 0;
	if (holder->fd < 0)
		return true;
	if (holder->mode_known && (written ? !holder->writes : !holder->reads))
		return false;
	(void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) holder->pid,
			holder->fd); /* fits */
	if (lstat(path, &st) < 0 || (st.st_mode & (written ? S_IWUSR : S_IRUSR)) == 0)
		return false;
	ssize_t n = readlinkat(AT_FDCWD, path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	return sw_fd_link_parse(link, "pipe", &inode) && inode == holder->inode;
}

void sw_holders_scan_process(struct sw_holders *h, pid_t pid)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid); /* fits */
	sw_cleanup(sw_closedir_p) DIR *dir = opendir(path);
	if (dir == NULL) {
		h->complete &= errno == ENOENT || errno == ESRCH; /* gone */
		return;
	}
	struct dirent *e;
	bool permitted = true;
	while (permitted && h->n < HOLDERS_MAX && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.')
			permitted = add_link(h, dirfd(dir), e->d_name, pid);
	h->complete &=
		permitted || !sw_process_may_hide_end(pid); /* it may have one that nobody sees */
}

static int compare_near(const void *a, const void *b)
{
	const struct sw_near_process *x = a, *y = b;
	return (x->distance > y->distance) - (x->distance < y->distance);
}

static int compare_holders(const void *a, const void *b)
{
	const struct sw_holder *x = a, *y = b;
	if (x->inode != y->inode)
		return x->inode > y->inode ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The processes; owned by the caller. */
static struct sw_near_process *list(pid_t near, size_t *ret_n)
{
	sw_cleanup(sw_closedir_p) DIR *dir = opendir("/proc");
	struct sw_near_process *pids = dir != NULL ? calloc(PIDS_MAX, sizeof(*pids)) : NULL;
	struct dirent *e;
	*ret_n = 0;
	while (pids != NULL && *ret_n < PIDS_MAX && (e = readdir(dir)) != NULL) {
		long pid = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? strtol(e->d_name, NULL, 10)
								      : 0;
		if (pid > 0 && pid <= INT_MAX)
			pids[(*ret_n)++] =
				(struct sw_near_process){(pid_t) pid, abs((pid_t) pid - near)};
	}
	return pids;
}

static void add_file(struct sw_holders *h, const struct sw_iterate_file *file)
{
	const struct sw_holder holder = {
		.inode = file->inode,
		.pid = (pid_t) file->pid,
		.fd = file->is_pipe ? (int) file->fd : -1,
		.mode_known = true,
		.reads = (file->mode & SW_ITERATE_READS) != 0,
		.writes = (file->mode & SW_ITERATE_WRITES) != 0,
	};
	if (file->pid != 0)
		add(h, &holder);
	else
		h->complete = false;
}

/* False: the kernel refuses it. A link of /proc takes twenty times as long as a descriptor here. */
static bool scan_by_iterator(struct sw_holders *h, struct sw_iterate_loading *loading,
			     const struct sw_budget *budget)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	sw_cleanup(sw_free_p) struct sw_iterate_file *files =
		malloc(FILES_AT_ONCE * sizeof(*files));
	long n;
	if (files == NULL || sw_iterate_files_open(loading, &fd, NULL) != 0)
		return false;
	*h = (struct sw_holders){.complete = sw_all_processes_listed()};
	while ((n = sw_iterate_read_files(fd, files, FILES_AT_ONCE)) > 0) {
		for (long i = 0; i < n; i++)
			add_file(h, &files[i]);
		if (h->cut || sw_budget_spent(budget))
			break;
	}
	if (n != 0) {
		h->complete = false;
		h->cut = true;
	}
	return true;
}

static void scan_by_links(struct sw_holders *h, pid_t near, const struct sw_budget *budget)
{
	size_t n;
	*h = (struct sw_holders){.cut = true};
	sw_cleanup(sw_free_p) struct sw_near_process *pids = list(near, &n);
	if (pids == NULL)
		return;
	h->cut = n == PIDS_MAX;
	h->complete = !h->cut && sw_all_processes_listed();
	qsort(pids, n, sizeof(*pids), compare_near);
	for (size_t i = 0; i < n; i++) {
		if (i % CLOCK_EVERY == 0 && sw_budget_spent(budget)) {
			h->complete = false;
			h->cut = true;
			break;
		}
		sw_holders_scan_process(h, pids[i].pid);
	}
}

void sw_holders_scan(struct sw_holders *h, pid_t near, const struct sw_holders_way *way,
		     const struct sw_budget *budget)
{
	if (!way->by_iterator || !scan_by_iterator(h, way->loading, budget))
		scan_by_links(h, near, budget);
	if (h->n > 1)
		qsort(h->items, h->n, sizeof(*h->items), compare_holders);
}

/* The one among the files of a process. */
static void scan_process_for(struct sw_holders *h, pid_t pid, uint64_t inode,
			     const struct sw_budget *budget)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid); /* fits */
	sw_cleanup(sw_closedir_p) DIR *dir = opendir(path);
	struct dirent *e;
	bool permitted = true;
	for (size_t i = 0; permitted && dir != NULL && (e = readdir(dir)) != NULL; i++) {
		if (i % LINKS_A_LOOK == LINKS_A_LOOK - 1 && sw_budget_spent(budget))
			return;
		permitted = e->d_name[0] == '.' || add_link(h, dirfd(dir), e->d_name, pid);
		if (h->n > 0 && h->items[h->n - 1].inode != inode)
			h->n--;
	}
}

void sw_near_processes_list(struct sw_near_processes *processes, pid_t near, pid_t parent)
{
	if (processes->listed)
		return;
	processes->listed = true;
	processes->items = list(near, &processes->n);
	for (size_t i = 0; i < processes->n; i++)
		if (processes->items[i].pid == parent)
			processes->items[i].distance = 0;
	if (processes->n > 1)
		qsort(processes->items, processes->n, sizeof(*processes->items), compare_near);
}

void sw_near_processes_deinit(struct sw_near_processes *processes)
{
	free(processes->items);
	*processes = (struct sw_near_processes){0};
}

void sw_holders_scan_near(struct sw_holders *h, const struct sw_near_processes *processes,
			  uint64_t inode, const struct sw_budget *budget)
{
	*h = (struct sw_holders){.cut = true};
	for (size_t i = 0; i < processes->n && !sw_budget_spent(budget); i++)
		scan_process_for(h, processes->items[i].pid, inode, budget);
	if (h->n > 1)
		qsort(h->items, h->n, sizeof(*h->items), compare_holders);
}

void sw_holders_deinit(struct sw_holders *h)
{
	free(h->items);
	*h = (struct sw_holders){0};
}

bool sw_holders_kept_serve(const struct sw_holders_kept *kept, int64_t since_ns, int64_t now_ns)
{
	int64_t age_ns = now_ns - kept->begin_ns;
	return kept->begin_ns != 0 && !kept->holders.cut && age_ns <= KEPT_NS && since_ns > age_ns;
}

const struct sw_holder *sw_holders_find(const struct sw_holders *h, uint64_t inode, size_t *ret_n)
{
	size_t low = 0, high = h->n, end;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (h->items[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < h->n && h->items[end].inode == inode;)
		end++;
	*ret_n = end - low;
	return h->items != NULL ? h->items + low : NULL;
}

size_t sw_holders_count_ends(const struct sw_holders *holders, const struct sw_holders *more,
			     uint64_t inode, bool written, pid_t *ret_owner)
{
	const struct sw_holders *const lists[] = {holders, more};
	size_t distinct = 0;
	*ret_owner = 0;
	for (size_t l = 0; l < SW_ARRAY_SIZE(lists) && lists[l] != NULL; l++) {
		size_t n;
		const struct sw_holder *h = sw_holders_find(lists[l], inode, &n);
		for (size_t i = 0; i < n && distinct < 2; i++) {
			if (h[i].pid == *ret_owner || !sw_holder_has_end(&h[i], written))
				continue;
			distinct++;
			*ret_owner = h[i].pid;
		}
	}
	return distinct;
}
