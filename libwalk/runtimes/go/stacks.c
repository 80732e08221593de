/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/go/stacks.h"

enum {
	/* Words of g. */
	G_STACK_LO = 0,
	G_STACK_HI = 1,
	G_SCHED_SP = 7,
	G_SCHED_PC = 8,
	STACK_BYTES_MAX = 1 << 30, /* Go's own limit of a goroutine's stack on 64 bits */
};

bool sw_go_tls_slot(const struct sw_go_module *module, struct sw_memory memory, uint64_t fs_base,
		    uint64_t *ret_avma)
{
	uint64_t offset;
	if (fs_base == 0)
		return false;
	switch (module->image.tls) {
	case SW_GO_TLS_OFFSET: offset = (uint64_t) module->image.tls_value; break;
	case SW_GO_TLS_SLOT:
		if (!sw_memory_u64(memory, (uint64_t) module->image.tls_value + module->place->bias,
				   &offset))
			return false;
		break;
	default: return false;
	}
	*ret_avma = fs_base + offset;
	return true;
}

struct sw_go_stack sw_go_g_parse(uint64_t g_avma, const uint64_t *words)
{
	struct sw_go_stack s = {.g_avma = g_avma,
				.low_avma = words[G_STACK_LO],
				.high_avma = words[G_STACK_HI],
				.m_avma = words[SW_GO_G_M],
				.sched_sp_avma = words[G_SCHED_SP],
				.sched_pc_avma = words[G_SCHED_PC]};
	if (s.high_avma <= s.low_avma || s.high_avma - s.low_avma > STACK_BYTES_MAX)
		s.low_avma = s.high_avma = 0;
	return s;
}

struct sw_go_m sw_go_m_parse(const struct sw_go_module *module, const uint64_t *words)
{
	uint64_t at = module->image.gsignal_off;
	struct sw_go_m m = {.g0_avma = words[0]};
	if (at != 0 && (at + SW_GO_CURG_FROM_GSIGNAL) / 8 < SW_GO_M_WORDS) {
		m.gsignal_avma = words[at / 8];
		m.curg_avma = words[(at + SW_GO_CURG_FROM_GSIGNAL) / 8];
	}
	return m;
}

bool sw_go_thread_check(struct sw_go_thread *thread)
{
	struct sw_go_stack *optional[] = {&thread->curg, &thread->gsignal};
	uint64_t m = thread->g0.m_avma;
	for (size_t i = 0; i < 2; i++)
		if (optional[i]->g_avma != 0 && optional[i]->m_avma != m)
			*optional[i] = (struct sw_go_stack){0};
	thread->known = m != 0 && thread->g0.g_avma != 0;
	return thread->known;
}

static bool g_read(struct sw_memory memory, uint64_t g_avma, struct sw_go_stack *ret)
{
	uint64_t words[SW_GO_G_WORDS];
	if (g_avma == 0 || g_avma % 8 != 0 || !sw_memory_read(memory, g_avma, words, sizeof(words)))
		return false;
	*ret = sw_go_g_parse(g_avma, words);
	return true;
}

bool sw_go_thread_read(const struct sw_go_module *module, struct sw_memory memory,
		       uint64_t slot_avma, struct sw_go_thread *ret)
{
	uint64_t words[SW_GO_M_WORDS], g_avma;
	struct sw_go_stack g;
	*ret = (struct sw_go_thread){0};
	if (!sw_memory_u64(memory, slot_avma, &g_avma) || !g_read(memory, g_avma, &g) ||
	    g.m_avma == 0 || g.m_avma % 8 != 0 ||
	    !sw_memory_read(memory, g.m_avma, words, sizeof(words)))
		return false;
	struct sw_go_m m = sw_go_m_parse(module, words);
	if (!g_read(memory, m.g0_avma, &ret->g0) || ret->g0.m_avma != g.m_avma)
		return false;
	if (!g_read(memory, m.curg_avma, &ret->curg))
		ret->curg = (struct sw_go_stack){0};
	if (!g_read(memory, m.gsignal_avma, &ret->gsignal))
		ret->gsignal = (struct sw_go_stack){0};
	return sw_go_thread_check(ret);
}
