/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recipe by which the kernel copies a thread's Go state at an event: its m and the three g that
 * it has, and the stack of the goroutine that the thread has left for another one. The stack that
 * it is on is copied anyhow.
 */
#include "runtimes/go/recipe.h"
#include "arch/arch.h"
#include "arch/user_regs.h"
#include "copies/record.h"
#include "runtimes/go/find.h"
#include "runtimes/go/stacks.h"

enum {
	/* Registers of the recipe. */
	SLOT,
	M,
	G,
	LOW,
	HIGH,
	SP,
	WORD,

	KIND = SW_SAMPLED_KIND_FIRST,
	G_BYTES = 8 * SW_GO_G_WORDS,
	M_BYTES = 8 * SW_GO_M_WORDS,
	STACK_BYTES = 16 << 10,
	VDSO_CALLER_BYTES = 64, /* as runtimes/go/window.c has it */
	/* Offsets in g. */
	STACK_LOW = 0,
	STACK_HIGH = 8,
	SCHED_SP = 56,
};

static void piece_add(struct sw_recipe *r, uint8_t from, uint64_t offset, uint64_t bytes)
{
	sw_recipe_copy(r, &(struct sw_recipe_copy){
				  .from = from, .kind = KIND, .offset = offset, .bytes = bytes});
}

/* The g that the word at offset of m leads to. */
static unsigned g_add(struct sw_recipe *r, uint64_t offset)
{
	sw_recipe_load(r, G, M, offset);
	unsigned none = sw_recipe_jump_if_zero(r, G, 0);
	piece_add(r, G, 0, G_BYTES);
	return none;
}

static void stack_add(struct sw_recipe *r, uint8_t from)
{
	sw_recipe_first(r, &(struct sw_recipe_span){.from = from,
						    .to = HIGH,
						    .bytes_max = STACK_BYTES,
						    .kind = KIND});
}

/*
 * The stack of the goroutine, unless the thread is on it: from where the scheduler or a call of the vDSO has left it, and from
 * its lower end where a signal has interrupted it.
 */
static void goroutine_add(const struct sw_go_image *image, struct sw_recipe *r)
{
	sw_recipe_load(r, LOW, G, STACK_LOW);
	sw_recipe_load(r, HIGH, G, STACK_HIGH);
	sw_recipe_user(r, SP, sw_arch_user_offset(SW_ARCH_SP));
	unsigned below = sw_recipe_jump_if_below(r, SP, LOW, 0);
	unsigned on = sw_recipe_jump_if_below(r, SP, HIGH, 0);
	sw_recipe_land(r, below);
	sw_recipe_load(r, WORD, G, SCHED_SP);
	unsigned lower = sw_recipe_jump_if_below(r, WORD, LOW, 0);
	stack_add(r, WORD);
	sw_recipe_land(r, lower);
	if (image->vdso_off != 0) {
		sw_recipe_load(r, WORD, M, image->vdso_off);
		sw_recipe_move(r, WORD, WORD, (uint64_t) -VDSO_CALLER_BYTES);
		unsigned no_call = sw_recipe_jump_if_below(r, WORD, LOW, 0);
		stack_add(r, WORD);
		sw_recipe_land(r, no_call);
	}
	sw_recipe_load(r, WORD, M, image->gsignal_off);
	sw_recipe_load(r, G, WORD, STACK_LOW);
	unsigned no_signal = sw_recipe_jump_if_below(r, SP, G, 0);
	sw_recipe_load(r, G, WORD, STACK_HIGH);
	unsigned signal = sw_recipe_jump_if_below(r, SP, G, 0);
	unsigned other = sw_recipe_jump(r, 0);
	sw_recipe_land(r, signal);
	stack_add(r, LOW);
	sw_recipe_land(r, other);
	sw_recipe_land(r, no_signal);
	sw_recipe_land(r, on);
}

/* The upper end of g0's stack, where a signal has interrupted the thread: it was on that one perhaps. */
static void signalled_add(const struct sw_go_image *image, struct sw_recipe *r)
{
	sw_recipe_load(r, G, M, image->gsignal_off);
	unsigned none = sw_recipe_jump_if_zero(r, G, 0);
	sw_recipe_load(r, LOW, G, STACK_LOW);
	sw_recipe_load(r, HIGH, G, STACK_HIGH);
	sw_recipe_user(r, SP, sw_arch_user_offset(SW_ARCH_SP));
	unsigned below = sw_recipe_jump_if_below(r, SP, LOW, 0);
	unsigned above = sw_recipe_jump_if_below(r, HIGH, SP, 0);
	sw_recipe_load(r, G, M, 0);
	sw_recipe_load(r, LOW, G, STACK_LOW);
	sw_recipe_load(r, HIGH, G, STACK_HIGH);
	sw_recipe_span(r, &(struct sw_recipe_span){
				  .from = LOW, .to = HIGH, .bytes_max = STACK_BYTES, .kind = KIND});
	sw_recipe_land(r, above);
	sw_recipe_land(r, below);
	sw_recipe_land(r, none);
}

static void module_add(const struct sw_go_module *module, uint64_t slot_offset, struct sw_recipe *r)
{
	const struct sw_go_image *image = &module->image;
	uint64_t m_bytes = image->vdso_off + 16 > M_BYTES ? image->vdso_off + 16 : M_BYTES;
	if (image->tls == SW_GO_TLS_SLOT) {
		sw_recipe_set(r, SLOT, (uint64_t) image->tls_value + module->place->bias);
		piece_add(r, SLOT, 0, sizeof(uint64_t));
	}
	sw_recipe_thread_pointer(r, SLOT, slot_offset);
	piece_add(r, SLOT, 0, sizeof(uint64_t));
	sw_recipe_load(r, G, SLOT, 0);
	unsigned no_go = sw_recipe_jump_if_zero(r, G, 0);
	piece_add(r, G, 0, G_BYTES);
	sw_recipe_load(r, M, G, 8 * (uint64_t) SW_GO_G_M);
	unsigned no_m = sw_recipe_jump_if_zero(r, M, 0);
	piece_add(r, M, 0, m_bytes);
	sw_recipe_land(r, g_add(r, 0));
	sw_recipe_land(r, g_add(r, image->gsignal_off));
	signalled_add(image, r);
	unsigned no_goroutine = g_add(r, image->gsignal_off + SW_GO_CURG_FROM_GSIGNAL);
	goroutine_add(image, r);
	sw_recipe_land(r, no_goroutine);
	sw_recipe_land(r, no_m);
	sw_recipe_land(r, no_go);
}

bool sw_go_recipe(const struct sw_snapshot *snap, struct sw_memory memory, struct sw_recipe *recipe,
		  const char **ret_why)
{
	struct sw_go_modules modules;
	uint64_t slot;
	*ret_why = NULL;
	sw_go_find(snap, &modules);
	for (size_t i = 0; i < modules.n; i++) {
		const struct sw_go_module *m = &modules.all[i];
		if (m->image.gsignal_off == 0 || !sw_go_tls_slot(m, memory, 1, &slot)) {
			*ret_why = "this version of Go";
			return false;
		}
		module_add(m, slot - 1, recipe);
	}
	return true;
}
