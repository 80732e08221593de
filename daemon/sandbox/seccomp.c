/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/seccomp.h>
#include <sched.h>

#define CALL(name) SCMP_SYS(name)

/* What neither the broker nor a command of OnDump= needs. EPERM, as commands are not ours. */
static const int broker_refused[] = {
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(pidfd_getfd),
	CALL(kcmp),
	CALL(mount),
	CALL(umount2),
	CALL(move_mount),
	CALL(open_tree),
	CALL(fsopen),
	CALL(fsmount),
	CALL(fsconfig),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(pivot_root),
	CALL(chroot),
	CALL(unshare),
	CALL(setns),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(acct),
	CALL(quotactl),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(iopl),
	CALL(ioperm),
	CALL(personality),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(syslog),
	CALL(modify_ldt),
	CALL(vhangup),
	CALL(sched_setscheduler),
	CALL(sched_setattr),
};

static int broker_fill(scmp_filter_ctx filter, unsigned more)
{
	(void) more; /* only parsers differ */
	int r = sw_seccomp_add(filter, SCMP_ACT_ERRNO(EPERM), broker_refused,
			       SW_ARRAY_SIZE(broker_refused));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), CALL(clone), 1,
				     SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	/* Its flags are in memory, where no filter can see them; without it clone is used. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
	return r;
}

int sw_seccomp_broker(struct sw_error *err)
{
	return sw_seccomp_enter(SCMP_ACT_ALLOW, broker_fill, 0, err);
}
