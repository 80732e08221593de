/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hints at what would show more than this dump does: one line of a kind, however many threads it
 * concerns. A hint is no fault: the dump may be complete.
 */
#include "cleanup.h"
#include "parts.h"
#include "report/hints.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_SHOWN = 4, /* of files and packages in a hint */
	NAMES_SEEN = 64,
};

/* How a runtime is told to write down which code it made. */
struct remedy {
	const char *runtime;
	bool only_problem; /* generated code in its process is somebody else's */
	const char *how;
};

/*
 * Source: node --help (12 and later), deno run --help; .NET, "Runtime configuration options for
 * debugging and profiling"; jcmd of JDK 17 (JDK-8254723); CPython 3.12, "Python support for the
 * Linux perf profiler"; ext/opcache/jit/zend_jit.h of PHP 8.0 (ZEND_JIT_DEBUG_PERF);
 * doc/yjit/yjit.md of Ruby 3.3; erl(1) of OTP 24; mono(1); QEMU 8.0, "Linux perf integration".
 */
static const struct remedy remedies[] = {
	{"v8", false, "start node with --perf-basic-prof, deno with --v8-flags=--perf-basic-prof"},
	{"chromium", false, "V8 is in it, and its functions have no names: only node's V8 is read"},
	{"clr", false, "start it with DOTNET_PerfMapEnabled=1"},
	{"hotspot", false,
	 "'jcmd PID Compiler.perfmap' writes them down (JDK 17), 'jcmd PID Thread.print' has its "
	 "own stacks"},
	{"cpython", true, "start it with -X perf or PYTHONPERFSUPPORT=1 (Python 3.12)"},
	{"php", false, "set opcache.jit_debug=16"},
	{"ruby", false, "start it with --yjit-perf=map (Ruby 3.3)"},
	{"erlang", true, "start it with +JPperf true"},
	{"mono", false, "start it with --jitmap"},
	{"qemu", false, "start it with -perfmap (QEMU 8.0)"},
};

static void add(struct sw_report_builder *b, const char *code, const char *message)
{
	b->failed |= message == NULL;
	b->report->hints[b->report->n_hints++] =
		(struct sw_report_hint){.code = code, .message = message};
}

/* Distinct names; the first ones as text. */
struct names {
	const char *between; /* of the text */
	const char *seen[NAMES_SEEN];
	size_t n;
	struct sw_text text; /* owned */
};

static void names_add(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->seen[i], name) == 0)
			return;
	if (names->n == NAMES_SEEN)
		return;
	if (names->n < NAMES_SHOWN)
		sw_text_printf(&names->text, "%s%s", names->n > 0 ? names->between : "", name);
	names->seen[names->n++] = name;
}

static void hint_packages(struct sw_report_builder *b)
{
	const struct sw_report *r = b->report;
	struct names files = {.between = ", "}, packages = {.between = " "};
	for (size_t i = 0; i < r->n_modules; i++) {
		if (r->modules[i].debug_package == NULL)
			continue;
		names_add(&files, sw_path_name(r->modules[i].path));
		names_add(&packages, r->modules[i].debug_package);
	}
	b->failed |= files.text.failed || packages.text.failed;
	if (packages.n > 0 && !b->failed)
		add(b, "debug_package",
		    sw_arena_printf(b->arena,
				    "symbols of %s%s are in packages: 'sudo apt install %s'%s",
				    files.text.data, files.n > NAMES_SHOWN ? ", …" : "",
				    packages.text.data,
				    packages.n > NAMES_SHOWN ? " and others" : ""));
	sw_text_deinit(&files.text);
	sw_text_deinit(&packages.text);
}

/* Whether nothing but its address is known. A guess may be no frame at all. */
static bool is_nameless(const struct sw_report_frame *f)
{
	return f->function == NULL && strncmp(f->trust, "scan", 4) != 0;
}

/* Whether it is in code that the process made. */
static bool is_generated(const struct sw_report *r, const struct sw_report_frame *f)
{
	if (f->module < 0)
		return strcmp(f->kind, SW_FRAME_KIND_KERNEL) != 0;
	const char *format = r->modules[f->module].format;
	return strcmp(format, "jit") == 0 || strcmp(format, "anon") == 0;
}

/* The frames without a name. */
struct nameless {
	bool generated; /* some are in code that the process made */
	bool *modules;  /* owned; in which of the modules some are; NULL: no memory */
};

static void nameless_deinit(struct nameless *n)
{
	free(n->modules);
}

static void nameless_find(const struct sw_report *r, struct nameless *ret)
{
	ret->modules = calloc(r->n_modules + 1, sizeof(*ret->modules));
	for (size_t i = 0; i < r->n_stacks && ret->modules != NULL; i++)
		for (size_t k = 0; k < r->stacks[i].n_frames; k++) {
			const struct sw_report_frame *f = &r->stacks[i].frames[k];
			if (!is_nameless(f))
				continue;
			ret->generated |= is_generated(r, f);
			if (f->module >= 0)
				ret->modules[f->module] = true;
		}
}

static bool has_symbols(const struct sw_report_module *m)
{
	return strcmp(m->symbols, "none") != 0 && strcmp(m->symbols, "dynsym") != 0;
}

/* The first file without names that no package has. */
static void hint_file(struct sw_report_builder *b, const struct nameless *nameless)
{
	const struct sw_report *r = b->report;
	for (size_t i = 0; i < r->n_modules; i++) {
		const struct sw_report_module *m = &r->modules[i];
		if (strcmp(m->format, "elf") != 0 || m->build_id == NULL || has_symbols(m) ||
		    m->debug_package != NULL || !nameless->modules[i])
			continue;
		add(b, "debug_file",
		    sw_arena_printf(b->arena,
				    "%s has no symbols: if a server has its debug file, "
				    "'debuginfod-find debuginfo %s' fetches it",
				    sw_path_name(m->path), m->build_id));
		return;
	}
}

/* Whether it writes down already what it would be told to. */
static bool has_map(const struct sw_report *r)
{
	for (size_t i = 0; i < r->process.n_registries; i++)
		if (strcmp(r->process.registries[i].name, "perf-map") == 0)
			return true;
	return false;
}

/* CPython since 3.12, and what does not say its version. */
static bool can_write(const struct sw_runtime *runtime)
{
	unsigned major, minor;
	return strcmp(runtime->name, "cpython") != 0 ||
	       sscanf(runtime->version, "%u.%u", &major, &minor) != 2 || major > 3 ||
	       (major == 3 && minor >= 12);
}

static bool wants_map(const struct sw_walks *walks, const struct remedy *remedy, bool generated)
{
	for (size_t i = 0; i < walks->n_runtimes; i++)
		if (strcmp(walks->runtimes[i].name, remedy->runtime) == 0 &&
		    can_write(&walks->runtimes[i]))
			return (walks->runtimes[i].problem[0] != '\0' &&
				!walks->runtimes[i].map_useless) ||
			       (generated && !remedy->only_problem);
	return false;
}

static void hint_maps(struct sw_report_builder *b, bool generated)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies) && !has_map(b->report); i++)
		if (wants_map(b->walks, &remedies[i], generated))
			add(b, "perf_map",
			    sw_arena_printf(b->arena, "code of %s has no names here: %s",
					    remedies[i].runtime, remedies[i].how));
}

static void hint_goroutines(struct sw_report_builder *b)
{
	const struct sw_report *r = b->report;
	for (size_t i = 0; i < r->n_stacks; i++)
		if (r->stacks[i].n_goroutines > 0 && r->stacks[i].n_threads == 0)
			return;
	for (size_t i = 0; i < b->walks->n_runtimes && b->walks->goroutines_why == NULL; i++)
		if (strcmp(b->walks->runtimes[i].name, "go") == 0 &&
		    b->walks->runtimes[i].problem[0] == '\0') {
			add(b, "goroutines",
			    sw_report_copy(b, "goroutines that no thread runs are not here: "
					      "--goroutines shows them"));
			return;
		}
}

/* A frame of the loop that runs tasks. Counting these takes as long as showing them. */
static bool is_of_asyncio(const struct sw_report_frame *f)
{
	return strcmp(f->kind, "cpython") == 0 && f->file != NULL &&
	       strstr(f->file, "/asyncio/base_events.py") != NULL;
}

static bool uses_asyncio(const struct sw_report *r)
{
	for (size_t i = 0; i < r->n_stacks; i++)
		for (size_t k = 0; k < r->stacks[i].n_frames; k++)
			if (is_of_asyncio(&r->stacks[i].frames[k]))
				return true;
	return false;
}

static void hint_tasks(struct sw_report_builder *b)
{
	const struct sw_walks *walks = b->walks;
	for (size_t i = 0; i < walks->n_walks; i++)
		if (walks->walks[i].task != NULL)
			return;
	if (walks->tasks_why == NULL && uses_asyncio(b->report))
		add(b, "tasks",
		    sw_report_copy(b, "tasks of asyncio that no thread runs are not here: "
				      "--tasks shows them"));
}

static const struct sw_report_virtual_threads *virtual_threads(const struct sw_report *r)
{
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (r->process.runtimes[i].virtual_threads != NULL)
			return r->process.runtimes[i].virtual_threads;
	return NULL;
}

/* Only those of HotSpot have carriers: JDK 21 and later. Where it is not known how many there are, a carrier
 * says that there may be some. */
static void hint_virtual_threads(struct sw_report_builder *b)
{
	const struct sw_report *r = b->report;
	const struct sw_report_virtual_threads *v = virtual_threads(r);
	if (v != NULL) {
		int64_t n = v->count - v->mounted;
		if (n > 0 || v->at_least)
			add(b, "virtual_threads",
			    sw_arena_printf(b->arena,
					    "%s%lld virtual thread%s, %lld mounted: the stacks of "
					    "the others are not here; 'jcmd PID "
					    "Thread.dump_to_file FILE' lists them",
					    v->at_least ? "at least " : "", (long long) v->count,
					    v->count == 1 ? "" : "s", (long long) v->mounted));
		return;
	}
	for (size_t i = 0; i < r->n_threads; i++) {
		const struct sw_report_managed *m = r->threads[i].managed;
		if (m == NULL || m->role == NULL ||
		    (strcmp(m->role, "carrier") != 0 && strcmp(m->role, "idle-carrier") != 0))
			continue;
		add(b, "virtual_threads",
		    sw_report_copy(b, "virtual threads that no thread carries are not here: "
				      "'jcmd PID Thread.dump_to_file FILE' lists them"));
		return;
	}
}

/* The Java VM handles faults of its own making (a null reference, a safepoint) by signals, and ends
 * itself by SIGABRT when it finds one that is not; what it saw it writes down first. */
static void hint_java_crash(struct sw_report_builder *b)
{
	const struct sw_report_crash *crash = b->report->process.crash;
	for (size_t i = 0; crash != NULL && i < b->walks->n_runtimes; i++) {
		if (strcmp(b->walks->runtimes[i].name, "hotspot") != 0)
			continue;
		bool fault = strcmp(crash->signal, "SIGSEGV") == 0 ||
			     strcmp(crash->signal, "SIGBUS") == 0;
		add(b, "java_crash",
		    sw_arena_printf(
			    b->arena,
			    "%swhat the Java VM itself says of its end is in hs_err_pid%d.log, in "
			    "the directory that it ran in or in /tmp",
			    fault ? "Java code gets SIGSEGV also for a null reference or a "
				    "safepoint, which is no crash; "
				  : "",
			    (int) b->report->process.pid));
		return;
	}
}

void sw_report_build_hints(struct sw_report_builder *b)
{
	enum { OTHERS = 6 };
	sw_cleanup(nameless_deinit) struct nameless nameless = {0};
	b->report->hints =
		sw_report_calloc(b, OTHERS + SW_ARRAY_SIZE(remedies), sizeof(*b->report->hints));
	nameless_find(b->report, &nameless);
	b->failed |= nameless.modules == NULL;
	if (b->failed)
		return;
	hint_java_crash(b);
	hint_goroutines(b);
	hint_tasks(b);
	hint_virtual_threads(b);
	hint_packages(b);
	if (b->symbols != NULL && !b->symbols->without_files)
		hint_file(b, &nameless);
	hint_maps(b, nameless.generated);
}

/* Whether a hint is about symbols of files. */
static bool is_of_files(const struct sw_report_hint *hint)
{
	return strcmp(hint->code, "debug_package") == 0 || strcmp(hint->code, "debug_file") == 0;
}

void sw_report_renew_hints(struct sw_report_builder *b)
{
	enum { OF_FILES = 2 };
	sw_cleanup(nameless_deinit) struct nameless nameless = {0};
	struct sw_report *r = b->report;
	const struct sw_report_hint *before = r->hints;
	size_t n_before = r->n_hints, i = 0;
	nameless_find(r, &nameless);
	r->hints = sw_report_calloc(b, n_before + OF_FILES, sizeof(*r->hints));
	r->n_hints = 0;
	b->failed |= nameless.modules == NULL;
	if (b->failed)
		return;
	/* Hints about files stand before those about code that the process makes. */
	for (; i < n_before && strcmp(before[i].code, "perf_map") != 0; i++)
		if (!is_of_files(&before[i]))
			r->hints[r->n_hints++] = before[i];
	hint_packages(b);
	hint_file(b, &nameless);
	for (; i < n_before; i++)
		if (!is_of_files(&before[i]))
			r->hints[r->n_hints++] = before[i];
}
