/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names as debug_print_backtrace() has them, with "::" between class and function. Code without a
 * function is {main}, {include} or {eval}.
 */
#include "runtimes/php/names.h"

#include <stdio.h>
#include <string.h>

/* A zend_string; false when it cannot be read, is longer, or has nothing in it. */
static bool string_read(const struct sw_php *php, uint64_t avma, char *ret, size_t size)
{
	uint64_t length;
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_STRING_LENGTH, &length) || length == 0 ||
	    length >= SW_PHP_STRING_MAX || length >= size ||
	    !sw_memory_read(php->memory, avma + SW_PHP_STRING_TEXT, ret, (size_t) length))
		return false;
	ret[length] = '\0'; /* an anonymous class has its file behind a NUL */
	return ret[0] != '\0';
}

static bool pointer_read(const struct sw_php *php, uint64_t avma, uint64_t *ret)
{
	return sw_memory_u64(php->memory, avma, ret);
}

static uint32_t line_read(const struct sw_php *php, uint64_t func, uint64_t address)
{
	const struct sw_php_layout *at = php->found.layout;
	uint32_t line, last;
	if (address != func)
		return sw_memory_read(php->memory, address + SW_PHP_OP_LINE, &line, sizeof(line))
			       ? line
			       : 0;
	/* Not known where, but in one line all is there. */
	return sw_memory_read(php->memory, func + at->op_line_start, &line, sizeof(line)) &&
			       sw_memory_read(php->memory, func + at->op_line_start + sizeof(line),
					      &last, sizeof(last)) &&
			       line == last
		       ? line
		       : 0;
}

static bool function_read(const struct sw_php *php, uint64_t func, bool outermost, uint8_t type,
			  char *ret, size_t size)
{
	char name[SW_PHP_STRING_MAX], class_name[SW_PHP_STRING_MAX];
	uint64_t string, scope, class_string;
	if (!pointer_read(php, func + SW_PHP_FUNC_NAME, &string) ||
	    !pointer_read(php, func + SW_PHP_FUNC_SCOPE, &scope))
		return false;
	if (type == SW_PHP_EVAL_CODE || string == 0) {
		(void) snprintf(ret, size, "%s",
				type == SW_PHP_EVAL_CODE ? "{eval}"
				: outermost              ? "{main}"
							 : "{include}"); /* fits */
		return true;
	}
	if (!string_read(php, string, name, sizeof(name)))
		return false;
	if (scope == 0) {
		(void) snprintf(ret, size, "%s", name); /* fits */
		return true;
	}
	if (scope % 8 != 0 || !pointer_read(php, scope + SW_PHP_CLASS_NAME, &class_string) ||
	    !string_read(php, class_string, class_name, sizeof(class_name)))
		return false;
	(void) snprintf(ret, size, "%s::%s", class_name, name); /* fits */
	return true;
}

int sw_php_names(struct sw_php *php, const struct sw_frame *frame, struct sw_description *ret)
{
	uint64_t func = frame->cookie & ~UINT64_C(7), file;
	uint8_t type;
	if (!sw_memory_read(php->memory, func + SW_PHP_FUNC_TYPE, &type, 1) ||
	    !function_read(php, func, frame->cookie & SW_PHP_OUTERMOST, type, ret->function,
			   sizeof(ret->function))) {
		(void) snprintf(ret->function, sizeof(ret->function), "[PHP function]"); /* fits */
		return 1;
	}
	if (type == SW_PHP_INTERNAL_FUNCTION)
		return 1;
	if (pointer_read(php, func + php->found.layout->op_filename, &file) &&
	    string_read(php, file, ret->file, sizeof(ret->file)))
		ret->line = line_read(php, func, frame->pc_avma);
	else
		ret->file[0] = '\0';
	return 1;
}
