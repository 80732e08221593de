/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks over a directory that looks like /proc/PID. */
#include "cleanup.h"
#include "doctor/verdict.h"
#define TEST_OWN_MAIN
#include "test.h"

#include <sys/stat.h>

/* Fields of /proc/PID/stat around state and flags. */
#define STAT(comm, state, flags) "7 (" comm ") " state " 1 7 7 0 -1 " flags " 0 0 0\n"

struct fake {
	char directory[32];
	struct sw_doctor doctor;
};

static void write_file(struct fake *f, const char *name, const char *content, size_t size)
{
	char path[96];
	(void) snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	assert_int_equal(close(fd), 0);
}

static void write_text(struct fake *f, const char *name, const char *content)
{
	write_file(f, name, content, strlen(content));
}

/* As the kernel writes it, in words of 4 or 8 bytes: AT_HWCAP, AT_PAGESZ, AT_NULL. */
static void write_auxv(struct fake *f, size_t word)
{
	const uint64_t values[] = {16, 0x178bfbff, 6, 4096, 0, 0};
	char bytes[sizeof(values)];
	for (size_t i = 0; i < SW_ARRAY_SIZE(values); i++)
		memcpy(bytes + i * word, &values[i], word);
	write_file(f, "auxv", bytes, SW_ARRAY_SIZE(values) * word);
}

static int set_up(void **state)
{
	static struct fake f;
	char path[96];
	f = (struct fake){.directory = "/tmp/snapwalk-XXXXXX", .doctor = {.pid = 7}};
	if (mkdtemp(f.directory) == NULL)
		return -1;
	(void) snprintf(path, sizeof(path), "%s/task", f.directory);
	assert_int_equal(mkdir(path, 0755), 0);
	(void) snprintf(path, sizeof(path), "%s/task/7", f.directory);
	assert_int_equal(mkdir(path, 0755), 0);
	f.doctor.proc_fd = open(f.directory, O_RDONLY | O_DIRECTORY);
	assert_true(f.doctor.proc_fd >= 0);
	write_text(&f, "stat", STAT("a ) b", "S", "4194304"));
	write_text(&f, "task/7/stat", STAT("a ) b", "S", "4194304"));
	write_text(&f, "task/7/status", "Name:\ta\nTracerPid:\t0\n");
	write_auxv(&f, sizeof(uint64_t));
	write_text(&f, "cgroup", "11:freezer:/\n0::/\n");
	/* Opened, it waits for ever for one who writes, as a program of a file system that is stuck. */
	(void) snprintf(path, sizeof(path), "%s/exe", f.directory);
	assert_int_equal(mkfifo(path, 0644), 0);
	sw_text_printf(&f.doctor.other, "Name:\ta\nTracerPid:\t0\nUid:\t%d\t%d\t%d\t0\n",
		       (int) geteuid(), (int) geteuid(), (int) geteuid());
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"stat",    "task/7/stat", "task/7/status", "auxv",
					    "cgroup",  "exe",         "task/7",        "task",
					    "ns/user", "ns"};
	struct fake *f = *state;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		char path[96];
		(void) snprintf(path, sizeof(path), "%s/%s", f->directory, names[i]);
		(void) remove(path);
	}
	close(f->doctor.proc_fd);
	sw_text_deinit(&f->doctor.other);
	sw_text_deinit(&f->doctor.report);
	return rmdir(f->directory);
}

/* Runs the checks; the report must have the line. */
static void has_line(struct fake *f, const char *line)
{
	sw_text_deinit(&f->doctor.report);
	f->doctor.n_refused = 0;
	sw_doctor_target(&f->doctor);
	if (strstr(f->doctor.report.data, line) == NULL)
		fail_msg("no line '%s' in\n%s", line, f->doctor.report.data);
}

TEST_WITH(test_nothing_refuses, set_up, tear_down)
{
	struct fake *f = *state;
	has_line(f, "ok       kind        a 64-bit program\n");
	has_line(f, "ok       dumpable    it may be dumped\n");
	has_line(f, "ok       tracer      no other tracer\n");
	has_line(f, "ok       threads     1 thread\n");
	has_line(f, "ok       permission  the kernel allows it (asked by opening /proc/7/mem)\n");
	assert_int_equal(f->doctor.n_refused, 0);
}

TEST_WITH(test_kind, set_up, tear_down)
{
	struct fake *f = *state;
	has_line(f, "ok       kind        a 64-bit program\n");
	write_auxv(f, sizeof(uint32_t));
	has_line(f, "ok       kind        a 32-bit program\n");
	assert_int_equal(f->doctor.n_refused, 0);
	write_text(f, "auxv", ""); /* of one without memory */
	has_line(f, "note     kind        its program cannot be read\n");
	write_text(f, "stat", STAT("kthreadd", "S", "2129984"));
	has_line(f, "refused  kind        a kernel thread has no user stack\n");
	write_text(f, "stat", "no parenthesis");
	has_line(f, "refused  kind        it ended meanwhile\n");
}

/* Root may trace others; the check refuses only if the kernel does. */
TEST_WITH(test_uid, set_up, tear_down)
{
	struct fake *f = *state;
	sw_text_deinit(&f->doctor.other);
	sw_text_printf(&f->doctor.other, "Name:\tUid:\nUid:\t77\t78\t79\t80\n");
	char line[96];
	(void) snprintf(
		line, sizeof(line),
		"ok       uid         it runs as uid 77 (effective 78, saved 79), we as %d\n",
		(int) geteuid());
	has_line(f, line);
	f->doctor.probe_errno = EACCES;
	memcpy(line, "refused", strlen("refused"));
	has_line(f, line);
	has_line(f, "refused  permission  the kernel refuses it: Permission denied\n");
	assert_int_equal(f->doctor.n_refused, 2);
}

TEST_WITH(test_threads, set_up, tear_down)
{
	struct fake *f = *state;
	write_text(f, "task/7/stat", STAT("x", "D", "0"));
	has_line(f, "note     threads     1 of 1 wait uninterruptibly (D) and may not stop\n");
	write_text(f, "task/7/stat", STAT("x", "T", "0"));
	has_line(f, "ok       threads     1 thread, stopped by a signal (they stay so)\n");
	write_text(f, "task/7/stat", STAT("x", "Z", "0"));
	has_line(f, "refused  threads     it is a zombie: no stack is left\n");
	assert_null(strstr(f->doctor.report.data, "permission"));
}

TEST_WITH(test_tracer, set_up, tear_down)
{
	struct fake *f = *state;
	char line[96];
	(void) snprintf(line, sizeof(line), "Name:\ta\nTracerPid:\t%d\n", (int) getpid());
	write_text(f, "task/7/status", line);
	(void) snprintf(line, sizeof(line),
			"refused  tracer      thread 7 is traced by %d (test_verdict)\n",
			(int) getpid());
	has_line(f, line);
}

TEST_WITH(test_namespaces, set_up, tear_down)
{
	struct fake *f = *state;
	char path[96];
	has_line(f, "note     user-ns     its namespace cannot be read: it may be another one than "
		    "ours\n");
	has_line(f, "note     pid-ns      its namespace cannot be read: it may be another one than "
		    "ours\n");
	(void) snprintf(path, sizeof(path), "%s/ns", f->directory);
	assert_int_equal(symlink("/proc/self/ns", path), 0);
	has_line(f, "ok       user-ns     the same namespace as ours\n");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	(void) snprintf(path, sizeof(path), "%s/ns/user", f->directory);
	assert_int_equal(symlink("user:[1]", path), 0);
	has_line(f, "note     user-ns     another namespace than ours\n");
}

TEST(test_status_field)
{
	struct sw_text text = {0};
	assert_int_equal(sw_status_field(&text, "TracerPid", 10), -1);
	sw_text_printf(&text, "Name:\tTracerPid:\t5\nTracerPid:\t12\nCapEff:\t00000000000000ff\n");
	assert_int_equal(sw_status_field(&text, "TracerPid", 10), 12);
	assert_int_equal(sw_status_field(&text, "CapEff", 16), 255);
	assert_int_equal(sw_status_field(&text, "Cap", 16), -1);
	sw_text_deinit(&text);
}

TEST(test_load)
{
	assert_false(sw_load_is_busy(0.5, 1, 2));
	assert_false(sw_load_is_busy(2.0, 3, 2)); /* a thread on each, and we */
	assert_true(sw_load_is_busy(0.5, 4, 2));
	assert_true(sw_load_is_busy(2.1, 1, 2));
}

TEST(test_json)
{
	struct sw_doctor d = {.json = true};
	sw_doctor_say(&d, SW_VERDICT_OK, "kernel", NULL, "Linux \"6\"");
	sw_doctor_say(&d, SW_VERDICT_REFUSED, "yama", "run as root", "it is \033[2J");
	assert_string_equal(
		d.report.data,
		"{\"check\":\"kernel\",\"verdict\":\"ok\",\"message\":\"Linux \\\"6\\\"\"},"
		"{\"check\":\"yama\",\"verdict\":\"refused\",\"message\":\"it is \\u001b[2J\","
		"\"remedy\":\"run as root\"}");
	assert_int_equal(d.n_refused, 1);
	sw_text_deinit(&d.report);
}

int main(void)
{
	alarm(60); /* for one who opens the program */
	return TEST_RUN(NULL, NULL);
}
