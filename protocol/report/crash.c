/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The signal that ended the process of a core file, in words. Source: sigaction(2), and Linux v6.1
 * include/uapi/asm-generic/siginfo.h. */
#include "report/crash.h"
#include "cleanup.h"

#include <snapwalk/protocol.h>

#include <signal.h>

enum { ANY_SIGNAL = 0, SEGV_BOUNDS = 3, SEGV_KEY = 4 };

static const struct {
	int signal;
	const char *name;
} signals[] = {
	{SIGQUIT, "SIGQUIT"},     {SIGILL, "SIGILL"},       {SIGTRAP, "SIGTRAP"},
	{SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},       {SIGFPE, "SIGFPE"},
	{SIGSEGV, "SIGSEGV"},     {SIGXCPU, "SIGXCPU"},     {SIGXFSZ, "SIGXFSZ"},
	{SIGSYS, "SIGSYS"},       {SIGHUP, "SIGHUP"},       {SIGINT, "SIGINT"},
	{SIGKILL, "SIGKILL"},     {SIGUSR1, "SIGUSR1"},     {SIGUSR2, "SIGUSR2"},
	{SIGPIPE, "SIGPIPE"},     {SIGALRM, "SIGALRM"},     {SIGTERM, "SIGTERM"},
	{SIGSTKFLT, "SIGSTKFLT"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"},
	{SIGPOLL, "SIGIO"},       {SIGPWR, "SIGPWR"},
};

static const struct {
	int signal, code;
	const char *name, *text;
} codes[] = {
	{SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR", "nothing is mapped there"},
	{SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR", "the mapping does not permit it"},
	{SIGSEGV, SEGV_BOUNDS, "SEGV_BNDERR", "outside its bounds"},
	{SIGSEGV, SEGV_KEY, "SEGV_PKUERR", "its protection key does not permit it"},
	{SIGSEGV, SI_KERNEL, "SI_KERNEL", "the processor refused it (general protection)"},
	{SIGBUS, BUS_ADRALN, "BUS_ADRALN", "not aligned"},
	{SIGBUS, BUS_ADRERR, "BUS_ADRERR", "behind the end of the mapped file"},
	{SIGBUS, BUS_OBJERR, "BUS_OBJERR", "hardware error"},
	{SIGBUS, BUS_MCEERR_AR, "BUS_MCEERR_AR", "memory error found by the hardware"},
	{SIGBUS, BUS_MCEERR_AO, "BUS_MCEERR_AO", "memory error found by the hardware elsewhere"},
	{SIGFPE, FPE_INTDIV, "FPE_INTDIV", "integer division by zero, or its result is too large"},
	{SIGFPE, FPE_INTOVF, "FPE_INTOVF", "integer overflow"},
	{SIGFPE, FPE_FLTDIV, "FPE_FLTDIV", "floating point division by zero"},
	{SIGFPE, FPE_FLTOVF, "FPE_FLTOVF", "floating point overflow"},
	{SIGFPE, FPE_FLTUND, "FPE_FLTUND", "floating point underflow"},
	{SIGFPE, FPE_FLTRES, "FPE_FLTRES", "floating point result is not exact"},
	{SIGFPE, FPE_FLTINV, "FPE_FLTINV", "invalid floating point operation"},
	{SIGILL, ILL_ILLOPC, "ILL_ILLOPC", "no such instruction"},
	{SIGILL, ILL_ILLOPN, "ILL_ILLOPN", "illegal instruction"},
	{SIGILL, ILL_PRVOPC, "ILL_PRVOPC", "privileged instruction"},
	{SIGTRAP, TRAP_BRKPT, "TRAP_BRKPT", "breakpoint"},
	{SIGTRAP, TRAP_TRACE, "TRAP_TRACE", "single step"},
	{SIGTRAP, SI_KERNEL, "SI_KERNEL", "breakpoint instruction"},
	{SIGSYS, 1, "SYS_SECCOMP", "a seccomp filter refused a system call"},
	{ANY_SIGNAL, SI_USER, "SI_USER", "sent by kill()"},
	{ANY_SIGNAL, SI_TKILL, "SI_TKILL", "sent by tgkill()"},
	{ANY_SIGNAL, SI_QUEUE, "SI_QUEUE", "sent by sigqueue()"},
	{ANY_SIGNAL, SI_TIMER, "SI_TIMER", "sent by a timer"},
	{ANY_SIGNAL, SI_KERNEL, "SI_KERNEL", "sent by the kernel"},
};

const char *sw_signal_name(int signal)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(signals); i++)
		if (signals[i].signal == signal)
			return signals[i].name;
	return NULL;
}

const char *sw_signal_code_text(int signal, int code, const char **ret_name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(codes); i++) {
		if (codes[i].code != code ||
		    (codes[i].signal != ANY_SIGNAL && codes[i].signal != signal))
			continue;
		*ret_name = codes[i].name;
		return codes[i].text;
	}
	return NULL;
}

static const char *access_name(enum sw_access_kind kind)
{
	switch (kind) {
	case SW_ACCESS_READ: return "read";
	case SW_ACCESS_WRITE: return "write";
	case SW_ACCESS_EXECUTE: return "execute";
	default: return NULL;
	}
}

static void code_fill(const struct sw_crash *from, struct sw_report_crash *ret)
{
	if (from->has_code)
		ret->text = sw_signal_code_text(from->signal, from->code, &ret->code);
}

void sw_report_build_crash(struct sw_report_builder *b)
{
	const struct sw_crash *from = &b->walks->snap->crash;
	struct sw_report_crash *crash =
		from->signal != 0 ? sw_report_calloc(b, 1, sizeof(*crash)) : NULL;
	if (crash == NULL)
		return;
	*crash = (struct sw_report_crash){
		.number = from->signal,
		.tid = from->tid,
		.has_address = from->has_address,
		.address_avma = from->address_avma,
		.access = access_name(from->access),
		.sender_pid = from->sender_pid,
		.sender_uid = from->sender_pid != 0 ? (int64_t) from->sender_uid : -1,
		.stack_overflow = from->stack_overflow,
		.stack_bytes = from->stack_bytes != 0 ? (int64_t) from->stack_bytes : -1,
		.signal = sw_signal_name(from->signal)};
	if (crash->signal == NULL) {
		crash->signal = sw_arena_printf(b->arena, "signal_%d", from->signal);
		b->failed |= crash->signal == NULL;
	}
	code_fill(from, crash);
	b->report->process.crash = crash;
}
