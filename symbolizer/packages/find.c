/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which Debian package has a file, by the lists that dpkg keeps of what it installed: what
 * "dpkg -S FILE" says, without running it.
 *
 *	/var/lib/dpkg/info/NAME.list, NAME:ARCH.list	a path per line, as the package has it
 *
 * Most libraries are in a package that is named after them, whose list is looked into first. In the end all lists are
 * looked into (a thousand packages: some milliseconds), for all files at once, and first those with a name like the file's
 * or that of a directory on its path. As reading the names of all lists takes milliseconds, packages that are likely by
 * rules come before that.
 * Paths, which the target chose, are not opened: only lists are, whose names have no slash.
 *
 * Source: dpkg-query(1), --search; Debian Policy 4.6.2, 5.6.1 (characters of a name) and 8.1 (names of
 * library packages), 9.1.1 and 9.1.2 (where packages put files: not in /home, /usr/local); https://wiki.debian.org/AutomaticDebugPackages (NAME-dbgsym); debian/rules of glibc
 * and python3.x, which have -dbg packages instead.
 */
#include "packages/find.h"
#include "arena.h"
#include "cleanup.h"

#include <snapwalk/clock.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	ENTRIES_MAX = 1 << 17,     /* of the directory; 5,000 packages have 30,000 */
	LIST_BYTES_MAX = 16 << 20, /* the largest have 2 MB */
	ALL_BYTES_MAX = 256 << 20,
	ALIKE = 4,      /* characters, of the begin of a name */
	WORD = 5,       /* characters */
	WORDS_MAX = 32, /* of a path: those behind them make no list likely */
};

static const char LIST[] = ".list";

/* The files that are still to be found, and what the search may still cost. */
struct search {
	int fd; /* borrowed: the directory */
	struct sw_package_want *wants;
	size_t n, n_left;
	uint64_t bytes;
	int64_t deadline_ns;
	char *buffer; /* owned: a list; grows */
	size_t capacity;
};

/*
 * Since directories below / are links to those below /usr, a package may have a file by either name, and
 * the maps have the second one: both are looked for without "/usr".
 */
static const char *short_path(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

/* Whether a line of the list is this path, with or without "/usr". */
static bool list_has(const char *list, size_t size, const char *path)
{
	const char *wanted = short_path(path), *end = list + size, *at = list;
	size_t length = strlen(wanted);
	while ((at = memmem(at, (size_t) (end - at), wanted, length)) != NULL) {
		size_t before = (size_t) (at - list);
		if (before >= 4 && memcmp(at - 4, "/usr", 4) == 0)
			before -= 4;
		bool begins = before == 0 || list[before - 1] == '\n';
		at += length;
		if (begins && (at == end || *at == '\n'))
			return true;
	}
	return false;
}

/* NAME of NAME.list or NAME:ARCH.list, which may be longer than it is kept. */
static void take_name(struct sw_package_want *want, const char *file)
{
	size_t length = strcspn(file, ":");
	if (file[length] == '\0')
		length -= sizeof(LIST) - 1;
	if (length < sizeof(want->name)) {
		memcpy(want->name, file, length);
		want->name[length] = '\0';
	}
}

static bool is_late(const struct search *s)
{
	return s->deadline_ns != 0 && sw_clock_ns() > s->deadline_ns;
}

static bool room_make(struct search *s, size_t size)
{
	if (size <= s->capacity)
		return true;
	free(s->buffer);
	s->capacity = size * 2;
	s->buffer = malloc(s->capacity);
	if (s->buffer == NULL)
		s->capacity = 0;
	return s->buffer != NULL;
}

static void list_look(struct search *s, const char *file, struct sw_package_want *wants, size_t n)
{
	struct stat st;
	sw_cleanup(sw_close_p) int fd =
		openat(s->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > LIST_BYTES_MAX || s->bytes < (uint64_t) st.st_size)
		return;
	size_t size = (size_t) st.st_size;
	/* read, not mapped: a file that dpkg cuts meanwhile must not be a signal */
	ssize_t got = room_make(s, size) ? read(fd, s->buffer, size) : -1;
	for (size_t i = 0; got > 0 && i < n; i++) {
		if (wants[i].name[0] != '\0' || !list_has(s->buffer, (size_t) got, wants[i].path))
			continue;
		take_name(&wants[i], file);
		s->n_left -= wants[i].name[0] != '\0';
	}
	s->bytes -= size;
}

/* The characters that a name may have. */
static bool name_is_good(const char *name)
{
	for (const char *c = name; *c != '\0'; c++)
		if (!islower((unsigned char) *c) && !isdigit((unsigned char) *c) &&
		    (c == name || strchr("+-.", *c) == NULL))
			return false;
	return name[0] != '\0';
}

/* The package that policy would have a file in: libfoo2 for libfoo.so.2.1, libfoo-1-2 for libfoo-1.so.2;
 * a program's own name. */
static bool name_guess(const char *path, char *ret, size_t size)
{
	const char *base = strrchr(path, '/') + 1, *so = strstr(base, ".so.");
	size_t stem = so != NULL ? (size_t) (so - base) : strlen(base);
	const char *version = so != NULL ? so + 4 : "";
	bool dash = stem > 0 && isdigit((unsigned char) base[stem - 1]) && so != NULL;
	int n = snprintf(ret, size, "%.*s%s%.*s", (int) stem, base, dash ? "-" : "",
			 (int) strcspn(version, "."), version);
	if (n <= 0 || (size_t) n >= size)
		return false;
	for (char *c = ret; *c != '\0'; c++)
		*c = *c == '_' ? '-' : (char) tolower((unsigned char) *c);
	return name_is_good(ret);
}

/* Packages whose number is in the path of all that they have. */
static bool path_guess(const char *path, char *ret, size_t size)
{
	static const struct {
		const char *begin, *package; /* with the number's place */
	} rules[] = {{"/usr/lib/jvm/java-%u-openjdk", "openjdk-%u-jre-headless"},
		     {"/usr/lib/postgresql/%u/", "postgresql-%u"}};
	unsigned number;
	for (size_t i = 0; i < SW_ARRAY_SIZE(rules); i++)
		if (sscanf(path, rules[i].begin, &number) == 1)
			return snprintf(ret, size, rules[i].package, number) < (int) size;
	return false;
}

/* Looks into the list of a package. */
static void package_look(struct search *s, struct sw_package_want *want, const char *name,
			 const char *ending)
{
	/* The architectures of a program for this machine, and of one for all. */
	static const char *const architectures[] = {":amd64.list", ".list"};
	char file[SW_PACKAGE_NAME_MAX + 32];
	for (size_t i = 0; i < SW_ARRAY_SIZE(architectures) && want->name[0] == '\0'; i++) {
		(void) snprintf(file, sizeof(file), "%s%s%s", name, ending,
				architectures[i]); /* fits */
		list_look(s, file, want, 1);
	}
}

static void guess(struct search *s, struct sw_package_want *want)
{
	/* The packages that have the programs of one by the name without: python3.11, perl, apache2, php8.2, node. */
	static const char *const endings[] = {"", "-minimal", "-base", "-bin", "-cli", "js"};
	char name[SW_PACKAGE_NAME_MAX];
	if (!name_guess(want->path, want->guess, sizeof(want->guess)))
		want->guess[0] = '\0';
	for (size_t i = 0; i < SW_ARRAY_SIZE(endings) && want->guess[0] != '\0'; i++)
		package_look(s, want, want->guess, endings[i]);
	if (want->name[0] == '\0' && path_guess(want->path, name, sizeof(name)))
		package_look(s, want, name, "");
}

/* Programs and libraries of each machine are in packages that are not named after them. */
static void look_in_common(struct search *s)
{
	static const char *const common[] = {"coreutils.list",    "util-linux.list",
					     "procps.list",       "libc6:amd64.list",
					     "zlib1g:amd64.list", "libssl3:amd64.list"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(common) && s->n_left > 0; i++)
		list_look(s, common[i], s->wants, s->n);
}

/* How many first characters are the same. */
static size_t same_begin(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] != '\0' && a[n] == b[n])
		n++;
	return n;
}

/* The longest word of a path's directories that is in the name: "openjdk" of /usr/lib/jvm/java-17-openjdk-amd64/bin. */
static size_t same_word(const char *path, const char *file)
{
	const char *end = strrchr(path, '/');
	size_t best = 0;
	const char *at = path;
	for (unsigned i = 0; i < WORDS_MAX && at < end; i++) {
		char word[SW_PACKAGE_NAME_MAX];
		size_t length = strcspn(at, "/-._");
		if (length >= WORD && length > best && length < sizeof(word)) {
			memcpy(word, at, length);
			word[length] = '\0';
			if (strstr(file, word) != NULL)
				best = length;
		}
		at += length + 1;
	}
	return best;
}

/* How likely a list is to have one of those that are left. */
static unsigned likelihood(const struct search *s, const char *file)
{
	size_t best = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct sw_package_want *want = &s->wants[i];
		if (want->name[0] != '\0')
			continue;
		size_t begin = same_begin(want->guess, file), word = same_word(want->path, file);
		if (begin >= ALIKE && begin > best)
			best = begin;
		if (word > best)
			best = word;
	}
	return (unsigned) best;
}

struct list {
	char *file; /* owned */
	unsigned likelihood;
};

static int by_likelihood(const void *a, const void *b)
{
	const struct list *x = a, *y = b;
	return x->likelihood != y->likelihood ? (x->likelihood < y->likelihood ? 1 : -1)
					      : strcmp(x->file, y->file);
}

static size_t lists_read(const struct search *s, struct list **ret)
{
	int fd = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_closedir_p) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	size_t n = 0, capacity = 0;
	if (directory == NULL) {
		sw_close_p(&fd);
		return 0;
	}
	for (unsigned i = 0; i < ENTRIES_MAX && !is_late(s) && (entry = readdir(directory)) != NULL;
	     i++) {
		const char *dot = strrchr(entry->d_name, '.');
		if (dot == NULL || dot == entry->d_name || strcmp(dot, LIST) != 0)
			continue;
		struct list *grown = sw_grow(*ret, n, &capacity, 1024, sizeof(*grown));
		if (grown == NULL)
			break;
		*ret = grown;
		grown[n].file = strdup(entry->d_name);
		if (grown[n].file == NULL)
			break;
		grown[n].likelihood = likelihood(s, entry->d_name);
		n++;
	}
	return n;
}

/* All lists, those that are likely first. */
static void look_everywhere(struct search *s)
{
	sw_cleanup(sw_free_p) struct list *lists = NULL;
	size_t n = lists_read(s, &lists);
	if (n > 0)
		qsort(lists, n, sizeof(*lists), by_likelihood);
	for (size_t i = 0; i < n; i++) {
		if (s->n_left > 0 && !is_late(s))
			list_look(s, lists[i].file, s->wants, s->n);
		free(lists[i].file);
	}
}

bool sw_package_may_have(const char *path)
{
	static const char *const places[] = {"/usr/", "/bin/", "/sbin/", "/lib",
					     "/opt/", "/etc/", "/var/"};
	if (strncmp(path, "/usr/local/", strlen("/usr/local/")) == 0)
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(places); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

void sw_packages_find(const char *lists, struct sw_package_want *wants, size_t n,
		      int64_t deadline_ns)
{
	sw_cleanup(sw_close_p) int fd = open(lists, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct search s = {.fd = fd,
			   .wants = wants,
			   .n = n,
			   .n_left = n,
			   .bytes = ALL_BYTES_MAX,
			   .deadline_ns = deadline_ns};
	for (size_t i = 0; i < n; i++)
		wants[i].name[0] = wants[i].guess[0] = '\0';
	if (fd < 0)
		return;
	for (size_t i = 0; i < n && !is_late(&s); i++)
		guess(&s, &wants[i]);
	if (s.n_left > 0 && !is_late(&s))
		look_in_common(&s);
	if (s.n_left > 0 && !is_late(&s))
		look_everywhere(&s);
	free(s.buffer);
}

/* "python3.11" of "libpython3.11-minimal"; how long it is in *ret_length. */
static const char *python_of(const char *package, size_t *ret_length)
{
	const char *name = strncmp(package, "lib", 3) == 0 ? package + 3 : package;
	if (strncmp(name, "python3.", 8) != 0)
		return NULL;
	*ret_length = 8 + strspn(name + 8, "0123456789");
	return *ret_length > 8 ? name : NULL;
}

void sw_package_debug_name(const char *package, char ret[static SW_PACKAGE_NAME_MAX])
{
	size_t length = strlen(package);
	const char *name = package, *python = python_of(package, &length), *ending = "-dbgsym";
	if (python != NULL)
		name = python;
	if (python != NULL || strcmp(package, "libc6") == 0)
		ending = "-dbg";
	int n = snprintf(ret, SW_PACKAGE_NAME_MAX, "%.*s%s", (int) length, name, ending);
	if (n < 0 || n >= SW_PACKAGE_NAME_MAX)
		ret[0] = '\0';
}
