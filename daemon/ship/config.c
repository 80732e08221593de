/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ship.conf: sections and keys. A mistake keeps the shipper from starting, as it must not send to the wrong place. */
#include "ship/config.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SECTION_SHIP = -1,
	SECTION_NONE = -2,
};

struct reading {
	struct sw_ship_config *config;
	const char *path;
	unsigned line;
	int section; /* SECTION_*, or enum sw_ship_kind */
	struct sw_error *err;
};

static int mistake(const struct reading *r, const char *what, const char *word)
{
	return sw_fail(r->err, SW_E_INVALID, "%s:%u: %s: '%.64s'", r->path, r->line, what, word);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A header goes over the wire as it is. */
static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char) *text < ' ' || (unsigned char) *text > '~')
			return false;
	return true;
}

static int set_text(const struct reading *r, char **field, const char *value)
{
	if (value[0] == '\0' || !is_printable(value))
		return mistake(r, "this is no value", value);
	free(*field);
	*field = strdup(value);
	return *field == NULL ? sw_fail_nomem(r->err) : 0;
}

static int set_path(const struct reading *r, char **field, const char *value)
{
	if (value[0] != '/')
		return mistake(r, "a path begins with /", value);
	return set_text(r, field, value);
}

/* Digits, and for sizes one of K, M, G, T. */
static int set_number(const struct reading *r, uint64_t *field, const char *value, uint64_t min,
		      uint64_t max, uint64_t unit, bool is_size)
{
	static const char units[] = "KMGT";
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (!isdigit((unsigned char) value[0]) || errno != 0)
		return mistake(r, "this is no number", value);
	const char *at = is_size && *end != '\0' ? strchr(units, *end) : NULL;
	if (at != NULL) {
		unit = UINT64_C(1) << 10 * (at - units + 1);
		end++;
	}
	uint64_t result;
	if (*end != '\0' || __builtin_mul_overflow(number, unit, &result) || result < min ||
	    result > max)
		return mistake(r, "this number is out of range, or has another unit", value);
	*field = result;
	return 0;
}

static int set_ms(const struct reading *r, int64_t *field, const char *value, uint64_t max_ms,
		  uint64_t unit)
{
	uint64_t ms;
	int result = set_number(r, &ms, value, 1, max_ms, unit, false);
	if (result == 0)
		*field = (int64_t) ms;
	return result;
}

/* Host of a URL that has a scheme: whether it is this machine, where nobody else sees what is sent. */
static bool is_loopback(const char *url)
{
	static const char *const hosts[] = {"127.0.0.1", "[::1]", "localhost"};
	const char *host = strstr(url, "://") + 3;
	for (size_t i = 0; i < SW_ARRAY_SIZE(hosts); i++) {
		size_t length = strlen(hosts[i]);
		if (strncmp(host, hosts[i], length) == 0 &&
		    (host[length] == '\0' || host[length] == ':' || host[length] == '/'))
			return true;
	}
	return false;
}

static int set_url(const struct reading *r, char **field, const char *value)
{
	const char *rest = strncmp(value, "https://", 8) == 0  ? value + 8
			   : strncmp(value, "http://", 7) == 0 ? value + 7
							       : NULL;
	if (rest == NULL || rest[0] == '\0' || rest[0] == '/')
		return mistake(r, "give a URL that begins with https:// or http://", value);
	/* A password has its file, which others cannot read. */
	if (strchr(value, '@') != NULL || strpbrk(value, " #") != NULL)
		return mistake(r, "a URL has no user here: see User= and TokenFile=", value);
	return set_text(r, field, value);
}

static int add_header(const struct reading *r, struct sw_ship_target *target, const char *value)
{
	size_t name = strcspn(value, ":");
	if (name == 0 || value[name] != ':' || strcspn(value, " ") < name)
		return mistake(r, "a header is 'Name: value'", value);
	if (target->n_headers == SW_SHIP_HEADERS_MAX)
		return mistake(r, "there are too many headers", value);
	int result = set_text(r, &target->headers[target->n_headers], value);
	target->n_headers += result == 0;
	return result;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int take_ship(const struct reading *r, const char *key, const char *value)
{
	struct sw_ship_config *c = r->config;
	enum { SPOOL_MIN = 1 << 20, TIMEOUT_MAX_MS = 600 * 1000, RETRY_MAX_MS = 86400 * 1000 };
	if (strcmp(key, "Spool") == 0)
		return set_path(r, &c->spool, value);
	if (strcmp(key, "SpoolMax") == 0)
		return set_number(r, &c->spool_bytes_max, value, SPOOL_MIN, INT64_MAX, 1, true);
	if (strcmp(key, "TimeoutSec") == 0)
		return set_ms(r, &c->timeout_ms, value, TIMEOUT_MAX_MS, 1000);
	if (strcmp(key, "RetryMinMs") == 0)
		return set_ms(r, &c->retry_min_ms, value, RETRY_MAX_MS, 1);
	if (strcmp(key, "RetryMaxSec") == 0)
		return set_ms(r, &c->retry_max_ms, value, RETRY_MAX_MS, 1000);
	return mistake(r, "[Ship] has no such key", key);
}

static int take_target(const struct reading *r, const char *key, const char *value)
{
	struct sw_ship_target *t = &r->config->targets[r->section];
	if (strcmp(key, "URL") == 0)
		return set_url(r, &t->url, value);
	if (strcmp(key, "TokenFile") == 0)
		return set_path(r, &t->token_file, value);
	if (strcmp(key, "User") == 0)
		return set_text(r, &t->user, value);
	if (strcmp(key, "CAFile") == 0)
		return set_path(r, &t->ca_file, value);
	if (strcmp(key, "Proxy") == 0)
		return set_url(r, &t->proxy, value);
	if (strcmp(key, "Header") == 0)
		return add_header(r, t, value);
	return mistake(r, "the section has no such key", key);
}

static int take_section(struct reading *r, const char *name)
{
	if (strcmp(name, "[Ship]") == 0)
		r->section = SECTION_SHIP;
	else if (strcmp(name, "[Profiles]") == 0)
		r->section = SW_SHIP_PROFILES;
	else if (strcmp(name, "[Dumps]") == 0)
		r->section = SW_SHIP_DUMPS;
	else
		return mistake(r, "there is no such section", name);
	return 0;
}

/* Cuts blanks off both ends. */
static char *trimmed(char *text)
{
	static const char blanks[] = " \t\r";
	text += strspn(text, blanks);
	for (size_t n = strlen(text); n > 0 && strchr(blanks, text[n - 1]) != NULL;)
		text[--n] = '\0';
	return text;
}

static int take_line(struct reading *r, char *line)
{
	line = trimmed(line);
	if (line[0] == '\0' || line[0] == '#' || line[0] == ';')
		return 0;
	if (line[0] == '[')
		return take_section(r, line);
	char *value = strchr(line, '=');
	if (value == NULL)
		return mistake(r, "this is neither a section nor KEY=VALUE", line);
	*value++ = '\0';
	const char *key = trimmed(line);
	value = trimmed(value);
	if (r->section == SECTION_NONE)
		return mistake(r, "the key is in no section", key);
	return r->section == SECTION_SHIP ? take_ship(r, key, value) : take_target(r, key, value);
}

/* Says what only several keys together show. */
static int check(const struct sw_ship_config *c, const char *path, struct sw_error *err)
{
	if (c->retry_min_ms > c->retry_max_ms)
		return sw_fail(err, SW_E_INVALID, "%s: RetryMinMs= is above RetryMaxSec=", path);
	for (size_t i = 0; i < SW_SHIP_KINDS; i++) {
		const struct sw_ship_target *t = &c->targets[i];
		bool plain = t->url != NULL && strncmp(t->url, "https:", 6) != 0;
		if (t->user != NULL && t->token_file == NULL)
			return sw_fail(err, SW_E_INVALID, "%s: User= needs TokenFile=", path);
		if (plain && t->token_file != NULL && !is_loopback(t->url))
			return sw_fail(err, SW_E_INVALID,
				       "%s: a token is sent by https:// only, or to this machine",
				       path);
	}
	return 0;
}

int sw_ship_config_parse(struct sw_ship_config *config, const char *text, const char *path,
			 struct sw_error *err)
{
	struct reading r = {.config = config, .path = path, .section = SECTION_NONE, .err = err};
	sw_cleanup(sw_free_p) char *copy = strdup(text);
	if (copy == NULL)
		return sw_fail_nomem(err);
	int result = 0;
	char *next = copy;
	for (char *line; result == 0 && (line = strsep(&next, "\n")) != NULL;) {
		r.line++;
		result = take_line(&r, line);
	}
	return result < 0 ? result : check(config, path, err);
}

int sw_ship_config_load(const char *path, struct sw_ship_config *ret, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_ship_config){
		.spool = strdup("/var/lib/snapwalk-ship"),
		.spool_bytes_max = UINT64_C(256) << 20,
		.timeout_ms = 30 * 1000,
		.retry_min_ms = 1000,
		.retry_max_ms = 300 * 1000,
	};
	if (ret->spool == NULL)
		return sw_fail_nomem(err);
	int r = sw_text_read_at(&text, AT_FDCWD, path, SW_SHIP_CONFIG_BYTES_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (r < 0)
		return sw_fail(err, -r, "%s: it is too long, or memory is short", path);
	if (text.size > 0 && strlen(text.data) != text.size)
		return sw_fail(err, SW_E_INVALID, "%s: there is a NUL in it", path);
	return sw_ship_config_parse(ret, text.size > 0 ? text.data : "", path, err);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void wipe(char **token)
{
	if (*token != NULL)
		explicit_bzero(*token, strlen(*token));
	free(*token);
	*token = NULL;
}

/* The owner of the file is the one that the service will run as, or root, who starts it. */
static int check_mode(int fd, const char *path, struct sw_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (!S_ISREG(st.st_mode))
		return sw_fail(err, SW_E_FORMAT, "%s: it is no file", path);
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "%s: others than its owner have permissions: chmod 600 it", path);
	return 0;
}

static int read_token(const char *path, char **ret, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	int r = check_mode(fd, path, err);
	if (r < 0)
		return r;
	r = sw_text_read_fd(&text, fd, SW_SHIP_TOKEN_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (r < 0)
		return sw_fail(err, -r, "%s: it is too long, or memory is short", path);
	const char *data = text.size > 0 ? text.data : "";
	size_t length = strcspn(data, "\r\n");
	char *token = strndup(data, length);
	if (text.data != NULL)
		explicit_bzero(text.data, text.size);
	if (token == NULL)
		return sw_fail_nomem(err);
	if (length == 0 || !is_printable(token) || strchr(token, ' ') != NULL) {
		wipe(&token);
		return sw_fail(err, SW_E_FORMAT, "%s: its first line is no token", path);
	}
	*ret = token;
	return 0;
}

int sw_ship_config_renew(struct sw_ship_target *target, bool *ret_changed, struct sw_error *err)
{
	char *token = NULL;
	int r = read_token(target->token_file, &token, err);
	if (r < 0)
		return r;
	*ret_changed = target->token == NULL || strcmp(target->token, token) != 0;
	wipe(&target->token);
	target->token = token;
	return 0;
}

int sw_ship_config_tokens(struct sw_ship_config *config, struct sw_error *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < SW_SHIP_KINDS; i++)
		if (config->targets[i].url != NULL && config->targets[i].token_file != NULL)
			r = read_token(config->targets[i].token_file, &config->targets[i].token,
				       err);
	return r;
}

void sw_ship_config_forget(struct sw_ship_config *config, enum sw_ship_kind but)
{
	for (size_t i = 0; i < SW_SHIP_KINDS; i++)
		if (i != (size_t) but)
			wipe(&config->targets[i].token);
}

void sw_ship_config_deinit(struct sw_ship_config *config)
{
	for (size_t i = 0; i < SW_SHIP_KINDS; i++) {
		struct sw_ship_target *t = &config->targets[i];
		free(t->url);
		free(t->token_file);
		free(t->user);
		free(t->ca_file);
		free(t->proxy);
		for (size_t j = 0; j < t->n_headers; j++)
			free(t->headers[j]);
	}
	sw_ship_config_forget(config, SW_SHIP_KINDS);
	free(config->spool);
	*config = (struct sw_ship_config){0};
}
