/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/contract.h"
#include "bytes.h"
#include "cleanup.h"

#include <json-c/json.h>
#include <snapwalk/error.h>
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

static void json_put_p(struct json_object **json)
{
	(void) json_object_put(*json); /* whether it was the last one does not matter */
}

static int bad(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -SW_E_FORMAT;
}

static struct json_object *member(struct json_object *object, const char *name, enum json_type type)
{
	struct json_object *value;
	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, name, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

/* A number, or a string with one: "0x1f", "31". */
static bool number(struct json_object *value, uint64_t *ret)
{
	if (json_object_is_type(value, json_type_int)) {
		*ret = (uint64_t) json_object_get_int64(value);
		return true;
	}
	if (!json_object_is_type(value, json_type_string) ||
	    json_object_get_string_len(value) > NUMBER_TEXT_MAX)
		return false;
	const char *text = json_object_get_string(value);
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

int sw_clr_contract_parse(const char *json, size_t bytes, const uint64_t *pointers,
			  size_t n_pointers, struct sw_clr_contract *ret, const char **ret_why)
{
	if (bytes == 0 || bytes > SW_CLR_JSON_BYTES_MAX)
		return bad(ret_why, "its descriptor is empty or too large");
	struct json_tokener *tokener = json_tokener_new_ex(SW_CLR_JSON_DEPTH);
	if (tokener == NULL)
		return -SW_E_NOMEM;
	sw_cleanup(json_put_p) struct json_object *root =
		json_tokener_parse_ex(tokener, json, (int) bytes);
	json_tokener_free(tokener);
	if (!json_object_is_type(root, json_type_object))
		return bad(ret_why, "its descriptor is not the JSON that it should be");
	/* Any other baseline would mean that what is not said here is known from elsewhere. */
	struct json_object *baseline = member(root, "baseline", json_type_string);
	if (baseline != NULL && strcmp(json_object_get_string(baseline), "empty") != 0)
		return bad(ret_why, "its descriptor builds on a baseline that is not known");
	uint64_t version;
	struct json_object *said;
	if (json_object_object_get_ex(root, "version", &said) &&
	    (!number(said, &version) || version != 0))
		return bad(ret_why, "its descriptor has a format version that is not known");
	if (member(root, "types", json_type_object) == NULL ||
	    member(root, "globals", json_type_object) == NULL ||
	    member(root, "contracts", json_type_object) == NULL)
		return bad(ret_why, "its descriptor lacks types, globals or contracts");
	uint64_t *copy = calloc(n_pointers + 1, sizeof(*copy));
	if (copy == NULL)
		return -SW_E_NOMEM;
	if (n_pointers > 0)
		memcpy(copy, pointers, n_pointers * sizeof(*copy));
	*ret = (struct sw_clr_contract){sw_take_ptr(root), copy, n_pointers};
	return 0;
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

void sw_clr_contract_deinit(struct sw_clr_contract *contract)
{
	json_put_p(&contract->json);
	free(contract->pointers);
	*contract = (struct sw_clr_contract){0};
}

/* "Field": 8, or [8, "type name"]. */
static bool type_number(const struct sw_clr_contract *c, const char *type, const char *field,
			uint32_t *ret)
{
	uint64_t n;
	struct json_object *value;
	struct json_object *found =
		member(member(c->json, "types", json_type_object), type, json_type_object);
	if (found == NULL || !json_object_object_get_ex(found, field, &value))
		return false;
	if (json_object_is_type(value, json_type_array))
		value = json_object_array_get_idx(value, 0);
	if (!number(value, &n) || n > SW_CLR_OFFSET_MAX)
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
	struct json_object *value, *globals = member(c->json, "globals", json_type_object);
	uint64_t n;
	bool indirect = false;
	if (globals == NULL || !json_object_object_get_ex(globals, name, &value))
		return false;
	if (json_object_is_type(value, json_type_array)) {
		indirect = json_object_array_length(value) == 1;
		value = json_object_array_get_idx(value, 0);
	}
	if (json_object_is_type(value, json_type_array)) {
		indirect = true;
		value = json_object_array_get_idx(value, 0);
	}
	if (!number(value, &n) || (indirect && n >= c->n_pointers))
		return false;
	*ret = indirect ? c->pointers[n] : n;
	return true;
}

bool sw_clr_version(const struct sw_clr_contract *c, const char *name, uint64_t *ret)
{
	struct json_object *value, *contracts = member(c->json, "contracts", json_type_object);
	return contracts != NULL && json_object_object_get_ex(contracts, name, &value) &&
	       number(value, ret);
}
