/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/filter.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/calls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Calls of the HTTP server's threads, and of a client of the daemon. */
static const uint32_t gate_calls[] = {
	SYS_accept4,
	SYS_accept,
	SYS_connect,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_shutdown,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_wait,
	SYS_epoll_pwait,
	SYS_select,
	SYS_pselect6,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_rt_sigaction,
	SYS_rt_sigtimedwait,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_getaffinity,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
};

enum {
	THREAD_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
		       CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
};

/* Options of sockets: a client of the daemon has a limit of time, and sets the size of messages to systemd; the HTTP
 * server decides when answers are sent. */
static const int own_options[] = {SO_SNDTIMEO, SO_RCVTIMEO, SO_SNDBUF};
static const int tcp_options[] = {TCP_NODELAY, TCP_CORK};

static const struct sw_filter_rule gate_rules[] = {
	SW_FILTER_ALLOWED(SYS_socket, 0, AF_UNIX),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_NAME),
	SW_FILTER_ALLOWED(SYS_clone, 0, THREAD_FLAGS),
};

int sw_gate_filter_enter(struct sw_error *err)
{
	static const struct sw_filter_group calls = {gate_calls, SW_ARRAY_SIZE(gate_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_calls_add_own(&f);
	sw_calls_add_reading(&f);
	sw_filter_add_group(&f, &calls);
	/* With this flag they connect a socket, and Landlock is not asked: linux v6.18, net/ipv4/tcp.c, tcp_sendmsg_fastopen(). */
	sw_filter_allow_without(&f, SYS_sendto, 3, MSG_FASTOPEN);
	sw_filter_allow_without(&f, SYS_sendmsg, 2, MSG_FASTOPEN);
	sw_filter_add_rules(&f, gate_rules, SW_ARRAY_SIZE(gate_rules));
	sw_calls_add_abort(&f);
	sw_calls_refuse_clone3(&f);
	sw_calls_add_socket_options(&f, SOL_SOCKET, own_options, SW_ARRAY_SIZE(own_options));
	sw_calls_add_socket_options(&f, IPPROTO_TCP, tcp_options, SW_ARRAY_SIZE(tcp_options));
	sw_calls_add_harmful(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}
