/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/function.h"
#include "bytes.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "common/nearest.h"
#include "errors.h"
#include "probes/declared.h"
#include "probes/matching.h"
#include "probes/variants.h"
#include "parts.h"
#include "run/apart.h"
#include "run/output.h"
#include "run/sandbox.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <snapwalk/symbolize.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum {
	LOOK_UP_S = 30, /* without --timeout */
	GRACE_S = 2,    /* for a process that ends by itself at its deadline */
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	ANSWER_MAX = 1 << 20, /* bytes: at most SW_EVENT_PLACES_MAX lines */
	NAME_SHOWN = 200,     /* bytes */
	SHOWN = 8,            /* of functions with one name */
	LIBRARIES_SHOWN = 3,
};

/* ---- by the process without privileges -------------------------------------------------------- */

struct look_up {
	const struct sw_options *options;
	const struct sw_subject *subject;
	const struct sw_target *target;
	struct sw_context *ctx;
	struct sw_symbolizer *symbolizer;
	struct sw_snapshot *snap;
	struct sw_matching matching;
	struct sw_module *module;
	int64_t deadline_ns;
	bool is_bad_name; /* the name of the command line is of nothing that is there */
	char remedy[384]; /* "": that of the error */
	const struct sw_function_wanted *wanted; /* borrowed; NULL: that of the options */
	size_t n_wanted;
	bool is_missing[SW_EVENT_PLACES_MAX]; /* of wanted */
};

__attribute__((format(printf, 2, 3))) static void advise(struct look_up *l, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	(void) vsnprintf(l->remedy, sizeof(l->remedy), format, ap); /* cut is fine */
	va_end(ap);
}

/* The better the higher; 0: another one. "libssl" and "libssl.so" are libssl.so.3. */
static int module_rank(const struct look_up *l, const struct sw_module *module)
{
	const char *path = sw_module_path(module), *name = sw_path_name(path);
	const char *wanted = l->options->event_module;
	if (wanted == NULL)
		return strcmp(path, l->snap->process.exe) == 0 ? 4 : 0;
	if (strchr(wanted, '/') != NULL)
		return strcmp(path, wanted) == 0 ? 4 : 0;
	size_t length = strlen(wanted);
	if (strcmp(name, wanted) == 0)
		return 4;
	if (strncmp(name, wanted, length) != 0)
		return 0;
	if (sw_begins_with(name + length, ".so"))
		return 3;
	if (name[length] == '.')
		return 2;
	return name[length] == '-' || isdigit((unsigned char) name[length]) ? 1 : 0;
}

/* The name of a library up to ".so". */
static void stem_of(const char *name, char ret[static 64])
{
	const char *end = strstr(name, ".so");
	size_t length = end != NULL ? (size_t) (end - name) : strlen(name);
	(void) snprintf(ret, 64, "%.*s", (int) (length < 64 ? length : 63), name); /* fits */
}

/* Whether somebody may have meant the library by the name: "libsls" is nearly libssl.so.3. */
static bool is_near_library(const char *wanted, const char *name)
{
	char stem[64], wanted_stem[64];
	stem_of(name, stem);
	stem_of(wanted, wanted_stem);
	return sw_is_near(wanted, name) || sw_is_near(wanted_stem, stem);
}

/* The first name that is near and comes after LAST. The order is that of names: that of addresses changes from process to
 * process. */
static const char *next_near(const struct look_up *l, const char *last)
{
	const char *best = NULL;
	for (size_t i = 0; i < l->snap->n_places; i++) {
		struct sw_module *module = l->snap->places[i].module;
		const char *name = module != NULL ? sw_path_name(sw_module_path(module)) : "";
		if (name[0] == '\0' || !is_near_library(l->options->event_module, name) ||
		    (last != NULL && strcmp(name, last) <= 0))
			continue;
		if (best == NULL || strcmp(name, best) < 0)
			best = name;
	}
	return best;
}

static int no_module(struct look_up *l, struct sw_error *err)
{
	const char *wanted = l->options->event_module;
	sw_cleanup(sw_text_deinit) struct sw_text near = {0};
	size_t n = 0;
	advise(l, "see what it has mapped in /proc/%d/maps", (int) l->subject->pid);
	if (wanted == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "the file of its program is not mapped");
	l->is_bad_name = true;
	for (const char *name = next_near(l, NULL); name != NULL && n < LIBRARIES_SHOWN;
	     name = next_near(l, name))
		sw_text_printf(&near, "%s%.80s", n++ > 0 ? ", " : "", name);
	sw_text_append(&near, "", 1);
	if (n > 0 && !near.failed)
		advise(l, "did you mean %s?", near.data);
	return sw_fail(err, SW_E_NOT_FOUND, "it has no library %s", wanted);
}

static int module_find(struct look_up *l, struct sw_error *err)
{
	const struct sw_snapshot *snap = l->snap;
	struct sw_module *other = NULL;
	int best = 0;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_module *module = snap->places[i].module;
		int rank = module != NULL ? module_rank(l, module) : 0;
		if (rank == 0 || rank < best || module == l->module)
			continue;
		other = rank == best ? l->module : NULL;
		l->module = module;
		best = rank;
	}
	if (l->module == NULL)
		return no_module(l, err);
	if (other != NULL) {
		l->is_bad_name = true;
		advise(l, "give one of both by its path, as func:PATH:SYMBOL");
		return sw_fail(err, SW_E_INVALID, "it has %s and %s", sw_module_path(other),
			       sw_module_path(l->module));
	}
	if (sw_module_kind(l->module) != SW_MODULE_ELF)
		return sw_fail(err, SW_E_UNSUPPORTED, "%s is no ELF file, and no other is probed",
			       sw_path_name(sw_module_path(l->module)));
	return 0;
}

/* Code that the process has made: what is in it has neither a file nor a place that stays. */
static bool makes_code(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if ((snap->maps[i].prot & SW_MAP_EXEC) && snap->maps[i].path[0] == '\0')
			return true;
	return false;
}

static int not_found(struct look_up *l, size_t n_functions, struct sw_error *err)
{
	const struct sw_matching *m = &l->matching;
	const char *module = sw_path_name(sw_module_path(l->module));
	const char *made = makes_code(l->snap)
				   ? "; methods that a runtime compiles have no fixed place and "
				     "are not probed"
				   : "";
	if (n_functions == 0) {
		advise(l, "install its debug symbols (a package -dbgsym or -debuginfo)");
		return sw_fail(err, SW_E_NOT_FOUND, "%s has no symbols, nor a debug file%s", module,
			       made);
	}
	l->is_bad_name = true;
	advise(l, "see what it has with 'nm -DC %.200s' and 'nm -C'", sw_module_path(l->module));
	if (m->n_near == 0)
		return sw_fail(err, SW_E_NOT_FOUND,
			       "%s has no function %.100s; one that is inlined everywhere has no "
			       "code of its own%s",
			       module, m->wanted, made);
	sw_cleanup(sw_text_deinit) struct sw_text near = {0};
	for (size_t i = 0; i < m->n_near; i++)
		sw_text_printf(&near, "%s%.80s", i > 0 ? ", " : "", m->near[i]);
	sw_text_append(&near, "", 1);
	if (!near.failed)
		advise(l, "did you mean %s?", near.data);
	return sw_fail(err, SW_E_NOT_FOUND, "%s has no function %.100s", module, m->wanted);
}

static int ambiguous(struct look_up *l, struct sw_error *err)
{
	const struct sw_matching *m = &l->matching;
	sw_cleanup(sw_text_deinit) struct sw_text names = {0};
	for (size_t i = 0; i < m->n && i < SHOWN; i++)
		sw_text_printf(&names, "%s%.*s@0x%" PRIx64, i > 0 ? ", " : "", NAME_SHOWN,
			       m->all[i].shown, m->all[i].svma);
	sw_text_append(&names, "", 1);
	l->is_bad_name = true;
	advise(l, "give one of them, as func:NAME@0xADDRESS");
	return sw_fail(err, SW_E_INVALID, "%zu functions have this name: %s", m->n + m->n_more,
		       names.failed ? "" : names.data);
}

/* *ret_n: how many functions were compared. */
static int functions_compare(struct look_up *l, size_t *ret_n, struct sw_error *err)
{
	struct sw_symbolize_options how = l->options->symbolize;
	how.deadline_ns = l->deadline_ns;
	int r = sw_symbolizer_functions(l->symbolizer, l->module, &how, sw_matching_add,
					&l->matching, ret_n, err);
	return r == 0 && l->matching.no_memory ? sw_fail_nomem(err) : r;
}

/* NAME@0xADDRESS of which there is nothing: the name may be at other addresses. */
static int not_there(struct look_up *l, struct sw_error *err)
{
	struct sw_matching *m = &l->matching;
	const uint64_t svma = m->svma;
	size_t n = 0;
	sw_cleanup(sw_text_deinit) struct sw_text name = {0};
	sw_text_printf(&name, "%.*s", (int) (strrchr(m->wanted, '@') - m->wanted), m->wanted);
	sw_text_append(&name, "", 1);
	sw_matching_deinit(m);
	if (name.failed || sw_matching_init(m, name.data) < 0)
		return sw_fail_nomem(err);
	int r = functions_compare(l, &n, err);
	if (r < 0)
		return r;
	if (m->n == 0) {
		r = not_found(l, n, err);
	} else {
		(void) ambiguous(l, NULL);
		r = sw_fail(err, SW_E_NOT_FOUND,
			    "%.100s is not at 0x%" PRIx64 ": it is %.100s@0x%" PRIx64 "%s",
			    name.data, svma, m->all[0].shown, m->all[0].svma,
			    m->n + m->n_more > 1 ? ", and others" : "");
	}
	m->wanted = l->options->event_name; /* the text is gone */
	return r;
}

static int functions_find(struct look_up *l, struct sw_error *err)
{
	size_t n = 0;
	struct sw_matching *m = &l->matching;
	int r = functions_compare(l, &n, err);
	if (r < 0)
		return r;
	if (m->n == 0)
		return m->at_svma ? not_there(l, err) : not_found(l, n, err);
	for (size_t i = 0; i < m->n; i++) {
		if (!m->all[i].is_indirect)
			continue;
		advise(l, "give the name of that code");
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "which code %.100s means is chosen when the program is loaded "
			       "(IFUNC)",
			       m->all[i].shown);
	}
	if (!sw_matching_is_one(m))
		return ambiguous(l, err);
	size_t size;
	const void *image = sw_module_image(l->module, &size);
	if (image != NULL)
		sw_variants_drop_callers(m, image, size);
	return m->n > SW_EVENT_PLACES_MAX ? ambiguous(l, err) : 0;
}

/* The mapping of the code at an offset of the module's file. */
static const struct sw_map *map_of(const struct look_up *l, uint64_t off)
{
	for (size_t i = 0; i < l->snap->n_maps; i++) {
		const struct sw_map *map = &l->snap->maps[i];
		if (map->place >= 0 && l->snap->places[map->place].module == l->module &&
		    (map->prot & SW_MAP_EXEC) && off >= map->file_off &&
		    off - map->file_off < map->end_avma - map->start_avma)
			return map;
	}
	return NULL;
}

static void operands_put(const struct sw_event_place *place, struct sw_text *text)
{
	sw_text_printf(text, "%d %" PRIx64 " %zu ", place->is_declared, place->semaphore_off,
		       place->n_operands);
	for (size_t i = 0; i < place->n_operands; i++) {
		const struct sw_event_operand *o = &place->operands[i];
		sw_text_printf(text, "%d %u %d %u %u %u %u %" PRId64 " ", (int) o->kind, o->bytes,
			       o->is_signed, o->shift, o->base, o->index, o->scale, o->value);
	}
}

/* A line for each place: [start, end) of the mapping, offset, whether it is emulated and reentered, which returns have the
 * result as an argument, number and offsets of the returns, operands, name. */
static int place_put(struct look_up *l, const struct sw_event_place *place, const char *name,
		     struct sw_text *text, struct sw_error *err)
{
	const struct sw_map *map = map_of(l, place->file_off);
	if (map == NULL) {
		advise(l, "see what it has mapped in /proc/%d/maps", (int) l->subject->pid);
		return sw_fail(err, SW_E_INVALID, "the code of %.100s is not mapped", name);
	}
	if ((map->prot & SW_MAP_WRITE) || (map->prot & SW_MAP_SHARED))
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the kernel does not probe code in a mapping that is %s, as that of "
			       "%.100s is",
			       (map->prot & SW_MAP_SHARED) ? "shared" : "writable", name);
	sw_text_printf(text, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %d %d %" PRIx64 " %zu ",
		       map->start_avma, map->end_avma, place->file_off, place->emulated,
		       place->reentered, place->returns_first, place->n_returns);
	for (size_t k = 0; k < place->n_returns; k++)
		sw_text_printf(text, "%" PRIx64 " ", place->returns_off[k]);
	operands_put(place, text);
	sw_utf8_append_plain(text, name, strnlen(name, NAME_SHOWN));
	sw_text_append(text, "\n", 1);
	return text->failed ? sw_fail_nomem(err) : 0;
}

static int places_put(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	size_t size;
	const void *image = sw_module_image(l->module, &size);
	advise(l, "see FUNCTIONS in snapwalk-on(1)"); /* why it cannot be probed */
	sw_text_printf(text, "%s\n", sw_path_name(sw_module_path(l->module)));
	for (size_t i = 0; i < l->matching.n; i++) {
		const struct sw_match *m = &l->matching.all[i];
		struct sw_event_place place;
		int r = image == NULL
				? sw_fail(err, SW_E_IO, "its file cannot be read")
				: sw_event_place_of(image, size, m->svma, m->size, &place, err);
		if (r == 0 && l->options->event.at_return)
			r = sw_event_returns_of(image, size, m->svma, m->size, &place, err);
		if (r == 0)
			r = place_put(l, &place, m->shown, text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int no_declared(struct look_up *l, const struct sw_declared *d, struct sw_error *err)
{
	const char *module = sw_path_name(sw_module_path(l->module));
	l->is_bad_name = true;
	advise(l, "see which there are with 'snapwalk on usdt: %d'", (int) l->subject->pid);
	if (d->n_near == 1)
		advise(l, "did you mean %s?", d->near[0]);
	else if (d->n_near > 1)
		advise(l, "did you mean %s or %s?", d->near[0], d->near[1]);
	return sw_fail(err, SW_E_NOT_FOUND,
		       d->n_all == 0 ? "%s declares no probes" : "%s declares no probe %.100s",
		       module, d->wanted);
}

/* The places of a probe that the file declares. */
static int declared_find(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	struct sw_declared d = {.wanted = l->options->event_name};
	size_t size;
	const void *image = sw_module_image(l->module, &size);
	if (image == NULL)
		return sw_fail(err, SW_E_IO, "its file cannot be read");
	int r = sw_event_probes(image, size, sw_declared_add, &d, err);
	if (r < 0)
		return r;
	if (d.n == 0)
		return no_declared(l, &d, err);
	if (d.is_ambiguous || d.n_more > 0) {
		l->is_bad_name = d.is_ambiguous;
		advise(l, "give PROVIDER:NAME, of a probe with at most %d places",
		       SW_EVENT_PLACES_MAX);
		return sw_fail(err, SW_E_LIMIT,
			       d.is_ambiguous ? "two providers have a probe %.100s"
					      : "the probe %.100s has more than 16 places",
			       d.wanted);
	}
	sw_text_printf(text, "%s\n", sw_path_name(sw_module_path(l->module)));
	for (size_t i = 0; i < d.n && r == 0; i++)
		r = place_put(l, &d.places[i], d.name, text, err);
	return r;
}

/* Which probes the files declare that are mapped, or that one. */
static int declared_list(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	struct sw_declared_list list = {.as_json = l->options->format == SW_FORMAT_JSON,
					.text = text};
	int r = l->options->event_module != NULL ? module_find(l, err) : 0;
	struct sw_module *before = NULL;
	for (size_t i = 0; r == 0 && i < l->snap->n_places; i++) {
		struct sw_module *module = l->snap->places[i].module;
		size_t size;
		if (module == NULL || module == before ||
		    (l->options->event_module != NULL && module != l->module) ||
		    sw_module_kind(module) != SW_MODULE_ELF)
			continue;
		const void *image = sw_module_image(module, &size);
		list.module = sw_path_name(sw_module_path(module));
		before = module;
		if (image != NULL)
			r = sw_event_probes(image, size, sw_declared_put, &list, err);
	}
	return r == 0 && text->failed ? sw_fail_nomem(err) : r;
}

/* "PROVIDER:NAME" of the program itself, where there is no library of that name. */
static int provided_find(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	const struct sw_options *const options = l->options;
	sw_cleanup(sw_text_deinit) struct sw_text name = {0};
	struct sw_options one = *options;
	sw_text_printf(&name, "%s:%s", options->event_module, options->event_name);
	sw_text_append(&name, "", 1);
	if (name.failed)
		return sw_fail_nomem(err);
	one.event_module = NULL;
	one.event_name = name.data;
	l->options = &one;
	int r = module_find(l, err);
	if (r == 0)
		r = declared_find(l, text, err);
	l->options = options;
	return r;
}

static int declared_look_up(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	struct look_up other = *l;
	int r = module_find(l, err);
	if (r == 0)
		return declared_find(l, text, err);
	if (r == -SW_E_NOT_FOUND && l->options->event_module != NULL &&
	    provided_find(&other, text, NULL) == 0)
		return 0;
	return r;
}

/* That of the options. */
static int function_look_up(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	l->module = NULL;
	sw_matching_deinit(&l->matching);
	if (sw_matching_init(&l->matching, l->options->event_name) < 0)
		return sw_fail_nomem(err);
	if (l->options->event_declared)
		return declared_look_up(l, text, err);
	int r = module_find(l, err);
	if (r == 0)
		r = functions_find(l, err);
	return r == 0 ? places_put(l, text, err) : r;
}

/* A line "= NUMBER" before those of each, or "- NUMBER ABSENT WHY" where one is missing that may be. */
static int wanted_look_up(struct look_up *l, size_t i, struct sw_text *text, struct sw_error *err)
{
	const struct sw_options *const options = l->options;
	const size_t begin = text->size;
	struct sw_options one = *options;
	struct sw_error why = {0};
	one.event_module = (char *) (uintptr_t) l->wanted[i].module;
	one.event_name = l->wanted[i].name;
	one.event.at_return = l->wanted[i].at_return;
	l->options = &one;
	sw_text_printf(text, "= %zu\n", i);
	int r = function_look_up(l, text, &why);
	l->options = options;
	if (r < 0 && l->wanted[i].optional && r != -SW_E_NOMEM) {
		l->is_missing[i] = true;
		text->size = begin; /* places before the one that failed */
		sw_text_printf(text, "- %zu %d ", i, r == -SW_E_NOT_FOUND);
		sw_utf8_append_plain(text, why.message, strlen(why.message));
		sw_text_append(text, "\n", 1);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

static int look_up(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	int r = sw_context_create(&l->ctx, err);
	if (r == 0)
		r = sw_symbolizer_create(l->ctx, &l->symbolizer, err);
	if (r == 0)
		r = sw_snapshot_maps(l->ctx, l->target, &l->snap, err);
	if (r == 0)
		r = sw_sandbox_enter(l->options, l->snap, err);
	if (r == 0 && l->options->list)
		return declared_list(l, text, err);
	if (r == 0 && l->wanted == NULL)
		r = function_look_up(l, text, err);
	for (size_t i = 0; r == 0 && i < l->n_wanted; i++)
		if (l->wanted[i].after == 0 || !l->is_missing[l->wanted[i].after - 1])
			r = wanted_look_up(l, i, text, err);
		else
			l->is_missing[i] = true;
	return r;
}

static int work(void *arg, int fd)
{
	struct look_up *l = arg;
	struct sw_error err = {0};
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (sw_apart_drop_bpf(&err) < 0 || look_up(l, &text, &err) < 0) {
		if (l->remedy[0] == '\0')
			return sw_complain_error(l->subject->name, &err);
		sw_complain(l->subject->name, err.message, sw_error_wire(err.code), l->remedy);
		return l->is_bad_name ? SW_STATUS_USAGE : sw_status_of(&err);
	}
	return sw_write_all(fd, text.data, text.size) ? SW_STATUS_COMPLETE : SW_STATUS_NOTHING;
}

/* ---- by the process with privileges ----------------------------------------------------------- */

void sw_function_keep(struct sw_function *f, const bool keep[static SW_EVENT_PLACES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		if (!keep[i]) {
			sw_close_p(&f->places[i].file_fd);
			free(f->names[i]);
			continue;
		}
		f->places[n] = f->places[i];
		f->names[n] = f->names[i];
		f->start_avma[n] = f->start_avma[i];
		f->end_avma[n] = f->end_avma[i];
		f->wanted[n++] = f->wanted[i];
	}
	f->n = n;
}

void sw_function_deinit(struct sw_function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		sw_close_p(&f->places[i].file_fd);
		free(f->names[i]);
	}
	for (size_t i = 0; i < f->n_missing; i++)
		free(f->missing[i].why);
	*f = (struct sw_function){0};
}

void sw_function_notice(const struct sw_function *f, const struct sw_subject *subject,
			struct sw_text *ret)
{
	size_t n_returns = 0;
	bool reentered = false;
	for (size_t i = 0; i < f->n; i++) {
		n_returns += f->places[i].n_returns;
		reentered |= f->places[i].reentered;
	}
	sw_text_printf(ret, "probes ");
	sw_utf8_append_plain(ret, f->names[0], strlen(f->names[0]));
	if (f->n > 1)
		sw_text_printf(ret, " at %zu places", f->n);
	if (n_returns > 0)
		sw_text_printf(ret, " and %zu return%s", n_returns, sw_plural(n_returns));
	sw_text_printf(ret, " in ");
	sw_utf8_append_plain(ret, f->module, strlen(f->module));
	if (f->places[0].semaphore_off != 0)
		sw_text_printf(ret, ", and counts its semaphore up");
	sw_text_printf(ret,
		       ": until this command ends the kernel has %s in the code of process %d\n",
		       f->n + n_returns > 1 ? "breakpoints" : "a breakpoint", (int) subject->pid);
	if (reentered)
		sw_text_printf(ret,
			       "a loop of the function comes back to its beginning: turns of the "
			       "loop are counted as calls\n");
}

void sw_function_json(const struct sw_function *f, struct sw_text *ret)
{
	sw_json_text_member(ret, "function", f->names[0]);
	sw_json_text_member(ret, "module", f->module);
	sw_text_printf(ret, ",\"changes_code\":true,\"places\":[");
	for (size_t i = 0; i < f->n; i++)
		sw_text_printf(ret,
			       "%s{\"file_offset\":%" PRIu64
			       ",\"emulated\":%s,\"reentered\":%s,\"returns\":%zu}",
			       i > 0 ? "," : "", f->places[i].file_off,
			       f->places[i].emulated ? "true" : "false",
			       f->places[i].reentered ? "true" : "false", f->places[i].n_returns);
	sw_text_append(ret, "]", 1);
}

/* Offsets from a place of the line on, which then begins behind them. */
static bool returns_take(const char **line, size_t at, struct sw_event_place *to)
{
	char *end;
	if (to->n_returns > SW_EVENT_RETURNS_MAX)
		return false;
	*line += at;
	for (size_t i = 0; i < to->n_returns; i++, *line = end + 1) {
		to->returns_off[i] = strtoull(*line, &end, 16);
		if (end == *line || *end != ' ')
			return false;
	}
	return true;
}

/* Operands, likewise. */
static bool operands_take(const char **line, struct sw_event_place *to)
{
	int declared, at = 0;
	if (sscanf(*line, "%d %" SCNx64 " %zu %n", &declared, &to->semaphore_off, &to->n_operands,
		   &at) != 3 ||
	    at == 0 || to->n_operands > SW_EVENT_ARGUMENTS)
		return false;
	to->is_declared = declared != 0;
	*line += at;
	for (size_t i = 0; i < to->n_operands; i++, *line += at) {
		struct sw_event_operand *o = &to->operands[i];
		int kind, is_signed;
		at = 0;
		if (sscanf(*line,
			   "%d %" SCNu8 " %d %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNd64
			   " %n",
			   &kind, &o->bytes, &is_signed, &o->shift, &o->base, &o->index, &o->scale,
			   &o->value, &at) != 8 ||
		    at == 0 || kind < 0 || kind > SW_EVENT_OPERAND_MEMORY || o->shift > 8 ||
		    o->bytes > 8)
			return false;
		o->kind = (enum sw_event_operand_kind) kind;
		o->is_signed = is_signed != 0;
	}
	return true;
}

/* The line of the other process is not believed: the kernel says what is mapped there. */
static int place_take(const struct sw_target *target, const char *line, struct sw_function *f,
		      struct sw_error *err)
{
	uint64_t start, end;
	struct sw_event_place place = {.file_fd = -EBADF};
	int emulated, reentered, at = 0;
	if (f->n == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %d %d %" SCNx64 " %zu %n", &start,
		   &end, &place.file_off, &emulated, &reentered, &place.returns_first,
		   &place.n_returns, &at) != 7 ||
	    at == 0 || !returns_take(&line, (size_t) at, &place) || !operands_take(&line, &place))
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	place.emulated = emulated != 0;
	place.reentered = reentered != 0;
	place.file_fd = sw_target_map_file(target, start, end, err);
	if (place.file_fd < 0)
		return place.file_fd;
	f->places[f->n] = place;
	f->start_avma[f->n] = start;
	f->end_avma[f->n] = end;
	f->names[f->n] = strdup(line);
	f->places[f->n].name = f->names[f->n];
	return f->names[f->n++] == NULL ? sw_fail_nomem(err) : 0;
}

static int missing_take(const char *line, struct sw_function *f, struct sw_error *err)
{
	int at = 0, absent = 0;
	size_t wanted = 0;
	if (f->n_missing == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "- %zu %d %n", &wanted, &absent, &at) != 2 || at == 0 ||
	    wanted >= SW_EVENT_PLACES_MAX)
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	f->missing[f->n_missing].wanted = wanted;
	f->missing[f->n_missing].is_absent = absent != 0;
	f->missing[f->n_missing].why = strdup(line + at);
	return f->missing[f->n_missing++].why == NULL ? sw_fail_nomem(err) : 0;
}

/* Lines of several functions. */
static int all_take(const struct sw_target *target, struct sw_text *text, struct sw_function *f,
		    struct sw_error *err)
{
	char *rest = NULL;
	size_t wanted = 0;
	int r = 0;
	sw_text_append(text, "", 1);
	if (text->failed)
		return sw_fail_nomem(err);
	for (char *line = strtok_r(text->data, "\n", &rest); r == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == '-') {
			r = missing_take(line, f, err);
		} else if (line[0] == '=') {
			const char *module = strtok_r(NULL, "\n", &rest);
			wanted = strtoul(line + 1, NULL, 10);
			if (f->n == 0 && module != NULL)
				(void) snprintf(f->module, sizeof(f->module), "%s", module);
		} else {
			r = place_take(target, line, f, err);
			if (r == 0)
				f->wanted[f->n - 1] = wanted;
		}
	}
	return r;
}

static int places_take(const struct sw_target *target, struct sw_text *text, struct sw_function *f,
		       struct sw_error *err)
{
	char *rest = NULL;
	sw_text_append(text, "", 1);
	if (text->failed)
		return sw_fail_nomem(err);
	const char *module = strtok_r(text->data, "\n", &rest);
	int r = 0;
	(void) snprintf(f->module, sizeof(f->module), "%s", module != NULL ? module : "");
	for (const char *line; r == 0 && (line = strtok_r(NULL, "\n", &rest)) != NULL;)
		r = place_take(target, line, f, err);
	if (r == 0 && f->n == 0)
		r = sw_fail(err, SW_E_INTERNAL, "what looked it up has written nothing");
	return r;
}

/* 0: none. */
static int64_t deadline_of(const struct sw_options *options)
{
	if (!options->timeout_given)
		return sw_clock_ns() + (int64_t) LOOK_UP_S * NS_PER_S;
	return options->timeout_ms > 0 ? sw_clock_ns() + (int64_t) options->timeout_ms * NS_PER_MS
				       : 0;
}

/* The process without privileges writes what it has looked up. wanted: NULL: that of the options. */
static int looked_up(const struct sw_options *options, const struct sw_subject *subject,
		     const struct sw_function_wanted *wanted, size_t n_wanted, struct sw_text *text,
		     struct sw_function *ret)
{
	struct sw_error err = {0};
	struct sw_apart apart;
	struct sw_target *target = NULL;
	int status = SW_STATUS_COMPLETE;
	int r = sw_target_open(subject->pid, &target, &err);
	struct look_up l = {.options = options,
			    .wanted = wanted,
			    .n_wanted = n_wanted,
			    .subject = subject,
			    .target = target,
			    .deadline_ns = deadline_of(options)};
	if (r == 0)
		r = sw_apart_start(&apart, work, &l, &err);
	if (r == 0)
		r = sw_apart_finish_within(&apart,
					   l.deadline_ns > 0
						   ? l.deadline_ns + (int64_t) GRACE_S * NS_PER_S
						   : 0,
					   ANSWER_MAX, text, &status, &err);
	if (r == 0 && status == SW_STATUS_COMPLETE && !options->list)
		r = wanted != NULL ? all_take(target, text, ret, &err)
				   : places_take(target, text, ret, &err);
	if (target != NULL && !options->list)
		ret->starttime = sw_target_starttime(target);
	sw_target_close(target);
	return r < 0 ? sw_complain_error(subject->name, &err) : status;
}

int sw_function_find(const struct sw_options *options, const struct sw_subject *subject,
		     struct sw_function *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_function){0};
	return looked_up(options, subject, NULL, 0, &text, ret);
}

int sw_functions_find(const struct sw_options *options, const struct sw_subject *subject,
		      const struct sw_function_wanted *wanted, size_t n, struct sw_function *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_function){0};
	return looked_up(options, subject, wanted, n, &text, ret);
}

int sw_function_list(const struct sw_options *options)
{
	struct sw_subject subject;
	struct sw_error err = {0};
	struct sw_output output;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int status = sw_select_one(options, &subject);
	if (status == SW_STATUS_COMPLETE && options->format == SW_FORMAT_JSON)
		sw_text_printf(&text, "{\"schema\":\"snapwalk.usdt/1\",\"pid\":%d,\"probes\":[",
			       (int) subject.pid);
	if (status == SW_STATUS_COMPLETE)
		status = looked_up(options, &subject, NULL, 0, &text, NULL);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (options->format == SW_FORMAT_JSON)
		sw_text_append(&text, "]}\n", 3);
	if (text.size == 0)
		sw_text_printf(&text, "no probes are declared in what it has mapped\n");
	int r = text.failed ? sw_fail_nomem(&err) : sw_output_open(&output, options->output, &err);
	if (r < 0)
		return sw_complain_error(subject.name, &err);
	r = sw_output_write(&output, text.data, text.size, &err);
	if (r == 0)
		r = sw_output_commit(&output, &err);
	sw_output_deinit(&output);
	return r < 0 ? sw_complain_error(subject.name, &err) : SW_STATUS_COMPLETE;
}
