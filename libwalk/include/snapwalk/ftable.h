/* SPDX-License-Identifier: MIT */
/*
 * Copyright (c) 2026 the snapwalk authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
 * OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
#ifndef SNAPWALK_FTABLE_H
#define SNAPWALK_FTABLE_H

/*
 * Function tables of generated code, for whoever looks at the process from outside: what
 * RtlAddFunctionTable() and RtlAddGrowableFunctionTable() are on Windows. Include this file in a JIT
 * compiler, tell it of the code you make, and unwinders that stop, sample or dump the process know
 * the way out of it and its names. Nothing is linked, nothing runs, no file is written: tables are
 * records in memory that others read. C11 or C++11, gcc or clang, 64-bit little-endian ELF.
 * This file alone is under the MIT licence, not under that of the rest of the project: it becomes a
 * part of the programs that include it, whatever their licence is.
 *
 *	struct swft_desc d;
 *	memset(&d, 0, sizeof(d));
 *	d.kind = SWFT_FRAME_POINTER;		all of it keeps the rbp chain
 *	d.start = code;
 *	d.bytes = code_bytes;
 *	d.names = "hot_loop";
 *	d.names_bytes = strlen(d.names);
 *	struct swft_table *t = swft_add(&d);	... swft_remove(t) before the code is given back
 *
 * Rules for those who call
 *	- Add before the code runs first, remove after it ran last.
 *	- swft_add() and swft_remove() may be called by any thread at any time, but not by a signal
 *	  handler. Calls about one table are the caller's to order.
 *	- What a table points to (data, info, symbols, names) does not move, and what was announced
 *	  (the first count entries, ...) does not change, until the table was removed and release()
 *	  was called; without release(), until swft_remove() came back.
 *	- Tables may cover the same code: the newest one that knows an address answers. So a table
 *	  that must move is added anew, and then the old one is removed.
 *
 * Rules for those who read
 *	- Find every registry: by the symbol snapwalk_ftable_v1, or by the note "snapwalk" of type
 *	  SWFT_NOTE_TYPE in a PT_NOTE segment, whose 8 bytes are the distance from themselves to the
 *	  registry. Each shared object that includes this file has its own.
 *	- Use the sizes in the registry, not those of your copy of this file: structures grow at
 *	  their ends.
 *	- A stopped process: walk chunks and tables, use those that are SWFT_LIVE, whatever seq is. A
 *	  thread may have been stopped in the middle of a change, with seq odd; do not wait for it.
 *	- A running process, or one of which a thread runs: read seq, then the table and all that you
 *	  want of what it points to, then seq again. Use it when seq is even and was the same, else
 *	  read again, a few times, and then say that it is busy.
 *
 * Why every instant is right
 *	A table becomes SWFT_LIVE by one store, after all else in it was written, and SWFT_DEAD by
 *	one store, before anything in it or behind it changes. Chunks are never freed and tables never
 *	leave their chunk, so that no pointer that was read point to garbage. Tables grow by one store of
 *	count, after the entries were written. A stopped process shows a prefix of each thread's
 *	stores: the compiler keeps their order because of the fences below, x86-64 because it never
 *	reorders stores, others because of the instructions that the fences become.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layout: fixed, little-endian; pointers are 8 bytes ---------------------------------------- */

enum swft_kind {
	/* data: count bytes of call frame information, laid out as .eh_frame (CIEs and FDEs, DWARF
	 * with the encodings of the LSB), relocated: valid where it lies. Need not end with a zero. */
	SWFT_EH_FRAME = 1,
	/* data: count entries of three uint32_t, begin, end, address of UNWIND_INFO, all from base;
	 * sorted by begin, as for x64 Windows. info: where the UNWIND_INFOs lie, if that is known. */
	SWFT_RUNTIME_FUNCTION = 2,
	/* All of the code keeps frame pointers: push rbp; mov rsp,rbp first, [rbp] the caller's. */
	SWFT_FRAME_POINTER = 3,
	/* The canonical frame address is rsp + cfa_offset, the return address in the 8 bytes below it,
	 * and no register that belongs to the caller is changed: at every instruction but the first
	 * one of a symbol and RET, where it is rsp + 8. */
	SWFT_FIXED = 4,
	/* The code is announced, its table not known yet: format says what data will be, see
	 * swft_fill(). */
	SWFT_DEFERRED = 5
};

enum swft_state { SWFT_DEAD = 0, SWFT_LIVE = 1 };

enum { SWFT_VERSION = 1, SWFT_NOTE_TYPE = 1, SWFT_FORMAT_BYTES = 16 };

/* Formats of SWFT_DEFERRED that every reader knows, padded with zeros; others are yours to name. */
#define SWFT_FORMAT_EH_FRAME         "eh_frame"
#define SWFT_FORMAT_RUNTIME_FUNCTION "runtime_function"

struct swft_symbol {
	uint32_t offset, bytes; /* [offset, offset + bytes) from the table's start */
	uint32_t name;          /* offset of a NUL-terminated name in names */
	uint32_t file, line; /* where it is defined: offset of a name in names; line 0: unknown */
	uint32_t flags;      /* 0 */
};

struct swft_table {
	uint64_t seq;        /* odd while the table is changed */
	uint32_t state;      /* enum swft_state */
	uint32_t kind;       /* enum swft_kind */
	uint64_t id;         /* never used twice; greater ones are newer */
	uint64_t check;      /* ~id */
	uint64_t start, end; /* the code: [start, end) */
	uint64_t base;       /* what RVAs of SWFT_RUNTIME_FUNCTION count from */
	uint64_t data, count;
	uint64_t info, info_bytes;
	uint64_t symbols, n_symbols; /* none: all of the code is called by the one name in names */
	uint64_t names, names_bytes;
	uint32_t cfa_offset;
	uint32_t flags; /* 0 */
	char format[SWFT_FORMAT_BYTES];
	/* The writers' own. */
	uint64_t link; /* the next one in a list of dead tables */
	uint64_t release, release_arg;
};

/* Tables lie behind it. */
struct swft_chunk {
	uint64_t next;           /* an older chunk; 0: this is the first */
	uint32_t capacity, used; /* tables; those behind used were never written */
};

struct swft_registry {
	char magic[8]; /* "SWFTABLE" */
	uint32_t version;
	uint32_t registry_bytes, chunk_bytes, table_bytes; /* of the structures here */
	uint64_t first;                                    /* the newest chunk; 0: none */
	uint64_t changes;                                  /* tables added and removed so far */
	/* The writers' own. */
	uint64_t lock; /* process id of the holder */
	uint64_t next_id;
	uint64_t quarantine_first, quarantine_last, n_quarantine; /* dead tables, oldest first */
	uint64_t unused; /* dead tables that may be used again */
};

#ifndef SNAPWALK_FTABLE_LAYOUT_ONLY

#if !defined(__ELF__) || !defined(__LP64__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "snapwalk/ftable.h: only for 64-bit little-endian ELF"
#endif

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the registry of this program or shared object --------------------------------------------- */

/* Weak, so that several files of one program may include this one; hidden, so that a shared object's
 * registry is its own and goes when it is unloaded. The second name is for others to find. */
__attribute__((weak, used, visibility("hidden"))) struct swft_registry swft_registry_ = {
	{'S', 'W', 'F', 'T', 'A', 'B', 'L', 'E'},
	SWFT_VERSION,
	sizeof(struct swft_registry),
	sizeof(struct swft_chunk),
	sizeof(struct swft_table),
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
};

extern struct swft_registry snapwalk_ftable_v1
	__attribute__((weak, visibility("default"), alias("swft_registry_")));

/* A note is loaded with the program and survives strip. There is one for each file that includes this
 * one, all the same: linkers drop notes that they may merge when they collect sections. */
__asm__(".pushsection .note.snapwalk,\"a\",@note\n"
	"	.balign 4\n"
	"	.4byte 9\n" /* bytes of the name */
	"	.4byte 8\n" /* bytes of what follows it */
	"	.4byte 1\n" /* SWFT_NOTE_TYPE */
	"	.asciz \"snapwalk\"\n"
	"	.balign 4\n"
	"	.8byte swft_registry_ - .\n"
	".popsection\n");

/* ---- writing ------------------------------------------------------------------------------------ */

enum {
	/* Dead tables whose payload is kept, since somebody may be reading it. Counted, not timed:
	 * needs no clock, and bounds what is kept. Readers notice when it was too short. */
	SWFT_QUARANTINE = 128,
	SWFT_CHUNK_FIRST = 32, /* tables in the first chunk; each has twice as many, up to _MOST */
	SWFT_CHUNK_MOST = 512,
	SWFT_SPINS = 100
};

/* The code to register, with its table; zeros mean that there is none. */
struct swft_desc {
	enum swft_kind kind;
	const void *start; /* the code, and its size */
	size_t bytes;
	const void *base;
	const void *data; /* see enum swft_kind */
	size_t count;
	const void *info;
	size_t info_bytes;
	const struct swft_symbol *symbols;
	size_t n_symbols;
	const char *names;
	size_t names_bytes;
	uint32_t cfa_offset;
	const char *format; /* at most SWFT_FORMAT_BYTES */
	/* Called once nobody can be reading any more what the table points to; NULL: it stays. Called
	 * by the thread that removes another table, or by swft_flush(); may not call back. */
	void (*release)(void *arg);
	void *release_arg;
};

/* All words that readers see are written by these, so that no store is split, merged or moved over
 * another. */
static inline void swft_set64_(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline void swft_set32_(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline uint64_t swft_address_(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

static inline struct swft_table *swft_table_at_(uint64_t address)
{
	return (struct swft_table *) (uintptr_t) address;
}

/* A lock that needs no library. It holds the process id, since a child of fork() may inherit it
 * from a thread that the child does not have: then it is taken over. The table that was being
 * changed is at worst a table that is never used again. */
static inline void swft_lock_(void)
{
	uint64_t self = (uint64_t) getpid();
	for (unsigned n = 0;; n++) {
		uint64_t owner = 0;
		if (__atomic_compare_exchange_n(&swft_registry_.lock, &owner, self, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		if (owner != self &&
		    __atomic_compare_exchange_n(&swft_registry_.lock, &owner, self, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		/* Sleeps rather than yields: the holder may be of lower priority. */
		if (n >= SWFT_SPINS)
			(void) poll(NULL, 0, 1);
	}
}

static inline void swft_unlock_(void)
{
	__atomic_store_n(&swft_registry_.lock, UINT64_C(0), __ATOMIC_RELEASE);
}

/* seq becomes odd before anything else changes, and even after everything has. It is odd already where
 * a fork() cut a change off. */
static inline void swft_begin_(struct swft_table *t)
{
	swft_set64_(&t->seq, t->seq + 1 + (t->seq & 1));
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void swft_end_(struct swft_table *t)
{
	__atomic_store_n(&t->seq, t->seq + 1, __ATOMIC_RELEASE);
	swft_set64_(&swft_registry_.changes, swft_registry_.changes + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* A new chunk goes in front of the others; it is whole before it can be seen. */
static inline struct swft_chunk *swft_chunk_add_(struct swft_chunk *newest)
{
	uint32_t capacity = SWFT_CHUNK_FIRST;
	if (newest != NULL)
		capacity = newest->capacity < SWFT_CHUNK_MOST ? newest->capacity * 2
							      : newest->capacity;
	struct swft_chunk *chunk =
		(struct swft_chunk *) calloc(1, sizeof(struct swft_chunk) +
							capacity * sizeof(struct swft_table));
	if (chunk == NULL)
		return NULL;
	chunk->next = swft_address_(newest);
	chunk->capacity = capacity;
	__atomic_store_n(&swft_registry_.first, swft_address_(chunk), __ATOMIC_RELEASE);
	return chunk;
}

/* A table that nobody sees as live: one that was used before, or one behind the last. */
static inline struct swft_table *swft_take_(struct swft_chunk **ret_fresh_in)
{
	struct swft_table *t = swft_table_at_(swft_registry_.unused);
	*ret_fresh_in = NULL;
	if (t != NULL) {
		swft_registry_.unused = t->link;
		return t;
	}
	struct swft_chunk *chunk = (struct swft_chunk *) (uintptr_t) swft_registry_.first;
	if (chunk == NULL || chunk->used == chunk->capacity)
		chunk = swft_chunk_add_(chunk);
	if (chunk == NULL)
		return NULL;
	*ret_fresh_in = chunk;
	return (struct swft_table *) (chunk + 1) + chunk->used;
}

static inline void swft_write_(struct swft_table *t, const struct swft_desc *d)
{
	uint64_t words[SWFT_FORMAT_BYTES / 8] = {0, 0};
	if (d->format != NULL) {
		size_t n = strlen(d->format);
		memcpy(words, d->format, n < sizeof(words) ? n : sizeof(words));
	}
	swft_set32_(&t->kind, (uint32_t) d->kind);
	swft_set64_(&t->start, swft_address_(d->start));
	swft_set64_(&t->end, swft_address_(d->start) + d->bytes);
	swft_set64_(&t->base, swft_address_(d->base));
	swft_set64_(&t->data, swft_address_(d->data));
	swft_set64_(&t->count, d->count);
	swft_set64_(&t->info, swft_address_(d->info));
	swft_set64_(&t->info_bytes, d->info_bytes);
	swft_set64_(&t->symbols, swft_address_(d->symbols));
	swft_set64_(&t->n_symbols, d->n_symbols);
	swft_set64_(&t->names, swft_address_(d->names));
	swft_set64_(&t->names_bytes, d->names_bytes);
	swft_set32_(&t->cfa_offset, d->cfa_offset);
	swft_set32_(&t->flags, 0);
	memcpy(t->format, words, sizeof(t->format));
	t->release = (uint64_t) (uintptr_t) d->release;
	t->release_arg = swft_address_(d->release_arg);
}

/**
 * Announce code and its table.
 *
 * @param desc  Copied; what it points to is not.
 * @return The table, for swft_grow(), swft_fill() and swft_remove(); NULL when there is no memory or
 *         no code.
 */
static inline struct swft_table *swft_add(const struct swft_desc *desc)
{
	struct swft_chunk *fresh_in;
	if (desc->bytes == 0 || desc->bytes > UINT64_MAX - swft_address_(desc->start))
		return NULL;
	swft_lock_();
	struct swft_table *t = swft_take_(&fresh_in);
	if (t != NULL) {
		swft_begin_(t);
		swft_write_(t, desc);
		swft_set64_(&t->id, ++swft_registry_.next_id);
		swft_set64_(&t->check, ~swft_registry_.next_id);
		__atomic_store_n(&t->state, (uint32_t) SWFT_LIVE, __ATOMIC_RELEASE);
		swft_end_(t);
		if (fresh_in != NULL)
			__atomic_store_n(&fresh_in->used, fresh_in->used + 1, __ATOMIC_RELEASE);
	}
	swft_unlock_();
	return t;
}

/**
 * More of a table's entries are there: they were written behind the others, which stay as they are.
 * Does not lock and does not disturb readers. Each number is what there is now; it never shrinks.
 */
static inline void swft_grow(struct swft_table *table, size_t count, size_t info_bytes,
			     size_t n_symbols, size_t names_bytes)
{
	/* Each may refer to what comes before it. */
	__atomic_store_n(&table->names_bytes, (uint64_t) names_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&table->n_symbols, (uint64_t) n_symbols, __ATOMIC_RELEASE);
	__atomic_store_n(&table->info_bytes, (uint64_t) info_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&table->count, (uint64_t) count, __ATOMIC_RELEASE);
}

/**
 * Fill a SWFT_DEFERRED table with the data that it was waiting for. Once for each table; it may
 * grow then. Does not lock: the table is there for readers once neither data nor count is 0.
 */
static inline void swft_fill(struct swft_table *table, const void *data, size_t count)
{
	swft_set64_(&table->data, swft_address_(data));
	__atomic_store_n(&table->count, (uint64_t) count, __ATOMIC_RELEASE);
}

/* The oldest one leaves the quarantine: it may be used again, and its payload may go. */
static inline struct swft_table swft_expire_(void)
{
	struct swft_table *t = swft_table_at_(swft_registry_.quarantine_first);
	struct swft_table copy = *t;
	swft_registry_.quarantine_first = t->link;
	if (t->link == 0)
		swft_registry_.quarantine_last = 0;
	swft_registry_.n_quarantine--;
	t->link = swft_registry_.unused;
	swft_registry_.unused = swft_address_(t);
	return copy;
}

static inline void swft_release_(const struct swft_table *expired)
{
	void (*release)(void *) = (void (*)(void *))(uintptr_t) expired->release;
	if (release != NULL)
		release((void *) (uintptr_t) expired->release_arg);
}

/** The code will not run any more. NULL does nothing. */
static inline void swft_remove(struct swft_table *table)
{
	struct swft_table expired;
	int any = 0;
	if (table == NULL)
		return;
	swft_lock_();
	swft_begin_(table);
	swft_set32_(&table->state, SWFT_DEAD);
	swft_end_(table);
	table->link = 0;
	/* Where a fork() cut a change off, one of them may be 0 and the other not. */
	if (swft_registry_.quarantine_first != 0 && swft_registry_.quarantine_last != 0)
		swft_table_at_(swft_registry_.quarantine_last)->link = swft_address_(table);
	else
		swft_registry_.quarantine_first = swft_address_(table);
	swft_registry_.quarantine_last = swft_address_(table);
	if (++swft_registry_.n_quarantine > SWFT_QUARANTINE) {
		expired = swft_expire_();
		any = 1;
	}
	swft_unlock_();
	if (any)
		swft_release_(&expired);
}

/** Releases at once what removed tables pointed to: before a shared object is unloaded, say. */
static inline void swft_flush(void)
{
	for (;;) {
		struct swft_table expired;
		swft_lock_();
		int any = swft_registry_.quarantine_first != 0;
		if (any)
			expired = swft_expire_();
		swft_unlock_();
		if (!any)
			return;
		swft_release_(&expired);
	}
}

#endif /* SNAPWALK_FTABLE_LAYOUT_ONLY */

#ifdef __cplusplus
}
#endif

#endif
