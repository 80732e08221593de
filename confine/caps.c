/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capabilities by their system calls: a library for three numbers would be more to trust. */
#include "confine/caps.h"
#include "cleanup.h"
#include "errors.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { CAPS_MAX = 64 };

/* Version 3 of capget(2): two halves of 32 bits. */
struct caps {
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static int caps_get(struct caps *ret, struct sw_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	if (syscall(SYS_capget, &header, ret->half) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot read our capabilities");
	return 0;
}

bool sw_caps_have(uint64_t wanted)
{
	struct caps caps;
	if (caps_get(&caps, NULL) < 0)
		return false;
	uint64_t effective = (uint64_t) caps.half[1].effective << 32 | caps.half[0].effective;
	return (effective & wanted) == wanted;
}

/* Needs CAP_SETPCAP, which the unit's user does not have: there the unit's own bounding set holds,
 * and no new privileges makes it pointless anyway. */
void sw_caps_bound(uint64_t keep)
{
	for (int cap = 0; cap < CAPS_MAX; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_READ, cap) == 1)
			(void) prctl(PR_CAPBSET_DROP, cap);
}

int sw_caps_keep(uint64_t keep, struct sw_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct caps caps = {0}, before;
	int r = caps_get(&caps, err);
	if (r < 0)
		return r;
	before = caps;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = caps.half[i].permitted & (uint32_t) (keep >> 32 * i);
		caps.half[i] =
			(struct __user_cap_data_struct){.effective = kept, .permitted = kept};
	}
	/* The filter of snapwalk-gate.service refuses the call, where there is nothing to give up. */
	if (memcmp(&before, &caps, sizeof(caps)) == 0)
		return 0;
	/* Ambient capabilities end with the inheritable ones. */
	if (syscall(SYS_capset, &header, caps.half) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot give up capabilities");
	return 0;
}

void sw_caps_allow_realtime(void)
{
	/* Two: the copier is above the reader (libwalk/copier). */
	const struct rlimit lowest = {2, 2};
	struct rlimit now;
	if (getrlimit(RLIMIT_RTPRIO, &now) == 0 && now.rlim_cur < lowest.rlim_cur)
		(void) setrlimit(RLIMIT_RTPRIO, &lowest); /* fails without the right: as it was */
}
