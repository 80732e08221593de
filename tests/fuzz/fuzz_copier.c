/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copier's side of the memory that it shares with the reader: what a hostile reader may write there. The first byte
 * says how many turns there are; the rest is, again and again, the number of ranges and the ranges.
 */
#include "fuzz.h"
#include "copier/serve.h"

#include <string.h>
#include <sys/mman.h>

static struct sw_copier copier;
static size_t read_bytes;

/* All that is read has its place in the pool, in a row; the reader changes what it asked for meanwhile. */
static void read_some(void *arg, struct sw_copier_read *reads, size_t n)
{
	const size_t *turn = arg;
	if (n == 0 || n > SW_COPIER_READS)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (reads[i].buffer != copier.channel->pool + read_bytes || reads[i].bytes == 0 ||
		    reads[i].bytes > sizeof(copier.channel->pool) - read_bytes ||
		    reads[i].avma > UINT64_MAX - reads[i].bytes)
			abort();
		read_bytes += reads[i].bytes;
		reads[i].ok = (reads[i].avma >> 12) % 3 != 0;
		if (reads[i].ok)
			memset(reads[i].buffer, 1, 1);
	}
	for (size_t i = 0; i < 16; i++)
		copier.channel->ranges[i * 7].bytes = (uint32_t) (*turn * 4095);
	copier.channel->n_ranges = UINT32_MAX;
}

static bool keep(void *arg, uint64_t avma, const uint8_t *data, size_t bytes)
{
	if ((avma >> 12) % 3 == 0 || data + bytes > copier.channel->pool + read_bytes)
		abort();
	return avma % 64 != 63;
}

/* The reader lists pages in a rehearsal, and does not come to its turn afterwards. */
static void foresee(const uint8_t *data, size_t size)
{
	static struct sw_copier_foreseen foreseen[SW_COPIER_PAGES_MAX];
	const size_t turn = 0;
	const struct sw_copier_source source = {.read = read_some,
						.keep = keep,
						.arg = (void *) (uintptr_t) &turn};
	uint8_t *to = (uint8_t *) copier.channel->foreseen;
	for (size_t i = 0; i < sizeof(copier.channel->foreseen); i++)
		to[i] = data[i % size];
	copier.channel->n_foreseen = data[0] * 5U;
	copier.foreseen = foreseen;
	sw_copier_foresee(&copier);
	read_bytes = 0;
	copier.pending = true;
	(void) sw_copier_run(&copier, &source, INT64_MAX);
	if (copier.used > sizeof(copier.channel->pool) || copier.used != read_bytes ||
	    (!copier.limited && copier.used != copier.n_foreseen * SW_COPIER_PAGE_BYTES))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 1;
	if (size < 2)
		return 0;
	void *p = mmap(NULL, sizeof(struct sw_copier_channel), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	copier = (struct sw_copier){.channel = p};
	read_bytes = 0;
	for (size_t turn = 0; turn < data[0] && !copier.limited; turn++) {
		const struct sw_copier_source source = {.read = read_some,
							.keep = keep,
							.arg = &turn};
		uint8_t *to = (uint8_t *) copier.channel->ranges;
		uint32_t n = data[at++ % size];
		n = n == 255 ? UINT32_MAX : n * 5;
		copier.channel->n_ranges = n;
		for (size_t i = 0; i < (size + 1) * 3 && i < sizeof(copier.channel->ranges); i++)
			to[i] = data[at++ % size];
		sw_copier_serve(&copier, &source, INT64_MAX);
		if (copier.used > sizeof(copier.channel->pool) || copier.used != read_bytes)
			abort();
	}
	foresee(data, size);
	(void) munmap(p, sizeof(struct sw_copier_channel));
	return 0;
}
