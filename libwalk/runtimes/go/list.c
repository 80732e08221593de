/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All goroutines, copied while nothing changes. There may be very many: they are read in groups of neighbours
 * in memory, and of stacks only what is in use.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/go/list.h"
#include "runtimes/go/stacks.h"

#include <string.h>

enum {
	GROUP_STEP_MAX = 1024, /* from one to the next of a group */
	GROUP_BYTES_MAX = 64 << 10,
	STACKS_GAP_MAX = 2048, /* the smallest stack */
};

static uint64_t word_of(const uint8_t *bytes, size_t n)
{
	uint64_t word;
	memcpy(&word, bytes + 8 * n, sizeof(word));
	return word;
}

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	struct sw_capture_read one = {.avma = avma, .bytes = bytes};
	sw_capture_copy_many(capture, &one, 1);
	*ret = one.buffer;
	return one.ok;
}

static void stacks_flush(struct sw_capture *capture, struct sw_go_list *list)
{
	sw_capture_copy_many(capture, list->stacks, list->n_stacks);
	list->n_stacks = 0;
}

/* To read what lies between two small stacks costs less than to read them one by one. */
static bool stack_join(struct sw_capture_read *last, uint64_t sp, uint64_t end)
{
	uint64_t last_end = last->avma + last->bytes;
	uint64_t low = sp < last->avma ? sp : last->avma;
	uint64_t high = end > last_end ? end : last_end;
	if (sp > last_end + STACKS_GAP_MAX || last->avma > end + STACKS_GAP_MAX ||
	    high - low > GROUP_BYTES_MAX)
		return false;
	last->avma = low;
	last->bytes = high - low;
	return true;
}

/* The stack of a goroutine. The sched of a running goroutine says nothing, or is out of date: its
 * stack is that of the thread. */
static void stack_add(struct sw_capture *capture, struct sw_go_list *list, const uint8_t *g)
{
	uint64_t words[SW_GO_G_WORDS];
	uint32_t status;
	memcpy(words, g, sizeof(words));
	memcpy(&status, g + list->layout.status_off, sizeof(status));
	const struct sw_go_stack s = sw_go_g_parse(0, words);
	uint64_t sp = s.sched_sp_avma;
	if (!sw_go_status_is_alive(status) || s.high_avma == 0 || sp < s.low_avma ||
	    sp >= s.high_avma)
		return;
	uint64_t end = s.high_avma;
	if (end - sp > SW_GO_LIST_STACK_MAX)
		end = sp + SW_GO_LIST_STACK_MAX;
	if (list->n_stacks > 0 && stack_join(&list->stacks[list->n_stacks - 1], sp, end))
		return;
	if (list->n_stacks == SW_CAPTURE_READS)
		stacks_flush(capture, list);
	list->stacks[list->n_stacks++] = (struct sw_capture_read){.avma = sp, .bytes = end - sp};
}

/* The goroutines from *at on that are one range of memory; false: there are no more. */
static bool group_next(const struct sw_go_list *list, const uint8_t *all, size_t n, size_t *at,
		       struct sw_capture_read *ret)
{
	uint64_t bytes = list->layout.g_bytes, begin, last;
	if (*at == n)
		return false;
	begin = last = word_of(all, (*at)++);
	while (*at < n) {
		uint64_t next = word_of(all, *at);
		if (next <= last || next - last > GROUP_STEP_MAX || next - begin > GROUP_BYTES_MAX)
			break;
		last = next;
		++*at;
	}
	*ret = (struct sw_capture_read){.avma = begin, .bytes = last - begin + bytes};
	return true;
}

static void groups_copy(struct sw_capture *capture, struct sw_go_list *list, const uint8_t *all,
			size_t n_groups)
{
	sw_capture_copy_many(capture, list->groups, n_groups);
	for (size_t k = 0; k < n_groups; k++)
		for (size_t i = list->first[k]; i < list->first[k + 1] && list->groups[k].ok; i++)
			stack_add(capture, list,
				  (const uint8_t *) list->groups[k].buffer +
					  (word_of(all, i) - list->groups[k].avma));
}

void sw_go_list_copy(struct sw_capture *capture, struct sw_go_list *list)
{
	const struct sw_go_layout *l = &list->layout;
	const uint8_t *length, *pointer, *all;
	list->n_stacks = 0;
	if (!list->usable || !copy(capture, l->length_svma + list->bias, 8, &length) ||
	    !copy(capture, l->list_svma + list->bias, 8, &pointer))
		return;
	uint64_t n = word_of(length, 0);
	if (n > SW_GO_LIST_MAX)
		n = SW_GO_LIST_MAX;
	if (n == 0 || !copy(capture, word_of(pointer, 0), 8 * n, &all))
		return;
	for (size_t at = 0, k; at < n && !sw_capture_is_late(capture);) {
		for (k = 0; k < SW_CAPTURE_READS; k++) {
			list->first[k] = at;
			if (!group_next(list, all, n, &at, &list->groups[k]))
				break;
		}
		list->first[k] = at;
		groups_copy(capture, list, all, k);
	}
	stacks_flush(capture, list);
}
