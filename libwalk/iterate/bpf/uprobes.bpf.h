/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_UPROBES_BPF_H
#define SW_ITERATE_UPROBES_BPF_H

/*
 * The kernel's record of a thread whose functions are probed. Linux 6.1 to 6.18, include/linux/uprobes.h and
 * prepare_uretprobe() in kernel/events/uprobes.c.
 */
#include "iterate/bpf/kernel.bpf.h"

struct return_instance {
	unsigned long stack; /* where the address stood */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} SW_KERNEL;

enum uprobe_task_state {
	RUNS = 0, /* UTASK_RUNNING; else vaddr and xol_vaddr are those of an instruction on its way */
};

struct uprobe_task {
	enum uprobe_task_state state;
	struct return_instance *return_instances; /* the last call first */
	unsigned long vaddr, xol_vaddr;
} SW_KERNEL;

struct task_struct___uprobes {
	struct uprobe_task *utask;
} SW_KERNEL;

/* NULL: no probe has been hit by the thread, or the kernel has none. */
static __always_inline const struct uprobe_task *probed_task(const struct task_struct *task)
{
	const struct task_struct___uprobes *probed = (const void *) task;
	if (!bpf_core_field_exists(probed->utask))
		return NULL;
	return pointer_at(&probed->utask);
}

#endif
