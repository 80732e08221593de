/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks are copied by being read, as they will be read afterwards, page by page: objects that were made
 * together lie together.
 */
#include "runtimes/cpython/tasks_window.h"
#include "map.h"
#include "runtimes/cpython/structures/code.h"

#include <string.h>

enum { PAGE = SW_CPYTHON_PAGE_BYTES };

static const uint8_t *page_get(struct sw_cpython_tasks_window *w, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % SW_CPYTHON_PAGE_SLOTS;
	const uint8_t *data;
	while (w->pages[i].avma != 0 && w->pages[i].avma != avma)
		i = (i + 1) % SW_CPYTHON_PAGE_SLOTS;
	if (w->pages[i].avma == avma)
		return w->pages[i].data;
	if (avma == 0 || w->n_pages == SW_CPYTHON_PAGES_MAX ||
	    !sw_capture_copy(w->capture, avma, PAGE, &data))
		return NULL;
	w->n_pages++;
	w->pages[i] = (struct sw_cpython_page){avma, data};
	return data;
}

static bool pages_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_cpython_tasks_window *w = arg;
	uint8_t *to = buffer;
	while (length > 0) {
		size_t skip = avma % PAGE, n = PAGE - skip < length ? PAGE - skip : length;
		const uint8_t *page = page_get(w, avma - skip);
		if (page == NULL)
			return false;
		memcpy(to, page + skip, n);
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

static const struct sw_memory_ops pages_ops = {.read = pages_read};

/* What cannot be read here is missed afterwards, and counted there. */
static bool task_copy(void *arg, const struct sw_cpython_task_set *set, uint64_t avma)
{
	struct sw_cpython_tasks_window *w = arg;
	struct sw_memory memory = {&pages_ops, w};
	struct sw_cpython_task task;
	struct sw_cpython_awaits awaits = {0};
	uint64_t word;
	if (sw_cpython_task_read(w->at, &w->asyncio, memory, set, avma, &task) && task.pending)
		(void) sw_cpython_awaits_read(w->at, &w->asyncio.types, memory, task.coroutine_avma,
					      w->frames, &awaits);
	if (awaits.last_avma != 0)
		(void) sw_memory_u64(memory,
				     awaits.last_avma + SW_CPYTHON_AWAITED +
					     w->at->layout.head_more,
				     &word);
	for (size_t i = 0; i < awaits.n_frames; i++) {
		struct sw_cpython_code code;
		if (sw_cpython_code_read(w->at, memory, w->frames[i].code_avma, &code))
			(void) sw_cpython_code_start(w->at, memory, &code, &w->frames[i], &word);
	}
	return w->n_pages < SW_CPYTHON_PAGES_MAX && !sw_capture_is_late(w->capture);
}

void sw_cpython_tasks_copy(struct sw_capture *capture, struct sw_cpython_tasks_window *w)
{
	if (w->n_pages > 0) /* the window is repeated */
		memset(w->pages, 0, sizeof(w->pages));
	w->n_pages = 0;
	w->capture = capture;
	w->whole = sw_capture_is_whole(capture);
	/* What is missing is found again afterwards. */
	(void) sw_cpython_tasks_each(&w->asyncio, (struct sw_memory){&pages_ops, w}, task_copy, w);
	w->capture = NULL;
}
