/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a fuzz target as a plain test, without a coverage-guided engine: over every file of a corpus
 * directory, and over mutations of each that are the same every time. The program may have several targets: it runs the
 * one by whose name it was called, a symbolic link (tests.mk).
 *
 *	fuzz_NAME DIRECTORY [mutations of each file]
 *
 * FUZZERS is a file of tests.mk with a line for each target, FUZZER(fuzz_NAME). Its LLVMFuzzerTestOneInput() is
 * input_of_fuzz_NAME(), renamed by the compiler.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 1 << 20, MUTATIONS = 2000, CHANGES_MAX = 8 };

typedef int input_function(const uint8_t *data, size_t size);

#define FUZZER(name) int input_of_##name(const uint8_t *data, size_t size);
#include FUZZERS
#undef FUZZER

static const struct {
	const char *name;
	input_function *input;
} fuzzers[] = {
#define FUZZER(name) {#name, input_of_##name},
#include FUZZERS
#undef FUZZER
};

static input_function *find(const char *name)
{
	for (size_t i = 0; i < sizeof(fuzzers) / sizeof(fuzzers[0]); i++)
		if (strcmp(name, fuzzers[i].name) == 0)
			return fuzzers[i].input;
	return NULL;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Changes bytes to what breaks parsers: single bits, extremes, other bytes of the input. */
static size_t mutate(uint8_t *data, size_t size, uint64_t *state)
{
	static const uint64_t extremes[] = {0,          1,         0x7f,      0x80,
					    0xff,       0x7fff,    0xffff,    INT32_MAX,
					    UINT32_MAX, INT64_MAX, UINT64_MAX};
	size_t changes = 1 + random_next(state) % CHANGES_MAX;
	for (size_t i = 0; i < changes && size > 0; i++) {
		size_t at = random_next(state) % size;
		uint64_t how = random_next(state), length = 1u << (how >> 8) % 4;
		if (length > size - at)
			length = size - at;
		switch (how % 4) {
		case 0: data[at] ^= (uint8_t) (1u << (how >> 16) % 8); break;
		case 1: data[at] = (uint8_t) (how >> 16); break;
		case 2: memcpy(data + at, &extremes[(how >> 16) % 11], length); break;
		default: memmove(data + at, data + (how >> 16) % (size - length + 1), length);
		}
	}
	return random_next(state) % 16 == 0 ? random_next(state) % (size + 1) : size;
}

/* The target sees exactly size bytes on the heap, so that the sanitizer sees what is read behind. */
static void run(input_function *input, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);
	if (copy == NULL)
		exit(1);
	memcpy(copy, data, size);
	(void) input(copy, size); /* always 0 */
	free(copy);
}

static size_t run_file(input_function *input, const char *path, size_t mutations)
{
	static uint8_t original[INPUT_MAX], changed[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return 0;
	size_t size = fread(original, 1, sizeof(original), f);
	(void) fclose(f); /* was only read */
	run(input, original, size);
	uint64_t state = size; /* each file its own, always the same */
	for (size_t i = 0; i < mutations; i++) {
		memcpy(changed, original, size);
		run(input, changed, mutate(changed, size, &state));
	}
	return 1 + mutations;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
	input_function *input = find(name);
	if (input == NULL) {
		fprintf(stderr, "%s: no fuzz target has this name: a link to this program has\n",
			argv[0]);
		return 2;
	}
	DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
	if (dir == NULL) {
		fprintf(stderr, "usage: %s CORPUS_DIRECTORY [MUTATIONS]\n", argv[0]);
		return 2;
	}
	size_t mutations = argc > 2 ? (size_t) strtoul(argv[2], NULL, 10) : MUTATIONS, inputs = 0;
	for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		(void) snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		inputs += run_file(input, path, mutations);
	}
	(void) closedir(dir);
	printf("%sok 1 - %s: %zu inputs\n1..1\n", inputs > 0 ? "" : "not ", name, inputs);
	return inputs > 0 ? 0 : 1;
}
