/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/value.h"
#include "config/path.h"
#include "cleanup.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

enum { LIST_MAX = 256 };

struct unit {
	const char *name;
	uint64_t thousandths; /* of the field's unit */
};

static const struct unit second_units[] = {
	{"", 1000},     {"s", 1000},     {"ms", 1},        {"min", 60000},
	{"h", 3600000}, {"d", 86400000}, {"w", 604800000}, {NULL, 0},
};
static const struct unit ms_units[] = {
	{"", 1000000}, {"s", 1000000}, {"ms", 1000}, {"min", 60 * 1000000}, {NULL, 0},
};
static const struct unit byte_units[] = {
	{"", 1000},
	{"B", 1000},
	{"K", 1000ull << 10},
	{"M", 1000ull << 20},
	{"G", 1000ull << 30},
	{"T", 1000ull << 40},
	{NULL, 0},
};
static const struct unit mib_units[] = {
	{"", 1000}, {"M", 1000}, {"G", 1000 << 10}, {"T", 1000 << 20}, {NULL, 0},
};
static const struct unit percent_units[] = {{"", 100000}, {"%", 100000}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1000}, {NULL, 0}};

/* "12", "1.5", up to three decimals, then a unit: in thousandths of 1. */
static bool decimal_parse(const char *value, uint64_t *ret_thousandths, const char **ret_rest)
{
	enum { DECIMALS = 3 };
	const char *c = value;
	uint64_t number = 0;
	int decimals = -1;
	if (*c < '0' || *c > '9')
		return false;
	for (; (*c >= '0' && *c <= '9') || (*c == '.' && decimals < 0); c++) {
		if (*c == '.') {
			decimals = 0;
			continue;
		}
		if (decimals == DECIMALS || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t) (*c - '0'), &number))
			return false;
		decimals += decimals >= 0;
	}
	for (int i = decimals > 0 ? decimals : 0; i < DECIMALS; i++)
		if (__builtin_mul_overflow(number, 10, &number))
			return false;
	*ret_thousandths = number;
	*ret_rest = c;
	return decimals != 0;
}

static const char *number_parse(const char *value, const struct unit *units, uint64_t min,
				uint64_t max, uint64_t *ret)
{
	uint64_t thousandths;
	const char *rest;
	if (!decimal_parse(value, &thousandths, &rest))
		return "not a number";
	while (units->name != NULL && strcasecmp(units->name, rest) != 0)
		units++;
	if (units->name == NULL)
		return "not a unit that is known here";
	/* thousandths of the number times thousandths of the unit */
	__uint128_t product = (__uint128_t) thousandths * units->thousandths;
	if (product % 1000000 != 0)
		return "too many decimals";
	product /= 1000000;
	if (product < min || product > max)
		return "out of range";
	*ret = (uint64_t) product;
	return NULL;
}

static const char *bool_parse(const char *value, bool *ret)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(yes); i++) {
		if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
			*ret = strcasecmp(value, yes[i]) == 0;
			return NULL;
		}
	}
	return "neither yes nor no";
}

void sw_config_list_free(char **list)
{
	for (char **s = list; s != NULL && *s != NULL; s++)
		free(*s);
	free(list);
}

SW_DEFINE_CLEANUP(char **, sw_config_list_free);

static char **list_copy(char *const *list, size_t *ret_n)
{
	char **copy = calloc(LIST_MAX + 1, sizeof(*copy));
	*ret_n = 0;
	for (char *const *s = list; copy != NULL && s != NULL && *s != NULL; s++) {
		copy[*ret_n] = strdup(*s);
		if (copy[(*ret_n)++] == NULL) {
			sw_config_list_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* Words, separated by white space; "in quotes" is one word. */
static int list_set(char ***field, const char *value, bool add, const char **ret_why)
{
	size_t n;
	sw_cleanup(sw_config_list_free_p) char **list = list_copy(add ? *field : NULL, &n);
	if (list == NULL)
		return -SW_E_NOMEM;
	for (const char *c = value + strspn(value, " \t"); *c != '\0'; c += strspn(c, " \t")) {
		bool quoted = *c == '"';
		c += quoted;
		size_t length = strcspn(c, quoted ? "\"" : " \t");
		if (n == LIST_MAX || (quoted && c[length] == '\0')) {
			*ret_why = n == LIST_MAX ? "too many words" : "a quote is missing";
			return -SW_E_INVALID;
		}
		list[n] = strndup(c, length);
		if (list[n++] == NULL)
			return -SW_E_NOMEM;
		c += length + quoted;
	}
	sw_config_list_free(*field);
	*field = NULL;
	if (n > 0 && *value != '\0')
		*field = sw_take_ptr(list);
	return 0;
}

static int why_set(char why[SW_CONFIG_WHY_BYTES], const char *what)
{
	(void) snprintf(why, SW_CONFIG_WHY_BYTES, "%s", what); /* fits: ours */
	return -SW_E_INVALID;
}

/* The problem of a word that is the name of something else than a process. */
static const char *kind_problem(const char *word)
{
	static const char *const units[] = {".service", ".scope", ".slice", ".socket"};
	size_t length = strlen(word);
	for (size_t i = 0; i < SW_ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i]);
		if (length > n && strcmp(word + length - n, units[i]) == 0)
			return "the name of a unit, which no process has: write those of its "
			       "programs";
	}
	if (word[0] == '-')
		return "a name as ps shows it: write that in /proc/PID/comm, without '-'";
	return strchr("!@~", word[0]) != NULL ? "a name does not begin with '!', '@' or '~' here"
					      : NULL;
}

/* The problem of a word with a prefix that is not known. */
static const char *prefix_problem(const char *word)
{
	static const char *const unknown[] = {"uid:",  "user:",   "gid:",  "group:",
					      "pid:",  "comm:",   "exe:",  "unit:",
					      "path:", "cgroup:", "name:", "container:"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(unknown); i++)
		if (strncasecmp(word, unknown[i], strlen(unknown[i])) == 0)
			return "of words with a colon in front only uid: is known, in small "
			       "letters";
	return NULL;
}

static const char *name_problem(const char *word)
{
	enum { COMM_MAX = 15 }; /* TASK_COMM_LEN, include/linux/sched.h, less the NUL */
	if (strchr(word, '/') != NULL)
		return "a relative path";
	if (strcmp(word, "\\") == 0)
		return "a line goes on in the next one when that begins with a blank, without '\\'";
	if (strpbrk(word, "*?") != NULL)
		return "a pattern: write each name";
	if (strpbrk(word, ",;='\"") != NULL)
		return "words are separated by blanks, and have none of ',', ';', '=' and quotes";
	if (strlen(word) > COMM_MAX)
		return "a name longer than 15 bytes, which no process has";
	if (word[strspn(word, "0123456789")] == '\0')
		return "a number alone: write uid:N, or the path of a program of that name";
	const char *what = kind_problem(word);
	return what != NULL ? what : prefix_problem(word);
}

/* A path that no link /proc/PID/exe has would deny nothing. */
static int program_check(const char *word, char why[SW_CONFIG_WHY_BYTES])
{
	char written[SW_CONFIG_WHY_BYTES];
	size_t length = strlen(word);
	const char *list = strstr(word, ",/");
	if (strpbrk(word, "*?") != NULL)
		return why_set(why, "a pattern: write the path of each program");
	if (list != NULL || word[length - 1] == ',' || word[length - 1] == ';')
		return why_set(why, "words are separated by blanks, without ',' and ';'");
	if (!sw_path_canonical(word, written, sizeof(written))) {
		(void) snprintf(why, SW_CONFIG_WHY_BYTES, /* cut is fine: it is prose */
				"not as the kernel writes it: write %.200s", written);
		return -SW_E_INVALID;
	}
	const char *no_program = sw_path_no_program(word);
	return no_program != NULL ? why_set(why, no_program) : 0;
}

/* The character of UTF-8 that begins there, of two or three bytes; 0: another one. */
static uint32_t character_at(const char *text)
{
	const unsigned char *c = (const unsigned char *) text;
	if ((c[0] & 0xe0) == 0xc0 && (c[1] & 0xc0) == 0x80)
		return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
	if ((c[0] & 0xf0) == 0xe0 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80)
		return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
	return 0;
}

/* The problem of a character that looks as if it parted two words, or is not seen. */
static const char *character_problem(const char *word)
{
	/* Blanks, what is not seen, quotes, commas and semicolons. Source: Unicode 15.0, PropList.txt (White_Space) and
	 * DerivedCoreProperties.txt (Default_Ignorable_Code_Point). */
	static const struct {
		uint32_t first, last;
	} not_ascii[] = {
		{0x80, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},   {0x60c, 0x60c},
		{0x61b, 0x61c},   {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5},
		{0x180b, 0x180f}, {0x2000, 0x203f}, {0x205f, 0x206f}, {0x3000, 0x3001},
		{0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xff0c, 0xff0c},
		{0xff1b, 0xff1b}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8},
	};
	for (const char *c = word; *c != '\0'; c++) {
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			return "a control character in a word";
		const uint32_t character = character_at(c);
		for (size_t i = 0; i < SW_ARRAY_SIZE(not_ascii); i++)
			if (character >= not_ascii[i].first && character <= not_ascii[i].last)
				return "a blank, a quote or a comma that is not ASCII in a word";
	}
	if (word[0] == ' ' || (word[0] != '\0' && word[strlen(word) - 1] == ' '))
		return "a blank at an end of a word";
	return word[0] == '#' ? "a comment behind a value begins with ' ;'" : NULL;
}

/* A word that stands for no process protects none. */
static int deny_check(const char *word, char why[SW_CONFIG_WHY_BYTES])
{
	static const char prefix[] = "uid:";
	const char *what = character_problem(word);
	if (what != NULL)
		return why_set(why, what);
	if (word[0] == '/')
		return program_check(word, why);
	if (word[0] == '\0') {
		what = "an empty word";
	} else if (strncmp(word, prefix, strlen(prefix)) == 0) {
		const char *number = word + strlen(prefix);
		size_t digits = strspn(number, "0123456789");
		if (digits == 0 || digits > 10 || number[digits] != '\0' ||
		    strtoull(number, NULL, 10) > UINT32_MAX)
			what = "not a user id";
	} else {
		what = name_problem(word);
	}
	return what != NULL ? why_set(why, what) : 0;
}

/* Adds where the links in the path of a program lead, as the kernel writes it. A path that may not be looked
 * at, or that the unit hides from us, stays as it is: workers compare the file itself, see policy/program.h. */
static int resolved_add(char ***list, const char *word)
{
	char path[PATH_MAX];
	size_t n;
	if (word[0] != '/' || !sw_path_resolve(word, path, sizeof(path)) || strcmp(path, word) == 0)
		return 0;
	sw_cleanup(sw_config_list_free_p) char **more = list_copy(*list, &n);
	if (more == NULL || (n < LIST_MAX && (more[n] = strdup(path)) == NULL))
		return -SW_E_NOMEM;
	if (n == LIST_MAX)
		return -SW_E_LIMIT;
	sw_config_list_free(*list);
	*list = sw_take_ptr(more);
	return 0;
}

static size_t list_bytes(char *const *list)
{
	size_t n = 1; /* an empty word at the end */
	for (; list != NULL && *list != NULL; list++)
		n += strlen(*list) + 1;
	return n;
}

static int deny_set(char ***field, const char *value, char why[SW_CONFIG_WHY_BYTES])
{
	sw_cleanup(sw_config_list_free_p) char **words = NULL;
	sw_cleanup(sw_config_list_free_p) char **list = NULL;
	const char *what = NULL;
	size_t n;
	int r = list_set(&words, value, false, &what);
	for (char **word = words; r == 0 && word != NULL && *word != NULL; word++)
		r = deny_check(*word, why);
	if (r == 0) {
		list = list_copy(*field, &n);
		r = list == NULL ? -SW_E_NOMEM : list_set(&list, value, true, &what);
	}
	for (char **word = words; r == 0 && word != NULL && *word != NULL; word++)
		r = resolved_add(&list, *word);
	if (r == -SW_E_LIMIT || (r == 0 && list_bytes(list) > SW_CONFIG_DENY_BYTES)) {
		what = "too many words";
		r = -SW_E_INVALID;
	}
	if (r < 0)
		return what != NULL ? why_set(why, what) : r;
	sw_config_list_free(*field);
	*field = sw_take_ptr(list);
	return 0;
}

static int string_set(char **field, const char *value)
{
	char *copy = strdup(value);
	if (copy == NULL)
		return -SW_E_NOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static const struct unit *units_of(enum sw_config_kind kind)
{
	switch (kind) {
	case SW_CONFIG_SECONDS: return second_units;
	case SW_CONFIG_SECONDS_AS_MS: return ms_units;
	case SW_CONFIG_PERCENT_X100: return percent_units;
	case SW_CONFIG_BYTES: return byte_units;
	case SW_CONFIG_MIB: return mib_units;
	default: return no_units;
	}
}

static const char *choice_parse(const char *value, const char *const *choices, uint32_t *ret)
{
	for (uint32_t i = 0; choices[i] != NULL; i++) {
		if (strcasecmp(value, choices[i]) == 0) {
			*ret = i;
			return NULL;
		}
	}
	return "none of the words that are known here";
}

/* "auto, never or always" */
static void choices_list(const char *const *choices, char *ret, size_t size)
{
	ret[0] = '\0';
	for (size_t i = 0; choices[i] != NULL; i++) {
		size_t used = strlen(ret);
		const char *between = i == 0 ? "" : choices[i + 1] != NULL ? ", " : " or ";
		(void) snprintf(ret + used, size - used, "%s%s", between,
				choices[i]); /* cut: prose */
	}
}

static int value_set(const struct sw_config_key *key, const char *value, char *field,
		     const char **ret_why)
{
	uint64_t number = 0;
	switch (key->kind) {
	case SW_CONFIG_STRING:
	case SW_CONFIG_PATH:
		if (value[0] == '\0')
			*ret_why = "empty";
		else if (key->kind == SW_CONFIG_PATH && value[0] != '/')
			*ret_why = "not an absolute path";
		else
			return string_set((char **) field, value);
		return -SW_E_INVALID;
	case SW_CONFIG_LIST:
	case SW_CONFIG_COMMAND:
		return list_set((char ***) field, value, key->kind == SW_CONFIG_LIST, ret_why);
	case SW_CONFIG_BOOL:
		*ret_why = bool_parse(value, (bool *) field);
		return *ret_why != NULL ? -SW_E_INVALID : 0;
	case SW_CONFIG_CHOICE:
		*ret_why = choice_parse(value, key->choices, (uint32_t *) field);
		return *ret_why != NULL ? -SW_E_INVALID : 0;
	default: break;
	}
	*ret_why = number_parse(value, units_of(key->kind), key->min, key->max, &number);
	if (*ret_why != NULL)
		return -SW_E_INVALID;
	if (key->kind == SW_CONFIG_BYTES || key->kind == SW_CONFIG_SECONDS)
		*(uint64_t *) field = number;
	else
		*(uint32_t *) field = (uint32_t) number;
	return 0;
}

int sw_config_value_set(const struct sw_config_key *key, const char *value,
			struct sw_config *config, char ret_why[SW_CONFIG_WHY_BYTES])
{
	char *field = (char *) config + key->offset;
	const char *why = NULL;
	ret_why[0] = '\0';
	if (key->kind == SW_CONFIG_DENY)
		return deny_set((char ***) field, value, ret_why);
	int r = value_set(key, value, field, &why);
	return why != NULL ? why_set(ret_why, why) : r;
}

void sw_config_value_expected(const struct sw_config_key *key, char *ret, size_t size)
{
	static const char *const words[] = {
		[SW_CONFIG_STRING] = "a name",
		[SW_CONFIG_PATH] = "an absolute path",
		[SW_CONFIG_LIST] = "words",
		[SW_CONFIG_DENY] = "a process's name, an absolute path of a program, or uid:N",
		[SW_CONFIG_COMMAND] = "an absolute path and arguments",
		[SW_CONFIG_BOOL] = "yes or no",
		[SW_CONFIG_U32] = "a whole number",
		[SW_CONFIG_SECONDS] = "a time such as 90, 5min, 2h, 30d or 1w",
		[SW_CONFIG_SECONDS_AS_MS] = "a time such as 1.5, 500ms, 90s or 5min",
		[SW_CONFIG_PERCENT_X100] = "percent, 0.01 to 100",
		[SW_CONFIG_BYTES] = "a size such as 65536, 64K, 512M or 2G",
		[SW_CONFIG_MIB] = "a size such as 512M or 2G",
	};
	if (key->kind == SW_CONFIG_CHOICE)
		choices_list(key->choices, ret, size);
	else if (key->kind == SW_CONFIG_U32)
		(void) snprintf(ret, size, "a whole number from %llu to %llu", /* cut: prose */
				(unsigned long long) key->min, (unsigned long long) key->max);
	else
		(void) snprintf(ret, size, "%s", words[key->kind]);
}
