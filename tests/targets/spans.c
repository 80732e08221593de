/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Publishes what OpenTelemetry's programs do: its resource (OTEP 4719), and the span of each thread (OTEP 4947).
 *
 *	spans [KIND [THREADS]]
 *
 * KIND: memfd (default) or anon: how the mapping of the resource is named; broken: its time stays 0; huge: its size is
 * not to be believed; changing: it is written anew all the time. On each line of stdin the version becomes one more, which it says.
 */
#include "target.h"

#include <pthread.h>
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
	text(&any, 1, "tlsdesc_v1_dev");
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
	header->published = strcmp(kind, "broken") == 0 ? 0 : now_ns();
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

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "memfd";
	char line[16];
	map_make(kind);
	puts("ready");
	fflush(stdout);
	for (int version = 1; strcmp(kind, "changing") == 0; version = version % 9 + 1)
		publish(kind, version);
	for (int version = 1; fgets(line, sizeof(line), stdin) != NULL; version++) {
		publish(kind, version);
		printf("version 1.%d\n", version);
		fflush(stdout);
	}
	block();
	return 0;
}
