/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/published/contract.h"
#include "bytes.h"
#include "cleanup.h"

#include <snapwalk/error.h>
#include <stdlib.h>
#include <string.h>

/* struct DotNetRuntimeContractDescriptor of a 64-bit target (contract-descriptor.md). */
enum {
	DESCRIPTOR_BYTES = 40,
	AT_MAGIC = 0,
	AT_FLAGS = 8,
	AT_JSON_BYTES = 12,
	AT_JSON = 16,
	AT_N_POINTERS = 24,
	AT_POINTERS = 32,
	FLAGS_KNOWN = 1, /* bit 0 is always set; bit 1: 32-bit pointers */
	NUMBER_TEXT_MAX = 32,
};

static const uint8_t magic[8] = {'D', 'N', 'C', 'C', 'D', 'A', 'C', 0};

static int bad(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -SW_E_FORMAT;
}

/* A number, or a string with one: "0x1f", "31". False also for NULL. */
static bool number(const struct sw_json *value, uint64_t *ret)
{
	if (value != NULL && value->type == SW_JSON_INTEGER) {
		*ret = (uint64_t) value->integer;
		return true;
	}
	if (value == NULL || value->type != SW_JSON_STRING || value->n > NUMBER_TEXT_MAX)
		return false;
	const char *text = value->string;
	char *end;
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	unsigned long long n = strtoull(text, &end, text[1] == 'x' ? 16 : 10);
	if (*end != '\0' || errno != 0)
		return false;
	*ret = n;
	return true;
}

static int check(const struct sw_json *root, const char **ret_why)
{
	/* Any other baseline would mean that what is not said here is known from elsewhere. */
	const struct sw_json *baseline = sw_json_member_of(root, "baseline", SW_JSON_STRING);
	if (baseline != NULL && strcmp(baseline->string, "empty") != 0)
		return bad(ret_why, "its descriptor builds on a baseline that is not known");
	uint64_t version;
	const struct sw_json *said = sw_json_member(root, "version");
	if (said != NULL && (!number(said, &version) || version != 0))
		return bad(ret_why, "its descriptor has a format version that is not known");
	if (sw_json_member_of(root, "types", SW_JSON_OBJECT) == NULL ||
	    sw_json_member_of(root, "globals", SW_JSON_OBJECT) == NULL ||
	    sw_json_member_of(root, "contracts", SW_JSON_OBJECT) == NULL)
		return bad(ret_why, "its descriptor lacks types, globals or contracts");
	return 0;
}

int sw_clr_contract_parse(const char *json, size_t bytes, const uint64_t *pointers,
			  size_t n_pointers, struct sw_clr_contract *ret, const char **ret_why)
{
	if (bytes == 0 || bytes > SW_CLR_JSON_BYTES_MAX)
		return bad(ret_why, "its descriptor is empty or too large");
	struct sw_clr_contract c = {.n_pointers = n_pointers};
	int r = sw_json_parse(&c.json, json, bytes, SW_CLR_JSON_DEPTH, NULL);
	if (r == -SW_E_FORMAT || (r == 0 && c.json.values->type != SW_JSON_OBJECT))
		r = bad(ret_why, "its descriptor is not the JSON that it should be");
	if (r == 0)
		r = check(c.json.values, ret_why);
	if (r == 0 && (c.pointers = calloc(n_pointers + 1, sizeof(*c.pointers))) == NULL)
		r = -SW_E_NOMEM;
	if (r < 0) {
		sw_clr_contract_deinit(&c);
		return r;
	}
	if (n_pointers > 0)
		memcpy(c.pointers, pointers, n_pointers * sizeof(*c.pointers));
	*ret = c;
	return 0;
}

void sw_clr_contract_deinit(struct sw_clr_contract *contract)
{
	sw_json_tree_deinit(&contract->json);
	free(contract->pointers);
	*contract = (struct sw_clr_contract){0};
}

int sw_clr_contract_read(struct sw_memory memory, uint64_t descriptor_avma,
			 struct sw_clr_contract *ret, const char **ret_why)
{
	uint8_t raw[DESCRIPTOR_BYTES];
	const struct sw_bytes b = {raw, sizeof(raw)};
	uint32_t flags = 0, json_bytes = 0, n = 0;
	uint64_t json_avma = 0, pointers_avma = 0;
	*ret_why = "its descriptor could not be read";
	if (!sw_memory_read(memory, descriptor_avma, raw, sizeof(raw)))
		return -SW_E_MEMORY;
	(void) sw_bytes_u32(b, AT_FLAGS, &flags); /* all inside raw */
	(void) sw_bytes_u32(b, AT_JSON_BYTES, &json_bytes);
	(void) sw_bytes_u64(b, AT_JSON, &json_avma);
	(void) sw_bytes_u32(b, AT_N_POINTERS, &n);
	(void) sw_bytes_u64(b, AT_POINTERS, &pointers_avma);
	if (memcmp(raw + AT_MAGIC, magic, sizeof(magic)) != 0)
		return bad(ret_why, "its descriptor has another magic number");
	if (flags != FLAGS_KNOWN)
		return bad(ret_why, "its descriptor has flags that are not known");
	if (json_bytes == 0 || json_bytes > SW_CLR_JSON_BYTES_MAX || n > SW_CLR_POINTERS_MAX)
		return bad(ret_why, "its descriptor is empty or too large");
	sw_cleanup(sw_free_p) char *json = malloc(json_bytes);
	sw_cleanup(sw_free_p) uint64_t *pointers = calloc(n + 1, sizeof(*pointers));
	if (json == NULL || pointers == NULL)
		return -SW_E_NOMEM;
	if (!sw_memory_read(memory, json_avma, json, json_bytes) ||
	    (n > 0 && !sw_memory_read(memory, pointers_avma, pointers, n * sizeof(*pointers))))
		return -SW_E_MEMORY;
	return sw_clr_contract_parse(json, json_bytes, pointers, n, ret, ret_why);
}

static const struct sw_json *section(const struct sw_clr_contract *c, const char *name)
{
	return sw_json_member_of(c->json.values, name, SW_JSON_OBJECT);
}

/* The first element of an array, NULL if it is empty; any other value is returned as it is. */
static const struct sw_json *unwrap(const struct sw_json *value)
{
	return value != NULL && value->type == SW_JSON_ARRAY ? sw_json_first(value) : value;
}

/* "Field": 8, or [8, "type name"]. */
static bool type_number(const struct sw_clr_contract *c, const char *type, const char *field,
			uint32_t *ret)
{
	uint64_t n;
	const struct sw_json *found = sw_json_member_of(section(c, "types"), type, SW_JSON_OBJECT);
	if (!number(unwrap(sw_json_member(found, field)), &n) || n > SW_CLR_OFFSET_MAX)
		return false;
	*ret = (uint32_t) n;
	return true;
}

bool sw_clr_field(const struct sw_clr_contract *c, const char *type, const char *field,
		  uint32_t *ret)
{
	return field[0] != '!' && type_number(c, type, field, ret);
}

bool sw_clr_size(const struct sw_clr_contract *c, const char *type, uint32_t *ret)
{
	return type_number(c, type, "!", ret);
}

/*
 *	VALUE			direct
 *	[VALUE, "type"]		direct
 *	[INDEX]			indirect
 *	[[INDEX], "type"]	indirect
 */
bool sw_clr_global(const struct sw_clr_contract *c, const char *name, uint64_t *ret)
{
	uint64_t n;
	const struct sw_json *said = sw_json_member(section(c, "globals"), name);
	const struct sw_json *inner = unwrap(said);
	bool indirect = said != NULL && said->type == SW_JSON_ARRAY &&
			(said->n == 1 || (inner != NULL && inner->type == SW_JSON_ARRAY));
	if (!number(unwrap(inner), &n) || (indirect && n >= c->n_pointers))
		return false;
	*ret = indirect ? c->pointers[n] : n;
	return true;
}

bool sw_clr_version(const struct sw_clr_contract *c, const char *name, uint64_t *ret)
{
	return number(sw_json_member(section(c, "contracts"), name), ret);
}
