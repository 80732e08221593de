/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/hooks.h"
#include "jit/sources.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "copies/record.h"
#include "elf_make.h"
#include "jit/common/source.h"
#include "jit_case.h"
#include "snapshot/side_file.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk_case.h"
#include "test.h"

#include <dwarf.h>
#include <snapwalk/clock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	BIAS = 0x550000000000,
	ENTRY = 0x1000,
	DATA = 0x4000, /* svma: GDB's descriptor, then libgcc's list */
	JIT = 0x660000000000,
	HEAP = 0x770000000000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	PCREL4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	EXEC = SHF_ALLOC | SHF_EXECINSTR,
};

/* The wire names are the sources' own, in their order, which is that of their hooks. */
TEST(test_names)
{
	const struct sw_unwinder_ops *ops = walk_unwinder("jit");
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		assert_string_equal(ops->sources[i], sw_jit_sources[i]->name);
	assert_int_equal(sw_n_jit_hooks, sw_n_jit_sources);
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		assert_string_equal(sw_jit_hook_table[i]->name, sw_jit_sources[i]->name);
	assert_null(ops->sources[sw_n_jit_sources]);
	assert_null(sw_jit_sources[sw_n_jit_sources]);
}

/* The local variables that lead to both registries. The first code of a thread is at ENTRY. */
static struct sw_snapshot *process(void)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct elf_make *elf = malloc(sizeof(*elf));
	assert_non_null(elf);
	struct eh_make eh = {.avma = 0x3000};
	elf_make_init(elf);
	size_t cie = eh_make_cie(&eh, PCREL4);
	(void) eh_make_fde(&eh, cie, PCREL4, ENTRY, 0x40, EH_ROWS(DW_CFA_undefined, 16));
	eh_make_end(&eh);
	elf_make_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.avma, eh.bytes, eh.size);
	uint16_t data = (uint16_t) elf_make_section(elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE,
						    DATA, NULL, 0x100);
	elf_make_symbol(elf, "__jit_debug_descriptor", STB_LOCAL, STT_OBJECT, data, DATA, 24);
	elf_make_symbol(elf, "unseen_objects", STB_LOCAL, STT_OBJECT, data, DATA + 24, 8);
	elf_make_symtab(elf, SHT_SYMTAB);
	elf_make_finish(elf);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/jit", BIAS, BIAS, BIAS + 0x3000,
				    elf->bytes, elf->size);
	free(elf);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	return snap;
}

/* [JIT, JIT + 0x40) with a frame of gdb bytes, says one, and of libgcc bytes, says the other; 0: it
 * is not published there. */
static void publish(struct sw_snapshot *snap, uint8_t gdb, uint8_t libgcc)
{
	struct elf_make *elf = malloc(sizeof(*elf));
	struct eh_make eh = {.avma = JIT + 0x1000}, other = {.avma = HEAP + 0x8000};
	assert_non_null(elf);
	elf_make_init(elf);
	size_t cie = eh_make_cie(&eh, PCREL4);
	(void) eh_make_fde(&eh, cie, PCREL4, JIT, 0x40, EH_ROWS(0x0e, gdb));
	elf_make_section(elf, ".text", SHT_NOBITS, EXEC, JIT, NULL, 0x40);
	elf_make_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.avma, eh.bytes, eh.size);
	elf_make_finish(elf);
	cie = eh_make_cie(&other, DW_EH_PE_absptr);
	(void) eh_make_fde(&other, cie, DW_EH_PE_absptr, JIT, 0x40, EH_ROWS(0x0e, libgcc));
	eh_make_end(&other);
	const uint64_t data[] = {1, 0, gdb != 0 ? HEAP : 0, libgcc != 0 ? HEAP + 32 : 0};
	const uint64_t heap[] = {0,
				 0,
				 HEAP + 0x1000,
				 elf->size, /* GDB's entry */
				 ~0,
				 0,
				 0,
				 HEAP + 0x8000 /* libgcc's object */,
				 0,
				 0};
	fake_snapshot_range(snap, BIAS + DATA, data, sizeof(data));
	fake_snapshot_range(snap, HEAP, heap, sizeof(heap));
	fake_snapshot_range(snap, HEAP + 0x1000, elf->bytes, elf->size);
	fake_snapshot_range(snap, HEAP + 0x8000, other.bytes, other.size);
	free(elf);
}

/* The return address is in the fourth word, data elsewhere. */
static const uint64_t stack[] = {0, 0x66, 7, BIAS + ENTRY + 0x10, 8, 9, 10, 0};

/* The source that found the way to the first code; NULL: none. */
static void found_by(uint8_t gdb, uint8_t libgcc, const char *by, const char *why)
{
	struct sw_snapshot *snap = process();
	static const struct sw_walk_options tables = {.mode = SW_WALK_TABLES};
	publish(snap, gdb, libgcc);
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	if (by != NULL)
		walk_is(snap, &tables,
			FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {BIAS + ENTRY + 0x10, SP + 32, by, "jit", 0}),
			SW_END_COMPLETE, NULL);
	else
		walk_is(snap, &tables,
			FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC}),
			why == NULL ? SW_END_NO_UNWIND_INFO : SW_END_BAD_UNWIND_INFO,
			why != NULL ? why : "code that belongs to no module");
}

TEST(test_order)
{
	found_by(32, 32, "jit-gdb", NULL);
	found_by(0, 32, "jit-libgcc", NULL);
	/* The rule of the better source leads nowhere: it is stale, or wrong. */
	found_by(24, 32, "jit-libgcc", NULL);
	found_by(32, 24, "jit-gdb", NULL);
	found_by(24, 24, NULL, "the generated code's tables lead nowhere");
	found_by(0, 0, NULL, NULL);
}

TEST(test_explained)
{
	struct sw_snapshot *snap = process();
	publish(snap, 32, 24);
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	fake_snapshot_finish(snap);
	char *text;
	assert_int_equal(sw_explain(snap, JIT + 0x10, &text, NULL), 0);
	assert_non_null(strstr(text, "jit: jit-gdb: [0x660000000000, 0x660000000040), symfile's "
				     ".eh_frame\njit: rule: CFA = rsp+32, ra = [CFA-8]\n"));
	assert_non_null(strstr(text,
			       "jit: jit-libgcc: [0x660000000000, 0x660000000040), registered "
			       ".eh_frame\njit: rule: CFA = rsp+24, ra = [CFA-8]\n"));
	free(text);
	fake_snapshot_destroy(snap);
}

/* ---- beside copies of events ------------------------------------------------------------------ */

enum { ANOTHER = HEAP + 0x20000 };

struct events {
	struct sw_snapshot *snap;
	struct sw_slots kept;
	struct sw_copy copy;
	uint64_t *descriptor; /* the snapshot's memory */
};

static uint64_t *range_words(struct sw_snapshot *snap, uint64_t avma)
{
	for (size_t i = 0; i < snap->n_ranges; i++)
		if (snap->ranges[i].start_avma == avma)
			return (uint64_t *) (uintptr_t) snap->ranges[i].data;
	fail();
	return NULL;
}

static struct events *events_create(void)
{
	struct events *e = calloc(1, sizeof(*e));
	assert_non_null(e);
	e->snap = process();
	publish(e->snap, 32, 0);
	const uint64_t *heap = range_words(e->snap, HEAP);
	/* Another entry, for the same table. */
	fake_snapshot_range(e->snap, ANOTHER, heap, 4 * sizeof(*heap));
	(void) fake_snapshot_stack(e->snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	fake_snapshot_finish(e->snap);
	e->descriptor = range_words(e->snap, BIAS + DATA);
	e->snap->threads[0].copy = &e->copy;
	e->snap->priv->by_copies = true;
	e->snap->priv->kept = &e->kept;
	return e;
}

static void events_destroy(struct events *e)
{
	sw_slots_deinit(&e->kept);
	fake_snapshot_destroy(e->snap);
	free(e);
}

/* The trust of the frame that the table leads to, at an event at that time; -1: it leads nowhere. *ret_owned: the code is known. */
static int at_event(struct events *e, int64_t time_ns, bool *ret_owned)
{
	static const struct sw_walk_options tables = {.mode = SW_WALK_TABLES};
	struct sw_walks *walks;
	e->copy.head.time_ns = (uint64_t) time_ns;
	assert_true(sw_active_renew(&e->kept));
	assert_int_equal(sw_walk_all(e->snap, &tables, &walks, NULL), 0);
	const struct sw_walk *walk = &walks->walks[0];
	*ret_owned = walk->frames[0].owner != 0;
	int trust = walk->n_frames > 1 ? walk->frames[1].trust : -1;
	sw_walks_destroy(walks);
	return trust;
}

/* The time of an event now, so long after the last reading that there may be another one. */
static int64_t now_ns(void)
{
	const int64_t until_ns = sw_clock_ns() + INT64_C(100000000);
	while (sw_clock_ns() < until_ns)
		(void) usleep(1000); /* or less, where a signal comes */
	return sw_clock_ns();
}

/* A table counts that was there before the event and is there after it; what nobody has looked at since is a guess. */
TEST(test_of_events)
{
	struct events *e = events_create();
	bool owned;
	assert_int_equal(at_event(e, now_ns(), &owned), -1); /* it may have come after the event */
	assert_false(owned);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(at_event(e, now_ns(), &owned), SW_TRUST_JIT);
		assert_true(owned);
	}
	assert_int_equal(at_event(e, now_ns() - 60 * INT64_C(1000000000), &owned), -1);
	assert_false(owned);
	e->descriptor[2] = ANOTHER;
	assert_int_equal(at_event(e, now_ns(), &owned), -1);
	assert_false(owned);
	assert_int_equal(at_event(e, now_ns(), &owned), SW_TRUST_JIT);
	assert_true(owned);
	assert_int_equal(at_event(e, now_ns() + 60 * INT64_C(1000000000), &owned),
			 SW_TRUST_FRAME_POINTER);
	assert_false(owned);
	e->descriptor[2] = 0;
	assert_int_equal(at_event(e, now_ns(), &owned), -1);
	events_destroy(e);
}

/* The name of the code at an event at that time; "" for none. */
static void event_name_is(struct events *e, int64_t time_ns, const char *name)
{
	struct sw_walks *walks;
	e->copy.head.time_ns = (uint64_t) time_ns;
	assert_true(sw_active_renew(&e->kept));
	assert_int_equal(sw_walk_all(e->snap, NULL, &walks, NULL), 0);
	const struct sw_frame *frame = &walks->walks[0].frames[0];
	struct sw_description is = {0};
	assert_int_equal(frame->owner != 0, name[0] != '\0');
	if (frame->owner != 0)
		assert_int_equal(sw_walk_describe(walks, frame, &is), 1);
	assert_string_equal(is.function, name);
	sw_walks_destroy(walks);
}

static void append(int fd, const char *line)
{
	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
}

/* A name of a perf map counts that was there before the event, and is the newest after it. */
TEST(test_perf_map_of_events)
{
	struct events *e = events_create();
	e->descriptor[2] = 0; /* nobody else has the code */
	char path[] = "/tmp/snapwalk-map-XXXXXX";
	int fd = mkstemp(path), kept_fd = dup(fd);
	assert_true(kept_fd >= 0);
	append(fd, "660000000000 40 first\n");
	assert_int_equal(sw_side_file_keep(e->snap, "perf-map", kept_fd), 0);
	event_name_is(e, now_ns(), ""); /* it may have come after the event */
	event_name_is(e, now_ns(), "first");
	event_name_is(e, now_ns(), "first");
	append(fd, "660000000000 40 second\n");
	event_name_is(e, now_ns(), ""); /* one of both */
	event_name_is(e, now_ns(), "second");
	append(fd, "660000000040 40 next\n");
	event_name_is(e, now_ns(), "second");
	event_name_is(e, now_ns() + 60 * INT64_C(1000000000), ""); /* nobody has looked since */
	(void) close(fd);                                          /* a memfd */
	events_destroy(e);
}

/* Where the source that has the table has no name, another one gives it. */
TEST(test_perf_map_beside_table)
{
	struct events *e = events_create();
	char path[] = "/tmp/snapwalk-map-XXXXXX";
	int fd = mkstemp(path);
	append(fd, "660000000000 40 named\n");
	assert_int_equal(sw_side_file_keep(e->snap, "perf-map", fd), 0);
	event_name_is(e, now_ns(), "");
	event_name_is(e, now_ns(), "named");
	(void) unlink(path); /* it is there */
	events_destroy(e);
}

/* The file may be a copy, which does not grow: nobody knows what its lines are worth now. */
TEST(test_copied_perf_map_of_events)
{
	struct events *e = events_create();
	e->descriptor[2] = 0;
	int fd = memfd_create("map", MFD_CLOEXEC);
	append(fd, "660000000000 40 named\n");
	assert_int_equal(sw_side_file_keep(e->snap, "perf-map", fd), 0);
	event_name_is(e, now_ns(), "");
	event_name_is(e, now_ns(), "");
	events_destroy(e);
}
