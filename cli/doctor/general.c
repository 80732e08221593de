/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of ourselves and of the machine. */
#include "cleanup.h"
#include "doctor/verdict.h"

#include <snapwalk/iterator.h>
#include <snapwalk/walk.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>

/* include/uapi/linux/capability.h */
enum {
	CAP_PTRACE_BIT = 19,
	CAP_ADMIN_BIT = 21,
	CAP_PERFMON_BIT = 38,
	CAP_BPF_BIT = 39,
};

enum { SMALL_FILE = 4096 };

/* First line of a small file; false when it cannot be read. */
static bool read_line(const char *path, char *line, size_t size)
{
	struct sw_text text = {0};
	bool ok = sw_text_read_at(&text, AT_FDCWD, path, SMALL_FILE) == 0 && text.size > 0;
	if (ok)
		(void) snprintf(line, size, "%.*s", (int) strcspn(text.data, "\n"), text.data);
	sw_text_deinit(&text);
	return ok;
}

/* The checks read in /proc what we may do and what others do. A root directory with one static file
 * may lack it. */
static bool check_proc(struct sw_doctor *d)
{
	bool mounted = d->self.size > 0;
	if (!mounted)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "proc", "mount -t proc proc /proc",
			      "/proc is not mounted here: no process is seen");
	else
		sw_doctor_say(d, SW_VERDICT_OK, "proc", NULL, "/proc is mounted");
	return mounted;
}

static bool have_cap(const struct sw_doctor *d, int bit)
{
	return d->cap_eff >> bit & 1;
}

static bool have_ptrace_cap(const struct sw_doctor *d)
{
	return have_cap(d, CAP_PTRACE_BIT);
}

static void check_kernel(struct sw_doctor *d)
{
	struct utsname u;
	int major = 0, minor = 0;
	if (uname(&u) < 0)
		return;
	(void) sscanf(u.release, "%d.%d", &major, &minor);
	if (strcmp(u.machine, "x86_64") != 0)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "kernel", "use a 64-bit x86 machine",
			      "%s is not supported", u.machine);
	else if (major < 3 || (major == 3 && minor < 4))
		/* ptrace(2): PTRACE_SEIZE, since Linux 3.4 */
		sw_doctor_say(d, SW_VERDICT_REFUSED, "kernel", "use Linux 3.4 or newer",
			      "Linux %s cannot seize a process", u.release);
	else
		sw_doctor_say(d, SW_VERDICT_OK, "kernel", NULL, "Linux %s on %s", u.release,
			      u.machine);
}

static void check_capability(struct sw_doctor *d)
{
	if (have_ptrace_cap(d))
		sw_doctor_say(d, SW_VERDICT_OK, "capability", NULL, "CAP_SYS_PTRACE is effective");
	else if (geteuid() == 0)
		sw_doctor_say(d, SW_VERDICT_NOTE, "capability",
			      "start the container with --cap-add SYS_PTRACE",
			      "root without CAP_SYS_PTRACE%s",
			      d->cap_bnd >> CAP_PTRACE_BIT & 1 ? ""
							       : ", not even in the bounding set");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "capability",
			      "for all processes CAP_SYS_PTRACE is needed, which root has",
			      "uid %d without CAP_SYS_PTRACE: only processes of this user",
			      (int) geteuid());
}

/* Documentation/admin-guide/LSM/Yama.rst, Linux 6.1. */
static void check_yama(struct sw_doctor *d)
{
	static const char path[] = "/proc/sys/kernel/yama/ptrace_scope";
	char line[16];
	if (!read_line(path, line, sizeof(line))) {
		sw_doctor_say(d, SW_VERDICT_OK, "yama", NULL, "not in this kernel");
		return;
	}
	int scope = atoi(line);
	bool allowed = (d->pid != 0 && d->probe_errno == 0) || scope == 0 ||
		       (scope < 3 && have_ptrace_cap(d));
	if (allowed)
		sw_doctor_say(d, SW_VERDICT_OK, "yama", NULL, "ptrace_scope is %d", scope);
	else if (scope >= 3)
		sw_doctor_say(d, SW_VERDICT_REFUSED, "yama",
			      "reboot without kernel.yama.ptrace_scope=3: it cannot be lowered",
			      "ptrace_scope is 3: nobody may trace");
	else
		sw_doctor_say(d, SW_VERDICT_REFUSED, "yama",
			      "run as root, or: sysctl kernel.yama.ptrace_scope=0",
			      "ptrace_scope is %d: %s", scope,
			      scope == 1 ? "only descendants may be traced"
					 : "only with CAP_SYS_PTRACE");
}

static void check_lsm(struct sw_doctor *d)
{
	char modules[128] = "", label[128] = "", deny[16] = "";
	if (read_line("/sys/fs/selinux/booleans/deny_ptrace", deny, sizeof(deny)) &&
	    deny[0] == '1') {
		sw_doctor_say(d, SW_VERDICT_REFUSED, "lsm", "setsebool deny_ptrace off",
			      "SELinux: deny_ptrace is on");
		return;
	}
	if (!read_line("/sys/kernel/security/lsm", modules, sizeof(modules)))
		(void) snprintf(modules, sizeof(modules), "not known");
	if (!read_line("/proc/self/attr/current", label, sizeof(label)))
		(void) snprintf(label, sizeof(label), "none");
	bool confined = strstr(label, "(enforce)") != NULL; /* AppArmor's form: "profile (mode)" */
	sw_doctor_say(d, confined ? SW_VERDICT_NOTE : SW_VERDICT_OK, "lsm",
		      confined ? "if it is refused, allow ptrace in that profile" : NULL,
		      "security modules: %s; our label: %s", modules, label);
}

/* A seccomp filter answers EPERM or ENOSYS; reading ourselves needs no permission. */
static void check_seccomp(struct sw_doctor *d)
{
	char from = 'x', to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};
	int64_t mode = sw_status_field(&d->self, "Seccomp", 10);
	bool reads = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
	if (mode > 0)
		sw_doctor_say(d, SW_VERDICT_NOTE, "seccomp",
			      "if it is refused: --security-opt seccomp=unconfined",
			      "a filter is active for us; process_vm_readv %s",
			      reads ? "works" : "is refused");
	else if (reads)
		sw_doctor_say(d, SW_VERDICT_OK, "seccomp", NULL, "no filter");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "seccomp", "use a kernel with process_vm_readv",
			      "process_vm_readv does not work: copying is slower");
}

/* CAP_SYS_ADMIN counts as CAP_BPF and as CAP_PERFMON: bpf_capable() and perfmon_capable(), Linux 5.8. */
static const char *iterator_remedy(const struct sw_doctor *d, int code)
{
	bool capable = have_cap(d, CAP_ADMIN_BIT) ||
		       (have_cap(d, CAP_BPF_BIT) && have_cap(d, CAP_PERFMON_BIT));
	if (code != SW_E_NOT_PERMITTED)
		return "use Linux 6.1 or newer with type information, and a build with the "
		       "iterator";
	if (capable)
		return "allow bpf(2) outside of user namespaces: --security-opt seccomp=unconfined";
	if (geteuid() == 0)
		return "start the container with --cap-add SYS_PTRACE,BPF,PERFMON";
	return "sudo setpriv --bounding-set=-all,+sys_ptrace,+bpf,+perfmon snapwalk PID";
}

static void check_iterator(struct sw_doctor *d)
{
	struct sw_error err = {0};
	if (sw_iterator_check(&err) == 0)
		sw_doctor_say(d, SW_VERDICT_OK, "iterator", NULL,
			      "blocked threads are read without a stop");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "iterator", iterator_remedy(d, err.code),
			      "all threads are stopped: %s", err.message);
}

static void check_container(struct sw_doctor *d)
{
	char manager[64] = "";
	if (!read_line("/run/systemd/container", manager, sizeof(manager))) {
		if (access("/.dockerenv", F_OK) == 0)
			(void) snprintf(manager, sizeof(manager), "docker");
		else if (access("/run/.containerenv", F_OK) == 0)
			(void) snprintf(manager, sizeof(manager), "podman");
	}
	if (manager[0] == '\0')
		sw_doctor_say(d, SW_VERDICT_OK, "container", NULL, "we are in none that is known");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "container",
			      "for processes outside, run on the host",
			      "we are in a container (%s) and see only its processes", manager);
}

/* Tried on ourselves and taken back at once. */
static void check_realtime(struct sw_doctor *d)
{
	struct sched_param old, fifo = {.sched_priority = 1};
	int policy = sched_getscheduler(0);
	if (policy < 0 || sched_getparam(0, &old) < 0)
		return;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo) < 0) {
		sw_doctor_say(d, SW_VERDICT_NOTE, "realtime", "give CAP_SYS_NICE for shorter stops",
			      "SCHED_FIFO is refused: stops take about a quarter longer");
		return;
	}
	(void) sched_setscheduler(0, policy, &old); /* going back is always allowed */
	sw_doctor_say(d, SW_VERDICT_OK, "realtime", NULL, "SCHED_FIFO is permitted");
}

bool sw_load_is_busy(double minute, unsigned now, long cpus)
{
	return now > (unsigned long) cpus + 1 || minute > (double) cpus; /* one of now is ours */
}

/* How many threads run or wait for a CPU, and how many did in the last minute: proc(5), loadavg. */
static void check_load(struct sw_doctor *d)
{
	char line[128];
	double minute = 0;
	unsigned now = 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (!read_line("/proc/loadavg", line, sizeof(line)) ||
	    sscanf(line, "%lf %*f %*f %u", &minute, &now) != 2 || cpus < 1)
		return;
	d->is_busy = sw_load_is_busy(minute, now, cpus);
	if (d->is_busy)
		sw_doctor_say(
			d, SW_VERDICT_NOTE, "load", "allow more with --max-stop",
			"%u threads run or want to, of %ld CPUs (%.1f in the last minute): stops "
			"take longer",
			now, cpus, minute);
	else
		sw_doctor_say(d, SW_VERDICT_OK, "load", NULL,
			      "%u threads run or want to, of %ld CPUs (%.1f in the last minute)",
			      now, cpus, minute);
}

/* The reason says whether it is not installed, or we are a static file. */
static void check_libunwind(struct sw_doctor *d)
{
	struct sw_error err = {0};
	if (sw_walk_libunwind_load(&err) == 0)
		sw_doctor_say(d, SW_VERDICT_OK, "libunwind", NULL, "verify can compare with it");
	else
		sw_doctor_say(d, SW_VERDICT_NOTE, "libunwind", NULL, "no verify: %s", err.message);
}

void sw_doctor_general(struct sw_doctor *d)
{
	check_kernel(d);
	if (!check_proc(d))
		return; /* the others read it */
	check_capability(d);
	check_yama(d);
	check_lsm(d);
	check_seccomp(d);
	check_iterator(d);
	check_container(d);
	check_realtime(d);
	check_load(d);
	check_libunwind(d);
}
