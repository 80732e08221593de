/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May run while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "iterate/read.h"

#include <snapwalk/error.h>

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum { READS_MAX = 1 << 20 }; /* of one pass; each brings a thread at least */

/* Reads into [to, end) until it is full or the pass is over. */
static int read_all(int fd, uint8_t *to, const uint8_t *end, size_t *ret_bytes)
{
	const uint8_t *begin = to;
	for (int i = 0; to < end; i++) {
		if (i == READS_MAX)
			return -SW_E_INVALID;
		ssize_t n = read(fd, to, (size_t) (end - to));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOMEM ? -SW_E_NOMEM : -SW_E_IO;
		if (n == 0)
			break;
		to += n;
	}
	*ret_bytes = (size_t) (to - begin);
	return 0;
}

/* Records of size bytes. */
static int pass_read(int fd, void *records, size_t size, size_t max,
		     struct sw_iterate_pass *ret_pass)
{
	size_t bytes = 0, rest = 0;
	int r = read_all(fd, records, (uint8_t *) records + size * max, &bytes);
	if (r != 0)
		return r;
	if (max == 0 || bytes % size != 0)
		return -SW_E_INVALID;
	/* Whether there is one more is known only by asking for it. */
	uint8_t more[1];
	if (bytes == size * max) {
		r = read_all(fd, more, more + sizeof(more), &rest);
		if (r != 0)
			return r;
	}
	*ret_pass = (struct sw_iterate_pass){.n = bytes / size, .overflow = rest != 0};
	return 0;
}

int sw_iterate_read(int fd, struct sw_iterate_record *records, size_t max,
		    struct sw_iterate_pass *ret_pass)
{
	struct sw_iterate_pass pass;
	int r = pass_read(fd, records, sizeof(*records), max, &pass);
	if (r != 0)
		return r;
	pass.cut = !pass.overflow && pass.n > 0 && records[pass.n - 1].is_last == 0;
	*ret_pass = pass;
	return 0;
}

int sw_iterate_read_returns(int fd, struct sw_iterate_return *returns, size_t max,
			    struct sw_iterate_pass *ret_pass)
{
	return pass_read(fd, returns, sizeof(*returns), max, ret_pass);
}

int sw_iterate_read_locks(int fd, struct sw_iterate_lock *locks, size_t max,
			  struct sw_iterate_pass *ret_pass)
{
	return pass_read(fd, locks, sizeof(*locks), max, ret_pass);
}

int sw_iterate_read_moved(int fd, struct sw_iterate_moved *moved)
{
	struct sw_iterate_pass pass;
	int r = pass_read(fd, moved, sizeof(*moved), 1, &pass);
	if (r != 0)
		return r;
	if (pass.n == 0)
		return -SW_E_NO_PROCESS;
	return moved->n <= SW_ITERATE_MOVED_MAX ? 0 : -SW_E_INVALID;
}

long sw_iterate_read_files(int fd, struct sw_iterate_file *files, size_t max)
{
	ssize_t n;
	/* EAGAIN: a million others came before the next one, bpf_seq_read() in kernel/bpf/bpf_iter.c. */
	for (int i = 0; (n = read(fd, files, max * sizeof(*files))) < 0; i++)
		if ((errno != EINTR && errno != EAGAIN) || i == READS_MAX)
			return -errno;
	return n % (ssize_t) sizeof(*files) == 0 ? n / (ssize_t) sizeof(*files) : -EINVAL;
}
