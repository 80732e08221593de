/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_VALUE_H
#define SW_DAEMON_CONFIG_VALUE_H

#include "config/settings.h"

enum sw_config_kind {
	SW_CONFIG_STRING,        /* char *; not empty */
	SW_CONFIG_PATH,          /* char *; absolute */
	SW_CONFIG_LIST,          /* char **; words are added, an empty value begins anew */
	SW_CONFIG_DENY,          /* the same, each a name, an absolute path or uid:N */
	SW_CONFIG_COMMAND,       /* char **; words replace, an empty value means none */
	SW_CONFIG_BOOL,          /* bool; yes, no, true, false, on, off, 1, 0 */
	SW_CONFIG_U32,           /* uint32_t */
	SW_CONFIG_CHOICE,        /* uint32_t: index in choices */
	SW_CONFIG_SECONDS,       /* uint64_t; 30, 30s, 5min, 2h, 30d, 1w */
	SW_CONFIG_SECONDS_AS_MS, /* uint32_t; also 500ms and 1.5 */
	SW_CONFIG_PERCENT_X100,  /* uint32_t; 1, 0.25, 1.00% */
	SW_CONFIG_BYTES,         /* uint64_t; 4096, 64K, 512M, 2G, 1T */
	SW_CONFIG_MIB,           /* uint32_t in MiB; a plain number is MiB, too */
};

enum {
	SW_KEY_PROTECTS = 1, /* a mistake in it must not leave something open: no start with it */
	SW_KEY_RESTART = 2,  /* what it says is used at the start only */
};

struct sw_config_key {
	const char *name;
	enum sw_config_kind kind;
	size_t offset;              /* of the field in struct sw_config */
	uint64_t min, max;          /* of numbers, in the field's unit */
	unsigned flags;             /* SW_KEY_* */
	const char *const *choices; /* NULL-terminated */
};

/* The values that this kind of key takes, in words: "yes or no", "a whole number from 1 to 64". */
void sw_config_value_expected(const struct sw_config_key *key, char *ret, size_t size);

enum {
	SW_CONFIG_WHY_BYTES = 256,
	SW_CONFIG_DENY_BYTES = 32768, /* of all words of a list of kind DENY, each with its NUL */
};

/* 0; or a negative number and in ret_why what is wrong with the value, "": no memory. The field is
 * changed only on success. For kind DENY, a path whose links lead to another one adds both. */
int sw_config_value_set(const struct sw_config_key *key, const char *value,
			struct sw_config *config, char ret_why[SW_CONFIG_WHY_BYTES]);

/* NULL-terminated, each string and the array on the heap. NULL is fine. */
void sw_config_list_free(char **list);

#endif
