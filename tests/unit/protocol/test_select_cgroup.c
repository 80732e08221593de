/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "select_cgroup.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char v2[] = "0::/system.slice/nginx.service/worker\n";
static const char v1[] = "12:cpu,cpuacct:/user.slice\n"
			 "11:freezer:/\n"
			 "1:name=systemd:/system.slice/system-ssh.slice/ssh@1.service\n";

static bool matches(const char *text, const char *path)
{
	char copy[512];
	(void) snprintf(copy, sizeof(copy), "%s", text);
	return sw_cgroup_matches(copy, path);
}

static bool has_unit(const char *text, const char *unit)
{
	char copy[512];
	(void) snprintf(copy, sizeof(copy), "%s", text);
	return sw_cgroup_has_unit(copy, unit);
}

TEST(test_path)
{
	assert_true(matches(v2, "/system.slice/nginx.service"));
	assert_true(matches(v2, "/system.slice/nginx.service/"));
	assert_true(matches(v2, "/system.slice/nginx.service/worker"));
	assert_true(matches(v2, "/sys/fs/cgroup/system.slice"));
	assert_true(matches(v2, "/"));
	assert_false(matches(v2, "/system.slice/nginx"));
	assert_false(matches(v2, "/nginx.service"));
	assert_true(matches(v1, "/user.slice"));
	assert_true(matches(v1, "/sys/fs/cgroup/cpu/user.slice"));
	assert_false(matches(v1, "/sys/fs/cgroup/cpu/user"));
	assert_false(matches("", "/"));
	assert_false(matches("no colons at all", "/"));
}

TEST(test_unit)
{
	assert_true(has_unit(v2, "nginx.service"));
	assert_true(has_unit(v2, "nginx"));
	assert_true(has_unit(v2, "system.slice"));
	assert_false(has_unit(v2, "ngin"));
	assert_false(has_unit(v2, "worker"));
	assert_true(has_unit(v1, "ssh@1.service"));
	assert_true(has_unit(v1, "ssh@1"));
	assert_false(has_unit(v1, "ssh"));
}

TEST(test_container)
{
	char id[65] = "";
	assert_true(sw_cgroup_has_container("0::/docker/" ID "\n", "012345", id));
	assert_string_equal(id, ID);
	assert_true(
		sw_cgroup_has_container("0::/a.slice/docker-" ID ".scope\n", "0123456789ab", id));
	assert_true(sw_cgroup_has_container("0::/cri-containerd-" ID ".scope/x\n", ID, id));
	assert_false(sw_cgroup_has_container("0::/docker/" ID "\n", "12345", id));
	/* one digit more or less is no container's id */
	assert_false(sw_cgroup_has_container("0::/docker/" ID "0\n", "012345", id));
	assert_false(sw_cgroup_has_container("0::/docker/0123456789abcdef\n", "012345", id));
	assert_false(sw_cgroup_has_container("", "012345", id));
}
