/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Proofs that a copy had what is read later. The counters are this process's own memory. */
#include "runtimes/hotspot/structures/copies.h"
#include "runtimes/hotspot/structures/sweeper.h"
#include "test.h"

#include <snapwalk/clock.h>

static uint64_t counters[2][3]; /* how many have ended, when the last one began and ended */

struct vm {
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_hotspot hotspot;
};

/* A copy that was made now, when so many collections had begun. */
static void begin(struct vm *vm, uint64_t collections)
{
	struct sw_hotspot_copies *c = &vm->hotspot.copies;
	c->made_ns = sw_clock_ns();
	c->collections = collections + 1;
	while (sw_clock_ns() == c->made_ns)
		;
	c->looked_ns = sw_clock_ns();
}

static void open_vm(struct vm *vm)
{
	*vm = (struct vm){0};
	assert_int_equal(sw_context_create(&vm->ctx, NULL), 0);
	assert_int_equal(sw_snapshot_create(vm->ctx, &vm->snap, NULL), 0);
	vm->snap->live = true;
	vm->snap->priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	vm->hotspot = (struct sw_hotspot){.snap = vm->snap, .by_copies = true};
	memset(counters, 0, sizeof(counters));
	for (size_t i = 0; i < 2; i++)
		vm->hotspot.copies.counted[i] =
			(struct sw_hotspot_counted){(uintptr_t) &counters[i][0],
						    (uintptr_t) &counters[i][1],
						    (uintptr_t) &counters[i][2]};
	vm->hotspot.copies.n_counted = 2;
}

static void close_vm(struct vm *vm)
{
	sw_snapshot_destroy(vm->snap);
	sw_context_destroy(vm->ctx);
}

/* Methods that were not known before, with and without a collection since the copy. */
TEST(test_first_sight)
{
	struct vm vm;
	open_vm(&vm);
	counters[0][0] = 3;
	begin(&vm, 3);
	struct sw_hotspot_proof proof = {0}, other = {0}, third = {0};
	assert_true(sw_hotspot_prove(&vm.hotspot, true, &proof));
	assert_false(sw_hotspot_prove(&vm.hotspot, false, &other));
	counters[1][1] = 1; /* one has begun, and has not ended */
	assert_false(sw_hotspot_prove(&vm.hotspot, true, &third));
	close_vm(&vm);
}

/* A number that is given once: what it was before and is afterwards it has been all the time. */
TEST(test_both_sides)
{
	struct vm vm;
	open_vm(&vm);
	begin(&vm, 0);
	counters[0][0] = 5;
	struct sw_hotspot_proof numbered = {.numbered = true}, plain = {0};
	assert_false(sw_hotspot_prove(&vm.hotspot, true, &numbered));
	assert_false(sw_hotspot_prove(&vm.hotspot, true, &plain));
	assert_false(sw_hotspot_is_proven(&vm.hotspot, &numbered));
	begin(&vm, 0);
	assert_false(sw_hotspot_is_proven(&vm.hotspot, &numbered)); /* it was not looked at since */
	assert_true(sw_hotspot_prove(&vm.hotspot, false, &numbered));
	assert_true(sw_hotspot_is_proven(&vm.hotspot, &numbered));
	assert_false(sw_hotspot_prove(&vm.hotspot, true, &plain));
	assert_false(sw_hotspot_is_proven(&vm.hotspot, &plain));
	close_vm(&vm);
}

/* A method that was on a stack: one collection may have taken it, a second one what came in its place. */
TEST(test_met)
{
	struct vm vm;
	open_vm(&vm);
	begin(&vm, 0);
	struct sw_hotspot_proof proof = {0};
	assert_true(sw_hotspot_prove(&vm.hotspot, true, &proof));
	sw_hotspot_is_met(&vm.hotspot, &proof);
	begin(&vm, 0);
	assert_true(sw_hotspot_is_proven(&vm.hotspot, &proof));
	counters[0][0] = 1;
	begin(&vm, 1);
	assert_false(sw_hotspot_is_proven(&vm.hotspot, &proof));
	begin(&vm, 0);
	counters[0][0] = 1;
	vm.hotspot.copies.collections = 0; /* one went on at the copy */
	assert_false(sw_hotspot_is_proven(&vm.hotspot, &proof));
	assert_true(sw_hotspot_prove(&vm.hotspot, true, &proof));
	counters[1][0] = 1;
	assert_false(sw_hotspot_prove(&vm.hotspot, true, &proof));
	close_vm(&vm);
}

TEST(test_sweeper)
{
	static const char status[] =
		"Name:\tSweeper thread\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\n"
		"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
	static const char running[] =
		"Name:\tSweeper thread\nState:\tR (running)\n"
		"voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
	uint64_t n = 0;
	assert_true(sw_hotspot_sweeper_parse(status, &n));
	assert_int_equal(n, 15);
	assert_false(sw_hotspot_sweeper_parse(running, &n));
	assert_false(
		sw_hotspot_sweeper_parse("Name:\tx\nState:\tS\nvoluntary_ctxt_switches:\t1\n", &n));
	assert_false(sw_hotspot_sweeper_parse("", &n));
}
