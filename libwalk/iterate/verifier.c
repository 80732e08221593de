/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/verifier.h"
#include "cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool sw_verifier_refused(int status)
{
	return status == -EACCES || status == -EINVAL || status == -E2BIG || status == -EFAULT ||
	       status == -ENOSPC || status == -EOPNOTSUPP;
}

/* Lines that a log has of programs which were not refused, too: print_verification_stats() and do_check_subprogs() in
 * kernel/bpf/verifier.c, v6.1 to v6.18. */
static bool is_figure(const char *line, size_t n)
{
	static const char *const begins[] = {"processed ",  "verification time",
					     "stack depth", "Func#",
					     "func#",       "Validating "};
	for (size_t i = 0; i < SW_ARRAY_SIZE(begins); i++)
		if (n >= strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
			return true;
	return n == 0;
}

void sw_verifier_said_of(const char *log, struct sw_verifier_said *ret)
{
	const char *end = log + strlen(log);
	ret->text[0] = '\0';
	while (end > log) {
		const char *line = end;
		while (line > log && line[-1] != '\n')
			line--;
		size_t n = (size_t) (end - line);
		if (!is_figure(line, n)) {
			(void) snprintf(ret->text, sizeof(ret->text), "%.*s",
					(int) (n < sizeof(ret->text) ? n : sizeof(ret->text)),
					line); /* cut is fine */
			return;
		}
		end = line > log ? line - 1 : log;
	}
}
