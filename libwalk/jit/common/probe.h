/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_PROBE_H
#define SW_JIT_PROBE_H

#include "jit/common/source.h"

/* The roots that sources found in one module's file; kept with the module, made once per file. */
struct sw_jit_module {
	struct {
		uint64_t svma, detail;
		uint8_t source; /* its index */
	} found[SW_JIT_ROOTS_MAX];
	size_t n;
};

/* The argument of a source's probe(). */
struct sw_jit_probe {
	struct sw_jit_module *module;
	uint8_t source;
	const char *const *names; /* of variables; NULL: none are wanted */
	void (*each)(struct sw_jit_probe *probe, const char *name,
		     const struct sw_elf_symbol *symbol);
};

/* An address in the module, svma. False when SW_JIT_ROOTS_MAX are there. */
bool sw_jit_probe_add(struct sw_jit_probe *probe, uint64_t svma, uint64_t detail);

/*
 * Variables of .symtab by their names (static, the last one NULL): each is called for those that there
 * are, once all sources have probed the module, so that its symbols are gone through once. Exported ones
 * are found with sw_elf_symbols_find() at a fraction of the cost.
 */
void sw_jit_probe_variables(struct sw_jit_probe *probe, const char *const names[],
			    void (*each)(struct sw_jit_probe *probe, const char *name,
					 const struct sw_elf_symbol *symbol));

#endif
