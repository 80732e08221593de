/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files in the daemon's state directory: who can write there may write anything. */
#include "fuzz.h"
#include "store/file.h"
#include "cleanup.h"

#include <string.h>

enum { DUMP_MAX = 1 << 16 };

/* A file that was understood can be written and is then understood as the same. */
static void again(const struct sw_store_head *head, const char *json, size_t size)
{
	sw_cleanup(sw_free_p) char *file = NULL, *json_again = NULL;
	sw_cleanup(sw_store_head_deinit) struct sw_store_head head_again = {0};
	size_t file_size, size_again;
	if (sw_store_encode(&head->entry, json, size, &file, &file_size, NULL) < 0)
		return; /* numbers and escapes may be longer in our hand, up to the limit */
	check(sw_store_head_parse(file, file_size, &head_again, NULL) == 0);
	check(strcmp(head->entry.id, head_again.entry.id) == 0);
	check(strcmp(head->entry.comm, head_again.entry.comm) == 0);
	check(head->entry.pid == head_again.entry.pid);
	check(memcmp(&head->entry.subject.rights, &head_again.entry.subject.rights,
		     sizeof(struct sw_target_rights)) == 0);
	check(strcmp(head->entry.subject.comm, head_again.entry.subject.comm) == 0);
	check(strcmp(head->entry.subject.exe, head_again.entry.subject.exe) == 0);
	check(head->entry.time_ns == head_again.entry.time_ns &&
	      head_again.entry.dump_bytes == size);
	check(sw_store_decode(file, file_size, DUMP_MAX, &json_again, &size_again, NULL) == 0);
	check(size == size_again && memcmp(json, json_again, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sw_cleanup(sw_store_head_deinit) struct sw_store_head head = {0};
	sw_cleanup(sw_free_p) char *json = NULL;
	size_t json_size = 0;
	if (sw_store_decode(data, size, DUMP_MAX, &json, &json_size, NULL) == 0)
		check(json_size <= DUMP_MAX && json[json_size] == '\0');
	if (sw_store_head_parse(data, size, &head, NULL) == 0) {
		check(sw_store_id_valid(head.entry.id));
		check(head.entry.summary[0] == '{' && head.entry.pid > 0);
		again(&head, json != NULL ? json : "", json_size);
	}
	return 0;
}
