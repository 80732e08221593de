/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cgroup.h"
#include "cleanup.h"
#include "test.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f_2.slice"

static const struct {
	const char *path, *unit, *container; /* NULL: none */
} samples[] = {
	{"", NULL, NULL},
	{"/", NULL, NULL},
	{"/system.slice", NULL, NULL},
	{"/system.slice/x.service", "x.service", NULL},
	{"/system.slice/x.service/", "x.service", NULL},
	{"/system.slice/x.service/payload/7", "x.service", NULL},
	{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", NULL},
	{"/user.slice/user-1000.slice/user@1000.service", "user@1000.service", NULL},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service", "editor.service",
	 NULL},
	{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", NULL},
	{"/system.slice/_cpu.service", "cpu.service", NULL},
	{"/system.slice/.service", NULL, NULL},
	{"/docker/" ID, NULL, ID},
	{"/system.slice/docker-" ID ".scope", "docker-" ID ".scope", ID},
	{"/system.slice/docker-" ID ".scope/system.slice/in.service", "in.service", ID},
	{POD "/cri-containerd-" ID ".scope", "cri-containerd-" ID ".scope", ID},
	{POD "/crio-" ID ".scope", "crio-" ID ".scope", ID},
	{"/kubepods/besteffort/pod1f2/" ID, NULL, ID},
	{"/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", ID},
	{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", NULL},
	{"/system.slice/containerd.service/" POD ":cri-containerd:" ID, "containerd.service", ID},
	{"/docker/x" ID, NULL, NULL},
	{"/docker/" ID "0", NULL, NULL},
	{"/docker/0123", NULL, NULL},
};

static void assert_part(struct sw_cgroup_part got, const char *wanted)
{
	if (wanted == NULL) {
		assert_null(got.data);
		return;
	}
	assert_non_null(got.data);
	assert_int_equal(got.size, strlen(wanted));
	assert_memory_equal(got.data, wanted, got.size);
}

TEST(test_samples)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(samples); i++) {
		assert_part(sw_cgroup_unit(samples[i].path), samples[i].unit);
		assert_part(sw_cgroup_container(samples[i].path), samples[i].container);
	}
}
