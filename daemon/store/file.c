/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/file.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"

#include <json-c/json.h>
#include <string.h>
#include <zstd.h>

enum { FRAME_HEAD_BYTES = 8, STORE_VERSION = 1, COMPRESSION_LEVEL = 3 };

static const uint32_t SKIPPABLE_MAGIC = 0x184D2A50;

static void json_put_p(struct json_object **object)
{
	json_object_put(*object);
}

static void tokener_free_p(struct json_tokener **tokener)
{
	if (*tokener != NULL)
		json_tokener_free(*tokener);
}

static void cctx_free_p(ZSTD_CCtx **cctx)
{
	(void) ZSTD_freeCCtx(*cctx); /* NULL is fine, and it cannot fail */
}

bool sw_store_id_valid(const char *id)
{
	static const char good[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.-";
	size_t length = strnlen(id, SW_STORE_ID_MAX + 1);
	return length > 0 && length <= SW_STORE_ID_MAX && id[0] != '.' &&
	       strspn(id, good) == length;
}

void sw_store_head_deinit(struct sw_store_head *head)
{
	free(head->text);
	*head = (struct sw_store_head){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One object, strict, valid UTF-8, of bounded depth, and nothing behind it. */
static int json_parse(const char *text, size_t size, struct json_object **ret, struct sw_error *err)
{
	sw_cleanup(tokener_free_p) struct json_tokener *tokener =
		json_tokener_new_ex(SW_STORE_HEAD_DEPTH_MAX);
	if (tokener == NULL)
		return sw_fail_nomem(err);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	sw_cleanup(json_put_p) struct json_object *object =
		json_tokener_parse_ex(tokener, text, (int) size); /* callers bound the size */
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    json_tokener_get_parse_end(tokener) != size ||
	    !json_object_is_type(object, json_type_object))
		return sw_fail(err, SW_E_FORMAT, "no JSON object");
	*ret = sw_take_ptr(object);
	return 0;
}

/* Consumes value. */
static bool add(struct json_object *object, const char *key, struct json_object *value)
{
	if (value != NULL && json_object_object_add(object, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

static int head_build(const struct sw_store_entry *entry, size_t dump_bytes,
		      struct json_object **ret, struct sw_error *err)
{
	sw_cleanup(json_put_p) struct json_object *summary = NULL;
	size_t size = strnlen(entry->summary, SW_STORE_HEAD_MAX);
	if (size >= SW_STORE_HEAD_MAX)
		return sw_fail(err, SW_E_LIMIT, "the summary of dump %s is too large", entry->id);
	int rc = json_parse(entry->summary, size, &summary, err);
	if (rc == -SW_E_NOMEM)
		return rc;
	if (rc < 0)
		return sw_fail(err, SW_E_INVALID, "the summary of dump %s is no JSON object",
			       entry->id);
	sw_cleanup(json_put_p) struct json_object *head = json_object_new_object();
	if (head == NULL || !add(head, "snapwalk_store", json_object_new_int(STORE_VERSION)) ||
	    !add(head, "id", json_object_new_string(entry->id)) ||
	    !add(head, "uid", json_object_new_int64(entry->uid)) ||
	    !add(head, "pid", json_object_new_int64(entry->pid)) ||
	    !add(head, "comm", json_object_new_string(entry->comm)) ||
	    !add(head, "time_ns", json_object_new_int64(entry->time_ns)) ||
	    !add(head, "bytes", json_object_new_int64((int64_t) dump_bytes)) ||
	    !add(head, "summary", sw_take_ptr(summary)))
		return sw_fail_nomem(err);
	*ret = sw_take_ptr(head);
	return 0;
}

static void put_u32(char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (char) (value >> 8 * i);
}

int sw_store_encode(const struct sw_store_entry *entry, const char *json, size_t size,
		    char **ret_file, size_t *ret_size, struct sw_error *err)
{
	sw_cleanup(json_put_p) struct json_object *head = NULL;
	if (!sw_store_id_valid(entry->id))
		return sw_fail(err, SW_E_INVALID, "the id of a dump is no file name");
	int rc = head_build(entry, size, &head, err);
	if (rc < 0)
		return rc;
	size_t head_size;
	const char *text =
		json_object_to_json_string_length(head, JSON_C_TO_STRING_PLAIN, &head_size);
	if (text == NULL)
		return sw_fail_nomem(err);
	if (head_size > SW_STORE_HEAD_MAX)
		return sw_fail(err, SW_E_LIMIT, "the summary of dump %s is too large", entry->id);
	size_t bound = ZSTD_compressBound(size);
	sw_cleanup(cctx_free_p) ZSTD_CCtx *cctx = ZSTD_createCCtx();
	sw_cleanup(sw_free_p) char *file =
		ZSTD_isError(bound) ? NULL : malloc(FRAME_HEAD_BYTES + head_size + bound);
	if (cctx == NULL || file == NULL)
		return sw_fail_nomem(err);
	put_u32(file, SKIPPABLE_MAGIC);
	put_u32(file + 4, (uint32_t) head_size);
	memcpy(file + FRAME_HEAD_BYTES, text, head_size);
	(void) ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, COMPRESSION_LEVEL); /* valid */
	(void) ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);                     /* valid */
	size_t n = ZSTD_compress2(cctx, file + FRAME_HEAD_BYTES + head_size, bound, json, size);
	if (ZSTD_isError(n)) /* there is room enough: what is left is memory */
		return sw_fail(err, SW_E_NOMEM, "compressing a dump: %s", ZSTD_getErrorName(n));
	*ret_size = FRAME_HEAD_BYTES + head_size + n;
	*ret_file = sw_take_ptr(file);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The size of the head's text, when all of it is there. */
static bool head_size_get(struct sw_bytes b, uint32_t *ret)
{
	uint32_t magic, size;
	if (!sw_bytes_u32(b, 0, &magic) || magic != SKIPPABLE_MAGIC || !sw_bytes_u32(b, 4, &size) ||
	    size > SW_STORE_HEAD_MAX || !sw_bytes_has(b, FRAME_HEAD_BYTES, size))
		return false;
	*ret = size;
	return true;
}

static bool get_int(struct json_object *object, const char *key, int64_t min, int64_t max,
		    int64_t *ret)
{
	struct json_object *value;
	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	int64_t number = json_object_get_int64(value);
	if (number < min || number > max)
		return false;
	*ret = number;
	return true;
}

/* Without a NUL inside. */
static const char *get_string(struct json_object *object, const char *key)
{
	struct json_object *value;
	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	const char *string = json_object_get_string(value);
	return strlen(string) == (size_t) json_object_get_string_len(value) ? string : NULL;
}

/* id, comm and summary in one allocation. */
static int head_fill(const char *id, const char *comm, const char *summary,
		     struct sw_store_head *head)
{
	size_t id_size = strlen(id) + 1, comm_size = strlen(comm) + 1;
	size_t summary_size = strlen(summary) + 1;
	head->text = malloc(id_size + comm_size + summary_size);
	if (head->text == NULL)
		return -SW_E_NOMEM;
	memcpy(head->text, id, id_size);
	memcpy(head->text + id_size, comm, comm_size);
	memcpy(head->text + id_size + comm_size, summary, summary_size);
	head->entry.id = head->text;
	head->entry.comm = head->text + id_size;
	head->entry.summary = head->text + id_size + comm_size;
	return 0;
}

int sw_store_head_parse(const void *data, size_t size, struct sw_store_head *ret,
			struct sw_error *err)
{
	sw_cleanup(json_put_p) struct json_object *object = NULL;
	struct json_object *summary;
	uint32_t head_size;
	int64_t version, uid, pid, time_ns, bytes;
	if (!head_size_get((struct sw_bytes){data, size}, &head_size))
		return sw_fail(err, SW_E_FORMAT, "no stored dump");
	int rc = json_parse((const char *) data + FRAME_HEAD_BYTES, head_size, &object, err);
	if (rc < 0)
		return rc;
	const char *id = get_string(object, "id"), *comm = get_string(object, "comm");
	if (!get_int(object, "snapwalk_store", STORE_VERSION, STORE_VERSION, &version) ||
	    !get_int(object, "uid", 0, UINT32_MAX, &uid) ||
	    !get_int(object, "pid", 1, INT32_MAX, &pid) ||
	    !get_int(object, "time_ns", 0, INT64_MAX, &time_ns) ||
	    !get_int(object, "bytes", 0, INT64_MAX, &bytes) || id == NULL ||
	    !sw_store_id_valid(id) || comm == NULL ||
	    !json_object_object_get_ex(object, "summary", &summary) ||
	    !json_object_is_type(summary, json_type_object))
		return sw_fail(err, SW_E_FORMAT, "the head of a stored dump is not one of ours");
	struct sw_store_head head = {
		.entry = {.uid = (uid_t) uid, .pid = (pid_t) pid, .time_ns = time_ns},
		.dump_bytes = (uint64_t) bytes,
	};
	const char *text = json_object_to_json_string_ext(summary, JSON_C_TO_STRING_PLAIN);
	if (text == NULL || head_fill(id, comm, text, &head) < 0)
		return sw_fail_nomem(err);
	*ret = head;
	return 0;
}

int sw_store_decode(const void *data, size_t size, size_t max, char **ret_json, size_t *ret_size,
		    struct sw_error *err)
{
	struct sw_bytes file = {data, size}, frame;
	uint32_t head_size;
	if (!head_size_get(file, &head_size) ||
	    !sw_bytes_sub(file, FRAME_HEAD_BYTES + (uint64_t) head_size,
			  size - FRAME_HEAD_BYTES - head_size, &frame))
		return sw_fail(err, SW_E_FORMAT, "no stored dump");
	/* The size comes from the file: used as an upper bound, of which the decoder, with
	 * exactly so much room, must use all. */
	unsigned long long wanted = ZSTD_getFrameContentSize(frame.data, frame.size);
	if (wanted == ZSTD_CONTENTSIZE_UNKNOWN || wanted == ZSTD_CONTENTSIZE_ERROR ||
	    ZSTD_findFrameCompressedSize(frame.data, frame.size) != frame.size)
		return sw_fail(err, SW_E_FORMAT, "a stored dump is damaged");
	if (wanted > max)
		return sw_fail(err, SW_E_LIMIT, "a stored dump of %llu bytes is above the limit",
			       wanted);
	sw_cleanup(sw_free_p) char *json = malloc((size_t) wanted + 1);
	if (json == NULL)
		return sw_fail_nomem(err);
	size_t n = ZSTD_decompress(json, (size_t) wanted, frame.data, frame.size);
	if (ZSTD_isError(n) || n != wanted)
		return sw_fail(err, SW_E_FORMAT, "a stored dump is damaged%s%s",
			       ZSTD_isError(n) ? ": " : "",
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "");
	json[n] = '\0';
	*ret_json = sw_take_ptr(json);
	*ret_size = n;
	return 0;
}
