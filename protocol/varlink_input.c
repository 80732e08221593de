/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes of a peer, cut at NULs (UAPI.20, "Framing"):
 *
 *	data  [ taken | whole\0 whole\0 | part of the nex ]
 *	              begin             tail              size
 *
 * Each byte is looked at once when it comes, so that a peer who sends one at a time costs no more
 * than another.
 */
#include <snapwalk/varlink.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096, KEEP_BYTES = 64 * 1024 };

void sw_varlink_input_deinit(struct sw_varlink_input *input)
{
	free(input->data);
	*input = (struct sw_varlink_input){.max = input->max};
}

/* Forgets what was taken when it is at least half, so that no byte is moved often; gives the memory
 * of a rare large message back. */
static void discard_taken(struct sw_varlink_input *input)
{
	if (input->begin == 0 || input->begin < input->size - input->begin)
		return;
	input->size -= input->begin;
	input->tail -= input->begin;
	if (input->size > 0) {
		memmove(input->data, input->data + input->begin, input->size);
	} else if (input->capacity > KEEP_BYTES) {
		free(input->data);
		input->data = NULL;
		input->capacity = 0;
	}
	input->begin = 0;
}

static bool reserve(struct sw_varlink_input *input, size_t more)
{
	size_t need, capacity = input->capacity > 0 ? input->capacity : FIRST_BYTES;
	if (__builtin_add_overflow(input->size, more, &need))
		return false;
	if (need <= input->capacity)
		return true;
	while (capacity < need)
		if (__builtin_mul_overflow(capacity, 2, &capacity))
			return false;
	char *data = realloc(input->data, capacity);
	if (data == NULL)
		return false;
	input->data = data;
	input->capacity = capacity;
	return true;
}

int sw_varlink_input_add(struct sw_varlink_input *input, const void *data, size_t size)
{
	size_t max = input->max > 0 ? input->max : SW_VARLINK_CALL_MAX;
	if (size == 0)
		return 0;
	discard_taken(input);
	if (!reserve(input, size))
		return -SW_E_NOMEM;
	memcpy(input->data + input->size, data, size);
	size_t at = input->size;
	input->size += size;
	for (;;) {
		const char *nul = memchr(input->data + at, '\0', input->size - at);
		size_t end = nul != NULL ? (size_t) (nul - input->data) : input->size;
		if (end - input->tail > max)
			return -SW_E_LIMIT;
		if (nul == NULL)
			return 0;
		input->tail = at = end + 1;
	}
}

int sw_varlink_input_next(struct sw_varlink_input *input, const char **ret_message,
			  size_t *ret_size)
{
	if (input->begin == input->tail)
		return 0;
	const char *message = input->data + input->begin;
	*ret_message = message;
	*ret_size = strlen(message); /* there is a NUL before tail */
	input->begin += *ret_size + 1;
	return 1;
}
