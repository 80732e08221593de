/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Landlock by its system calls: glibc 2.36 has no wrappers, and the kernel's headers of Debian 12
 * know only the first versions.
 * Source: Documentation/userspace-api/landlock.rst, linux v6.12.
 */
#include "confine/landlock.h"
#include "cleanup.h"
#include "errors.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* include/uapi/linux/landlock.h, linux v6.12. Older kernels take the shorter structure. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* from version 4 on */
	uint64_t scoped;             /* from version 6 on */
};

struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

enum {
	CREATE_RULESET_VERSION = 1,
	RULE_PATH_BENEATH = 1,
	RULE_NET_PORT = 2,
	ACCESS_FS_WRITE_FILE = 1 << 1,
	ACCESS_FS_READ_FILE = 1 << 2,
	ACCESS_FS_READ_DIR = 1 << 3,
	ACCESS_FS_REMOVE_DIR = 1 << 4,
	ACCESS_FS_REMOVE_FILE = 1 << 5,
	ACCESS_FS_MAKE_DIR = 1 << 7,
	ACCESS_FS_MAKE_REG = 1 << 8,
	ACCESS_FS_ALL_1 = (1 << 13) - 1, /* version 1: from EXECUTE to MAKE_SYM */
	ACCESS_FS_REFER = 1 << 13,       /* 2 */
	ACCESS_FS_TRUNCATE = 1 << 14,    /* 3 */
	ACCESS_FS_IOCTL_DEV = 1 << 15,   /* 5 */
	ACCESS_NET_CONNECT_TCP = 2,      /* 4 */
	ACCESS_NET_ALL = 3,              /* 4: bind and connect, TCP */
	SCOPE_ALL = 3,                   /* 6: abstract sockets and signals */
};

struct net_port_attr {
	uint64_t allowed_access;
	uint64_t port;
};

static size_t ruleset_fill(struct ruleset_attr *attr, long version)
{
	attr->handled_access_fs = ACCESS_FS_ALL_1;
	if (version >= 2)
		attr->handled_access_fs |= ACCESS_FS_REFER;
	if (version >= 3)
		attr->handled_access_fs |= ACCESS_FS_TRUNCATE;
	if (version >= 5)
		attr->handled_access_fs |= ACCESS_FS_IOCTL_DEV;
	if (version >= 4)
		attr->handled_access_net = ACCESS_NET_ALL;
	if (version >= 6)
		attr->scoped = SCOPE_ALL;
	return version >= 6   ? sizeof(*attr)
	       : version >= 4 ? offsetof(struct ruleset_attr, scoped)
			      : offsetof(struct ruleset_attr, handled_access_net);
}

static uint64_t access_of(const struct sw_landlock_path *path, mode_t mode)
{
	uint64_t of_files = ACCESS_FS_READ_FILE, of_directories = 0;
	if (path->access >= SW_LANDLOCK_LIST)
		of_directories |= ACCESS_FS_READ_DIR;
	if (path->access == SW_LANDLOCK_WRITE) {
		of_files |= ACCESS_FS_WRITE_FILE | ACCESS_FS_TRUNCATE;
		of_directories |= ACCESS_FS_REMOVE_DIR | ACCESS_FS_REMOVE_FILE |
				  ACCESS_FS_MAKE_DIR | ACCESS_FS_MAKE_REG | ACCESS_FS_REFER;
	}
	/* Rights of directories are refused for a file. */
	return S_ISDIR(mode) ? of_files | of_directories : of_files;
}

/* The mode is the one that the kernel has at hand: a file system that does not answer is not asked,
 * but where a filter refuses statx(2). */
static mode_t mode_of(int fd)
{
	struct statx stx;
	struct stat st;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx) == 0)
		return stx.stx_mode;
	return fstat(fd, &st) == 0 ? st.st_mode : 0;
}

static int path_allow(int ruleset_fd, const struct sw_landlock_path *path, uint64_t handled,
		      struct sw_error *err)
{
	sw_cleanup(sw_close_p) int opened_fd =
		path->path != NULL ? open(path->path, O_PATH | O_CLOEXEC) : -EBADF;
	int fd = path->path != NULL ? opened_fd : path->fd;
	mode_t mode = fd >= 0 ? mode_of(fd) : 0;
	if (!S_ISDIR(mode) && !S_ISREG(mode))
		return 0;
	struct path_beneath_attr beneath = {
		.allowed_access = access_of(path, mode) & handled,
		.parent_fd = fd,
	};
	if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &beneath, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "Landlock: %s",
				     path->path != NULL ? path->path : "a file");
	return 0;
}

static int port_allow(int ruleset_fd, uint16_t port, struct sw_error *err)
{
	struct net_port_attr attr = {.allowed_access = ACCESS_NET_CONNECT_TCP, .port = port};
	if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_NET_PORT, &attr, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "Landlock: port %u", port);
	return 0;
}

int sw_landlock_enter_with_ports(const struct sw_landlock_path *paths, size_t n,
				 const uint16_t *ports, size_t n_ports, struct sw_error *err)
{
	struct ruleset_attr attr = {0};
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	if (version < 1)
		return 1; /* ENOSYS: not built in; EOPNOTSUPP: not switched on */
	size_t size = ruleset_fill(&attr, version);
	sw_cleanup(sw_close_p) int ruleset_fd =
		(int) syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot create a Landlock ruleset");
	for (size_t i = 0; i < n; i++) {
		int r = path_allow(ruleset_fd, &paths[i], attr.handled_access_fs, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n_ports && attr.handled_access_net != 0; i++) {
		int r = port_allow(ruleset_fd, ports[i], err);
		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot enter the Landlock ruleset");
	return 0;
}

int sw_landlock_enter(const struct sw_landlock_path *paths, size_t n, struct sw_error *err)
{
	return sw_landlock_enter_with_ports(paths, n, NULL, 0, err);
}
