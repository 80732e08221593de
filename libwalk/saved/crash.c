/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Linux v6.1 include/uapi/asm-generic/siginfo.h (layout and si_code), fs/binfmt_elf.c (the
 * thread that dumps is the first), kernel/signal.c (which signals end with a core).
 */
#include "saved/crash.h"
#include "arch/access.h"
#include "arch/insn.h"
#include "snapshot/read.h"

#include <signal.h>

enum {
	/* struct siginfo */
	SIGNO_OFF = 0,
	CODE_OFF = 8,
	/* of 64-bit processes; of 32-bit ones 4 less: there is no gap before them */
	PID_OFF = 16,
	UID_OFF = 20,
	ADDRESS_OFF = 16,
	GAP_BYTES = 4,
	ADDRESS_BITS = 47,
};

enum {
	STACK_FRAME_MAX =
		64 * 1024,       /* from sp to what a function at the end of its stack touches */
	STACK_LAST_BYTES = 4096, /* of a stack that has space for no more frames */
};

static bool ends_with_core(int signal)
{
	switch (signal) {
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS: return true;
	default: return false;
	}
}

/* Whether si_addr of the signal tells the address, when the kernel found a reason in the
 * program. */
static bool has_address(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP;
}

struct sw_crash sw_core_crash(pid_t tid, int signal, struct sw_bytes siginfo, bool is_32bit)
{
	uint32_t signo = 0, code = 0, pid = 0, uid = 0;
	uint64_t address = 0, less = is_32bit ? GAP_BYTES : 0;
	if (!ends_with_core(signal))
		return (struct sw_crash){0};
	struct sw_crash crash = {.signal = signal, .tid = tid};
	if (siginfo.size < SW_CORE_SIGINFO_BYTES || !sw_bytes_u32(siginfo, SIGNO_OFF, &signo) ||
	    (int) signo != signal || !sw_bytes_u32(siginfo, CODE_OFF, &code))
		return crash;
	crash.has_code = true;
	crash.code = (int) code;
	/* Above 0 and not SI_KERNEL the kernel filled in the fault's part, else a sender's, if any. */
	if (crash.code > 0 && crash.code < SI_KERNEL && has_address(signal)) {
		crash.has_address = sw_bytes_copy(siginfo, ADDRESS_OFF - less, &address,
						  is_32bit ? 4 : 8); /* little-endian */
		crash.address_avma = address;
	} else if ((crash.code == SI_USER || crash.code == SI_TKILL || crash.code == SI_QUEUE) &&
		   sw_bytes_u32(siginfo, PID_OFF - less, &pid) &&
		   sw_bytes_u32(siginfo, UID_OFF - less, &uid)) {
		crash.sender_pid = (pid_t) pid;
		crash.sender_uid = uid;
	}
	return crash;
}

/* How many of the bytes at an address can be read. */
static size_t code_read(const struct sw_snapshot *snap, uint64_t avma,
			uint8_t code[static SW_INSN_BYTES_MAX])
{
	struct sw_snapshot_memory memory = {.snap = snap, .no_live = true};
	struct sw_memory m = sw_snapshot_memory(&memory);
	for (size_t n = SW_INSN_BYTES_MAX; n > 0; n--)
		if (m.ops->read(m.arg, avma, code, n))
			return n;
	return 0;
}

/* No address of a process: the processor refuses it without telling the kernel which it was. */
static bool is_canonical(uint64_t avma)
{
	return avma >> ADDRESS_BITS == 0 ||
	       avma >> ADDRESS_BITS == (UINT64_C(1) << (64 - ADDRESS_BITS)) - 1;
}

void sw_core_crash_access(struct sw_snapshot *snap)
{
	struct sw_crash *crash = &snap->crash;
	const struct sw_thread *t =
		crash->signal != 0 ? sw_snapshot_thread(snap, crash->tid) : NULL;
	if (t == NULL || (crash->signal != SIGSEGV && crash->signal != SIGBUS))
		return;
	bool refused = crash->has_code && crash->code == SI_KERNEL;
	if (crash->has_address && crash->address_avma == t->regs.pc_avma) {
		crash->access = SW_ACCESS_EXECUTE;
		return;
	}
	if (!crash->has_address && !refused)
		return;
	uint8_t code[SW_INSN_BYTES_MAX];
	struct sw_access operands[SW_ACCESS_OPERANDS];
	size_t n = sw_arch_access(snap->process.elf_class == 32, t, code,
				  code_read(snap, t->regs.pc_avma, code), operands);
	for (size_t i = 0; i < n; i++) {
		const struct sw_access *o = &operands[i];
		if (refused ? is_canonical(o->avma) : crash->address_avma - o->avma >= o->bytes)
			continue;
		crash->access = o->kind;
		if (refused) {
			crash->has_address = true;
			crash->address_avma = o->avma;
		}
		return;
	}
}

/* The mapping above an address that nothing may touch: what lies between has no access at all. NULL: there is
 * none, or it is too far. */
static const struct sw_map *map_above(const struct sw_snapshot *snap, uint64_t avma)
{
	size_t i = 0;
	while (i < snap->n_maps && (snap->maps[i].end_avma <= avma || snap->maps[i].prot == 0))
		i++;
	const struct sw_map *map = i < snap->n_maps ? &snap->maps[i] : NULL;
	bool ours = map != NULL && map->start_avma > avma &&
		    map->start_avma - avma <= SW_STACK_GUARD_MAX &&
		    (map->prot & (SW_MAP_READ | SW_MAP_WRITE)) == (SW_MAP_READ | SW_MAP_WRITE);
	return ours ? map : NULL;
}

/*
 * The size of a thread's stack, when the mapping ends with it: C libraries put their own record of a thread at
 * the top, to which fs points; the kernel joins mappings that are alike, so that another end may be anything's.
 * The first stack of a process grows, is never joined, and lies above all else (Linux v6.1
 * arch/x86/mm/mmap.c, stack_maxrandom_size(): 16 GB). 0: not known.
 */
static uint64_t stack_size(const struct sw_thread *t, const struct sw_map *map)
{
	enum { RECORD_MAX = 64 * 1024 };
	static const uint64_t first_from = UINT64_C(0x7ffbfffff000);
	bool whole = map->start_avma >= first_from ||
		     (t->fs_base >= map->start_avma && t->fs_base < map->end_avma &&
		      map->end_avma - t->fs_base <= RECORD_MAX);
	return whole ? map->end_avma - map->start_avma : 0;
}

void sw_crash_overflow(struct sw_snapshot *snap)
{
	struct sw_crash *crash = &snap->crash;
	const struct sw_thread *t =
		crash->signal == SIGSEGV ? sw_snapshot_thread(snap, crash->tid) : NULL;
	if (t == NULL || !crash->has_address || !crash->has_code || crash->code == SI_KERNEL ||
	    crash->access == SW_ACCESS_EXECUTE)
		return;
	uint64_t sp = t->regs.sp_avma, at = crash->address_avma;
	/* A push is below sp, a large frame is filled from anywhere in it. */
	if ((sp > at ? sp - at : at - sp) > STACK_FRAME_MAX)
		return;
	const struct sw_map *map = map_above(snap, at);
	if (map == NULL || sp > map->start_avma + STACK_LAST_BYTES)
		return;
	crash->stack_overflow = true;
	crash->stack_bytes = stack_size(t, map);
}
