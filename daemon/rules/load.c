/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules/load.h"
#include "rules/parse.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

enum { RULES_FILE_MAX = 1 << 20, RULES_FILES_MAX = 256 };

static int is_rules_file(const struct dirent *entry)
{
	static const char suffix[] = ".conf";
	size_t length = strlen(entry->d_name);
	return entry->d_name[0] != '.' && length > strlen(suffix) &&
	       strcmp(entry->d_name + length - strlen(suffix), suffix) == 0;
}

static int load_file(const char *directory, const char *name, sw_config_say_fn *say, void *arg,
		     struct sw_rules *rules, struct sw_error *err)
{
	char path[4096];
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
	int rc = n < 0 || (size_t) n >= sizeof(path)
			 ? -SW_E_LIMIT
			 : sw_text_read_at(&text, AT_FDCWD, path, RULES_FILE_MAX);
	if (rc == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (rc < 0) {
		char message[sizeof(path) + 64];
		(void) snprintf(message, sizeof(message), "%s: %s", path, /* fits */
				rc == -SW_E_IO ? strerrordesc_np(errno) : "too large");
		rules->n_problems++;
		if (say != NULL)
			say(arg, message);
		return 0;
	}
	return sw_rules_parse(path, text.data, text.size, say, arg, rules, err);
}

int sw_rules_load(const char *directory, sw_config_say_fn *say, void *arg, struct sw_rules *ret,
		  struct sw_error *err)
{
	struct dirent **entries = NULL;
	struct sw_rules rules = {0};
	int n = scandir(directory, &entries, is_rules_file, alphasort), rc = 0;
	if (n < 0 && errno != ENOENT)
		return sw_fail_errno(err, errno == ENOMEM ? SW_E_NOMEM : SW_E_IO, "%s", directory);
	rules.n_problems += n > RULES_FILES_MAX;
	if (n > RULES_FILES_MAX && say != NULL)
		say(arg, "more rules files than 256: the last by name are left out");
	for (int i = 0; i < n; i++) {
		if (rc == 0 && i < RULES_FILES_MAX)
			rc = load_file(directory, entries[i]->d_name, say, arg, &rules, err);
		free(entries[i]);
	}
	free(entries);
	if (rc < 0) {
		sw_rules_deinit(&rules);
		return rc;
	}
	*ret = rules;
	return 0;
}
