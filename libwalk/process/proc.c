/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/proc.h"
#include "cleanup.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

enum {
	AUXV_BYTES = 1024,           /* AT_PAGESZ is among its first entries */
	STAT_TEXT_MAX = 1024,        /* 52 numbers and a name of at most 64 bytes */
	DIRENTS_BYTES = 16 * 1024,   /* one getdents64 call */
	TASK_DIRENTS_CALLS = 100000, /* calls for one listing: more threads than a pid can be */
};

/* Next decimal number (maybe negative) after blanks. */
static bool number_next(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	while (s < end && *s == ' ')
		s++;
	bool negative = s < end && *s == '-';
	s += negative;
	if (s == end || !isdigit((unsigned char) *s))
		return false;
	uint64_t value = 0;
	for (; s < end && isdigit((unsigned char) *s); s++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t) (*s - '0'), &value))
			return false;
	*p = s;
	*ret = negative ? -value : value;
	return true;
}

/* proc(5): pid (comm) state ppid ... The name may hold anything, also ") R": the last ')' ends
 * it, as everything after it is numbers. */
bool sw_proc_stat_parse(const char *text, size_t size, struct sw_proc_stat *ret)
{
	enum {
		PPID = 4,
		FLAGS = 9,
		UTIME = 14,
		STIME = 15,
		START = 22,
		VSIZE = 23,
		STACK = 28,
		LAST = STACK
	};
	const char *open = memchr(text, '(', size);
	const char *close = memrchr(text, ')', size);
	if (open == NULL || close == NULL || close < open)
		return false;
	const char *end = text + size, *p = close + 2;
	if (p >= end || close[1] != ' ')
		return false;
	struct sw_proc_stat stat = {.state = *p++};
	size_t length = (size_t) (close - open - 1);
	if (length >= sizeof(stat.comm))
		length = sizeof(stat.comm) - 1;
	memcpy(stat.comm, open + 1, length);
	uint64_t field[LAST + 1] = {0};
	for (int i = PPID; i <= LAST; i++)
		if (!number_next(&p, end, &field[i]) && i <= VSIZE)
			return false;
	stat.ppid = (pid_t) field[PPID];
	stat.flags = (uint32_t) field[FLAGS];
	stat.cpu_ticks = field[UTIME] + field[STIME];
	stat.starttime = field[START];
	stat.vsize_bytes = field[VSIZE];
	stat.start_stack_avma = field[STACK];
	*ret = stat;
	return true;
}

uint64_t sw_proc_statm_pages(const char *text)
{
	return strtoull(text, NULL, 10); /* the kernel's own digits, or an empty text: 0 */
}

ssize_t sw_proc_read_small(int dirfd, const char *name, char *buffer, size_t size)
{
	sw_cleanup(sw_close_p) int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n;
	do
		n = read(fd, buffer, size - 1);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		buffer[n] = '\0';
	return n;
}

/* Whether an auxiliary vector with words of that size has the size of pages, as every one has. */
static bool auxv_fits(const char *auxv, size_t size, size_t word)
{
	for (size_t at = 0; size - at >= 2 * word; at += 2 * word) {
		uint64_t type = 0, value = 0;
		memcpy(&type, auxv + at, word); /* little endian: the lower bytes */
		memcpy(&value, auxv + at + word, word);
		if (type == AT_PAGESZ)
			return value == (uint64_t) sysconf(_SC_PAGESIZE);
	}
	return false;
}

int sw_proc_elf_class(int dirfd)
{
	char auxv[AUXV_BYTES];
	ssize_t n = sw_proc_read_small(dirfd, "auxv", auxv, sizeof(auxv));
	return n > 0 && auxv_fits(auxv, (size_t) n, sizeof(uint32_t)) ? 32 : 64;
}

bool sw_proc_stat_read(int dirfd, const char *name, struct sw_proc_stat *ret)
{
	char text[STAT_TEXT_MAX];
	ssize_t n = sw_proc_read_small(dirfd, name, text, sizeof(text));
	return n > 0 && sw_proc_stat_parse(text, (size_t) n, ret);
}

bool sw_proc_status_number(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, length) == 0 && line[length] == ':') {
			const char *p = line + length + 1;
			p += strspn(p, "\t ");
			return number_next(&p, p + strlen(p), ret);
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

uint64_t sw_proc_status_capabilities(const char *text)
{
	static const char key[] = "\nCapEff:";
	const char *at = strstr(text, key);
	return at != NULL && strchr(at + 1, '\n') != NULL ? strtoull(at + strlen(key), NULL, 16)
							  : 0;
}

bool sw_proc_is_capable(unsigned capability)
{
	enum { STATUS_MAX = 16 << 10 };
	char status[STATUS_MAX];
	return sw_proc_read_small(AT_FDCWD, "/proc/thread-self/status", status, sizeof(status)) >
		       0 &&
	       (sw_proc_status_capabilities(status) >> capability & 1) != 0;
}

uint64_t sw_proc_switches(const char *text)
{
	uint64_t voluntary, involuntary;
	const char *state = strstr(text, "\nState:\t");
	if (state == NULL || state[strlen("\nState:\t")] == 'R' ||
	    !sw_proc_status_number(text, "voluntary_ctxt_switches", &voluntary) ||
	    !sw_proc_status_number(text, "nonvoluntary_ctxt_switches", &involuntary))
		return 0;
	return voluntary + involuntary + 1;
}

/* cgroups(7): hierarchy:controllers:path, one line for each hierarchy. */
bool sw_proc_cgroup_find(const char *text, const char **ret, size_t *ret_length)
{
	int best = 0;
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		const char *first = memchr(line, ':', length);
		const char *second = NULL;
		if (first != NULL)
			second = memchr(first + 1, ':', length - (size_t) (first + 1 - line));
		if (second != NULL) {
			int rank = 1;
			if (strncmp(line, "0::", 3) == 0)
				rank = 3;
			else if (strncmp(first, ":name=systemd:", 14) == 0)
				rank = 2;
			if (rank > best) {
				best = rank;
				*ret = second + 1;
				*ret_length = length - (size_t) (second + 1 - line);
			}
		}
		line += length;
		line += *line == '\n';
	}
	return best > 0;
}

/* A name of a directory entry as a thread id; "." and ".." give 0. */
static pid_t tid_parse(const char *name, size_t size)
{
	uint64_t value;
	const char *p = name;
	const char *end = name + strnlen(name, size);
	if (!number_next(&p, end, &value) || p != end || value > INT32_MAX)
		return 0;
	return (pid_t) value;
}

bool sw_proc_tids(int task_fd, pid_t *tids, size_t max, size_t *ret_n)
{
	_Alignas(struct dirent64) char buffer[DIRENTS_BYTES];
	size_t n = 0;
	if (lseek(task_fd, 0, SEEK_SET) < 0)
		return false;
	for (int calls = 0; calls < TASK_DIRENTS_CALLS; calls++) {
		ssize_t size = getdents64(task_fd, buffer, sizeof(buffer));
		if (size < 0)
			return false;
		if (size == 0)
			break;
		for (size_t at = 0; at + offsetof(struct dirent64, d_name) < (size_t) size;) {
			uint16_t length;
			memcpy(&length, buffer + at + offsetof(struct dirent64, d_reclen),
			       sizeof(length));
			if (length < offsetof(struct dirent64, d_name) ||
			    length > (size_t) size - at)
				return false;
			size_t name = offsetof(struct dirent64, d_name);
			pid_t tid = tid_parse(buffer + at + name, length - name);
			if (tid > 0) {
				if (n < max)
					tids[n] = tid;
				n++;
			}
			at += length;
		}
	}
	*ret_n = n;
	return true;
}
