/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies of threads. The bytes are taken for a record of the kernel; for a ring, with records in it; for the numbers of
 * which a recipe is written, whose result the check has to agree with; and for a recipe itself. Recipes are executed on
 * memory of the same bytes.
 */
#include "fuzz.h"
#include "copies/execute.h"
#include "copies/record.h"
#include "copies/recipe.h"
#include "copies/ring.h"

#include <string.h>

static uint64_t sum;

static void record(const uint8_t *data, size_t size)
{
	static struct sw_copy_part parts[SW_COPY_PARTS_MAX];
	struct sw_copy copy;
	if (!sw_copy_parse(data, size, parts, &copy))
		return;
	for (size_t i = 0; i < copy.n_parts; i++)
		for (size_t k = 0; k < copy.parts[i].bytes; k++)
			sum += copy.parts[i].data[k];
}

/* As the kernel maps it, the data are there twice: a record may go over their end. */
static void ring(const uint8_t *data, size_t size)
{
	enum { BYTES = 1024 };
	uint64_t read_at = 0, written_at = 0;
	uint8_t *twice = malloc(2 * (size_t) BYTES);
	const uint8_t *bytes;
	size_t n;
	if (twice == NULL || size < 2) {
		free(twice);
		return;
	}
	read_at = (uint64_t) data[0] * 8;
	written_at = read_at + (uint64_t) data[1] * 8;
	for (size_t i = 0; i < BYTES; i++)
		twice[i] = twice[i + BYTES] = data[2 + i < size ? 2 + i : i % size];
	struct sw_copies_ring r = {.read_at = &read_at,
				   .written_at = &written_at,
				   .data = twice,
				   .bytes = BYTES,
				   .at = read_at};
	while (sw_copies_ring_next(&r, &bytes, &n))
		record(bytes, n);
	sw_copies_ring_give_back(&r);
	if (read_at > written_at)
		abort();
	free(twice);
}

static uint64_t number(const uint8_t **data, size_t *size)
{
	uint64_t value = 0;
	size_t n = *size < sizeof(value) ? *size : sizeof(value);
	memcpy(&value, *data, n);
	*data += n;
	*size -= n;
	return value >> (value & 0x38); /* small ones, too */
}

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* Memory that is what the bytes say, again and again; every fifth page is absent. */
static bool bytes_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct bytes *b = arg;
	if (b->size == 0 || avma / 4096 % 5 == 0)
		return false;
	for (size_t i = 0; i < length; i++)
		((uint8_t *) buffer)[i] = b->data[(avma + i) % b->size];
	return true;
}

/* Executing a recipe ends with a record, whatever steps and memory are. */
static void execute(const struct sw_sampled_recipe *recipe, const uint8_t *data, size_t size)
{
	static const struct sw_memory_ops ops = {.read = bytes_read};
	static struct sw_copy_part parts[SW_COPY_PARTS_MAX];
	struct bytes bytes = {data, size};
	struct sw_copy copy;
	uint8_t *space = malloc(SW_SAMPLED_BYTES_MAX);
	if (space == NULL)
		return;
	const uint64_t regs[SW_ITERATE_REGS] = {size, size * size};
	const struct sw_recipe_thread thread = {regs, size};
	size_t n = sw_recipe_execute(recipe, (struct sw_memory){&ops, &bytes}, &thread, space);
	if (!sw_copy_parse(space, n, parts, &copy))
		abort();
	for (size_t i = 0; i < copy.n_parts; i++)
		for (size_t k = 0; k < copy.parts[i].bytes; k++)
			sum += copy.parts[i].data[k];
	free(space);
}

/* Steps of a recipe that can be handed on are within the limits, whatever they were made of. */
static void recipe(const uint8_t *data, size_t size)
{
	struct sw_recipe r = {0};
	const uint8_t *all = data;
	size_t all_size = size;
	while (size > 0) {
		uint64_t a = number(&data, &size), b = number(&data, &size),
			 c = number(&data, &size);
		uint8_t x = (uint8_t) (a >> 8), y = (uint8_t) (b >> 8), z = (uint8_t) (c >> 8);
		switch (a % 9) {
		case 0: (void) sw_recipe_set(&r, x, b); break;
		case 1: (void) sw_recipe_thread_pointer(&r, x, b); break;
		case 2: (void) sw_recipe_move(&r, x, y, c); break;
		case 3: (void) sw_recipe_load(&r, x, y, c); break;
		case 4: (void) sw_recipe_copy(&r, &(struct sw_recipe_copy){x, y, b, c}); break;
		case 5: (void) sw_recipe_span(&r, &(struct sw_recipe_span){x, y, z, b, c}); break;
		case 6:
			(void) sw_recipe_search(&r, &(struct sw_recipe_search){x, y, z, a, b, c});
			break;
		case 7:
			(void) sw_recipe_chain(&r, &(struct sw_recipe_chain){x, y, z, 1, a, b, c, b,
									     c});
			break;
		case 8: sw_recipe_land(&r, sw_recipe_jump_if_zero(&r, x, (unsigned) b)); break;
		}
	}
	if (!sw_recipe_finish(&r))
		return;
	for (uint32_t i = 0; i < r.steps.n_steps; i++) {
		const struct sw_sampled_step *s = &r.steps.steps[i];
		if (s->to >= SW_SAMPLED_REGISTERS || s->from >= SW_SAMPLED_REGISTERS ||
		    s->other >= SW_SAMPLED_REGISTERS)
			abort();
		if (s->what == SW_SAMPLED_CHAIN && (s->chain.next + 8 > s->chain.node_bytes ||
						    s->chain.node_bytes > SW_SAMPLED_NODE_MAX))
			abort();
	}
	execute(&r.steps, all, all_size);
}

static void steps(const uint8_t *data, size_t size)
{
	struct sw_sampled_recipe r = {0};
	memcpy(&r, data, size < sizeof(r) ? size : sizeof(r));
	if (sw_recipe_is_valid(&r))
		execute(&r, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The copy has its own size: a sanitizer sees a read behind it. */
	uint8_t *exact = malloc(size + 1);
	if (exact == NULL)
		return 0;
	memcpy(exact, data, size);
	record(exact, size);
	ring(exact, size);
	recipe(exact, size);
	steps(exact, size);
	free(exact);
	return 0;
}
