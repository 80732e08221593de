/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code that comes and goes all the time, registered with libgcc and nowhere else.
 *
 *	jit_libgcc_churn TABLES [look]
 *
 * TABLES are registered and stay: through three of them the first thread calls and waits. Another
 * thread goes on making code in other pages, each time with another frame size, registers it, calls
 * through three pieces of what is there, takes out one that is older, and overwrites it. look: a third
 * one looks for tables as exceptions do, after which libgcc (<= 12) keeps them in another list.
 */
#include "jit_code.h"
#include "target.h"

#include <pthread.h>

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);
extern void *_Unwind_FindEnclosingFunction(void *pc);

enum {
	PAGE = 4096,
	TABLE_OFF = CODE_BYTES,
	SLOT_BYTES = 256,
	PAGES = 61, /* code is made in: one after the other */
	KEPT = 16,
	CALLS = 3,
	SPIN = 20000,
	FRAME_AT = 5, /* in code_tables: sub $FRAME,%rsp ... */
	FRAME_END_AT = 23,
	CFA_AT = 17 + 12, /* ... and in its FDE */
	PUSHED = 24,
};

/* Code at to, its table behind it; frame: 8 more than a multiple of 16, less than 100. */
static uint8_t *make(uint8_t *to, uint8_t frame)
{
	uint8_t *table = to + TABLE_OFF, *fde = table + EH_CIE_BYTES;
	(void) code_write(to, CODE_EH_FRAME);
	to[FRAME_AT] = to[FRAME_END_AT] = frame;
	eh_cie_write(table);
	eh_fde_write(fde, table, to);
	fde[CFA_AT] = (uint8_t) (frame + PUSHED);
	put32(fde + EH_FDE_BYTES, 0);
	__register_frame(table);
	return to;
}

static void unmake(uint8_t *code)
{
	__deregister_frame(code + TABLE_OFF);
	memset(code, 0xaa, SLOT_BYTES);
}

static NOINLINE void call(struct step *steps)
{
	steps->call(steps + 1);
	KEEP();
}

static NOINLINE void leaf(struct step *rest)
{
	(void) rest;
	for (volatile int i = 0; i < SPIN; i++)
		;
}

static NOINLINE void *churn(void *arg)
{
	uint8_t *kept[KEPT] = {0}, *pages = arg;
	for (unsigned i = 0; !released; i++) {
		uint8_t **slot = &kept[i * 7 % KEPT];
		if (*slot != NULL)
			unmake(*slot);
		*slot = make(pages + i % PAGES * PAGE, (uint8_t) (24 + i % 5 * 16));
		struct step steps[CALLS + 1] = {{(void (*)(struct step *))(uintptr_t) *slot}};
		for (unsigned k = 1; k < CALLS; k++) {
			uint8_t *other = kept[(i * 7 + k * 5) % KEPT];
			steps[k].call = (void (*)(struct step *))(
				uintptr_t) (other != NULL ? other : *slot);
		}
		steps[CALLS].call = leaf;
		call(steps);
	}
	return NULL;
}

/* Look for an address that is in none of the tables: all of them are looked at. */
static void *look(void *arg)
{
	while (!released)
		(void) _Unwind_FindEnclosingFunction((void *) (uintptr_t) leaf);
	return arg;
}

static NOINLINE void wait_here(struct step *rest)
{
	(void) rest;
	block();
	KEEP();
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	size_t tables = (size_t) atoi(argv[1]);
	uint8_t *region = region_map(tables * SLOT_BYTES);
	for (size_t i = 0; i < tables; i++)
		(void) make(region + i * SLOT_BYTES, (uint8_t) (24 + i % 5 * 16));
	struct step steps[CALLS + 1] = {0};
	for (size_t i = 0; i < CALLS; i++)
		steps[i].call = (void (*)(struct step *))(
			uintptr_t) (region + tables * (i + 1) / (CALLS + 1) * SLOT_BYTES);
	steps[CALLS].call = wait_here;
	pthread_t thread;
	if (pthread_create(&thread, NULL, churn, region_map(PAGES * PAGE)) != 0 ||
	    (argc > 2 && pthread_create(&thread, NULL, look, NULL) != 0)) {
		perror("pthread_create");
		return 1;
	}
	ready();
	call(steps);
	return 0;
}
