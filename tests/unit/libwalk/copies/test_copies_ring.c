/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ring of BPF: records that are whole, being written, left out, around its end, and no such at all. */
#include "copies/ring.h"
#include "test.h"

#include <linux/bpf.h>
#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 4096, HEAD = BPF_RINGBUF_HDR_SZ };

struct fixture {
	int fd;
	struct sw_copies_ring ring;
	uint8_t *kernel; /* its own view: both pages, then the data once */
};

/* Laid out as the kernel's: the data appear twice. */
static struct fixture start(uint64_t begin)
{
	struct fixture f = {.fd = memfd_create("ring", MFD_CLOEXEC)};
	assert_true(f.fd >= 0);
	assert_int_equal(ftruncate(f.fd, 2 * PAGE + BYTES), 0);
	f.kernel = mmap(NULL, 2 * PAGE + BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	assert_ptr_not_equal(f.kernel, MAP_FAILED);
	uint8_t *view = mmap(NULL, PAGE + 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(view, MAP_FAILED);
	assert_ptr_equal(mmap(view, PAGE + BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, f.fd, PAGE),
			 view);
	assert_ptr_equal(mmap(view + PAGE + BYTES, BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, f.fd,
			      2 * PAGE),
			 view + PAGE + BYTES);
	memcpy(f.kernel, &begin, sizeof(begin));
	memcpy(f.kernel + PAGE, &begin, sizeof(begin));
	f.ring = (struct sw_copies_ring){.read_at = (uint64_t *) f.kernel,
					 .written_at = (const uint64_t *) view,
					 .data = view + PAGE,
					 .bytes = BYTES,
					 .at = begin};
	return f;
}

static void end(struct fixture *f)
{
	assert_int_equal(munmap((void *) (uintptr_t) f->ring.written_at, PAGE + 2 * BYTES), 0);
	assert_int_equal(munmap(f->kernel, 2 * PAGE + BYTES), 0);
	assert_int_equal(close(f->fd), 0);
}

static uint64_t written(const struct fixture *f)
{
	uint64_t at;
	memcpy(&at, f->kernel + PAGE, sizeof(at));
	return at;
}

/* As the kernel does. length may have bits besides. */
static void append(struct fixture *f, uint32_t length, uint8_t with)
{
	uint64_t at = written(f);
	size_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	uint8_t *data = f->kernel + 2 * PAGE;
	for (size_t i = 0; i < HEAD; i++)
		data[(at + i) % BYTES] = i < 4 ? (uint8_t) (length >> 8 * i) : 0;
	for (size_t i = 0; i < size && i < BYTES; i++)
		data[(at + HEAD + i) % BYTES] = with;
	at += (HEAD + size + 7) & ~(uint64_t) 7;
	memcpy(f->kernel + PAGE, &at, sizeof(at));
}

static void assert_next(struct fixture *f, size_t size, uint8_t with)
{
	const uint8_t *bytes;
	size_t n;
	assert_true(sw_copies_ring_next(&f->ring, &bytes, &n));
	assert_int_equal(n, size);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], with);
}

static void assert_none(struct fixture *f)
{
	const uint8_t *bytes;
	size_t n;
	assert_false(sw_copies_ring_next(&f->ring, &bytes, &n));
}

TEST(test_in_order_and_given_back)
{
	struct fixture f = start(0);
	append(&f, 100, 1);
	append(&f, 24, 2);
	assert_next(&f, 100, 1);
	assert_int_equal(f.ring.read_at[0], 0); /* they are in use */
	assert_next(&f, 24, 2);
	assert_none(&f);
	sw_copies_ring_give_back(&f.ring);
	assert_int_equal(f.ring.read_at[0], written(&f));
	append(&f, 8, 3);
	assert_next(&f, 8, 3);
	end(&f);
}

TEST(test_around_the_end)
{
	struct fixture f = start(10 * BYTES - 40);
	append(&f, 200, 7);
	assert_next(&f, 200, 7);
	assert_none(&f);
	end(&f);
}

TEST(test_one_that_is_being_written)
{
	struct fixture f = start(0);
	append(&f, 40 | BPF_RINGBUF_BUSY_BIT, 1);
	append(&f, 40, 2);
	assert_none(&f);
	f.kernel[2 * PAGE + 3] &= 0x7f; /* now it is done */
	assert_next(&f, 40, 1);
	assert_next(&f, 40, 2);
	end(&f);
}

TEST(test_one_that_was_left_out)
{
	struct fixture f = start(0);
	append(&f, 40 | BPF_RINGBUF_DISCARD_BIT, 1);
	append(&f, 40, 2);
	assert_next(&f, 40, 2);
	end(&f);
}

TEST(test_one_that_is_longer_than_what_was_written)
{
	struct fixture f = start(0);
	append(&f, 40, 1);
	f.kernel[2 * PAGE + 1] = 0x01; /* 296 bytes */
	assert_none(&f);
	append(&f, 16, 2); /* what is written from now on is believed again */
	assert_next(&f, 16, 2);
	end(&f);
}

static void assert_peeked(const struct fixture *f, uint64_t *at, size_t size, uint8_t with)
{
	const uint8_t *bytes;
	size_t n;
	assert_true(sw_copies_ring_peek(&f->ring, at, &bytes, &n));
	assert_int_equal(n, size);
	assert_int_equal(bytes[0], with);
}

/* Peeking takes nothing, sees each record once, and begins behind those that were taken. */
TEST(test_peek)
{
	struct fixture f = start(0);
	const uint8_t *bytes;
	size_t n;
	uint64_t at = 0;
	append(&f, 40, 1);
	append(&f, 24, 2);
	assert_peeked(&f, &at, 40, 1);
	assert_peeked(&f, &at, 24, 2);
	assert_false(sw_copies_ring_peek(&f.ring, &at, &bytes, &n));
	assert_next(&f, 40, 1);
	append(&f, 16, 3);
	assert_peeked(&f, &at, 16, 3);
	assert_next(&f, 24, 2);
	assert_next(&f, 16, 3);
	append(&f, 8, 4);
	assert_next(&f, 8, 4);
	append(&f, 8, 5);
	assert_peeked(&f, &at, 8, 5);
	end(&f);
}

/* A record that is longer than the ring is none, though so much was written. */
TEST(test_longer_than_the_ring)
{
	struct fixture f = start(0);
	const uint32_t length = BYTES;
	const uint64_t at = BYTES + HEAD;
	memcpy(f.kernel + 2 * PAGE, &length, sizeof(length));
	memcpy(f.kernel + PAGE, &at, sizeof(at));
	assert_none(&f);
	assert_false(sw_copies_ring_has_more(&f.ring));
	end(&f);
	f = start(0);
	append(&f, BYTES - HEAD, 1);
	assert_next(&f, BYTES - HEAD, 1);
	end(&f);
}
