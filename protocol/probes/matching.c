/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probes/matching.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"

#include <snapwalk/nearest.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_LETTERS_MAX = 32 };

/* ---- names ------------------------------------------------------------------------------------ */

/* Where the parameters of a demangled name begin: the "(" that belongs to the last ")". The length of the name, where it
 * has none. */
static size_t without_parameters(const char *name)
{
	size_t length = strlen(name), depth = 0;
	const char *last = strrchr(name, ')');
	if (last == NULL || sw_ends_with(name, "operator()"))
		return length;
	for (size_t i = (size_t) (last - name) + 1; i-- > 0;) {
		depth += name[i] == ')';
		if (name[i] == '(' && --depth == 0)
			return i > 0 ? i : length;
	}
	return length;
}

static bool is_word(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$';
}

/* Names that compilers add to those of a function: of a copy of it. A part that was cut off is no function. */
static size_t without_clone(const char *raw)
{
	static const char *const marks[] = {".isra.", ".constprop.", ".lto_priv."};
	size_t length = strlen(raw);
	for (size_t i = 0; i < SW_ARRAY_SIZE(marks); i++) {
		const char *at = strstr(raw, marks[i]);
		if (at != NULL && (size_t) (at - raw) < length)
			length = (size_t) (at - raw);
	}
	return length;
}

static bool is_part(const char *raw)
{
	return strstr(raw, ".cold") != NULL || strstr(raw, ".part.") != NULL;
}

static bool equal(const char *a, size_t n, const char *b)
{
	return strlen(b) == n && memcmp(a, b, n) == 0;
}

/* ---- the wanted one --------------------------------------------------------------------------- */

/* A word that is in each name which matches, mangled or not: its last one. None of an operator. */
static char *last_word(const char *plain)
{
	const char *by_operator = strstr(plain, "operator");
	size_t end = strlen(plain), begin;
	if (by_operator != NULL)
		return strdup("");
	while (end > 0 && !is_word(plain[end - 1]))
		end--;
	for (begin = end; begin > 0 && is_word(plain[begin - 1]);)
		begin--;
	return strndup(plain + begin, end - begin);
}

int sw_matching_init(struct sw_matching *m, const char *wanted)
{
	const char *at = strrchr(wanted, '@');
	char *end = NULL;
	*m = (struct sw_matching){.wanted = wanted};
	size_t length = strlen(wanted);
	if (at != NULL && at > wanted && sw_begins_with(at, "@0x")) {
		m->svma = strtoull(at + 1, &end, 16);
		m->at_svma = end[0] == '\0';
	}
	if (m->at_svma)
		length = (size_t) (at - wanted);
	sw_cleanup(sw_free_p) char *name = strndup(wanted, length);
	if (name == NULL)
		return -SW_E_NOMEM;
	m->plain = strndup(name, without_parameters(name));
	m->word = m->plain != NULL ? last_word(m->plain) : NULL;
	return m->word == NULL ? -SW_E_NOMEM : 0;
}

void sw_matching_deinit(struct sw_matching *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->all[i].raw);
		free(m->all[i].shown);
	}
	for (size_t i = 0; i < m->n_near; i++)
		free(m->near[i]);
	free(m->plain);
	free(m->word);
	*m = (struct sw_matching){0};
}

static size_t wanted_length(const struct sw_matching *m)
{
	return m->at_svma ? (size_t) (strrchr(m->wanted, '@') - m->wanted) : strlen(m->wanted);
}

static bool is_wanted_whole(const struct sw_matching *m, const char *name)
{
	return equal(m->wanted, wanted_length(m), name);
}

static bool has_parameters(const struct sw_matching *m)
{
	return strlen(m->plain) < wanted_length(m);
}

/* Whether the first n bytes of a name end with "::" and another one. */
static bool ends_with_name(const char *shown, size_t n, const char *end, size_t end_n)
{
	return n > end_n + 2 && memcmp(shown + n - end_n, end, end_n) == 0 &&
	       memcmp(shown + n - end_n - 2, "::", 2) == 0;
}

static enum sw_match_rank rank_of(const struct sw_matching *m, const char *raw, const char *shown)
{
	size_t length = without_clone(raw);
	if (is_wanted_whole(m, raw) || (shown != NULL && is_wanted_whole(m, shown)))
		return SW_MATCH_WHOLE;
	if (equal(raw, length, m->plain))
		return SW_MATCH_PLAIN;
	if (shown == NULL)
		return SW_MATCH_NONE;
	if (has_parameters(m))
		return ends_with_name(shown, strlen(shown), m->wanted, wanted_length(m))
			       ? SW_MATCH_END
			       : SW_MATCH_NONE;
	length = without_parameters(shown);
	if (equal(shown, length, m->plain))
		return SW_MATCH_PLAIN;
	return ends_with_name(shown, length, m->plain, strlen(m->plain)) ? SW_MATCH_END
									 : SW_MATCH_NONE;
}

/* ---- symbols ---------------------------------------------------------------------------------- */

/* Takes the name over. */
static void near_put(struct sw_matching *m, char *name)
{
	bool known = name == NULL;
	for (size_t i = 0; i < m->n_near && !known; i++)
		known = strcmp(m->near[i], name) == 0;
	if (known)
		free(name);
	else
		m->near[m->n_near++] = name;
}

/* Whether a word of a mangled name (Itanium C++ ABI, 5.1.2: <length> <word>) is nearly the last word of the wanted one. */
static bool has_near_word(const struct sw_matching *m, const char *raw)
{
	char word[NEAR_LETTERS_MAX + 1];
	for (const char *at = raw; *at != '\0';) {
		if (!isdigit((unsigned char) *at)) {
			at++;
			continue;
		}
		char *end;
		unsigned long length = strtoul(at, &end, 10);
		at = end;
		if (length == 0 || length > NEAR_LETTERS_MAX || strnlen(at, length) < length)
			continue;
		memcpy(word, at, length);
		word[length] = '\0';
		if (sw_is_near(m->word, word))
			return true;
		at += length;
	}
	return false;
}

static void near_add(struct sw_matching *m, const char *raw)
{
	if (m->n_near == SW_MATCH_NEAR_MAX)
		return;
	if (sw_is_near(m->plain, raw)) {
		near_put(m, strdup(raw));
		return;
	}
	if (!sw_begins_with(raw, "_Z") || m->word[0] == '\0' || !has_near_word(m, raw))
		return;
	sw_cleanup(sw_free_p) char *shown = sw_demangle(raw);
	if (shown != NULL)
		near_put(m, strndup(shown, without_parameters(shown)));
}

static void all_forget(struct sw_matching *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->all[i].raw);
		free(m->all[i].shown);
	}
	m->n = m->n_more = 0;
}

/* A place that has several names is counted once. */
static bool is_known(const struct sw_matching *m, uint64_t svma)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].svma == svma)
			return true;
	return false;
}

void sw_matching_add(void *arg, const struct sw_function_symbol *symbol)
{
	struct sw_matching *m = arg;
	if (m->at_svma && symbol->svma != m->svma)
		return;
	if (strstr(symbol->name, m->word) == NULL) {
		near_add(m, symbol->name);
		return;
	}
	if (is_part(symbol->name))
		return;
	sw_cleanup(sw_free_p) char *shown = sw_demangle(symbol->name);
	enum sw_match_rank rank = rank_of(m, symbol->name, shown);
	if (rank == SW_MATCH_NONE)
		near_add(m, symbol->name);
	if (rank == SW_MATCH_NONE || rank < m->rank)
		return;
	if (rank > m->rank)
		all_forget(m);
	m->rank = rank;
	if (is_known(m, symbol->svma))
		return;
	if (m->n == SW_MATCHES_MAX) {
		m->n_more++;
		return;
	}
	struct sw_match *to = &m->all[m->n];
	*to = (struct sw_match){.svma = symbol->svma,
				.size = symbol->size,
				.is_indirect = symbol->is_indirect,
				.raw = strdup(symbol->name)};
	to->shown = strdup(shown != NULL ? shown : symbol->name);
	m->no_memory |= to->raw == NULL || to->shown == NULL;
	m->n++;
}

/* "A::A()" of two symbols is one constructor, for objects and for parts of others. */
bool sw_matching_is_one(const struct sw_matching *m)
{
	for (size_t i = 1; i < m->n; i++) {
		const struct sw_match *a = &m->all[0], *b = &m->all[i];
		size_t length = without_clone(a->shown);
		if (length != without_clone(b->shown) || memcmp(a->shown, b->shown, length) != 0 ||
		    strcmp(a->raw, b->raw) == 0)
			return false;
	}
	return m->n_more == 0;
}
