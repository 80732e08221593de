/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread that is interrupted by an event of perf_event_open(2), whichever process it is of. What is known of
 * processes the reader writes into memory that both have mapped: it may have no capability by then.
 */
#include "iterate/bpf/copying.bpf.h"
#include "iterate/bpf/interrupted.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SW_SAMPLED_KNOWN_MAX);
	__type(key, uint32_t);
	__type(value, struct sw_sampled_known);
} sw_known SEC(".maps");

/* The number of a process's recipe; *is_known: whether the reader has looked at the process. */
static __always_inline uint32_t known_find(uint32_t pid, bool *is_known)
{
	uint32_t at = sw_sampled_hash(pid);
	for (uint32_t i = 0; i < SW_SAMPLED_KNOWN_TRIES; i++) {
		uint32_t key = (at + i) % SW_SAMPLED_KNOWN_MAX;
		const struct sw_sampled_known *known = bpf_map_lookup_elem(&sw_known, &key);
		if (known != NULL && known->pid == pid) {
			*is_known = true;
			return known->number;
		}
	}
	return 0;
}

SEC("perf_event")
int sw_host(const uint64_t *interrupted)
{
	struct taking t;
	if (!taking_maps(&t) || !taking_process(&t))
		return 0;
	/* A process of another pid namespace gets SW_SAMPLED_NOT, which is the number of no recipe. */
	bool is_known = false;
	uint32_t number = t.pid != 0 ? known_find(t.pid, &is_known) : SW_SAMPLED_NOT;
	if (!taking_recipe(&t, &number))
		return 0;
	t.wakes = !is_known; /* it may end soon, and has no maps then */
	sample_make(t.s, t.task, t.setup, t.recipe, is_in_kernel(interrupted));
	(void) taking_end(&t); /* what was lost is counted */
	return 0;              /* the event itself writes nothing */
}
