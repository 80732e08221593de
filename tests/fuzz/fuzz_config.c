/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration file: every key has a value afterwards, and each problem is told with its line. */
#include "fuzz.h"
#include "config/settings.h"
#include "cleanup.h"

#include <string.h>
#include <sys/mman.h>

static char path[64];

static void said(void *arg, const char *message)
{
	size_t *n = arg;
	++*n;
	check(strncmp(message, path, strlen(path)) == 0 && message[strlen(path)] == ':');
}

static void named(void *arg, const char *name)
{
	check(name[0] != '\0');
}

static void strings_check(const struct sw_config *c)
{
	check(c->state_dir != NULL && c->rules_dir != NULL && c->user != NULL && c->group != NULL &&
	      c->trigger_user != NULL && c->on_dump_user != NULL);
	for (char **deny = c->deny; deny != NULL && *deny != NULL; deny++)
		check(strlen(*deny) < SIZE_MAX);
	for (char **word = c->on_dump; word != NULL && *word != NULL; word++)
		check(strlen(*word) < SIZE_MAX);
	check(c->workers > 0 && c->queue > 0 && c->connections > 0 && c->max_stop_ms > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_config config, defaults;
	size_t n_said = 0;
	sw_cleanup(sw_close_p) int fd = memfd_create("config", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t) size);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(sw_config_init(&config) == 0 && sw_config_init(&defaults) == 0);
	check(sw_config_load(&config, path, said, &n_said, NULL) == 0);
	strings_check(&config);
	check(n_said == config.n_problems && (config.n_unsafe == 0 || config.n_problems > 0));
	check(sw_config_restart_needed(&config, &config, named, NULL) == 0);
	(void) sw_config_restart_needed(&defaults, &config, named, NULL); /* any number */
	sw_config_deinit(&config);
	sw_config_deinit(&defaults);
	return 0;
}
