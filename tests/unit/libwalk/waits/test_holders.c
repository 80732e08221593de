/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The holders of the ends of a pipe: our own ones, as /proc says it. */
#include "waits/holders.h"
#include "iterate/tasks.h"
#include "skip.h"
#include "test.h"
#include "waits/visible.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOBODY = 65534 };

static const int64_t ENOUGH_NS =
	INT64_C(60000000000); /* also on a machine that has no turn for us */

struct world {
	int ends[2];
	uint64_t inode;
	struct sw_holders holders;
};

static const struct sw_holder *ours(const struct world *w, int fd)
{
	size_t n;
	const struct sw_holder *found = sw_holders_find(&w->holders, w->inode, &n);
	for (size_t i = 0; i < n; i++)
		if (found[i].pid == getpid() && found[i].fd == fd)
			return &found[i];
	return NULL;
}

static void world_begin(struct world *w, bool by_iterator)
{
	struct stat st;
	assert_int_equal(pipe2(w->ends, O_CLOEXEC), 0);
	assert_int_equal(fstat(w->ends[0], &st), 0);
	w->inode = st.st_ino;
	const struct sw_budget budget = sw_budget_begin(ENOUGH_NS, ENOUGH_NS);
	const struct sw_holders_way way = {.by_iterator = by_iterator};
	sw_holders_scan(&w->holders, getpid(), &way, &budget);
}

static void world_end(struct world *w)
{
	sw_holders_deinit(&w->holders);
	close(w->ends[0]);
	close(w->ends[1]);
}

static void check_both_ends(bool by_iterator)
{
	struct world w;
	world_begin(&w, by_iterator);
	const struct sw_holder *reader = ours(&w, w.ends[0]), *writer = ours(&w, w.ends[1]);
	assert_non_null(reader);
	assert_non_null(writer);
	assert_false(sw_holder_has_end(reader, true));
	assert_true(sw_holder_has_end(reader, false));
	assert_true(sw_holder_has_end(writer, true));
	assert_false(sw_holder_has_end(writer, false));
	world_end(&w);
}

TEST(both_ends_are_found)
{
	check_both_ends(false);
}

static bool iterator_refused(void)
{
	int fd = -EBADF;
	if (sw_iterate_files_open(NULL, &fd, NULL) < 0)
		return true;
	close(fd);
	return false;
}

/* Here nothing is asked of the links but whether it is still so. */
TEST(both_ends_by_iterator)
{
	if (iterator_refused())
		skip();
	check_both_ends(true);
	struct world w;
	world_begin(&w, true);
	const struct sw_holder *reader = ours(&w, w.ends[0]), *writer = ours(&w, w.ends[1]);
	assert_true(reader->mode_known && reader->reads && !reader->writes);
	assert_true(writer->mode_known && !writer->reads && writer->writes);
	/* in a container there may be others who have it */
	assert_true(w.holders.complete == sw_all_processes_listed() && !w.holders.cut);
	world_end(&w);
}

/* The holders of a socket are found, too, whose other descriptors are not kept apart; a file on a
 * disk is neither. */
TEST(sockets_by_iterator)
{
	struct world w;
	struct stat st;
	int pair[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t n;
	if (iterator_refused())
		skip();
	assert_true(file >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fstat(pair[0], &st), 0);
	world_begin(&w, true);
	const struct sw_holder *found = sw_holders_find(&w.holders, st.st_ino, &n);
	assert_int_equal(n, 1);
	assert_int_equal(found->pid, getpid());
	assert_int_equal(found->fd, -1);
	assert_int_equal(fstat(file, &st), 0);
	found = sw_holders_find(&w.holders, st.st_ino, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(found[i].pid, getpid());
	world_end(&w);
	close(pair[0]);
	close(pair[1]);
	close(file);
}

/* A descriptor that was closed since, or is another file now, does not count. */
TEST(closed_since)
{
	struct world w;
	int others[2];
	world_begin(&w, false);
	const struct sw_holder *writer = ours(&w, w.ends[1]);
	assert_non_null(writer);
	close(w.ends[1]);
	assert_false(sw_holder_has_end(writer, true));
	assert_int_equal(pipe2(others, O_CLOEXEC), 0);
	if (others[1] != w.ends[1])
		assert_int_equal(dup2(others[1], w.ends[1]), w.ends[1]);
	assert_false(sw_holder_has_end(writer, true));
	close(others[0]);
	if (others[1] != w.ends[1])
		close(others[1]);
	world_end(&w);
}

TEST(a_socket_has_both)
{
	const struct sw_holder holder = {.inode = 1, .pid = 1, .fd = -1};
	assert_true(sw_holder_has_end(&holder, true) && sw_holder_has_end(&holder, false));
}

/* Two processes of one user, one of which has more privileges: its files are listed, and that is all. */
static pid_t privileged(void)
{
	int told[2];
	char c;
	assert_int_equal(pipe(told), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
		    prctl(PR_SET_DUMPABLE, 1) < 0 || write(told[1], "", 1) != 1)
			_exit(1);
		(void) pause();
		_exit(0);
	}
	close(told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	close(told[0]);
	return pid;
}

/* The exit status: whether a search of that process alone is complete, asked by that user. */
static int complete_for_user(pid_t pid)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		struct sw_holders holders = {.complete = true};
		if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(2);
		sw_holders_scan_process(&holders, pid);
		_exit(holders.complete);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Files that are listed and may not be looked at: one of them may be the one that is searched. */
TEST(files_that_may_not_be_seen)
{
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	pid_t pid = privileged();
	struct sw_holders holders = {.complete = true};
	sw_holders_scan_process(&holders, pid);
	bool for_root = holders.complete;
	sw_holders_deinit(&holders);
	int for_user = complete_for_user(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(for_root);
	assert_int_equal(for_user, 0);
}

/* The claim about a kept scan is that the thread waited while it was made. */
/* Only of the file that is asked for, from the nearest process on, and as far as the budget goes. */
TEST(nearest_have_it)
{
	struct world w;
	size_t n;
	world_begin(&w, false);
	sw_holders_deinit(&w.holders);
	struct sw_budget budget = sw_budget_begin(ENOUGH_NS, ENOUGH_NS);
	struct sw_near_processes near = {0};
	sw_near_processes_list(&near, getpid(), getppid());
	assert_true(near.n > 1);
	assert_int_equal(near.items[0].distance, 0);
	assert_int_equal(near.items[1].distance, 0);
	sw_holders_scan_near(&w.holders, &near, w.inode, &budget);
	assert_non_null(ours(&w, w.ends[0]));
	assert_non_null(ours(&w, w.ends[1]));
	(void) sw_holders_find(&w.holders, w.inode, &n);
	assert_int_equal(n, w.holders.n);
	assert_true(w.holders.cut);
	assert_false(w.holders.complete);
	sw_holders_deinit(&w.holders);
	budget = sw_budget_begin(-1, ENOUGH_NS);
	sw_holders_scan_near(&w.holders, &near, w.inode, &budget);
	assert_int_equal(w.holders.n, 0);
	sw_near_processes_deinit(&near);
	world_end(&w);
}

/* A list that is there is not made again: it costs as much as many descriptors. */
TEST(nearest_are_listed_once)
{
	struct sw_near_processes near = {0};
	sw_near_processes_list(&near, getpid(), getppid());
	const struct sw_near_process *items = near.items;
	near.items[0].pid = -1;
	sw_near_processes_list(&near, getpid(), getppid());
	assert_ptr_equal(near.items, items);
	assert_int_equal(near.items[0].pid, -1);
	sw_near_processes_deinit(&near);
	assert_false(near.listed);
}

/* A process in the part that was scanned, another one among the nearest: neither is known to be the
 * owner. */
TEST(ends_of_two_scans_count_together)
{
	struct sw_holder scanned[] = {{.inode = 7, .pid = 11, .fd = -1},
				      {.inode = 9, .pid = 12, .fd = -1}};
	struct sw_holder nearest[] = {{.inode = 7, .pid = 13, .fd = -1}};
	struct sw_holders all = {.items = scanned, .n = 2, .cut = true};
	struct sw_holders near = {.items = nearest, .n = 1, .cut = true};
	pid_t owner = -1;
	assert_int_equal(sw_holders_count_ends(&all, &near, 7, true, &owner), 2);
	assert_int_equal(sw_holders_count_ends(&all, &near, 9, true, &owner), 1);
	assert_int_equal(owner, 12);
	assert_int_equal(sw_holders_count_ends(&all, NULL, 7, true, &owner), 1);
	assert_int_equal(owner, 11);
	nearest[0].pid = 11;
	assert_int_equal(sw_holders_count_ends(&all, &near, 7, true, &owner), 1);
	assert_int_equal(owner, 11);
	assert_int_equal(sw_holders_count_ends(&all, &near, 8, true, &owner), 0);
	assert_int_equal(owner, 0);
}

TEST(scan_serves_who_waited_before_it)
{
	enum { BEGIN = 5000, AGE = 700, NOW = BEGIN + AGE, SECOND = 1000000000 };
	struct sw_holders_kept kept = {.begin_ns = BEGIN};
	assert_true(sw_holders_kept_serve(&kept, AGE + 1, NOW));
	assert_false(sw_holders_kept_serve(&kept, AGE, NOW));
	assert_false(sw_holders_kept_serve(&kept, 0, BEGIN));
	assert_false(sw_holders_kept_serve(&kept, -1, NOW));
	assert_true(sw_holders_kept_serve(&kept, INT64_MAX, BEGIN + SECOND));
	assert_false(sw_holders_kept_serve(&kept, INT64_MAX, BEGIN + SECOND + 1));
	kept.holders.cut = true;
	assert_false(sw_holders_kept_serve(&kept, AGE + 1, NOW));
	kept = (struct sw_holders_kept){0};
	assert_false(sw_holders_kept_serve(&kept, INT64_MAX, 0));
}
