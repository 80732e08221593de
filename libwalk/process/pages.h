/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_PAGES_H
#define SW_PROCESS_PAGES_H

#include "process/expendable.h"
#include "process/filesystems.h"

/*
 * Reads of a running process's memory that come back. A page that is not in memory is waited for: most
 * come from a disk, some never come (FUSE, NFS, swap, each without its server or device). Memory that
 * may be such is known by its device before it is read, and read by an expendable process.
 */
struct sw_pages_slow {
	uint64_t start_avma, end_avma; /* [start, end) */
	uint32_t dev_major, dev_minor;
	enum sw_fs_kind kind;
	bool stalled; /* of this device a page did not come */
};

enum { SW_PAGES_LOST_MAX = 4 };

struct sw_pages {
	int live_fd;            /* borrowed: sw_target_live_fd(), for the opener */
	int mem_fd;             /* borrowed: /proc/PID/mem, for the reader */
	int proc_fd;            /* borrowed: of the thread that is looked through */
	struct sw_arena *arena; /* borrowed */
	int pagemap_fd;         /* owned: /proc/PID/pagemap; -EBADF when it is refused */
	bool swapped;           /* some of its anonymous memory is in the swap */
	bool swap_stalled;      /* and did not come from there */
	bool careful;           /* one did not come: only what is in memory is read */
	bool confined;          /* no other reader can be started */
	bool stalled;           /* the copy did not come to its end */
	bool left_behind;       /* one that may still write to where the window's copies are */
	unsigned n_lost;        /* readers */
	int64_t waited_ns;      /* in all, but for copies: sw_pages_deadline_ns() */
	uint32_t waits_ms;      /* so long, in all, at most; 0: 3 s */
	int64_t copied_ns;      /* in all: sw_pages_may_copy() */
	struct sw_fs_file root; /* our root directory */
	bool root_known;
	struct sw_pages_slow *slow; /* the arena's; sorted */
	size_t n_slow;
	struct sw_filesystems fs, our_fs; /* where it is, and where we are */
	bool fs_known, our_fs_known;
	struct sw_expendable *reader; /* owned */
	struct sw_expendable *ending; /* owned: the window's, which has done its work */
	struct sw_expendable *opener; /* owned: process/guarded.h */
};

void sw_pages_init(struct sw_pages *pages);
void sw_pages_deinit(struct sw_pages *pages);

/* Looks at what is mapped now. status: text of /proc/PID/status. 0, -SW_E_NOMEM. */
int sw_pages_classify(struct sw_pages *pages, struct sw_arena *arena, int proc_fd,
		      const struct sw_map *maps, size_t n_maps);

/* Whether [avma, avma + bytes) has pages of a file that may never come. In the window, too. */
bool sw_pages_may_stall(const struct sw_pages *pages, uint64_t avma, size_t bytes);

/* How many bytes from avma on lie in pages that are in memory, at most bytes. In the window, too. */
size_t sw_pages_present(const struct sw_pages *pages, uint64_t avma, size_t bytes);

/* As sw_pread() of mem_fd, /proc/PID/mem, but of files that may not answer only what is in memory. errno
 * is ETIMEDOUT when pages do not come. */
size_t sw_pages_read(struct sw_pages *pages, int mem_fd, void *buffer, size_t bytes, uint64_t avma);

/* The party that answers for an open file, as far as the target's mounts and ours tell; it is not
 * asked itself. */
enum sw_fs_kind sw_pages_fd_kind(struct sw_pages *pages, int fd);

/* Opens for us; started when it is first needed. NULL: too many were lost. */
struct sw_expendable *sw_pages_opener(struct sw_pages *pages);
void sw_pages_opener_drop(struct sw_pages *pages);
/* Before privileges are given up. */
void sw_pages_opener_end(struct sw_pages *pages);
/* The same for the opener and the reader, which share our memory and have our capabilities: a process that is taken over
 * by what it parses would have them do what it may not do itself. Either is started anew when it is needed. */
void sw_pages_helpers_end(struct sw_pages *pages);

/* A file's kind, by the device of its mapping; *ret_stalled: it does not answer. */
enum sw_fs_kind sw_pages_file_kind(const struct sw_pages *pages, const struct sw_map *map,
				   bool *ret_stalled);
void sw_pages_file_stalled(struct sw_pages *pages, const struct sw_map *map);

/*
 * The end of a wait for pages that may not come, at most patience_ms after begin_ns. All such waits
 * of a capture together have a limit, too, as a server may answer each time at the last moment.
 * Call sw_pages_waited() afterwards.
 */
int64_t sw_pages_deadline_ns(const struct sw_pages *pages, int64_t begin_ns, int patience_ms);
void sw_pages_waited(struct sw_pages *pages, int64_t begin_ns);

/*
 * Whether there is time left for the copy of one more file whose server answers. Copies have a limit of their own: a
 * server in good health that has large files leaves all the time for the waits. Call sw_pages_copied() afterwards.
 */
bool sw_pages_may_copy(const struct sw_pages *pages);
void sw_pages_copied(struct sw_pages *pages, int64_t begin_ns);

/* Starts the reader, if there is none: before the window. NULL when it cannot be had. */
struct sw_expendable *sw_pages_reader(struct sw_pages *pages);

/*
 * Whether the target's memory can be read and mappings of it can be looked at: false where one of its threads holds the
 * lock of its address space, and waits. So does one that unmaps a file whose server does not answer: fuse_vma_close() in
 * fs/fuse/file.c, v6.1, which writes the file's pages. Asked by the reader, before anybody else reads. patience_ms: 0 is as long as all waits may take.
 */
bool sw_pages_space_answers(struct sw_pages *pages, uint32_t patience_ms);

/* Give up a lost reader, which executes nothing from here on; if it does not end, it is left
 * behind. */
void sw_pages_reader_drop(struct sw_pages *pages);

/* When the window is over: the reader stays only for memory that may stall, and confined. A reader
 * that did not come back is left behind. */
void sw_pages_settle(struct sw_pages *pages);

/* Whether the address space of an open pagemap has ended: by an exit, or by an execve. Waits for no page. */
bool sw_pages_space_is_gone(int pagemap_fd);

#endif
