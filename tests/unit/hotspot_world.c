/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hotspot_world.h"
#include "runtimes/hotspot/locks.h"

#include <string.h>

enum {
	STRINGS = WORLD + 0x400,
	CONST_OUTER = WORLD + 0x500,
	CONST_INNER = WORLD + 0x580,
	POOL = WORLD + 0x600,
	KLASS = WORLD + 0x700,
	SYMBOLS = WORLD + 0x800,
};

void hotspot_world_put(struct hotspot_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->data + (avma - WORLD), bytes, n);
}

void hotspot_world_u64(struct hotspot_world *w, uint64_t avma, uint64_t value)
{
	hotspot_world_put(w, avma, &value, sizeof(value));
}

void hotspot_world_u32(struct hotspot_world *w, uint64_t avma, uint32_t value)
{
	hotspot_world_put(w, avma, &value, sizeof(value));
}

static void put_u16(struct hotspot_world *w, uint64_t avma, uint16_t value)
{
	hotspot_world_put(w, avma, &value, sizeof(value));
}

/* A symbol, which is entry index of the constant pool. */
static void symbol_put(struct hotspot_world *w, unsigned index, const char *text)
{
	uint64_t avma = SYMBOLS + 0x40 * index;
	put_u16(w, avma + 4, (uint16_t) strlen(text));
	hotspot_world_put(w, avma + 6, text, strlen(text));
	hotspot_world_u64(w, POOL + 0x40 + UINT64_C(8) * index, avma);
}

static void method_put(struct hotspot_world *w, uint64_t method, uint64_t constant, unsigned name)
{
	/* bci 0 line 10, bci 4 line 12, as short rows; then the end. */
	static const uint8_t lines[] = {0 << 3 | 7, 0 << 3 | 3, 4 << 3 | 2, 0};
	hotspot_world_u64(w, method + 8, constant);
	hotspot_world_u64(w, constant + 8, POOL);
	put_u16(w, constant + 28, 1);
	put_u16(w, constant + 32, 8);
	put_u16(w, constant + 34, (uint16_t) name);
	put_u16(w, constant + 36, 4);
	hotspot_world_put(w, constant + 48 + 8, lines, sizeof(lines));
}

static void layout_make(struct sw_hotspot_layout *at)
{
	memset(at, 0xff, sizeof(*at));
	at->block_bytes = 16;
	at->block_used = 8;
	at->nmethod_bytes = 0x100;
	at->blob_name = 0;
	at->blob_size = 8;
	at->blob_frame_size = 12;
	at->blob_frame_complete = 16;
	at->blob_code_begin = 24;
	at->blob_code_end = 32;
	at->nmethod_method = 40;
	at->nmethod_level = 48;
	at->nmethod_compile_id = 52;
	at->nmethod_orig_pc = 56;
	at->nmethod_pcs = 60;
	at->nmethod_dependencies = 64;
	at->nmethod_scopes_begin = 72;
	at->nmethod_metadata = 80;
	at->nmethod_deopt_begin = 88;
	at->method_const = 8;
	at->const_constants = 8;
	at->const_flags = 28;
	at->const_code_size = 32;
	at->const_name = 34;
	at->const_signature = 36;
	at->const_bytes = 48;
	at->pool_bytes = 0x40;
	at->pool_holder = 24;
	at->pool_source = 54;
	at->klass_name = 24;
	at->symbol_length = 4;
	at->symbol_body = 6;
	at->line_table_flag = 1;
}

static void compiled_put(struct hotspot_world *w)
{
	/* Sender's offset, index of the method, bci + 1. At 4: outer at 1; at 7: inner at 4 in it. */
	static const uint8_t scopes[] = {0, 0, 0, 0, 0, 1, 2, 4, 2, 5};
	static const uint32_t pcs[] = {UINT32_MAX, 0, 0, 0, 0x40,       7, 0, 0,
				       0x60,       4, 0, 0, 0x7fffffff, 0, 0, 0};
	hotspot_world_put(w, STRINGS, "nmethod", 8);
	hotspot_world_put(w, WORLD_BLOCK + 8, "\1", 1);
	hotspot_world_u64(w, WORLD_BLOB, STRINGS);
	hotspot_world_u32(w, WORLD_BLOB + 8, 0xf00);
	hotspot_world_u32(w, WORLD_BLOB + 12, WORLD_FRAME_WORDS);
	hotspot_world_u32(w, WORLD_BLOB + 16, 0x10);
	hotspot_world_u64(w, WORLD_BLOB + 24, WORLD_CODE);
	hotspot_world_u64(w, WORLD_BLOB + 32, WORLD_CODE + 0x200);
	hotspot_world_u64(w, WORLD_BLOB + 40, WORLD_OUTER);
	hotspot_world_u32(w, WORLD_BLOB + 48, 4);
	hotspot_world_u32(w, WORLD_BLOB + 52, 99);
	hotspot_world_u32(w, WORLD_BLOB + 60, 0x600);
	hotspot_world_u32(w, WORLD_BLOB + 64, 0x600 + sizeof(pcs));
	hotspot_world_u64(w, WORLD_BLOB + 72, WORLD_BLOB + 0x500);
	hotspot_world_u32(w, WORLD_BLOB + 80, 0x400);
	hotspot_world_put(w, WORLD_BLOB + 0x500, scopes, sizeof(scopes));
	hotspot_world_put(w, WORLD_BLOB + 0x600, pcs, sizeof(pcs));
	hotspot_world_u64(w, WORLD_BLOB + 0x400, WORLD_OUTER);
	hotspot_world_u64(w, WORLD_BLOB + 0x408, WORLD_INNER);
}

void hotspot_world_init(struct hotspot_world *w)
{
	*w = (struct hotspot_world){0};
	w->region = (struct fake_region){WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	layout_make(&w->h.at);
	w->h.snap = &w->snap;
	w->h.memory = fake_memory(&w->fake);
	w->h.usable = true;
	w->h.version = 17;
	w->h.cache = (struct sw_hotspot_cache){
		.heaps = {{WORLD_HEAP, WORLD_HEAP_END, WORLD_SEGMAP, 7}},
		.n_heaps = 1,
		.low_avma = WORLD_HEAP,
		.high_avma = WORLD_HEAP_END,
	};
	memset(w->data + (WORLD_SEGMAP - WORLD), 0xff, 0x60);
	for (unsigned i = 0; i < 32; i++)
		w->data[WORLD_SEGMAP - WORLD + i] = (uint8_t) i;
	hotspot_world_u64(w, POOL + 24, KLASS);
	put_u16(w, POOL + 54, 5);
	symbol_put(w, 1, "p/A");
	symbol_put(w, 2, "outer");
	symbol_put(w, 3, "inner");
	symbol_put(w, 4, "(J)J");
	symbol_put(w, 5, "A.java");
	hotspot_world_u64(w, KLASS + 24, SYMBOLS + 0x40);
	method_put(w, WORLD_OUTER, CONST_OUTER, 2);
	method_put(w, WORLD_INNER, CONST_INNER, 3);
	compiled_put(w);
}

void hotspot_world_native(struct hotspot_world *w)
{
	hotspot_world_put(w, STRINGS, "native nmethod", 15);
}

void hotspot_world_stub(struct hotspot_world *w)
{
	hotspot_world_put(w, STRINGS, "C1 Runtime handle_exception_nofpu_blob", 39);
}

void hotspot_world_routines(struct hotspot_world *w)
{
	hotspot_world_put(w, STRINGS, "StubRoutines (finalstubs)", 26);
	hotspot_world_u32(w, WORLD_BLOB + 12, 0);
}

/* A blob of its own behind the compiled method, with one codelet; and the queue that leads to it. */
uint64_t hotspot_world_interpreter(struct hotspot_world *w, const void *code, size_t n)
{
	enum {
		BLOCK = WORLD_HEAP + 0x1000,
		BLOB = BLOCK + 16,
		CODELET = BLOB + 0x100,
		QUEUE = WORLD + 0xc00,
		HEADER = 16,
	};
	struct sw_hotspot_layout *at = &w->h.at;
	for (unsigned i = 0; i < 32; i++)
		w->data[WORLD_SEGMAP - WORLD + 32 + i] = (uint8_t) i;
	hotspot_world_put(w, STRINGS + 0x40, "Interpreter", 12);
	hotspot_world_put(w, STRINGS + 0x80, "method entry point (kind = zerolocals)", 39);
	hotspot_world_put(w, BLOCK + 8, "\1", 1);
	hotspot_world_u64(w, BLOB, STRINGS + 0x40);
	hotspot_world_u32(w, BLOB + 8, 0xf00);
	hotspot_world_u64(w, BLOB + 24, CODELET);
	hotspot_world_u64(w, BLOB + 32, CODELET + 0x200);
	at->interpreter = QUEUE;
	at->queue_buffer = 8;
	at->queue_end = 16;
	at->codelet_size = 0;
	at->codelet_description = 8;
	hotspot_world_u64(w, QUEUE, QUEUE + 8);
	hotspot_world_u64(w, QUEUE + 16, CODELET);
	hotspot_world_u32(w, QUEUE + 24, 0x100);
	hotspot_world_u32(w, CODELET, 0x100);
	hotspot_world_u64(w, CODELET + 8, STRINGS + 0x80);
	hotspot_world_put(w, CODELET + HEADER, code, n);
	w->h.place = &w->place;
	return CODELET + HEADER;
}

/* A class with a name and fields: six u2 each of flags, name, signature, value, offset << 2. */
static void class_put(struct hotspot_world *w, uint64_t klass, const char *name,
		      const uint16_t (*fields)[6], unsigned n)
{
	uint64_t symbol = klass + 0x60, array = klass + 0xa0;
	put_u16(w, symbol + 4, (uint16_t) strlen(name));
	hotspot_world_put(w, symbol + 6, name, strlen(name));
	hotspot_world_u64(w, klass + 24, symbol);
	hotspot_world_u64(w, klass + 40, POOL);
	hotspot_world_u64(w, klass + 48, array);
	hotspot_world_u32(w, array, 6 * n);
	if (n > 0)
		hotspot_world_put(w, array + 4, fields, n * sizeof(*fields));
}

void hotspot_world_thread(struct hotspot_world *w)
{
	enum { LIST = WORLD_THREADS + 0x10, HANDLE = WORLD_THREADS + 0x80 };
	static const uint16_t own[][6] = {{0, 6, 7, 0, 24 << 2 | 1},
					  {0, 8, 9, 0, 16 << 2 | 1},
					  {0, 10, 11, 0, 28 << 2 | 1}};
	static const uint16_t string[][6] = {{0, 12, 13, 0, 12 << 2 | 1},
					     {0, 14, 15, 0, 16 << 2 | 1}};
	struct sw_hotspot_layout *at = &w->h.at;
	static const char *const symbols[] = {"name",   "Ljava/lang/String;",
					      "eetop",  "J",
					      "daemon", "Z",
					      "value",  "[B",
					      "coder",  "B"};
	for (unsigned i = 0; i < 10; i++)
		symbol_put(w, 6 + i, symbols[i]);
	at->thread_list = WORLD_THREADS;
	at->list_length = 0;
	at->list_threads = 8;
	at->thread_stack_base = 0;
	at->thread_stack_size = 8;
	at->thread_state = 16;
	at->state_native = 4;
	at->thread_object = 24;
	at->klass_super = 32;
	at->klass_constants = 40;
	at->klass_fields = 48;
	at->array_u2_data = 4;
	w->h.place = &w->place;
	hotspot_world_u64(w, WORLD_THREADS, LIST);
	hotspot_world_u32(w, LIST, 1);
	hotspot_world_u64(w, LIST + 8, LIST + 0x20);
	hotspot_world_u64(w, LIST + 0x20, WORLD_THREAD);
	hotspot_world_u64(w, WORLD_THREAD, 0x9000);
	hotspot_world_u64(w, WORLD_THREAD + 8, 0x1000);
	hotspot_world_u32(w, WORLD_THREAD + 16, 4);
	hotspot_world_u64(w, WORLD_THREAD + 24, HANDLE);
	hotspot_world_u64(w, HANDLE, WORLD_THREAD_OBJECT);
	hotspot_world_u32(w, WORLD_THREAD_OBJECT + 8, WORLD_THREAD_CLASS);
	hotspot_world_u64(w, WORLD_THREAD_OBJECT + 16, WORLD_THREAD);
	hotspot_world_u32(w, WORLD_THREAD_OBJECT + 24, WORLD_STRING);
	hotspot_world_put(w, WORLD_THREAD_OBJECT + 28, "\1", 1);
	hotspot_world_u32(w, WORLD_STRING + 8, WORLD_STRING_CLASS);
	hotspot_world_u32(w, WORLD_STRING + 12, WORLD_STRING_BYTES);
	hotspot_world_u32(w, WORLD_STRING_BYTES + 12, 8);
	hotspot_world_put(w, WORLD_STRING_BYTES + 16, "worker-\xfc", 8);
	class_put(w, WORLD_THREAD_CLASS, "java/lang/Thread", own, 3);
	class_put(w, WORLD_STRING_CLASS, "java/lang/String", string, 2);
}

void hotspot_world_chain(struct hotspot_world *w)
{
	struct sw_hotspot_layout *at = &w->h.at;
	at->first_thread = at->thread_list;
	at->thread_next = WORLD_THREAD_NEXT;
	at->thread_list = SW_HOTSPOT_NONE;
	hotspot_world_u64(w, WORLD_THREADS, WORLD_OTHER);
	hotspot_world_u64(w, WORLD_OTHER + WORLD_THREAD_NEXT, WORLD_THREAD);
	hotspot_world_u64(w, WORLD_THREAD + WORLD_THREAD_NEXT, 0);
}

void hotspot_world_virtual(struct hotspot_world *w)
{
	enum { HANDLE = WORLD_THREADS + 0x88 };
	static const uint16_t mounted[][6] = {{0, 17, 18, 0, 12 << 2 | 1}};
	hotspot_world_thread(w);
	symbol_put(w, 17, "carrierThread");
	symbol_put(w, 18, "Ljava/lang/Thread;");
	class_put(w, WORLD_SYNC_CLASS, "java/lang/VirtualThread", mounted, 1);
	w->h.at.thread_virtual = 32;
	hotspot_world_u64(w, WORLD_THREAD + 32, HANDLE);
	hotspot_world_u64(w, HANDLE, WORLD_OTHER_OBJECT);
	hotspot_world_u32(w, WORLD_OTHER_OBJECT + 8, WORLD_SYNC_CLASS);
	hotspot_world_u32(w, WORLD_OTHER_OBJECT + 12, WORLD_THREAD_OBJECT);
}

void hotspot_world_class(struct hotspot_world *w, uint64_t klass, uint64_t super, const char *name,
			 const struct hotspot_world_field *fields, unsigned n)
{
	enum { OWN_POOL = 0x100, OWN_SYMBOLS = 0x180 };
	class_put(w, klass, name, NULL, 0);
	hotspot_world_u64(w, klass + 32, super);
	hotspot_world_u64(w, klass + 40, klass + OWN_POOL);
	hotspot_world_u32(w, klass + 0xa0, 6 * n);
	for (unsigned i = 0; i < n; i++) {
		const char *const texts[] = {fields[i].name, fields[i].signature};
		uint64_t slots = klass + 0xa4 + UINT64_C(12) * i;
		put_u16(w, slots + 8, (uint16_t) (fields[i].offset << 2 | 1));
		for (unsigned k = 0; k < 2; k++) {
			unsigned index = 1 + 2 * i + k;
			uint64_t symbol = klass + OWN_SYMBOLS + UINT64_C(0x40) * index;
			put_u16(w, slots + 2 + UINT64_C(2) * k, (uint16_t) index);
			put_u16(w, symbol + 4, (uint16_t) strlen(texts[k]));
			hotspot_world_put(w, symbol + 6, texts[k], strlen(texts[k]));
			hotspot_world_u64(w, klass + OWN_POOL + 0x40 + UINT64_C(8) * index, symbol);
		}
	}
}

void hotspot_world_object(struct hotspot_world *w, uint64_t avma, uint64_t klass)
{
	hotspot_world_u64(w, avma, 1); /* not locked */
	hotspot_world_u32(w, avma + 8, (uint32_t) klass);
}

void hotspot_world_locks(struct hotspot_world *w)
{
	enum { LIST = WORLD_THREADS + 0x10, HANDLES = WORLD_THREADS + 0x7e0 };
	static const uint16_t thread[][6] = {{0, 6, 7, 0, 24 << 2 | 1},
					     {0, 8, 9, 0, 16 << 2 | 1},
					     {0, 10, 11, 0, 28 << 2 | 1},
					     {0, 19, 20, 0, 32 << 2 | 1},
					     {0, 21, 22, 0, 36 << 2 | 1}};
	static const uint16_t owner[][6] = {{0, 17, 18, 0, 12 << 2 | 1}};
	static const char *const symbols[] = {"exclusiveOwnerThread", "Ljava/lang/Thread;",
					      "parkBlocker",          "Ljava/lang/Object;",
					      "threadStatus",         "I"};
	struct sw_hotspot_layout *at = &w->h.at;
	hotspot_world_thread(w);
	for (unsigned i = 0; i < 6; i++)
		symbol_put(w, 17 + i, symbols[i]);
	at->state_blocked = 10;
	at->thread_pending = 32;
	at->thread_waiting = 40;
	at->thread_lock_stack = 56;
	at->lock_stack_top = 0;
	at->lock_stack_base = 8;
	at->monitor_owner = 0;
	at->monitor_object = 8;
	at->monitor_stack_locker = 16;
	at->collected_heap = WORLD_COLLECTOR;
	at->heap_gc_active = 0;
	class_put(w, WORLD_THREAD_CLASS, "java/lang/Thread", thread, 5);
	class_put(w, WORLD_LOCK_CLASS, "p/Lock", NULL, 0);
	class_put(w, WORLD_SYNC_CLASS, "java/util/concurrent/locks/L$Sync", NULL, 0);
	class_put(w, WORLD_OWNABLE_CLASS, "java/util/concurrent/locks/AbstractOwnableSynchronizer",
		  owner, 1);
	hotspot_world_u64(w, WORLD_SYNC_CLASS + 32, WORLD_OWNABLE_CLASS);
	hotspot_world_u32(w, LIST, 2);
	hotspot_world_u64(w, LIST + 0x28, WORLD_OTHER);
	hotspot_world_u64(w, WORLD_OTHER, 0xb000);
	hotspot_world_u64(w, WORLD_OTHER + 8, 0x1000);
	hotspot_world_u64(w, WORLD_OTHER + 24, HANDLES);
	hotspot_world_u64(w, HANDLES, WORLD_OTHER_OBJECT);
	hotspot_world_u32(w, WORLD_THREAD + 16, 10);
	hotspot_world_u32(w, WORLD_OTHER + 16, 10);
	hotspot_world_u32(w, WORLD_THREAD + 56, 64); /* top of empty ones */
	hotspot_world_u32(w, WORLD_OTHER + 56, 64);
	hotspot_world_u64(w, WORLD_THREAD_OBJECT, 1);
	hotspot_world_object(w, WORLD_OTHER_OBJECT, WORLD_THREAD_CLASS);
	hotspot_world_u64(w, WORLD_OTHER_OBJECT + 16, WORLD_OTHER);
	hotspot_world_object(w, WORLD_LOCK, WORLD_LOCK_CLASS);
	hotspot_world_object(w, WORLD_SYNC, WORLD_SYNC_CLASS);
	hotspot_world_u32(w, WORLD_SYNC + 12, WORLD_OTHER_OBJECT);
	hotspot_world_u64(w, WORLD_MONITOR + 8, HANDLES + 8);
	hotspot_world_u64(w, HANDLES + 8, WORLD_LOCK);
	hotspot_world_u64(w, WORLD_COLLECTOR, WORLD_COLLECTOR + 8);
	w->h.instant = w->h.memory;
	for (unsigned i = 0; i < 2; i++)
		w->threads[i] = (struct sw_thread){.tid = 100 + (pid_t) i,
						   .captured = true,
						   .captured_by = SW_CAPTURED_CORE,
						   .comm = "worker-\xc3\xbc",
						   .state = 'S',
						   .regs.sp_avma = 0x8100 + 0x2000 * i};
	w->snap.threads = w->threads;
	w->snap.n_threads = 2;
}

#define JUC "java/util/concurrent/"

void hotspot_world_pool(struct hotspot_world *w)
{
	static const struct hotspot_world_field thread[] = {{"name", "Ljava/lang/String;", 24},
							    {"eetop", "J", 16},
							    {"target", "Ljava/lang/Runnable;", 32}};
	static const struct hotspot_world_field worker[] = {
		{"this$0", "L" JUC "ThreadPoolExecutor;", 12}};
	static const struct hotspot_world_field executor[] = {{"ctl",
							       "L" JUC "atomic/AtomicInteger;", 12},
							      {"corePoolSize", "I", 16},
							      {"maximumPoolSize", "I", 20},
							      {"workQueue",
							       "L" JUC "BlockingQueue;", 24}};
	static const struct hotspot_world_field integer[] = {{"value", "I", 12}};
	static const struct hotspot_world_field queue[] = {{"count",
							    "L" JUC "atomic/AtomicInteger;", 12},
							   {"capacity", "I", 16}};
	static const struct {
		uint64_t avma;
		uint32_t value;
	} fields[] = {
		{WORLD_THREAD_OBJECT + 32, WORLD_WORKER},
		{WORLD_WORKER + 12, WORLD_EXECUTOR},
		{WORLD_EXECUTOR + 12, WORLD_CTL},
		{WORLD_EXECUTOR + 16, 2},
		{WORLD_EXECUTOR + 20, 4},
		{WORLD_EXECUTOR + 24, WORLD_QUEUE},
		{WORLD_CTL + 12, UINT32_C(7) << 29 | 2},
		{WORLD_QUEUE + 12, WORLD_COUNT},
		{WORLD_QUEUE + 16, INT32_MAX},
		{WORLD_COUNT + 12, 7},
	};
	hotspot_world_class(w, WORLD_POOL_THREAD_CLASS, 0, "java/lang/Thread", thread, 3);
	hotspot_world_class(w, WORLD_WORKER_CLASS, 0, JUC "ThreadPoolExecutor$Worker", worker, 1);
	hotspot_world_class(w, WORLD_EXECUTOR_CLASS, 0, JUC "ThreadPoolExecutor", executor, 4);
	hotspot_world_class(w, WORLD_INTEGER_CLASS, 0, JUC "atomic/AtomicInteger", integer, 1);
	hotspot_world_class(w, WORLD_QUEUE_CLASS, 0, JUC "LinkedBlockingQueue", queue, 2);
	hotspot_world_object(w, WORLD_THREAD_OBJECT, WORLD_POOL_THREAD_CLASS);
	hotspot_world_object(w, WORLD_WORKER, WORLD_WORKER_CLASS);
	hotspot_world_object(w, WORLD_EXECUTOR, WORLD_EXECUTOR_CLASS);
	hotspot_world_object(w, WORLD_CTL, WORLD_INTEGER_CLASS);
	hotspot_world_object(w, WORLD_COUNT, WORLD_INTEGER_CLASS);
	hotspot_world_object(w, WORLD_QUEUE, WORLD_QUEUE_CLASS);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		hotspot_world_u32(w, fields[i].avma, fields[i].value);
}

void hotspot_world_chunk_word(struct hotspot_world *w, uint64_t chunk, unsigned index,
			      uint64_t value)
{
	hotspot_world_u64(w, chunk + WORLD_CHUNK_HEAD + UINT64_C(8) * index, value);
}

void hotspot_world_chunk_head(struct hotspot_world *w, uint64_t chunk, uint32_t sp, uint32_t bottom,
			      uint64_t parent)
{
	hotspot_world_object(w, chunk, WORLD_CHUNK_CLASS);
	hotspot_world_u32(w, chunk + 12, sp);
	hotspot_world_u32(w, chunk + 16, bottom);
	hotspot_world_u32(w, chunk + 20, WORLD_CHUNK_WORDS);
	hotspot_world_u32(w, chunk + 24, (uint32_t) parent);
}

void hotspot_world_chunk(struct hotspot_world *w, uint64_t interpreter)
{
	enum { LAYOUT = 56 /* offset in a class */ };
	static const struct hotspot_world_field thread[] = {
		{"cont", "Ljdk/internal/vm/Continuation;", 12}};
	static const struct hotspot_world_field continuation[] = {
		{"tail", "Ljdk/internal/vm/StackChunk;", 12}};
	static const struct hotspot_world_field chunk[] = {{"sp", "I", 12},
							   {"bottom", "I", 16},
							   {"size", "I", 20},
							   {"parent",
							    "Ljdk/internal/vm/StackChunk;", 24}};
	const struct {
		unsigned index;
		uint64_t value;
	} words[] = {{3, WORLD_CALL}, {6, 12},           {7, interpreter}, {10, 0x1234},
		     {11, 3},         {15, WORLD_INNER}, {17, 4},          {19, WORLD_CALL + 4}};
	w->h.at.klass_layout = LAYOUT;
	hotspot_world_class(w, WORLD_VIRTUAL_CLASS, 0, "java/lang/VirtualThread", thread, 1);
	hotspot_world_class(w, WORLD_CONTINUATION_CLASS, 0, "jdk/internal/vm/Continuation",
			    continuation, 1);
	hotspot_world_class(w, WORLD_CHUNK_CLASS, 0, "jdk/internal/vm/StackChunk", chunk, 4);
	hotspot_world_u32(w, WORLD_CHUNK_CLASS + LAYOUT, WORLD_CHUNK_HEAD + 1);
	hotspot_world_object(w, WORLD_VIRTUAL, WORLD_VIRTUAL_CLASS);
	hotspot_world_object(w, WORLD_CONTINUATION, WORLD_CONTINUATION_CLASS);
	hotspot_world_u32(w, WORLD_VIRTUAL + 12, WORLD_CONTINUATION);
	hotspot_world_u32(w, WORLD_CONTINUATION + 12, WORLD_CHUNK);
	hotspot_world_chunk_head(w, WORLD_CHUNK, 4, 26, 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hotspot_world_chunk_word(w, WORLD_CHUNK, words[i].index, words[i].value);
}

void hotspot_world_deinit(struct hotspot_world *w)
{
	sw_map64_deinit(&w->h.blobs);
	sw_map64_deinit(&w->h.by_pc);
	sw_map64_deinit(&w->h.takes);
	sw_map64_deinit(&w->h.told);
	sw_map64_deinit(&w->h.methods);
	sw_map64_deinit(&w->h.interpreted);
	sw_hotspot_locks_destroy(&w->h);
	sw_map64_deinit(&w->h.pool_kinds);
	sw_map64_deinit(&w->h.pool_rows);
	sw_arena_deinit(&w->h.arena);
	free(w->h.frames);
	free(w->h.threads);
}
