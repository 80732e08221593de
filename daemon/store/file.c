/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/file.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"
#include "json.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <zstd.h>

enum { FRAME_HEAD_BYTES = 8, STORE_VERSION = 1, COMPRESSION_LEVEL = 3 };

static const uint32_t SKIPPABLE_MAGIC = 0x184D2A50;
static const uint32_t NOBODY = UINT32_MAX; /* "uid", for earlier versions */

static void json_put_p(struct json_object **object)
{
	json_object_put(*object);
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

/* Consumes value. */
static bool add(struct json_object *object, const char *key, struct json_object *value)
{
	if (value != NULL && json_object_object_add(object, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

/* The bytes of a name of the target as printable ASCII. */
static struct json_object *name_json(const char *name)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t length = strnlen(name, PATH_MAX), n = 0;
	sw_cleanup(sw_free_p) char *text = malloc(3 * length + 1);
	for (size_t i = 0; text != NULL && i < length; i++) {
		unsigned char c = (unsigned char) name[i];
		if (c >= ' ' && c <= '~' && c != '%') {
			text[n++] = (char) c;
			continue;
		}
		text[n++] = '%';
		text[n++] = digits[c >> 4];
		text[n++] = digits[c & 0xf];
	}
	return text != NULL ? json_object_new_string_len(text, (int) n) : NULL;
}

static struct json_object *ids_json(const struct sw_target_rights *rights)
{
	struct json_object *ids = json_object_new_array();
	for (int i = 0; ids != NULL && i < 6; i++) {
		struct json_object *id =
			json_object_new_int64(i < 3 ? rights->uid[i] : rights->gid[i - 3]);
		if (id != NULL && json_object_array_add(ids, id) == 0)
			continue;
		json_object_put(id);
		json_object_put(ids);
		ids = NULL;
	}
	return ids;
}

/* The facts that sw_authorize() goes by. NULL: no memory. */
static struct json_object *target_json(const struct sw_subject *subject)
{
	const struct sw_target_rights *r = &subject->rights;
	sw_cleanup(json_put_p) struct json_object *target = json_object_new_object();
	if (target == NULL || !add(target, "ids", ids_json(r)) ||
	    !add(target, "cap_permitted", json_object_new_int64((int64_t) r->cap_permitted)) ||
	    !add(target, "user_ns", json_object_new_int64((int64_t) r->user_ns.ino)) ||
	    !add(target, "dumpable", json_object_new_int(r->dumpable != 0)) ||
	    !add(target, "mixed", json_object_new_int((int) r->mixed)) ||
	    !add(target, "comm", name_json(subject->comm)) ||
	    !add(target, "exe", name_json(subject->exe)))
		return NULL;
	return sw_take_ptr(target);
}

static int head_build(const struct sw_store_entry *entry, size_t dump_bytes,
		      struct json_object **ret, struct sw_error *err)
{
	size_t size = strnlen(entry->summary, SW_STORE_HEAD_MAX);
	if (size >= SW_STORE_HEAD_MAX)
		return sw_fail(err, SW_E_LIMIT, "the summary of dump %s is too large", entry->id);
	if (entry->summary[0] != '{' ||
	    sw_json_check(entry->summary, size, SW_STORE_HEAD_DEPTH_MAX - 1, NULL) < 0)
		return sw_fail(err, SW_E_INVALID, "the summary of dump %s is no JSON object",
			       entry->id);
	/* written as it is */
	sw_cleanup(json_put_p) struct json_object *summary = json_object_new_object();
	if (summary == NULL)
		return sw_fail_nomem(err);
	json_object_set_serializer(summary, json_object_userdata_to_json_string,
				   (void *) (uintptr_t) entry->summary, NULL);
	sw_cleanup(json_put_p) struct json_object *head = json_object_new_object();
	if (head == NULL || !add(head, "snapwalk_store", json_object_new_int(STORE_VERSION)) ||
	    !add(head, "id", json_object_new_string(entry->id)) ||
	    !add(head, "uid", json_object_new_int64(NOBODY)) ||
	    !add(head, "by", json_object_new_int64(entry->by)) ||
	    !add(head, "alert", json_object_new_int(entry->alert)) ||
	    !add(head, "pid", json_object_new_int64(entry->pid)) ||
	    !add(head, "comm", json_object_new_string(entry->comm)) ||
	    !add(head, "time_ns", json_object_new_int64(entry->time_ns)) ||
	    !add(head, "bytes", json_object_new_int64((int64_t) dump_bytes)) ||
	    !add(head, "target", target_json(&entry->subject)) ||
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
	if (ZSTD_isError(n)) /* there is space enough: what is left is memory */
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

static bool get_int(const struct sw_json *object, const char *key, int64_t min, int64_t max,
		    int64_t *ret)
{
	const struct sw_json *value = sw_json_member_of(object, key, SW_JSON_INTEGER);
	if (value == NULL || value->integer < min || value->integer > max)
		return false;
	*ret = value->integer;
	return true;
}

static const char *get_string(const struct sw_json *object, const char *key)
{
	const struct sw_json *value = sw_json_member_of(object, key, SW_JSON_STRING);
	return value != NULL ? value->string : NULL;
}

/* The summary as it is written; {0}: none. */
static struct sw_json_part summary_of(const char *text, size_t size)
{
	static const char wanted[] = "summary";
	struct sw_json_scan scan = sw_json_scan_begin(text, size, SW_STORE_HEAD_DEPTH_MAX);
	struct sw_json_part name, value;
	while (sw_json_scan_next(&scan, &name, &value, NULL) > 0)
		if (name.size == sizeof(wanted) - 1 && memcmp(name.data, wanted, name.size) == 0)
			return value;
	return (struct sw_json_part){0};
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* As name_json() wrote it; to has as much space as the text. */
static bool name_read(const char *text, char *to)
{
	for (; *text != '\0'; text++) {
		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char) (high << 4 | low);
		text += 2;
	}
	*to = '\0';
	return true;
}

static bool ids_read(const struct sw_json *target, struct sw_target_rights *ret)
{
	const struct sw_json *ids = sw_json_member_of(target, "ids", SW_JSON_ARRAY);
	int n = 0;
	if (ids == NULL)
		return false;
	for (const struct sw_json *id = sw_json_first(ids); id != NULL;
	     id = sw_json_next(ids, id)) {
		if (n == 6 || id->type != SW_JSON_INTEGER || id->integer < 0 ||
		    id->integer > UINT32_MAX)
			return false;
		uint32_t *to = n < 3 ? &ret->uid[n] : &ret->gid[n - 3];
		*to = (uint32_t) id->integer;
		n++;
	}
	return n == 6;
}

/* The process that the dump is of; its names are as they are written. */
static bool target_read(const struct sw_json *target, struct sw_subject *ret)
{
	int64_t caps, ns, dumpable, mixed;
	struct sw_subject subject = {.comm = get_string(target, "comm"),
				     .exe = get_string(target, "exe")};
	if (subject.comm == NULL || subject.exe == NULL || !ids_read(target, &subject.rights) ||
	    !get_int(target, "cap_permitted", 0, INT64_MAX, &caps) ||
	    !get_int(target, "user_ns", 0, INT64_MAX, &ns) ||
	    !get_int(target, "dumpable", 0, 1, &dumpable) ||
	    !get_int(target, "mixed", 0, SW_MIXED_RIGHTS | SW_MIXED_NAMES, &mixed))
		return false;
	subject.rights.cap_permitted = (uint64_t) caps;
	/* All namespaces are of one file system, whose device has another number at each start of the
	 * machine; the inode of the initial namespace never has. */
	if (ns != 0)
		subject.rights.user_ns =
			(struct sw_user_ns){.dev = sw_user_ns_self().dev, .ino = (uint64_t) ns};
	subject.rights.dumpable = dumpable == 1;
	subject.rights.mixed = (uint32_t) mixed;
	*ret = subject;
	return true;
}

/* A file of an earlier version: for Deny=, what the summary says; nobody but the privileged sees it. */
static struct sw_subject target_guess(const struct sw_json *root, const char *comm)
{
	const struct sw_json *summary = sw_json_member_of(root, "summary", SW_JSON_OBJECT);
	const struct sw_json *process =
		summary != NULL ? sw_json_member_of(summary, "process", SW_JSON_OBJECT) : NULL;
	const char *exe = process != NULL ? get_string(process, "exe") : NULL;
	int64_t uid;
	struct sw_subject subject = {.comm = comm, .exe = exe != NULL ? exe : ""};
	if (process != NULL && get_int(process, "uid", 0, UINT32_MAX, &uid))
		for (int i = 0; i < 3; i++)
			subject.rights.uid[i] = (uint32_t) uid;
	return subject;
}

/* The strings of the head, as they are written. */
struct head_strings {
	const char *id, *comm;
	struct sw_json_part summary;
	bool encoded; /* the subject's are those of name_json() */
};

static char *string_put(char **at, const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = memcpy(*at, s, size);
	*at += size;
	return copy;
}

/* All strings in one allocation. */
static int head_fill(const struct head_strings *strings, struct sw_store_head *head,
		     struct sw_error *err)
{
	const struct sw_json_part *summary = &strings->summary;
	struct sw_subject *subject = &head->entry.subject;
	char *at = head->text =
		malloc(strlen(strings->id) + strlen(strings->comm) + strlen(subject->comm) +
		       strlen(subject->exe) + summary->size + 5);
	if (head->text == NULL)
		return sw_fail_nomem(err);
	head->entry.id = string_put(&at, strings->id);
	head->entry.comm = string_put(&at, strings->comm);
	char *comm = string_put(&at, subject->comm), *exe = string_put(&at, subject->exe);
	if (strings->encoded && (!name_read(comm, comm) || !name_read(exe, exe))) {
		sw_store_head_deinit(head);
		return sw_fail(err, SW_E_FORMAT, "a name in the head of a stored dump is damaged");
	}
	subject->comm = comm;
	subject->exe = exe;
	head->entry.summary = memcpy(at, summary->data, summary->size);
	at[summary->size] = '\0';
	return 0;
}

static int head_read(const struct sw_json *root, struct sw_json_part summary,
		     struct sw_store_head *ret, struct sw_error *err)
{
	int64_t version, uid, pid, time_ns, bytes, by, alert;
	const struct sw_json *target = sw_json_member_of(root, "target", SW_JSON_OBJECT);
	struct head_strings strings = {.id = get_string(root, "id"),
				       .comm = get_string(root, "comm"),
				       .summary = summary,
				       .encoded = target != NULL};
	struct sw_subject subject = {0};
	if (!get_int(root, "snapwalk_store", STORE_VERSION, STORE_VERSION, &version) ||
	    !get_int(root, "uid", 0, UINT32_MAX, &uid) ||
	    !get_int(root, "pid", 1, INT32_MAX, &pid) ||
	    !get_int(root, "time_ns", 0, INT64_MAX, &time_ns) ||
	    !get_int(root, "bytes", 0, INT64_MAX, &bytes) || strings.id == NULL ||
	    !sw_store_id_valid(strings.id) || strings.comm == NULL || summary.size == 0 ||
	    summary.data[0] != '{' || (target != NULL && !target_read(target, &subject)))
		return sw_fail(err, SW_E_FORMAT, "the head of a stored dump is not one of ours");
	if (target == NULL)
		subject = target_guess(root, strings.comm);
	/* Files of 0.1 do not have these. */
	if (!get_int(root, "by", 0, UINT32_MAX, &by) || !get_int(root, "alert", 0, 1, &alert)) {
		by = uid;
		alert = 0;
	}
	struct sw_store_head head = {
		.entry = {.subject = subject,
			  .by = (uid_t) by,
			  .alert = alert == 1,
			  .pid = (pid_t) pid,
			  .time_ns = time_ns,
			  .dump_bytes = (uint64_t) bytes},
	};
	int r = head_fill(&strings, &head, err);
	if (r == 0)
		*ret = head;
	return r;
}

int sw_store_head_parse(const void *data, size_t size, struct sw_store_head *ret,
			struct sw_error *err)
{
	uint32_t head_size;
	if (!head_size_get((struct sw_bytes){data, size}, &head_size))
		return sw_fail(err, SW_E_FORMAT, "no stored dump");
	const char *text = (const char *) data + FRAME_HEAD_BYTES;
	struct sw_json_tree tree = {0};
	int r = sw_json_parse(&tree, text, head_size, SW_STORE_HEAD_DEPTH_MAX, err);
	if (r == 0)
		r = head_read(tree.values, summary_of(text, head_size), ret, err);
	sw_json_tree_deinit(&tree);
	return r;
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
	 * exactly so much space, must use all. */
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
