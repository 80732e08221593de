/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SAMPLE_REPORT_H
#define SAMPLE_REPORT_H

#include <snapwalk/protocol.h>

/* A report made of literals, with all that can be in one: for the tests of the writers. */

static const struct sw_report_frame sample_waiting[] = {
	{.pc_avma = 0x7f0000083117,
	 .module = 1,
	 .has_offset = true,
	 .offset = 0x83117,
	 .function = "__futex_abstimed_wait_common",
	 .function_offset = 199,
	 .file = "./nptl/futex-internal.c",
	 .line = 57,
	 .line_offset = 12,
	 .kind = "native",
	 .by = "context",
	 .trust = "context"},
	{.pc_avma = 0x401234,
	 .module = 0,
	 .has_offset = true,
	 .offset = 0x1234,
	 .function = "Queue<int>::pop(int&)",
	 .function_offset = 20,
	 .file = "/src/queue.h",
	 .line = 30,
	 .line_offset = 0,
	 .kind = "native",
	 .by = "elf-cfi",
	 .trust = "cfi",
	 .inlined = true},
	{.pc_avma = 0x401234,
	 .module = 0,
	 .has_offset = true,
	 .offset = 0x1234,
	 .function = "worker(void*)",
	 .function_offset = 20,
	 .file = "/src/main.cc",
	 .line = 99,
	 .line_offset = 4,
	 .kind = "native",
	 .by = "elf-cfi",
	 .trust = "cfi"},
};

static const struct sw_report_frame sample_busy[] = {
	{.pc_avma = 0x400100,
	 .module = 0,
	 .line_offset = -1,
	 .kind = "native",
	 .by = "context",
	 .trust = "context"},
	{.pc_avma = 0x7f0000020000,
	 .module = 1,
	 .has_offset = true,
	 .offset = 0x20000,
	 .line_offset = -1,
	 .kind = "native",
	 .by = "scan",
	 .trust = "scan",
	 .may_miss = true,
	 .after_guess = true,
	 .internal = true,
	 .live_read = true,
	 .signal = true},
	{.pc_avma = 0xdead0000,
	 .module = -1,
	 .line_offset = -1,
	 .kind = "unknown",
	 .by = "frame-pointer",
	 .trust = "frame_pointer"},
};

static const size_t sample_waiting_threads[] = {1, 2};
static const size_t sample_busy_threads[] = {0};

static struct sw_report_stack sample_stacks[] = {
	{.id = 0x00f3c2a77b1d04e5,
	 .threads = sample_waiting_threads,
	 .n_threads = 2,
	 .end = "complete",
	 .frames = sample_waiting,
	 .n_frames = 3},
	{.id = UINT64_MAX,
	 .threads = sample_busy_threads,
	 .n_threads = 1,
	 .end = "no_unwind_info",
	 .why = "code that belongs to no module",
	 .frames = sample_busy,
	 .n_frames = 3},
};

static const struct sw_report_managed sample_managed[] = {
	{.runtime = "clr", .id = 7, .name = "Order\033queue", .mode = "preemptive"},
	{.runtime = "clr", .id = -1, .name = "worker-12", .role = "finalizer"},
};

static struct sw_report_thread sample_threads[] = {
	{.tid = 4242,
	 .comm = "ser\033[31mver",
	 .state = 'R',
	 .captured = true,
	 .cpu_ns = 1500000000,
	 .stop_us = 850,
	 .stack = 1},
	{.tid = 4243,
	 .comm = "worker-1",
	 .state = 'S',
	 .captured = true,
	 .wchan = "futex_wait_queue",
	 .syscall = "futex",
	 .cpu_ns = 20000000,
	 .stop_us = 800,
	 .stack = 0,
	 .managed = &sample_managed[0]},
	{.tid = 4244,
	 .comm = "worker-12",
	 .state = 'S',
	 .captured = true,
	 .wchan = "futex_wait_queue",
	 .syscall = "futex",
	 .interrupted = true,
	 .cpu_ns = 30000000,
	 .stop_us = 700,
	 .stack = 0,
	 .managed = &sample_managed[1]},
	{.tid = 4250,
	 .comm = "bad\xff;name",
	 .state = 'D',
	 .reason = "stop_timeout",
	 .reason_text = "it did not stop in time",
	 .wchan = "folio_wait_bit",
	 .cpu_ns = -1,
	 .stop_us = -1,
	 .stack = -1},
};

static struct sw_report_module sample_modules[] = {
	{.path = "/usr/bin/server",
	 .build_id = "ab12",
	 .start_avma = 0x400000,
	 .end_avma = 0x500000,
	 .format = "elf",
	 .symbols = "dwarf"},
	{.path = "/lib/libc.so.6",
	 .start_avma = 0x7f0000000000,
	 .end_avma = 0x7f0000200000,
	 .format = "elf",
	 .symbols = "none",
	 .symbols_why = "it has no lines",
	 .problem = "it cannot be read",
	 .deleted = true},
};

static struct sw_report_warning sample_warnings[] = {
	{.code = "stop_timeout", .tid = 4250, .message = "one \"thread\" is missing"},
	{.code = "no_unwind_info", .message = "stacks are cut"},
};

static const struct sw_report_runtime sample_runtimes[] = {
	{.name = "clr", .version = "10.0.0", .where = "/opt/dotnet/libcoreclr.so"},
	{.name = "wine"},
};

static const struct sw_report_registry sample_registries[] = {
	{.name = "gdb-jit", .where = "/lib/libLLVM-15.so.1", .entries = 1},
	{.name = "perf-map", .entries = INT64_MAX},
};

static const struct sw_report sample_report = {
	.id = "20261120T103550.084579-4242-0badcafe",
	.seq = 3,
	.time_ns = 1795170950084579123,
	.host_name = "web1",
	.host_kernel = "6.1.0",
	.host_machine = "x86_64",
	.process = {.pid = 4242,
		    .ppid = 1,
		    .uid = 1000,
		    .starttime = 998877,
		    .uptime_ms = 81234,
		    .elf_class = 64,
		    .comm = "server",
		    .exe = "/usr/bin/server",
		    .cgroup = "/system.slice/x.service",
		    .unit = "x.service",
		    .runtimes = sample_runtimes,
		    .n_runtimes = 2,
		    .registries = sample_registries,
		    .n_registries = 2},
	.timings = {.stopped_us = 850,
		    .longest_thread_stop_us = 840,
		    .attach_us = 300,
		    .copy_us = 90,
		    .unwind_us = 900,
		    .symbolize_us = 2100,
		    .total_us = 5200,
		    .interrupted_calls = 1},
	.threads = sample_threads,
	.n_threads = 4,
	.stacks = sample_stacks,
	.n_stacks = 2,
	.modules = sample_modules,
	.n_modules = 2,
	.warnings = sample_warnings,
	.n_warnings = 2,
};

/* A frame of a native function. */
static inline struct sw_report_frame sample_frame(const char *function, uint32_t line)
{
	return (struct sw_report_frame){.module = 0,
					.has_offset = true,
					.function = function,
					.line = line,
					.file = "f.c",
					.line_offset = -1,
					.kind = "native",
					.by = "elf-cfi",
					.trust = "cfi"};
}

#endif
