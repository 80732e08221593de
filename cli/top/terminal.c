/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/terminal.h"
#include "common/ascii.h"
#include "errors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ROWS = 24, COLUMNS = 80, SIZE_MOST = 1000, RESTORE_MS = 200 };

/* ECMA-48, and the private modes of xterm(1): 1049 the alternate screen, 25 the cursor, 7 lines
 * that go on below themselves. CAN ends a sequence that was cut. */
static const char enter_text[] = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
static const char leave_text[] = "\030\033[m\033[?7h\033[?25h\033[?1049l";

/* For a signal handler, which gets nothing else: there is one terminal. */
static struct sw_terminal *volatile shown;

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
static struct sigaction before_fault[sizeof(faults) / sizeof(faults[0])];

/* Only what is async-signal-safe. */
static void restore(struct sw_terminal *t)
{
	struct pollfd out = {.fd = t->fd, .events = POLLOUT};
	size_t done = 0;
	(void) tcflow(t->fd, TCOON); /* held by Control-S, it would take nothing */
	while (done < sizeof(leave_text) - 1 && poll(&out, 1, RESTORE_MS) > 0 &&
	       (out.revents & POLLOUT)) {
		ssize_t n = write(t->fd, leave_text + done, sizeof(leave_text) - 1 - done);
		if (n <= 0)
			break;
		done += (size_t) n;
	}
	(void) tcsetattr(t->fd, TCSANOW, &t->before); /* a terminal that is gone needs it not */
}

void sw_terminal_restore(void)
{
	struct sw_terminal *t = shown;
	if (t != NULL)
		restore(t);
}

static void on_fault(int number)
{
	sw_terminal_restore();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (faults[i] == number)
			(void) sigaction(number, &before_fault[i], NULL);
	(void) raise(number);
}

bool sw_terminal_is_there(void)
{
	const char *term = getenv("TERM");
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' &&
	       strcmp(term, "dumb") != 0;
}

void sw_terminal_measure(struct sw_terminal *t)
{
	struct winsize size;
	t->rows = ROWS;
	t->columns = COLUMNS;
	if (ioctl(t->fd, TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_row > 0)
		t->rows = size.ws_row < SIZE_MOST ? size.ws_row : SIZE_MOST;
	if (size.ws_col > 0)
		t->columns = size.ws_col < SIZE_MOST ? size.ws_col : SIZE_MOST;
}

static void pend(struct sw_terminal *t, const char *s, size_t size)
{
	sw_text_append(&t->pending, s, size);
}

int sw_terminal_enter(struct sw_terminal *t, struct sw_error *err)
{
	if (tcgetattr(t->fd, &t->before) < 0)
		return sw_fail_errno(err, SW_E_IO, "the terminal cannot be asked");
	struct termios raw = t->before;
	raw.c_iflag &= ~(tcflag_t) (ICRNL | INLCR | IGNCR);
	raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO | IEXTEN); /* ISIG stays: Control-C, Control-Z */
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	shown = t;
	t->active = true;
	if (tcsetattr(t->fd, TCSANOW, &raw) < 0) {
		t->active = false;
		shown = NULL;
		return sw_fail_errno(err, SW_E_IO, "the terminal cannot be set");
	}
	sw_terminal_measure(t);
	t->pending.size = t->written = 0;
	pend(t, enter_text, sizeof(enter_text) - 1);
	sw_terminal_flush(t);
	return 0;
}

void sw_terminal_leave(struct sw_terminal *t)
{
	if (!t->active)
		return;
	restore(t);
	t->active = false;
	shown = NULL;
}

int sw_terminal_open(struct sw_terminal *ret, struct sw_error *err)
{
	*ret = (struct sw_terminal){.fd = -EBADF};
	ret->fd = open("/proc/self/fd/1", O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (ret->fd < 0)
		return sw_fail_errno(err, SW_E_IO, "the terminal cannot be opened");
	ret->ascii = sw_ascii_only(ret->fd);
	struct sigaction action = {.sa_handler = on_fault};
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		(void) sigaction(faults[i], &action, &before_fault[i]); /* fails for bad numbers */
	return 0;
}

void sw_terminal_close(struct sw_terminal *t)
{
	if (t->fd < 0)
		return;
	sw_terminal_leave(t);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		(void) sigaction(faults[i], &before_fault[i], NULL);
	(void) close(t->fd); /* of a terminal: nothing is lost */
	t->fd = -EBADF;
	sw_text_deinit(&t->pending);
}

/* ---- output ------------------------------------------------------------------------------- */

bool sw_terminal_is_busy(const struct sw_terminal *t)
{
	return t->written < t->pending.size;
}

void sw_terminal_flush(struct sw_terminal *t)
{
	while (sw_terminal_is_busy(t)) {
		ssize_t n =
			write(t->fd, t->pending.data + t->written, t->pending.size - t->written);
		if (n <= 0)
			return; /* later, or it is gone: reading says so */
		t->written += (size_t) n;
	}
	t->pending.size = t->written = 0;
}

void sw_terminal_draw(struct sw_terminal *t, const struct sw_text *lines, size_t head)
{
	const char *line = lines->data;
	sw_terminal_flush(t);
	if (sw_terminal_is_busy(t) || lines->size == 0)
		return;
	pend(t, "\033[H", 3);
	for (size_t i = 0; line != NULL; i++) {
		size_t size = strcspn(line, "\n");
		if (i == head)
			pend(t, "\033[7m", 4);
		if (t->ascii)
			sw_ascii_append(&t->pending, line, size);
		else
			pend(t, line, size);
		pend(t, "\033[K\033[m", 6);
		line = line[size] == '\n' ? line + size + 1 : NULL;
		if (line != NULL)
			pend(t, "\r\n", 2);
	}
	pend(t, "\033[J", 3);
	sw_terminal_flush(t);
}

/* ---- keys --------------------------------------------------------------------------------- */

void sw_terminal_read(struct sw_terminal *t)
{
	if (t->n_keys == sizeof(t->keys)) /* faster than they are looked at: lost */
		t->n_keys = 0;
	ssize_t n = read(t->fd, t->keys + t->n_keys, sizeof(t->keys) - t->n_keys);
	if (n > 0)
		t->n_keys += (size_t) n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		t->active = false; /* it was hung up */
}

/* "\033[A", "\033OA", "\033[5~": its length; 1 when it is the key Escape itself. */
static size_t sequence_read(const char *s, size_t n, int *ret)
{
	static const struct {
		const char *end;
		enum sw_key key;
	} known[] = {{"A", SW_KEY_UP},         {"B", SW_KEY_DOWN}, {"5~", SW_KEY_PAGE_UP},
		     {"6~", SW_KEY_PAGE_DOWN}, {"H", SW_KEY_HOME}, {"1~", SW_KEY_HOME},
		     {"7~", SW_KEY_HOME},      {"F", SW_KEY_END},  {"4~", SW_KEY_END},
		     {"8~", SW_KEY_END}};
	if (n < 2 || (s[1] != '[' && s[1] != 'O')) {
		*ret = SW_KEY_ESCAPE;
		return 1;
	}
	size_t length = 2;
	while (length < n && (unsigned char) s[length] < 0x40)
		length++;
	length += length < n;
	*ret = SW_KEY_OTHER;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].end) == length - 2 &&
		    memcmp(known[i].end, s + 2, length - 2) == 0)
			*ret = known[i].key;
	return length;
}

int sw_terminal_key(struct sw_terminal *t)
{
	int key = SW_KEY_NONE;
	size_t length = 1;
	if (!t->active)
		return SW_KEY_GONE;
	if (t->n_keys == 0)
		return SW_KEY_NONE;
	unsigned char first = (unsigned char) t->keys[0];
	if (first == SW_KEY_ESCAPE)
		length = sequence_read(t->keys, t->n_keys, &key);
	else
		key = first == '\n'                            ? SW_KEY_ENTER
		      : first == 8                             ? SW_KEY_BACKSPACE
		      : first == 0 || first > SW_KEY_BACKSPACE ? SW_KEY_OTHER
							       : first;
	t->n_keys -= length;
	memmove(t->keys, t->keys + length, t->n_keys);
	return key;
}
