/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Steps out of every instruction of a Windows program that stepped through itself and recorded what
 * each must give (targets/lib/pe_step.c, which describes the records). The recorded file is
 * fixtures/pe-steps/steps; another one may be named as argument.
 */
#include "arch/arch.h"
#include "pe/rule.h"
#define TEST_OWN_MAIN
#include "test.h"

enum {
	REGS = 10,
	IMAGE_MAX = 1 << 22,
	IMAGES_MAX = 8,
	CALLERS_MAX = 1 << 12,
	FUNCTIONS_MIN = 60, /* that were stepped through */
	STEPS_MIN = 4000,
	SHOWN_MAX = 10,
};

/* In the order of the records. */
static const unsigned numbers[REGS] = {
	SW_ARCH_RA, SW_ARCH_SP, SW_X86_64_RBX, SW_X86_64_RBP, SW_X86_64_RSI, SW_X86_64_RDI, 12, 13,
	14,         15};

struct caller {
	uint64_t regs[REGS];
	bool machine;
};

struct image {
	uint64_t base_avma, table_avma;
	size_t n_functions;
	uint8_t *bytes, *known;
	struct sw_pe_cache cache;
	struct sw_map64 used; /* entries that steps needed */
};

struct replay {
	struct image images[IMAGES_MAX];
	size_t n_images;
	struct image *image;   /* that records are about */
	struct sw_map64 words; /* of the stack */
	struct caller *callers;
	uint64_t shown[REGS]; /* in the last record that had registers */
	size_t steps, outers, machines, leaves, cached, wrong;
};

static const char *steps_path;
static bool recorded; /* it is the fixture */

static struct image *image_at(struct replay *r, uint64_t avma)
{
	for (size_t i = 0; i < r->n_images; i++)
		if (avma - r->images[i].base_avma < IMAGE_MAX)
			return &r->images[i];
	return NULL;
}

static bool replay_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct image *image = image_at(arg, avma);
	uint64_t word;
	if (image != NULL) {
		uint64_t rva = avma - image->base_avma;
		if (length > IMAGE_MAX - rva)
			return false;
		memcpy(buffer, image->bytes + rva, length);
		return memchr(image->known + rva, 0, length) == NULL;
	}
	const struct replay *r = arg;
	if (length != sizeof(word) || !sw_map64_get(&r->words, avma, &word))
		return false;
	memcpy(buffer, &word, length);
	return true;
}

/* Where a table is searched: it may lead to code of its image only. */
struct table {
	struct replay *r;
	struct image *image;
};

static bool table_find(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	static const struct sw_memory_ops ops = {.read = replay_read};
	struct table *t = arg;
	return sw_pe_table_search((struct sw_memory){&ops, t->r}, t->image->table_avma,
				  t->image->n_functions, rva, ret);
}

static struct sw_regs registers(const uint64_t *values)
{
	struct sw_regs regs = {0};
	for (unsigned i = 0; i < REGS; i++)
		sw_regs_set(&regs, numbers[i], values[i]);
	return regs;
}

static void complain(struct replay *r, const char *what, const uint64_t *at, int result,
		     const struct sw_regs *got, const struct caller *expected)
{
	if (r->wrong++ >= SHOWN_MAX)
		return;
	print_message("%s at 0x%llx: result %d\n", what, (unsigned long long) at[0], result);
	for (unsigned i = 0; i < REGS; i++) {
		uint64_t value = 0;
		bool known = sw_regs_get(got, numbers[i], &value);
		if (!known || value != expected->regs[i])
			print_message("  %s is %s0x%llx, must be 0x%llx\n",
				      sw_arch_reg_name(false, numbers[i]), known ? "" : "lost, ",
				      (unsigned long long) value,
				      (unsigned long long) expected->regs[i]);
	}
}

static bool is_right(int result, const struct sw_regs *got, const struct caller *expected)
{
	if (result != (expected->machine ? SW_PE_OK_MACHINE : SW_PE_OK))
		return false;
	for (unsigned i = 0; i < REGS; i++) {
		uint64_t value;
		if (!sw_regs_get(got, numbers[i], &value) || value != expected->regs[i])
			return false;
	}
	return true;
}

/* Check a step as it is, and one by a rule that was made at an earlier one at the same place. */
static void check(struct replay *r, const uint64_t *from, bool exact_pc,
		  const struct caller *expected)
{
	static const struct sw_memory_ops ops = {.read = replay_read};
	struct sw_regs regs = registers(from), got = {0};
	struct table table = {r, image_at(r, regs.pc_avma)};
	assert_non_null(table.image);
	struct sw_pe_env env = {.memory = {&ops, r},
				.base_avma = table.image->base_avma,
				.rules = SW_PE_WINDOWS,
				.table = {table_find, &table},
				.exact_pc = exact_pc};
	struct sw_pe_function function;
	uint32_t rva = (uint32_t) (regs.pc_avma - env.base_avma);
	bool found = table_find(&table, rva - !exact_pc, &function);
	enum sw_pe_result result = found ? sw_pe_step(&env, &function, &regs, &got)
					 : sw_pe_step_leaf(&env, &regs, &got);
	if (!is_right((int) result, &got, expected) || (!found && !exact_pc))
		complain(r, exact_pc ? "step" : "return", from, (int) result, &got, expected);
	if (found)
		assert_int_equal(sw_map64_put(&table.image->used, function.begin_rva, 1), 0);
	else
		r->leaves++;

	struct sw_pe_cache *cache = &table.image->cache;
	const struct sw_pe_rule *rule = sw_pe_cache_find(cache, rva, exact_pc);
	if (rule != NULL) {
		result = sw_pe_rule_apply(rule, &env, &regs, &got);
		r->cached++;
	} else {
		result = sw_pe_cache_step(cache, &env, found ? &function : NULL, &regs, &got);
	}
	if (!is_right((int) result, &got, expected))
		complain(r, "by the cache", from, (int) result, &got, expected);
}

static uint64_t number(const char *word)
{
	char *end;
	assert_non_null(word);
	uint64_t value = strtoull(word, &end, 16);
	assert_true(*word != '\0' && *end == '\0');
	return value;
}

static char *next(char **words)
{
	return strsep(words, " \n");
}

static const uint64_t *next_regs(struct replay *r, char **words)
{
	for (unsigned i = 0; i < REGS; i++) {
		const char *word = next(words);
		assert_non_null(word);
		if (strcmp(word, "=") != 0)
			r->shown[i] = number(word);
	}
	return r->shown;
}

static size_t next_caller(char **words)
{
	uint64_t n = number(next(words));
	assert_true(n < CALLERS_MAX);
	return (size_t) n;
}

/* The image at an address, new or known, is what records are about from here on. */
static void image_select(struct replay *r, uint64_t base_avma)
{
	r->image = image_at(r, base_avma);
	if (r->image != NULL)
		return;
	assert_true(r->n_images < IMAGES_MAX);
	r->image = &r->images[r->n_images++];
	*r->image = (struct image){.base_avma = base_avma,
				   .bytes = calloc(1, IMAGE_MAX),
				   .known = calloc(1, IMAGE_MAX)};
	assert_true(r->image->bytes && r->image->known);
}

static void image_add(struct image *image, uint64_t rva, const char *hex)
{
	assert_true(image && hex);
	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2, rva++) {
		const char byte[] = {hex[0], hex[1], '\0'};
		assert_true(rva < IMAGE_MAX);
		image->bytes[rva] = (uint8_t) number(byte);
		image->known[rva] = 1;
	}
}

static void record(struct replay *r, char *words)
{
	const char *what = next(&words);
	if (strcmp(what, "base") == 0) {
		image_select(r, number(next(&words)));
	} else if (strcmp(what, "table") == 0) {
		assert_non_null(r->image);
		r->image->table_avma = r->image->base_avma + number(next(&words));
		r->image->n_functions = number(next(&words));
	} else if (strcmp(what, "image") == 0) {
		uint64_t rva = number(next(&words));
		image_add(r->image, rva, next(&words));
	} else if (strcmp(what, "word") == 0) {
		uint64_t avma = number(next(&words));
		assert_int_equal(sw_map64_put(&r->words, avma, number(next(&words))), 0);
	} else if (strcmp(what, "caller") == 0) {
		struct caller *c = &r->callers[next_caller(&words)];
		memcpy(c->regs, next_regs(r, &words), sizeof(c->regs));
		c->machine = number(next(&words)) != 0;
		r->machines += c->machine;
	} else if (strcmp(what, "outer") == 0) {
		const struct caller *from = &r->callers[next_caller(&words)];
		check(r, from->regs, from->machine, &r->callers[next_caller(&words)]);
		r->outers++;
	} else if (strcmp(what, "step") == 0) {
		const struct caller *expected = &r->callers[next_caller(&words)];
		check(r, next_regs(r, &words), true, expected);
		r->steps++;
	} else {
		assert_string_equal(what, "end");
	}
}

static size_t replay_deinit(struct replay *r)
{
	size_t functions = 0;
	for (size_t i = 0; i < r->n_images; i++) {
		struct image *image = &r->images[i];
		functions += image->used.count;
		sw_pe_cache_deinit(&image->cache);
		sw_map64_deinit(&image->used);
		free(image->bytes);
		free(image->known);
	}
	sw_map64_deinit(&r->words);
	free(r->callers);
	return functions;
}

TEST(test_every_instruction)
{
	struct replay r = {.callers = calloc(CALLERS_MAX, sizeof(*r.callers))};
	assert_non_null(r.callers);
	FILE *f = fopen(steps_path, "r");
	assert_non_null(f);
	char *line = NULL;
	size_t space = 0;
	while (getline(&line, &space, f) > 0)
		record(&r, line);
	free(line);
	(void) fclose(f); /* was only read */
	size_t functions = replay_deinit(&r);
	print_message("%zu steps (%zu without an entry), %zu returns, %zu machine frames, "
		      "%zu functions, %zu by the cache, %zu wrong\n",
		      r.steps, r.leaves, r.outers, r.machines, functions, r.cached, r.wrong);
	assert_int_equal(r.wrong, 0);
	assert_true(r.steps >= STEPS_MIN);
	assert_true(functions >= FUNCTIONS_MIN);
	assert_true(r.leaves > 0 && r.outers > 0 && r.cached > 0);
	if (recorded)
		assert_true(r.machines >= 2);
}

int main(int argc, char **argv)
{
	recorded = argc < 2;
	steps_path = argc > 1 ? argv[1] : SW_TESTS_DIR "/fixtures/pe-steps/steps";
	return TEST_RUN(NULL, NULL);
}
