/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/pair_file.h"
#include "cleanup.h"
#include "common/option_values.h"
#include "parts.h"
#include "text.h"

#include <snapwalk/nearest.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 64 << 10, NAME_SIZE_MAX = 64 };

const char *const sw_leaks_words[SW_LEAKS_PAIRS] = {"fds",    "threads", "maps", "memory",
						    "timers", "shm",     "epoll"};

static const char *const directories[] = {SW_SYSCONFDIR "/snapwalk/leaks.d",
					  SW_DATADIR "/snapwalk/leaks.d"};

/* The text of NAME.conf; path: where it was. False: there is none. */
static bool named_read(const char *name, struct sw_text *text, char path[static PATH_MAX])
{
	if (strlen(name) > NAME_SIZE_MAX || name[0] == '.')
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(directories); i++) {
		(void) snprintf(path, PATH_MAX, "%s/%s.conf", directories[i], name); /* fits */
		text->size = 0;
		if (sw_text_read_at(text, AT_FDCWD, path, FILE_MAX) == 0)
			return true;
	}
	return false;
}

/* The list in a directory that a mistyped name may mean, without .conf. False: there is none. */
static bool list_near(const char *directory, const char *name, char ret[static NAME_SIZE_MAX])
{
	bool found = false;
	DIR *opened = opendir(directory);
	for (struct dirent *entry; opened != NULL && !found && (entry = readdir(opened)) != NULL;) {
		size_t n = strlen(entry->d_name);
		if (!sw_ends_with(entry->d_name, ".conf") || n - strlen(".conf") >= NAME_SIZE_MAX)
			continue;
		(void) snprintf(ret, NAME_SIZE_MAX, "%.*s", (int) (n - strlen(".conf")),
				entry->d_name);
		found = sw_is_near(name, ret);
	}
	if (opened != NULL)
		(void) closedir(opened);
	return found;
}

static bool no_such_list(const char *name, struct sw_usage *usage)
{
	char remedy[sizeof(usage->remedy)] =
		"give fds, threads, maps, memory, timers, shm, epoll, LIB:ACQUIRE/RELEASE, "
		"or a file of pairs, see snapwalk-leaks(1)";
	char near[NAME_SIZE_MAX] = "";
	bool found = false;
	for (size_t i = 0; !found && i < SW_LEAKS_PAIRS; i++)
		if ((found = sw_is_near(name, sw_leaks_words[i])))
			(void) snprintf(near, sizeof(near), "%s", sw_leaks_words[i]);
	for (size_t i = 0; !found && i < SW_ARRAY_SIZE(directories); i++)
		found = list_near(directories[i], name, near);
	if (found)
		(void) snprintf(remedy, sizeof(remedy), "did you mean --of %s?", near);
	return sw_usage_fail(usage, remedy, "there is no '%.80s'", name);
}

static char *value_of(char *line, const char *key)
{
	size_t length = strlen(key);
	if (strncmp(line, key, length) != 0)
		return NULL;
	line += length;
	line += strspn(line, " \t");
	if (line[0] != '=')
		return NULL;
	line++;
	return line + strspn(line, " \t");
}

static bool line_take(struct sw_pair_list *list, char *line, const char **module,
		      struct sw_usage *usage)
{
	line += strspn(line, " \t");
	for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]) != NULL; n--)
		line[n - 1] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return true;
	char *library = value_of(line, "Library"), *pair = value_of(line, "Pair");
	if (pair != NULL)
		return sw_pair_parse(list, pair, *module, usage);
	if (library == NULL)
		return sw_usage_fail(usage, "give Library= and Pair=", "'%.40s' is neither", line);
	if (library[0] == '\0') {
		*module = NULL;
		return true;
	}
	*module = sw_pair_list_keep(list, library);
	return *module != NULL ||
	       sw_usage_fail(usage, "give fewer", "there is no memory for so many libraries");
}

bool sw_pair_file_read(struct sw_pair_list *list, const char *name, struct sw_usage *usage)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	char path[PATH_MAX], *rest = NULL;
	const char *module = NULL;
	bool is_path = sw_ends_with(name, ".conf");
	(void) snprintf(path, sizeof(path), "%s", name);
	if (!is_path && !named_read(name, &text, path))
		return no_such_list(name, usage);
	if (is_path && sw_text_read_at(&text, AT_FDCWD, name, FILE_MAX) < 0)
		return sw_usage_fail(usage, "give a file that can be read, see snapwalk-leaks(1)",
				     "'%.80s' cannot be read", name);
	sw_text_append(&text, "", 1);
	if (text.failed)
		return sw_usage_fail_nomem(usage);
	list->is_file = true;
	unsigned number = 1;
	for (char *line = text.data; line != NULL; line = rest, number++) {
		rest = strchr(line, '\n');
		if (rest != NULL)
			*rest++ = '\0';
		(void) snprintf(usage->about, sizeof(usage->about), "%.50s:%u", path, number);
		if (!line_take(list, line, &module, usage))
			return false;
	}
	if (list->n == 0)
		return sw_usage_fail(usage, "give Library= and Pair=", "it has no pairs");
	return true;
}
