/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "probes/declared.h"
#include "probes/matching.h"
#include "probes/variants.h"
#include "utf8.h"

#include <snapwalk/nearest.h>
#include <snapwalk/probes.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
	NAME_SHOWN = 200, /* bytes */
	SHOWN = 8,        /* of functions with one name */
	LIBRARIES_SHOWN = 3,
	VARIANTS_SHOWN = 3,
};

struct look_up {
	const struct sw_function_wanted *wanted; /* the one of this turn */
	const struct sw_probe_look_up *asked;
	const struct sw_snapshot *snap;
	struct sw_matching matching;
	struct sw_module *module;
	struct sw_probe_why why;
	bool is_missing[SW_EVENT_PLACES_MAX]; /* of those that are wanted */
};

__attribute__((format(printf, 2, 3))) static void advise(struct look_up *l, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	(void) vsnprintf(l->why.remedy, sizeof(l->why.remedy), format, ap); /* cut is fine */
	va_end(ap);
}

/* The beginning of the word that names a function: pairs have none. */
static const char *word_begin(const struct look_up *l)
{
	return l->wanted->prefix != NULL ? l->wanted->prefix : "";
}

/* The better the higher; 0: another one. "libssl" and "libssl.so" are libssl.so.3. */
static int module_rank(const struct look_up *l, const struct sw_module *module)
{
	const char *path = sw_module_path(module), *name = sw_path_name(path);
	const char *wanted = l->wanted->module;
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
		if (name[0] == '\0' || !is_near_library(l->wanted->module, name) ||
		    (last != NULL && strcmp(name, last) <= 0))
			continue;
		if (best == NULL || strcmp(name, best) < 0)
			best = name;
	}
	return best;
}

static int no_module(struct look_up *l, struct sw_error *err)
{
	const char *wanted = l->wanted->module;
	sw_cleanup(sw_text_deinit) struct sw_text near = {0};
	size_t n = 0;
	l->why.causes = SW_PROBE_OF_CODE;
	if (wanted == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "the file of its program is not mapped");
	l->why.is_bad_name = true;
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
		l->why.is_bad_name = true;
		advise(l, "give one of both by its path, as %sPATH:%s", word_begin(l),
		       l->wanted->prefix == NULL ? "ACQUIRE/RELEASE" : "SYMBOL");
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
		l->why.causes = SW_PROBE_OF_CODE | SW_PROBE_OF_SYMBOLS;
		return sw_fail(err, SW_E_NOT_FOUND, "%s has no symbols, nor a debug file%s", module,
			       made);
	}
	l->why.is_bad_name = true;
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
	l->why.is_bad_name = true;
	const char *library = l->wanted->prefix != NULL ? l->wanted->module : NULL;
	advise(l, "give one of them, as %s%.100s%sNAME@0xADDRESS", word_begin(l),
	       library != NULL ? library : "", library != NULL ? ":" : "");
	return sw_fail(err, SW_E_INVALID, "%zu functions have this name: %s", m->n + m->n_more,
		       names.failed ? "" : names.data);
}

/* *ret_n: how many functions were compared. */
static int functions_compare(struct look_up *l, size_t *ret_n, struct sw_error *err)
{
	int r = sw_symbolizer_functions(l->asked->symbolizer, l->module, &l->asked->symbolize,
					sw_matching_add, &l->matching, ret_n, err);
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
	m->wanted = l->wanted->name; /* the text is gone */
	return r;
}

/* The names of a function's variants: "__memcpy_avx_unaligned" of memcpy. */
struct variants {
	const char *name;
	char *all[VARIANTS_SHOWN]; /* owned; the first ones of the alphabet */
	size_t n;
	bool no_memory;
};

static bool is_variant(const char *symbol, const char *name)
{
	const char *at = strstr(symbol, name);
	return at != NULL && at > symbol && at[-1] == '_' && at[strlen(name)] == '_';
}

/* The order is that of names: that of tables changes from build to build. */
static void variant_add(void *arg, const struct sw_function_symbol *symbol)
{
	struct variants *v = arg;
	size_t i = 0;
	if (symbol->is_indirect || !is_variant(symbol->name, v->name))
		return;
	while (i < v->n && strcmp(v->all[i], symbol->name) < 0)
		i++;
	if (i == VARIANTS_SHOWN || (i < v->n && strcmp(v->all[i], symbol->name) == 0))
		return;
	char *copy = strdup(symbol->name);
	if (copy == NULL) {
		v->no_memory = true;
		return;
	}
	if (v->n == VARIANTS_SHOWN)
		free(v->all[--v->n]);
	memmove(&v->all[i + 1], &v->all[i], (v->n - i) * sizeof(v->all[0]));
	v->all[i] = copy;
	v->n++;
}

/* A function that means one of several, as the processor has it. Which one, the symbols do not say. */
static int chosen_when_loaded(struct look_up *l, const struct sw_match *match, struct sw_error *err)
{
	struct variants v = {.name = match->raw};
	sw_cleanup(sw_text_deinit) struct sw_text names = {0};
	size_t n;
	int r = sw_symbolizer_functions(l->asked->symbolizer, l->module, &l->asked->symbolize,
					variant_add, &v, &n, err);
	for (size_t i = 0; i < v.n; i++) {
		sw_text_printf(&names, "%s%.80s", i > 0 ? ", " : "", v.all[i]);
		free(v.all[i]);
	}
	sw_text_append(&names, "", 1);
	l->why.causes = SW_PROBE_OF_CODE | SW_PROBE_OF_SYMBOLS;
	if (v.n > 0 && !names.failed)
		advise(l,
		       "give the name of that code, as %s: 'snapwalk sample %d' shows which runs",
		       names.data, (int) l->snap->process.pid);
	if (r < 0 || v.no_memory)
		return r < 0 ? r : sw_fail_nomem(err);
	return sw_fail(err, SW_E_UNSUPPORTED,
		       "which code %.100s means is chosen when the program is loaded (IFUNC)",
		       match->shown);
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
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].is_indirect)
			return chosen_when_loaded(l, &m->all[i], err);
	if (!sw_matching_is_one(m))
		return ambiguous(l, err);
	size_t size;
	const void *image = sw_module_image(l->module, &size);
	if (image != NULL)
		sw_variants_drop_callers(m, image, size);
	return m->n > SW_EVENT_PLACES_MAX ? ambiguous(l, err) : 0;
}

static int unreadable(struct look_up *l, struct sw_error *err)
{
	l->why.causes = SW_PROBE_OF_CODE;
	return sw_fail(err, SW_E_IO, "%.200s cannot be read", sw_module_path(l->module));
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
 * result as an argument, number and offsets of the returns, operands, name. place_take() of probes/function.c reads it. */
static int place_put(struct look_up *l, const struct sw_event_place *place, const char *name,
		     struct sw_text *text, struct sw_error *err)
{
	const struct sw_map *map = map_of(l, place->file_off);
	if (map == NULL) {
		l->why.causes = SW_PROBE_OF_CODE | SW_PROBE_OF_ADDRESS;
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
	l->why.causes = SW_PROBE_OF_CODE;
	sw_text_printf(text, "%s\n", sw_path_name(sw_module_path(l->module)));
	for (size_t i = 0; i < l->matching.n; i++) {
		const struct sw_match *m = &l->matching.all[i];
		struct sw_event_place place;
		int r = image == NULL
				? unreadable(l, err)
				: sw_event_place_of(image, size, m->svma, m->size, &place, err);
		if (r == 0 && l->wanted->at_return)
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
	l->why.is_bad_name = true;
	l->why.causes = SW_PROBE_OF_DECLARED;
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
	struct sw_declared d = {.wanted = l->wanted->name};
	size_t size;
	const void *image = sw_module_image(l->module, &size);
	if (image == NULL)
		return unreadable(l, err);
	int r = sw_event_probes(image, size, sw_declared_add, &d, err);
	if (r < 0)
		return r;
	if (d.n == 0)
		return no_declared(l, &d, err);
	if (d.is_ambiguous || d.n_more > 0) {
		l->why.is_bad_name = d.is_ambiguous;
		l->why.causes = SW_PROBE_OF_DECLARED | (d.is_ambiguous ? SW_PROBE_OF_SEVERAL : 0);
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

/* "PROVIDER:NAME" of the program itself, where there is no library of that name. */
static int provided_find(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	const struct sw_function_wanted *const wanted = l->wanted;
	sw_cleanup(sw_text_deinit) struct sw_text name = {0};
	struct sw_function_wanted one = *wanted;
	sw_text_printf(&name, "%s:%s", wanted->module, wanted->name);
	sw_text_append(&name, "", 1);
	if (name.failed)
		return sw_fail_nomem(err);
	one.module = NULL;
	one.name = name.data;
	l->wanted = &one;
	int r = module_find(l, err);
	if (r == 0)
		r = declared_find(l, text, err);
	l->wanted = wanted;
	return r;
}

static int declared_look_up(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	struct look_up other = *l;
	int r = module_find(l, err);
	if (r == 0)
		return declared_find(l, text, err);
	if (r == -SW_E_NOT_FOUND && l->wanted->module != NULL &&
	    provided_find(&other, text, NULL) == 0)
		return 0;
	return r;
}

static int function_look_up(struct look_up *l, struct sw_text *text, struct sw_error *err)
{
	l->module = NULL;
	l->why = (struct sw_probe_why){0};
	sw_matching_deinit(&l->matching);
	if (sw_matching_init(&l->matching, l->wanted->name) < 0)
		return sw_fail_nomem(err);
	if (l->wanted->is_declared)
		return declared_look_up(l, text, err);
	int r = module_find(l, err);
	if (r == 0)
		r = functions_find(l, err);
	return r == 0 ? places_put(l, text, err) : r;
}

/* A line "= NUMBER" before those of each, or "- NUMBER ABSENT WHY" where one is missing that may be. */
static int wanted_look_up(struct look_up *l, size_t i, struct sw_text *text, struct sw_error *err)
{
	const size_t begin = text->size;
	struct sw_error why = {0};
	l->wanted = &l->asked->wanted[i];
	sw_text_printf(text, "= %zu\n", i);
	int r = function_look_up(l, text, &why);
	if (r < 0 && l->wanted->optional && r != -SW_E_NOMEM) {
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

/* Hands the text over, with an end that is not counted. */
static int text_give(struct sw_text *text, char **ret_text, size_t *ret_size, struct sw_error *err)
{
	sw_text_append(text, "", 1);
	if (text->failed)
		return sw_fail_nomem(err);
	*ret_size = text->size - 1;
	*ret_text = sw_take_ptr(text->data);
	return 0;
}

int sw_probes_look_up(const struct sw_probe_look_up *asked, char **ret_text, size_t *ret_size,
		      struct sw_probe_why *why, struct sw_error *err)
{
	struct look_up l = {.asked = asked, .snap = asked->snap};
	struct sw_error said = {0};
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < asked->n_wanted; i++)
		if (asked->wanted[i].after == 0 || !l.is_missing[asked->wanted[i].after - 1])
			r = wanted_look_up(&l, i, &text, &said);
		else
			l.is_missing[i] = true;
	if (r == 0)
		r = text_give(&text, ret_text, ret_size, &said);
	sw_matching_deinit(&l.matching);
	if (r == 0)
		return 0;
	*why = l.why;
	return sw_fail(err, said.code, "%s", said.message);
}

/* The probes of one file, with its name. */
struct told {
	void (*each)(void *arg, const char *module, const struct sw_event_probe *probe);
	void *arg;
	const char *module;
};

static void tell(void *arg, const struct sw_event_probe *probe)
{
	const struct told *t = arg;
	t->each(t->arg, t->module, probe);
}

int sw_probes_list(const struct sw_snapshot *snap, const char *name,
		   void (*each)(void *arg, const char *module, const struct sw_event_probe *probe),
		   void *arg, struct sw_probe_why *why, struct sw_error *err)
{
	const struct sw_function_wanted wanted = {.module = name,
						  .name = "",
						  .is_declared = true,
						  .prefix = "usdt:"};
	struct look_up l = {.wanted = &wanted, .snap = snap};
	struct told told = {.each = each, .arg = arg};
	int r = name != NULL ? module_find(&l, err) : 0;
	struct sw_module *before = NULL;
	for (size_t i = 0; r == 0 && i < snap->n_places; i++) {
		struct sw_module *module = snap->places[i].module;
		size_t size;
		if (module == NULL || module == before || (name != NULL && module != l.module) ||
		    sw_module_kind(module) != SW_MODULE_ELF)
			continue;
		const void *image = sw_module_image(module, &size);
		told.module = sw_path_name(sw_module_path(module));
		before = module;
		if (image != NULL)
			r = sw_event_probes(image, size, tell, &told, err);
	}
	if (r < 0)
		*why = l.why;
	return r;
}

bool sw_probe_split(const char *text, size_t *ret_module_length, const char **ret_name)
{
	const char *colon = strchr(text, ':');
	const bool has_module = colon != NULL && colon[1] != ':';
	const char *name = has_module ? colon + 1 : text;
	if (name[0] == '\0' || (has_module && colon == text))
		return false;
	*ret_module_length = has_module ? (size_t) (colon - text) : 0;
	*ret_name = name;
	return true;
}
