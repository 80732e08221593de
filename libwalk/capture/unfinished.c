/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/unfinished.h"
#include "arch/user_regs.h"
#include "snapshot/snapshot.h"

void sw_take_reader_drop(struct sw_take *take)
{
	if (!take->stop.stalled)
		return;
	sw_pages_reader_drop(&take->snap->priv->pages);
	take->space->reader = NULL;
}

void sw_take_registers(struct sw_take *take)
{
	const struct sw_stop *s = &take->stop;
	const bool *chosen = take->space->chosen;
	if (s->finished && !s->stalled)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->tracees[i].has_regs && (chosen == NULL || chosen[i]))
			sw_arch_thread_fill(&take->snap->threads[i], &s->tracees[i].regs);
}
