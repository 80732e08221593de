/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "waits/sockets.h"
#include "test.h"

#include <sys/socket.h>
#include <sys/stat.h>

static const char *const lines[] = {
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
	"   0: 0100007F:1538 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        "
	"0 "
	"111 1 ffff 20 4 30 10 -1",
	"   1: 0100007F:C350 0100007F:1538 01 00000000:00000000 00:00000000 00000000  1000        "
	"0 "
	"222 1 ffff 20 4 30 10 -1",
	"   2: 00000000:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        "
	"0 "
	"333 1 ffff 100 0 0 10 0",
	"   3: 00000000000000000000000001000000:0050 00000000000000000000000001000000:C351 01 "
	"00000000:00000000 00:00000000 00000000     0        0 444 1 ffff 20 4 30 10 -1",
	"   4: 0100007F:1539 0200000A:01BB 06 00000000:00000000 00:00000000 00000000     0        "
	"0 "
	"0 1 ffff",
};

TEST(test_lines)
{
	struct sw_tcp_end ends[5];
	char text[SW_ADDRESS_TEXT_BYTES];
	assert_false(sw_tcp_end_parse(lines[0], &ends[0]));
	for (size_t i = 1; i <= 4; i++)
		assert_true(sw_tcp_end_parse(lines[i], &ends[i]));
	assert_false(sw_tcp_end_parse(lines[5], &ends[0])); /* it belongs to nobody any more */
	assert_int_equal(ends[1].inode, 111);
	assert_int_equal(ends[1].local_port, 5432);
	assert_true(ends[3].listens && !ends[1].listens);
	sw_tcp_end_text(&ends[2], text);
	assert_string_equal(text, "127.0.0.1:5432");
	sw_tcp_end_text(&ends[4], text);
	assert_string_equal(text, "[::1]:50001");
	/* Established, and accepted by nobody; who listens has three such. */
	struct sw_tcp_end unaccepted, listener;
	assert_true(sw_tcp_end_parse("   5: 0100007F:1538 0100007F:C352 01 00000000:00000000 "
				     "00:00000000 00000000     0        0 0 1 ffff",
				     &unaccepted));
	assert_int_equal(unaccepted.inode, 0);
	assert_true(sw_tcp_end_parse("   6: 00000000:1538 00000000:0000 0A 00000000:00000003 "
				     "00:00000000 00000000     0        0 555 1 ffff",
				     &listener));
	assert_int_equal(listener.queued, 3);
	struct sw_tcp_end two[] = {unaccepted, listener};
	struct sw_tcp_ends both = {.items = two, .n = 2};
	assert_ptr_equal(sw_tcp_ends_listener(&both, &two[0]), &two[1]);
	two[1].local_port++;
	assert_null(sw_tcp_ends_listener(&both, &two[0]));
	struct sw_tcp_ends all = {.items = ends + 1, .n = 4};
	assert_ptr_equal(sw_tcp_ends_find(&all, 222), &ends[2]);
	assert_null(sw_tcp_ends_find(&all, 999));
	assert_ptr_equal(sw_tcp_ends_peer(&all, &ends[1]), &ends[2]);
	assert_null(sw_tcp_ends_peer(&all, &ends[4]));
}

static uint64_t inode_of(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

TEST(test_unix)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(sw_unix_peer(inode_of(fds[0])), inode_of(fds[1]));
	assert_int_equal(sw_unix_peer(inode_of(fds[1])), inode_of(fds[0]));
	uint64_t gone = inode_of(fds[0]);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(sw_unix_peer(gone), 0);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(sw_unix_peer(gone), 0);
	assert_int_equal(sw_unix_peer(UINT64_MAX), 0);
}
