/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies a thread when its process dies: where a signal that kills it is delivered, where it calls exit_group(), or where
 * its last thread ends. One record of a process. Nothing of the process is changed.
 * Linux 6.1 to 6.18, kernel/signal.c get_signal() and complete_signal(), kernel/exit.c do_exit().
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct counter {
	int counter;
} SW_KERNEL;

struct signal_struct___deaths {
	struct counter live;
	int group_exit_code;
	unsigned int flags;
	struct mm_struct *oom_mm; /* the kernel has chosen it, as there is no memory */
} SW_KERNEL;

struct task_struct___deaths {
	int exit_code;
} SW_KERNEL;

/* include/uapi/asm-generic/signal.h, siginfo.h; include/linux/sched/signal.h */
enum {
	NSIG = 64,
	SIGNAL_KILL = 9,
	SIGNAL_MASK = 0x7f, /* of an exit code */
	CODE_KERNEL = 0x80,
	INFO_NONE = 0, /* SEND_SIG_NOINFO, SEND_SIG_PRIV */
	INFO_KERNEL = 1,
	INFO_CODE_OFF = 8,
	INFO_ADDRESS_OFF = 16, /* or who has sent it */
	HANDLER_OFF = 0,       /* of struct k_sigaction */
	NR_EXIT_GROUP = 231,
	NR_EXIT_GROUP_32 = 252,
	COMM = 16,
};

#define BIT(n) (UINT64_C(1) << (n))

/* Signals that kill nobody where there is no handler: SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG,
 * SIGWINCH. */
static const uint64_t harmless =
	BIT(17) | BIT(18) | BIT(19) | BIT(20) | BIT(21) | BIT(22) | BIT(23) | BIT(28);
/* Signals of a fault, which has an address: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV. */
static const uint64_t faults = BIT(4) | BIT(5) | BIT(7) | BIT(8) | BIT(11);

/* The last signal of a number. */
struct sent {
	uint64_t time_ns;
	uint64_t
		thread; /* the kernel's number of the thread of the process that has sent it; 0: another process has */
	uint32_t pid, uid, code, by_kernel;
	char comm[COMM];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NSIG + 1);
	__type(key, uint32_t);
	__type(value, struct sent);
} sw_sent SEC(".maps");

static __always_inline struct sw_called_setup *called_of(const struct task_struct *task)
{
	uint32_t zero = 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	return called != NULL && is_process(called, task) ? called : NULL;
}

static __always_inline void sender_fill(struct sw_called_death *death)
{
	const struct sent *sent = bpf_map_lookup_elem(&sw_sent, &death->signal);
	if (sent == NULL || sent->time_ns == 0)
		return;
	death->code = (int32_t) sent->code;
	if (sent->by_kernel != 0)
		death->flags |= SW_CALLED_BY_KERNEL;
	else
		death->flags |= SW_CALLED_HAS_SENDER;
	death->sender_pid = sent->pid;
	death->sender_uid = sent->uid;
	__builtin_memcpy(death->sender_comm, sent->comm, sizeof(death->sender_comm));
}

static __always_inline void death_put(struct scratch *s, const struct sw_called_death *death)
{
	uint32_t at = s->at;
	if (at > SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part) - sizeof(*death))
		return;
	struct sw_sampled_part *part = (struct sw_sampled_part *) (s->out + (at & OUT_MASK));
	part->avma = 0;
	part->bytes = sizeof(*death);
	part->kind = SW_CALLED_DEATH;
	__builtin_memcpy(s->out + ((at + sizeof(*part)) & OUT_MASK), death, sizeof(*death));
	s->at = at + sizeof(*part) + sizeof(*death);
	s->n_parts++;
}

/* The thread whose memory is gone already has no stack: exit() before Linux 6.16. */
static __always_inline void death_take(struct sw_called_setup *called,
				       const struct task_struct *task,
				       struct sw_called_death *death)
{
	struct taking t;
	bool alone = pointer_at(&task->mm) == NULL;
	const struct signal_struct___deaths *signal = pointer_at(&task->signal);
	if (__sync_lock_test_and_set(&called->told, 1) != 0)
		return;
	if (bpf_core_field_exists(signal->oom_mm) && pointer_at(&signal->oom_mm) != NULL)
		death->flags |= SW_CALLED_NO_MEMORY;
	struct sw_called_event event = {.number = __sync_fetch_and_add(&called->n_events, 1),
					.what = SW_CALLED_DIES};
	if (!taking_begin(&t, alone))
		return;
	event_put(t.s, &event);
	death_put(t.s, death);
	if (alone) {
		struct sw_sampled_head *head = (struct sw_sampled_head *) t.s->out;
		__builtin_memset(head, 0, sizeof(*head));
		head->time_ns = bpf_ktime_get_ns();
		t.s->flags |= SW_CALLED_ALONE;
	} else {
		sample_make(t.s, t.task, t.setup, t.recipe, false);
	}
	(void) taking_end(&t); /* what was lost is counted */
}

/* In the sender: who that is. Signals that the kernel sends have no sender. */
SEC("raw_tp/signal_generate")
int sw_death_sent(const uint64_t *ctx)
{
	const struct task_struct *target = (const struct task_struct *) ctx[2];
	const struct task_struct *sender = bpf_get_current_task_btf();
	uint32_t number = (uint32_t) ctx[0], zero = 0;
	const struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct sw_sampled_setup *setup = bpf_map_lookup_elem(&sw_setup, &zero);
	struct sent *sent = bpf_map_lookup_elem(&sw_sent, &number);
	/* The process may not have been seen yet: its numbers are compared as far as they are known. */
	uint32_t tgid = number_at(&target->tgid);
	if (called == NULL || setup == NULL || sent == NULL)
		return 0;
	if (called->tgid != 0 ? tgid != called->tgid : true) {
		uint32_t pid = number_in(pointer_at(&target->group_leader), setup->pid_namespace);
		if (called->tgid != 0 || pid == 0 ||
		    bpf_map_lookup_elem(&sw_processes, &pid) == NULL)
			return 0;
	}
	sent->time_ns = bpf_ktime_get_ns();
	sent->by_kernel = ctx[1] == INFO_KERNEL;
	sent->code = ctx[1] > INFO_KERNEL    ? number_at((const void *) (ctx[1] + INFO_CODE_OFF))
		     : ctx[1] == INFO_KERNEL ? CODE_KERNEL
					     : 0;
	if ((int32_t) sent->code > 0 && sent->code == CODE_KERNEL)
		sent->by_kernel = 1;
	sent->pid = number_in(pointer_at(&sender->group_leader), setup->pid_namespace);
	sent->uid = (uint32_t) bpf_get_current_uid_gid();
	sent->thread =
		!sent->by_kernel && (uint32_t) sender->tgid == tgid ? (uint32_t) sender->pid : 0;
	__builtin_memcpy(sent->comm, sender->comm, sizeof(sent->comm));
	return 0;
}

/* Whether another thread of the process has raised the signal. It is on its way out of the call that sent it, and is killed
 * there, too: its stack is the one that tells why. */
static __always_inline bool is_raised_elsewhere(const struct task_struct *task, uint32_t signal)
{
	const struct sent *sent = bpf_map_lookup_elem(&sw_sent, &signal);
	return sent != NULL && sent->thread != 0 && sent->thread != (uint32_t) task->pid;
}

/* A signal without a handler kills, but for some. One that another thread takes comes to all others as SIGKILL, without
 * a sender: which one it was stands in the exit code of the process. */
SEC("raw_tp/signal_deliver")
int sw_death_signal(const uint64_t *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = called_of(task);
	const struct signal_struct___deaths *signal = pointer_at(&task->signal);
	struct sw_called_death death = {.signal = (uint32_t) ctx[0]};
	if (called == NULL || death.signal == 0 || death.signal > NSIG)
		return 0;
	uint64_t handler = word_at((const void *) (ctx[2] + HANDLER_OFF));
	if ((harmless & BIT(death.signal & 63)) != 0 ||
	    (handler != 0 && death.signal != SIGNAL_KILL))
		return 0;
	if (death.signal == SIGNAL_KILL) {
		uint32_t code = number_at(&signal->group_exit_code);
		/* Not death: execve() of another thread, or an exit that is told by who made it. */
		if ((code & SIGNAL_MASK) == 0)
			return 0;
		death.signal = code & SIGNAL_MASK;
	}
	if (is_raised_elsewhere(task, death.signal))
		return 0;
	if (ctx[1] > INFO_KERNEL) {
		death.code = (int32_t) number_at((const void *) (ctx[1] + INFO_CODE_OFF));
		if ((faults & BIT(death.signal & 63)) != 0 && death.code > 0) {
			death.address = word_at((const void *) (ctx[1] + INFO_ADDRESS_OFF));
			death.flags |= SW_CALLED_HAS_ADDRESS;
		}
	}
	if ((death.flags & SW_CALLED_HAS_ADDRESS) == 0)
		sender_fill(&death);
	death_take(called, task, &death);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sw_death_exit(const uint64_t *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct task_struct___deaths *with_code = (const void *) task;
	const struct signal_struct___deaths *signal = pointer_at(&task->signal);
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	struct sw_called_setup *called = called_of(task);
	(void) ctx;
	if (called == NULL)
		return 0;
	uint32_t code = number_at(&with_code->exit_code);
	bool group = user->orig_ax == NR_EXIT_GROUP ||
		     ((user->cs & SELECTOR) == USER32_CS && user->orig_ax == NR_EXIT_GROUP_32);
	bool is_last = number_at(&signal->live) == 0;
	if (!group && !is_last)
		return 0;
	struct sw_called_death death = {.signal = code & SIGNAL_MASK, .status = code >> 8 & 0xff};
	if (death.signal != 0 && !is_last)
		return 0; /* killed while it was about to exit */
	death_take(called, task, &death);
	return 0;
}
