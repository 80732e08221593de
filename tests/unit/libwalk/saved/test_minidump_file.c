/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* minidump_file.c, minidump_context_x86_64.c, minidump.c and what these call. */
#include "arch/arch.h"
#include "cleanup.h"
#include "minidump_builder.h"
#include "saved/minidump_context.h"
#include "saved/minidump_file.h"
#include "saved/minidump_linux.h"
#include "test.h"

#include <snapwalk/capture.h>

#include <sys/mman.h>

enum { STACK = 0x20f000, STACK_BYTES = 0x100, IMAGE = 0x140000000, DATA = 0x300000 };

/* Two threads, the second one crashed; a module, memory of a stack and of data, regions, names. */
static void whole(struct minidump_builder *b)
{
	md_begin(b);
	uint32_t at = md_stream(b, 7, 56);
	b->bytes[at] = 9; /* AMD64 */
	uint32_t threads = md_stream(b, 3, 4 + 2 * 48);
	md_u32(b, threads, 2);
	uint32_t stack = md_space(b, STACK_BYTES);
	b->bytes[stack + 8] = 0x5a;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t t = threads + 4 + i * 48;
		md_u32(b, t, 80 - 4 * i); /* not by id */
		md_u64(b, t + 16, 0x7000 + i);
		md_u64(b, t + 24, STACK + i * 0x1000);
		md_u32(b, t + 32, STACK_BYTES);
		md_u32(b, t + 36, stack);
		md_u32(b, t + 40, MD_CONTEXT);
		md_u32(b, t + 44,
		       md_context(b, 100 + 100 * i, STACK + i * 0x1000 + 0x20, IMAGE + 0x1010 + i));
	}
	at = md_stream(b, 4, 4 + 108);
	md_u32(b, at, 1);
	md_u64(b, at + 4, IMAGE);
	md_u32(b, at + 12, 0x5000);
	md_u32(b, at + 20, 0x11223344);
	md_u32(b, at + 24, md_string(b, "C:\\dir\\prog.exe"));
	md_u32(b, at + 4 + 76, 24 + 6);
	uint32_t codeview = md_space(b, 24 + 6);
	md_u32(b, at + 4 + 80, codeview);
	memcpy(b->bytes + codeview,
	       "RSDS\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x02\0\0\0p."
	       "pdb",
	       30);
	at = md_stream(b, 6, 168);
	md_u32(b, at, 76);
	md_u32(b, at + 8, 0xc0000005);
	md_u64(b, at + 8 + 16, IMAGE + 0x1011);
	md_u32(b, at + 8 + 24, 2);
	md_u64(b, at + 40, 1);
	md_u64(b, at + 48, 0xdead);
	md_u32(b, at + 160, MD_CONTEXT);
	md_u32(b, at + 164, md_context(b, 500, STACK + 0x1000 + 0x40, IMAGE + 0x1011));
	at = md_stream(b, 15, 24);
	md_u32(b, at + 4, 3);
	md_u32(b, at + 8, 4242);
	md_u32(b, at + 12, 990);
	at = md_stream(b, 16, 16 + 2 * 48);
	md_u32(b, at, 16);
	md_u32(b, at + 4, 48);
	md_u64(b, at + 8, 2);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t r = at + 16 + i * 48;
		md_u64(b, r, i == 0 ? STACK : DATA);
		md_u64(b, r + 24, i == 0 ? 0x2000 : 0x1000);
		md_u32(b, r + 32, 0x1000);
		md_u32(b, r + 36, i == 0 ? 0x04 : 0x20);
	}
	at = md_stream(b, 17, 12 + 64);
	md_u32(b, at, 12);
	md_u32(b, at + 4, 64);
	md_u32(b, at + 8, 1);
	md_u32(b, at + 12, 76);
	md_u64(b, at + 12 + 32, 30);
	md_u64(b, at + 12 + 40, 12);
	at = md_stream(b, 24, 4 + 12);
	md_u32(b, at, 1);
	md_u32(b, at + 4, 80);
	md_u64(b, at + 8, md_string(b, "reader"));
	at = md_stream(b, 9, 16 + 16);
	md_u64(b, at, 1);
	md_u64(b, at + 8, b->size);
	md_u64(b, at + 16, DATA);
	md_u64(b, at + 24, 16);
	memcpy(b->bytes + md_space(b, 16), "data of the heap", 16);
}

enum { PROGRAM = 0x555500000000, LIBRARY = 0x7f0000000000, LINUX_STACK = 0x7ffc00001000 };

/* A module of Linux at modules' entry i; its CodeView record. */
static void linux_module(struct minidump_builder *b, uint32_t modules, uint32_t i,
			 uint64_t start_avma, const char *path, const char *record, size_t bytes)
{
	uint32_t m = modules + 4 + 108 * i;
	md_u64(b, m, start_avma);
	md_u32(b, m + 8, 0x3000);
	md_u32(b, m + 20, md_string(b, path));
	md_u32(b, m + 76, (uint32_t) bytes);
	uint32_t at = md_space(b, bytes);
	md_u32(b, m + 80, at);
	memcpy(b->bytes + at, record, bytes);
}

/* As Breakpad writes it: one thread that crashed, two modules, of which the second one is the program. */
static void linux_whole(struct minidump_builder *b)
{
	md_begin(b);
	uint32_t at = md_stream(b, 7, 56);
	b->bytes[at] = 9; /* AMD64 */
	md_u32(b, at + 20, 0x8201);
	uint32_t threads = md_stream(b, 3, 4 + 48);
	md_u32(b, threads, 1);
	md_u32(b, threads + 4, 77);
	md_u64(b, threads + 4 + 16, 0x7f0000009000); /* Crashpad's thread pointer */
	md_u64(b, threads + 4 + 24, LINUX_STACK);
	md_u32(b, threads + 4 + 32, STACK_BYTES);
	md_u32(b, threads + 4 + 36, md_space(b, STACK_BYTES));
	md_u32(b, threads + 4 + 40, MD_CONTEXT);
	md_u32(b, threads + 4 + 44, md_context(b, 1, LINUX_STACK + 0xa0, PROGRAM + 0x1010));
	uint32_t modules = md_stream(b, 4, 4 + 2 * 108);
	md_u32(b, modules, 2);
	linux_module(b, modules, 0, LIBRARY, "/nowhere/lib.so",
		     "RSDS\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\0\0\0\0lib.so", 31);
	linux_module(b, modules, 1, PROGRAM, "/nowhere/prog", "BpEL\xab\xcd\xef", 7);
	at = md_stream(b, 6, 168);
	md_u32(b, at, 77);
	md_u32(b, at + 8, 11);
	md_u32(b, at + 12, 1); /* SEGV_MAPERR */
	md_u64(b, at + 8 + 16, PROGRAM + 0x1010);
	at = md_stream(b, 0x47670008, 4 * 8);
	md_u64(b, at, 9); /* AT_ENTRY */
	md_u64(b, at + 8, PROGRAM + 0x1000);
	md_text(b, 0x47670004,
		"Name:\tits name\nUmask:\t0022\nPid:\t70\nPPid:\t9\nUid:\t1000\t0\t0\t0\n"
		"Gid:\t99999999999\n");
	md_text(b, 0x47670009,
		"555500000000-555500001000 r--p 00000000 08:01 7 /nowhere/prog\n"
		"555500001000-555500003000 r-xp 00001000 08:01 7 /nowhere/prog\n"
		"7f0000000000-7f0000003000 r-xp 00000000 08:01 8 /nowhere/lib.so\n"
		"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n");
}

static struct minidump_builder b;
static struct sw_error error;

static int parse(struct sw_arena *arena, size_t size, struct sw_minidump *ret)
{
	return sw_minidump_parse(arena, (struct sw_bytes){b.bytes, size}, "x.dmp", ret, &error);
}

TEST(test_parse)
{
	static const uint8_t id[] = {1,  2,  3,  4,  5,  6,  7, 8, 9, 10,
				     11, 12, 13, 14, 15, 16, 0, 0, 0, 2};
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	struct sw_minidump md;
	struct sw_regs regs;
	whole(&b);
	assert_int_equal(parse(&arena, b.size, &md), 0);
	assert_false(md.damaged || md.limited);
	assert_int_equal(md.n_threads, 2);
	assert_int_equal(md.threads[0].id, 76);
	assert_int_equal(md.threads[0].teb_avma, 0x7001);
	assert_int_equal(md.threads[0].cpu_ns, 4200);
	assert_null(md.threads[0].name);
	assert_int_equal(md.threads[1].id, 80);
	assert_int_equal(md.threads[1].cpu_ns, -1);
	assert_string_equal(md.threads[1].name, "reader");
	assert_true(sw_minidump_registers(md.threads[1].context, &regs));
	assert_int_equal(regs.pc_avma, IMAGE + 0x1010);
	assert_int_equal(regs.sp_avma, STACK + 0x20);
	assert_int_equal(regs.val[SW_X86_64_RAX], 100);
	assert_int_equal(regs.val[SW_X86_64_RCX], 101);
	assert_int_equal(regs.val[SW_X86_64_RDX], 102);
	assert_int_equal(regs.val[SW_X86_64_RBP], 105);
	assert_int_equal(regs.val[SW_X86_64_RDI], 107);
	assert_int_equal(regs.val[SW_X86_64_R15], 115);
	assert_int_equal(md.n_modules, 1);
	assert_int_equal(md.modules[0].end_avma, IMAGE + 0x5000);
	assert_string_equal(md.modules[0].path, "C:\\dir\\prog.exe");
	assert_int_equal(md.modules[0].build_id_bytes, sizeof(id));
	assert_memory_equal(md.modules[0].build_id, id, sizeof(id));
	assert_int_equal(md.n_ranges, 3);
	assert_int_equal(md.ranges[2].start_avma, DATA);
	assert_memory_equal(md.ranges[2].data, "data of the heap", 16);
	assert_int_equal(md.n_regions, 2);
	assert_int_equal(md.regions[0].end_avma, STACK + 0x2000);
	assert_int_equal(md.regions[0].prot, SW_MAP_READ | SW_MAP_WRITE);
	assert_int_equal(md.regions[1].prot, SW_MAP_READ | SW_MAP_EXEC);
	assert_true(md.has_exception);
	assert_int_equal(md.exception.thread, 76);
	assert_int_equal(md.exception.n_details, 2);
	assert_int_equal(md.exception.details[1], 0xdead);
	assert_int_equal(md.pid, 4242);
	assert_int_equal(md.time_s, 1000);
	assert_int_equal(md.begin_s, 990);
}

TEST(test_parse_linux)
{
	static const uint8_t guid[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	static const uint8_t id[] = {0xab, 0xcd, 0xef};
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	struct sw_minidump md;
	linux_whole(&b);
	assert_int_equal(parse(&arena, b.size, &md), 0);
	assert_false(md.damaged || md.limited);
	assert_true(md.is_linux);
	assert_int_equal(md.n_modules, 2);
	assert_int_equal(md.first_avma, LIBRARY);
	assert_int_equal(md.modules[0].build_id_bytes, sizeof(id));
	assert_memory_equal(md.modules[0].build_id, id, sizeof(id));
	assert_int_equal(md.modules[1].build_id_bytes, sizeof(guid));
	assert_memory_equal(md.modules[1].build_id, guid, sizeof(guid));
	assert_int_equal(md.exception.flags, 1);
	assert_int_equal(md.proc.auxv.size, 32);
	assert_memory_equal(md.proc.status.data, "Name:", 5);
	assert_memory_equal(md.proc.maps.data, "5555", 4);
}

TEST(test_refused)
{
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	struct sw_minidump md;
	whole(&b);
	b.bytes[MD_DIRECTORY + MD_STREAMS * 12] = 12; /* ARM64 */
	assert_int_equal(parse(&arena, b.size, &md), -SW_E_ARCH);
	assert_string_equal(error.message,
			    "x.dmp: a minidump of another machine than x64 (architecture 12)");
	md_begin(&b);
	assert_int_equal(parse(&arena, b.size, &md), -SW_E_FORMAT);
	assert_string_equal(error.message, "x.dmp: this minidump has no threads");
	b.bytes[4] = 0;
	assert_int_equal(parse(&arena, b.size, &md), -SW_E_FORMAT);
	assert_string_equal(error.message, "x.dmp: no minidump of a version that is known");
}

/* Each shorter file, in memory of just that size, is refused or damaged. */
static void cut_check(void)
{
	for (size_t size = 4; size < b.size; size++) {
		sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
		struct sw_minidump md;
		uint8_t *bytes = malloc(size);
		assert_non_null(bytes);
		memcpy(bytes, b.bytes, size);
		int r = sw_minidump_parse(&arena, (struct sw_bytes){bytes, size}, "x.dmp", &md,
					  NULL);
		assert_true(r == -SW_E_FORMAT || (r == 0 && md.damaged));
		free(bytes);
	}
}

TEST(test_cut)
{
	whole(&b);
	cut_check();
	linux_whole(&b);
	cut_check();
}

/* Numbers of elements that lie are cut to what the stream has. */
TEST(test_numbers)
{
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	struct sw_minidump md;
	whole(&b);
	uint32_t threads;
	memcpy(&threads, b.bytes + MD_DIRECTORY + 12 + 8, sizeof(threads));
	md_u32(&b, threads, UINT32_MAX);
	assert_int_equal(parse(&arena, b.size, &md), 0);
	assert_int_equal(md.n_threads, 2);
	assert_true(md.damaged);
}

/* The snapshot of the minidump in b. */
static struct sw_snapshot *taken(struct sw_context *ctx)
{
	struct sw_snapshot *snap;
	struct sw_core_options options = {0};
	char path[32];
	sw_cleanup(sw_close_p) int fd = memfd_create("minidump", MFD_CLOEXEC);
	assert_int_equal(write(fd, b.bytes, b.size), (ssize_t) b.size);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	assert_int_equal(sw_snapshot_from_dump(ctx, path, &options, &snap, NULL), 0);
	return snap;
}

TEST(test_snapshot)
{
	struct sw_context *ctx;
	whole(&b);
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	struct sw_snapshot *snap = taken(ctx);
	assert_int_equal(snap->process.pid, 4242);
	assert_string_equal(snap->process.comm, "prog.exe");
	assert_string_equal(snap->process.exe, "C:\\dir\\prog.exe");
	assert_int_equal(snap->process.uptime_ms, 10000);
	assert_int_equal(snap->time_ns, INT64_C(1000000000000));
	assert_int_equal(snap->n_threads, 2);
	const struct sw_thread *t = &snap->threads[0];
	assert_int_equal(t->regs.val[SW_X86_64_RAX],
			 500); /* of the exception, not of its handler */
	assert_int_equal(t->stack_avma, STACK + 0x1000 + 0x40);
	assert_int_equal(t->stack_bytes, STACK_BYTES - 0x40);
	assert_int_equal(t->stack_end_avma, STACK + 0x1000 + STACK_BYTES);
	assert_string_equal(t->comm, "prog.exe");
	assert_string_equal(snap->threads[1].comm, "reader");
	assert_int_equal(snap->threads[1].gs_base, 0x7000);
	assert_int_equal(snap->crash.exception, 0xc0000005);
	assert_int_equal(snap->crash.access, SW_ACCESS_WRITE);
	assert_int_equal(snap->crash.address_avma, 0xdead);
	assert_int_equal(snap->n_maps, 3);
	assert_int_equal(snap->maps[2].prot, SW_MAP_READ | SW_MAP_EXEC);
	assert_int_equal(snap->maps[2].place, 0);
	assert_int_equal(snap->n_places, 1);
	assert_int_equal(snap->n_warnings, 1);
	assert_string_equal(snap->warnings[0].message,
			    "1 image is not in the minidump, nor in a directory that was named "
			    "(--images DIR): prog.exe");
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}

TEST(test_snapshot_linux)
{
	static const uint8_t id[] = {0xab, 0xcd, 0xef};
	struct sw_context *ctx;
	size_t n;
	linux_whole(&b);
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	struct sw_snapshot *snap = taken(ctx);
	assert_int_equal(snap->process.pid, 70);
	assert_int_equal(snap->process.ppid, 9);
	assert_int_equal(snap->process.uid, 1000);
	assert_int_equal(snap->process.gid, (gid_t) -1); /* no number of a group */
	assert_string_equal(snap->process.comm, "its name");
	assert_string_equal(snap->process.exe, "/nowhere/prog");
	assert_true(snap->process.has_no_host);
	assert_int_equal(snap->n_threads, 1);
	const struct sw_thread *t = &snap->threads[0];
	assert_int_equal(t->fs_base, 0x7f0000009000);
	assert_int_equal(t->stack_avma, LINUX_STACK + 0xa0 - 128); /* with the red zone */
	assert_int_equal(t->stack_bytes, STACK_BYTES - 0xa0 + 128);
	assert_int_equal(t->stack_end_avma, 0x7ffc00021000);
	assert_int_equal(snap->crash.signal, 11);
	assert_int_equal(snap->crash.tid, 77);
	assert_int_equal(snap->crash.code, 1);
	assert_int_equal(snap->crash.address_avma, PROGRAM + 0x1010);
	assert_int_equal(snap->crash.access, SW_ACCESS_EXECUTE);
	assert_int_equal(snap->n_maps, 4);
	assert_int_equal(snap->maps[1].file_off, 0x1000);
	assert_int_equal(snap->maps[1].place, 0);
	assert_int_equal(snap->n_places, 2);
	assert_int_equal(snap->places[0].bias, PROGRAM);
	assert_int_equal(snap->places[0].resolved, 1);
	const uint8_t *got = sw_module_build_id(snap->places[0].module, &n);
	assert_int_equal(n, sizeof(id));
	assert_memory_equal(got, id, sizeof(id));
	assert_int_equal(snap->n_warnings, 1);
	assert_string_equal(snap->warnings[0].message,
			    "2 images are not in the minidump, nor in a directory that was named "
			    "(--images DIR): prog, lib.so");
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}

/* A process has no id 0. */
TEST(test_status)
{
	struct sw_process process = {.pid = 5, .ppid = 6};
	static const char text[] = "Pid:\t0\nPPid:\t0\nUid:\t4294967296\nName:\t0123456789abcdefgh";
	process.uid = 7;
	sw_minidump_linux_status((struct sw_bytes){(const uint8_t *) text, sizeof(text) - 1},
				 &process);
	assert_int_equal(process.pid, 5);
	assert_int_equal(process.ppid, 0);
	assert_int_equal(process.uid, 7);
	assert_string_equal(process.comm, "0123456789abcdefgh");
}

/* Without the mappings of the process a module is one, and the stack another; a sender is in parameters. */
TEST(test_snapshot_crashpad)
{
	struct sw_context *ctx;
	linux_whole(&b);
	for (size_t i = 0; i < b.n_streams; i++) {
		uint32_t type;
		memcpy(&type, b.bytes + MD_DIRECTORY + 12 * i, sizeof(type));
		if (type > 0x47670000)
			md_u32(&b, MD_DIRECTORY + 12 * i, 0x7fff);
		if (type == 6) {
			uint32_t at;
			memcpy(&at, b.bytes + MD_DIRECTORY + 12 * i + 8, sizeof(at));
			md_u32(&b, at + 8, 6);
			md_u32(&b, at + 12, (uint32_t) -6); /* SI_TKILL */
			md_u64(&b, at + 8 + 16, 0);
			md_u32(&b, at + 8 + 24, 3);
			md_u64(&b, at + 40, 4711);
			md_u64(&b, at + 48, 1001);
		}
	}
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	struct sw_snapshot *snap = taken(ctx);
	assert_int_equal(snap->process.pid, 77);
	assert_int_equal(snap->process.uid, (uid_t) -1);
	assert_string_equal(snap->process.exe, "/nowhere/lib.so"); /* the first one of the list */
	assert_int_equal(snap->crash.signal, 6);
	assert_false(snap->crash.has_address);
	assert_int_equal(snap->crash.sender_pid, 4711);
	assert_int_equal(snap->crash.sender_uid, 1001);
	assert_int_equal(snap->n_maps, 3);
	assert_int_equal(snap->maps[0].start_avma, PROGRAM);
	assert_int_equal(snap->maps[0].end_avma, PROGRAM + 0x3000);
	assert_int_equal(snap->maps[0].prot, SW_MAP_READ | SW_MAP_EXEC);
	assert_int_equal(snap->maps[2].start_avma, LINUX_STACK);
	assert_int_equal(snap->maps[2].prot, SW_MAP_READ | SW_MAP_WRITE);
	assert_int_equal(snap->n_places, 2);
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}
