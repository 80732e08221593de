/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/jitdump.h"
#include "jit/perf/jitdump_parse.h"
#include "cleanup.h"
#include "errors.h"
#include "jit/common/source.h"
#include "cfi/fde.h"
#include "snapshot/module.h"
#include "snapshot/side_file.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <sys/stat.h>

/*
 * Runtimes map their jitdump file executable, so that perf sees it; so do we: /proc/PID/maps says
 * which files are the process's, wherever they are, and snapshot/places.c has opened them.
 */
enum {
	FILES_MAX = 8,             /* of one process: of itself, and what it had before a fork */
	FILES_BYTES_MAX = 1 << 29, /* of all of them */
	COUNT_BYTES = 4 << 20,     /* of a file that nobody asked: it is read only to be listed */
};

struct jitdump_file {
	size_t n_users;                 /* states that have it */
	const struct sw_module *module; /* borrowed from the snapshot's context */
	struct sw_file_copy copy;       /* owned */
	bool is_loaded;
	struct sw_jitdump dump; /* owned; over copy */
	const char *problem;    /* static; NULL */
};

struct jitdump_state {
	const struct sw_snapshot *snap;
	struct jitdump_file *files[FILES_MAX]; /* owned, with others that have read the same */
	size_t n;
	bool loaded, more; /* more: than FILES_MAX */
};

/* ".../jit-PID.dump", maybe deleted; JavaScriptCore writes jit-TID-PID.dump (bun 1.4). */
static bool is_jitdump_name(const struct sw_map *map)
{
	static const char prefix[] = "jit-", suffix[] = ".dump";
	size_t length, n_suffix = sizeof(suffix) - 1;
	(void) sw_map_path_deleted(map, &length); /* only for the length */
	const char *end = map->path + length, *slash = memrchr(map->path, '/', length);
	const char *p = slash != NULL ? slash + 1 : map->path;
	if ((size_t) (end - p) <= sizeof(prefix) - 1 + n_suffix ||
	    memcmp(p, prefix, sizeof(prefix) - 1) != 0 ||
	    memcmp(end - n_suffix, suffix, n_suffix) != 0)
		return false;
	for (p += sizeof(prefix) - 1; p < end - n_suffix; p++)
		if ((*p < '0' || *p > '9') && *p != '-')
			return false;
	return true;
}

static int file_add(struct jitdump_state *st, const struct sw_module *module)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->files[i]->module == module)
			return 0;
	if (st->n == FILES_MAX) {
		st->more = true;
		return 0;
	}
	struct jitdump_file *f = calloc(1, sizeof(*f));
	if (f == NULL)
		return -SW_E_NOMEM;
	f->n_users = 1;
	f->module = module;
	st->files[st->n++] = f;
	return 0;
}

static void jitdump_detach(void *state)
{
	struct jitdump_state *st = state;
	for (size_t i = 0; st != NULL && i < st->n; i++) {
		struct jitdump_file *f = st->files[i];
		if (--f->n_users > 0)
			continue;
		sw_jitdump_deinit(&f->dump);
		sw_file_copy_free(&f->copy);
		free(f);
	}
	free(st);
}

static int jitdump_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			  size_t n_roots, void *found, void **ret_state)
{
	struct jitdump_state *st = calloc(1, sizeof(*st));
	(void) roots; /* none: it has no probe() */
	(void) n_roots;
	(void) found;
	if (st == NULL)
		return -SW_E_NOMEM;
	st->snap = snap;
	int r = 0;
	for (size_t i = 0; r == 0 && i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if ((map->prot & SW_MAP_EXEC) && map->place >= 0 && is_jitdump_name(map))
			r = file_add(st, snap->places[map->place].module);
	}
	if (r < 0)
		jitdump_detach(st);
	else
		*ret_state = st;
	return r;
}

/* Records are only ever appended. */
static bool has_grown(const struct jitdump_file *f)
{
	struct stat st;
	int fd = sw_module_fd(f->module);
	return fd >= 0 && fstat(fd, &st) == 0 && (uint64_t) st.st_size != f->copy.bytes.size &&
	       !f->copy.cut;
}

static int jitdump_again(void *state, void **ret_state)
{
	const struct jitdump_state *last = state;
	struct jitdump_state *st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -SW_E_NOMEM;
	st->snap = last->snap;
	st->more = last->more;
	int r = 0;
	for (size_t i = 0; r == 0 && i < last->n; i++) {
		struct jitdump_file *f = last->files[i];
		if (!f->is_loaded || has_grown(f)) {
			r = file_add(st, f->module);
			continue;
		}
		f->n_users++;
		st->files[st->n++] = f;
	}
	if (r < 0)
		jitdump_detach(st);
	else
		*ret_state = st;
	return r;
}

static void file_load(struct jitdump_file *f, size_t *bytes_left)
{
	int fd = sw_module_fd(f->module);
	f->is_loaded = true;
	if (fd >= 0 && *bytes_left > 0)
		sw_file_copy_make(fd, *bytes_left, false, &f->copy);
	*bytes_left -= f->copy.bytes.size;
	if (f->copy.space == NULL) {
		f->problem =
			fd >= 0 ? "it is empty, or could not be read" : "it could not be opened";
		return;
	}
	if (sw_jitdump_parse(f->copy.bytes, &f->dump) < 0)
		f->problem = "not enough memory";
	else if (f->dump.problem != NULL)
		f->problem = f->dump.problem;
	else if (f->copy.cut)
		f->problem = "it is larger than what is looked at";
}

/* Tried once. */
static void load(struct jitdump_state *st)
{
	size_t bytes_left = FILES_BYTES_MAX;
	for (size_t i = 0; !st->loaded && i < st->n; i++) {
		struct jitdump_file *f = st->files[i];
		if (f->is_loaded) /* by an earlier reading */
			bytes_left -=
				f->copy.bytes.size < bytes_left ? f->copy.bytes.size : bytes_left;
		else
			file_load(f, &bytes_left);
	}
	st->loaded = true;
}

static const struct sw_jitdump_function *function_at(struct jitdump_state *st, uint64_t avma,
						     const struct sw_jitdump **ret_dump)
{
	load(st);
	for (size_t i = 0; i < st->n; i++) {
		const struct sw_jitdump_function *f = sw_jitdump_find(&st->files[i]->dump, avma);
		*ret_dump = &st->files[i]->dump;
		if (f != NULL)
			return f;
	}
	return NULL;
}

static bool jitdump_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	const struct sw_jitdump *dump;
	struct sw_cfi_entry entry;
	const struct sw_jitdump_function *f = function_at(state, avma, &dump);
	if (f == NULL)
		return false;
	ret->start_avma = f->start_avma;
	ret->end_avma = f->start_avma + f->bytes;
	ret->how = SW_JIT_UNKNOWN;
	ret->id = f->name_off; /* each record has another place */
	if (sw_jitdump_cfi(dump, f, &ret->cfi) &&
	    sw_cfi_fde_find(&ret->cfi, avma, &ret->cfi_off, &entry) == 1)
		ret->how = SW_JIT_CFI;
	return true;
}

static int jitdump_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	const struct sw_jitdump *dump;
	struct sw_bytes file;
	uint32_t line;
	const struct sw_jitdump_function *f = function_at(state, avma, &dump);
	if (f == NULL)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", sw_jitdump_name(dump, f));
	ret->start_avma = f->start_avma;
	if (sw_jitdump_line(dump, f, avma, &file, &line)) {
		size_t n = file.size < sizeof(ret->file) ? file.size : sizeof(ret->file) - 1;
		memcpy(ret->file, file.data, n); /* zeroed before: ends with a NUL */
		ret->line = line;
	}
	return ret->function[0] != '\0';
}

static void jitdump_explain(void *state, uint64_t avma, struct sw_text *text)
{
	const struct sw_jitdump *dump;
	const struct sw_jitdump_function *f = function_at(state, avma, &dump);
	if (f != NULL)
		sw_text_printf(text,
			       "jitdump: [0x%" PRIx64 ", 0x%" PRIx64 "), %s; %" PRIu32
			       " bytes of call frame information\n",
			       f->start_avma, f->start_avma + f->bytes, sw_jitdump_name(dump, f),
			       f->unwind_bytes);
}

static bool all_small(const struct jitdump_state *st)
{
	struct stat file;
	for (size_t i = 0; i < st->n; i++) {
		int fd = sw_module_fd(st->files[i]->module);
		if (fd >= 0 && fstat(fd, &file) == 0 && file.st_size > COUNT_BYTES)
			return false;
	}
	return true;
}

static size_t jitdump_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct jitdump_state *st = state;
	if (st == NULL || (!st->loaded && !all_small(st)))
		return 0;
	load(st);
	for (size_t i = 0; i < st->n && i < max; i++) {
		const struct jitdump_file *f = st->files[i];
		ret[i] = (struct sw_runtime){.name = "jitdump", .entries = (int64_t) f->dump.n};
		(void) snprintf(ret[i].where, sizeof(ret[i].where), "%s",
				sw_module_path(f->module)); /* cut is fine: it is prose */
		(void) snprintf(ret[i].problem, sizeof(ret[i].problem), "%s",
				f->problem != NULL ? f->problem
				: st->more         ? "there are more files than are looked at"
						   : "");
	}
	return st->n < max ? st->n : max;
}

const struct sw_jit_hook_ops sw_jit_jitdump_hooks = {
	.name = "jitdump",
};

const struct sw_jit_source_ops sw_jit_jitdump = {
	.name = "jitdump",
	.attach = jitdump_attach,
	.detach = jitdump_detach,
	.again = jitdump_again,
	.find = jitdump_find,
	.describe = jitdump_describe,
	.explain = jitdump_explain,
	.recognise = jitdump_recognise,
};
