/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/pages.h"
#include "process/proc.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	STATUS_TEXT_MAX = 16 << 10,
	READ_PATIENCE_MS = 250, /* for a page, before its file system is taken not to answer */
	ENTRIES = 64,           /* of pagemap at once */
	NS_PER_MS = 1000000,
	WAITS_MS = 3000,  /* all of them together */
	COPIES_MS = 3000, /* all copies of files together, but for the last one's end */
};

/* Documentation/admin-guide/mm/pagemap.rst, v6.1. */
static const uint64_t PAGE_PRESENT = UINT64_C(1) << 63;

/*
 * A read of mem would wait for the page, and hold the target's mmap_lock meanwhile: mm/memory.c
 * v6.1, __access_remote_vm(). A read of pagemap only looks, and a read of a part of an entry is
 * EINVAL before it takes that lock, which the target may hold for ever: fs/proc/task_mmu.c v6.1,
 * pagemap_read().
 */
bool sw_pages_space_is_gone(int pagemap_fd)
{
	uint8_t part;
	return pagemap_fd >= 0 && pread(pagemap_fd, &part, sizeof(part), 0) == 0;
}

void sw_pages_init(struct sw_pages *pages)
{
	*pages = (struct sw_pages){.live_fd = -EBADF,
				   .proc_fd = -EBADF,
				   .mem_fd = -EBADF,
				   .pagemap_fd = -EBADF};
}

/* False: it is left behind. The bytes that it reads for us go to its own memory, but in the
 * window. */
static bool reader_end(struct sw_pages *pages)
{
	bool ended = sw_expendable_end(pages->reader);
	pages->reader = NULL;
	return ended;
}

void sw_pages_deinit(struct sw_pages *pages)
{
	bool after_window = pages->confined;
	pages->left_behind |= !reader_end(pages) && !after_window;
	(void) sw_expendable_end(pages->ending); /* it writes nothing any more */
	sw_pages_opener_end(pages);
	sw_close_p(&pages->pagemap_fd);
}

static const struct sw_pages_slow *slow_find(const struct sw_pages *pages, uint64_t avma)
{
	size_t low = 0, high = pages->n_slow;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pages->slow[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pages->n_slow ? &pages->slow[low] : NULL;
}

int64_t sw_pages_deadline_ns(const struct sw_pages *pages, int64_t begin_ns, int patience_ms)
{
	int64_t waits_ms = pages->waits_ms != 0 ? pages->waits_ms : WAITS_MS;
	int64_t left_ns = waits_ms * NS_PER_MS - pages->waited_ns;
	int64_t patience_ns = patience_ms * (int64_t) NS_PER_MS;
	return begin_ns + (patience_ns < left_ns ? patience_ns : left_ns);
}

void sw_pages_waited(struct sw_pages *pages, int64_t begin_ns)
{
	pages->waited_ns += sw_clock_ns() - begin_ns;
}

bool sw_pages_may_copy(const struct sw_pages *pages)
{
	return pages->copied_ns < COPIES_MS * (int64_t) NS_PER_MS;
}

void sw_pages_copied(struct sw_pages *pages, int64_t begin_ns)
{
	pages->copied_ns += sw_clock_ns() - begin_ns;
}

static bool has_file(const struct sw_map *map)
{
	return map->inode != 0 || map->dev_major != 0 || map->dev_minor != 0;
}

static enum sw_fs_kind map_kind(struct sw_pages *pages, const struct sw_map *map)
{
	for (size_t i = pages->n_slow; i > 0; i--) /* the last one is most often it */
		if (pages->slow[i - 1].dev_major == map->dev_major &&
		    pages->slow[i - 1].dev_minor == map->dev_minor)
			return pages->slow[i - 1].kind;
	return sw_filesystems_kind(&pages->fs, map->dev_major, map->dev_minor);
}

static bool is_on_our_root(struct sw_pages *pages, const struct sw_fs_file *file)
{
	if (!pages->root_known)
		pages->root_known = sw_filesystems_root(&pages->root); /* or no device is its */
	return sw_filesystems_same_device(file, &pages->root);
}

static int mounts_read(struct sw_pages *pages, bool ours)
{
	struct sw_filesystems *fs = ours ? &pages->our_fs : &pages->fs;
	bool *known = ours ? &pages->our_fs_known : &pages->fs_known;
	if (*known || pages->arena == NULL)
		return 0;
	*known = true; /* tried once */
	sw_cleanup(sw_close_p) int self_fd =
		ours ? open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	return sw_filesystems_read(pages->arena, ours ? self_fd : pages->proc_fd, fs);
}

enum sw_fs_kind sw_pages_fd_kind(struct sw_pages *pages, int fd)
{
	struct sw_fs_file file;
	enum sw_fs_kind kind;
	if (!sw_filesystems_file(fd, &file))
		return SW_FS_USER;
	if (is_on_our_root(pages, &file))
		return SW_FS_LOCAL;
	if (mounts_read(pages, false) == 0 && sw_filesystems_find(&pages->fs, &file, &kind))
		return kind;
	if (mounts_read(pages, true) == 0 && sw_filesystems_find(&pages->our_fs, &file, &kind))
		return kind;
	return sw_filesystems_kind(&pages->fs, file.major, file.minor);
}

int sw_pages_classify(struct sw_pages *pages, struct sw_arena *arena, int proc_fd,
		      const struct sw_map *maps, size_t n_maps)
{
	char status[STATUS_TEXT_MAX];
	pages->arena = arena;
	pages->proc_fd = proc_fd;
	uint64_t swapped_kib = 0;
	const struct sw_map *local = NULL;
	if (sw_proc_read_small(proc_fd, "status", status, sizeof(status)) > 0 &&
	    sw_proc_status_number(status, "VmSwap", &swapped_kib))
		pages->swapped = swapped_kib > 0;
	struct sw_pages old = *pages;
	pages->slow = NULL;
	pages->n_slow = 0;
	for (size_t i = 0; i < n_maps; i++) {
		const struct sw_map *map = &maps[i];
		if (!has_file(map) || (local != NULL && local->dev_major == map->dev_major &&
				       local->dev_minor == map->dev_minor))
			continue;
		if (is_on_our_root(pages,
				   &(struct sw_fs_file){map->dev_major, map->dev_minor, 0})) {
			local = map;
			continue;
		}
		if (mounts_read(pages, false) < 0)
			return -SW_E_NOMEM;
		/* Disks are told by their numbers. */
		if (map->dev_major != 0 && !pages->fs.has_served_disk)
			continue;
		enum sw_fs_kind kind = map_kind(pages, map);
		if (kind == SW_FS_LOCAL) {
			local = map;
			continue;
		}
		if (pages->slow == NULL)
			pages->slow = sw_arena_calloc(arena, n_maps - i, sizeof(*pages->slow));
		if (pages->slow == NULL)
			return -SW_E_NOMEM;
		bool stalled;
		(void) sw_pages_file_kind(&old, map, &stalled); /* known from before? */
		pages->slow[pages->n_slow++] =
			(struct sw_pages_slow){map->start_avma, map->end_avma, map->dev_major,
					       map->dev_minor,  kind,          stalled};
	}
	return 0;
}

bool sw_pages_may_stall(const struct sw_pages *pages, uint64_t avma, size_t bytes)
{
	if (pages->careful)
		return true;
	if (pages->n_slow == 0)
		return false;
	const struct sw_pages_slow *slow = slow_find(pages, avma);
	return slow != NULL && (slow->start_avma <= avma || slow->start_avma - avma < bytes);
}

size_t sw_pages_present(const struct sw_pages *pages, uint64_t avma, size_t bytes)
{
	uint64_t entries[ENTRIES], page_avma = avma & -(uint64_t) PAGE_BYTES;
	size_t ok = 0;
	while (ok < bytes) {
		ssize_t n = pread(pages->pagemap_fd, entries, sizeof(entries),
				  (off_t) (page_avma / PAGE_BYTES * sizeof(*entries)));
		if (n < (ssize_t) sizeof(*entries))
			return ok;
		for (size_t i = 0; i < (size_t) n / sizeof(*entries) && ok < bytes; i++) {
			const struct sw_pages_slow *slow = slow_find(pages, page_avma);
			bool of_file = slow != NULL && slow->start_avma <= page_avma;
			if (!(entries[i] & PAGE_PRESENT) && (of_file || pages->careful))
				return ok;
			page_avma += PAGE_BYTES;
			ok = page_avma - avma < bytes ? (size_t) (page_avma - avma) : bytes;
		}
	}
	return ok;
}

static void stall(struct sw_pages *pages, uint32_t dev_major, uint32_t dev_minor)
{
	for (size_t i = 0; i < pages->n_slow; i++)
		if (pages->slow[i].dev_major == dev_major && pages->slow[i].dev_minor == dev_minor)
			pages->slow[i].stalled = true;
}

enum sw_fs_kind sw_pages_file_kind(const struct sw_pages *pages, const struct sw_map *map,
				   bool *ret_stalled)
{
	*ret_stalled = false;
	for (size_t i = 0; i < pages->n_slow; i++)
		if (pages->slow[i].dev_major == map->dev_major &&
		    pages->slow[i].dev_minor == map->dev_minor) {
			*ret_stalled = pages->slow[i].stalled;
			return pages->slow[i].kind;
		}
	return SW_FS_LOCAL;
}

void sw_pages_file_stalled(struct sw_pages *pages, const struct sw_map *map)
{
	stall(pages, map->dev_major, map->dev_minor);
}

struct sw_expendable *sw_pages_reader(struct sw_pages *pages)
{
	const int fds[] = {pages->mem_fd, pages->pagemap_fd};
	if (pages->reader != NULL && sw_expendable_is_lost(pages->reader) && !pages->confined) {
		(void) reader_end(pages); /* or it is left behind */
		pages->n_lost++;
	}
	if (pages->reader == NULL && !pages->confined && pages->n_lost < SW_PAGES_LOST_MAX &&
	    sw_expendable_start(fds, SW_ARRAY_SIZE(fds), &pages->reader, NULL) < 0)
		pages->n_lost = SW_PAGES_LOST_MAX; /* not to be had: not asked for again */
	return pages->reader;
}

bool sw_pages_space_answers(struct sw_pages *pages, uint32_t patience_ms)
{
	struct sw_expendable *reader = pages->mem_fd >= 0 ? sw_pages_reader(pages) : NULL;
	int64_t begin_ns = sw_clock_ns();
	uint8_t byte;
	if (reader == NULL)
		return true;
	if (patience_ms == 0 || patience_ms > WAITS_MS)
		patience_ms = WAITS_MS;
	/* The kernel also takes the lock to say that nothing is mapped there: __access_remote_vm()
	 * in mm/memory.c, v6.1. */
	(void) sw_expendable_pread(reader, pages->mem_fd, &byte, sizeof(byte), 0,
				   sw_pages_deadline_ns(pages, begin_ns, (int) patience_ms));
	if (!sw_expendable_is_lost(reader) || sw_expendable_has_died(reader))
		return true;
	sw_pages_waited(pages, begin_ns);
	sw_pages_reader_drop(pages);
	return false;
}

void sw_pages_reader_drop(struct sw_pages *pages)
{
	pages->left_behind |= !reader_end(pages);
	pages->n_lost++;
}

struct sw_expendable *sw_pages_opener(struct sw_pages *pages)
{
	const int fds[] = {pages->live_fd, pages->proc_fd};
	/* The opener asks both, and may not allocate. */
	(void) mounts_read(pages, false);
	(void) mounts_read(pages, true);
	if (pages->opener == NULL && pages->n_lost < SW_PAGES_LOST_MAX &&
	    sw_expendable_start(fds, SW_ARRAY_SIZE(fds), &pages->opener, NULL) < 0)
		return NULL;
	return pages->opener;
}

/* The opener writes to nothing but its own stack: that it is left behind is no harm. */
void sw_pages_opener_end(struct sw_pages *pages)
{
	(void) sw_expendable_end(pages->opener);
	pages->opener = NULL;
}

void sw_pages_helpers_end(struct sw_pages *pages)
{
	pages->left_behind |= !reader_end(pages);
	sw_pages_opener_end(pages);
}

void sw_pages_opener_drop(struct sw_pages *pages)
{
	sw_pages_opener_end(pages);
	pages->n_lost++;
}

void sw_pages_settle(struct sw_pages *pages)
{
	bool wanted = pages->swapped || pages->n_slow > 0;
	if (pages->reader != NULL && sw_expendable_is_lost(pages->reader)) {
		sw_pages_reader_drop(pages);
	} else if (pages->reader != NULL && !wanted) {
		sw_expendable_quit(pages->reader);
		pages->ending = pages->reader;
		pages->reader = NULL;
	}
	struct sw_expendable *reader = wanted ? sw_pages_reader(pages) : NULL;
	if (reader != NULL && !sw_expendable_confine(reader))
		(void) reader_end(pages); /* at once, as it waits for nothing */
	pages->confined = true;
}

/* All of one part, which lies in memory that may stall, or none of it. */
static bool part_read(struct sw_pages *pages, int mem_fd, const struct sw_pages_slow *slow,
		      uint8_t *to, size_t bytes, uint64_t avma)
{
	errno = ETIMEDOUT;
	/* A reader that waits for a page of a file at mem holds the lock that the target needs to
	 * map memory. */
	if (slow != NULL ? slow->stalled || sw_pages_present(pages, avma, bytes) < bytes
			 : pages->swap_stalled)
		return false;
	struct sw_expendable *reader = sw_pages_reader(pages);
	if (reader == NULL || sw_expendable_is_lost(reader))
		return false;
	int64_t begin_ns = sw_clock_ns();
	ssize_t n = sw_expendable_pread(reader, mem_fd, to, bytes, avma,
					sw_pages_deadline_ns(pages, begin_ns, READ_PATIENCE_MS));
	int error = errno;
	sw_pages_waited(pages, begin_ns);
	errno = error;
	if (n == (ssize_t) bytes)
		return true;
	if (n >= 0)
		errno = 0;
	if (!sw_expendable_is_lost(reader))
		return false;
	if (slow != NULL)
		stall(pages, slow->dev_major, slow->dev_minor);
	else
		pages->swap_stalled = true;
	errno = ETIMEDOUT;
	return false;
}

size_t sw_pages_read(struct sw_pages *pages, int mem_fd, void *buffer, size_t bytes, uint64_t avma)
{
	if (pages->careful && !pages->confined && sw_pages_present(pages, avma, bytes) < bytes) {
		errno = ETIMEDOUT;
		return 0;
	}
	/* At mem it is an error at once that userfaultfd(2) serves a page: mm/userfaultfd.c v6.1. */
	if (!pages->swapped && (pages->n_slow == 0 || !sw_pages_may_stall(pages, avma, bytes)))
		return sw_pread(mem_fd, buffer, bytes, avma);
	size_t got = 0;
	while (got < bytes) {
		const struct sw_pages_slow *slow = slow_find(pages, avma);
		uint64_t end = avma + (bytes - got);
		if (slow != NULL && slow->start_avma > avma) {
			end = slow->start_avma < end ? slow->start_avma : end;
			slow = NULL;
		} else if (slow != NULL) {
			end = slow->end_avma < end ? slow->end_avma : end;
		}
		size_t n = (size_t) (end - avma);
		if (n > SW_EXPENDABLE_READ_BYTES)
			n = SW_EXPENDABLE_READ_BYTES;
		if (slow == NULL && !pages->swapped) {
			if (sw_pread(mem_fd, (uint8_t *) buffer + got, n, avma) < n)
				return got;
		} else if (!part_read(pages, mem_fd, slow, (uint8_t *) buffer + got, n, avma)) {
			return got;
		}
		got += n;
		avma += n;
	}
	return got;
}
