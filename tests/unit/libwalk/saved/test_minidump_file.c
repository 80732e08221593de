/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* minidump_file.c, minidump_context_x86_64.c and minidump.c. */
#include "arch/arch.h"
#include "cleanup.h"
#include "minidump_builder.h"
#include "saved/minidump_context.h"
#include "saved/minidump_file.h"
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
TEST(test_cut)
{
	whole(&b);
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

TEST(test_snapshot)
{
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_core_options options = {0};
	char path[32];
	whole(&b);
	sw_cleanup(sw_close_p) int fd = memfd_create("minidump", MFD_CLOEXEC);
	assert_int_equal(write(fd, b.bytes, b.size), (ssize_t) b.size);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_snapshot_from_dump(ctx, path, &options, &snap, NULL), 0);
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
