/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/naming.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "parts.h"
#include "run/obtain.h"
#include "run/started.h"
#include "text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NS_PER_MS = 1000000 };

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Where the client keeps files; "": nowhere. Source: debuginfod_find_debuginfo(3) of elfutils 0.188, "FILES" and "ENVIRONMENT
 * VARIABLES".
 */
static void cache_find(char ret[static PATH_MAX])
{
	const struct {
		const char *variable, *below;
		bool only_there;
	} places[] = {
		{"DEBUGINFOD_CACHE_PATH", "", false},
		{"HOME", "/.debuginfod_client_cache", true}, /* the first releases' */
		{"XDG_CACHE_HOME", "/debuginfod_client", false},
		{"HOME", "/.cache/debuginfod_client", false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(places); i++) {
		const char *begin = getenv(places[i].variable);
		if (begin == NULL || begin[0] != '/')
			continue;
		int n = snprintf(ret, PATH_MAX, "%s%s", begin, places[i].below);
		if (n > 0 && n < PATH_MAX && (!places[i].only_there || is_directory(ret)))
			return;
	}
	ret[0] = '\0';
}

/* Servers and packages that are waited for leave a part of the time for what is here. */
static int64_t fetch_end_ns(const struct sw_options *o, int64_t deadline_ns)
{
	enum { FOR_OTHERS = 4 };
	return deadline_ns == 0 ? 0
				: deadline_ns - (int64_t) o->timeout_ms * NS_PER_MS / FOR_OTHERS;
}

static int refuse(const char *about, const char *message, uint64_t causes)
{
	sw_complain_for(about, message, "usage", causes);
	return SW_STATUS_USAGE;
}

/* SW_STATUS_COMPLETE; else what is wrong has been said. */
static int fetcher_start(struct sw_namer *n, int64_t deadline_ns)
{
	static const char about[] = "--debuginfod";
	const struct sw_options *o = n->options;
	struct sw_error err = {0};
	const char *urls =
		o->debuginfod_url != NULL ? o->debuginfod_url : o->inherited->debuginfod_urls;
	if (!o->debuginfod)
		return SW_STATUS_COMPLETE;
	if (urls == NULL || urls[0] == '\0')
		return refuse(about, "no server is known", SW_SAID_OF_SERVER);
	if (n->cache[0] == '\0')
		return refuse(about, "files have no place", SW_SAID_OF_CACHE);
	int r = sw_fetcher_start(&n->fetcher, urls, n->cache, fetch_end_ns(o, deadline_ns), &err);
	if (r == -SW_E_NOT_FOUND)
		return refuse(about, err.message, SW_SAID_OF_CLIENT);
	return r < 0 ? sw_complain_error(about, &err) : SW_STATUS_COMPLETE;
}

static int finder_start(struct sw_namer *n, int64_t deadline_ns, struct sw_error *err)
{
	const struct sw_options *o = n->options;
	const struct sw_finder_options how = {.directories = o->from,
					      .n_directories = o->n_from,
					      .cache = n->cache[0] != '\0' ? n->cache : NULL,
					      .debug_dir = o->symbolize.debug_dir,
					      .deadline_ns = deadline_ns,
					      .fetch = o->debuginfod ? sw_fetcher_fetch : NULL,
					      .fetch_arg = &n->fetcher,
					      .unpack = o->n_from > 0 ? sw_packager_unpack : NULL,
					      .expect = o->n_from > 0 ? sw_packager_expect : NULL,
					      .unpack_arg = &n->packager};
	int r = sw_session_create(&n->session, err);
	if (r == 0)
		r = sw_session_symbolizer(n->session, &n->naming.symbolizer, err);
	if (r == 0)
		r = sw_finder_create(sw_session_context(n->session), &how, &n->finder, err);
	if (r == 0)
		sw_symbolizer_set_finder(n->naming.symbolizer, n->finder);
	return r;
}

int sw_namer_begin(struct sw_namer *ret, const struct sw_options *options)
{
	struct sw_error err = {0};
	const int64_t deadline_ns = sw_deadline_ns(options, options->begin_ns);
	*ret = (struct sw_namer){.options = options, .fetcher.fd = -EBADF, .packager.fd = -EBADF};
	for (size_t i = 0; i < options->n_from; i++)
		if (!is_directory(options->from[i]))
			return refuse(options->from[i], "it is no directory", SW_SAID_OF_DIRECTORY);
	cache_find(ret->cache);
	int status = fetcher_start(ret, deadline_ns);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (options->n_from > 0 && sw_packager_start(&ret->packager, options->from, options->n_from,
						     fetch_end_ns(options, deadline_ns), &err) < 0)
		return sw_complain_error("--from", &err);
	if (finder_start(ret, deadline_ns, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	ret->naming.finder = ret->finder;
	ret->naming.symbolize = options->symbolize;
	ret->naming.symbolize.deadline_ns = deadline_ns;
	ret->naming.symbolize.package_lists = SW_PACKAGE_LISTS;
	return SW_STATUS_COMPLETE;
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

static void packager_say(const struct sw_packager *p)
{
	if (p->is_late)
		sw_complain_for("--from", "the packages were not read in time", "timeout", 0);
	else if (p->is_unsupported)
		sw_complain_for("--from", p->last.why, "unsupported", SW_SAID_OF_PACKAGES);
	else if (p->last.why[0] != '\0')
		sw_complain_for("--from", p->last.why, "bad_format", SW_SAID_OF_PACKAGES);
}

void sw_namer_say_missing(const struct sw_namer *n)
{
	sw_cleanup(sw_text_deinit) struct sw_text what = {0}, packages = {0}, remedy = {0},
						  failure = {0};
	packager_say(&n->packager);
	if (n->fetcher.is_silent)
		sw_complain_for("--debuginfod",
				"a server did not answer in time, and none was asked again",
				"timeout", 0);
	if (n->fetcher.is_failed) {
		sw_text_printf(&failure, "no server could be asked: %s", n->fetcher.why);
		sw_complain_for("--debuginfod",
				failure.failed ? "no server could be asked" : failure.data, "io",
				SW_SAID_OF_SERVER);
	}
	if (n->n_missing == 0)
		return;
	sw_text_printf(&what, "%zu file%s no names here: ", n->n_missing,
		       n->n_missing == 1 ? " has" : "s have");
	names_put(&what, n->names, n->n_missing, ", ", SW_NAMING_SHOWN);
	names_put(&packages, n->packages, n->n_missing, " ", SW_NAMING_FILES);
	if (packages.size > 0)
		sw_text_printf(&remedy, "sudo apt install %s, or ", packages.data);
	sw_text_printf(&remedy, "%s",
		       sw_remedy("not_found",
				 SW_SAID_OF_SYMBOLS |
					 (n->options->debuginfod ? SW_SAID_OF_SERVER : 0)));
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
	sw_fetcher_end(&n->fetcher);
	sw_packager_end(&n->packager);
	sw_session_destroy(n->session);
	sw_finder_destroy(n->finder);
	*n = (struct sw_namer){0};
}
