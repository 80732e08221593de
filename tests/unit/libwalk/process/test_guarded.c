/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the target names, with and without a file system that may not answer on the way. */
#include "process/guarded.h"
#include "arena.h"
#include "cleanup.h"
#include "skip.h"
#include "test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

struct fixture {
	struct sw_arena arena;
	struct sw_pages pages;
	struct sw_fs_device device;
	char path[64];
};

/* A file on tmpfs, as others are known by their device number alone. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL)
		return -1;
	(void) snprintf(f->path, sizeof(f->path), "/dev/shm/test_guarded.XXXXXX"); /* fits */
	sw_cleanup(sw_close_p) int fd = mkstemp(f->path);
	if (fd < 0 || write(fd, "bytes", 5) != 5 || fchmod(fd, 0644) < 0)
		return -1;
	sw_pages_init(&f->pages);
	f->pages.arena = &f->arena;
	f->pages.live_fd = f->pages.proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int fd = f->pages.live_fd;
	sw_pages_deinit(&f->pages);
	(void) close(fd); /* nothing was written */
	(void) unlink(f->path);
	sw_arena_deinit(&f->arena);
	free(f);
	return 0;
}

/* From now on its mount is one that a program serves. */
static void serve(struct fixture *f)
{
	struct sw_fs_file file;
	sw_cleanup(sw_close_p) int fd = open(f->path, O_PATH | O_CLOEXEC);
	assert_true(sw_filesystems_file(fd, &file));
	if (file.major != 0)
		SKIP("/dev/shm is on a disk", "a tmpfs that is mounted there");
	assert_int_not_equal(file.mount, 0);
	f->device = (struct sw_fs_device){file.mount, file.major, file.minor, SW_FS_USER, false};
	f->pages.fs = (struct sw_filesystems){.devices = &f->device, .n = 1};
	f->pages.fs_known = f->pages.our_fs_known = true;
}

static void holds_bytes(int fd)
{
	char bytes[8];
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 5);
	assert_memory_equal(bytes, "bytes", 5);
}

/* A lease of a file keeps nobody waiting: lease-break-time is 45 s. */
TEST_OF(test_lease, struct fixture *f)
{
	struct stat st;
	(void) signal(SIGIO, SIG_IGN); /* tells of who opens the file */
	sw_cleanup(sw_close_p) int own_fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_true(own_fd >= 0);
	if (fcntl(own_fd, F_SETLEASE, F_WRLCK) < 0)
		SKIP("there are no leases", "a file system that has them");
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL,
					 &st),
			 -1);
	assert_int_equal(fcntl(own_fd, F_SETLEASE, F_UNLCK), 0);
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL, &st);
	assert_true(fd >= 0);
}

TEST_OF(test_local, struct fixture *f)
{
	struct stat st, own;
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL, &st);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &own), 0);
	assert_int_equal(own.st_ino, st.st_ino);
	assert_int_equal(own.st_nlink, 1);
	holds_bytes(fd);
	assert_null(f->pages.opener);
}

TEST_OF(test_nothing_there, struct fixture *f)
{
	struct stat st;
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/dev/shm", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/dev/null", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/not/there", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
}

/* A copy: its own owner and mode say nothing of the file's, which *st has. */
TEST_OF(test_served, struct fixture *f)
{
	struct stat st, own;
	serve(f);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL,
					 &st),
			 -1);
	assert_int_equal(errno, EXDEV);
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_COPY, &st);
	assert_true(fd >= 0);
	holds_bytes(fd);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(fstat(fd, &own), 0);
	assert_int_equal(own.st_nlink, 0);
	assert_int_equal(own.st_mode & 0777, 0600);
}

/* The time of copies is no time that is waited; where it is up, no server is taken not to answer. */
TEST_OF(test_copies_have_their_own_time, struct fixture *f)
{
	struct stat st;
	serve(f);
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_COPY, &st);
	assert_true(fd >= 0);
	assert_true(f->pages.copied_ns > 0);
	int64_t waited_ns = f->pages.waited_ns;
	f->pages.copied_ns = INT64_C(3000000000);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(f->pages.n_lost, 0);
	assert_true(f->pages.waited_ns > waited_ns); /* for the answer */
	assert_int_equal(f->pages.copied_ns, INT64_C(3000000000));
}

/* From now on openat2() is refused, as by the filters of our own processes: confine/calls.c. */
static bool openat2_refuse(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = SW_ARRAY_SIZE(code), .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Adds a mount that an automounter serves, which is not on the way to the file, to the mounts that there are. */
static void served_mount_add(struct fixture *f)
{
	struct sw_filesystems fs;
	assert_int_equal(sw_filesystems_read(&f->arena, f->pages.proc_fd, &fs), 0);
	struct sw_fs_device *devices = sw_arena_calloc(&f->arena, fs.n + 1, sizeof(*devices));
	assert_non_null(devices);
	memcpy(devices, fs.devices, fs.n * sizeof(*devices));
	devices[fs.n] = (struct sw_fs_device){UINT32_MAX, 0, UINT32_MAX, SW_FS_USER, false};
	f->pages.fs = (struct sw_filesystems){.devices = devices, .n = fs.n + 1};
	f->pages.fs_known = true;
}

/* The expendable process is not asked: it cannot hand the descriptor over where we have no privileges. */
TEST_OF(test_openat2_is_refused, struct fixture *f)
{
	int status;
	served_mount_add(f);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct stat st;
		char bytes[8];
		if (!openat2_refuse())
			_exit(1);
		int fd = sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL,
					 &st);
		if (fd < 0 || pread(fd, bytes, sizeof(bytes), 0) != 5)
			_exit(2);
		if (f->pages.opener != NULL)
			_exit(3);
		fd = sw_guarded_open(&f->pages, SW_ROOT_TARGETS, "/not/there", 0, SW_GUARDED_LOCAL,
				     &st);
		_exit(fd == -1 && errno == ENOENT && f->pages.opener == NULL ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- what a user may read ------------------------------------------------------------------- */

/* Another user than the files' owner, without its group. */
static struct sw_credentials another(void)
{
	return (struct sw_credentials){.uid = getuid() + 1, .gid = getgid() + 1};
}

static int opens_as(struct fixture *f, const char *path, enum sw_guarded what,
		    const struct sw_credentials *reader)
{
	struct stat st;
	errno = 0;
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open_as(&f->pages, SW_ROOT_TARGETS, path, O_NOFOLLOW, what, reader, &st);
	return fd >= 0 ? 0 : errno;
}

/* A file for all, in a directory that its owner alone may enter. The mode of the file says nothing. */
static void hide(const struct fixture *f, char directory[static 80], char path[static 96])
{
	snprintf(directory, 80, "%s.d", f->path);
	snprintf(path, 96, "%s/file", directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(link(f->path, path), 0);
}

static void unhide(const char *directory, const char *path)
{
	(void) unlink(path);
	(void) rmdir(directory);
}

TEST_OF(test_directory_for_its_owner, struct fixture *f)
{
	char directory[80], path[96];
	struct sw_credentials reader = another(), own = {.uid = getuid(), .gid = getgid() + 1};
	hide(f, directory, path);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &own), 0);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &reader), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), EACCES);
	assert_int_equal(chmod(directory, 0750), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), EACCES);
	reader.groups[0] = getgid();
	reader.n_groups = 1;
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), 0);
	/* The group decides, also where all others may enter. */
	assert_int_equal(chmod(directory, 0701), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), EACCES);
	reader.n_groups = 0;
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), 0);
	/* So does the owner. */
	assert_int_equal(chmod(directory, 0077), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &own), EACCES);
	unhide(directory, path);
}

/* The same where another process asks the server, which is asked for the file with our permissions. */
TEST_OF(test_directory_of_a_server, struct fixture *f)
{
	char directory[80], path[96];
	struct sw_credentials reader = another();
	serve(f);
	hide(f, directory, path);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_COPY, &reader), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_COPY, &reader), EACCES);
	assert_int_equal(chmod(directory, 0711), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_COPY, &reader), 0);
	unhide(directory, path);
}

TEST_OF(test_file_for_its_owner, struct fixture *f)
{
	struct sw_credentials reader = another(), group = another();
	group.gid = getgid();
	assert_int_equal(chmod(f->path, 0640), 0);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &reader), EACCES);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &group), 0);
	assert_int_equal(chmod(f->path, 0604), 0);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &reader), 0);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &group), EACCES);
	/* Root in the home of somebody, by sudo. */
	reader.reads_all = true;
	assert_int_equal(chmod(f->path, 0600), 0);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &reader), 0);
}

/* A list of the form of acl(5): user and group of the file may read, the named user nothing, others may read. */
TEST_OF(test_access_list, struct fixture *f)
{
	struct sw_credentials reader = another(), own = {.uid = getuid(), .gid = getgid()};
	enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32, READ = 4 };
	struct {
		uint32_t version;
		struct {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[5];
	} list = {2,
		  {{USER_OBJ, READ, UINT32_MAX},
		   {USER, 0, reader.uid},
		   {GROUP_OBJ, READ, UINT32_MAX},
		   {MASK, READ, UINT32_MAX},
		   {OTHER, READ, UINT32_MAX}}};
	struct stat st;
	if (setxattr(f->path, "system.posix_acl_access", &list, sizeof(list), 0) < 0)
		SKIP("/dev/shm has no access control lists", "a tmpfs that has them");
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &reader), EACCES);
	assert_int_equal(opens_as(f, f->path, SW_GUARDED_LOCAL, &own), 0);
}

/* A link on the way may be the reader's own or root's, as what it leads to is asked about, too. */
TEST_OF(test_link_of_another, struct fixture *f)
{
	char directory[80], path[96], link[80];
	struct sw_credentials reader = another(), own = {.uid = getuid(), .gid = getgid()};
	hide(f, directory, path);
	assert_int_equal(chmod(directory, 0755), 0);
	snprintf(link, sizeof(link), "%s.l", f->path);
	assert_int_equal(symlink(directory, link), 0);
	snprintf(path, sizeof(path), "%s/file", link);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &own), 0);
	assert_int_equal(opens_as(f, path, SW_GUARDED_LOCAL, &reader), getuid() == 0 ? 0 : ELOOP);
	/* The end of the path is none. */
	assert_int_equal(opens_as(f, link, SW_GUARDED_LOCAL, &own), ENOENT);
	(void) unlink(link);
	snprintf(path, sizeof(path), "%s/file", directory);
	unhide(directory, path);
}
