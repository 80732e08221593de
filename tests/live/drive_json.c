/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_json: reads texts from standard input, each behind its size (4 bytes, little-endian), and
 * prints for each a line of
 *
 *	check, scan, tree	"ok" or "no"; scan "ok:N" with the values found, "-" without a container
 *	the tree		n, t, f; i and the number; d and a number's text; s and hexadecimal
 *				bytes; [value ... ] or {sNAME value ... }; "-": none
 */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 1 << 20 };

static void die(const char *what)
{
	fprintf(stderr, "drive_json: %s\n", what);
	exit(1);
}

static void print_bytes(const char *bytes, size_t size)
{
	putchar('s');
	for (size_t i = 0; i < size; i++)
		printf("%02x", (unsigned char) bytes[i]);
}

static void print_value(const struct sw_json *value)
{
	char close = value->type == SW_JSON_ARRAY ? ']' : '}';
	switch (value->type) {
	case SW_JSON_NULL: putchar('n'); return;
	case SW_JSON_BOOLEAN: putchar(value->boolean ? 't' : 'f'); return;
	case SW_JSON_INTEGER: printf("i%" PRId64, value->integer); return;
	case SW_JSON_NUMBER: printf("d%s", value->string); return;
	case SW_JSON_STRING: print_bytes(value->string, value->n); return;
	default: putchar(close == ']' ? '[' : '{');
	}
	for (const struct sw_json *v = sw_json_first(value); v != NULL;
	     v = sw_json_next(value, v)) {
		if (v->name != NULL) {
			print_bytes(v->name, v->name_size);
			putchar(' ');
		}
		print_value(v);
		putchar(' ');
	}
	putchar(close);
}

static void print_scan(const char *text, size_t size)
{
	struct sw_json_scan scan = sw_json_scan_begin(text, size, SW_JSON_DEPTH_MAX);
	struct sw_json_part name, value;
	size_t n = 0;
	int r;
	if (scan.close == '\0') {
		printf("- ");
		return;
	}
	while ((r = sw_json_scan_next(&scan, &name, &value, NULL)) > 0)
		n++;
	if (r < 0)
		printf("no ");
	else
		printf("ok:%zu ", n);
}

int main(void)
{
	unsigned char head[4];
	struct sw_json_tree tree = {0};
	while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
		size_t size = head[0] | (size_t) head[1] << 8 | (size_t) head[2] << 16;
		if (head[3] != 0 || size > TEXT_MAX)
			die("a text is too long");
		char *text = malloc(size + 1);
		if (text == NULL || fread(text, 1, size, stdin) != size)
			die("a text is missing");
		int r = sw_json_check(text, size, SW_JSON_DEPTH_MAX, NULL);
		printf("%s ", r == 0 ? "ok" : "no");
		print_scan(text, size);
		r = sw_json_parse(&tree, text, size, SW_JSON_DEPTH_MAX, NULL);
		printf("%s ", r == 0 ? "ok" : "no");
		if (r == 0)
			print_value(tree.values);
		else
			putchar('-');
		putchar('\n');
		free(text);
	}
	sw_json_tree_deinit(&tree);
	return 0;
}
