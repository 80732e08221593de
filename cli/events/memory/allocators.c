/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/allocators.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word that stands for all others of its list: where it is missing, they are not looked for. */
#define C_FUNCTIONS                                                 \
	"malloc@size=arg0+calloc@size=arg0*arg1+realloc@size=arg1+" \
	"memalign@size=arg1+aligned_alloc@size=arg1+"               \
	"posix_memalign@*arg0@size=arg2@ok=0+valloc@size=arg0+pvalloc@size=arg0"

/* reallocarray(3) of glibc and musl calls realloc(3). */
static const char c_library[] = C_FUNCTIONS "/free+realloc";
static const char others[] =
	C_FUNCTIONS "+reallocarray@size=arg1*arg2+mallocx@size=arg0+rallocx@size=arg1"
		    "+_Znwm@size=arg0+_Znam@size=arg0+_ZnwmRKSt9nothrow_t@size=arg0"
		    "+_ZnamRKSt9nothrow_t@size=arg0+_ZnwmSt11align_val_t@size=arg0"
		    "+_ZnamSt11align_val_t@size=arg0+_ZnwmSt11align_val_tRKSt9nothrow_t@size=arg0"
		    "+_ZnamSt11align_val_tRKSt9nothrow_t@size=arg0"
		    "/free+realloc+reallocarray+rallocx+dallocx+sdallocx+cfree"
		    "+_ZdlPv+_ZdaPv+_ZdlPvm+_ZdaPvm+_ZdlPvRKSt9nothrow_t+_ZdaPvRKSt9nothrow_t"
		    "+_ZdlPvSt11align_val_t+_ZdaPvSt11align_val_t+_ZdlPvmSt11align_val_t"
		    "+_ZdaPvmSt11align_val_t+_ZdlPvSt11align_val_tRKSt9nothrow_t"
		    "+_ZdaPvSt11align_val_tRKSt9nothrow_t";
/* jemalloc within programs of Rust (tikv-jemallocator). */
static const char rust[] =
	"_rjem_malloc@size=arg0+_rjem_mallocx@size=arg0+_rjem_calloc@size=arg0*arg1+"
	"_rjem_realloc@size=arg1+_rjem_rallocx@size=arg1"
	"/_rjem_free+_rjem_realloc+_rjem_rallocx+_rjem_dallocx+_rjem_sdallocx";

static const struct {
	const char *name; /* the beginning of a file's */
	const char *functions;
} libraries[] = {
	{"libc.so", c_library},    {"libc-2.", c_library},      {"ld-musl-", c_library},
	{"libc.musl-", c_library}, {"libjemalloc", others},     {"libtcmalloc", others},
	{"libmimalloc", others},   {"libsnmallocshim", others},
};

/* A file whose name begins as that of a library does, and goes on as that of another one does not. */
static const char *functions_of(const char *path)
{
	const char *name = sw_path_name(path);
	for (size_t i = 0; i < SW_ARRAY_SIZE(libraries); i++)
		if (sw_begins_with(name, libraries[i].name) && strstr(name, ".so") != NULL)
			return libraries[i].functions;
	return NULL;
}

/* All of one list are one pair: what one library's operator new hands out, its free() may take back. */
static int list_add(struct sw_pair_list *list, const char *functions, const char *module,
		    struct sw_error *err)
{
	struct sw_usage usage;
	const size_t first = list->n;
	const char *kept = module != NULL ? sw_pair_list_keep(list, module) : NULL;
	if (module != NULL && kept == NULL)
		return sw_fail_nomem(err);
	if (!sw_pair_parse(list, functions, kept, &usage))
		return sw_fail(err, SW_E_LIMIT, "%s: %s", usage.about, usage.message);
	for (size_t i = first; i < list->n; i++) {
		list->all[i].pair = 0;
		list->all[i].nests =
			list->all[i].releases && strcmp(list->all[i].name, "free") != 0;
		list->all[i].after = i > first ? first + 1 : 0;
	}
	list->n_pairs = 1;
	return 0;
}

static bool is_listed(const struct sw_pair_list *list, const char *module)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].module != NULL && strcmp(list->all[i].module, module) == 0)
			return true;
	return false;
}

/* A line of maps. The name of a file that was removed ends with a word of the kernel's. */
static int line_take(struct sw_pair_list *list, char *line, struct sw_error *err)
{
	static const char removed[] = " (deleted)";
	char *path = strchr(line, '/');
	if (path == NULL)
		return 0;
	path[strcspn(path, "\n")] = '\0';
	size_t length = strlen(path);
	if (sw_ends_with(path, removed)) {
		path[length - strlen(removed)] = '\0';
		path += sw_path_name(path) - path;
	}
	const char *functions = functions_of(path);
	if (functions == NULL || is_listed(list, path))
		return 0;
	return list_add(list, functions, path, err);
}

int sw_allocators_list(int proc_fd, struct sw_pair_list *ret, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	sw_cleanup(sw_free_p) char *line = NULL;
	size_t size = 0;
	if (file == NULL)
		return sw_fail_errno(err, SW_E_IO, "its mappings cannot be listed");
	(void) sw_take_fd(fd); /* the file's */
	*ret = (struct sw_pair_list){.is_file = true, .is_any = true};
	int r = list_add(ret, others, NULL, err);
	if (r == 0)
		r = list_add(ret, rust, NULL, err);
	while (r == 0 && getline(&line, &size, file) >= 0)
		r = line_take(ret, line, err);
	(void) fclose(file); /* nothing was written */
	return r;
}

static void absent_drop(struct sw_function *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_missing; i++) {
		if (f->missing[i].is_absent)
			free(f->missing[i].why);
		else
			f->missing[n++] = f->missing[i];
	}
	f->n_missing = n;
}

static void aliases_drop(struct sw_function *f)
{
	bool keep[SW_EVENT_PLACES_MAX] = {0};
	for (size_t i = 0; i < f->n; i++) {
		bool known = false;
		for (size_t k = 0; k < i; k++)
			known |= f->start_avma[k] == f->start_avma[i] &&
				 f->places[k].file_off == f->places[i].file_off &&
				 f->places[k].releases == f->places[i].releases;
		keep[i] = !known;
	}
	sw_function_keep(f, keep);
}

void sw_allocators_tidy(struct sw_function *f)
{
	aliases_drop(f);
	absent_drop(f);
}

/* The word of a frame, as far as it is the name of a function. */
static bool is_allocator(const char *word, size_t n)
{
	static const char *const names[] = {"malloc",        "calloc",        "realloc",
					    "memalign",      "aligned_alloc", "posix_memalign",
					    "valloc",        "pvalloc",       "reallocarray",
					    "__libc_malloc", "__libc_calloc", "__libc_realloc",
					    "free",          "malloc_trim",   "mallocx",
					    "operator new",  "operator new[]"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], word, n) == 0)
			return true;
	return false;
}

bool sw_allocators_are_in(const char *label)
{
	static const char between[] = " < ";
	for (const char *at = label; at != NULL;) {
		const char *end = strstr(at, between);
		size_t n = end != NULL ? (size_t) (end - at) : strlen(at), name = 0;
		while (name < n && at[name] != '(' && at[name] != '+' &&
		       !(at[name] == ' ' && !sw_begins_with(at + name, " new")))
			name++;
		if (is_allocator(at, name))
			return true;
		at = end != NULL ? end + strlen(between) : NULL;
	}
	return false;
}
