/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/thread_ends.h>
#include "cleanup.h"
#include "errors.h"
#include "process/pages.h"
#include "process/thread_rings.h"

#include <snapwalk/clock.h>
#include <fcntl.h>

static bool read_present(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_pages *pages = arg;
	uint64_t end;
	if (__builtin_add_overflow(avma, length, &end) || end > INT64_MAX)
		return false;
	return sw_pages_read(pages, pages->mem_fd, buffer, length, avma) == length;
}

static const struct sw_memory_ops present_ops = {.read = read_present};

/*
 * The C library's entries can lie in any memory that the target has chosen for its stacks, also in a file whose server
 * does not answer. Only pages that are in memory are read, and by an expendable process: a page may go away between the
 * look and the read. All waits together have the limit of process/pages.h.
 */
int sw_thread_ends(int proc_fd, const uint64_t *running_avma, size_t n, struct sw_thread_end **ret,
		   size_t *ret_n)
{
	enum { PATIENCE_MS = 1000, NS_PER_MS = 1000000, LIMIT_MS = 3000 };
	sw_cleanup(sw_close_p) int mem_fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_pages_deinit) struct sw_pages pages;
	sw_pages_init(&pages);
	pages.pagemap_fd = openat(proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	pages.mem_fd = mem_fd;
	pages.careful = true;
	pages.swapped = true; /* each read is the expendable process's */
	if (mem_fd < 0 || pages.pagemap_fd < 0 || n == 0)
		return -SW_E_UNSUPPORTED;
	if (!sw_pages_space_answers(&pages, PATIENCE_MS))
		return -SW_E_TIMEOUT;
	return sw_thread_rings_read((struct sw_memory){&present_ops, &pages},
				    sw_clock_ns() + LIMIT_MS * (int64_t) NS_PER_MS, running_avma, n,
				    ret, ret_n);
}
