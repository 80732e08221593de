/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/filter.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* What changes the machine, looks around in it, or leaves it: nobody of the daemon needs that. */
static const uint32_t nobodys[] = {
	SYS_mount,
	SYS_umount2,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fsconfig,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_iopl,
	SYS_ioperm,
	SYS_personality,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_syslog,
	SYS_modify_ldt,
	SYS_vhangup,
};

/* What neither the broker nor a command of OnDump= needs besides. EPERM, as commands are not ours. */
static const uint32_t broker_refused[] = {
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_unshare,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_sched_setscheduler,
	SYS_sched_setattr,
};

/*
 * What the spawner and its workers, which have its capabilities until they have captured, need not do
 * at any time: starting programs, sockets of any kind but the streams of workers, becoming
 * somebody, making or changing files.
 */
static const uint32_t spawner_deadly[] = {
	SYS_execve,      SYS_execveat,     SYS_process_vm_writev,
	SYS_socket,      SYS_connect,      SYS_bind,
	SYS_listen,      SYS_accept,       SYS_accept4,
	SYS_setuid,      SYS_setgid,       SYS_setreuid,
	SYS_setregid,    SYS_setresuid,    SYS_setresgid,
	SYS_setgroups,   SYS_setfsuid,     SYS_setfsgid,
	SYS_creat,       SYS_open,         SYS_mknod,
	SYS_mknodat,     SYS_mkdir,        SYS_mkdirat,
	SYS_rmdir,       SYS_rename,       SYS_renameat,
	SYS_renameat2,   SYS_link,         SYS_linkat,
	SYS_symlink,     SYS_symlinkat,    SYS_unlink,
	SYS_unlinkat,    SYS_truncate,     SYS_chmod,
	SYS_fchmod,      SYS_fchmodat,     SYS_chown,
	SYS_lchown,      SYS_fchown,       SYS_fchownat,
	SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,
	SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
	SYS_utimensat,
};

enum {
	NEW_NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			 CLONE_NEWUTS | CLONE_NEWCGROUP,
};

/* One rule for each bit, as a rule compares with one value. */
static void refuse_bits(struct sw_filter *f, uint32_t call, unsigned argument, uint32_t bits,
			uint32_t action)
{
	for (uint32_t left = bits; left != 0; left &= left - 1) {
		const uint32_t bit = left & -left;
		const struct sw_filter_rule rule = {.call = call,
						    .action = action,
						    .argument = argument,
						    .mask = bit,
						    .value = bit};
		sw_filter_add(f, &rule);
	}
}

/* Its flags are in memory, where no filter can see them; without it clone is used. */
static void refuse_clone3(struct sw_filter *f)
{
	static const struct sw_filter_rule rule = {.call = SYS_clone3,
						   .action = SECCOMP_RET_ERRNO | ENOSYS};
	sw_filter_add(f, &rule);
}

static int allow_others(struct sw_filter *f, struct sw_error *err)
{
	int r = sw_filter_end(f, SECCOMP_RET_ALLOW, err);
	return r < 0 ? r : sw_filter_enter(f, err);
}

int sw_seccomp_broker(struct sw_error *err)
{
	static const struct sw_filter_group of_nobody = {nobodys, SW_ARRAY_SIZE(nobodys),
							 SECCOMP_RET_ERRNO | EPERM},
					    refused = {broker_refused,
						       SW_ARRAY_SIZE(broker_refused),
						       SECCOMP_RET_ERRNO | EPERM};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_filter_add_group(&f, &of_nobody);
	sw_filter_add_group(&f, &refused);
	refuse_bits(&f, SYS_clone, 0, CLONE_NEWUSER, SECCOMP_RET_ERRNO | EPERM);
	refuse_clone3(&f);
	return allow_others(&f, err);
}

int sw_seccomp_spawner(struct sw_error *err)
{
	static const struct sw_filter_group of_nobody = {nobodys, SW_ARRAY_SIZE(nobodys),
							 SECCOMP_RET_KILL_PROCESS},
					    deadly = {spawner_deadly, SW_ARRAY_SIZE(spawner_deadly),
						      SECCOMP_RET_KILL_PROCESS};
	/* Asked for who is at the other end of a unix socket (libwalk/waits/sockets.c), where it
	 * goes on without an answer. So does the unit's RestrictAddressFamilies=. */
	static const struct sw_filter_rule netlink = {.call = SYS_socket,
						      .action = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
						      .mask = UINT32_MAX,
						      .value = AF_NETLINK};
	const uint32_t making = O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_filter_add(&f, &netlink);
	sw_filter_add_group(&f, &of_nobody);
	sw_filter_add_group(&f, &deadly);
	refuse_bits(&f, SYS_clone, 0, NEW_NAMESPACES, SECCOMP_RET_KILL_PROCESS);
	refuse_bits(&f, SYS_unshare, 0, NEW_NAMESPACES, SECCOMP_RET_KILL_PROCESS);
	refuse_bits(&f, SYS_openat, 2, making, SECCOMP_RET_KILL_PROCESS);
	refuse_clone3(&f);
	return allow_others(&f, err);
}
