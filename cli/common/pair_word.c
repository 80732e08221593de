/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/pair_word.h"
#include "common/option_values.h"
#include "parts.h"

#include <stdlib.h>
#include <string.h>

static const char syntax[] = "give LIB:ACQUIRE/RELEASE, as in libssl.so:SSL_new/SSL_free";

void sw_pair_list_destroy(struct sw_pair_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->n_texts; i++)
		free(list->texts[i]);
	free(list);
}

char *sw_pair_list_keep(struct sw_pair_list *list, const char *text)
{
	char *copy = list->n_texts < SW_EVENT_PLACES_MAX ? strdup(text) : NULL;
	if (copy != NULL)
		list->texts[list->n_texts++] = copy;
	return copy;
}

/* Where the next of some characters is, outside of the parameters of a name of C++; else the end. */
static char *find_outside(char *text, const char *characters)
{
	size_t depth = 0;
	char *at = text;
	for (; at[0] != '\0'; at++) {
		if (at[0] == '(')
			depth++;
		else if (at[0] == ')' && depth > 0)
			depth--;
		else if (depth == 0 && strchr(characters, at[0]) != NULL)
			break;
	}
	return at;
}

/* Ends the text at the first of the characters. The rest behind it; NULL: there is none. */
static char *cut(char *text, const char *characters)
{
	char *at = find_outside(text, characters);
	if (at[0] == '\0')
		return NULL;
	at[0] = '\0';
	return at + 1;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	for (size_t n = strlen(text); n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
		text[n - 1] = '\0';
	return text;
}

/* "arg1", "*arg1" */
static bool take_value(const char *text, struct sw_event_value *ret)
{
	ret->pointed = text[0] == '*';
	text += ret->pointed;
	if (!sw_begins_with(text, "arg") || text[3] < '0' || text[3] >= '0' + SW_EVENT_ARGUMENTS ||
	    text[4] != '\0')
		return false;
	ret->argument = (unsigned) (text[3] - '0') + 1;
	return true;
}

/* "arg1", "arg0*arg1" */
static bool take_size(struct sw_pair_function *f, const char *text)
{
	char first[8];
	struct sw_event_value times = {0};
	size_t length = strcspn(text, "*");
	if (length == 0 || length >= sizeof(first))
		return take_value(text, &f->size);
	memcpy(first, text, length);
	first[length] = '\0';
	if (text[length] == '*' && (!take_value(text + length + 1, &times) || times.pointed))
		return false;
	f->size_times = times.argument;
	return take_value(first, &f->size);
}

static bool take_attribute(struct sw_pair_function *f, const char *text, struct sw_usage *usage)
{
	static const char size[] = "size=";
	if (!f->releases && strcmp(text, "ok=0") == 0) {
		f->only_zero = true;
		return true;
	}
	if (!f->releases && strcmp(text, "outside") == 0) {
		f->outside = true;
		return true;
	}
	if (!f->releases && sw_begins_with(text, size) && take_size(f, text + strlen(size)))
		return true;
	if (take_value(text, &f->handle))
		return true;
	return sw_usage_fail(
		usage,
		f->releases ? "give @argN or @*argN, N from 0 to 5"
			    : "give @argN, @*argN, @size=argN, @ok=0 or @outside, N from 0 to 5",
		"'@%.40s' of %.40s means nothing", text, f->name);
}

/* "@0x..." is a part of the name: a function by its address. */
static char *attributes_of(char *name)
{
	char *at = find_outside(name, "@");
	if (sw_begins_with(at, "@0x"))
		at = find_outside(at + 1, "@");
	if (at[0] == '\0')
		return NULL;
	at[0] = '\0';
	return at + 1;
}

/* Whether the list has the function on that side of its pair. */
static bool is_there(const struct sw_pair_list *list, const struct sw_pair_function *f,
		     bool releases)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].pair == f->pair && list->all[i].releases == releases &&
		    strcmp(list->all[i].name, f->name) == 0)
			return true;
	return false;
}

/* A function that moves what it is given, as realloc(3), stands on both sides: another one acquires or releases, too. */
static bool sides_check(const struct sw_pair_list *list, unsigned pair, struct sw_usage *usage)
{
	const char *name = NULL;
	for (size_t i = 0; i < list->n; i++) {
		if (list->all[i].pair != pair)
			continue;
		if (!is_there(list, &list->all[i], !list->all[i].releases))
			return true;
		name = list->all[i].name;
	}
	return sw_usage_fail(usage, syntax,
			     "%.60s acquires and releases, and no other function does", name);
}

static bool take_function(struct sw_pair_list *list, char *text, struct sw_pair_function f,
			  struct sw_usage *usage)
{
	char *attributes = attributes_of(text);
	f.name = trim(text);
	if (f.name[0] == '\0')
		return sw_usage_fail(usage, syntax, "a function has no name");
	if (f.releases)
		f.handle.argument = 1;
	while (attributes != NULL) {
		char *next = cut(attributes, "@");
		if (!take_attribute(&f, trim(attributes), usage))
			return false;
		attributes = next;
	}
	if (is_there(list, &f, f.releases))
		return sw_usage_fail(usage, "give it once", "%.60s is given twice", f.name);
	if (list->n == SW_EVENT_PLACES_MAX)
		return sw_usage_fail(usage, "give fewer", "more than %d functions",
				     SW_EVENT_PLACES_MAX);
	list->all[list->n++] = f;
	return true;
}

static bool take_functions(struct sw_pair_list *list, char *text, struct sw_pair_function f,
			   struct sw_usage *usage)
{
	while (text != NULL) {
		char *next = cut(text, "+");
		if (!take_function(list, text, f, usage))
			return false;
		text = next;
	}
	return true;
}

static bool take_pair(struct sw_pair_list *list, char *text, const char *module,
		      struct sw_usage *usage)
{
	struct sw_pair_function f = {.module = module, .pair = list->n_pairs};
	char *release = cut(text, "/");
	if (release == NULL)
		return sw_usage_fail(usage, syntax, "'%.60s' has no function that releases", text);
	if (find_outside(release, "/")[0] != '\0')
		return sw_usage_fail(usage, "give one / in each pair", "'%.60s' has two of them",
				     text);
	list->n_pairs++;
	if (!take_functions(list, text, f, usage))
		return false;
	f.releases = true;
	return take_functions(list, release, f, usage) && sides_check(list, f.pair, usage);
}

/* Where the name of a library ends in "LIB:NAME", in which "::" is no colon: a name of C++. */
static char *colon_find(char *text)
{
	char *at = find_outside(text, ":");
	return at[0] == ':' && at[1] != ':' ? at : NULL;
}

bool sw_pair_parse(struct sw_pair_list *list, const char *text, const char *module,
		   struct sw_usage *usage)
{
	char *copy = sw_pair_list_keep(list, text);
	if (copy == NULL)
		return sw_usage_fail(usage, "give fewer", "there is no memory for so many pairs");
	char *colon = colon_find(copy);
	if (colon != NULL) {
		colon[0] = '\0';
		module = trim(copy);
		copy = colon + 1;
		if (module[0] == '\0')
			return sw_usage_fail(usage, syntax, "no library is named");
	}
	while (copy != NULL) {
		char *next = cut(copy, ",");
		if (!take_pair(list, copy, module, usage))
			return false;
		copy = next;
	}
	return true;
}
