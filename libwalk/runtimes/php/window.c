/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: the chain of frames, and for each function in it
 * what its name, file and line need. All of these may be freed as soon as the process goes on, and
 * their memory be used for another function, so nothing of it is read later.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/php/window.h"
#include "bytes.h"
#include "map.h"
#include "runtimes/php/chain.h"
#include "runtimes/php/generators.h"
#include "runtimes/php/request_window.h"
#include "snapshot/snapshot.h"

enum {
	PAGE_BYTES = 4096,
	OPCODES_BYTES = 32768, /* of the function that runs */
	SHORT_BYTES = 64,      /* of a string that are read at first */
	/* Added to addresses, which are multiples of 8: of what may be something else, too. */
	SEEN_GENERATOR = 1,
	SEEN_CALL = 2,
	LATE_STEPS = 16, /* of a chain, before it is asked whether there is time for more */
};

/* True on first sight of an address. */
static bool is_new(struct sw_php_window *w, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % SW_PHP_SEEN_SLOTS;
	while (w->seen[i] != 0 && w->seen[i] != avma)
		i = (i + 1) % SW_PHP_SEEN_SLOTS;
	if (w->seen[i] == avma || w->n_seen >= SW_PHP_SEEN_SLOTS / 2)
		return false;
	w->seen[i] = avma;
	w->n_seen++;
	return true;
}

/* In a chain at step i: what is missing cuts it. */
static bool is_late(struct sw_capture *capture, size_t i)
{
	return i % LATE_STEPS == LATE_STEPS - 1 && sw_capture_is_late(capture);
}

static void string_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma)
{
	const uint8_t *copy;
	uint64_t length;
	if (avma == 0 || avma % 8 != 0 || !is_new(w, avma))
		return;
	if (sw_capture_copy(capture, avma, SHORT_BYTES, &copy)) {
		memcpy(&length, copy + SW_PHP_STRING_LENGTH, sizeof(length));
		if (length <= SHORT_BYTES - SW_PHP_STRING_TEXT)
			return;
	} else if (!sw_capture_read(capture, avma + SW_PHP_STRING_LENGTH, &length,
				    sizeof(length))) {
		return;
	}
	if (length < SW_PHP_STRING_MAX)
		(void) sw_capture_copy(capture, avma, SW_PHP_STRING_TEXT + (size_t) length,
				       &copy); /* else it has no name */
}

/* A function, and all that its name needs. *ret is it. */
static bool function_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma,
			  struct sw_bytes *ret)
{
	const struct sw_php_layout *at = w->found.layout;
	const uint8_t *copy;
	uint64_t name = 0, scope = 0, file = 0, class_name;
	if (avma == 0 || avma % 8 != 0 || !is_new(w, avma) ||
	    !sw_capture_copy(capture, avma, SW_PHP_FUNC_BYTES, &copy))
		return false;
	*ret = (struct sw_bytes){copy, SW_PHP_FUNC_BYTES};
	(void) sw_bytes_u64(*ret, SW_PHP_FUNC_NAME, &name); /* these fit */
	(void) sw_bytes_u64(*ret, SW_PHP_FUNC_SCOPE, &scope);
	(void) sw_bytes_u64(*ret, at->op_filename, &file);
	string_copy(capture, w, name);
	if (copy[SW_PHP_FUNC_TYPE] != SW_PHP_INTERNAL_FUNCTION)
		string_copy(capture, w, file);
	if (scope == 0 || scope % 8 != 0 || !is_new(w, scope) ||
	    !sw_capture_copy(capture, scope, SW_PHP_CLASS_BYTES, &copy))
		return true;
	memcpy(&class_name, copy + SW_PHP_CLASS_NAME, sizeof(class_name));
	string_copy(capture, w, class_name);
	return true;
}

/* All instructions of the function that runs: which one it is at only the walk can tell. */
static void opcodes_copy(struct sw_capture *capture, struct sw_php_window *w,
			 struct sw_bytes function)
{
	uint64_t opcodes;
	uint32_t last;
	const uint8_t *copy;
	if (sw_bytes_u64(function, w->found.layout->op_opcodes, &opcodes) &&
	    sw_bytes_u32(function, w->found.layout->op_last, &last) &&
	    last <= OPCODES_BYTES / SW_PHP_OP_BYTES && last > 0)
		(void) sw_capture_copy(capture, opcodes, (size_t) last * SW_PHP_OP_BYTES,
				       &copy); /* else its line is not known */
}

/* The page that holds avma, copied. Frames lie close together. */
static bool page_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma)
{
	uint64_t page_avma = avma & -(uint64_t) PAGE_BYTES;
	if (page_avma == w->page_avma)
		return true;
	if (!is_new(w, page_avma))
		return false; /* a chain that leads back up is read at once */
	const uint8_t *page;
	if (!sw_capture_copy(capture, page_avma, PAGE_BYTES, &page))
		return false;
	w->page_avma = page_avma;
	w->page = page;
	return true;
}

static bool frame_read(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma,
		       uint8_t ret[SW_PHP_ED_BYTES])
{
	bool first = page_copy(capture, w, avma);
	uint64_t skip = avma % PAGE_BYTES;
	if (first && skip + SW_PHP_ED_BYTES <= PAGE_BYTES) {
		memcpy(ret, w->page + skip, SW_PHP_ED_BYTES);
		return true;
	}
	if (skip + SW_PHP_ED_BYTES > PAGE_BYTES)
		(void) page_copy(capture, w, avma + PAGE_BYTES); /* else the next read fails */
	return sw_capture_read(capture, avma, ret, SW_PHP_ED_BYTES);
}

/* A call and what its name and line need. running: no function of PHP's own was seen yet. */
static bool call_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma,
		      bool *running, uint8_t ret_frame[SW_PHP_ED_BYTES])
{
	uint64_t func, opline;
	struct sw_bytes b = {ret_frame, SW_PHP_ED_BYTES}, function;
	const uint8_t *copy;
	if (avma % 8 != 0 || !frame_read(capture, w, avma, ret_frame))
		return false;
	(void) sw_bytes_u64(b, SW_PHP_ED_FUNC, &func); /* these fit */
	(void) sw_bytes_u64(b, SW_PHP_ED_OPLINE, &opline);
	bool copied = function_copy(capture, w, func, &function);
	bool user = copied && function.data[SW_PHP_FUNC_TYPE] != SW_PHP_INTERNAL_FUNCTION;
	if (*running && user) {
		opcodes_copy(capture, w, function);
		*running = false;
	}
	if (opline != 0 && opline % 8 == 0 && is_new(w, opline))
		(void) sw_capture_copy(capture, opline, SW_PHP_OP_BYTES,
				       &copy); /* else its line is not known */
	return true;
}

/* Generators that yield from one another. */
static void generators_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t generator)
{
	enum { BYTES = SW_PHP_GENERATOR_PARENT + 8 - SW_PHP_GENERATOR_CALL };
	uint64_t call, parent;
	uint8_t call_frame[SW_PHP_ED_BYTES];
	const uint8_t *copy;
	bool running = false;
	for (size_t i = 0; i < SW_PHP_GENERATORS_MAX && generator != 0; i++, generator = parent) {
		if (generator % 8 != 0 || is_late(capture, i) ||
		    !is_new(w, generator | SEEN_GENERATOR) ||
		    !sw_capture_copy(capture, generator + SW_PHP_GENERATOR_CALL, BYTES, &copy))
			return;
		memcpy(&call, copy, sizeof(call));
		memcpy(&parent, copy + BYTES - 8, sizeof(parent));
		if (parent != 0)
			(void) call_copy(capture, w, call, &running,
					 call_frame); /* else it is cut */
	}
}

/* The generator that a call stands for; 0: it is one of a function. */
static uint64_t generator_of(uint64_t avma, const uint8_t frame[SW_PHP_ED_BYTES])
{
	struct sw_bytes b = {frame, SW_PHP_ED_BYTES};
	uint64_t func, this_avma;
	uint32_t info;
	(void) sw_bytes_u64(b, SW_PHP_ED_FUNC, &func); /* these fit */
	(void) sw_bytes_u64(b, SW_PHP_ED_THIS, &this_avma);
	(void) sw_bytes_u32(b, SW_PHP_ED_INFO, &info);
	return sw_php_place_holder(avma, func, this_avma, info);
}

/* running: it begins with what runs; others end where an earlier one of them went on. */
static void chain_copy(struct sw_capture *capture, struct sw_php_window *w, uint64_t avma,
		       bool running)
{
	bool other = !running;
	for (size_t i = 0; i < SW_PHP_CHAIN_MAX && avma != 0; i++) {
		uint8_t frame[SW_PHP_ED_BYTES];
		if (is_late(capture, i) || (other && !is_new(w, avma | SEEN_CALL)) ||
		    !call_copy(capture, w, avma, &running, frame))
			return;
		generators_copy(capture, w, generator_of(avma, frame));
		memcpy(&avma, frame + SW_PHP_ED_PREV, sizeof(avma));
	}
}

/* The calls that may have called a generator which this thread is resuming, and the generators that
 * may yield from it. */
static void resumers_copy(struct sw_capture *capture, struct sw_php_window *w,
			  const struct sw_thread *thread)
{
	uint64_t all[SW_PHP_RESUMERS_MAX];
	size_t n = sw_php_resumers(&w->found, thread, all);
	for (size_t i = 0; i < n; i++) {
		chain_copy(capture, w, all[i], false);
		generators_copy(capture, w, all[i]);
	}
}

int sw_php_in_window(struct sw_capture *capture)
{
	struct sw_php_window *w = *capture->found;
	if (w == NULL)
		return 0;
	memset(w->seen, 0, sizeof(w->seen)); /* the window may be repeated */
	w->n_seen = 0;
	w->page_avma = 0;
	uint64_t globals = w->found.globals_svma + w->found.place->bias, value;
	uint64_t sapi = w->found.sapi_svma + w->found.place->bias;
	if (!w->found.threads) {
		if (sw_capture_wanted(capture, globals + w->found.layout->current_execute_data,
				      &value, sizeof(value)))
			chain_copy(capture, w, value, true);
		for (size_t i = 0; i < capture->snap->n_threads; i++)
			resumers_copy(capture, w, &capture->snap->threads[i]);
		if (w->requests)
			sw_php_request_copy(capture, sapi);
		return 0;
	}
	for (size_t i = 0; i < capture->snap->n_threads; i++) {
		const struct sw_thread *t = &capture->snap->threads[i];
		uint64_t slot = t->fs_base + (uint64_t) w->found.thread_offset, own, offset,
			 sapi_offset;
		const uint8_t *copy;
		if (t->fs_base == 0 || !sw_capture_wanted(capture, globals, &offset, 8) ||
		    !sw_capture_copy(capture, slot, 8, &copy))
			continue;
		memcpy(&own, copy, sizeof(own));
		if (w->requests && own != 0 &&
		    sw_capture_wanted(capture, sapi, &sapi_offset, sizeof(sapi_offset)))
			sw_php_request_copy(capture, own + sapi_offset);
		if (own == 0 ||
		    !sw_capture_copy(capture, own + offset + w->found.layout->current_execute_data,
				     8, &copy))
			continue;
		memcpy(&value, copy, sizeof(value));
		chain_copy(capture, w, value, true);
		resumers_copy(capture, w, t);
	}
	return 0;
}
