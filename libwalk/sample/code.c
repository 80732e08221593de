/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/code.h"
#include "cleanup.h"
#include "process/proc.h"
#include "text.h"
#include "walk/tables.h"

#include <snapwalk/clock.h>
#include <stdio.h>
#include <string.h>

enum { MAPS_TEXT_MAX = 64 << 20, NS_PER_S = 1000000000, PATH_BYTES = 64 };

/* Mappings of code: those with 'x', by their lines. */
static uint64_t code_hash(const char *text, size_t size)
{
	uint64_t hash = 1;
	for (const char *line = text, *end = text + size; line < end;) {
		const char *stop = memchr(line, '\n', (size_t) (end - line));
		size_t length = stop != NULL ? (size_t) (stop - line) : (size_t) (end - line);
		const char *space = memchr(line, ' ', length);
		bool code =
			space != NULL && length - (size_t) (space - line) > 4 && space[3] == 'x';
		for (size_t i = 0; code && i < length; i++)
			hash = (hash ^ (unsigned char) line[i]) * UINT64_C(0x100000001b3);
		line += length + 1;
	}
	return hash;
}

static uint64_t size_now(const struct sw_target *target)
{
	char text[64];
	return sw_proc_read_small(target->proc_fd, "statm", text, sizeof(text)) > 0
		       ? sw_proc_statm_pages(text)
		       : 0;
}

/* ---- runtimes that come later ---------------------------------------------------------------- */

/* The row that a mapping of that name announces; NULL: it is another mapping. */
static const struct sw_runtime_ops *announced_by(const char *path)
{
	for (size_t i = 0; i < sw_tables.n_runtimes; i++)
		if (sw_tables.runtimes[i]->announces != NULL &&
		    sw_tables.runtimes[i]->announces(path))
			return sw_tables.runtimes[i];
	return NULL;
}

/* The name in a line of maps, as far as there is space. */
static void line_path(const char *line, size_t length, char *path, size_t bytes)
{
	enum { FIELDS_BEFORE = 5 };
	size_t at = 0;
	for (int i = 0; i < FIELDS_BEFORE; i++) {
		while (at < length && line[at] != ' ')
			at++;
		while (at < length && line[at] == ' ')
			at++;
	}
	(void) snprintf(path, bytes, "%.*s", (int) (length - at < bytes ? length - at : bytes - 1),
			line + at); /* a longer one is cut */
}

static bool is_announced(const struct sw_text *maps, const struct sw_snapshot *base)
{
	char path[PATH_BYTES];
	for (const char *line = maps->data, *end = line + maps->size; line < end;) {
		const char *stop = memchr(line, '\n', (size_t) (end - line));
		size_t length = stop != NULL ? (size_t) (stop - line) : (size_t) (end - line);
		line_path(line, length, path, sizeof(path));
		const struct sw_runtime_ops *runtime = announced_by(path);
		if (runtime != NULL && !runtime->probe(base))
			return true;
		line += length + 1;
	}
	return false;
}

/* ---- looks ----------------------------------------------------------------------------------- */

enum look {
	LOOK_SAME, /* too early, or the size of the memory is as before */
	LOOK_READ, /* the maps were read */
	LOOK_FAILED,
};

static enum look look(struct sw_sample_code *code, const struct sw_target *target, bool first,
		      int64_t every_ns, struct sw_text *maps)
{
	int64_t now_ns = sw_clock_ns(), since_ns = now_ns - code->looked_ns;
	bool asked = code->asked && !code->in_vain && since_ns >= SW_SAMPLE_CODE_NS;
	if (!first && !asked && since_ns < every_ns)
		return LOOK_SAME;
	uint64_t pages = size_now(target);
	code->looked_ns = now_ns;
	if (!first && !code->asked && pages == code->size_pages)
		return LOOK_SAME;
	sw_cleanup(sw_close_p) int fd = sw_target_live_fd(target);
	if (fd < 0 || sw_text_read_at(maps, fd, "maps", MAPS_TEXT_MAX) < 0)
		return LOOK_FAILED;
	code->size_pages = pages;
	return LOOK_READ;
}

bool sw_sample_code_is_other(struct sw_sample_code *code, const struct sw_target *target,
			     const struct sw_snapshot *base)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	enum look seen = look(code, target, code->hash == 0, NS_PER_S, &text);
	if (seen == LOOK_SAME)
		return false;
	const bool asked = code->asked, first = code->hash == 0;
	code->asked = false;
	code->in_vain = asked && seen == LOOK_FAILED;
	if (seen == LOOK_FAILED)
		return true;
	uint64_t hash = code_hash(text.data, text.size);
	bool other = !first && code->hash != hash;
	code->hash = hash;
	/* The first look compares with nothing: the maps were read anew for another reason. */
	code->in_vain = asked && !first && !other;
	return other || is_announced(&text, base);
}

void sw_sample_code_ask(struct sw_sample_code *code)
{
	code->asked = true;
}

bool sw_sample_code_is_announced(struct sw_sample_code *code, const struct sw_target *target,
				 const struct sw_snapshot *base, int64_t every_ns)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	return look(code, target, code->looked_ns == 0, every_ns, &text) == LOOK_READ &&
	       is_announced(&text, base);
}
