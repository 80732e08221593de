/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/naming.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "parts.h"
#include "run/obtain.h"
#include "text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Source: debuginfod_find_debuginfo(3) of elfutils 0.188, "FILES" and "ENVIRONMENT VARIABLES". */
static void cache_find(char ret[static PATH_MAX])
{
	const struct {
		const char *variable, *below;
	} places[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"HOME", "/.debuginfod_client_cache"}, /* the first releases' */
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(places); i++) {
		const char *begin = getenv(places[i].variable);
		if (begin == NULL || begin[0] != '/')
			continue;
		int n = snprintf(ret, PATH_MAX, "%s%s", begin, places[i].below);
		if (n > 0 && n < PATH_MAX && is_directory(ret))
			return;
	}
	ret[0] = '\0';
}

int sw_namer_begin(struct sw_namer *ret, const struct sw_options *options, struct sw_error *err)
{
	*ret = (struct sw_namer){.options = options};
	for (size_t i = 0; i < options->n_from; i++)
		if (!is_directory(options->from[i]))
			return sw_fail(err, SW_E_NOT_FOUND, "%s is no directory", options->from[i]);
	cache_find(ret->cache);
	int r = sw_session_create(&ret->session, err);
	if (r == 0)
		r = sw_session_symbolizer(ret->session, &ret->naming.symbolizer, err);
	if (r < 0)
		return r;
	const int64_t deadline_ns = sw_deadline_ns(options, options->begin_ns);
	const struct sw_finder_options how = {.directories = options->from,
					      .n_directories = options->n_from,
					      .cache = ret->cache[0] != '\0' ? ret->cache : NULL,
					      .debug_dir = options->symbolize.debug_dir,
					      .deadline_ns = deadline_ns};
	r = sw_finder_create(sw_session_context(ret->session), &how, &ret->finder, err);
	if (r < 0)
		return r;
	sw_symbolizer_set_finder(ret->naming.symbolizer, ret->finder);
	ret->naming.finder = ret->finder;
	ret->naming.symbolize = options->symbolize;
	ret->naming.symbolize.deadline_ns = deadline_ns;
	ret->naming.symbolize.package_lists = SW_PACKAGE_LISTS;
	return 0;
}

/* Whether a frame has no name, but an address of a file that may have it. */
static bool is_nameless(const struct sw_report_frame *f)
{
	return f->function == NULL && f->module >= 0 && f->has_offset &&
	       !sw_begins_with(f->trust, "scan");
}

/* package: that has its symbols; NULL: not known. */
static void missing_add(struct sw_namer *n, const char *path, const char *build_id,
			const char *package)
{
	size_t i = n->n_missing;
	const char *key = build_id != NULL ? build_id : path;
	for (size_t k = 0; k < i; k++)
		if (strcmp(n->missing[k], key) == 0)
			return;
	if (i == SW_NAMING_FILES)
		return;
	struct sw_text name = {0};
	sw_text_printf(&name, "%s%s", sw_path_name(path),
		       build_id == NULL ? " (which has no build-id)" : "");
	n->missing[i] = strdup(key);
	n->names[i] = name.failed ? NULL : name.data;
	n->packages[i] = package != NULL ? strdup(package) : NULL;
	n->n_missing += n->missing[i] != NULL && n->names[i] != NULL;
}

static void missing_note(struct sw_namer *n, const struct sw_report *r)
{
	for (size_t i = 0; i < r->n_stacks; i++)
		for (size_t k = 0; k < r->stacks[i].n_frames; k++) {
			const struct sw_report_frame *f = &r->stacks[i].frames[k];
			const struct sw_report_module *m =
				is_nameless(f) ? &r->modules[f->module] : NULL;
			if (m != NULL &&
			    (strcmp(m->format, "elf") == 0 || strcmp(m->format, "pe") == 0))
				missing_add(n, m->path, m->build_id, m->debug_package);
		}
}

int sw_namer_report(struct sw_namer *n, struct sw_report *report, struct sw_error *err)
{
	int r = sw_report_symbolize(report, &n->naming, err);
	if (r == 0)
		missing_note(n, report);
	return r;
}

static void profile_note(void *arg, const char *path, const char *build_id)
{
	missing_add(arg, path, build_id, NULL);
}

int sw_namer_profile(struct sw_namer *n, struct sw_profile **profile, struct sw_error *err)
{
	struct sw_profile *named;
	int r = sw_profile_symbolize(*profile, &n->naming, &named, err);
	if (r < 0)
		return r;
	sw_profile_destroy(*profile);
	*profile = named;
	sw_profile_nameless(named, profile_note, n);
	return 0;
}

/* Distinct names with what is between them. */
static void names_put(struct sw_text *text, char *const *names, size_t n, const char *between,
		      size_t most)
{
	size_t shown = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (names[i] != NULL && k < i &&
		       (names[k] == NULL || strcmp(names[k], names[i]) != 0))
			k++;
		if (names[i] == NULL || k < i)
			continue;
		if (shown++ == most) {
			sw_text_printf(text, "%s…", between);
			return;
		}
		sw_text_printf(text, "%s%s", shown > 1 ? between : "", names[i]);
	}
}

void sw_namer_say_missing(const struct sw_namer *n)
{
	sw_cleanup(sw_text_deinit) struct sw_text what = {0}, packages = {0}, remedy = {0};
	if (n->n_missing == 0)
		return;
	sw_text_printf(&what, "%zu file%s no names here: ", n->n_missing,
		       n->n_missing == 1 ? " has" : "s have");
	names_put(&what, n->names, n->n_missing, ", ", SW_NAMING_SHOWN);
	names_put(&packages, n->packages, n->n_missing, " ", SW_NAMING_FILES);
	if (packages.size > 0)
		sw_text_printf(&remedy, "sudo apt install %s, or ", packages.data);
	sw_text_printf(&remedy, "snapwalk symbolize --from DIR");
	if (!what.failed && !packages.failed && !remedy.failed)
		sw_complain("snapwalk", what.data, "not_found", remedy.data);
}

void sw_namer_end(struct sw_namer *n)
{
	for (size_t i = 0; i < n->n_missing; i++) {
		free(n->missing[i]);
		free(n->names[i]);
		free(n->packages[i]);
	}
	sw_session_destroy(n->session);
	sw_finder_destroy(n->finder);
	*n = (struct sw_namer){0};
}
