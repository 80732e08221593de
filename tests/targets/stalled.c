/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process with memory whose pages never come.
 *
 *	stalled HOW
 *
 *	code	a file, mapped as code
 *	stack	a thread whose sp is in a file
 *	data	the registry of a JIT compiler is in a file
 *	header	a file, mapped below all others
 *	uffd	a thread whose sp is in memory that userfaultfd(2) serves
 *	healthy	like code, but the file's server answers
 *	side	the directory of its perf map; no file is mapped
 *	over	a file on tmpfs, mapped as code, but its name leads to the server
 *	program	the program itself, whose pages are in memory
 *	detached	like code, but the file is on no mount any more
 *
 * The file is on FUSE. Its server is a process of its own, "server PID": it reads what it is asked,
 * so that the kernel's wait for the answer ends by no signal, and gives no answer from then on. It
 * ends with us, or when it is killed, which ends all waits.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum {
	PAGE = 4096,
	PAGES = 16,
	PROGRAM_BYTES_MAX = 4 << 20,
	FILE_BYTES = PAGES * PAGE,
	THREADS = 4,
	NODE = 2
};

/* GDB manual, "JIT Compilation Interface". */
struct jit_descriptor {
	uint32_t version, action;
	void *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = {.version = 1};

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "stalled: %s: %s\n", what, strerror(errno));
	exit(77);
}

/* The contents of the server's file; FILE_BYTES zeros, or a program. */
static uint8_t contents[PROGRAM_BYTES_MAX];
static size_t contents_bytes = FILE_BYTES;

/* ---- the server ------------------------------------------------------------------------------- */

static void reply(int fd, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header out = {.len = (uint32_t) (sizeof(out) + size),
				      .error = error,
				      .unique = unique};
	struct iovec parts[2] = {{&out, sizeof(out)}, {(void *) data, size}};
	if (writev(fd, parts, 2) < 0 && errno != ENOENT)
		die("the server's answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == NODE ? contents_bytes : 0,
				  .mode = node == NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = PAGE};
}

static void answer(int fd, const struct fuse_in_header *in, const void *arg)
{
	struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attr_of(in->nodeid)};
	struct fuse_entry_out entry = {.nodeid = NODE,
				       .entry_valid = 3600,
				       .attr_valid = 3600,
				       .attr = attr_of(NODE)};
	/* Without FUSE_ASYNC_READ: who needs a page waits for the answer itself. */
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_readahead = 0,
				     .max_write = FILE_BYTES};
	struct fuse_open_out opened = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};
	const struct fuse_read_in *want = arg;
	switch (in->opcode) {
	case FUSE_INIT: reply(fd, in->unique, 0, &init, sizeof(init)); break;
	case FUSE_LOOKUP: reply(fd, in->unique, 0, &entry, sizeof(entry)); break;
	case FUSE_GETATTR: reply(fd, in->unique, 0, &attr, sizeof(attr)); break;
	case FUSE_OPEN: reply(fd, in->unique, 0, &opened, sizeof(opened)); break;
	case FUSE_READ: {
		size_t left = want->offset < contents_bytes ? contents_bytes - want->offset : 0;
		reply(fd, in->unique, 0, contents + (contents_bytes - left),
		      want->size < left ? want->size : left);
		break;
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: reply(fd, in->unique, -ENOSYS, NULL, 0); break;
	}
}

/* Serve until a byte comes through the pipe; then requests are only read. */
static __attribute__((noreturn)) void serve(int fd, int stall_fd, pid_t parent)
{
	static union {
		struct fuse_in_header header;
		char bytes[FILE_BYTES + FUSE_MIN_READ_BUFFER];
	} in;
	bool stalled = false;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	(void) fcntl(stall_fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		char byte;
		ssize_t n = read(fd, &in, sizeof(in));
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t) sizeof(in.header))
			_exit(0);
		stalled = stalled || read(stall_fd, &byte, 1) == 1;
		if (!stalled)
			answer(fd, &in.header, in.bytes + sizeof(in.header));
	}
}

static void namespace_make(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, NULL) < 0)
		die("mount namespace");
}

/* The file; *ret_stall_fd: a byte written there ends the answers. */
static int file_make_at(const char *path, int *ret_stall_fd)
{
	char options[128], name[64];
	int stall[2], fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/fuse");
	if (pipe(stall) < 0)
		die("pipe");
	(void) snprintf(options, sizeof(options),
			"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("stalled", path, "fuse.stalled", MS_NOSUID | MS_NODEV, options) < 0)
		die("mount");
	(void) fflush(stdout);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		serve(fd, stall[0], parent);
	if (pid < 0)
		die("fork");
	(void) close(fd); /* the server's alone: its end is the connection's */
	printf("server %d\n", (int) pid);
	(void) snprintf(name, sizeof(name), "%s/file", path);
	int file_fd = open(name, O_RDONLY | O_CLOEXEC);
	if (file_fd < 0)
		die(name);
	*ret_stall_fd = stall[1];
	return file_fd;
}

static int file_make(const char *path, int *ret_stall_fd)
{
	namespace_make();
	return file_make_at(path, ret_stall_fd);
}

static void *file_map(int prot, bool stall)
{
	int stall_fd, fd = file_make("/mnt", &stall_fd);
	void *p = mmap(NULL, FILE_BYTES, prot, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED || (stall && write(stall_fd, "x", 1) != 1))
		die("mmap");
	return p;
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* The thread's sp lies where nothing was ever read: the kernel has no need of it. */
static void *wait_on_stack(void *stack)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov $34, %%eax\n" /* pause */
			 "syscall\n"
			 "jmp 1b"
			 :
			 : "r"((char *) stack + FILE_BYTES / 2)
			 : "rax", "rcx", "r11", "memory");
	__builtin_unreachable();
}

static void *wait_here(void *arg)
{
	block();
	return arg;
}

static void thread(void *(*function)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, NULL, function, arg) != 0)
		die("thread");
}

static void *uffd_map(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);
	void *p =
		mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uint64_t) (uintptr_t) p, FILE_BYTES},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	if (fd < 0 || p == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		die("userfaultfd");
	return p;
}

/* A file on tmpfs, of which the name leads to the server by now. */
static void over_map(void)
{
	static const char name[] = "/mnt/file";
	int stall_fd;
	namespace_make();
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || ftruncate(fd, FILE_BYTES) < 0 ||
	    mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die(name);
	(void) close(file_make_at("/mnt", &stall_fd));
	if (write(stall_fd, "x", 1) != 1)
		die("write");
}

/* Execute this program once more, from the server; "program FD" then ends its answers. */
static void program_execute(void)
{
	int stall_fd, self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(self_fd, contents, sizeof(contents));
	if (n <= 0 || n == sizeof(contents))
		die("its own program");
	contents_bytes = (size_t) n;
	int fd = file_make("/mnt", &stall_fd);
	/* All its pages are in memory from now on, and stay there with it. */
	if (mmap(NULL, (size_t) n, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) == MAP_FAILED)
		die("mmap");
	char number[16];
	(void) snprintf(number, sizeof(number), "%d", stall_fd);
	(void) fflush(stdout);
	execl("/mnt/file", "stalled", "program", number, (char *) NULL);
	die("execve");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (strcmp(how, "program") == 0 && argc == 2)
		program_execute();
	for (int i = 0; i < THREADS; i++)
		thread(wait_here, NULL);
	if (strcmp(how, "code") == 0 || strcmp(how, "healthy") == 0) {
		(void) file_map(PROT_READ | PROT_EXEC, how[0] == 'c');
	} else if (strcmp(how, "stack") == 0) {
		thread(wait_on_stack, file_map(PROT_READ | PROT_WRITE, true));
	} else if (strcmp(how, "data") == 0) {
		__jit_debug_descriptor.first = file_map(PROT_READ | PROT_WRITE, true);
		__jit_debug_descriptor.relevant = __jit_debug_descriptor.first;
	} else if (strcmp(how, "header") == 0) {
		int stall_fd, fd = file_make("/mnt", &stall_fd);
		if (mmap((void *) 0x10000, FILE_BYTES, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
			    MAP_FAILED ||
		    write(stall_fd, "x", 1) != 1)
			die("mmap");
	} else if (strcmp(how, "detached") == 0) {
		(void) file_map(PROT_READ | PROT_EXEC, true);
		if (umount2("/mnt", MNT_DETACH) < 0)
			die("umount2");
	} else if (strcmp(how, "side") == 0) {
		int stall_fd;
		(void) close(file_make("/tmp", &stall_fd));
		if (write(stall_fd, "x", 1) != 1 ||
		    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			    MAP_FAILED)
			die("code");
	} else if (strcmp(how, "over") == 0) {
		over_map();
	} else if (strcmp(how, "program") == 0) {
		if (mlockall(MCL_CURRENT) < 0 || write(atoi(argv[2]), "x", 1) != 1)
			die("program");
	} else if (strcmp(how, "uffd") == 0) {
		thread(wait_on_stack, uffd_map());
	} else {
		errno = EINVAL;
		die(how);
	}
	ready();
	block();
	return 0;
}
