/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/called.h"
#include "arch/user_regs.h"
#include "errors.h"

#include <assert.h>
#include <string.h>

/* Events of one system call. */
static int call_prepare(const struct sw_event_options *o, bool is_32bit,
			struct sw_called_setup *ret, enum sw_iterate_calls *ret_calls,
			struct sw_error *err)
{
	int64_t number = is_32bit ? o->call_32 : o->call;
	if (number < 0 || o->n_tests > SW_CALLED_TESTS_MAX)
		return sw_fail(err, SW_E_INVALID, "%s-bit code has no such system call",
			       is_32bit ? "32" : "64");
	*ret = (struct sw_called_setup){
		.number = (uint64_t) number,
		.is_32bit = is_32bit,
		.error = !o->failed      ? 0
			 : o->error == 0 ? SW_CALLED_ANY_ERROR
					 : (uint32_t) o->error,
		.n_tests = (uint32_t) o->n_tests,
		.text = o->text,
		.bytes = o->bytes,
		.n_bytes = o->n_bytes,
		.least = o->least,
		.least_of = o->least_of,
	};
	for (size_t i = 0; i < o->n_tests; i++) {
		uint64_t mask = o->tests[i].is_int || is_32bit ? UINT32_MAX : UINT64_MAX;
		ret->tests[i] = (struct sw_called_test){.argument = o->tests[i].argument,
							.value = o->tests[i].value & mask,
							.mask = mask};
	}
	*ret_calls = o->at_begin ? SW_ITERATE_CALL_BEGINS : SW_ITERATE_CALL_RETURNS;
	return 0;
}

int sw_called_prepare(const struct sw_event_options *o, bool is_32bit, struct sw_called_setup *ret,
		      enum sw_iterate_calls *ret_calls, struct sw_error *err)
{
	const char *only_64bit = NULL;
	*ret = (struct sw_called_setup){0};
	switch (o->what) {
	case SW_EVENT_CALL: return call_prepare(o, is_32bit, ret, ret_calls, err);
	case SW_EVENT_THREAD_LIVES: *ret_calls = SW_ITERATE_LIVES; break;
	case SW_EVENT_DESCRIPTORS:
		*ret_calls = SW_ITERATE_DESCRIPTORS;
		only_64bit = "descriptors";
		break;
	case SW_EVENT_MAPPINGS:
		*ret_calls = SW_ITERATE_MAPPINGS;
		only_64bit = "mappings";
		break;
	case SW_EVENT_TIMERS:
		*ret_calls = SW_ITERATE_TIMERS;
		only_64bit = "timers";
		break;
	case SW_EVENT_EPOLLS:
		*ret_calls = SW_ITERATE_EPOLLS;
		only_64bit = "sets of epoll";
		break;
	case SW_EVENT_SHM:
		*ret_calls = SW_ITERATE_SHM;
		only_64bit = "calls for shared memory";
		break;
	case SW_EVENT_FUNCTION:
		ret->slower_ns = (uint64_t) o->slower_ns;
		*ret_calls =
			o->at_return ? SW_ITERATE_FUNCTION_RETURNS : SW_ITERATE_FUNCTION_BEGINS;
		only_64bit = "functions";
		break;
	case SW_EVENT_DEATH: *ret_calls = SW_ITERATE_DEATHS; break;
	case SW_EVENT_NEW_THREADS:
		ret->number = SW_CALLED_THREADS;
		*ret_calls = SW_ITERATE_MADE;
		break;
	case SW_EVENT_NEW_PROCESSES:
		ret->number = SW_CALLED_PROCESSES;
		*ret_calls = SW_ITERATE_MADE;
		break;
	case SW_EVENT_BLOCKED:
		ret->slower_ns = (uint64_t) o->slower_ns;
		*ret_calls = SW_ITERATE_BLOCKED;
		break;
	case SW_EVENT_FAULTS:
		ret->number = o->every;
		*ret_calls = SW_ITERATE_FAULTS;
		break;
	case SW_EVENT_PAIRS:
	case SW_EVENT_PAIR_CALLS:
		*ret_calls = o->what == SW_EVENT_PAIRS ? SW_ITERATE_PAIRS : SW_ITERATE_PAIR_CALLS;
		for (size_t i = 0; i < o->n_places && i < SW_CALLED_PLACES_MAX; i++)
			ret->inside[i] = (struct sw_called_range){o->places[i].inside_start_avma,
								  o->places[i].inside_end_avma};
		only_64bit = "functions";
		break;
	}
	if (only_64bit != NULL && is_32bit)
		return sw_fail(err, SW_E_INVALID, "%s of 32-bit programs are not followed",
			       only_64bit);
	return 0;
}

static_assert((int) SW_EVENT_SHM_SEGMENT == (int) SW_CALLED_SHM_SEGMENT &&
		      (int) SW_EVENT_SHM_ATTACHMENT == (int) SW_CALLED_SHM_ATTACHMENT &&
		      (int) SW_EVENT_SHM_OBJECT == (int) SW_CALLED_SHM_OBJECT,
	      "the same kinds of shared memory");
static_assert((int) SW_EVENT_READS == (int) SW_CALLED_READS &&
		      (int) SW_EVENT_WRITES == (int) SW_CALLED_WRITES &&
		      (int) SW_EVENT_EXECUTES == (int) SW_CALLED_EXECUTES,
	      "the same kinds of access");

static void handle_add(struct sw_event *to, uint64_t number, uint64_t inode, uint64_t file)
{
	if (to->n_handles < SW_EVENT_HANDLES_MAX)
		to->handles[to->n_handles++] = (struct sw_event_handle){.number = (uint32_t) number,
									.set = number >> 32,
									.inode = inode,
									.file = file,
									.pointer_avma = inode,
									.maker_avma = file};
}

static void death_read(const struct sw_copy_part *part, struct sw_event_death *ret)
{
	struct sw_called_death death;
	if (part->bytes != sizeof(death))
		return;
	memcpy(&death, part->data, sizeof(death));
	*ret = (struct sw_event_death){
		.signal = (int) death.signal,
		.code = death.code,
		.status = (int) death.status,
		.has_address = (death.flags & SW_CALLED_HAS_ADDRESS) != 0,
		.has_sender = (death.flags & SW_CALLED_HAS_SENDER) != 0,
		.by_kernel = (death.flags & SW_CALLED_BY_KERNEL) != 0,
		.no_memory = (death.flags & SW_CALLED_NO_MEMORY) != 0,
		.address_avma = death.address,
		.sender_pid = (pid_t) death.sender_pid,
		.sender_uid = death.sender_uid,
	};
	static_assert(sizeof(ret->sender_comm) > sizeof(death.sender_comm), "with its end");
	memcpy(ret->sender_comm, death.sender_comm, sizeof(death.sender_comm));
}

static bool event_read(const struct sw_copy_part *part, struct sw_event *ret)
{
	struct sw_called_event event;
	if (part->bytes != sizeof(event))
		return false;
	memcpy(&event, part->data, sizeof(event));
	ret->number = event.number;
	ret->place = (size_t) event.value[2];
	ret->lasted_ns = 0;
	ret->returned = event.what == SW_CALLED_EXIT;
	ret->result = ret->returned ? (int64_t) event.value[0] : 0;
	switch (event.what) {
	case SW_CALLED_ENTER:
	case SW_CALLED_EXIT: ret->kind = SW_EVENT_CALLED; return true;
	case SW_CALLED_ACQUIRED:
	case SW_CALLED_RELEASED:
		ret->kind =
			event.what == SW_CALLED_ACQUIRED ? SW_EVENT_ACQUIRED : SW_EVENT_RELEASED;
		handle_add(ret, event.value[0], event.value[1], event.value[2]);
		return true;
	case SW_CALLED_RANGE:
		ret->kind = SW_EVENT_RANGE;
		handle_add(ret, event.value[0], 0, 0);
		handle_add(ret, event.value[1], 0, 0);
		return true;
	case SW_CALLED_MAKES:
		ret->kind = SW_EVENT_MADE;
		ret->returned = true;
		ret->result = (int64_t) event.value[0];
		return true;
	case SW_CALLED_WAITS:
		ret->kind = SW_EVENT_WAITED;
		ret->lasted_ns = (int64_t) event.value[1];
		return true;
	case SW_CALLED_FAULTS:
		ret->kind = SW_EVENT_FAULTED;
		ret->n_arguments = 0;
		ret->address_avma = event.value[0];
		ret->access = (enum sw_event_access) event.value[1];
		return true;
	case SW_CALLED_DIES: ret->kind = SW_EVENT_DIED; return true;
	case SW_CALLED_FUNCTION_BEGINS: ret->kind = SW_EVENT_ENTERED; return true;
	case SW_CALLED_FUNCTION_RETURNS:
		ret->kind = SW_EVENT_LEFT;
		ret->returned = true;
		ret->result = (int64_t) event.value[0];
		ret->lasted_ns = (int64_t) event.value[1];
		return true;
	case SW_CALLED_PAIR_ACQUIRED:
	case SW_CALLED_PAIR_RELEASED:
	case SW_CALLED_PAIR_KEPT:
		ret->kind = event.what == SW_CALLED_PAIR_ACQUIRED   ? SW_EVENT_HANDED
			    : event.what == SW_CALLED_PAIR_RELEASED ? SW_EVENT_TAKEN
								    : SW_EVENT_KEPT;
		ret->arguments[0] = event.value[0];
		ret->arguments[1] = event.value[1];
		return true;
	case SW_CALLED_TABLE_IS: ret->kind = SW_EVENT_TABLE; return true;
	case SW_CALLED_MAPS_BEGIN:
		ret->kind = SW_EVENT_MAPS_BEGIN;
		ret->call = (int64_t) event.value[0];
		ret->arguments[0] = event.value[1];
		ret->arguments[1] = event.value[2];
		return true;
	case SW_CALLED_MAPS_END:
		ret->kind = SW_EVENT_MAPS_END;
		ret->call = (int64_t) event.value[0];
		ret->result = (int64_t) event.value[1];
		ret->returned = true;
		ret->arguments[0] = event.value[2];
		return true;
	case SW_CALLED_PROGRAM:
		ret->kind = SW_EVENT_PROGRAM;
		handle_add(ret, event.value[0], 0, 0);
		return true;
	default: return false;
	}
}

bool sw_called_read(const struct sw_copy *copy, struct sw_event *ret)
{
	const struct sw_arch_call call = sw_arch_call_get(&copy->regs);
	bool found = false;
	ret->time_ns = (int64_t) copy->head.time_ns;
	ret->tid = (pid_t) copy->head.tid;
	ret->call = call.number;
	ret->n_handles = 0;
	ret->text = ret->bytes = NULL;
	ret->text_size = ret->bytes_size = 0;
	ret->cut = false;
	ret->n_arguments = SW_EVENT_ARGUMENTS;
	ret->arguments_unknown = 0;
	ret->death = (struct sw_event_death){0};
	static_assert(sizeof(ret->arguments) == sizeof(call.args), "the same arguments");
	memcpy(ret->arguments, call.args, sizeof(ret->arguments));
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		if (part->kind == SW_CALLED_TEXT) {
			ret->text = part->data;
			ret->text_size = part->bytes;
		} else if (part->kind == SW_CALLED_BYTES || part->kind == SW_CALLED_TABLE) {
			ret->bytes = part->data;
			ret->bytes_size = part->bytes;
			ret->cut = part->kind == SW_CALLED_TABLE &&
				   part->bytes >= SW_CALLED_TABLE_BYTES;
		} else if (part->kind == SW_CALLED_EVENT) {
			found |= event_read(part, ret);
		} else if (part->kind == SW_CALLED_DEATH) {
			death_read(part, &ret->death);
		} else if (part->kind == SW_CALLED_WORDS && part->bytes == sizeof(ret->arguments)) {
			memcpy(ret->arguments, part->data, sizeof(ret->arguments));
		}
	}
	return found;
}

/* The kernel may have more of them than the stack that was copied. */
size_t sw_called_put_back(const struct sw_copy *copy, uint64_t stack_avma, uint8_t *stack,
			  size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		struct sw_called_replaced replaced;
		if (part->kind != SW_CALLED_RETURNS)
			continue;
		for (size_t at = 0; at + sizeof(replaced) <= part->bytes; at += sizeof(replaced)) {
			memcpy(&replaced, part->data + at, sizeof(replaced));
			uint64_t off = replaced.at_avma - stack_avma;
			if (bytes < sizeof(uint64_t) || off > bytes - sizeof(uint64_t))
				continue;
			memcpy(stack + off, &replaced.is_avma, sizeof(uint64_t));
			n++;
		}
	}
	return n;
}
