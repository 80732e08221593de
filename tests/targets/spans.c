/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Publishes what OpenTelemetry's programs do: its resource (OTEP 4719), and the span of each thread (OTEP 4947).
 *
 *	spans [KIND [THREADS [LIBRARY]]]
 *
 * KIND: memfd (default) or anon: how the mapping of the resource is named; broken: its time stays 0; huge: its size is
 * not to be believed; changing: it is written anew all the time; late: there is none before the first line of stdin; begun:
 * up to then it is being written. On each line of stdin the version becomes one more, which it says.
 *
 * THREADS wait, each in a request of its own, which it publishes. KIND moving: they begin and end spans all the time, in
 * records that other threads get as soon as they are free (odd threads) or that they change in place; "late moving" and
 * "begun moving" are both. Then the stack is
 * the truth: a thread in work_K() is in span K, as its route and the number in its span id and its user_id say, and the
 * thread's own id is in its trace id.
 *
 * LIBRARY has the variable that leads to the records, instead of the program: targets/lib/span_variable.c.
 */
#include "rest.h"
#include "span_record.h"
#include "target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { PAYLOAD_MAX = 2048 };

struct header {
	char signature[8];
	uint32_t version, size;
	volatile uint64_t published;
	const uint8_t *payload;
};

struct message {
	uint8_t data[PAYLOAD_MAX];
	size_t size;
};

static struct header *header;
static struct message payloads[2];

/* ---- protobuf -------------------------------------------------------------------------------- */

static void varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		m->data[m->size++] = (uint8_t) (value | 0x80);
	m->data[m->size++] = (uint8_t) value;
}

static void bytes(struct message *m, unsigned field, const void *data, size_t size)
{
	varint(m, field << 3 | 2);
	varint(m, size);
	memcpy(m->data + m->size, data, size);
	m->size += size;
}

static void text(struct message *m, unsigned field, const char *s)
{
	bytes(m, field, s, strlen(s));
}

static void pair(struct message *m, unsigned field, const char *key, const struct message *any)
{
	struct message inner = {.size = 0};
	text(&inner, 1, key);
	bytes(&inner, 2, any->data, any->size);
	bytes(m, field, inner.data, inner.size);
}

static void string_pair(struct message *m, const char *key, const char *value)
{
	struct message any = {.size = 0};
	text(&any, 1, value);
	pair(m, 1, key, &any);
}

static void payload_make(struct message *m, int version)
{
	static const char *const keys[] = {"http_route", "", "user_id"};
	struct message resource = {.size = 0}, any = {.size = 0}, list = {.size = 0};
	char number[16];
	snprintf(number, sizeof(number), "1.%d", version);
	string_pair(&resource, "service.name", "checkout");
	string_pair(&resource, "service.version", number);
	string_pair(&resource, "k8s.pod.name", "checkout-7d9f");
	string_pair(&resource, "service.name", "twice");
	string_pair(&resource, "bad", "line\nbreak");
	any.size = 0;
	varint(&any, 3 << 3);
	varint(&any, 4242);
	pair(&resource, 1, "process.pid", &any);
	m->size = 0;
	bytes(m, 1, resource.data, resource.size);
	any.size = 0;
	text(&any, 1, getenv("SPANS_SCHEMA") != NULL ? getenv("SPANS_SCHEMA") : "tlsdesc_v1_dev");
	pair(m, 2, "threadlocal.schema_version", &any);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		any.size = 0;
		text(&any, 1, keys[i]);
		bytes(&list, 1, any.data, any.size);
	}
	any.size = 0;
	bytes(&any, 5, list.data, list.size);
	pair(m, 2, "threadlocal.attribute_key_map", &any);
}

/* ---- the resource ---------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static void publish(const char *kind, int version)
{
	struct message *m = &payloads[version % 2];
	payload_make(m, version);
	header->published = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	header->payload = m->data;
	header->size = strcmp(kind, "huge") == 0 ? UINT32_MAX : (uint32_t) m->size;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	bool written = strcmp(kind, "broken") != 0 && (version > 0 || strncmp(kind, "begun", 5) != 0);
	header->published = written ? now_ns() : 0;
}

static void map_make(const char *kind)
{
	if (strcmp(kind, "anon") == 0) {
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		/* Not all kernels have names for such mappings: CONFIG_ANON_VMA_NAME. */
		puts(prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, 4096, "OTEL_CTX") == 0
			     ? "named"
			     : "unnamed");
	} else {
		int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, 4096) < 0)
			exit(1);
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (header == MAP_FAILED)
		exit(1);
	madvise(header, 4096, MADV_DONTFORK);
	header->version = 2;
	publish(kind, 0);
	memcpy(header->signature, "OTEL_CTX", 8);
}

/* ---- the spans of threads -------------------------------------------------------------------- */

enum { KEY_ROUTE, KEY_NONE, KEY_USER, KEY_UNKNOWN = 9, SPANS = 8, RECORDS = 64 };

extern __thread struct span_record *volatile otel_thread_ctx_v1;
#ifndef IN_LIBRARY
__thread struct span_record *volatile otel_thread_ctx_v1;

static void attach_own(struct span_record *record)
{
	otel_thread_ctx_v1 = record;
}

static void (*attach)(struct span_record *) = attach_own;
#else
static void (*attach)(struct span_record *);
#endif

/* A thread and its span. */
struct worker {
	int number;
	long tid;
	bool swaps; /* takes a new record for each span */
	unsigned random;
	uint32_t n_spans;
	struct span_record *record; /* attached; NULL */
	struct span_record own;
};

static _Atomic int n_ready;
static struct span_record records[RECORDS];
static struct span_record *free_records[RECORDS];
static size_t n_free;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;

static void attribute(struct span_record *r, uint8_t key, const char *value)
{
	size_t length = strlen(value);
	r->attributes[r->size] = key;
	r->attributes[r->size + 1] = (uint8_t) length;
	memcpy(r->attributes + r->size + 2, value, length);
	r->size = (uint16_t) (r->size + 2 + length);
}

static void number_put(uint8_t *to, size_t bytes, uint64_t value)
{
	for (size_t i = bytes; i-- > 0; value >>= 8)
		to[i] = (uint8_t) value;
}

static void record_fill(struct span_record *r, const struct worker *w, int span)
{
	char text[32];
	number_put(r->trace_id, 8, 0x4bf92f3577b34da6);
	number_put(r->trace_id + 8, 4, (uint64_t) w->tid);
	number_put(r->trace_id + 12, 4, (uint64_t) span);
	number_put(r->span_id, 8, (uint64_t) w->n_spans);
	r->flags = 1;
	r->size = 0;
	attribute(r, KEY_ROUTE, "/not this one");
	attribute(r, KEY_NONE, "a key without a name");
	attribute(r, KEY_UNKNOWN, "a key that is not in the map");
	snprintf(text, sizeof(text), "%u", w->n_spans);
	attribute(r, KEY_USER, text);
	snprintf(text, sizeof(text), "/span/%d", span);
	attribute(r, KEY_ROUTE, text);
}

static struct span_record *record_get(void)
{
	pthread_mutex_lock(&free_lock);
	struct span_record *r = free_records[--n_free];
	pthread_mutex_unlock(&free_lock);
	return r;
}

static void record_put(struct span_record *r)
{
	pthread_mutex_lock(&free_lock);
	/* The first one that was put comes last: it is taken by another thread at once. */
	free_records[n_free++] = r;
	pthread_mutex_unlock(&free_lock);
}

#define FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Leaves the span for none, or for the one before it. */
static void span_end(struct worker *w, struct span_record *before)
{
	if (!w->swaps) {
		w->own.valid = 0;
		FENCE();
		return;
	}
	attach(before);
	FENCE();
	record_put(w->record);
	w->record = before;
}

static struct span_record *span_begin(struct worker *w, int span)
{
	struct span_record *before = w->record;
	w->n_spans++;
	if (w->swaps) {
		w->record = record_get();
		record_fill(w->record, w, span);
		w->record->valid = 1;
		FENCE();
		attach(w->record);
	} else {
		w->own.valid = 0;
		FENCE();
		record_fill(&w->own, w, span);
		FENCE();
		w->own.valid = 1;
	}
	FENCE();
	return before;
}

static volatile uint64_t spun;
static int n_workers; /* together they use one CPU */

static NOINLINE void work(struct worker *w)
{
	struct timespec t = {.tv_nsec = 20000 + 1000 * (w->random % 200)};
	if (w->random % 4 == 0) {
		for (int i = 0; i < 20000; i++)
			spun = spun + 1;
	} else {
		nanosleep(&t, NULL);
	}
	rest(n_workers);
	KEEP();
}

#define SPAN(k)                                                \
	static NOINLINE void work_##k(struct worker *w)        \
	{                                                      \
		work(w);                                       \
		KEEP();                                        \
	}                                                      \
	static NOINLINE void span_##k(struct worker *w)        \
	{                                                      \
		struct span_record *before = span_begin(w, k); \
		KEEP();                                        \
		work_##k(w);                                   \
		KEEP();                                        \
		span_end(w, before);                           \
		KEEP();                                        \
	}
SPAN(0)
SPAN(1) SPAN(2) SPAN(3) SPAN(4) SPAN(5) SPAN(6) SPAN(7)

	static void *moving_thread(void *arg)
{
	static void (*const spans[SPANS])(struct worker *) = {span_0, span_1, span_2, span_3,
							      span_4, span_5, span_6, span_7};
	struct worker *w = arg;
	w->tid = syscall(SYS_gettid);
	w->random = (unsigned) w->number * 7919 + 1;
	w->swaps = w->number % 2 == 1;
	if (!w->swaps)
		attach(&w->own);
	n_ready++;
	for (;;) {
		w->random = w->random * 1103515245 + 12345;
		spans[w->random >> 16 & (SPANS - 1)](w);
	}
	return NULL;
}

static void *waiting_thread(void *arg)
{
	struct worker *w = arg;
	w->tid = syscall(SYS_gettid);
	w->n_spans = (uint32_t) w->number + 1;
	record_fill(&w->own, w, w->number);
	w->own.valid = 1;
	attach(&w->own);
	n_ready++;
	block();
	return NULL;
}

static void threads_start(const char *kind, int n)
{
	for (size_t i = 0; i < RECORDS; i++)
		free_records[n_free++] = &records[i];
	n_workers = n;
	bool moving = strstr(kind, "moving") != NULL;
	for (int i = 0; i < n; i++) {
		pthread_t thread;
		struct worker *w = calloc(1, sizeof(*w));
		if (w == NULL)
			exit(1);
		w->number = i;
		if (pthread_create(&thread, NULL, moving ? moving_thread : waiting_thread, w) != 0)
			exit(1);
	}
	while (n_ready < n)
		usleep(1000);
}

static void library_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *found = library != NULL ? dlsym(library, "span_library_attach") : NULL;
	if (found == NULL)
		exit(1);
	memcpy(&attach, &found, sizeof(attach));
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "memfd";
	char line[16];
	if (argc > 3)
		library_load(argv[3]);
	if (strncmp(kind, "late", 4) != 0)
		map_make(kind);
	threads_start(kind, argc > 2 ? atoi(argv[2]) : 0);
	puts("ready");
	fflush(stdout);
	for (int version = 1; strcmp(kind, "changing") == 0; version = version % 9 + 1)
		publish(kind, version);
	for (int version = 1; fgets(line, sizeof(line), stdin) != NULL; version++) {
		if (header == NULL)
			map_make(kind);
		publish(kind, version);
		printf("version 1.%d\n", version);
		fflush(stdout);
	}
	block();
	return 0;
}
