/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The signal or the exception that ended the process of a core file or minidump, in words. Source: sigaction(2), and Linux v6.1
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

/* Source: Microsoft, "EXCEPTION_RECORD structure (winnt.h)", and ntstatus.h of Windows 10 SDK. */
static const struct {
	uint32_t code;
	const char *name, *text;
} exceptions[] = {
	{0x80000002, "EXCEPTION_DATATYPE_MISALIGNMENT", "not aligned"},
	{0x80000003, "EXCEPTION_BREAKPOINT", "breakpoint"},
	{0x80000004, "EXCEPTION_SINGLE_STEP", "single step"},
	{0xc0000005, "EXCEPTION_ACCESS_VIOLATION",
	 "nothing is there, or it may not be accessed so"},
	{0xc0000006, "EXCEPTION_IN_PAGE_ERROR", "the page could not be read from its file"},
	{0xc0000008, "EXCEPTION_INVALID_HANDLE", "invalid handle"},
	{0xc000001d, "EXCEPTION_ILLEGAL_INSTRUCTION", "no such instruction"},
	{0xc0000025, "EXCEPTION_NONCONTINUABLE_EXCEPTION", "it went on after a fatal exception"},
	{0xc000008c, "EXCEPTION_ARRAY_BOUNDS_EXCEEDED", "outside the bounds of an array"},
	{0xc000008d, "EXCEPTION_FLT_DENORMAL_OPERAND", "floating point operand is denormal"},
	{0xc000008e, "EXCEPTION_FLT_DIVIDE_BY_ZERO", "floating point division by zero"},
	{0xc000008f, "EXCEPTION_FLT_INEXACT_RESULT", "floating point result is not exact"},
	{0xc0000090, "EXCEPTION_FLT_INVALID_OPERATION", "invalid floating point operation"},
	{0xc0000091, "EXCEPTION_FLT_OVERFLOW", "floating point overflow"},
	{0xc0000092, "EXCEPTION_FLT_STACK_CHECK", "floating point stack overflow"},
	{0xc0000093, "EXCEPTION_FLT_UNDERFLOW", "floating point underflow"},
	{0xc0000094, "EXCEPTION_INT_DIVIDE_BY_ZERO", "integer division by zero"},
	{0xc0000095, "EXCEPTION_INT_OVERFLOW", "integer overflow"},
	{0xc0000096, "EXCEPTION_PRIV_INSTRUCTION", "privileged instruction"},
	{0xc00000fd, "EXCEPTION_STACK_OVERFLOW", "the stack is used up"},
	{0xc0000374, "STATUS_HEAP_CORRUPTION", "the heap is damaged"},
	{0xc0000409, "STATUS_STACK_BUFFER_OVERRUN", "the program ended itself (fail fast)"},
	{0xc0000420, "STATUS_ASSERTION_FAILURE", "an assertion failed"},
	{0xe06d7363, "CPP_EXCEPTION", "an exception of C++ that nobody caught"},
	{0xe0434352, "CLR_EXCEPTION", "an exception of .NET that nobody caught"},
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

static void exception_fill(struct sw_report_builder *b, uint32_t code, struct sw_report_crash *ret)
{
	ret->number = code;
	for (size_t i = 0; i < SW_ARRAY_SIZE(exceptions); i++)
		if (exceptions[i].code == code) {
			ret->signal = exceptions[i].name;
			ret->text = exceptions[i].text;
			return;
		}
	ret->signal = sw_arena_printf(b->arena, "exception_%08x", code);
	b->failed |= ret->signal == NULL;
}

static void signal_fill(struct sw_report_builder *b, const struct sw_crash *from,
			struct sw_report_crash *ret)
{
	ret->number = from->signal;
	ret->signal = sw_signal_name(from->signal);
	if (ret->signal == NULL) {
		ret->signal = sw_arena_printf(b->arena, "signal_%d", from->signal);
		b->failed |= ret->signal == NULL;
	}
	code_fill(from, ret);
}

void sw_report_build_crash(struct sw_report_builder *b)
{
	const struct sw_crash *from = &b->walks->snap->crash;
	bool crashed = from->signal != 0 || from->exception != 0;
	struct sw_report_crash *crash = crashed ? sw_report_calloc(b, 1, sizeof(*crash)) : NULL;
	if (crash == NULL)
		return;
	*crash = (struct sw_report_crash){
		.tid = from->tid,
		.has_address = from->has_address,
		.address_avma = from->address_avma,
		.access = access_name(from->access),
		.sender_pid = from->sender_pid,
		.sender_uid = from->sender_pid != 0 ? (int64_t) from->sender_uid : -1,
		.stack_overflow = from->stack_overflow,
		.stack_bytes = from->stack_bytes != 0 ? (int64_t) from->stack_bytes : -1};
	if (from->exception != 0)
		exception_fill(b, from->exception, crash);
	else
		signal_fill(b, from, crash);
	b->report->process.crash = crash;
}
