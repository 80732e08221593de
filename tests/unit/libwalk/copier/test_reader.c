/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* copier/reader: a process without privileges, which may be hostile. */
#include "copier/reader.h"
#include "copier/pages.h"
#include "skip.h"
#include "test.h"

#include <signal.h>
#include <snapwalk/clock.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MS = 1000000, LONG_MS = 20000, SHORT_MS = 300, WORD = 0x123450 };

static size_t n_reads;
static uint64_t kept_avma;
static const uint8_t *kept;

/* Each word of the memory is its own address. */
static void read_words(void *arg, struct sw_copier_read *reads, size_t n)
{
	n_reads += n;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k + 8 <= reads[i].bytes; k += 8) {
			uint64_t word = reads[i].avma + k;
			memcpy(reads[i].buffer + k, &word, 8);
		}
		reads[i].ok = true;
	}
}

static bool keep(void *arg, uint64_t avma, const uint8_t *data, size_t bytes)
{
	kept_avma = avma;
	kept = data;
	return true;
}

static const struct sw_copier_source source = {.read = read_words, .keep = keep};

static enum sw_copier_end run_for(struct sw_copier *c, int64_t ms)
{
	n_reads = 0;
	return sw_copier_run(c, &source, sw_clock_ns() + ms * MS);
}

static struct sw_copier start(void (*run)(void *, struct sw_memory,
					  const struct sw_copier_channel *))
{
	struct sw_copier c;
	const struct sw_copier_job job = {.run = run};
	assert_int_equal(sw_copier_create(&job, 4, &c, NULL), 0);
	return c;
}

/* A reader that could not read what it should ends, which is seen. */
static void read_well(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	uint64_t word;
	if (told->n_threads != 2 || told->threads[1].fs_base != WORD ||
	    !sw_memory_u64(memory, told->threads[1].fs_base, &word) || word != WORD)
		_exit(1);
}

/* A rehearsal asks in its turn, the run after it has what was read. */
TEST(test_runs)
{
	struct sw_copier c = start(read_well);
	c.channel->n_threads = 2;
	c.channel->threads[1].fs_base = WORD;
	c.channel->rehearses = 1;
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	assert_int_equal(c.n_turns, 1);
	c.channel->rehearses = 0;
	sw_copier_foresee(&c);
	assert_int_equal(c.n_foreseen, 1);
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	assert_int_equal(c.n_turns, 0);
	assert_int_equal(n_reads, 1);
	assert_int_equal(__builtin_popcountll(c.channel->read[0]), 1);
	assert_false(c.missed);
	pid_t pid = c.pid;
	sw_copier_end(&c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(kept_avma, WORD & ~0xfffU);
	assert_int_equal(kept[1], 0x30); /* of 0x123000; it stays when the reader has ended */
	sw_copier_destroy(&c);
}

enum { MANY = 100 };

static void read_many(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	uint64_t word;
	for (uint64_t i = MANY; i > 0; i--)
		(void) sw_memory_u64(memory, WORD + i * 4096, &word);
}

/* The list of a long rehearsal is sorted in a process that has sorted nothing before. */
TEST(test_rehearses_many)
{
	struct sw_copier c = start(read_many);
	c.channel->rehearses = 1;
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	sw_copier_foresee(&c);
	assert_int_equal(c.n_foreseen, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(c.foreseen[i].avma, (WORD & ~0xfffU) + (i + 1) * 4096);
	sw_copier_destroy(&c);
}

static void hang(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	for (;;)
		atomic_signal_fence(memory_order_seq_cst);
}

static void status_has(pid_t pid, const char *line)
{
	char name[48], text[8192];
	(void) snprintf(name, sizeof(name), "/proc/%d/status", (int) pid);
	FILE *f = fopen(name, "re");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	(void) fclose(f);
	assert_non_null(strstr(text, line));
}

/* The reader has nothing that a parser could misuse; and its end is not waited for beyond the deadline. */
TEST(test_hangs)
{
	struct sw_copier c = start(hang);
	char name[48], link[8];
	int64_t begin_ns = sw_clock_ns();
	assert_int_equal(run_for(&c, SHORT_MS), SW_COPIER_LATE);
	assert_true(sw_clock_ns() - begin_ns >= SHORT_MS * (int64_t) MS);
	status_has(c.pid, "CapPrm:\t0000000000000000");
	status_has(c.pid, "CapEff:\t0000000000000000");
	status_has(c.pid, "NoNewPrivs:\t1");
	status_has(c.pid, "Seccomp:\t2");
	for (int fd = 0; fd < 64; fd++) {
		(void) snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int) c.pid, fd);
		assert_int_equal(readlink(name, link, sizeof(link)), -1);
		assert_int_equal(errno, ENOENT);
	}
	begin_ns = sw_clock_ns();
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_LATE);
	assert_true(sw_clock_ns() - begin_ns < LONG_MS * (int64_t) MS / 2);
	pid_t pid = c.pid;
	sw_copier_destroy(&c);
	assert_int_equal(kill(pid, 0), -1);
}

static struct sw_copier_channel *channel_of(struct sw_memory memory)
{
	return ((struct sw_copier_pages *) memory.arg)->channel;
}

/* Begins when it is too late, but in a rehearsal. */
static void be_late(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	const struct sw_copier_channel *c = channel_of(memory);
	uint64_t word;
	while (!c->rehearses && atomic_load(&c->over) == 0)
		atomic_signal_fence(memory_order_seq_cst);
	if (!sw_memory_u64(memory, WORD, &word) || word != WORD)
		_exit(1);
	if (told->n_threads > 0 && sw_memory_u64(memory, WORD + 4096, &word))
		_exit(1);
}

static void finishes(uint32_t n_threads)
{
	struct sw_copier c = start(be_late);
	c.channel->rehearses = 1;
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	sw_copier_foresee(&c);
	c.channel->rehearses = 0;
	c.channel->n_threads = n_threads;
	assert_int_equal(run_for(&c, 10), SW_COPIER_LATE);
	assert_int_equal(n_reads, 1);
	assert_true(c.pending);
	assert_true(sw_copier_finish(&c, sw_clock_ns() + LONG_MS * (int64_t) MS));
	assert_false(c.pending);
	assert_false(c.lost);
	assert_int_equal(c.missed, n_threads > 0);
	assert_int_equal(__builtin_popcountll(c.channel->read[0]), 1);
	assert_int_equal(n_reads, 1);
	/* The reader is asked again, in the next window. */
	c.channel->n_threads = 0;
	assert_int_equal(run_for(&c, 10), SW_COPIER_LATE);
	assert_int_equal(n_reads, 1);
	sw_copier_destroy(&c);
}

/* A reader that was late comes to its end over what was copied. */
TEST(test_finishes)
{
	finishes(0);
}

/* The reader does not get what it asks for then, which is said. */
TEST(test_finishes_less)
{
	finishes(1);
}

TEST(test_never_finishes)
{
	struct sw_copier c = start(hang);
	assert_int_equal(run_for(&c, 10), SW_COPIER_LATE);
	assert_false(sw_copier_finish(&c, sw_clock_ns() + 10 * MS));
	assert_true(c.pending);
	sw_copier_destroy(&c);
}

static void die(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	uint64_t word;
	(void) sw_memory_u64(memory, WORD, &word);
	_exit(0);
}

TEST(test_dies)
{
	struct sw_copier c = start(die);
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_DIED);
	assert_int_equal(n_reads, 1);
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_LATE);
	sw_copier_destroy(&c);
}

static void open_file(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	(void) open("/", O_RDONLY | O_CLOEXEC);
}

static void execute(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	(void) mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void kill_parent(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	(void) kill(getppid(), 0);
}

static void allocate(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	for (size_t bytes = 16; bytes <= 32 << 20; bytes *= 2) {
		char *p = malloc(bytes);
		if (p == NULL)
			_exit(1);
		memset(p, 1, bytes);
		free(p);
	}
}

enum { MUCH_BYTES = 1 << 20, MUCH_MAX = 512 };

static void allocate_all(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	for (size_t i = 0; i < MUCH_MAX; i++) {
		char *p = malloc(MUCH_BYTES);
		if (p == NULL)
			return;
		memset(p, 1, MUCH_BYTES);
	}
	_exit(1);
}

/* Memory has a limit. A sanitizer's malloc() ends the process there. */
TEST(test_memory)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP_SANITIZED();
#endif
	struct sw_copier c = start(allocate_all);
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	sw_copier_destroy(&c);
}

/* The reader is killed at a system call that it does not need. */
TEST(test_system_calls)
{
	static void (*const calls[])(void *, struct sw_memory,
				     const struct sw_copier_channel *) = {open_file, execute,
									  kill_parent};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct sw_copier c = start(calls[i]);
		assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_DIED);
		sw_copier_destroy(&c);
	}
	struct sw_copier c = start(allocate);
	assert_int_equal(run_for(&c, LONG_MS), SW_COPIER_ENDED);
	sw_copier_destroy(&c);
}

/* The reader ends with the process that started it, which here is a child. */
TEST(test_parent_ends)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		struct sw_copier c = start(hang);
		if (write(fds[1], &c.pid, sizeof(c.pid)) != sizeof(c.pid))
			_exit(1);
		(void) run_for(&c, SHORT_MS);
		(void) kill(getpid(), SIGKILL);
	}
	pid_t reader;
	assert_int_equal(read(fds[0], &reader, sizeof(reader)), sizeof(reader));
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void) close(fds[1]);
	for (int i = 0; i < 1000 && kill(reader, 0) == 0; i++)
		(void) usleep(10000);
	/* A zombie at most, where nobody waits for orphans. */
	char name[48];
	(void) snprintf(name, sizeof(name), "/proc/%d/status", (int) reader);
	if (access(name, F_OK) == 0)
		status_has(reader, "State:\tZ");
	(void) close(fds[0]);
}
