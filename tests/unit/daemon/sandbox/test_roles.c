/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/roles.h"
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "test.h"

#include "skip.h"

#include <confine/seccomp.h>
#include <confine/filter.h>
#include <confine/landlock.h>
#include <snapwalk/symbolize.h>

#include <grp.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Each sandbox is entered by a child of its own. The child's exit status says what it found out. */
static const struct sw_unpacked nothing_unpacked = {.ask_fd = -EBADF};
enum {
	FINE = 0,
	SANDBOX_FAILED = 100,
	MEMORY_MIB = 64,
	MIB = 1 << 20,
	NAMES_MS = 3000,
	FCHMODAT2 = 452,
	PATIENCE_MS = 1000
};

static int status_of(void (*child)(void))
{
	int status = -1;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		child();
		_exit(FINE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_fine(void (*child)(void))
{
	int status = status_of(child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FINE);
}

/* In a child: its line number, cut to a byte, is what the parent sees. */
#define MUST(condition)                                    \
	do {                                               \
		if (!(condition)) {                        \
			dprintf(2, "line %d\n", __LINE__); \
			_exit(__LINE__ % 99 + 1);          \
		}                                          \
	} while (0)

static void enter_worker(void)
{
	struct sw_error err = {0};
	if (sw_sandbox_worker(MEMORY_MIB, NAMES_MS, &nothing_unpacked, &err) != 0) {
		dprintf(2, "%s\n", err.message);
		_exit(SANDBOX_FAILED);
	}
}

/* ---- from outside: what the kernel says of a child that has entered ------------------------ */

struct inside {
	pid_t pid;
	int to, from;
	int result; /* of the sandbox function */
};

static struct inside inside_start(int (*enter)(struct sw_error *err))
{
	int to[2], from[2];
	struct inside c = {.result = -1};
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		char byte;
		struct sw_error err;
		int r = enter(&err);
		(void) close(to[1]);
		if (write(from[1], &r, sizeof(r)) != sizeof(r))
			_exit(1);
		_exit(read(to[0], &byte, 1) != 0); /* until the parent has seen enough */
	}
	(void) close(to[0]);
	(void) close(from[1]);
	c.to = to[1];
	c.from = from[0];
	assert_int_equal(read(c.from, &c.result, sizeof(c.result)), sizeof(c.result));
	return c;
}

static void inside_end(struct inside *c)
{
	int status;
	(void) close(c->to);
	(void) close(c->from);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}

/* The line of a file of the child's /proc directory that begins with key. */
static void proc_line(const struct inside *c, const char *name, const char *key, char *ret,
		      size_t size)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) c->pid, name);
	sw_cleanup(sw_fclose_p) FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(ret, (int) size, f) != NULL) {
		ret[strcspn(ret, "\n")] = '\0';
		if (strncmp(ret, key, strlen(key)) == 0)
			return;
	}
	fail_msg("no %s in %s", key, path);
}

static void assert_line(const struct inside *c, const char *wanted)
{
	char line[256], key[64];
	(void) snprintf(key, sizeof(key), "%.*s", (int) strcspn(wanted, ":") + 1, wanted);
	proc_line(c, "status", key, line, sizeof(line));
	assert_string_equal(line, wanted);
}

static void assert_caps(const struct inside *c, const char *value)
{
	char line[64];
	(void) snprintf(line, sizeof(line), "CapPrm:\t%s", value);
	assert_line(c, line);
	(void) snprintf(line, sizeof(line), "CapEff:\t%s", value);
	assert_line(c, line);
	assert_line(c, "CapInh:\t0000000000000000");
	assert_line(c, "CapAmb:\t0000000000000000");
	assert_line(c, "NoNewPrivs:\t1");
}

static int worker_enter(struct sw_error *err)
{
	return sw_sandbox_worker(MEMORY_MIB, NAMES_MS, &nothing_unpacked, err);
}

TEST(test_worker_status)
{
	char line[256];
	struct inside c = inside_start(worker_enter);
	assert_int_equal(c.result, 0);
	assert_caps(&c, "0000000000000000");
	assert_line(&c, "Seccomp:\t2");
	unsigned long soft, hard;
	proc_line(&c, "limits", "Max cpu time", line, sizeof(line));
	assert_int_equal(sscanf(line, "Max cpu time %lu %lu", &soft, &hard), 2);
	assert_int_equal(soft, 13); /* the time for names and ten seconds */
	assert_int_equal(hard, 13);
	proc_line(&c, "limits", "Max core file size", line, sizeof(line));
	assert_int_equal(sscanf(line, "Max core file size %lu %lu", &soft, &hard), 2);
	assert_int_equal(hard, 0);
	proc_line(&c, "limits", "Max file size", line, sizeof(line));
	assert_int_equal(sscanf(line, "Max file size %lu %lu", &soft, &hard), 2);
	assert_int_equal(hard, 0);
	inside_end(&c);
}

/* ---- the worker's, from inside ------------------------------------------------------------- */

static void child_works(void)
{
	char byte;
	uint64_t random;
	int before = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int pipes[2];
	MUST(before >= 0 && pipe2(pipes, O_CLOEXEC) == 0);
	enter_worker();
	char *small = malloc(MIB);
	MUST(small != NULL);
	memset(small, 1, MIB);
	free(small);
	const size_t half = MEMORY_MIB / 2 * (size_t) MIB;
	char *large = mmap(NULL, half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(large != MAP_FAILED);
	large = mremap(large, half, half + 4 * (size_t) MIB, MREMAP_MAYMOVE);
	MUST(large != MAP_FAILED);
	large[half + MIB] = 1;
	char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, before, 0);
	MUST(map != MAP_FAILED && memcmp(map, "\177ELF", 4) == 0 && munmap(map, 4096) == 0);
	MUST(pread(before, &byte, 1, 0) == 1 && byte == '\177');
	MUST(write(pipes[1], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1);
	MUST(syscall(SYS_getrandom, &random, sizeof(random), 0) == sizeof(random));
	MUST(close(before) == 0);
}

static void child_opens(void)
{
	enter_worker();
	MUST(open("/etc/passwd", O_WRONLY) < 0 && errno == EPERM);
	MUST(open("/etc/passwd", O_RDWR) < 0 && errno == EPERM);
	MUST(open("/etc/passwd", O_RDONLY | O_TRUNC) < 0 && errno == EPERM);
	MUST(open("/usr/lib/debug/x", O_RDONLY | O_CREAT, 0600) < 0 && errno == EPERM);
	MUST(open("/tmp", O_RDWR | O_TMPFILE, 0600) < 0 && errno == EPERM);
	MUST(unlink("/nowhere") < 0 && errno == EPERM);
	MUST(rename("/nowhere", "/nowhere2") < 0 && errno == EPERM);
	MUST(chdir("/") < 0 && errno == EPERM);
	/* Below it the name is looked for. */
	MUST(open("/usr/lib/debug/.build-id/no/such.debug", O_RDONLY) < 0 && errno == ENOENT);
}

static void child_landlocked(void)
{
	enter_worker();
	MUST(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/proc/self/status", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/", O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
}

static void child_probes(void)
{
	enter_worker();
	MUST(ioctl(0, TIOCGWINSZ, NULL) < 0 && errno == EPERM);
	MUST(prctl(PR_GET_DUMPABLE) < 0 && errno == EPERM);
	MUST(syscall(9999) < 0 && errno == EPERM);
	MUST(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		     MAP_FAILED &&
	     errno == EPERM);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED && mprotect(page, 4096, PROT_READ) == 0);
	MUST(mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0 && errno == EPERM);
}

static void child_too_large(void)
{
	enter_worker();
	MUST(mmap(NULL, (MEMORY_MIB + 16) * (size_t) MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0) == MAP_FAILED &&
	     errno == ENOMEM);
}

static void child_writes_file(void)
{
	int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	enter_worker();
	ssize_t n = write(fd, "x", 1);
	(void) n; /* it does not return */
}

TEST(test_worker_works)
{
	assert_fine(child_works);
	assert_fine(child_opens);
	assert_fine(child_probes);
	assert_fine(child_too_large);
	int status = status_of(child_writes_file);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

TEST(test_worker_landlock)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1) {
		SKIP("the kernel has no Landlock", "Linux 5.13 or newer with Landlock");
	}
	assert_fine(child_landlocked);
}

/* As on a kernel that does not have it: the rest of the sandbox holds. */
static void child_without_landlock(void)
{
	static const struct sw_filter_rule missing = {.call = SYS_landlock_create_ruleset,
						      .action = SECCOMP_RET_ERRNO | ENOSYS};
	struct sw_error err = {0};
	struct sw_filter filter = {.n = 0};
	sw_filter_begin(&filter);
	sw_filter_add(&filter, &missing);
	MUST(sw_filter_end(&filter, SECCOMP_RET_ALLOW, &err) == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(sw_filter_enter(&filter, &err) == 0);
	enter_worker();
	MUST(open("/etc/passwd", O_RDONLY) >= 0);
	MUST(open("/etc/passwd", O_RDWR) < 0 && errno == EPERM);
}

TEST(test_worker_without_landlock)
{
	assert_fine(child_without_landlock);
}

static long deadly_call;

static void child_dies(void)
{
	enter_worker();
	(void) syscall(deadly_call, 0L, 0L, 0L, 0L, 0L, 0L);
}

TEST(test_worker_dies)
{
	static const long calls[] = {
		SYS_execve,      SYS_execveat, SYS_fork,           SYS_vfork,
		SYS_clone,       SYS_clone3,   SYS_ptrace,         SYS_process_vm_readv,
		SYS_kill,        SYS_tgkill,   SYS_pidfd_open,     SYS_pidfd_send_signal,
		SYS_pidfd_getfd, SYS_socket,   SYS_socketpair,     SYS_connect,
		SYS_sendmsg,     SYS_recvmsg,  SYS_setresuid,      SYS_capset,
		SYS_mount,       SYS_bpf,      SYS_io_uring_setup, SYS_perf_event_open,
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		deadly_call = calls[i];
		int status = status_of(child_dies);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("system call %ld: status %#x", calls[i], (unsigned) status);
	}
}

/* ---- spawner and broker ---------------------------------------------------------------------- */

static struct sw_config config; /* set before a child is forked */

static int spawner_filtered(struct sw_error *err)
{
	int r = sw_sandbox_spawner(&config, err);
	return r < 0 ? r : sw_sandbox_spawner_begin(&config, err);
}

static int spawner_enter(struct sw_error *err)
{
	int r = spawner_filtered(err);
	return prctl(PR_GET_DUMPABLE) != 0 ? -1000 : r;
}

static int broker_enter(struct sw_error *err)
{
	int r = sw_sandbox_broker(&config, err);
	return prctl(PR_GET_DUMPABLE) != 0 ? -1000 : r;
}

static bool is_root(void)
{
	return geteuid() == 0;
}

/* The real-time priority that one who starts as we do can allow itself. */
static void child_realtime(void)
{
	const struct rlimit lowest = {1, 1};
	struct rlimit now = {0, 0};
	if (getrlimit(RLIMIT_RTPRIO, &now) == 0 && now.rlim_cur == 0 &&
	    setrlimit(RLIMIT_RTPRIO, &lowest) == 0)
		_exit(1);
	_exit((int) now.rlim_cur);
}

TEST(test_spawner)
{
	config = (struct sw_config){.user = (char *) "nobody", .events = SW_EVENTS_NOBODY};
	struct inside c = inside_start(spawner_enter);
	assert_int_equal(c.result, 0);
	/* CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19, CAP_PERFMON 38. */
	assert_caps(&c, is_root() ? "0000004000080004" : "0000000000000000");
	if (is_root()) {
		char line[128];
		struct passwd *nobody = getpwnam("nobody");
		assert_non_null(nobody);
		unsigned u = nobody->pw_uid, g = nobody->pw_gid;
		(void) snprintf(line, sizeof(line), "Uid:\t%u\t%u\t%u\t%u", u, u, u, u);
		assert_line(&c, line);
		(void) snprintf(line, sizeof(line), "Gid:\t%u\t%u\t%u\t%u", g, g, g, g);
		assert_line(&c, line);
		assert_line(&c, "CapBnd:\t0000004000080004");
		gid_t groups[64];
		int n_groups = SW_ARRAY_SIZE(groups);
		assert_true(getgrouplist("nobody", nobody->pw_gid, groups, &n_groups) > 0);
		char ours[512] = "Groups:\t";
		for (int i = 0; i < n_groups; i++)
			(void) snprintf(ours + strlen(ours), sizeof(ours) - strlen(ours), "%u ",
					groups[i]);
		assert_line(&c, ours);
		unsigned soft = 99, wanted = WEXITSTATUS(status_of(child_realtime));
		proc_line(&c, "limits", "Max realtime priority", line, sizeof(line));
		assert_int_equal(sscanf(line, "Max realtime priority %u", &soft), 1);
		assert_int_equal(soft, wanted);
	}
	assert_line(&c, "Seccomp:\t2");
	inside_end(&c);
}

static enum sw_worker_needs needs;

static int worker_begun(struct sw_error *err)
{
	int r = spawner_filtered(err);
	return r < 0 ? r : sw_sandbox_worker_begin(needs, err);
}

/* Each worker has what it needs of the capabilities of the spawner, and nothing else. */
TEST(test_worker_begins)
{
	/* CAP_BPF is 39. */
	static const struct {
		enum sw_events_for events;
		enum sw_worker_needs needs;
		const char *caps;
	} cases[] = {
		{SW_EVENTS_ROOT, SW_WORKER_NEEDS_CAPTURES, "0000000000080004"},
		{SW_EVENTS_ROOT, SW_WORKER_NEEDS_EVENTS, "0000004000080004"},
		{SW_EVENTS_ROOT, SW_WORKER_NEEDS_PROGRAMS, "000000c000080004"},
		{SW_EVENTS_NOBODY, SW_WORKER_NEEDS_CAPTURES, "0000000000080004"},
		{SW_EVENTS_NOBODY, SW_WORKER_NEEDS_PROGRAMS, "0000004000080004"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		config = (struct sw_config){.user = (char *) "nobody", .events = cases[i].events};
		needs = cases[i].needs;
		struct inside c = inside_start(worker_begun);
		assert_int_equal(c.result, 0);
		assert_caps(&c, is_root() ? cases[i].caps : "0000000000000000");
		inside_end(&c);
	}
}

/* A map that nobody uses: what the kernel says is not asked for where the filter refuses it. */
static int map_create(void)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = attr.value_size = 4;
	attr.max_entries = 0; /* the kernel's answer is EINVAL, or EPERM without the capability */
	return (int) syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) < 0 ? errno : 0;
}

static void child_loads_programs(void)
{
	struct sw_error err;
	config = (struct sw_config){.user = (char *) "nobody", .events = SW_EVENTS_ROOT};
	const bool may = needs == SW_WORKER_NEEDS_PROGRAMS && is_root();
	MUST(worker_begun(&err) == 0);
	MUST(map_create() == (may ? EINVAL : EPERM));
	_exit(FINE);
}

/* The call that loads programs is refused to those who do not need it. */
TEST(test_who_loads_programs)
{
	static const enum sw_worker_needs all[] = {SW_WORKER_NEEDS_CAPTURES, SW_WORKER_NEEDS_EVENTS,
						   SW_WORKER_NEEDS_PROGRAMS};
	for (size_t i = 0; i < SW_ARRAY_SIZE(all); i++) {
		needs = all[i];
		assert_fine(child_loads_programs);
	}
}

/* The calls of the spawner and its workers, which inherit the filter. */
static void child_spawner_works(void)
{
	struct sw_error err;
	int pair[2], status;
	config = (struct sw_config){.user = (char *) "nobody"};
	int null = open("/dev/null", O_RDWR);
	MUST(null >= 0 && spawner_filtered(&err) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	MUST(open("/proc/self/maps", O_RDONLY) >= 0);
	MUST(open("/dev/null", O_RDWR) < 0 && errno == EPERM);
	MUST(fchmod(null, 0600) < 0 && errno == EPERM); /* goes on without */
	MUST(syscall(SYS_openat2, AT_FDCWD, "/tmp", NULL, 0) < 0 && errno == ENOSYS);
	MUST(syscall(9999) < 0 && errno == EPERM);
	MUST(memfd_create("copy", MFD_CLOEXEC) >= 0);
	MUST(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT); /* goes on without */
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		int pidfd = (int) syscall(SYS_pidfd_open, getppid(), 0);
		MUST(unshare(CLONE_FILES | CLONE_FS) == 0);
		MUST(pidfd >= 0 && ptrace(PTRACE_INTERRUPT, getppid(), 0, 0) < 0 && errno == ESRCH);
		struct iovec none = {NULL, 0};
		MUST(process_vm_readv(getpid(), &none, 1, &none, 1, 0) == 0);
		MUST(syscall(SYS_bpf, -1, NULL, 0) < 0 && errno != ENOSYS); /* asked the kernel */
		enter_worker();
		_exit(FINE);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

static long spawner_call[4]; /* its number and three arguments */

static void child_spawner_dies(void)
{
	struct sw_error err;
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(spawner_filtered(&err) == 0);
	(void) syscall(spawner_call[0], spawner_call[1], spawner_call[2], spawner_call[3], 0L, 0L,
		       0L);
}

TEST(test_spawner_filter)
{
	static const long calls[][4] = {
		{SYS_execve},
		{SYS_execveat},
		{SYS_socket, AF_UNIX, SOCK_STREAM},
		{SYS_connect},
		{SYS_setresuid, -1, -1, -1},
		{SYS_mount},
		{SYS_setns},
		{SYS_process_vm_writev},
		{SYS_unlink},
		{SYS_rename},
		{SYS_chmod},
		{SYS_openat, AT_FDCWD, (long) "/tmp/x", O_WRONLY | O_CREAT},
		{SYS_openat, AT_FDCWD, (long) "/tmp/x", O_RDWR | O_TRUNC},
		{SYS_openat, AT_FDCWD, (long) "/tmp/x", O_WRONLY | O_APPEND},
		{SYS_openat, AT_FDCWD, (long) "/tmp", O_RDWR | O_TMPFILE},
		{SYS_unshare, CLONE_NEWUSER},
		{SYS_unshare, CLONE_NEWNS | CLONE_FS},
		{SYS_clone, CLONE_NEWUSER | SIGCHLD},
		{SYS_clone, CLONE_NEWNET | SIGCHLD},
		{SYS_init_module},
		{SYS_io_uring_setup},
		{SYS_userfaultfd},
		{SYS_pidfd_getfd},
		{SYS_ptrace, PTRACE_POKEDATA},
		{SYS_ptrace, PTRACE_TRACEME},
		{SYS_fcntl, 0, F_SETOWN},
	};
	assert_fine(child_spawner_works);
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		memcpy(spawner_call, calls[i], sizeof(spawner_call));
		int status = status_of(child_spawner_dies);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("system call %ld: status %#x", calls[i][0], (unsigned) status);
	}
}

TEST(test_spawner_of_user)
{
	config = (struct sw_config){.user = (char *) "nobody", .user_mode = true};
	struct inside c = inside_start(spawner_enter);
	assert_int_equal(c.result, 0);
	assert_caps(&c, "0000000000000000");
	char line[128];
	unsigned u = geteuid();
	(void) snprintf(line, sizeof(line), "Uid:\t%u\t%u\t%u\t%u", u, u, u, u);
	assert_line(&c, line);
	inside_end(&c);
}

TEST(test_broker)
{
	config = (struct sw_config){.user = (char *) "nobody"};
	struct inside c = inside_start(broker_enter);
	assert_int_equal(c.result, 0);
	assert_caps(&c, "0000000000000000");
	assert_line(&c, "Seccomp:\t2");
	if (is_root())
		assert_line(&c, "CapBnd:\t0000000000000000");
	inside_end(&c);
}

/* Without capabilities root still owns its files: nobody goes on as root. */
static void child_no_user(void)
{
	struct sw_error err = {0};
	config = (struct sw_config){.user = (char *) "no-such-user"};
	MUST(sw_sandbox_spawner(&config, &err) == -SW_E_NOT_FOUND);
	MUST(strcmp(err.message, "there is no user no-such-user to run as (User=): make it with "
				 "'useradd --system no-such-user'") == 0);
	MUST(sw_sandbox_broker(&config, &err) == -SW_E_NOT_FOUND);
	config = (struct sw_config){.user = (char *) "root"};
	MUST(sw_sandbox_spawner(&config, &err) == -SW_E_INVALID);
	MUST(strcmp(err.message, "User=root is root: give a user without privileges") == 0);
	MUST(sw_sandbox_broker(&config, &err) == -SW_E_INVALID);
}

TEST(test_no_user)
{
	if (is_root())
		assert_fine(child_no_user);
}

/* The launcher of OnDump= and its commands have a filter of their own. */
static void child_commands(void)
{
	struct sw_error err;
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(sw_sandbox_unprivileged(&config, &err) == 0);
	MUST(sw_seccomp_program(&err) == 0);
	MUST(ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 && errno == EPERM);
	MUST(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
	MUST(syscall(9999) < 0 && errno == ENOSYS);
	/* By clone, too: with CLONE_FS the kernel itself would say EINVAL. By clone3, whose flags no filter
	 * sees, nothing at all. */
	MUST(syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0, 0, 0, 0) < 0 &&
	     errno == EPERM);
	MUST(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
	MUST(syscall(SYS_keyctl, 0, -2, 0, 0, 0) < 0 && errno == EPERM);
	MUST(syscall(SYS_add_key, "user", "x", "x", 1, -2) < 0 && errno == EPERM);
	MUST(syscall(SYS_request_key, "user", "x", NULL, 0) < 0 && errno == EPERM);
	pid_t pid = fork(); /* an OnDump= command */
	MUST(pid >= 0);
	if (pid == 0) {
		(void) execl("/bin/true", "true", (char *) NULL);
		_exit(1);
	}
	int status;
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	(void) execl("/bin/sh", "sh", "-c", "exit 0", (char *) NULL);
	_exit(1);
}

/* A call by the numbers of i386. */
static void child_calls_i386(void)
{
	struct sw_error err;
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(sw_sandbox_unprivileged(&config, &err) == 0);
	MUST(sw_seccomp_program(&err) == 0);
	long result = 20; /* getpid */
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
}

TEST(test_commands)
{
	assert_fine(child_commands);
	int status = status_of(child_calls_i386);
	/* SIGSEGV: the kernel has none of these calls. */
	assert_true(WIFSIGNALED(status) &&
		    (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
}

/* The broker's own work passes its filter, other calls fail. */
static void child_broker_works(void)
{
	struct sw_error err;
	int pair[2], status;
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(sw_sandbox_broker(&config, &err) == 0);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	MUST(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 && send(pair[0], "x", 1, 0) == 1);
	MUST(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	int made = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	MUST(made >= 0 && write(made, "x", 1) == 1 && fsync(made) == 0 && fchmod(made, 0640) == 0);
	MUST(chdir("/") < 0 && errno == EPERM);
	MUST(syscall(SYS_keyctl, 0, -2, 0, 0, 0) < 0 && errno == EPERM);
	MUST(syscall(FCHMODAT2, AT_FDCWD, "/tmp", 0700, 0) < 0 && errno == EPERM);
	MUST(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
	MUST(syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, 0, 0, 0, 0) < 0 &&
	     errno == EPERM);
	MUST(syscall(9999) < 0 && errno == EPERM);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		_exit(FINE);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Signals go to the process itself alone; to a child only by its descriptor, to end it. */
static void signals_are_own(void)
{
	int status;
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		for (;;)
			(void) poll(NULL, 0, PATIENCE_MS);
	MUST(kill(pid, SIGKILL) < 0 && errno == EPERM);
	MUST(syscall(SYS_tgkill, pid, pid, SIGABRT) < 0 && errno == EPERM);
	int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	MUST(pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0);
	MUST(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 1U << 2) < 0 && errno == EPERM);
	MUST(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0);
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	(void) signal(SIGSEGV, SIG_DFL); /* a sanitizer's */
	pid = fork();
	if (pid == 0)
		abort();
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	abort();
}

static void child_broker_signals(void)
{
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(sw_sandbox_broker(&config, NULL) == 0);
	signals_are_own();
}

static void child_spawner_signals(void)
{
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(spawner_filtered(NULL) == 0);
	signals_are_own();
}

TEST(test_signals)
{
	int broker = status_of(child_broker_signals), spawner = status_of(child_spawner_signals);
	assert_true(WIFSIGNALED(broker) && WTERMSIG(broker) == SIGABRT);
	assert_true(WIFSIGNALED(spawner) && WTERMSIG(spawner) == SIGABRT);
}

static long broker_call[2];

static void child_broker_dies(void)
{
	struct sw_error err;
	config = (struct sw_config){.user = (char *) "nobody"};
	MUST(sw_sandbox_broker(&config, &err) == 0);
	(void) syscall(broker_call[0], broker_call[1], 0L, 0L, 0L, 0L, 0L);
}

TEST(test_broker_filter)
{
	static const long calls[][2] = {
		{SYS_execve},
		{SYS_execveat},
		{SYS_ptrace, PTRACE_TRACEME},
		{SYS_process_vm_readv},
		{SYS_process_vm_writev},
		{SYS_pidfd_getfd},
		{SYS_bpf},
		{SYS_perf_event_open},
		{SYS_setresuid},
		{SYS_mount},
		{SYS_setns},
		{SYS_unshare, CLONE_NEWUSER},
		{SYS_io_uring_setup},
	};
	assert_fine(child_broker_works);
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		memcpy(broker_call, calls[i], sizeof(broker_call));
		int status = status_of(child_broker_dies);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("system call %ld: status %#x", calls[i][0], (unsigned) status);
	}
}

/* Landlock alone, without the filter that forbids the same in another way. */
static char writable[64];

static void child_read_only(void)
{
	char path[128], below[80];
	struct sw_error err;
	(void) snprintf(below, sizeof(below), "%s/below", writable);
	(void) snprintf(path, sizeof(path), "%s/file", below);
	int before = open(path, O_WRONLY | O_CLOEXEC);
	MUST(before >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	const struct sw_landlock_path files = {.path = below, .access = SW_LANDLOCK_READ};
	MUST(sw_landlock_enter(&files, 1, &err) == 0);
	MUST(open(path, O_RDONLY) >= 0);
	MUST(open(path, O_WRONLY) < 0 && errno == EACCES);
	MUST(open(path, O_RDWR) < 0 && errno == EACCES);
	MUST(unlink(path) < 0 && errno == EACCES);
	MUST(open(writable, O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 3)
		MUST(truncate(path, 0) < 0 && errno == EACCES);
	(void) snprintf(path, sizeof(path), "%s/other", writable);
	MUST(open(path, O_RDONLY) < 0 && errno == EACCES);
	MUST(open(path, O_WRONLY) < 0 && errno == EACCES);
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 3)
		MUST(truncate(path, 0) < 0 && errno == EACCES);
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(close(fd), 0);
}

TEST(test_read_only)
{
	char below[80], file[128], other[80];
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1) {
		SKIP("the kernel has no Landlock", "Linux 5.13 or newer with Landlock");
	}
	strcpy(writable, "/tmp/snapwalk-XXXXXX");
	assert_non_null(mkdtemp(writable));
	(void) snprintf(below, sizeof(below), "%s/below", writable);
	(void) snprintf(file, sizeof(file), "%s/file", below);
	(void) snprintf(other, sizeof(other), "%s/other", writable);
	assert_int_equal(mkdir(below, 0700), 0);
	make_file(file);
	make_file(other);
	int status = status_of(child_read_only);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(rmdir(writable), 0);
	assert_int_equal(status, 0);
}
