/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a virtual thread's frames end on the stack of its carrier. Only some of them are brought back there at a
 * time; the outermost of these returns to a stub, and behind it lies what Continuation.enterSpecial() has put there:
 *
 *	sp               padding, stack arguments
 *	ContinuationEntry
 *	saved rbp
 *	return address   into Continuation.run()
 *
 * JDK 24 publishes where the entry is (JavaThread._cont_entry), JDK 21 to 23 do not. There are no other return
 * addresses in between, so that the first one into that method is the one.
 *
 * Source: src/hotspot/cpu/x86/sharedRuntime_x86_64.cpp (gen_continuation_enter(), fill_continuation_entry()) and
 * stubGenerator_x86_64.cpp (generate_cont_thaw()) of jdk-21.0.13.
 */
#include "runtimes/hotspot/continuation.h"
#include "runtimes/hotspot/structures/method.h"
#include "runtimes/hotspot/structures/scopes.h"

#include <string.h>

enum { WORDS_MAX = 32, METHOD_SLOT = 24 /* below rbp of an interpreted frame */ };

bool sw_hotspot_is_continuation_stub(const struct sw_hotspot_blob *blob)
{
	static const char name[] = "StubRoutines (continuation";
	return blob->kind == SW_HOTSPOT_ROUTINES &&
	       strncmp(blob->name, name, sizeof(name) - 1) == 0;
}

/* The method that is executed at pc, whose frame has that rbp. 0: unknown. */
static uint64_t method_at(const struct sw_hotspot_frame *f, uint64_t pc, uint64_t fp)
{
	struct sw_hotspot_scope scopes[SW_HOTSPOT_SCOPES_MAX];
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(f->h, pc);
	uint64_t method;
	bool exact;
	if (b == NULL)
		return 0;
	if (b->kind == SW_HOTSPOT_INTERPRETER)
		return fp % 8 == 0 && sw_hotspot_word(f, fp - METHOD_SLOT, &method) ? method : 0;
	if (b->kind != SW_HOTSPOT_COMPILED ||
	    sw_hotspot_scopes_at(f->h, b, pc, scopes, &exact) == 0 || !exact)
		return 0;
	return scopes[0].method_avma;
}

bool sw_hotspot_continuation_caller(const struct sw_hotspot_frame *f, uint64_t sp,
				    struct sw_hotspot_caller *ret)
{
	uint64_t fp = 0, pc;
	for (size_t i = 0; i < WORDS_MAX; i++) {
		uint64_t slot = sp + 8 * i;
		if (!sw_hotspot_word(f, slot, &pc))
			return false;
		if (i > 0 && sw_hotspot_cache_has(&f->h->cache, pc)) {
			const struct sw_hotspot_method *m =
				sw_hotspot_method_get(f->h, method_at(f, pc, fp));
			if (m != NULL && strcmp(m->name, "jdk.internal.vm.Continuation.run") == 0) {
				*ret = (struct sw_hotspot_caller){.pc = pc,
								  .sp = slot + 8,
								  .fp = fp,
								  .fp_known = true};
				return true;
			}
		}
		fp = pc;
	}
	return false;
}
