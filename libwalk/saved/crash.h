/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAVED_CRASH_H
#define SW_SAVED_CRASH_H

#include "bytes.h"
#include "snapshot/snapshot.h"

/* Bytes of struct siginfo, the contents of the note NT_SIGINFO. */
enum { SW_CORE_SIGINFO_BYTES = 128 };

/*
 * Why the process of a core file ended: by the signal that its first thread had (pr_cursig), and what the
 * note NT_SIGINFO says of it (siginfo; no bytes: there is none). A signal that ends no process with a core
 * is none: debuggers write cores of processes that only stop.
 */
struct sw_crash sw_core_crash(pid_t tid, int signal, struct sw_bytes siginfo, bool is_32bit);

/* The largest guard below a stack, which may not be touched: 4 KiB with C libraries, zones of some
 * pages with the Java VM, 1 MiB below the first stack (Linux mm/mmap.c, stack_guard_gap). */
enum { SW_STACK_GUARD_MAX = 1024 * 1024 };

/* The access of the crashed thread to the address, told by the instruction at its pc. Called once
 * the snapshot's memory can be read. */
void sw_core_crash_access(struct sw_snapshot *snap);

/* Find out whether the crashed thread's stack was used up. For cores and recordings of them, once
 * maps and threads are there. */
void sw_crash_overflow(struct sw_snapshot *snap);

#endif
