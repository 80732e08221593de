/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files in the store that are not ours, damaged, or meant to hurt. */
#include "store_case.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

#include <sys/stat.h>

static void put_file(const struct store_case *f, const char *name, const void *data, size_t size)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(close(fd), 0);
}

TEST(foreign_files)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("good", f.now_ns);
	char path[160], text[512], *file, *json;
	size_t size;
	assert_int_equal(sw_store_encode(&e, "{}", 2, &file, &size, &err), 0);
	put_file(&f, "good.json.zst", file, size);
	put_file(&f, "other-name.json.zst", file, size); /* its head says another id */
	put_file(&f, "cut.json.zst", file, 20);
	put_file(&f, "empty.json.zst", "", 0);
	put_file(&f, "text.json.zst", "hello", 5);
	put_file(&f, "README", "hello", 5);
	put_file(&f, "bad_name.json.zst", file, size);
	put_file(&f, ".new-half.json.zst", file, 20);
	snprintf(path, sizeof(path), "%s/link.json.zst", f.dir);
	assert_int_equal(symlink("good.json.zst", path), 0);
	snprintf(path, sizeof(path), "%s/fifo.json.zst", f.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/dir.json.zst", f.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	free(file);
	struct sw_store *store = store_case_open(&f);
	assert_int_equal(sw_store_count(store), 1);
	assert_string_equal(sw_store_entry(store, 0)->id, "good");
	/* Left alone, but for the half one of ours and the empty one. */
	store_case_names(f.dir, text, sizeof(text));
	assert_string_equal(text, "README bad_name.json.zst cut.json.zst dir.json.zst "
				  "fifo.json.zst good.json.zst link.json.zst other-name.json.zst "
				  "text.json.zst ");
	/* A dump that becomes a link is not followed. */
	snprintf(path, sizeof(path), "%s/good.json.zst", f.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(sw_store_get(store, "good", &json, &size, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, ELOOP);
	sw_store_close(store);
	store_case_remove(&f);
}

/* Each byte of a dump's frame changed: said, never believed. */
TEST(damaged)
{
	struct store_case f = store_case_make();
	struct sw_error err = {0};
	struct sw_store_entry e = store_case_entry("x", f.now_ns);
	char *file = NULL, *json = NULL, original[300];
	size_t size, n;
	uint32_t head;
	store_case_random(original, sizeof(original), 3);
	assert_int_equal(sw_store_encode(&e, original, sizeof(original), &file, &size, &err), 0);
	memcpy(&head, file + 4, 4);
	assert_int_equal(sw_store_decode(file, size, 300, &json, &n, &err), 0);
	assert_int_equal(n, 300);
	assert_memory_equal(json, original, 300);
	free(json);
	json = NULL;
	assert_int_equal(sw_store_decode(file, size, 299, &json, &n, &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "a stored dump of 300 bytes is above the limit");
	/* Cut anywhere, or with something behind it. */
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(sw_store_decode(file, cut, 300, &json, &n, &err), -SW_E_FORMAT);
	sw_cleanup(sw_free_p) char *longer = calloc(1, size + 1);
	memcpy(longer, file, size);
	assert_int_equal(sw_store_decode(longer, size + 1, 300, &json, &n, &err), -SW_E_FORMAT);
	for (size_t at = 8 + head; at < size; at++) {
		file[at] ^= 0x10;
		int rc = sw_store_decode(file, size, 1 << 20, &json, &n, &err);
		if (rc == 0) { /* a bit that means nothing to zstd: the text is still right */
			assert_int_equal(n, 300);
			assert_memory_equal(json, original, 300);
			free(json);
			json = NULL;
		} else {
			assert_true(rc == -SW_E_FORMAT || rc == -SW_E_LIMIT);
		}
		file[at] ^= 0x10;
	}
	free(file);
	store_case_remove(&f);
}

/* A frame that says it holds a terabyte. */
TEST(bomb)
{
	static const uint8_t file[] = {
		0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, '{', '}', 0x28, 0xB5, 0x2F, 0xFD, /* magic */
		0xE0,                               /* 8 bytes of size, single segment */
		0,    0,    0,    0,    0, 1, 0, 0, /* 2^40 */
		0x03, 0,    0,                      /* last block: 2^0 … RLE of 0 bytes */
		0,
	};
	struct sw_error err = {0};
	char *json = NULL;
	size_t n;
	assert_int_equal(sw_store_decode(file, sizeof(file), 64 << 20, &json, &n, &err),
			 -SW_E_LIMIT);
	assert_string_equal(err.message, "a stored dump of 1099511627776 bytes is above the limit");
}

TEST(heads)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
#define HEAD(version, id, uid, pid, comm, time, bytes, summary)                      \
	"{\"snapwalk_store\":" version ",\"id\":" id ",\"uid\":" uid ",\"pid\":" pid \
	",\"comm\":" comm ",\"time_ns\":" time ",\"bytes\":" bytes ",\"summary\":" summary "}"
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "{\"a\":[1]}"), 0},
		{HEAD("1", "\"x\"", "4294967295", "2147483647", "\"\"", "0", "0", "{}"), 0},
		{HEAD("2", "\"x\"", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"../x\"", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "7", "0", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "-1", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "4294967296", "1", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "0", "\"c\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"a\\u0000b\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "-5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5.5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "[]"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\xff\"", "5", "2", "{}"), -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2", "{}") "x", -SW_E_FORMAT},
		{HEAD("1", "\"x\"", "0", "1", "\"c\"", "5", "2",
		      "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]"),
		 -SW_E_FORMAT},
		{"{}", -SW_E_FORMAT},
		{"", -SW_E_FORMAT},
		{"[1]", -SW_E_FORMAT},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char file[512] = {0x50, 0x2A, 0x4D, 0x18, (char) strlen(cases[i].text)};
		struct sw_store_head head = {0};
		size_t size = 8 + strlen(cases[i].text);
		assert_true(strlen(cases[i].text) < 256);
		memcpy(file + 8, cases[i].text, strlen(cases[i].text));
		if (sw_store_head_parse(file, size, &head, NULL) != cases[i].rc)
			fail_msg("%s", cases[i].text);
		if (cases[i].rc == 0) {
			assert_string_equal(head.entry.id, "x");
			assert_string_equal(head.entry.summary, i == 0 ? "{\"a\":[1]}" : "{}");
			assert_int_equal(head.entry.dump_bytes, i == 0 ? 2 : 0);
		}
		sw_store_head_deinit(&head);
		assert_int_equal(sw_store_head_parse(file, size - 1, &head, NULL), -SW_E_FORMAT);
	}
}
