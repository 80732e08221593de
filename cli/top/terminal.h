/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TOP_TERMINAL_H
#define SW_CLI_TOP_TERMINAL_H

#include <snapwalk/error.h>

#include "text.h"

#include <stdbool.h>
#include <termios.h>

/* The terminal that standard input and output are: a screen of our own, and keys as they are typed.
 * The screen from before is there again after sw_terminal_close(), and when a fault ends the
 * program. */

enum sw_key {
	SW_KEY_NONE = 0, /* 1 to 126: as typed */
	SW_KEY_ENTER = '\r',
	SW_KEY_ESCAPE = 27,
	SW_KEY_BACKSPACE = 127,
	SW_KEY_UP = 256,
	SW_KEY_DOWN,
	SW_KEY_PAGE_UP,
	SW_KEY_PAGE_DOWN,
	SW_KEY_HOME,
	SW_KEY_END,
	SW_KEY_OTHER, /* one without a meaning here */
	SW_KEY_GONE,  /* the terminal is not there any more */
};

struct sw_terminal {
	struct termios before;
	int fd;      /* owned: a descriptor of its own, so that writing never waits */
	bool active; /* the screen is ours */
	bool ascii;  /* it shows no UTF-8 */
	size_t rows, columns;
	struct sw_text pending; /* what the terminal did not take yet */
	size_t written;         /* bytes of pending */
	char keys[64];          /* typed, and not looked at */
	size_t n_keys;
};

/* Whether standard input and output are terminals, and TERM says that they understand sequences. */
bool sw_terminal_is_there(void);

/* Before privileges are given up; nothing is shown yet. 0; -SW_E_IO. *ret must not be moved until
 * it is closed. */
int sw_terminal_open(struct sw_terminal *ret, struct sw_error *err);
void sw_terminal_close(struct sw_terminal *t);

/* Gives the screen back, as for Control-Z; takes it, also for the first time. */
void sw_terminal_leave(struct sw_terminal *t);
int sw_terminal_enter(struct sw_terminal *t, struct sw_error *err);

/* Gives the screen back where one is shown, for a signal handler of a process that ends. */
void sw_terminal_restore(void);

/* Asks for its size. */
void sw_terminal_measure(struct sw_terminal *t);

/* Shows lines; the line head is shown inverted. Left out while the terminal is busy with the one
 * before. */
void sw_terminal_draw(struct sw_terminal *t, const struct sw_text *lines, size_t head);
/* Writes what is pending, as far as the terminal takes it now. */
void sw_terminal_flush(struct sw_terminal *t);
bool sw_terminal_is_busy(const struct sw_terminal *t);

/* Reads what was typed; then keys, until SW_KEY_NONE. */
void sw_terminal_read(struct sw_terminal *t);
int sw_terminal_key(struct sw_terminal *t);

#endif
