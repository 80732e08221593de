/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A runtime for Windows: how it is found, and how its code is left. */
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/tasks/all_tasks.h"
#include "runtimes/clr/code/clr.h"
#include "arch/arch.h"
#include "clr_world.h"
#include "pe_load.h"
#include "runtimes/clr/find.h"
#include "runtimes/clr/published/windows.h"
#include "runtimes/clr/unwind.h"
#include "snapshot/read.h"
#include "walk_case.h"
#include "test.h"

enum {
	/* RVAs in coreclr.dll */
	TRIP_RVA = 0x1000,
	DATA_RVA = 0x2000,
	POINTERS_RVA = DATA_RVA + 0x100,
	JSON_RVA = DATA_RVA + 0x1000,
	DATA_BYTES = 0x8000,
	RESOURCE_RVA = 0xb000,
	VERSION_RVA = RESOURCE_RVA + 0x100,
	VERSION_TYPE_AT = 0x18, /* of RT_VERSION in the resources */
	DIRECTORY_RESOURCE = 24 + 112 + 8 * 2,
	N_POINTERS = 32,

	/* in the code heap and in WORLD_DATA, as in test_clr_unwind.c */
	METHOD = 0x100,
	CALLER = 0x200,
	RETURN = CALLER + 0x10,
	STORE_VARIABLE = 0x7100,
	STORE = 0x7200,
	THREAD = 0x7400,
	HIJACK = 0x98,
};

#define BASE UINT64_C(0x180000000)
#define TRIP (BASE + TRIP_RVA)
#define SP   (UINT64_C(0) + FAKE_STACK_AVMA + FAKE_STACK_BYTES)

/* OnHijackTripThread() of coreclr.dll 10.0.12. */
static const uint8_t trip_code[] = {
	0x48, 0x8b, 0xd4,                               /* 00 mov %rsp,%rdx */
	0x50, 0x52,                                     /* 03 push %rax, %rdx */
	0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, /* 05 push %r15, %r14, %r13, %r12 */
	0x55, 0x53, 0x56, 0x57,                         /* 0d push %rbp, %rbx, %rsi, %rdi */
	0x51, 0x50,                                     /* 11 push %rcx, %rax */
	0x48, 0x8b, 0xcc,                               /* 13 mov %rsp,%rcx */
	0x48, 0x83, 0xec, 0x30,                         /* 16 sub $0x30,%rsp */
	0x66, 0x0f, 0x7f, 0x44, 0x24, 0x20,             /* 1a movdqa %xmm0,0x20(%rsp) */
	0xe8, 0xdb, 0x16, 0xf7, 0xff,                   /* 20 call OnHijackWorker */
	0x66, 0x0f, 0x6f, 0x44, 0x24, 0x20,             /* 25 movdqa 0x20(%rsp),%xmm0 */
	0x48, 0x83, 0xc4, 0x30,                         /* 2b add $0x30,%rsp */
	0x58, 0x59, 0x5f, 0x5e, 0x5b, 0x5d,             /* 2f pop %rax, %rcx, %rdi, %rsi, ... */
	0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, /* 35 pop %r12, %r13, %r14, %r15 */
	0x5a,                                           /* 3d pop %rdx */
	0xc3,                                           /* 3e ret */
};

/* ---- the image ------------------------------------------------------------------------------ */

static uint8_t data[DATA_BYTES];

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(data + at, &value, bytes);
}

static void descriptor_make(const char *file)
{
	char path[512];
	memset(data, 0, sizeof(data));
	(void) snprintf(path, sizeof(path), "%s/fuzz/corpus/fuzz_clr_contract/%s", SW_TESTS_DIR,
			file);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t n = fread(data + JSON_RVA - DATA_RVA, 1, DATA_BYTES - (JSON_RVA - DATA_RVA), f);
	(void) fclose(f);
	put(0, UINT64_C(0x0043414443434e44), 8);
	put(8, 1, 4);
	put(12, n, 4);
	put(16, BASE + JSON_RVA, 8);
	put(24, N_POINTERS, 4);
	put(32, BASE + POINTERS_RVA, 8);
	for (size_t i = 0; i < N_POINTERS; i++)
		put(POINTERS_RVA - DATA_RVA + i * 8, BASE, 8);
}

/* Type, name, language, each a directory with one entry; the version's data. */
static void resources_make(uint8_t resources[0x200])
{
	static const uint32_t levels[3][3] = {{0x00, 16, 0x80000020},
					      {0x20, 1, 0x80000040},
					      {0x40, 1033, 0x60}};
	static const uint32_t entry[] = {VERSION_RVA, 92};
	static const uint32_t info[] = {0xfeef04bd, 0x10000, 10 << 16, 1226 << 16 | 42308};
	memset(resources, 0, 0x200);
	for (size_t i = 0; i < 3; i++) {
		resources[levels[i][0] + 14] = i == 0 ? 2 : 1; /* another type stands before it */
		memcpy(resources + levels[i][0] + (i == 0 ? VERSION_TYPE_AT : 0x10), &levels[i][1],
		       8);
	}
	resources[0x10] = 5;
	memcpy(resources + 0x60, entry, sizeof(entry));
	memcpy(resources + VERSION_RVA - RESOURCE_RVA + 40, info, sizeof(info));
}

/* coreclr.dll as it lies in memory, with the description of that runtime; free(). */
static uint8_t *coreclr_make(const char *file)
{
	static struct pe_make pe;
	uint8_t resources[0x200];
	descriptor_make(file);
	resources_make(resources);
	pe_make_init(&pe);
	pe_make_section(&pe, ".text", TRIP_RVA, PE_MAKE_CODE, trip_code, sizeof(trip_code));
	pe_make_section(&pe, ".data", DATA_RVA, PE_MAKE_DATA, data, sizeof(data));
	pe_make_section(&pe, ".rsrc", RESOURCE_RVA, PE_MAKE_DATA, resources, sizeof(resources));
	pe_make_function(&pe, TRIP_RVA, TRIP_RVA + sizeof(trip_code), DATA_RVA);
	pe_make_export(&pe, "CLRJitAttachState", DATA_RVA + 8);
	pe_make_export(&pe, "DotNetRuntimeContractDescriptor", DATA_RVA);
	pe_make_export(&pe, "g_dacTable", DATA_RVA + 16);
	pe_make_finish(&pe);
	pe_make_patch(&pe, DIRECTORY_RESOURCE, RESOURCE_RVA, 4);
	pe_make_patch(&pe, DIRECTORY_RESOURCE + 4, sizeof(resources), 4);
	return pe_load(&pe);
}

/* ---- how it is found ------------------------------------------------------------------------ */

static size_t find(const char *path, const uint8_t *image, struct sw_clr_runtime *ret)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_snapshot_memory source = {.snap = snap};
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n;
	snap->process.exe = "/usr/lib/wine/wine64";
	(void) fake_snapshot_module(snap, SW_MODULE_PE, path, BASE, BASE, BASE + PE_LOAD_BYTES,
				    NULL, 0);
	fake_snapshot_range(snap, BASE, image, PE_LOAD_BYTES);
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	fake_snapshot_finish(snap);
	assert_int_equal(sw_clr_runtimes_find(snap, sw_snapshot_memory(&source), true, runtimes,
					      &n),
			 0);
	*ret = n > 0 ? runtimes[0] : (struct sw_clr_runtime){0};
	assert_int_equal(sw_clr_probe(snap), sw_clr_pe_is_candidate(&snap->places[0]));
	sw_clr_runtimes_deinit(runtimes, n);
	fake_snapshot_destroy(snap);
	return n;
}

TEST(test_found)
{
	struct sw_clr_runtime r;
	uint8_t *image = coreclr_make("net10.json");
	static const char *const is[] = {"/app/coreclr.dll", "C:\\app\\CoreCLR.dll",
					 "/app/one.exe"};
	static const char *const is_not[] = {"/app/clr.dll", "/coreclr.dll/x.dll", "/app/.exe.dll"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(is); i++) {
		assert_int_equal(find(is[i], image, &r), 1);
		assert_string_equal(r.problem, "");
		assert_true(r.is_windows && r.usable);
		assert_string_equal(r.version, "10.0.1226.42308");
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(is_not); i++)
		assert_int_equal(find(is_not[i], image, &r), 0);
	free(image);
}

/* Nothing is exported by that name, or there is no image. */
TEST(test_not_found)
{
	struct sw_clr_runtime r;
	uint8_t *image = coreclr_make("net10.json");
	uint8_t *name = memmem(image, PE_LOAD_BYTES, "DotNetRuntime", 13);
	assert_non_null(name);
	name[3] = 'X';
	assert_int_equal(find("/app/coreclr.dll", image, &r), 0);
	name[3] = 'N';
	assert_int_equal(find("/app/coreclr.dll", image, &r), 1);
	image[0] = 'X';
	assert_int_equal(find("/app/coreclr.dll", image, &r), 0);
	free(image);
}

TEST(test_versions)
{
	struct sw_clr_runtime r;
	uint8_t *image = coreclr_make("net9.json");
	assert_int_equal(find("/app/coreclr.dll", image, &r), 1);
	assert_false(r.usable);
	assert_string_equal(r.problem, "it does not describe how its code is found; of those for "
				       "Windows .NET 10 is the first that does");
	free(image);

	/* Resources of other types alone; a name, a data entry where a directory is due; other data. */
	static const struct {
		uint32_t at, value;
	} wrong[] = {{VERSION_TYPE_AT, 14}, {0x2e, 0}, {0x54, 0x80000060},  {0x60, 0x7fffffff},
		     {0x1c, 0x20},          {0x0e, 1}, {0x128, 0xfeef04be}, {0x1c, 0xfffffff0}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++) {
		image = coreclr_make("net10.json");
		memcpy(image + RESOURCE_RVA + wrong[i].at, &wrong[i].value, sizeof(uint32_t));
		assert_int_equal(find("/app/coreclr.dll", image, &r), 1);
		assert_true(r.usable);
		assert_string_equal(r.version, "");
		free(image);
	}
}

/* ---- how its code is left ------------------------------------------------------------------- */

struct scene {
	struct clr_world world;
	struct sw_snapshot *snap;
	struct sw_clr clr;
	uint8_t *image;
	struct walk_cursor w;
	struct sw_stepped ret;
};

static struct scene s;

static void scene_make(uint64_t pc, bool exact_pc, const uint64_t *stack, size_t n, uint64_t slot)
{
	/* push %rbp; sub $0x20,%rsp */
	static const uint8_t unwind[] = {0x19, 0x05, 0x02, 0x00, 0x05, 0x32, 0x01, 0x50};
	static const struct sw_pe_function method[] = {{METHOD, METHOD + 14, 0x180}};
	static const struct sw_pe_function caller[] = {{CALLER, CALLER + 0x40, 0x180}};
	struct clr_world *world = &s.world;
	clr_world_init(world, 2);
	world->runtime.is_windows = true;
	world->runtime.at.store_avma = WORLD_DATA + STORE_VARIABLE;
	clr_world_u64(world, WORLD_DATA + STORE_VARIABLE, WORLD_DATA + STORE);
	clr_world_u64(world, WORLD_DATA + STORE + world->runtime.at.store_first,
		      WORLD_DATA + THREAD + world->runtime.at.thread_next);
	clr_world_u64(world, WORLD_DATA + THREAD + HIJACK, WORLD_CODE + RETURN);
	clr_world_u64(world, WORLD_DATA + THREAD + HIJACK + 8, slot);
	clr_world_method(world, METHOD, 14, 0xaa0, method, 1);
	clr_world_method(world, CALLER, 0x40, 0xbb0, caller, 1);
	clr_world_bytes(world, WORLD_CODE + 0x180, unwind, sizeof(unwind));
	s.image = coreclr_make("net10.json");
	s.snap = fake_snapshot_create();
	(void) fake_snapshot_module(s.snap, SW_MODULE_ANON, "/tmpmap", 0, WORLD_CODE,
				    WORLD_CODE + WORLD_CODE_BYTES, NULL, 0);
	(void) fake_snapshot_module(s.snap, SW_MODULE_PE, "/app/coreclr.dll", BASE, BASE,
				    BASE + PE_LOAD_BYTES, NULL, 0);
	fake_snapshot_range(s.snap, BASE, s.image, PE_LOAD_BYTES);
	fake_snapshot_range(s.snap, WORLD_DATA, world->data, sizeof(world->data));
	fake_snapshot_range(s.snap, WORLD_CODE, world->code, sizeof(world->code));
	struct sw_thread *thread = fake_snapshot_stack(s.snap, 1, pc, stack, n);
	for (unsigned r = 0; r < SW_ARCH_RA; r++)
		if (r != SW_ARCH_SP)
			sw_regs_set(&thread->regs, r, 0x1000 + r);
	fake_snapshot_finish(s.snap);
	s.clr = (struct sw_clr){.snap = s.snap, .source = {.snap = s.snap}, .n_runtimes = 1};
	s.clr.memory = sw_snapshot_memory(&s.clr.source);
	s.clr.runtimes[0] = world->runtime;
	for (size_t i = 0; i < s.snap->n_places; i++)
		if (sw_module_kind(s.snap->places[i].module) == SW_MODULE_PE)
			s.clr.runtimes[0].place = &s.snap->places[i];
	walk_cursor_init(&s.w, s.snap, &s.snap->threads[0], exact_pc);
	memset(&s.ret, 0, sizeof(s.ret));
}

static void scene_end(void)
{
	sw_clr_all_tasks_destroy(s.clr.tasks);
	sw_clr_names_destroy(s.clr.names);
	sw_map64_deinit(&s.clr.by_pc);
	sw_map64_deinit(&s.clr.rules);
	sw_map64_deinit(&s.clr.hijacks);
	sw_map64_deinit(&s.clr.replaced);
	sw_arena_deinit(&s.clr.arena);
	fake_snapshot_destroy(s.snap);
	free(s.image);
}

static void steps_to(uint64_t pc, uint64_t sp)
{
	assert_int_equal(sw_clr_step(&s.clr, &s.w.cursor, &s.ret), SW_STEP_OK);
	assert_int_equal(s.ret.regs.pc_avma, pc);
	assert_int_equal(s.ret.regs.sp_avma, sp);
}

/* Windows' functions leave rsi and rdi as they are, too; those of Unix do not. */
TEST(test_method)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, WORLD_CODE + RETURN};
	for (int windows = 0; windows < 2; windows++) {
		uint64_t value;
		scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, 0);
		s.world.runtime.is_windows = s.clr.runtimes[0].is_windows = windows;
		steps_to(WORLD_CODE + RETURN, SP + 48);
		assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
		assert_int_equal(sw_regs_get(&s.ret.regs, SW_X86_64_RSI, &value), windows);
		assert_int_equal(sw_regs_get(&s.ret.regs, SW_X86_64_RDI, &value), windows);
		scene_end();
	}
}

/* The runtime's own code has tables of its own, as all of Windows' has. */
TEST(test_native)
{
	static const uint64_t stack[] = {WORLD_CODE + RETURN};
	scene_make(BASE + DATA_RVA, true, stack, 1, 0);
	assert_int_equal(sw_clr_step(&s.clr, &s.w.cursor, &s.ret), SW_STEP_DECLINE);
	scene_end();
}

TEST(test_pending)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, TRIP};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, SP + 40);
	steps_to(WORLD_CODE + RETURN, SP + 48);
	scene_end();
}

TEST(test_tripped)
{
	static const uint64_t stack[] = {0,    0,
					 0,    0,
					 0,    0, /* the callee's, xmm0 */
					 0xa,  0xc,
					 0xd1, 0x51,
					 0xb,  0xbb, /* rax ... rbp */
					 0x12, 0x13,
					 0x14, 0x15, /* r12 ... r15 */
					 0xd,  WORLD_CODE + RETURN};
	scene_make(TRIP + 0x25, false, stack, 18, 0);
	steps_to(WORLD_CODE + RETURN, SP + 18 * 8);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RDI), 0xd1);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RSI), 0x51);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBX), 0xb);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
	assert_int_equal(walk_reg(&s.ret.regs, 12), 0x12);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_R15), 0x15);
	scene_end();

	/* Returned to, interrupted before its first push and before it returns. */
	static const uint64_t none[] = {0, 0}, last[] = {WORLD_CODE + RETURN};
	for (unsigned i = 0; i < 2; i++) {
		scene_make(TRIP + 3 * i, i == 1, none, 2, SP - 8);
		steps_to(WORLD_CODE + RETURN, SP);
		assert_true(s.ret.other_stack);
		scene_end();
	}
	scene_make(TRIP + 0x3e, true, last, 1, 0);
	steps_to(WORLD_CODE + RETURN, SP + 8);
	scene_end();
}
