/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of perf events in rings of memory: whole, wrapped, and such as no kernel writes. */
#include "events/rings.h"
#include "arch/perf_regs.h"
#include "arch/user_regs.h"
#include "test.h"

enum {
	PAGE = 4096,
	RING_BYTES = 128 << 10,
	STACK_BYTES = 64,
	HEADER = sizeof(struct perf_event_header),
	ABI = HEADER + 8,
	REGS = ABI + 8,
	STACK_SIZE = REGS + 8 * SW_ARCH_PERF_REGS_N,
	STACK = STACK_SIZE + 8,
	VALID = STACK + STACK_BYTES,
	SAMPLE = VALID + 8,
};

struct fixture {
	struct sw_events_ring ring;
	struct sw_events_rings rings;
};

static struct perf_event_mmap_page *page_create(size_t bytes)
{
	/* The page has its own size: a sanitizer sees a read behind it. */
	uint8_t *memory = calloc(1, PAGE + bytes);
	assert_non_null(memory);
	struct perf_event_mmap_page *page = (struct perf_event_mmap_page *) memory;
	page->data_offset = PAGE;
	return page;
}

/* A ring that was read and written up to begin. */
static struct fixture *start(size_t bytes, uint64_t begin)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->ring = (struct sw_events_ring){.page = page_create(bytes), .at = begin};
	f->ring.page->data_head = f->ring.page->data_tail = begin;
	f->rings.all = &f->ring;
	f->rings.n = 1;
	f->rings.bytes = bytes;
	return f;
}

static void end(struct fixture *f)
{
	free(f->ring.page);
	free(f);
}

/* As the kernel does. */
static void append(struct fixture *f, struct sw_events_ring *ring, const uint8_t *bytes, size_t n)
{
	uint8_t *data = (uint8_t *) ring->page + PAGE;
	for (size_t i = 0; i < n; i++)
		data[(ring->page->data_head + i) & (f->rings.bytes - 1)] = bytes[i];
	ring->page->data_head += n;
}

static void put16(uint8_t *to, size_t at, size_t value)
{
	uint16_t v = (uint16_t) value;
	memcpy(to + at, &v, sizeof(v));
}

static void put32(uint8_t *to, size_t at, uint32_t value)
{
	memcpy(to + at, &value, sizeof(value));
}

static void put64(uint8_t *to, size_t at, uint64_t value)
{
	memcpy(to + at, &value, sizeof(value));
}

static void header_make(uint8_t *to, uint32_t type, uint16_t misc, size_t size)
{
	put32(to, offsetof(struct perf_event_header, type), type);
	put16(to, offsetof(struct perf_event_header, misc), misc);
	put16(to, offsetof(struct perf_event_header, size), size);
}

/* Registers are 100, 101, ..., the stack is 1, 2, ..., of which 48 bytes are valid. */
static void sample_make(uint8_t to[static SAMPLE], uint32_t tid)
{
	memset(to, 0, SAMPLE);
	header_make(to, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, SAMPLE);
	put32(to, HEADER, 7);
	put32(to, HEADER + 4, tid);
	put64(to, ABI, PERF_SAMPLE_REGS_ABI_64);
	for (size_t i = 0; i < SW_ARCH_PERF_REGS_N; i++)
		put64(to, REGS + 8 * i, 100 + i);
	put64(to, STACK_SIZE, STACK_BYTES);
	for (size_t i = 0; i < STACK_BYTES; i++)
		to[STACK + i] = (uint8_t) (i + 1);
	put64(to, VALID, 48);
}

static void assert_none(struct fixture *f)
{
	struct sw_events_sample got;
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NONE);
	assert_int_equal(f->ring.at, f->ring.page->data_head);
	assert_int_equal(f->ring.page->data_tail, f->ring.page->data_head);
}

static void assert_sample(struct fixture *f, pid_t tid)
{
	struct sw_events_sample got = {0};
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_SAMPLE);
	assert_int_equal(got.tid, tid);
	assert_int_equal(got.regs.rax, 100);
	assert_int_equal(got.regs.rsp, 107);
	assert_int_equal(got.regs.rip, 108);
	assert_int_equal(got.regs.r15, 116);
	assert_int_equal(got.stack_bytes, 48);
	for (size_t i = 0; i < 48; i++)
		assert_int_equal(got.stack[i], i + 1);
}

TEST(test_sample)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t sample[SAMPLE];
	assert_none(f);
	sample_make(sample, 11);
	append(f, &f->ring, sample, SAMPLE);
	assert_sample(f, 11);
	assert_int_equal(f->ring.page->data_tail, SAMPLE);
	assert_none(f);
	/* More is valid than there is. */
	struct sw_events_sample got;
	put64(sample, VALID, UINT64_MAX);
	append(f, &f->ring, sample, SAMPLE);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_SAMPLE);
	assert_int_equal(got.stack_bytes, STACK_BYTES);
	assert_int_equal(got.regs.cs, 0);
	put64(sample, ABI, PERF_SAMPLE_REGS_ABI_32);
	append(f, &f->ring, sample, SAMPLE);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_SAMPLE);
	assert_int_equal(got.regs.cs, SW_ARCH_USER32_CS);
	end(f);
}

/* Wherever in it the ring ends: in its header, too. */
TEST(test_wrapped)
{
	for (size_t before = 1; before < SAMPLE; before++) {
		struct fixture *f = start(RING_BYTES, 5 * (uint64_t) RING_BYTES - before);
		uint8_t sample[SAMPLE];
		sample_make(sample, 11);
		append(f, &f->ring, sample, SAMPLE);
		sample_make(sample, 12);
		append(f, &f->ring, sample, SAMPLE);
		assert_sample(f, 11);
		assert_sample(f, 12);
		assert_none(f);
		end(f);
	}
}

/* Nothing more of what is there is believed; what comes later is. */
TEST(test_wrong_size)
{
	static const size_t sizes[] = {0, 1, HEADER - 1, 2 * SAMPLE + 1, UINT16_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fixture *f = start(RING_BYTES, 0);
		uint8_t sample[SAMPLE];
		sample_make(sample, 11);
		put16(sample, offsetof(struct perf_event_header, size), sizes[i]);
		append(f, &f->ring, sample, SAMPLE);
		sample_make(sample, 12);
		append(f, &f->ring, sample, SAMPLE);
		assert_none(f);
		sample_make(sample, 13);
		append(f, &f->ring, sample, SAMPLE);
		assert_sample(f, 13);
		end(f);
	}
}

/* Not even a header. */
TEST(test_torn)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t sample[SAMPLE];
	sample_make(sample, 11);
	append(f, &f->ring, sample, HEADER - 1);
	assert_none(f);
	end(f);
}

/* A record that is longer than the ring, and more of them than the ring can hold. */
TEST(test_longer_than_ring)
{
	struct fixture *f = start(PAGE, 0);
	uint8_t sample[SAMPLE];
	sample_make(sample, 11);
	put16(sample, offsetof(struct perf_event_header, size), 2 * PAGE);
	append(f, &f->ring, sample, SAMPLE);
	f->ring.page->data_head = 2 * PAGE;
	assert_none(f);
	f->ring.page->data_head = UINT64_MAX - PAGE;
	assert_none(f);
	sample_make(sample, 12);
	append(f, &f->ring, sample, SAMPLE);
	assert_sample(f, 12);
	end(f);
}

/* Samples that were cut, and such as say more than they have: each is left out, the next one is not. */
static void assert_refused(const uint8_t *record, size_t size)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t sample[SAMPLE];
	append(f, &f->ring, record, size);
	sample_make(sample, 12);
	append(f, &f->ring, sample, SAMPLE);
	assert_sample(f, 12);
	assert_none(f);
	end(f);
}

TEST(test_cut_samples)
{
	for (size_t size = HEADER; size < SAMPLE; size++) {
		uint8_t sample[SAMPLE];
		sample_make(sample, 11);
		put16(sample, offsetof(struct perf_event_header, size), size);
		assert_refused(sample, size);
	}
}

TEST(test_hostile_samples)
{
	static const struct {
		size_t at;
		uint64_t value;
	} words[] = {
		{ABI, PERF_SAMPLE_REGS_ABI_NONE},
		{ABI, 3},
		{ABI, UINT64_MAX},
		{STACK_SIZE, 0},
		{STACK_SIZE, STACK_BYTES + 1},
		{STACK_SIZE, STACK_BYTES + 8},
		{STACK_SIZE, STACK_BYTES + 9},
		{STACK_SIZE, UINT64_MAX},
		{STACK_SIZE, UINT64_MAX - 7},
		/* A thread that has ended, and one of another namespace. */
		{HEADER, UINT64_C(0xffffffff) << 32 | 7},
		{HEADER, 7},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint8_t sample[SAMPLE];
		sample_make(sample, 11);
		put64(sample, words[i].at, words[i].value);
		assert_refused(sample, SAMPLE);
	}
}

TEST(test_lost)
{
	struct fixture *f = start(RING_BYTES, RING_BYTES - 12);
	uint8_t lost[HEADER + 16], sample[SAMPLE];
	header_make(lost, PERF_RECORD_LOST, 0, sizeof(lost));
	put64(lost, HEADER, 99);
	put64(lost, HEADER + 8, 40);
	append(f, &f->ring, lost, sizeof(lost));
	sample_make(sample, 11);
	append(f, &f->ring, sample, SAMPLE);
	put64(lost, HEADER + 8, 2);
	append(f, &f->ring, lost, sizeof(lost));
	/* The record does not say how many were lost. */
	put16(lost, offsetof(struct perf_event_header, size), sizeof(lost) - 8);
	append(f, &f->ring, lost, sizeof(lost) - 8);
	assert_sample(f, 11);
	assert_int_equal(f->rings.lost, 40);
	assert_none(f);
	assert_int_equal(f->rings.lost, 42);
	end(f);
}

TEST(test_kinds)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t record[HEADER];
	struct sw_events_sample got;
	header_make(record, 1000, 0, HEADER);
	append(f, &f->ring, record, HEADER);
	header_make(record, PERF_RECORD_COMM, 0, HEADER);
	append(f, &f->ring, record, HEADER);
	header_make(record, PERF_RECORD_MMAP, 0, HEADER);
	append(f, &f->ring, record, HEADER);
	header_make(record, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, HEADER);
	append(f, &f->ring, record, HEADER);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_CODE);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_PROGRAM);
	assert_none(f);
	end(f);
}

/* The page of the kernel's probes is told from other code, by its whole name. */
TEST(test_code_of_probes)
{
	static const char *const names[] = {"[uprobes]", "[uprobes-trampoline]", "/a/[uprobes]",
					    ""};
	enum { NAME = HEADER + 32, SIZE = NAME + 24 };
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		struct fixture *f = start(RING_BYTES, 0);
		uint8_t record[SIZE] = {0};
		struct sw_events_sample got;
		header_make(record, PERF_RECORD_MMAP, 0, SIZE);
		memcpy(record + NAME, names[i], strlen(names[i]));
		append(f, &f->ring, record, SIZE);
		header_make(record, PERF_RECORD_MMAP, 0, NAME);
		append(f, &f->ring, record, NAME);
		assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_CODE);
		assert_int_equal(got.of_probes, i == 0);
		assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_CODE);
		assert_false(got.of_probes);
		end(f);
	}
}

/* Names, of those that are there and of those that begin; what is cut says nothing. */
TEST(test_names)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t name[HEADER + 24] = {0}, begins[HEADER + 24] = {0};
	struct sw_events_sample got;
	header_make(name, PERF_RECORD_COMM, 0, sizeof(name));
	put32(name, HEADER, 7);
	put32(name, HEADER + 4, 11);
	memcpy(name + HEADER + 8, "worker", 7);
	append(f, &f->ring, name, sizeof(name));
	header_make(begins, PERF_RECORD_FORK, 0, sizeof(begins));
	put32(begins, HEADER + 8, 12);
	put32(begins, HEADER + 12, 11);
	append(f, &f->ring, begins, sizeof(begins));
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NAME);
	assert_int_equal(got.tid, 11);
	assert_int_equal(got.named_as, 0);
	assert_string_equal(got.comm, "worker");
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NAME);
	assert_int_equal(got.tid, 12);
	assert_int_equal(got.named_as, 11);
	/* A process that begins, and a thread whose maker is of another namespace. */
	put32(begins, HEADER, 8);
	put32(begins, HEADER + 4, 7);
	append(f, &f->ring, begins, sizeof(begins));
	put32(begins, HEADER + 4, 8);
	put32(begins, HEADER + 12, UINT32_MAX);
	append(f, &f->ring, begins, sizeof(begins));
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_CHILD);
	assert_int_equal(got.pid, 8);
	assert_none(f);
	/* Longer than any, without an end. */
	uint8_t large[HEADER + 8 + SW_COMM_MAX + 8];
	memset(large, 'x', sizeof(large));
	header_make(large, PERF_RECORD_COMM, 0, sizeof(large));
	append(f, &f->ring, large, sizeof(large));
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NAME);
	assert_int_equal(strlen(got.comm), SW_COMM_MAX - 1);
	header_make(name, PERF_RECORD_COMM, 0, HEADER + 8);
	append(f, &f->ring, name, HEADER + 8);
	header_make(begins, PERF_RECORD_FORK, 0, HEADER + 8);
	append(f, &f->ring, begins, HEADER + 8);
	assert_none(f);
	end(f);
}

static void assert_of(struct fixture *f, enum sw_events_kind kind, pid_t pid, pid_t tid)
{
	struct sw_events_sample got;
	assert_int_equal(sw_events_rings_next(&f->rings, &got), kind);
	assert_int_equal(got.pid, pid);
	assert_int_equal(got.tid, tid);
}

/* Records of all processes say of which one they are; names are left out, ends of first threads are not. */
TEST(test_processes)
{
	struct fixture *f = start(RING_BYTES, 0);
	uint8_t record[HEADER + 24] = {0};
	f->rings.of_all = true;
	put32(record, HEADER, 7);
	put32(record, HEADER + 4, 11);
	header_make(record, PERF_RECORD_MMAP, 0, sizeof(record));
	append(f, &f->ring, record, sizeof(record));
	header_make(record, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(record));
	append(f, &f->ring, record, sizeof(record));
	header_make(record, PERF_RECORD_COMM, 0, sizeof(record));
	append(f, &f->ring, record, sizeof(record));
	/* pid, ppid, tid, ptid */
	header_make(record, PERF_RECORD_FORK, 0, sizeof(record));
	put32(record, HEADER + 4, 7);
	put32(record, HEADER + 12, 7);
	append(f, &f->ring, record, sizeof(record));
	put32(record, HEADER + 4, 11);
	put32(record, HEADER + 8, 11);
	header_make(record, PERF_RECORD_EXIT, 0, sizeof(record));
	append(f, &f->ring, record, sizeof(record));
	put32(record, HEADER + 8, 7);
	append(f, &f->ring, record, sizeof(record));
	header_make(record, PERF_RECORD_EXIT, 0, HEADER + 8);
	append(f, &f->ring, record, HEADER + 8);
	assert_of(f, SW_EVENTS_CODE, 7, 11);
	assert_of(f, SW_EVENTS_PROGRAM, 7, 11);
	assert_of(f, SW_EVENTS_END, 7, 7);
	assert_none(f);
	f->rings.of_all = false;
	header_make(record, PERF_RECORD_EXIT, 0, sizeof(record));
	append(f, &f->ring, record, sizeof(record));
	assert_none(f);
	end(f);
}

/* The samples of several rings, one of which could not be had. */
TEST(test_rings)
{
	struct fixture *f = start(RING_BYTES, 0);
	struct sw_events_ring all[3] = {f->ring, {.cpu = 1}, {.page = page_create(RING_BYTES)}};
	struct sw_events_sample got;
	uint8_t sample[SAMPLE];
	f->rings.all = all;
	f->rings.n = 3;
	sample_make(sample, 11);
	append(f, &all[0], sample, SAMPLE);
	sample_make(sample, 12);
	append(f, &all[2], sample, SAMPLE);
	assert_sample(f, 11);
	assert_sample(f, 12);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NONE);
	free(all[2].page);
	end(f);
}

/* A process that writes what says nothing as fast as it can does not keep us for ever. */
TEST(test_flood)
{
	enum { N = 100000, BYTES = 1 << 20 };
	struct fixture *f = start(BYTES, 0);
	struct sw_events_sample got;
	uint8_t name[HEADER], sample[SAMPLE];
	size_t calls = 0;
	header_make(name, PERF_RECORD_COMM, 0, HEADER);
	for (size_t i = 0; i < N; i++)
		append(f, &f->ring, name, HEADER);
	sample_make(sample, 11);
	append(f, &f->ring, sample, SAMPLE);
	assert_int_equal(sw_events_rings_next(&f->rings, &got), SW_EVENTS_NONE);
	assert_true(f->ring.at < f->ring.page->data_head);
	while (sw_events_rings_next(&f->rings, &got) == SW_EVENTS_NONE)
		assert_true(++calls < N);
	assert_int_equal(got.tid, 11);
	end(f);
}
