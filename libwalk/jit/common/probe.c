/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/common/probe.h"

bool sw_jit_probe_add(struct sw_jit_probe *probe, uint64_t svma, uint64_t detail)
{
	struct sw_jit_module *m = probe->module;
	if (m->n == SW_JIT_ROOTS_MAX)
		return false;
	m->found[m->n].svma = svma;
	m->found[m->n].detail = detail;
	m->found[m->n].source = probe->source;
	m->n++;
	return true;
}

void sw_jit_probe_variables(struct sw_jit_probe *probe, const char *const names[],
			    void (*each)(struct sw_jit_probe *probe, const char *name,
					 const struct sw_elf_symbol *symbol))
{
	probe->names = names;
	probe->each = each;
}
