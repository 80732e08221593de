/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Children that read several processes, played here: one that takes all of its time. */
#include "errors.h"
#include "run/obtain.h"
#include "test.h"

static int played_begin(struct sw_session *session, const struct sw_capture *captures, size_t n,
			const struct sw_delivery *delivery, struct sw_apart *ret,
			struct sw_error *err);
static int played_end(struct sw_apart *child, int64_t deadline_ns, struct sw_obtained *ret,
		      size_t n, size_t *ret_n, struct sw_error *err);

#define sw_obtain_begin played_begin
#define sw_obtain_end   played_end
#include "run/batch.c"

enum { PROCESSES = 5 };

static struct {
	int code; /* of a child that reads one process */
	size_t n; /* children */
} played;

static int played_begin(struct sw_session *session, const struct sw_capture *captures, size_t n,
			const struct sw_delivery *delivery, struct sw_apart *ret,
			struct sw_error *err)
{
	ret->fd = -EBADF;
	played.n++;
	return 0;
}

static int played_end(struct sw_apart *child, int64_t deadline_ns, struct sw_obtained *ret,
		      size_t n, size_t *ret_n, struct sw_error *err)
{
	*ret_n = 0;
	return n > 1 ? sw_fail(err, SW_E_TIMEOUT, "late") : sw_fail(err, played.code, "played");
}

static size_t children_of(int code)
{
	const struct sw_options o = {.timeout_ms = 1};
	struct sw_delivery delivery = {.options = &o};
	struct sw_batch batch = {.delivery = &delivery, .running.n = PROCESSES};
	played.n = 0;
	played.code = code;
	running_finish(&batch);
	assert_int_not_equal(batch.status, SW_STATUS_COMPLETE);
	assert_int_equal(batch.running.n, 0);
	return played.n;
}

/* After a child that took all of its time each process gets a child of its own, until one of these takes it, too. */
TEST(test_late)
{
	assert_int_equal(children_of(SW_E_INTERNAL), PROCESSES);
	assert_int_equal(children_of(SW_E_TIMEOUT), 1);
}
