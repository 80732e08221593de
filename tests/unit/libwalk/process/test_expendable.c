/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that may be left behind, and which file systems it is for. */
#include "process/expendable.h"
#include "process/filesystems.h"
#include "cleanup.h"
#include "skip.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PATIENCE_NS = 1000000000, SHORT_NS = 20000000 };

static void add_one(void *arg)
{
	++*(int *) arg;
}

static void never_end(void *arg)
{
	for (;;)
		(void) pause();
}

static void is_open(void *arg)
{
	struct stat st;
	int *fds = arg;
	for (int i = 0; i < 2; i++)
		fds[i] = fstat(fds[i], &st);
}

TEST(test_run)
{
	struct sw_expendable *e = NULL;
	int n = 0;
	assert_int_equal(sw_expendable_start(NULL, 0, &e, NULL), 0);
	for (int i = 1; i <= 100; i++) {
		assert_true(sw_expendable_run(e, add_one, &n,
					      sw_clock_ns() + 60 * (int64_t) PATIENCE_NS));
		assert_int_equal(n, i);
	}
	assert_true(sw_expendable_end(e));
}

static void pid_read(void *arg)
{
	*(pid_t *) arg = getpid();
}

/* A parser that is taken over may write to the memory of a process that was ended: that one does nothing more. */
TEST(test_quit)
{
	const uint32_t has_job = 1; /* what the first word of the process says then: enum turn */
	struct sw_expendable *e = NULL;
	pid_t pid = 0;
	int n = 0;
	int64_t until_ns = sw_clock_ns() + 60 * (int64_t) PATIENCE_NS;
	assert_int_equal(sw_expendable_start(NULL, 0, &e, NULL), 0);
	assert_true(sw_expendable_run(e, pid_read, &pid, until_ns));
	assert_true(sw_expendable_run(e, add_one, &n, until_ns));
	assert_int_equal(kill(pid, SIGSTOP), 0); /* before it has seen the word */
	sw_expendable_quit(e);
	assert_false(sw_expendable_run(e, add_one, &n, until_ns));
	memcpy(e, &has_job, sizeof(has_job));
	(void) kill(pid, SIGCONT); /* it may have ended */
	for (int i = 0; i < 20 && n == 1; i++)
		(void) usleep(SHORT_NS / 10000);
	assert_int_equal(n, 1);
	assert_true(sw_expendable_end(e));
}

static void policy_read(void *arg)
{
	*(int *) arg = sched_getscheduler(0);
}

/* The process has the priority that we have for ourselves before it is asked for anything. */
TEST(test_priority)
{
	struct sw_expendable *e = NULL;
	const struct sched_param lowest = {.sched_priority = 1}, none = {0};
	int policy = -1;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) < 0)
		SKIP("real-time priority is refused", "CAP_SYS_NICE");
	assert_int_equal(sw_expendable_start(NULL, 0, &e, NULL), 0);
	assert_true(sw_expendable_run(e, policy_read, &policy,
				      sw_clock_ns() + 60 * (int64_t) PATIENCE_NS));
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none), 0);
	assert_int_equal(policy, SCHED_FIFO);
	assert_true(sw_expendable_end(e));
}

/* The descriptors that it was given are open, those that are ours alone are not. */
TEST(test_descriptors)
{
	struct sw_expendable *e = NULL;
	int kept = open("/dev/null", O_RDONLY), ours = open("/dev/null", O_RDONLY);
	int fds[] = {kept, ours};
	assert_int_equal(sw_expendable_start(&kept, 1, &e, NULL), 0);
	assert_true(sw_expendable_run(e, is_open, fds, sw_clock_ns() + 60 * (int64_t) PATIENCE_NS));
	assert_int_equal(fds[0], 0);
	assert_int_equal(fds[1], -1);
	assert_true(sw_expendable_end(e));
	(void) close(kept);
	(void) close(ours);
}

TEST(test_lost)
{
	struct sw_expendable *e = NULL;
	int n = 0;
	assert_int_equal(sw_expendable_start(NULL, 0, &e, NULL), 0);
	assert_false(sw_expendable_run(e, never_end, NULL, sw_clock_ns() + SHORT_NS));
	assert_true(sw_expendable_is_lost(e));
	assert_false(sw_expendable_run(e, add_one, &n, sw_clock_ns() + PATIENCE_NS));
	assert_int_equal(n, 0);
	assert_true(sw_expendable_end(e)); /* a wait that signals end */
}

/* Confined, it still reads, and dies of anything else. */
TEST(test_confined)
{
	struct sw_expendable *e = NULL;
	char text[5] = "";
	int fd = open("/proc/self/exe", O_RDONLY), n[] = {fd, fd};
	assert_int_equal(sw_expendable_start(&fd, 1, &e, NULL), 0);
	assert_true(sw_expendable_confine(e));
	assert_int_equal(sw_expendable_pread(e, fd, text, 4, 0,
					     sw_clock_ns() + 60 * (int64_t) PATIENCE_NS),
			 4);
	assert_memory_equal(text, "\177ELF", 4);
	assert_false(sw_expendable_run(e, is_open, n, sw_clock_ns() + SHORT_NS));
	assert_int_equal(n[0], fd);
	assert_true(sw_expendable_end(e));
	(void) close(fd);
}

static void make_file(void *arg)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	*(int *) arg = fd >= 0 && write(fd, "text", 4) == 4 ? fd : -1;
}

/* A descriptor that is taken is one of ours, for reading only, and the other process has closed its own. */
TEST(test_take_fd)
{
	struct sw_expendable *e = NULL;
	char text[5] = "";
	int fd = -1, theirs[2];
	assert_int_equal(sw_expendable_start(NULL, 0, &e, NULL), 0);
	assert_true(
		sw_expendable_run(e, make_file, &fd, sw_clock_ns() + 60 * (int64_t) PATIENCE_NS));
	assert_true(fd >= 0);
	theirs[0] = theirs[1] = fd;
	int ours = sw_expendable_take_fd(e, fd);
	assert_true(ours >= 0);
	assert_int_equal(fcntl(ours, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(ours, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(ours, text, 4, 0), 4);
	assert_memory_equal(text, "text", 4);
	assert_true(
		sw_expendable_run(e, is_open, theirs, sw_clock_ns() + 60 * (int64_t) PATIENCE_NS));
	assert_int_equal(theirs[0], -1);
	assert_int_equal(sw_expendable_take_fd(e, fd), -1);
	assert_true(sw_expendable_end(e));
	(void) close(ours);
}

TEST(test_kinds)
{
	static const char text[] =
		"25 1 0:22 / /sys rw,nosuid - sysfs sysfs rw\n"
		"36 25 0:40 / /home/u/far rw - fuse.sshfs u@far:/ rw,user_id=1000\n"
		"37 25 0:41 / /net rw shared:3 master:1 - nfs4 server:/ rw\n"
		"38 25 0:42 / /merged rw - overlay overlay rw,lowerdir=/home/u/near\n"
		"39 25 broken\n"
		"41 25 0:44 / /many rw - btrfs /dev/y rw\n"
		"40 25 0:43 / /x rw - ext4x /dev/x rw";
	struct sw_arena arena = {0};
	struct sw_filesystems own, other;
	struct sw_fs_mounts mounts = {.text = text,
				      .size = sizeof(text) - 1,
				      .own_namespace = true};
	assert_int_equal(sw_filesystems_parse(&arena, &mounts, &own), 0);
	mounts.own_namespace = false;
	assert_int_equal(sw_filesystems_parse(&arena, &mounts, &other), 0);
	assert_int_equal(own.n, 6);
	assert_int_equal(sw_filesystems_kind(&own, 0, 22), SW_FS_LOCAL);
	assert_int_equal(sw_filesystems_kind(&own, 0, 40), SW_FS_USER);
	assert_int_equal(sw_filesystems_kind(&own, 0, 41), SW_FS_NETWORK);
	assert_int_equal(sw_filesystems_kind(&own, 0, 42), SW_FS_LOCAL);
	assert_int_equal(sw_filesystems_kind(&other, 0, 42), SW_FS_USER);
	assert_int_equal(sw_filesystems_kind(&own, 0, 43), SW_FS_USER);
	assert_int_equal(sw_filesystems_kind(&own, 0, 4095), SW_FS_USER); /* on no mount */
	assert_int_equal(sw_filesystems_kind(&own, 8, 1), SW_FS_LOCAL);
	/* By its mount, whatever its device. */
	enum sw_fs_kind kind = SW_FS_LOCAL;
	struct sw_fs_file file = {.major = 0, .minor = 99, .mount = 37};
	assert_true(sw_filesystems_find(&own, &file, &kind));
	assert_int_equal(kind, SW_FS_NETWORK);
	file.mount = 41; /* the device of a subvolume is not listed */
	assert_true(sw_filesystems_find(&own, &file, &kind));
	assert_int_equal(kind, SW_FS_LOCAL);
	file.mount = 25; /* another mount has that number by now */
	assert_false(sw_filesystems_find(&own, &file, &kind));
	file = (struct sw_fs_file){.major = 0, .minor = 22, .mount = 99};
	assert_false(sw_filesystems_find(&own, &file, &kind));
	file.mount = 0; /* not told */
	assert_true(sw_filesystems_find(&own, &file, &kind));
	assert_int_equal(kind, SW_FS_LOCAL);
	assert_int_equal(sw_filesystems_link_kind(-EBADF, "exe"), SW_FS_LOCAL);
	sw_arena_deinit(&arena);
}

/* A file system on others is as slow as its layers: by the mounts that its options name. */
TEST(test_layers)
{
	static const char served[] = "30 1 0:50 / /far rw - fuse.sshfs u@far:/ rw\n"
				     "31 1 0:51 / /net\\040work rw - nfs4 server:/ rw\n"
				     "32 1 0:52 / /a:b rw - fuse.x x rw\n"
				     "33 1 0:53 / /eq=al rw - fuse.x x rw\n";
	static const struct {
		const char *layers;
		enum sw_fs_kind kind;
	} cases[] = {
		{"overlay overlay rw,lowerdir=/far", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/far/below", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/farther", SW_FS_LOCAL},
		{"overlay overlay rw,lowerdir=/disk", SW_FS_LOCAL},
		{"overlay overlay rw,lowerdir=/disk:/far/x,upperdir=/disk/u", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/disk::/far/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/disk,upperdir=/far/u,workdir=/far/w", SW_FS_USER},
		{"overlay overlay rw,lowerdir+=/disk,lowerdir+=/far/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir+=/disk,datadir+=/far/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/net\\040work/x", SW_FS_NETWORK},
		{"overlay overlay rw,lowerdir=/net", SW_FS_LOCAL},
		{"overlay overlay rw,lowerdir=/a\\134:b/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/eq=al/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/disk:/eq=al/x", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/disk\\134\\134:/far",
		 SW_FS_USER}, /* ends in a backslash */
		{"overlay overlay rw,lowerdir=/disk\\134:/far",
		 SW_FS_LOCAL}, /* a colon of its own */
		{"overlay overlay rw,lowerdir=/fa\\162", SW_FS_USER},
		{"overlay overlay rw,lowerdir=/fa\\192", SW_FS_LOCAL}, /* no octal digits */
		{"overlay overlay rw,lowerdir=l/ABC:l/DEF", SW_FS_LOCAL},
		{"overlay overlay rw", SW_FS_LOCAL},
		{"ecryptfs /far/private rw", SW_FS_USER},
		{"ecryptfs /eq=al/private rw", SW_FS_USER},
		{"ecryptfs /disk/private rw", SW_FS_LOCAL},
	};
	char text[512], outer[512];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_arena arena = {0};
		struct sw_filesystems fs;
		enum sw_fs_kind on_it = SW_FS_LOCAL;
		/* The directories on such a file system, and the mount before it. */
		int size = snprintf(text, sizeof(text),
				    "40 1 0:60 / /on rw - overlay overlay rw,lowerdir=/merged/x\n"
				    "41 1 0:61 / /merged rw - %s\n%s",
				    cases[i].layers, served);
		struct sw_fs_mounts mounts = {.text = text,
					      .size = (size_t) size,
					      .own_namespace = true};
		assert_int_equal(sw_filesystems_parse(&arena, &mounts, &fs), 0);
		if (sw_filesystems_kind(&fs, 0, 61) != cases[i].kind)
			fail_msg("%s: %d", cases[i].layers, sw_filesystems_kind(&fs, 0, 61));
		on_it = sw_filesystems_kind(&fs, 0, 60);
		assert_int_equal(on_it, cases[i].kind);
		/* In a container, whose layers are seen outside. */
		size = snprintf(text, sizeof(text), "41 1 0:61 / / rw - %s\n", cases[i].layers);
		int outer_size = snprintf(outer, sizeof(outer), "%s", served);
		mounts = (struct sw_fs_mounts){.text = text,
					       .size = (size_t) size,
					       .own_namespace = true,
					       .outer_text = outer,
					       .outer_size = (size_t) outer_size};
		assert_int_equal(sw_filesystems_parse(&arena, &mounts, &fs), 0);
		assert_int_equal(sw_filesystems_kind(&fs, 0, 61), cases[i].kind);
		assert_int_equal(fs.n, 1);
		sw_arena_deinit(&arena);
	}
}

/* A process that makes thousands of mounts on thousands of others makes nobody wait: a mount that
 * was not compared may be a server's. */
TEST(test_many_layers)
{
	enum { EACH = 3000, LINE_BYTES = 128 };
	char *text = malloc((size_t) 2 * EACH * LINE_BYTES);
	assert_non_null(text);
	size_t size = 0;
	for (unsigned i = 0; i < EACH; i++)
		size += (size_t) snprintf(text + size, LINE_BYTES,
					  "%u 1 0:%u / /f%u rw - fuse.x x rw\n", 2 + i, 100 + i, i);
	for (unsigned i = 0; i < EACH; i++)
		size += (size_t)
			snprintf(text + size, LINE_BYTES,
				 "%u 1 0:%u / /o%u rw - overlay overlay rw,lowerdir=/a:/b\n",
				 4000 + i, 5000 + i, i);
	const struct sw_fs_mounts mounts = {.text = text, .size = size, .own_namespace = true};
	struct sw_arena arena = {0};
	struct sw_filesystems fs;
	assert_int_equal(sw_filesystems_parse(&arena, &mounts, &fs), 0);
	assert_int_equal(sw_filesystems_kind(&fs, 0, 5000 + EACH - 1), SW_FS_USER);
	sw_arena_deinit(&arena);
	free(text);
}
