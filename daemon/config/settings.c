/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapwalk.conf: one table of keys. A value that cannot be used is reported with its file and line
 * and leaves the default: a typing mistake must not take the daemon away when it is needed.
 */
#include "config/settings.h"
#include "cleanup.h"
#include "config/value.h"
#include "errors.h"

#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

enum {
	CONFIG_FILES_MAX = 64,   /* drop-ins */
	CONFIG_LINES_MAX = 4096, /* of one file */
	CONFIG_LINE_MAX = 196,   /* what inih takes: INI_MAX_LINE is 200 (inih 55, ini.h) */
	CONFIG_MESSAGE_MAX = 512,
};

#define KEY(name, kind, field, min, max)                                                  \
	{                                                                                 \
		(name), SW_CONFIG_##kind, offsetof(struct sw_config, field), (min), (max) \
	}

static const struct sw_config_key keys[] = {
	KEY("StateDirectory", PATH, state_dir, 0, 0),
	KEY("RulesDirectory", PATH, rules_dir, 0, 0),
	KEY("User", STRING, user, 0, 0),
	KEY("Group", STRING, group, 0, 0),
	KEY("TriggerUser", STRING, trigger_user, 0, 0),
	KEY("Deny", LIST, deny, 0, 0),
	KEY("RequireSameNamespace", BOOL, require_same_namespace, 0, 1),
	KEY("OnDump", COMMAND, on_dump, 0, 0),
	KEY("OnDumpUser", STRING, on_dump_user, 0, 0),
	KEY("OnDumpTimeoutSec", SECONDS_AS_MS, on_dump_timeout_ms, 1, 3600 * 1000),
	KEY("Store", BOOL, store, 0, 1),
	KEY("MaxStopMs", U32, max_stop_ms, 1, 10000),
	KEY("TimeoutMs", U32, timeout_ms, 100, 600 * 1000),
	KEY("NamesTimeoutMs", U32, names_timeout_ms, 0, 600 * 1000),
	KEY("Workers", U32, workers, 1, 64),
	KEY("Queue", U32, queue, 1, 4096),
	KEY("Connections", U32, connections, 1, 65536),
	KEY("ConnectionsPerUid", U32, connections_uid, 1, 65536),
	KEY("MinIntervalSec", SECONDS_AS_MS, min_interval_ms, 0, 3600 * 1000),
	KEY("RatePerMinute", U32, rate_per_minute, 1, 1000000),
	KEY("RateBurst", U32, rate_burst, 1, 1000000),
	KEY("StopPercent", PERCENT_X100, stop_percent_x100, 1, 10000),
	KEY("WorkerMemory", MIB, worker_memory_mib, 64, 1 << 20),
	KEY("DumpMax", BYTES, dump_bytes_max, 64 << 10, UINT32_C(1) << 30),
	KEY("MaxUse", BYTES, store_max_use, 0, INT64_MAX),
	KEY("KeepFree", BYTES, store_keep_free, 0, INT64_MAX),
	KEY("MaxAge", SECONDS, store_max_age_s, 0, INT32_MAX),
	KEY("MaxFiles", U32, store_max_files, 1, 1000000),
};

/* One file being read. */
struct reading {
	struct sw_config *config;
	const char *path;
	FILE *file;
	unsigned line;
	sw_config_say_fn *say;
	void *arg;
	bool nomem;
};

__attribute__((format(printf, 2, 3))) static void problem(struct reading *r, const char *fmt, ...)
{
	char what[CONFIG_MESSAGE_MAX], message[CONFIG_MESSAGE_MAX + PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(what, sizeof(what), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	(void) snprintf(message, sizeof(message), "%s:%u: %s", r->path, r->line, what);
	r->config->n_problems++;
	if (r->say != NULL)
		r->say(r->arg, message);
}

/* inih asks for lines like fgets(); reading them ourselves counts them, which inih does not. */
static char *next_line(char *line, int size, void *stream)
{
	struct reading *r = stream;
	(void) size; /* at least CONFIG_LINE_MAX + 4 */
	if (r->line == CONFIG_LINES_MAX) {
		problem(r, "the rest is ignored: the file has too many lines");
		return NULL;
	}
	if (fgets(line, CONFIG_LINE_MAX + 2, r->file) == NULL)
		return NULL;
	r->line++;
	if (strchr(line, '\n') == NULL && !feof(r->file)) {
		problem(r, "the line is too long: it is ignored");
		for (int c; (c = getc(r->file)) != EOF && c != '\n';)
			;
		line[0] = '\0';
	}
	return line;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	if (strcmp(section, "snapwalkd") != 0 && section[0] != '\0') {
		problem(r, "unknown section [%s]: only [snapwalkd] is known", section);
		return 1;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		const char *why = NULL;
		if (sw_config_value_set(&keys[i], value, r->config, &why) < 0) {
			if (why == NULL)
				r->nomem = true;
			else
				problem(r, "%s=%s: %s", name, value, why);
		}
		return 1;
	}
	problem(r, "unknown key %s", name);
	return 1;
}

static int load_file(struct sw_config *config, const char *path, bool required,
		     sw_config_say_fn *say, void *arg, struct sw_error *err)
{
	sw_cleanup(sw_fclose_p) FILE *file = fopen(path, "re");
	struct stat st;
	if (file == NULL && errno == ENOENT && !required)
		return 0;
	if (file == NULL || fstat(fileno(file), &st) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (!S_ISREG(st.st_mode))
		return sw_fail(err, SW_E_IO, "%s: not a file", path);
	struct reading reading = {
		.config = config, .path = path, .file = file, .say = say, .arg = arg};
	int line = ini_parse_stream(next_line, &reading, on_key, &reading);
	if (reading.nomem)
		return sw_fail_nomem(err);
	if (line > 0) {
		reading.line = (unsigned) line;
		problem(&reading, "neither a key with '=' nor a [section]");
	}
	return 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int load_drop_ins(struct sw_config *config, const char *path, sw_config_say_fn *say,
			 void *arg, struct sw_error *err)
{
	char directory[PATH_MAX], file[PATH_MAX];
	if ((size_t) snprintf(directory, sizeof(directory), "%s.d", path) >= sizeof(directory))
		return sw_fail(err, SW_E_INVALID, "%s: the path is too long", path);
	struct dirent **names = NULL;
	int n = scandir(directory, &names, is_drop_in, alphasort);
	if (n < 0 && errno != ENOENT)
		return sw_fail_errno(err, SW_E_IO, "%s", directory);
	int r = 0;
	for (int i = 0; i < n; i++) {
		int length = snprintf(file, sizeof(file), "%s/%s", directory, names[i]->d_name);
		if (r == 0 && i < CONFIG_FILES_MAX && (size_t) length < sizeof(file))
			r = load_file(config, file, true, say, arg, err);
		free(names[i]);
	}
	free(names);
	if (r == 0 && n > CONFIG_FILES_MAX)
		r = sw_fail(err, SW_E_LIMIT, "%s: more than %d files", directory, CONFIG_FILES_MAX);
	return r;
}

int sw_config_load(struct sw_config *config, const char *path, sw_config_say_fn *say, void *arg,
		   struct sw_error *err)
{
	const char *file = path != NULL ? path : SW_SYSCONFDIR "/snapwalk/snapwalk.conf";
	int r = load_file(config, file, path != NULL, say, arg, err);
	if (r == 0)
		r = load_drop_ins(config, file, say, arg, err);
	return r;
}

static bool set_string(char **field, const char *value)
{
	*field = strdup(value);
	return *field != NULL;
}

int sw_config_init(struct sw_config *config)
{
	*config = (struct sw_config){
		.store = true,
		.require_same_namespace = true,
		.max_stop_ms = 100,
		.timeout_ms = 10 * 1000,
		.names_timeout_ms = 2000,
		.workers = 2,
		.queue = 64,
		.connections = 256,
		.connections_uid = 64,
		.min_interval_ms = 5000,
		.rate_per_minute = 60,
		.rate_burst = 20,
		.stop_percent_x100 = 100,
		.worker_memory_mib = 1024,
		.on_dump_timeout_ms = 30 * 1000,
		.dump_bytes_max = 64 << 20,
		.store_max_use = 512 << 20,
		.store_keep_free = 256 << 20,
		.store_max_age_s = 30 * 86400,
		.store_max_files = 1000,
	};
	if (set_string(&config->state_dir, "/var/lib/snapwalk") &&
	    set_string(&config->rules_dir, SW_SYSCONFDIR "/snapwalk/rules.d") &&
	    set_string(&config->user, "snapwalk") && set_string(&config->group, "snapwalk") &&
	    set_string(&config->trigger_user, "snapwalk-gate") &&
	    set_string(&config->on_dump_user, "nobody"))
		return 0;
	sw_config_deinit(config);
	return -SW_E_NOMEM;
}

void sw_config_deinit(struct sw_config *config)
{
	free(config->socket_path);
	free(config->state_dir);
	free(config->rules_dir);
	free(config->user);
	free(config->group);
	free(config->trigger_user);
	free(config->on_dump_user);
	sw_config_list_free(config->deny);
	sw_config_list_free(config->on_dump);
	*config = (struct sw_config){0};
}
