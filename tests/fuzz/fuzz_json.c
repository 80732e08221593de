/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Check, scan and tree take the same, and what they take is where it should be. */
#include "fuzz.h"
#include "json.h"

#include <snapwalk/error.h>

#include <string.h>

/* Spans, numbers of children, names and strings are consistent. */
static void check_value(const struct sw_json_tree *tree, const struct sw_json *value)
{
	bool container = value->type == SW_JSON_ARRAY || value->type == SW_JSON_OBJECT;
	size_t n = 0;
	check(value->span > 0 && value->span <= tree->n - (size_t) (value - tree->values));
	check(container || value->span == 1);
	if (value->name != NULL)
		check(strlen(value->name) == value->name_size);
	if (value->type == SW_JSON_STRING || value->type == SW_JSON_NUMBER)
		check(strlen(value->string) == value->n);
	if (!container)
		return;
	for (const struct sw_json *v = sw_json_first(value); v != NULL;
	     v = sw_json_next(value, v)) {
		check((v->name != NULL) == (value->type == SW_JSON_OBJECT));
		check(v->name == NULL || sw_json_member(value, v->name) == v);
		n++;
	}
	check(n == value->n);
}

/* The parts that a scan finds are parsed to what is in the tree. */
static void fuzz_scan(const char *text, size_t size, const struct sw_json *root)
{
	struct sw_json_scan scan = sw_json_scan_begin(text, size, SW_JSON_DEPTH_MAX);
	const struct sw_json *v = sw_json_first(root);
	struct sw_json_part name, value;
	struct sw_json_tree part = {0};
	int r;
	for (; (r = sw_json_scan_next(&scan, &name, &value, NULL)) > 0; v = sw_json_next(root, v)) {
		check(v != NULL && value.data >= text && value.size <= size);
		check(sw_json_parse(&part, value.data, value.size, SW_JSON_DEPTH_MAX, NULL) == 0);
		check(part.n == v->span && part.values->type == v->type && part.values->n == v->n);
		check(root->type == SW_JSON_ARRAY ? name.size == 0 : name.data[-1] == '"');
		if (v->type == SW_JSON_ARRAY || v->type == SW_JSON_OBJECT)
			check(value.n == v->n);
	}
	check(r == 0 && v == NULL);
	sw_json_tree_deinit(&part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *) data;
	struct sw_json_tree tree = {0};
	struct sw_error err = {0};
	int r = sw_json_parse(&tree, text, size, SW_JSON_DEPTH_MAX, &err);
	int checked = sw_json_check(text, size, SW_JSON_DEPTH_MAX, NULL);
	check(r == 0 || (r == -SW_E_FORMAT && err.code == SW_E_FORMAT));
	if (r < 0 && strcmp(err.message, "two members have the same name") != 0)
		check(checked == -SW_E_FORMAT);
	if (r == 0) {
		check(tree.values->span == tree.n);
		bool any_number = false;
		for (size_t i = 0; i < tree.n; i++) {
			check_value(&tree, &tree.values[i]);
			any_number |= tree.values[i].type == SW_JSON_NUMBER;
		}
		check(checked == 0 || any_number);
		if (tree.values->type == SW_JSON_ARRAY || tree.values->type == SW_JSON_OBJECT)
			fuzz_scan(text, size, tree.values);
	}
	sw_json_tree_deinit(&tree);
	return 0;
}
