/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"
#include "cleanup.h"

#include <snapwalk/error.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

enum { TEXT_FIRST_CAPACITY = 256, TEXT_READ_BYTES = 16 * 1024 };

void sw_text_deinit(struct sw_text *text)
{
	free(text->data);
	*text = (struct sw_text){0};
}

/* Space for more bytes and the final NUL. */
static bool reserve(struct sw_text *text, size_t more)
{
	size_t need;
	if (text->failed || __builtin_add_overflow(text->size, more, &need) || need == SIZE_MAX) {
		text->failed = true;
		return false;
	}
	need++;
	if (need <= text->capacity)
		return true;
	size_t capacity = text->capacity == 0 ? TEXT_FIRST_CAPACITY : text->capacity;
	while (capacity < need)
		if (__builtin_mul_overflow(capacity, 2, &capacity))
			capacity = need;
	char *data = realloc(text->data, capacity);
	if (data == NULL) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->capacity = capacity;
	return true;
}

void sw_text_append(struct sw_text *text, const char *s, size_t size)
{
	if (!reserve(text, size))
		return;
	if (size > 0) /* of nothing, s may be NULL */
		memcpy(text->data + text->size, s, size);
	text->size += size;
	text->data[text->size] = '\0';
}

void sw_text_printf(struct sw_text *text, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		text->failed = true;
	else if (reserve(text, (size_t) n)) {
		(void) vsnprintf(text->data + text->size, (size_t) n + 1, fmt, again);
		text->size += (size_t) n;
	}
	va_end(again);
}

int sw_text_read_fd(struct sw_text *text, int fd, size_t max)
{
	for (;;) {
		if (!reserve(text, TEXT_READ_BYTES))
			return -SW_E_NOMEM;
		size_t space = text->capacity - text->size - 1;
		ssize_t n = read(fd, text->data + text->size, space);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -SW_E_IO;
		text->size += (size_t) n;
		text->data[text->size] = '\0';
		if (n == 0)
			return 0;
		if (text->size > max)
			return -SW_E_LIMIT;
	}
}

int sw_text_read_at(struct sw_text *text, int dirfd, const char *path, size_t max)
{
	/* NONBLOCK: a fifo must not make us wait. */
	sw_cleanup(sw_close_p) int fd =
		openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -SW_E_IO;
	return sw_text_read_fd(text, fd, max);
}
