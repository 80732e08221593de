/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/trapped.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/option_table.h"
#include "run/apart.h"
#include "text.h"

#include <confine/seccomp.h>
#include <snapwalk/refused.h>

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_BYTES = 1024,
	DIGITS = 10,
	WAIT_MS = 1000,
};

/* The line stands ready: nothing can be allocated or formatted when it is needed. */
static struct {
	char line[LINE_BYTES];
	size_t size, number_at; /* the number of the call belongs there */
} said;

static void (*give_back)(void);

void sw_trapped_first(void (*restore)(void))
{
	give_back = restore;
}

/* Async-signal-safe. Whoever does not read what is said must not keep the process from its end. */
static void say(int call, const void *context)
{
	char line[LINE_BYTES + DIGITS], digits[DIGITS];
	struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};
	size_t n = said.number_at, first = DIGITS;
	unsigned rest = (unsigned) call;
	if (sw_reader_is_refused(call, context))
		return;
	if (give_back != NULL)
		give_back();
	memcpy(line, said.line, n);
	do
		digits[--first] = (char) ('0' + rest % 10);
	while ((rest /= 10) != 0 && first > 0);
	memcpy(line + n, digits + first, DIGITS - first);
	n += DIGITS - first;
	memcpy(line + n, said.line + said.number_at, said.size - said.number_at);
	n += said.size - said.number_at;
	if (poll(&to, 1, WAIT_MS) > 0)
		(void) !write(STDERR_FILENO, line, n); /* nowhere left to complain */
}

static bool has_no_sandbox(enum sw_command_bit bit)
{
	for (size_t i = 0; i < sw_n_options; i++)
		if (strcmp(sw_option_table[i].name, "no-sandbox") == 0 &&
		    (sw_option_table[i].commands & (unsigned) bit) != 0)
			return true;
	return false;
}

static bool line_make(const struct sw_options *options)
{
	static const char place[] = "NUMBER";
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	const uint64_t causes =
		SW_SAID_OF_TRAP | (has_no_sandbox(options->command->bit) ? SW_SAID_OF_SANDBOX : 0);
	sw_complain_line(&line, "snapwalk",
			 "the sandbox ended the command: it does not permit system call NUMBER",
			 "internal", sw_remedy("internal", causes));
	const char *at = line.failed ? NULL : strstr(line.data, place);
	if (at == NULL || line.size > sizeof(said.line))
		return false;
	const size_t before = (size_t) (at - line.data), skipped = before + sizeof(place) - 1;
	memcpy(said.line, line.data, before);
	memcpy(said.line + before, line.data + skipped, line.size - skipped);
	said.number_at = before;
	said.size = line.size - (sizeof(place) - 1);
	return true;
}

void sw_trapped_say_of_child(int call)
{
	char message[128];
	(void) snprintf(message, sizeof(message),
			"the sandbox ended the process that opens debug files: it does not permit "
			"system call %d",
			call); /* fits */
	sw_complain_for("snapwalk", message, "internal", SW_SAID_OF_TRAP);
}

unsigned sw_trapped_begin(const struct sw_options *options)
{
	if (sw_apart_is_child() || !line_make(options))
		return 0;
	sw_seccomp_trap(say);
	return SW_SECCOMP_TRAPS;
}
