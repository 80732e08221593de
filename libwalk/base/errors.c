/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	int code;
	const char *wire;
	const char *text;
} error_table[] = {
#define SW_ERROR(name, number, wire, text) {(number), (wire), (text)},
#include <snapwalk/error_codes.def>
#undef SW_ERROR
};

static int fill(struct sw_error *err, int code, int sys_errno, const char *fmt, va_list ap)
{
	if (err == NULL)
		return -code;
	err->code = code;
	err->sys_errno = sys_errno;
	err->address = 0;
	(void) vsnprintf(err->message, sizeof(err->message), fmt,
			 ap); /* cut is fine: it is prose */
	size_t used = strlen(err->message);
	if (sys_errno != 0)
		(void) snprintf(err->message + used, sizeof(err->message) - used, "%s%s",
				used > 0 ? ": " : "", strerrordesc_np(sys_errno));
	else if (used == 0)
		(void) snprintf(err->message, sizeof(err->message), "%s", sw_error_text(code));
	return -code;
}

int sw_fail(struct sw_error *err, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	va_start(ap, fmt);
	int r = fill(err, code, 0, fmt, ap);
	va_end(ap);
	errno = saved;
	return r;
}

int sw_fail_errno(struct sw_error *err, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	va_start(ap, fmt);
	int r = fill(err, code, saved, fmt, ap);
	va_end(ap);
	errno = saved;
	return r;
}

bool sw_errno_is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

int sw_fail_nomem(struct sw_error *err)
{
	return sw_fail(err, SW_E_NOMEM, "not enough memory");
}

const char *sw_error_text(int code)
{
	for (size_t i = 0; i < sizeof(error_table) / sizeof(error_table[0]); i++)
		if (error_table[i].code == abs(code))
			return error_table[i].text;
	return "unknown error";
}

const char *sw_error_wire(int code)
{
	for (size_t i = 0; i < sizeof(error_table) / sizeof(error_table[0]); i++)
		if (error_table[i].code == abs(code))
			return error_table[i].wire;
	return "unknown";
}
