/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/authorize.h"
#include "store/file.h"
#include "cleanup.h"
#include "test.h"

#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "skip.h"

enum { SOMEBODY = 54321, SOME_GROUP = 54322 };

static struct sw_target_creds somebody(void)
{
	return (struct sw_target_creds){
		.rights = {.uid = {SOMEBODY, SOMEBODY, SOMEBODY},
			   .gid = {SOME_GROUP, SOME_GROUP, SOME_GROUP},
			   .user_ns = sw_user_ns_self(),
			   .dumpable = true},
		.comm = "server",
		.exe = "/usr/bin/server",
	};
}

static const struct sw_caller same = {.uid = SOMEBODY, .gid = SOME_GROUP};
static const struct sw_caller privileged = {.uid = 1, .gid = 1, .privileged = true};

static enum sw_deny_rule authorize(const struct sw_config *config, const struct sw_caller *caller,
				   const struct sw_target_creds *target)
{
	const struct sw_subject subject = sw_target_subject(target);
	return sw_authorize(config, caller, &subject);
}

TEST(names)
{
	assert_string_equal(sw_deny_name(SW_DENY_NONE), "none");
	assert_string_equal(sw_deny_name(SW_DENY_OWNER), "owner");
	assert_string_equal(sw_deny_name(SW_DENY_DUMPABLE), "dumpable");
	assert_string_equal(sw_deny_name(SW_DENY_LIST), "deny");
	assert_string_equal(sw_deny_name(SW_DENY_KERNEL), "kernel");
	assert_string_equal(sw_deny_name(SW_DENY_ROOT_ONLY), "root_only");
}

TEST(owner)
{
	struct sw_config config = {0};
	struct sw_target_creds t = somebody();
	assert_int_equal(authorize(&config, &same, &t), SW_DENY_NONE);
	for (int i = 0; i < 3; i++) {
		t = somebody();
		t.rights.uid[i]++;
		assert_int_equal(authorize(&config, &same, &t), SW_DENY_OWNER);
		assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_NONE);
		t = somebody();
		t.rights.gid[i]++;
		assert_int_equal(authorize(&config, &same, &t), SW_DENY_OWNER);
	}
}

TEST(protected_target)
{
	struct sw_config config = {0};
	struct sw_target_creds t = somebody();
	t.rights.dumpable = false;
	assert_int_equal(authorize(&config, &same, &t), SW_DENY_DUMPABLE);
	assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_NONE);
	t = somebody();
	t.rights.cap_permitted = 1;
	assert_int_equal(authorize(&config, &same, &t), SW_DENY_DUMPABLE);
	t = somebody();
	t.rights.user_ns = (struct sw_user_ns){0};
	assert_int_equal(authorize(&config, &same, &t), SW_DENY_DUMPABLE);
}

TEST(deny_list)
{
	static const struct {
		const char *deny;
		enum sw_deny_rule rule;
	} cases[] = {
		{"server", SW_DENY_LIST},
		{"serve", SW_DENY_NONE},
		{"/usr/bin/server", SW_DENY_LIST},
		{"/usr/bin/serve", SW_DENY_NONE},
		{"/bin/server", SW_DENY_NONE},
		{"uid:54321", SW_DENY_LIST},
		{"uid:5432", SW_DENY_NONE},
		{"uid:54321x", SW_DENY_NONE},
		{"uid:", SW_DENY_NONE},
	};
	struct sw_target_creds t = somebody();
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char *deny[] = {"other", (char *) cases[i].deny, NULL};
		struct sw_config config = {.deny = deny};
		assert_int_equal(authorize(&config, &same, &t), cases[i].rule);
		/* Deny= wins over everybody. */
		assert_int_equal(authorize(&config, &privileged, &t), cases[i].rule);
	}
	char *deny[] = {"/usr/bin/server", NULL};
	struct sw_config config = {.deny = deny};
	strcpy(t.exe, "/usr/bin/server (deleted)");
	assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_LIST);
	strcpy(t.exe, "/usr/bin/server (delete)");
	assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_NONE);
	deny[0] = "uid:54322";
	assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_NONE);
	t.rights.uid[2] = 54322;
	assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_LIST);
}

/* Which process may be named in a dump of another: whoever may see the dump may see it, too. */
TEST(implied)
{
	const struct sw_target_rights own = somebody().rights;
	assert_true(sw_rights_imply(&own, &own));
	for (int i = 0; i < 10; i++) {
		struct sw_target_rights other = own, of_root = own;
		if (i < 3)
			other.uid[i]++;
		else if (i < 6)
			other.gid[i - 3]++;
		else if (i == 6)
			other.dumpable = 0;
		else if (i == 7)
			other.cap_permitted = UINT64_C(1) << CAP_NET_RAW;
		else if (i == 8)
			other.user_ns = (struct sw_user_ns){0};
		else
			other.mixed = SW_MIXED_RIGHTS;
		assert_false(sw_rights_imply(&own, &other));
		/* Only the privileged may see a set-user-ID program: they see everything. */
		assert_true(sw_rights_imply(&other, &own));
		memset(of_root.uid, 0, sizeof(of_root.uid));
		assert_true(sw_rights_imply(&of_root, &other));
	}
	struct sw_target_rights third = own;
	for (int i = 0; i < 3; i++)
		third.gid[i]++;
	assert_false(sw_rights_imply(&own, &third));
	assert_false(sw_rights_imply(&third, &own));
}

/* ---- dumps that are kept ---------------------------------------------------------------------- */

/* The decision on a dump of the target, from the facts that are kept with it: the file is written, and
 * its head is read as at a start of the daemon. */
static enum sw_deny_rule authorize_kept(const struct sw_config *config,
					const struct sw_caller *caller,
					const struct sw_target_creds *target)
{
	const struct sw_store_entry entry = {.id = "a",
					     .summary = "{}",
					     .subject = sw_target_subject(target),
					     .pid = 1,
					     .comm = "a"};
	struct sw_store_head head = {0};
	sw_cleanup(sw_free_p) char *file = NULL;
	size_t size = 0;
	assert_int_equal(sw_store_encode(&entry, "{}", 2, &file, &size, NULL), 0);
	assert_int_equal(sw_store_head_parse(file, size, &head, NULL), 0);
	enum sw_deny_rule rule = sw_authorize(config, caller, &head.entry.subject);
	sw_store_head_deinit(&head);
	return rule;
}

/* The results of several looks: the users are known to differ, other rights, or the names. A word
 * for a user is in doubt only where the users differ. */
TEST(mixed)
{
	char *deny[] = {"uid:7", NULL};
	struct sw_config config = {0};
	for (int i = 0; i < 10; i++) {
		struct sw_target_creds t = somebody(), other = somebody();
		const bool users = i == 5 || i == 6, names = i >= 3 && i <= 5;
		const bool rights = users || (i > 0 && !names);
		if (i == 1)
			other.rights.gid[1]++;
		else if (i == 2)
			other.rights.caps[3]++;
		else if (i == 3)
			strcpy(other.comm, "other");
		else if (i == 4)
			strcpy(other.exe, "/usr/bin/other");
		else if (i == 5)
			other.rights.mixed = SW_MIXED_RIGHTS | SW_MIXED_NAMES;
		else if (i == 6)
			other.rights.uid[2]++;
		else if (i == 7)
			other.rights.dumpable = 0;
		else if (i == 8)
			other.rights.user_ns = (struct sw_user_ns){0};
		else if (i == 9)
			other.rights.mixed = SW_MIXED_OTHERS;
		sw_target_creds_mix(&t, &other);
		other = somebody(); /* a third that is as the first changes nothing */
		sw_target_creds_mix(&t, &other);
		config.deny = NULL;
		assert_int_equal(authorize(&config, &same, &t),
				 rights ? SW_DENY_OWNER : SW_DENY_NONE);
		assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_NONE);
		/* A word may mean one of them. */
		config.deny = deny;
		deny[0] = "uid:7";
		assert_int_equal(authorize(&config, &privileged, &t),
				 users ? SW_DENY_LIST : SW_DENY_NONE);
		assert_int_equal(authorize_kept(&config, &privileged, &t),
				 users ? SW_DENY_LIST : SW_DENY_NONE);
		deny[0] = "uid:54321";
		assert_int_equal(authorize(&config, &privileged, &t), SW_DENY_LIST);
		deny[0] = "nobody-has-this";
		assert_int_equal(authorize(&config, &privileged, &t),
				 names ? SW_DENY_LIST : SW_DENY_NONE);
		deny[0] = "/no/such/program";
		assert_int_equal(authorize(&config, &privileged, &t),
				 names ? SW_DENY_LIST : SW_DENY_NONE);
	}
}

/* Live and kept are one decision, whoever asks for whatever process. */
TEST(live_and_kept)
{
	static const struct {
		const char *name;
		struct sw_caller caller;
	} callers[] = {
		{"its user", {.uid = SOMEBODY, .gid = SOME_GROUP, .same_user_ns = true}},
		{"another group", {.uid = SOMEBODY, .gid = 99, .same_user_ns = true}},
		{"another user", {.uid = 99, .gid = SOME_GROUP, .same_user_ns = true}},
		{"its user in a namespace", {.uid = SOMEBODY, .gid = SOME_GROUP}},
		{"by borrowed ids",
		 {.uid = SOMEBODY, .gid = SOME_GROUP, .same_user_ns = true, .borrowed_ids = true}},
		{"nobody at all", {.uid = (uid_t) -1, .gid = (gid_t) -1, .same_user_ns = true}},
		{"root", {.privileged = true, .same_user_ns = true}},
		{"a member of Group=",
		 {.uid = 99, .gid = 99, .privileged = true, .same_user_ns = true}},
		{"one in a namespace", {.uid = 99, .gid = 99, .privileged = true}},
	};
	struct sw_target_creds targets[10];
	char *deny[][2] = {{NULL}, {"server"}, {"/usr/bin/server"}, {"uid:54321"}, {"other"}};
	/* A process without a catch, by the callers above: with RequireSameNamespace=, and without. */
	static const enum sw_deny_rule plain[2][9] = {
		{SW_DENY_NONE, SW_DENY_OWNER, SW_DENY_OWNER, SW_DENY_NONE, SW_DENY_OWNER,
		 SW_DENY_OWNER, SW_DENY_NONE, SW_DENY_NONE, SW_DENY_NONE},
		{SW_DENY_NONE, SW_DENY_OWNER, SW_DENY_OWNER, SW_DENY_NAMESPACE, SW_DENY_OWNER,
		 SW_DENY_OWNER, SW_DENY_NONE, SW_DENY_NONE, SW_DENY_NAMESPACE},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(targets); i++)
		targets[i] = somebody();
	targets[1].rights.uid[1] = 0;
	targets[2].rights.gid[2] = 0;
	targets[3].rights.dumpable = 0;
	targets[4].rights.cap_permitted = UINT64_C(1) << CAP_NET_RAW;
	targets[5].rights.user_ns = (struct sw_user_ns){0};
	targets[6].rights.mixed = SW_MIXED_RIGHTS;
	targets[7].rights.mixed = SW_MIXED_NAMES;
	targets[8].rights.user_ns.ino--; /* of a daemon that ran in another namespace */
	targets[9].rights.mixed = SW_MIXED_OTHERS;
	for (size_t d = 0; d < SW_ARRAY_SIZE(deny); d++) {
		for (size_t c = 0; c < 2 * SW_ARRAY_SIZE(callers); c++) {
			const struct sw_caller *caller = &callers[c / 2].caller;
			const struct sw_config config = {.deny = deny[d],
							 .require_same_namespace = c % 2 == 1};
			for (size_t t = 0; t < SW_ARRAY_SIZE(targets); t++) {
				enum sw_deny_rule live = authorize(&config, caller, &targets[t]);
				enum sw_deny_rule kept =
					authorize_kept(&config, caller, &targets[t]);
				if (live != kept)
					fail_msg(
						"%s, target %zu, Deny=%s: %s to be captured, %s to "
						"be read",
						callers[c / 2].name, t,
						deny[d][0] != NULL ? deny[d][0] : "",
						sw_deny_name(live), sw_deny_name(kept));
				if (t == 0 && d == 0)
					assert_int_equal(kept, plain[c % 2][c / 2]);
				if (t == 0 && d > 0 && d < 4)
					assert_int_equal(kept, SW_DENY_LIST);
				if (t > 0 && t != 7 && !caller->privileged)
					assert_int_not_equal(kept, SW_DENY_NONE);
			}
		}
	}
}

/* A file of an earlier version, which has "uid" and nothing else: nobody but the privileged sees it, and
 * Deny= goes by what the summary says. */
TEST(kept_by_earlier_versions)
{
	static const char text[] = "{\"snapwalk_store\":1,\"id\":\"a\",\"uid\":54321,\"by\":54321,"
				   "\"alert\":0,\"pid\":1,"
				   "\"comm\":\"server\",\"time_ns\":1,\"bytes\":2,\"summary\":{"
				   "\"process\":{\"uid\":54321,"
				   "\"exe\":\"/usr/bin/ser%76er\"}}}";
	const struct sw_caller user = {.uid = SOMEBODY, .gid = 0, .same_user_ns = true};
	char *deny[] = {NULL, NULL}, file[8 + sizeof(text)] = {0x50, 0x2A, 0x4D, 0x18};
	struct sw_config config = {.deny = deny};
	struct sw_store_head head = {0};
	file[4] = (char) (sizeof(text) - 1);
	assert_true(sizeof(text) - 1 < 256);
	memcpy(file + 8, text, sizeof(text));
	assert_int_equal(sw_store_head_parse(file, 8 + sizeof(text) - 1, &head, NULL), 0);
	const struct sw_subject *s = &head.entry.subject;
	assert_int_not_equal(sw_authorize(&config, &same, s), SW_DENY_NONE);
	assert_int_not_equal(sw_authorize(&config, &user, s), SW_DENY_NONE);
	assert_int_equal(sw_authorize(&config, &privileged, s), SW_DENY_NONE);
	static const char *const words[] = {"server", "uid:54321", "/usr/bin/ser%76er"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++) {
		deny[0] = (char *) words[i];
		assert_int_equal(sw_authorize(&config, &privileged, s), SW_DENY_LIST);
	}
	sw_store_head_deinit(&head);
}

/* Versions that knew one bit for all rights wrote 1 also where the users differ. */
TEST(kept_with_one_bit_for_rights)
{
	char *deny[] = {"uid:7", NULL};
	const struct sw_config config = {0}, denying = {.deny = deny};
	struct sw_target_creds t = somebody();
	t.rights.mixed = 1;
	assert_int_equal(authorize_kept(&config, &same, &t), SW_DENY_OWNER);
	assert_int_equal(authorize_kept(&config, &privileged, &t), SW_DENY_NONE);
	assert_int_equal(authorize_kept(&denying, &privileged, &t), SW_DENY_LIST);
}

/* ---- real processes -------------------------------------------------------------------------- */

/* A child that has done something and waits to be killed; *ret_proc_fd is its directory. */
static pid_t child_start(void (*become)(void), int *ret_proc_fd)
{
	int ready[2];
	char byte, path[32];
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		become();
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void) pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	(void) close(ready[1]);
	snprintf(path, sizeof(path), "/proc/%d", (int) pid);
	*ret_proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(*ret_proc_fd >= 0);
	return pid;
}

static void child_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void become_somebody(void)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(SOME_GROUP, SOME_GROUP, SOME_GROUP) < 0 ||
	     setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0))
		_exit(1);
	/* A change of user makes a process not dumpable until it executes a program. */
	(void) prctl(PR_SET_DUMPABLE, 1);
	/* A line end, and what looks like a line of the status file. */
	(void) prctl(PR_SET_NAME, "a\nUid:\t0");
}

static void become_hidden(void)
{
	become_somebody();
	(void) prctl(PR_SET_DUMPABLE, 0);
}

static void become_effective(void)
{
	if (setresgid(SOME_GROUP, SOME_GROUP, SOME_GROUP) < 0 || setresuid(SOMEBODY, 0, 0) < 0)
		_exit(1);
}

TEST(read_target)
{
	struct sw_target_creds t;
	struct sw_error err = {0};
	char self[4096] = "";
	uid_t uid = geteuid() == 0 ? SOMEBODY : geteuid();
	gid_t gid = geteuid() == 0 ? SOME_GROUP : getegid();
	sw_cleanup(sw_close_p) int fd = -EBADF;
	pid_t pid = child_start(become_somebody, &fd);
	assert_int_equal(sw_target_creds_read(fd, &t, &err), 0);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(t.rights.uid[i], uid);
		assert_int_equal(t.rights.gid[i], gid);
	}
	assert_true(t.rights.dumpable);
	assert_true(sw_user_ns_equal(t.rights.user_ns, sw_user_ns_self()));
	assert_true(t.rights.cap_permitted == 0);
	assert_string_equal(t.comm, "a"); /* up to the line end, and no other line */
	assert_string_equal(t.exe, self);
	child_end(pid);
	/* The directory is held: never that of another process with the same number. */
	assert_int_equal(sw_target_creds_read(fd, &t, &err), -SW_E_EXITED);
	assert_string_equal(err.message, "the target has just exited");
}

TEST(read_hidden)
{
	struct sw_target_creds t;
	struct sw_error err = {0};
	sw_cleanup(sw_close_p) int fd = -EBADF;
	pid_t pid = child_start(become_hidden, &fd);
	assert_int_equal(sw_target_creds_read(fd, &t, &err), 0);
	assert_false(t.rights.dumpable);
	child_end(pid);
}

TEST(read_effective)
{
	struct sw_target_creds t;
	struct sw_error err = {0};
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	sw_cleanup(sw_close_p) int fd = -EBADF;
	pid_t pid = child_start(become_effective, &fd);
	assert_int_equal(sw_target_creds_read(fd, &t, &err), 0);
	assert_int_equal(t.rights.uid[0], SOMEBODY);
	assert_int_equal(t.rights.uid[1], 0);
	assert_int_equal(t.rights.uid[2], 0);
	assert_int_equal(t.rights.gid[0], SOME_GROUP);
	child_end(pid);
}

static void become_namespaced(void)
{
	become_somebody();
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(1);
}

static void skip_without_user_namespaces(void)
{
	pid_t probe = fork();
	int status;
	if (probe == 0) {
		become_namespaced();
		_exit(0);
	}
	assert_int_equal(waitpid(probe, &status, 0), probe);
	if (status != 0)
		SKIP("no user namespace can be made",
		     "sysctl user.max_user_namespaces > 0, no plain chroot");
}

TEST(read_namespaced)
{
	struct sw_target_creds t;
	struct sw_error err = {0};
	skip_without_user_namespaces();
	sw_cleanup(sw_close_p) int fd = -EBADF;
	pid_t pid = child_start(become_namespaced, &fd);
	assert_int_equal(sw_target_creds_read(fd, &t, &err), 0);
	assert_int_equal(t.rights.user_ns.ino, 0);
	child_end(pid);
}

/* A leader that has ended: the exe is that of a thread that has not. */
static void *wait_for_ever(void *arg)
{
	for (;;)
		(void) pause();
	return arg;
}

static void become_thread_only(void)
{
	pthread_t thread;
	become_somebody();
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
}

TEST(read_leaderless)
{
	struct sw_target_creds t;
	struct sw_error err = {0};
	char self[4096] = "", path[64], stat[512] = "";
	int status_fd[2];
	assert_int_equal(pipe(status_fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		become_thread_only();
		if (write(status_fd[1], "", 1) != 1)
			_exit(1);
		pthread_exit(NULL);
	}
	char byte;
	assert_int_equal(read(status_fd[0], &byte, 1), 1);
	(void) close(status_fd[0]);
	(void) close(status_fd[1]);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	while (strstr(stat, ") Z ") == NULL) { /* until the leader has ended */
		sw_cleanup(sw_close_p) int stat_fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(stat_fd, stat, sizeof(stat) - 1);
		assert_true(n > 0);
		stat[n] = '\0';
		(void) sched_yield();
	}
	snprintf(path, sizeof(path), "/proc/%d", (int) pid);
	sw_cleanup(sw_close_p) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sw_target_creds_read(fd, &t, &err), 0);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_string_equal(t.exe, self);
	child_end(pid);
}

/* ---- callers --------------------------------------------------------------------------------- */

TEST(caller_self)
{
	struct sw_config config = {.group_looked_up = true};
	struct sw_caller caller;
	struct sw_error err = {0};
	int pair[2];
	gid_t groups[1024];
	int n = getgroups(SW_ARRAY_SIZE(groups), groups);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(sw_caller_init(&config, pair[0], &caller, &err), 0);
	assert_int_equal(caller.pid, getpid());
	assert_int_equal(caller.uid, geteuid());
	assert_int_equal(caller.gid, getegid());
	assert_int_equal(caller.n_groups, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(caller.groups[i], groups[i]);
	assert_int_equal(caller.privileged, geteuid() == 0);
	sw_caller_deinit(&caller);
	assert_null(caller.groups);
	config.user_mode = true;
	assert_int_equal(sw_caller_init(&config, pair[0], &caller, &err), 0);
	assert_true(caller.privileged);
	sw_caller_deinit(&caller);
	(void) close(pair[0]);
	(void) close(pair[1]);
	sw_cleanup(sw_close_p) int no_socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sw_caller_init(&config, no_socket, &caller, &err), -SW_E_IO);
	sw_cleanup(sw_close_p) int lonely = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sw_caller_init(&config, lonely, &caller, &err), -SW_E_IO);
}

/* A socket whose other end is somebody with many groups. */
static int connect_somebody(const char *path, size_t n_groups)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
	strcpy(address.sun_path, path);
	assert_int_equal(bind(listener, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		gid_t groups[1000];
		for (size_t i = 0; i < n_groups; i++)
			groups[i] = (gid_t) (60000 + i);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		_exit(setgroups(n_groups, groups) < 0 || setresgid(77, SOME_GROUP, 77) < 0 ||
		      setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
		      connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0);
	}
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void) close(listener);
	(void) unlink(path);
	return fd;
}

TEST(caller_groups)
{
	static const size_t counts[] = {0, 1, 64, 65, 1000};
	char dir[] = "/tmp/snapwalk-auth-XXXXXX", path[64];
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/s", dir);
	for (size_t i = 0; i < SW_ARRAY_SIZE(counts); i++) {
		struct sw_config config = {.group_looked_up = true};
		struct sw_caller caller;
		struct sw_error err = {0};
		sw_cleanup(sw_close_p) int fd = connect_somebody(path, counts[i]);
		/* group_found is not set: group 0 of a zeroed configuration is nobody's. */
		assert_int_equal(sw_caller_init(&config, fd, &caller, &err), 0);
		assert_int_equal(caller.uid, SOMEBODY);
		assert_int_equal(caller.gid, SOME_GROUP);
		assert_int_equal(caller.n_groups, counts[i]);
		assert_false(caller.privileged);
		sw_caller_deinit(&caller);
		config.group_found = true;
		config.group_gid = (uint32_t) (60000 + counts[i] - 1);
		assert_int_equal(sw_caller_init(&config, fd, &caller, &err), 0);
		assert_int_equal(caller.privileged, counts[i] > 0);
		sw_caller_deinit(&caller);
		config.user_mode = true; /* a user's daemon knows no group */
		assert_int_equal(sw_caller_init(&config, fd, &caller, &err), 0);
		assert_false(caller.privileged);
		sw_caller_deinit(&caller);
		config.user_mode = false;
		config.group_gid = SOME_GROUP; /* the primary one counts too */
		assert_int_equal(sw_caller_init(&config, fd, &caller, &err), 0);
		assert_true(caller.privileged);
		sw_caller_deinit(&caller);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* ---- both rules, the kernel's and ours ------------------------------------------------------- */

enum {
	US = 54321,
	THEM = 54331,
	CAP_CHOWN_BIT = 1,
};

/* Ids as real, effective, saved; what else a process may be. */
struct role {
	const char *name;
	uid_t uid[3];
	gid_t gid[3];
	bool hidden, with_cap;
	enum { HOST, MAPPED_SELF, MAPPED_ALL } ns;
};

static void write_file(const char *path, const char *text)
{
	sw_cleanup(sw_close_p) int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t) strlen(text))
		_exit(2);
}

/* A namespace that root makes with a map of everything to itself reads as ours does. */
static void enter_mapped_all(void)
{
	int go[2];
	char byte;
	if (pipe2(go, O_CLOEXEC) < 0)
		_exit(2);
	pid_t self = getpid(), mapper = fork();
	if (mapper == 0) {
		char path[64];
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		(void) snprintf(path, sizeof(path), "/proc/%d/uid_map", (int) self);
		write_file(path, "0 0 4294967295");
		(void) snprintf(path, sizeof(path), "/proc/%d/gid_map", (int) self);
		write_file(path, "0 0 4294967295");
		_exit(0);
	}
	int status;
	if (unshare(CLONE_NEWUSER) < 0 || write(go[1], "", 1) != 1 ||
	    waitpid(mapper, &status, 0) != mapper || status != 0)
		_exit(2);
}

static void play(const struct role *role)
{
	const uid_t *u = role->uid;
	const gid_t *g = role->gid;
	if (role->ns == MAPPED_ALL)
		enter_mapped_all();
	if (setgroups(0, NULL) < 0 || (role->with_cap && prctl(PR_SET_KEEPCAPS, 1) < 0) ||
	    setresgid(g[0], g[1], g[2]) < 0 || setresuid(u[0], u[1], u[2]) < 0)
		_exit(2);
	if (role->with_cap) {
		struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct caps[2] = {{.permitted = CAP_CHOWN_BIT}};
		if (syscall(SYS_capset, &header, caps) < 0)
			_exit(2);
	}
	if (role->ns == MAPPED_SELF && unshare(CLONE_NEWUSER) < 0)
		_exit(2);
	(void) prctl(PR_SET_DUMPABLE, !role->hidden);
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The kernel's answer on ptrace access for reading by real ids, which is what kcmp() asks. */
static bool kernel_permits(pid_t target)
{
	enum { SW_KCMP_VM = 1 }; /* include/uapi/linux/kcmp.h */
	return syscall(SYS_kcmp, getpid(), target, SW_KCMP_VM, 0, 0) >= 0;
}

/* Both answers for one caller; it connects, tries by itself, and says how it went. */
static void ask_both(const struct role *who, pid_t target, int listener,
		     const struct sockaddr_un *address, bool *ret_kernel, bool *ret_ours)
{
	struct sw_config config = {.group_looked_up = true, .require_same_namespace = true};
	struct sw_error err = {0};
	struct sw_caller caller;
	struct sw_target_creds creds;
	char path[32], verdict;
	int said[2], done[2];
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		play(who);
		if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) < 0)
			_exit(2);
		verdict = kernel_permits(target) ? 'y' : 'n';
		(void) close(done[1]);
		(void) !write(said[1], &verdict, 1);
		(void) !read(done[0], &verdict, 1); /* until nobody looks at us any more */
		_exit(0);
	}
	(void) close(said[1]);
	assert_int_equal(read(said[0], &verdict, 1), 1);
	sw_cleanup(sw_close_p) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(sw_caller_init(&config, fd, &caller, &err), 0);
	sw_cleanup(sw_close_p) int pidfd = sw_peer_pidfd(fd, caller.pid);
	assert_true(pidfd >= 0);
	sw_caller_place(&config, &caller, sw_user_ns_of_pidfd(pidfd, caller.pid));
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) target);
	sw_cleanup(sw_close_p) int proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sw_target_creds_read(proc_fd, &creds, &err), 0);
	*ret_kernel = verdict == 'y';
	*ret_ours = authorize(&config, &caller, &creds) == SW_DENY_NONE;
	assert_int_equal(authorize_kept(&config, &caller, &creds),
			 authorize(&config, &caller, &creds));
	sw_caller_deinit(&caller);
	(void) close(said[0]);
	(void) close(done[0]);
	(void) close(done[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static pid_t target_start(const struct role *role)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		play(role);
		if (write(ready[1], "", 1) != 1)
			_exit(2);
		for (;;)
			(void) pause();
	}
	(void) close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	return pid;
}

TEST(never_more_lenient)
{
	static const struct role targets[] = {
		{"the same", {US, US, US}, {US, US, US}, .ns = HOST},
		{"other real uid", {THEM, US, US}, {US, US, US}, .ns = HOST},
		{"other effective uid", {US, THEM, US}, {US, US, US}, .ns = HOST},
		{"other saved uid", {US, US, THEM}, {US, US, US}, .ns = HOST},
		{"other real gid", {US, US, US}, {THEM, US, US}, .ns = HOST},
		{"other effective gid", {US, US, US}, {US, THEM, US}, .ns = HOST},
		{"other saved gid", {US, US, US}, {US, US, THEM}, .ns = HOST},
		{"another user", {THEM, THEM, THEM}, {THEM, THEM, THEM}, .ns = HOST},
		{"root", {0, 0, 0}, {0, 0, 0}, .ns = HOST},
		{"hidden", {US, US, US}, {US, US, US}, .hidden = true},
		{"with a capability", {US, US, US}, {US, US, US}, .with_cap = true},
		{"in a namespace of its own", {US, US, US}, {US, US, US}, .ns = MAPPED_SELF},
		{"in one mapped to itself", {US, US, US}, {US, US, US}, .ns = MAPPED_ALL},
	};
	static const struct role callers[] = {
		{"a user", {US, US, US}, {US, US, US}, .ns = HOST},
		{"a user by a set-uid program", {THEM, US, US}, {US, US, US}, .ns = HOST},
		{"a user by a set-gid program", {US, US, US}, {THEM, US, US}, .ns = HOST},
		{"a user for a moment", {US, THEM, US}, {US, US, US}, .ns = HOST},
		{"a user with a capability", {US, US, US}, {US, US, US}, .with_cap = true},
		{"a user in a namespace", {US, US, US}, {US, US, US}, .ns = MAPPED_SELF},
		{"a user in one mapped to itself", {US, US, US}, {US, US, US}, .ns = MAPPED_ALL},
		{"root in a namespace", {0, 0, 0}, {0, 0, 0}, .ns = MAPPED_SELF},
		{"root in one mapped to itself", {0, 0, 0}, {0, 0, 0}, .ns = MAPPED_ALL},
		{"root", {0, 0, 0}, {0, 0, 0}, .ns = HOST},
	};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/snapwalk-auth-XXXXXX";
	int n_both = 0, n_stricter = 0;
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	skip_without_user_namespaces();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	sw_cleanup(sw_close_p) int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(chmod(address.sun_path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	for (size_t t = 0; t < SW_ARRAY_SIZE(targets); t++) {
		pid_t pid = target_start(&targets[t]);
		for (size_t c = 0; c < SW_ARRAY_SIZE(callers); c++) {
			bool kernel = false, ours = false;
			ask_both(&callers[c], pid, listener, &address, &kernel, &ours);
			if (ours && !kernel)
				print_error("%s may capture %s: the kernel says no\n",
					    callers[c].name, targets[t].name);
			assert_true(kernel || !ours);
			n_both += kernel && ours;
			n_stricter += kernel && !ours;
		}
		child_end(pid);
	}
	/* A rule that refuses everybody is not more lenient either: a user has their own, root
	 * all. */
	print_message("%d permitted by both, %d by the kernel only\n", n_both, n_stricter);
	assert_true(n_both >= 1 + (int) SW_ARRAY_SIZE(targets));
	assert_int_equal(unlink(address.sun_path), 0);
	assert_int_equal(rmdir(dir), 0);
}

TEST(group_names)
{
	gid_t gid = 4711;
	assert_true(sw_group_find("root", &gid));
	assert_int_equal(gid, 0);
	gid = 4711;
	assert_false(sw_group_find("no-such-group-here", &gid));
	assert_int_equal(gid, 4711);
}

/* The permission to remove or pin a dump that is kept. */
TEST(changes)
{
	static const struct sw_kept_rights own = {.by = SOMEBODY};
	struct sw_config config = {0};
	struct sw_caller caller = same;
	struct sw_kept_rights dump = own;
	struct sw_target_creds t = somebody();
	struct sw_subject s = sw_target_subject(&t);
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_NONE);
	/* Dumps of their process that root or a rule has captured are seen by users and not
	 * changed. */
	dump.by = 0;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_ROOT_ONLY);
	assert_int_equal(sw_authorize(&config, &caller, &s), SW_DENY_NONE);
	dump = own;
	dump.alert = true;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_ROOT_ONLY);
	dump = own;
	dump.pinned = true;
	dump.pinned_by = SOMEBODY;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_NONE);
	dump.pinned_by = 0;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_ROOT_ONLY);
	/* Dumps that they have captured and may not see any more, or never could. */
	dump = own;
	s.rights.dumpable = 0;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_ROOT_ONLY);
	dump = (struct sw_kept_rights){.alert = true, .pinned = true, .pinned_by = 7};
	assert_int_equal(sw_authorize_change(&config, &privileged, &s, &dump), SW_DENY_NONE);
	/* Deny= keeps nobody who may remove all from removing. */
	char *deny[] = {"server", NULL};
	config.deny = deny;
	assert_int_equal(sw_authorize(&config, &privileged, &s), SW_DENY_LIST);
	assert_int_equal(sw_authorize_change(&config, &privileged, &s, &dump), SW_DENY_NONE);
	config.deny = NULL;
	s = sw_target_subject(&t);
	dump = own;
	config.require_same_namespace = true;
	assert_int_equal(sw_authorize_change(&config, &caller, &s, &dump), SW_DENY_NAMESPACE);
	/* The privileged of another namespace, too: a reload may set that key while they are connected. */
	assert_int_equal(sw_authorize_change(&config, &privileged, &s, &dump), SW_DENY_NAMESPACE);
}
