/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/filter.h"
#include "cleanup.h"

#include <confine/calls.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Files of the spool: Landlock says which directory that is. */
static const uint32_t file_calls[] = {
	SYS_openat,
	SYS_fsync,
	SYS_renameat,
	SYS_unlinkat,
};

static const uint32_t watch_calls[] = {
	SYS_rt_sigtimedwait,
	SYS_waitid,
};

static const uint32_t collect_calls[] = {
	SYS_connect, SYS_recvfrom, SYS_recvmsg, SYS_shutdown, SYS_getsockopt,
};

/* Calls of libcurl, and of the C library where it looks names up, which libcurl does in a thread. */
static const uint32_t send_calls[] = {
	SYS_connect,      SYS_recvfrom,          SYS_recvmsg,
	SYS_shutdown,     SYS_getsockopt,        SYS_getsockname,
	SYS_getpeername,  SYS_eventfd2,          SYS_pipe2,
	SYS_rt_sigaction, SYS_set_robust_list,   SYS_rseq,
	SYS_getuid,       SYS_geteuid,           SYS_getgid,
	SYS_getegid,      SYS_sched_getaffinity,
};

enum {
	THREAD_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
		       CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
};

static const struct sw_filter_rule collect_rules[] = {
	SW_FILTER_ALLOWED(SYS_socket, 0, AF_UNIX),
};

static const struct sw_filter_rule send_rules[] = {
	SW_FILTER_ALLOWED(SYS_socket, 0, AF_INET),     SW_FILTER_ALLOWED(SYS_socket, 0, AF_INET6),
	SW_FILTER_ALLOWED(SYS_socketpair, 0, AF_UNIX), SW_FILTER_ALLOWED(SYS_ioctl, 1, FIONREAD),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, FIONBIO),      SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_NAME),
	SW_FILTER_ALLOWED(SYS_clone, 0, THREAD_FLAGS),
};

static const int collect_options[] = {SO_SNDTIMEO, SO_RCVTIMEO, SO_SNDBUF};
static const int send_options[] = {SO_KEEPALIVE};
static const int tcp_options[] = {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL};
static const int ip_options[] = {IP_RECVERR};
static const int ipv6_options[] = {IPV6_RECVERR};

/* Landlock asks for no right for the access mode 3, which neither reads nor writes: open(2). */
static const struct sw_filter_rule opens_for_nothing = {
	.call = SYS_openat,
	.action = SECCOMP_RET_ERRNO | EPERM,
	.argument = 2,
	.mask = O_ACCMODE,
	.value = O_ACCMODE,
};

static void begin(struct sw_filter *f)
{
	static const struct sw_filter_group files = {file_calls, SW_ARRAY_SIZE(file_calls),
						     SECCOMP_RET_ALLOW};
	sw_filter_begin(f);
	sw_calls_add_own(f);
	sw_filter_add(f, &opens_for_nothing);
	sw_filter_add_group(f, &files);
	sw_calls_add_reading(f); /* behind openat, which is allowed also for writing */
}

static int enter(struct sw_filter *f, struct sw_error *err)
{
	sw_calls_add_abort(f);
	sw_calls_refuse_clone3(f);
	sw_calls_add_harmful(f);
	int r = sw_filter_end(f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(f, err);
}

/* With this flag they connect a socket, and Landlock is not asked: linux v6.18, net/ipv4/tcp.c, tcp_sendmsg_fastopen(). */
static void add_sending(struct sw_filter *f)
{
	sw_filter_allow_without(f, SYS_sendto, 3, MSG_FASTOPEN);
	sw_filter_allow_without(f, SYS_sendmsg, 2, MSG_FASTOPEN);
}

int sw_ship_filter_watch(struct sw_error *err)
{
	static const struct sw_filter_group calls = {watch_calls, SW_ARRAY_SIZE(watch_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	begin(&f);
	sw_filter_add_group(&f, &calls);
	return enter(&f, err);
}

int sw_ship_filter_collect(struct sw_error *err)
{
	static const struct sw_filter_group calls = {collect_calls, SW_ARRAY_SIZE(collect_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	begin(&f);
	sw_filter_add_group(&f, &calls);
	add_sending(&f);
	sw_filter_add_rules(&f, collect_rules, SW_ARRAY_SIZE(collect_rules));
	sw_calls_add_socket_options(&f, SOL_SOCKET, collect_options,
				    SW_ARRAY_SIZE(collect_options));
	return enter(&f, err);
}

int sw_ship_filter_send(struct sw_error *err)
{
	static const struct sw_filter_group calls = {send_calls, SW_ARRAY_SIZE(send_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	begin(&f);
	sw_filter_add_group(&f, &calls);
	add_sending(&f);
	sw_filter_allow_without(&f, SYS_sendmmsg, 3, MSG_FASTOPEN); /* to look names up */
	sw_filter_add_rules(&f, send_rules, SW_ARRAY_SIZE(send_rules));
	sw_calls_add_socket_options(&f, SOL_SOCKET, send_options, SW_ARRAY_SIZE(send_options));
	sw_calls_add_socket_options(&f, IPPROTO_TCP, tcp_options, SW_ARRAY_SIZE(tcp_options));
	sw_calls_add_socket_options(&f, IPPROTO_IP, ip_options, SW_ARRAY_SIZE(ip_options));
	sw_calls_add_socket_options(&f, IPPROTO_IPV6, ipv6_options, SW_ARRAY_SIZE(ipv6_options));
	return enter(&f, err);
}
