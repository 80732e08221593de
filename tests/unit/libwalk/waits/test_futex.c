/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Owners of locks that are made of literals, in the layouts of glibc and musl. */
#include "arch/arch.h"
#include "arena.h"
#include "cleanup.h"
#include "waits/range.h"
#include "test.h"

#include <linux/futex.h>
#include <sys/syscall.h>

enum { WORD = 0x10010, WORDS = SW_WAIT_BYTES / 4, BEFORE = SW_FUTEX_BEFORE_BYTES / 4 };

/* Threads 100, 101 and 102; the first waits on a word with what lies around it. */
struct world {
	struct sw_thread threads[3];
	struct sw_snapshot snap;
};

static struct sw_futex_wait wait_on(struct world *w, uint64_t operation,
				    const uint32_t from_word[WORDS - BEFORE], uint32_t before)
{
	memset(w, 0, sizeof(*w));
	for (int i = 0; i < 3; i++)
		w->threads[i].tid = 100 + i;
	w->snap = (struct sw_snapshot){.threads = w->threads, .n_threads = 3, .live = true};
	struct sw_thread *t = &w->threads[0];
	t->captured = true;
	t->syscall = SYS_futex;
	sw_regs_set(&t->regs, SW_X86_64_RDI, WORD);
	sw_regs_set(&t->regs, SW_X86_64_RSI, operation);
	memcpy(t->wait + SW_FUTEX_BEFORE_BYTES, from_word, (WORDS - BEFORE) * sizeof(*from_word));
	memcpy(t->wait + SW_FUTEX_BEFORE_BYTES - 4, &before, sizeof(before));
	t->wait_bytes = SW_WAIT_BYTES;
	struct sw_futex_wait wait;
	assert_true(sw_futex_wait(&w->snap, t, &wait));
	assert_int_equal(wait.word_avma, WORD);
	return wait;
}

static pid_t mutex(uint64_t operation, const uint32_t from_word[WORDS - BEFORE], uint32_t before)
{
	struct world w;
	return wait_on(&w, operation, from_word, before).mutex_owner;
}

/* The end of another process's thread cannot be told. */
TEST(test_lost)
{
	enum { PRIVATE = FUTEX_WAIT | FUTEX_PRIVATE_FLAG };
	struct world w;
	assert_int_equal(wait_on(&w, PRIVATE, (uint32_t[8]){2, 1, 555, 1, 0}, 0).lost_owner, 555);
	assert_int_equal(wait_on(&w, FUTEX_WAIT, (uint32_t[8]){2, 1, 555, 1, 0}, 0).lost_owner, 0);
	assert_int_equal(wait_on(&w, PRIVATE, (uint32_t[8]){2, 1, 101, 1, 0}, 0).lost_owner, 0);
	assert_int_equal(wait_on(&w, PRIVATE, (uint32_t[8]){0, 0, 555, 1, 0}, 0).lost_owner, 0);
	/* The owner may be a thread that began later, or one whose own id could not be read. */
	struct sw_futex_wait wait = wait_on(&w, PRIVATE, (uint32_t[8]){2, 1, 555, 1, 0}, 0);
	assert_int_equal(wait.lost_owner, 555);
	w.snap.newer_threads = true;
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.lost_owner, 0);
	w.snap.newer_threads = false;
	w.threads[2].own_tid = -1;
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.lost_owner, 0);
}

TEST(test_mutex)
{
	enum { PRIVATE = FUTEX_WAIT | FUTEX_PRIVATE_FLAG };
	/* glibc: lock 2, count, owner, nusers, kind */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){2, 1, 101, 1, 0}, 0), 101);
	assert_int_equal(mutex(FUTEX_WAIT, (uint32_t[8]){2, 1, 101, 1, 0x80}, 0), 101);
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){1, 1, 101, 1, 0}, 0), 0); /* no waiters */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0, 0, 101, 1, 0}, 0), 0); /* not locked */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){2, 1, 555, 1, 0}, 0), 0); /* no thread */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){2, 1, 101, 1, 0x10000}, 0), 0); /* no kind */
	/* robust: the owner is in the lock word, too */
	assert_int_equal(mutex(FUTEX_WAIT, (uint32_t[8]){0x80000000 | 102, 1, 102, 1, 16}, 0), 102);
	assert_int_equal(mutex(FUTEX_WAIT, (uint32_t[8]){0x80000000 | 102, 1, 101, 1, 16}, 0), 0);
	/* with priority inheritance, by the system call */
	assert_int_equal(mutex(FUTEX_LOCK_PI, (uint32_t[8]){0x80000000 | 102}, 0), 102);
	assert_int_equal(mutex(FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, (uint32_t[8]){102}, 0), 102);
	/* ... which hands it over before the call returns; others are taken afterwards */
	assert_int_equal(mutex(FUTEX_LOCK_PI, (uint32_t[8]){0x80000000 | 100}, 0), 0);
	assert_int_equal(mutex(FUTEX_LOCK_PI2, (uint32_t[8]){100}, 0), 0);
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){2, 1, 100, 1, 0}, 0), 100);
	/* musl: type in front of the word; the normal type keeps nobody */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0x80000000 | 102, 1}, 1), 102);
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0x80000000 | 102, 1}, 2), 102);
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0x80000000 | 102, 1}, 4), 102); /* robust */
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0x80000000 | 16, 1}, 0), 0);
	assert_int_equal(mutex(PRIVATE, (uint32_t[8]){0x80000000 | 102, 1}, 0x100), 0);
}

TEST(test_stdio)
{
	struct world w;
	struct sw_futex_wait wait;
	/* glibc: lock 2, count, the address of the owner's descriptor, which is no tid */
	const uint32_t words[8] = {2, 1, 0x6543, 0x7f12};
	wait = wait_on(&w, FUTEX_WAIT, words, 0);
	assert_int_equal(wait.stdio_owner, 0); /* no thread's */
	w.threads[1].captured = true;
	w.threads[1].fs_base = UINT64_C(0x7f1200006543);
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.stdio_owner, 101);
	assert_true(wait.is_stdio);
	assert_int_equal(wait.mutex_owner, 0);
	w.threads[1].fs_base++;
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.stdio_owner, 0);
	assert_false(wait.is_stdio);
	/* musl: the owner, and that somebody waits */
	wait = wait_on(&w, FUTEX_WAIT, (uint32_t[8]){0x40000000 | 102}, 0);
	assert_int_equal(wait.stdio_owner, 102);
	assert_false(wait.is_stdio);
	wait = wait_on(&w, FUTEX_WAIT, (uint32_t[8]){102}, 0);
	assert_int_equal(wait.stdio_owner, 0);
}

/* A program for i386: other numbers and registers, glibc's kind before the count of users. */
TEST(test_32_bit)
{
	static const int64_t calls[] = {SW_SYSCALL_I386 + 240, SW_SYSCALL_I386 + 422};
	for (size_t i = 0; i < SW_ARRAY_SIZE(calls); i++) {
		struct world w;
		struct sw_futex_wait wait;
		const uint32_t mutexes[] = {2, 1, 101, 0x80, 0xffff},
			       locks[] = {3, 2, 9, 9, 0, 102};
		(void) wait_on(&w, 0, (uint32_t[8]){0}, 0);
		struct sw_thread *t = &w.threads[0];
		t->syscall = calls[i];
		t->regs = (struct sw_regs){0};
		sw_regs_set(&t->regs, SW_X86_64_RBX, WORD);
		sw_regs_set(&t->regs, SW_X86_64_RCX, FUTEX_WAIT | FUTEX_PRIVATE_FLAG);
		memcpy(t->wait + SW_FUTEX_BEFORE_BYTES, mutexes, sizeof(mutexes));
		assert_true(sw_futex_wait(&w.snap, t, &wait));
		assert_int_equal(wait.word_avma, WORD);
		assert_int_equal(wait.mutex_owner, 101);
		memcpy(t->wait + SW_FUTEX_BEFORE_BYTES, locks, sizeof(locks));
		assert_true(sw_futex_wait(&w.snap, t, &wait));
		assert_int_equal(wait.rwlock_owner, 102); /* from the phase on */
		memset(t->wait + SW_FUTEX_BEFORE_BYTES, 0, sizeof(locks));
		memcpy(t->wait + SW_FUTEX_BEFORE_BYTES + 16, (uint32_t[1]){101}, 4);
		assert_true(sw_futex_wait(&w.snap, t, &wait));
		assert_int_equal(wait.rwlock_owner, 101); /* from the writers' word on */
	}
	struct world w;
	struct sw_futex_wait wait;
	(void) wait_on(&w, 0, (uint32_t[8]){0}, 0);
	w.threads[0].syscall = SW_SYSCALL_I386 + SYS_futex; /* another call there */
	assert_false(sw_futex_wait(&w.snap, &w.threads[0], &wait));
}

TEST(test_rwlock)
{
	struct world w;
	enum { WAIT = FUTEX_WAIT | FUTEX_PRIVATE_FLAG };
	/* wrphase_futex is 16 bytes in front of cur_writer, writers_futex 12 */
	assert_int_equal(wait_on(&w, WAIT, (uint32_t[8]){1, 0, 0, 0, 101}, 0).rwlock_owner, 101);
	assert_int_equal(wait_on(&w, WAIT, (uint32_t[8]){1, 0, 0, 102}, 0).rwlock_owner, 102);
	/* both could be one */
	assert_int_equal(wait_on(&w, WAIT, (uint32_t[8]){1, 0, 0, 102, 101}, 0).rwlock_owner, 0);
	assert_int_equal(wait_on(&w, WAIT, (uint32_t[8]){102}, 0).joined, 102);
}

/* Ids in locks are those of the target's own pid namespace. */
TEST(test_namespace)
{
	struct world w;
	(void) wait_on(&w, FUTEX_WAIT, (uint32_t[8]){2, 1, 7, 1, 0}, 0);
	w.threads[0].own_tid = 101; /* the id that another one has outside */
	w.threads[1].own_tid = -1;  /* gone before it could be asked */
	w.threads[2].own_tid = 7;
	struct sw_futex_wait wait;
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.mutex_owner, 102);
}

TEST(test_other_calls)
{
	struct world w;
	struct sw_futex_wait wait;
	(void) wait_on(&w, FUTEX_WAIT, (uint32_t[8]){2, 1, 101, 1, 0}, 0);
	w.threads[0].wait_bytes = 0; /* not copied: the word is known, nobody else */
	assert_true(sw_futex_wait(&w.snap, &w.threads[0], &wait));
	assert_int_equal(wait.mutex_owner, 0);
	w.threads[0].syscall = SYS_read;
	assert_false(sw_futex_wait(&w.snap, &w.threads[0], &wait));
}
