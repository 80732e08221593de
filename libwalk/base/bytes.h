/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_BYTES_H
#define SW_BASE_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/*
 * A bounds-checked, little-endian view of bytes that somebody else wrote. Every getter returns
 * false, and leaves *ret alone, when the field does not lie wholly inside. Offsets are uint64_t, so
 * that a value from the data can be passed without a cast that could cut it.
 */
struct sw_bytes {
	const uint8_t *data; /* borrowed */
	size_t size;
};

static inline bool sw_bytes_has(struct sw_bytes b, uint64_t offset, uint64_t length)
{
	return offset <= b.size && length <= b.size - offset;
}

/* The part [offset, offset + length). */
static inline bool sw_bytes_sub(struct sw_bytes b, uint64_t offset, uint64_t length,
				struct sw_bytes *ret)
{
	if (!sw_bytes_has(b, offset, length))
		return false;
	/* No bytes may have no address, to which C17 does not let 0 be added. */
	*ret = (struct sw_bytes){b.size > 0 ? b.data + offset : b.data, (size_t) length};
	return true;
}

static inline bool sw_bytes_copy(struct sw_bytes b, uint64_t offset, void *to, size_t length)
{
	if (!sw_bytes_has(b, offset, length))
		return false;
	if (length > 0)
		memcpy(to, b.data + offset, length);
	return true;
}

static inline bool sw_bytes_u8(struct sw_bytes b, uint64_t offset, uint8_t *ret)
{
	return sw_bytes_copy(b, offset, ret, sizeof(*ret));
}

/* x86-64 only for now: memory order is host order. A big-endian port swaps in these three. */
static inline bool sw_bytes_u16(struct sw_bytes b, uint64_t offset, uint16_t *ret)
{
	return sw_bytes_copy(b, offset, ret, sizeof(*ret));
}

static inline bool sw_bytes_u32(struct sw_bytes b, uint64_t offset, uint32_t *ret)
{
	return sw_bytes_copy(b, offset, ret, sizeof(*ret));
}

static inline bool sw_bytes_u64(struct sw_bytes b, uint64_t offset, uint64_t *ret)
{
	return sw_bytes_copy(b, offset, ret, sizeof(*ret));
}

/* A NUL-terminated string that ends inside; *ret is borrowed from the bytes. */
static inline bool sw_bytes_str(struct sw_bytes b, uint64_t offset, const char **ret)
{
	if (offset >= b.size || memchr(b.data + offset, '\0', b.size - (size_t) offset) == NULL)
		return false;
	*ret = (const char *) b.data + offset;
	return true;
}

/* ---- bytes of files, all that are wanted ------------------------------------------------------ */

/*
 * Reads length bytes at an offset, however many calls that takes, and returns how many there are. When
 * that is fewer, errno says why: 0 is the end of the file. Nothing is allocated: also for the stop.
 */
static inline size_t sw_pread(int fd, void *buffer, size_t length, uint64_t off)
{
	size_t got = 0;
	errno = 0;
	while (got < length && off <= INT64_MAX - got) {
		ssize_t n = pread(fd, (uint8_t *) buffer + got, length - got, (off_t) (off + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0; /* a call before may have set it */
		if (n <= 0)
			return got;
		got += (size_t) n;
	}
	if (got < length)
		errno = EINVAL; /* there are no such offsets */
	return got;
}

/* Reads size bytes from a file that blocks, however many calls that takes. False: it ended before, or failed. */
static inline bool sw_read_all(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (uint8_t *) to + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t) n;
	}
	return true;
}

/* Writes size bytes to a file that blocks, however many calls that takes. False with errno: some may
 * have been written. */
static inline bool sw_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *p = data;
	while (size > 0) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		p += n;
		size -= (size_t) n;
	}
	return true;
}

#endif
