/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/operands.h"
#include "cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names of registers with 64, 32, 16 and 8 bits; words of struct user_regs_struct. */
static const struct {
	const char *names[4];
	uint8_t word;
} registers[] = {
	{{"rax", "eax", "ax", "al"}, 10},     {{"rbx", "ebx", "bx", "bl"}, 5},
	{{"rcx", "ecx", "cx", "cl"}, 11},     {{"rdx", "edx", "dx", "dl"}, 12},
	{{"rsi", "esi", "si", "sil"}, 13},    {{"rdi", "edi", "di", "dil"}, 14},
	{{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rsp", "esp", "sp", "spl"}, 19},
	{{"r8", "r8d", "r8w", "r8b"}, 9},     {{"r9", "r9d", "r9w", "r9b"}, 8},
	{{"r10", "r10d", "r10w", "r10b"}, 7}, {{"r11", "r11d", "r11w", "r11b"}, 6},
	{{"r12", "r12d", "r12w", "r12b"}, 3}, {{"r13", "r13d", "r13w", "r13b"}, 2},
	{{"r14", "r14d", "r14w", "r14b"}, 1}, {{"r15", "r15d", "r15w", "r15b"}, 0},
};

enum { HIGH_SHIFT = 8, WORDS = sizeof(struct user_regs_struct) / sizeof(uint64_t) };

/* "%rdi" at *text, which then is behind it. */
static bool register_take(const char **text, uint8_t *ret, uint8_t *ret_shift)
{
	static const struct {
		const char *name;
		uint8_t word;
	} high[] = {{"ah", 10}, {"bh", 5}, {"ch", 11}, {"dh", 12}};
	const char *at = *text;
	if (*at++ != '%')
		return false;
	size_t n = 0;
	while (isalnum((unsigned char) at[n]))
		n++;
	*text = at + n;
	*ret_shift = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(registers); i++)
		for (size_t k = 0; k < 4; k++)
			if (strlen(registers[i].names[k]) == n &&
			    memcmp(registers[i].names[k], at, n) == 0) {
				*ret = registers[i].word;
				return true;
			}
	for (size_t i = 0; i < SW_ARRAY_SIZE(high); i++)
		if (n == 2 && memcmp(high[i].name, at, n) == 0) {
			*ret = high[i].word;
			*ret_shift = HIGH_SHIFT;
			return true;
		}
	return false;
}

/* "-20(%rbp)", "(%rax,%rbx,8)" from behind the number on. */
static bool memory_take(const char *at, struct sw_event_operand *o)
{
	uint8_t shift;
	o->scale = 1;
	if (*at++ != '(')
		return false;
	if (*at != ',' && !register_take(&at, &o->base, &shift))
		return false;
	if (*at == ',') {
		at++;
		if (!register_take(&at, &o->index, &shift))
			return false;
		if (*at == ',') {
			char *end;
			unsigned long scale = strtoul(at + 1, &end, 10);
			if (end == at + 1 || scale == 0 || scale > 8)
				return false;
			o->scale = (uint8_t) scale;
			at = end;
		}
	}
	o->kind = SW_EVENT_OPERAND_MEMORY;
	return strcmp(at, ")") == 0;
}

static bool operand_parse(const char *word, struct sw_event_operand *o)
{
	char *end;
	long size = strtol(word, &end, 10);
	if (end == word || *end != '@' ||
	    (labs(size) != 1 && labs(size) != 2 && labs(size) != 4 && labs(size) != 8))
		return false;
	const char *at = end + 1;
	o->bytes = (uint8_t) labs(size);
	o->is_signed = size < 0;
	if (*at == '%') {
		o->kind = SW_EVENT_OPERAND_REGISTER;
		return register_take(&at, &o->base, &o->shift) && *at == '\0';
	}
	if (*at == '$') {
		o->kind = SW_EVENT_OPERAND_CONSTANT;
		o->value = strtoll(at + 1, &end, 0);
		return end != at + 1 && *end == '\0';
	}
	o->value = strtoll(at, &end, 0);
	return memory_take(end, o);
}

size_t sw_operands_parse(const char *text, struct sw_event_operand *ret, size_t max)
{
	size_t n = 0;
	while (n < max) {
		char word[64];
		text += strspn(text, " ");
		size_t length = strcspn(text, " ");
		if (length == 0)
			break;
		struct sw_event_operand o = {.base = SW_EVENT_NO_REGISTER,
					     .index = SW_EVENT_NO_REGISTER};
		bool fits = length < sizeof(word);
		if (fits) {
			memcpy(word, text, length);
			word[length] = '\0';
		}
		if (!fits || !operand_parse(word, &o))
			o.kind = SW_EVENT_OPERAND_UNKNOWN;
		ret[n++] = o;
		text += length;
	}
	return n;
}

/* ---- at an event ------------------------------------------------------------------------------ */

static uint64_t register_of(const struct sw_copy *copy, uint8_t word)
{
	uint64_t words[WORDS];
	memcpy(words, &copy->regs, sizeof(words));
	return word < WORDS ? words[word] : 0;
}

static bool stack_read(const struct sw_copy *copy, uint64_t avma, size_t bytes, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		uint64_t off = avma - part->avma;
		if (part->kind != SW_SAMPLED_KIND_STACK || off > part->bytes ||
		    part->bytes - off < bytes)
			continue;
		memcpy(ret, part->data + off, bytes);
		return true;
	}
	return false;
}

static uint64_t cut(uint64_t value, const struct sw_event_operand *o)
{
	unsigned unused = 64 - 8 * (unsigned) o->bytes;
	if (unused == 0 || unused >= 64)
		return value;
	return o->is_signed ? (uint64_t) ((int64_t) (value << unused) >> unused)
			    : value << unused >> unused;
}

bool sw_operand_value(const struct sw_event_operand *o, const struct sw_copy *copy, uint64_t *ret)
{
	uint64_t value = (uint64_t) o->value;
	switch (o->kind) {
	case SW_EVENT_OPERAND_CONSTANT: break;
	case SW_EVENT_OPERAND_REGISTER: value = register_of(copy, o->base) >> o->shift; break;
	case SW_EVENT_OPERAND_MEMORY:
		if (o->base != SW_EVENT_NO_REGISTER)
			value += register_of(copy, o->base);
		if (o->index != SW_EVENT_NO_REGISTER)
			value += register_of(copy, o->index) * o->scale;
		if (o->bytes > sizeof(value) || !stack_read(copy, value, o->bytes, &value))
			return false;
		break;
	default: return false;
	}
	*ret = cut(value, o);
	return true;
}
