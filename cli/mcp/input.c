/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mcp/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

/* Moves what is left to the front. */
static void compact(struct sw_mcp_input *in)
{
	if (in->at == 0)
		return;
	memmove(in->bytes.data, in->bytes.data + in->at, in->bytes.size - in->at);
	in->bytes.size -= in->at;
	in->looked_at -= in->at;
	in->at = 0;
}

void sw_mcp_input_read(struct sw_mcp_input *in)
{
	char buffer[READ_BYTES];
	ssize_t n = read(in->fd, buffer, sizeof(buffer));
	if (n < 0 && errno == EINTR)
		return;
	compact(in);
	if (n > 0)
		sw_text_append(&in->bytes, buffer, (size_t) n);
	in->ended = n <= 0 || in->bytes.failed;
}

bool sw_mcp_input_line(struct sw_mcp_input *in, const char **ret_line, size_t *ret_size,
		       bool *ret_too_long)
{
	const size_t new_bytes = in->bytes.size - in->looked_at;
	const char *end =
		new_bytes > 0 ? memchr(in->bytes.data + in->looked_at, '\n', new_bytes) : NULL;
	if (end == NULL) {
		in->looked_at = in->bytes.size;
		in->skips |= in->bytes.size - in->at > SW_MCP_LINE_BYTES_MAX;
		if (in->skips)
			in->at = in->bytes.size;
		return false;
	}
	*ret_line = in->bytes.data + in->at;
	*ret_size = (size_t) (end - *ret_line);
	*ret_too_long = in->skips || *ret_size > SW_MCP_LINE_BYTES_MAX;
	in->skips = false;
	in->at = in->looked_at = (size_t) (end - in->bytes.data) + 1;
	return true;
}

void sw_mcp_input_deinit(struct sw_mcp_input *in)
{
	sw_text_deinit(&in->bytes);
	*in = (struct sw_mcp_input){.fd = in->fd};
}
