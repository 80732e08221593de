/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapwalk.conf: one table of keys. A value that cannot be used is reported with its file and line
 * and leaves the default: a typing mistake must not take the daemon away when it is needed.
 */
#include "config/settings.h"
#include "cleanup.h"
#include "config/value.h"
#include "errors.h"
#include "parts.h"

#include <confine/unpacker.h>
#include <snapwalk/recorder.h>
#include <snapwalk/walk.h>

#include <ctype.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
	CONFIG_FILES_MAX = 64,   /* drop-ins */
	CONFIG_LINES_MAX = 4096, /* of one file */
	CONFIG_LINE_MAX = 196,   /* what inih takes: INI_MAX_LINE is 200 (inih 55, ini.h) */
	CONFIG_MESSAGE_MAX = 512,
};

#define KEY_WITH(name, kind, field, min, max, flags)                                       \
	{                                                                                  \
		(name), SW_CONFIG_##kind, offsetof(struct sw_config, field), (min), (max), \
			(flags), NULL                                                      \
	}
#define KEY(name, kind, field, min, max) KEY_WITH(name, kind, field, min, max, 0)
#define KEY_CHOICE_WITH(name, field, choices, flags)                                        \
	{                                                                                   \
		(name), SW_CONFIG_CHOICE, offsetof(struct sw_config, field), 0, 0, (flags), \
			(choices)                                                           \
	}
#define KEY_CHOICE(name, field, choices) KEY_CHOICE_WITH(name, field, choices, 0)

const char *const sw_config_stop_modes[] = {
	[SW_STOP_AUTO] = "auto",
	[SW_STOP_NEVER] = "never",
	[SW_STOP_ALWAYS] = "always",
	NULL,
};

const char *const sw_config_events_for[] = {
	[SW_EVENTS_NOBODY] = "no",
	[SW_EVENTS_ROOT] = "root",
	[SW_EVENTS_GROUP] = "group",
	[SW_EVENTS_OWNERS] = "owners",
	NULL,
};

const char *const sw_config_profile_modes[] = {
	[SW_RECORD_WALL] = "wall",
	[SW_RECORD_CPU] = "cpu",
	[SW_RECORD_OFF] = "off",
	NULL,
};

bool sw_config_mode_is_cpu(uint32_t mode)
{
	return mode == SW_RECORD_CPU;
}

static const struct sw_config_key keys[] = {
	KEY_WITH("StateDirectory", PATH, state_dir, 0, 0, SW_KEY_RESTART),
	KEY_WITH("CacheDirectory", PATH, cache_dir, 0, 0, SW_KEY_RESTART),
	KEY("RulesDirectory", PATH, rules_dir, 0, 0),
	KEY_WITH("User", STRING, user, 0, 0, SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY_WITH("Group", STRING, group, 0, 0, SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY_WITH("TriggerUser", STRING, trigger_user, 0, 0, SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY_WITH("ShipUser", STRING, ship_user, 0, 0, SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY_WITH("Deny", DENY, deny, 0, 0, SW_KEY_PROTECTS),
	KEY_WITH("RequireSameNamespace", BOOL, require_same_namespace, 0, 1, SW_KEY_PROTECTS),
	KEY_WITH("OnDump", COMMAND, on_dump, 0, 0, SW_KEY_RESTART),
	KEY_WITH("OnDumpUser", STRING, on_dump_user, 0, 0, SW_KEY_RESTART),
	KEY_WITH("OnDumpTimeoutSec", SECONDS_AS_MS, on_dump_timeout_ms, 1, 3600 * 1000,
		 SW_KEY_RESTART),
	KEY("Store", BOOL, store, 0, 1),
	KEY_CHOICE("Stop", stop, sw_config_stop_modes),
	KEY_CHOICE_WITH("Events", events, sw_config_events_for, SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY_CHOICE_WITH("FunctionEvents", function_events, sw_config_events_for,
			SW_KEY_PROTECTS | SW_KEY_RESTART),
	KEY("MaxStopMs", U32, max_stop_ms, 1, 10000),
	KEY("TimeoutMs", U32, timeout_ms, 100, 600 * 1000),
	KEY("NamesTimeoutMs", U32, names_timeout_ms, 0, 600 * 1000),
	KEY("Workers", U32, workers, 1, 64),
	KEY("Queue", U32, queue, 1, 4096),
	KEY("Connections", U32, connections, 1, 65536),
	KEY("ConnectionsPerUid", U32, connections_uid, 1, 65536),
	KEY("IdleSec", SECONDS_AS_MS, idle_ms, 0, 86400 * 1000),
	KEY("MinIntervalSec", SECONDS_AS_MS, min_interval_ms, 0, 3600 * 1000),
	KEY("RatePerMinute", U32, rate_per_minute, 1, 1000000),
	KEY("RateBurst", U32, rate_burst, 1, 1000000),
	KEY("StopPercent", PERCENT_X100, stop_percent_x100, 1, 10000),
	KEY("ProfileCPU", PERCENT_X100, profile_cpu_x100, 1, 10000),
	KEY("WorkerMemory", MIB, worker_memory_mib, 64, 1 << 20),
	KEY("DumpMax", BYTES, dump_bytes_max, 64 << 10, UINT32_C(1) << 30),
	KEY("MaxUse", BYTES, store_max_use, 0, INT64_MAX),
	KEY("KeepFree", BYTES, store_keep_free, 0, INT64_MAX),
	KEY("MaxAge", SECONDS, store_max_age_s, 0, INT32_MAX),
	KEY("MaxFiles", U32, store_max_files, 1, 1000000),
};

_Static_assert(SW_ARRAY_SIZE(keys) <= SW_CONFIG_KEYS_MAX, "each key has a place");

/* The state while a file is read. */
struct reading {
	struct sw_config *config;
	const char *path;
	FILE *file;
	unsigned line;
	sw_config_say_fn *say;
	void *arg;
	bool protects; /* the key that a line which begins with a blank goes on with */
	bool goes_on;  /* the line begins with a blank */
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

/* Characters that inih takes for blanks, by isspace(3). */
static const char blanks[] = " \t\r\n\v\f";

static void note_line(struct reading *r, const char *line);
static bool names_key(const char *line);

/* As fgets(), but a NUL is left out, not taken for the end: there was one, *ret_nul. */
static char *read_line(char *line, size_t size, FILE *file, bool *ret_nul)
{
	size_t n = 0;
	int c = 0;
	*ret_nul = false;
	while (n < size - 1 && c != '\n' && (c = getc(file)) != EOF) {
		if (c != '\0')
			line[n++] = (char) c;
		*ret_nul |= c == '\0';
	}
	line[n] = '\0';
	return n > 0 || *ret_nul ? line : NULL;
}

/* A line that ends with a carriage return alone is one of several that are read as one: the others may protect. */
static bool has_lone_return(const char *line)
{
	const char *at = line + strspn(line, "\r");
	at += strcspn(at, "\r");
	at += strspn(at, "\r");
	return *at != '\n' && *at != '\0';
}

/* The rest of a line that is too long, behind this character. True: a carriage return alone is in it. */
static bool skip_rest(FILE *file, int before)
{
	bool lone = false;
	for (int c; (c = getc(file)) != EOF; before = c) {
		lone |= before == '\r' && c != '\n';
		if (c == '\n')
			break;
	}
	return lone;
}

/* The text behind the title of a section, which inih does not look at; NULL: none, or a comment. */
static const char *behind_title(const char *begin)
{
	const char *end = begin[0] == '[' ? strchr(begin, ']') : NULL;
	if (end == NULL)
		return NULL;
	end += 1 + strspn(end + 1, blanks);
	return *end != '\0' && *end != ';' && *end != '#' ? end : NULL;
}

/* A line that is lost, whatever it says: it may be one of a key that protects. */
static void lose(struct reading *r, char *line, const char *why)
{
	problem(r, "%s", why);
	r->config->n_unsafe++;
	line[0] = '\0';
}

static bool is_at_end(FILE *file)
{
	int c = getc(file);
	return c == EOF || ungetc(c, file) == EOF;
}

/* inih asks for lines like fgets(); reading them ourselves counts them, which inih does not. */
static char *next_line(char *line, int size, void *stream)
{
	static const char mark[] =
		"\xEF\xBB\xBF"; /* U+FEFF, which inih leaves out of the first line */
	struct reading *r = stream;
	(void) size; /* at least CONFIG_LINE_MAX + 4 */
	if (r->line == CONFIG_LINES_MAX && !is_at_end(r->file)) {
		lose(r, line, "the rest is ignored: the file has too many lines");
		return NULL;
	}
	bool nul;
	if (read_line(line, CONFIG_LINE_MAX + 2, r->file, &nul) == NULL)
		return NULL;
	r->line++;
	if (line[0] == '[')
		r->protects = false;
	if (strchr(line, '\n') == NULL && !feof(r->file)) {
		problem(r, "the line is too long: it is ignored");
		note_line(r, line);
		r->config->n_unsafe +=
			skip_rest(r->file, line[strlen(line) - 1]) || has_lone_return(line);
		line[0] = '\0';
	}
	if (nul)
		lose(r, line, "not a text: the line is ignored");
	if (has_lone_return(line))
		lose(r, line, "a line that ends with a carriage return alone: it is ignored");
	const char *text = line + (r->line == 1 && sw_begins_with(line, mark) ? strlen(mark) : 0);
	const char *begin = text + strspn(text, blanks);
	if (behind_title(begin) != NULL)
		lose(r, line, "text behind a [section]: the line is ignored");
	r->goes_on = begin != text;
	if (begin != text && names_key(begin)) {
		problem(r, "a blank before the key makes it a part of the value above: the line is "
			   "ignored");
		note_line(r, line);
		line[0] = '\0';
	}
	/* inih reports the first of them only. */
	if (*begin != '\0' && strchr("#;[", *begin) == NULL && strpbrk(begin, "=:") == NULL &&
	    begin == text) {
		problem(r, "neither a key with '=' nor a [section]");
		note_line(r, line);
		line[0] = '\0';
	}
	return line;
}

/* How many letters apart, at most 3: a word of one letter more, less, other or exchanged is a typing
 * mistake. Levenshtein's distance, in one row. */
static size_t distance(const char *a, const char *b)
{
	enum { NAME_BYTES = 32, FAR = 3 };
	size_t row[NAME_BYTES + 1], n = strlen(b);
	if (strlen(a) > NAME_BYTES || n > NAME_BYTES)
		return FAR;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0]++;
		for (size_t j = 1; j <= n; j++) {
			size_t change = diagonal + (tolower((unsigned char) a[i - 1]) !=
						    tolower((unsigned char) b[j - 1]));
			size_t least = row[j] < row[j - 1] ? row[j] : row[j - 1];
			diagonal = row[j];
			row[j] = change < least + 1 ? change : least + 1;
		}
	}
	return row[n] < FAR ? row[n] : FAR;
}

static const struct sw_config_key *key_find(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* The key that was probably meant, by the letters of a name: other characters may not be seen. NULL: none. */
static const struct sw_config_key *key_guess(const char *text)
{
	const struct sw_config_key *best = NULL;
	size_t least = 3, length = 0;
	char name[40];
	for (const char *c = text; *c != '\0' && length < sizeof(name) - 1; c++)
		if (strchr(letters, *c) != NULL)
			name[length++] = *c;
	name[length] = '\0';
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++) {
		size_t d = distance(name, keys[i].name);
		if (d < least && d < strlen(keys[i].name) / 2 + 1) {
			least = d;
			best = &keys[i];
		}
	}
	return best;
}

/* Whether a name has a word that is a key which protects: "export Deny". */
static bool has_protecting_word(const char *name)
{
	for (const char *word = name; *word != '\0';) {
		size_t length = strspn(word, letters);
		for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++)
			if ((keys[i].flags & SW_KEY_PROTECTS) != 0 &&
			    strlen(keys[i].name) == length &&
			    strncasecmp(keys[i].name, word, length) == 0)
				return true;
		word += length > 0 ? length : 1;
	}
	return false;
}

/* Whether a text gives a key that protects its value, as where the end of a line is missing: "2 Deny=gpg". With inside, the
 * key may also be the end of a word: "2Deny=gpg". */
static bool assigns_protection(const char *text, bool inside)
{
	for (const char *at = text; (at = strpbrk(at, "=:")) != NULL; at++) {
		const char *end = at;
		while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		const char *word = end;
		while (word > text && strchr(letters, word[-1]) != NULL)
			word--;
		const size_t length = (size_t) (end - word);
		bool begins =
			word == text || (unsigned char) word[-1] <= ' ' || (word[-1] & 0x80) != 0;
		for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++) {
			const char *name = keys[i].name;
			const size_t n = strlen(name);
			if ((keys[i].flags & SW_KEY_PROTECTS) == 0 || length < n)
				continue;
			if ((length == n && begins && strncasecmp(word, name, n) == 0) ||
			    (inside && strncmp(end - n, name, n) == 0))
				return true;
		}
	}
	return false;
}

/* A key in a place where it does not hold, or in a line that cannot be read, may have been meant to
 * protect. */
static bool may_protect(const char *name)
{
	enum { BEGIN = 3 }; /* "Denied", "RequireNamespace", "UserName" */
	const struct sw_config_key *key = key_guess(name);
	if (key != NULL)
		return (key->flags & SW_KEY_PROTECTS) != 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++)
		if ((keys[i].flags & SW_KEY_PROTECTS) != 0 &&
		    strncasecmp(keys[i].name, name, BEGIN) == 0)
			return true;
	return has_protecting_word(name);
}

static void note_key(struct reading *r, const char *name)
{
	r->config->n_unsafe += may_protect(name);
}

/* The name of a key is made of letters. */
static bool is_name(const char *name)
{
	return name[0] != '\0' && strspn(name, letters) == strlen(name);
}

/* A line that is lost: it may be one of a key that protects, or what the key above it goes on with. */
static void note_line(struct reading *r, const char *line)
{
	char name[40];
	const char *begin = line + strspn(line, blanks);
	size_t length = strcspn(begin, " \t=:\r\n");
	(void) snprintf(name, sizeof(name), "%.*s", (int) length, begin); /* cut */
	const char *behind = begin + length + strspn(begin + length, " \t");
	bool own = begin == line && is_name(name) && (*behind == '=' || *behind == ':');
	r->config->n_unsafe += may_protect(name) || (!own && r->protects) ||
			       assigns_protection(begin + length, false);
}

/* "KEY=..." or "KEY: ...", or nearly so. */
static bool names_key(const char *line)
{
	char name[40];
	size_t length = strcspn(line, " \t=:\r\n");
	char behind = line[length + strspn(line + length, " \t")];
	if (length >= sizeof(name) || (behind != '=' && behind != ':'))
		return false;
	(void) snprintf(name, sizeof(name), "%.*s", (int) length, line);
	return key_guess(name) != NULL;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct reading *r = user;
	const struct sw_config_key *key = key_find(name);
	const bool goes_on = r->protects && !is_name(name);
	r->protects = goes_on || may_protect(name);
	if (assigns_protection(value, key == NULL || key->kind != SW_CONFIG_COMMAND)) {
		problem(r, "%s=: another key is in its value: the line is ignored", name);
		r->config->n_unsafe++;
		return 1;
	}
	if (strcmp(section, "snapwalkd") != 0 && section[0] != '\0') {
		problem(r, "unknown section [%s]: only [snapwalkd] is known", section);
		note_key(r, name);
		return 1;
	}
	if (key == NULL) {
		const struct sw_config_key *guess = key_guess(name);
		problem(r, guess != NULL ? "unknown key %s: is %s meant?" : "unknown key %s", name,
			guess != NULL ? guess->name : "");
		if (goes_on)
			r->config
				->n_unsafe++; /* "ssh uid:7", of a line before which a blank is missing */
		else
			note_key(r, name);
		return 1;
	}
	if (r->goes_on && key->kind != SW_CONFIG_LIST && key->kind != SW_CONFIG_DENY) {
		problem(r,
			"%s=: only a list goes on in a line that begins with a blank: the line is "
			"ignored",
			name);
		note_key(r, name);
		return 1;
	}
	char why[SW_CONFIG_WHY_BYTES];
	if (sw_config_value_set(key, value, r->config, why) == 0) {
		struct sw_config_place *place = &r->config->places[key - keys];
		(void) snprintf(place->path, sizeof(place->path), "%s", r->path);
		place->line = r->line;
		return 1;
	}
	if (why[0] == '\0') {
		r->nomem = true;
		return 1;
	}
	char expected[128];
	sw_config_value_expected(key, expected, sizeof(expected));
	problem(r, "%s=%s: %s: expected %s", name, value, why, expected);
	note_key(r, name);
	return 1;
}

/* Whether a path that is not there is a link, or below one, that leads nowhere: the configuration is elsewhere, and not
 * what a machine without one has. */
static bool is_dangling(const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	if ((size_t) snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return true;
	for (char *end; part[0] != '\0'; *end = '\0') {
		if (lstat(part, &st) == 0)
			return S_ISLNK(st.st_mode) && stat(part, &st) < 0;
		end = strrchr(part, '/');
		if (end == NULL)
			break;
	}
	return false;
}

static int load_file(struct sw_config *config, const char *path, bool required,
		     sw_config_say_fn *say, void *arg, struct sw_error *err)
{
	sw_cleanup(sw_fclose_p) FILE *file = fopen(path, "re");
	struct stat st;
	if (file == NULL && errno == ENOENT && is_dangling(path))
		return sw_fail(err, SW_E_IO, "%s: a symbolic link that leads nowhere", path);
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
		config->n_unsafe++; /* a section whose keys are nobody's, say */
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
	if (n < 0 && is_dangling(directory))
		return sw_fail(err, SW_E_IO, "%s: a symbolic link that leads nowhere", directory);
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
		.events = SW_EVENTS_ROOT,
		.function_events = SW_EVENTS_NOBODY,
		.max_stop_ms = 100,
		.timeout_ms = 10 * 1000,
		.names_timeout_ms = 2000,
		.workers = 2,
		.queue = 64,
		.connections = 256,
		.connections_uid = 64,
		.idle_ms = 300 * 1000,
		.min_interval_ms = 5000,
		.rate_per_minute = 60,
		.rate_burst = 20,
		.stop_percent_x100 = 100,
		.profile_cpu_x100 = 100,
		.worker_memory_mib = 1024,
		.on_dump_timeout_ms = 30 * 1000,
		.dump_bytes_max = 64 << 20,
		.store_max_use = 512 << 20,
		.store_keep_free = 256 << 20,
		.store_max_age_s = 30 * 86400,
		.store_max_files = 1000,
	};
	if (set_string(&config->state_dir, "/var/lib/snapwalk") &&
	    set_string(&config->cache_dir, SW_SYSTEM_CACHE_DIR "/daemon") &&
	    set_string(&config->rules_dir, SW_SYSCONFDIR "/snapwalk/rules.d") &&
	    set_string(&config->user, "snapwalk") && set_string(&config->group, "snapwalk") &&
	    set_string(&config->trigger_user, "snapwalk-gate") &&
	    set_string(&config->ship_user, "snapwalk-ship") &&
	    set_string(&config->on_dump_user, "nobody"))
		return 0;
	sw_config_deinit(config);
	return -SW_E_NOMEM;
}

void sw_config_deinit(struct sw_config *config)
{
	free(config->socket_path);
	free(config->state_dir);
	free(config->cache_dir);
	free(config->rules_dir);
	free(config->user);
	free(config->group);
	free(config->trigger_user);
	free(config->ship_user);
	free(config->on_dump_user);
	sw_config_list_free(config->deny);
	sw_config_list_free(config->on_dump);
	*config = (struct sw_config){0};
}

const struct sw_config_place *sw_config_key_place(const struct sw_config *config, const char *name)
{
	const struct sw_config_key *key = key_find(name);
	return key != NULL && config->places[key - keys].line > 0 ? &config->places[key - keys]
								  : NULL;
}

static bool list_equal(char *const *a, char *const *b)
{
	for (; a != NULL && b != NULL && *a != NULL && *b != NULL; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return (a == NULL || *a == NULL) && (b == NULL || *b == NULL);
}

static bool field_equal(const struct sw_config_key *key, const struct sw_config *a,
			const struct sw_config *b)
{
	const char *x = (const char *) a + key->offset, *y = (const char *) b + key->offset;
	switch (key->kind) {
	case SW_CONFIG_STRING:
	case SW_CONFIG_PATH: return strcmp(*(char *const *) x, *(char *const *) y) == 0;
	case SW_CONFIG_LIST:
	case SW_CONFIG_DENY:
	case SW_CONFIG_COMMAND: return list_equal(*(char **const *) x, *(char **const *) y);
	case SW_CONFIG_BOOL: return *(const bool *) x == *(const bool *) y;
	case SW_CONFIG_SECONDS:
	case SW_CONFIG_BYTES: return *(const uint64_t *) x == *(const uint64_t *) y;
	default: return *(const uint32_t *) x == *(const uint32_t *) y;
	}
}

size_t sw_config_restart_needed(const struct sw_config *old, const struct sw_config *new,
				sw_config_say_fn *say, void *arg)
{
	size_t n = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++)
		if ((keys[i].flags & SW_KEY_RESTART) && !field_equal(&keys[i], old, new)) {
			say(arg, keys[i].name);
			n++;
		}
	return n;
}
