/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JavaThread -> java.lang.Thread -> its name. The object lies in the heap, which the collector
 * moves about, and it is read when the process runs again. The proofs that it is right:
 *
 *	Thread.eetop is the JavaThread; the name is a String, what it has is an array;
 *	all words and characters are the same when they are read anew, from the first to the last one.
 *
 * ZGC leaves pointers behind to where objects were: there the name must also be that of the thread
 * itself, which the VM cuts to 15 bytes, or since 22 takes the middle out of (os::set_native_thread_name()).
 *
 * Source: src/java.base/share/classes/java/lang/Thread.java and String.java of jdk-17.0.15 and
 * jdk-25.0.3; src/hotspot/share/classfile/javaClasses.hpp.
 */
#include "runtimes/hotspot/structures/thread_object.h"
#include "runtimes/hotspot/structures/fields.h"
#include "snapshot/live.h"
#include "utf8.h"

#include <string.h>

enum { UNITS_MAX = 128 }; /* of a name; more are not read */

/* All that was read of one, to compare: pointers first, then what they lead to. */
struct reading {
	uint64_t thread, holder, name, value, eetop;
	int64_t id;
	uint32_t length;
	uint8_t daemon, coder, carrier;
	uint8_t bytes[2 * UNITS_MAX];
};

/* ---- the layout, by the first thread that is looked at --------------------------------------- */

static bool header_find(const struct sw_hotspot *h, struct sw_hotspot_thread_layout *l,
			uint64_t object, uint64_t *ret_klass)
{
	static const enum sw_hotspot_header headers[] = {SW_HOTSPOT_HEADER_NARROW,
							 SW_HOTSPOT_HEADER_WIDE,
							 SW_HOTSPOT_HEADER_COMPACT};
	for (size_t i = 0; i < 3; i++) {
		uint64_t klass;
		if (sw_hotspot_object_class(&l->objects, headers[i], h->memory, object, &klass) &&
		    (*ret_klass = sw_hotspot_class_named(h, klass, "java/lang/Thread")) != 0) {
			l->objects.header = headers[i];
			return true;
		}
	}
	return false;
}

/* Both kinds of pointers are tried: one of them leads to an object of that class. */
static bool pointers_find(const struct sw_hotspot *h, struct sw_hotspot_thread_layout *l,
			  uint64_t avma, const char *name, uint64_t *ret_object,
			  uint64_t *ret_klass)
{
	static const enum sw_hotspot_pointers kinds[] = {SW_HOTSPOT_POINTERS_NARROW,
							 SW_HOTSPOT_POINTERS_WIDE};
	for (size_t i = 0; i < 2; i++) {
		uint64_t klass;
		if (sw_hotspot_pointer_read(&l->objects, kinds[i], h->memory, avma, ret_object) &&
		    *ret_object != 0 &&
		    sw_hotspot_object_class(&l->objects, l->objects.header, h->memory, *ret_object,
					    &klass) &&
		    (*ret_klass = sw_hotspot_class_named(h, klass, name)) != 0) {
			l->objects.pointers = kinds[i];
			return true;
		}
	}
	return false;
}

static bool layout_find(const struct sw_hotspot *h, uint64_t object,
			struct sw_hotspot_thread_layout *l)
{
	struct sw_hotspot_field own[] = {
		{"name", "Ljava/lang/String;", 0},
		{"eetop", "J", 0},
		{"tid", "J", 0},
		{"daemon", "Z", 0},
		{"holder", "Ljava/lang/Thread$FieldHolder;", 0},
		{"parkBlocker", "Ljava/lang/Object;", 0},
		{"threadStatus", "I", 0},
	};
	struct sw_hotspot_field held[] = {{"daemon", "Z", 0}, {"threadStatus", "I", 0}};
	struct sw_hotspot_field bytes[] = {{"value", "[B", 0},
					   {"coder", "B", 0},
					   {"value", "[C", 0}};
	uint64_t klass, name, holder, holder_klass;
	if (!header_find(h, l, object, &klass))
		return false;
	sw_hotspot_fields_find(h, klass, own, 7);
	l->name = own[0].offset;
	l->eetop = own[1].offset;
	l->tid = own[2].offset;
	l->daemon = own[3].offset;
	l->holder = own[4].offset;
	l->park_blocker = own[5].offset;
	l->status = own[6].offset;
	l->holder_daemon = l->holder_status = SW_HOTSPOT_NONE;
	if (l->name == SW_HOTSPOT_NONE || l->eetop == SW_HOTSPOT_NONE ||
	    !pointers_find(h, l, object + (uint64_t) l->name, "java/lang/String", &name,
			   &l->string_klass))
		return false;
	sw_hotspot_fields_find(h, l->string_klass, bytes, 3);
	l->coder = bytes[1].offset;
	l->value = bytes[0].offset != SW_HOTSPOT_NONE ? bytes[0].offset : bytes[2].offset;
	if (l->value == SW_HOTSPOT_NONE)
		return false;
	if (l->holder != SW_HOTSPOT_NONE &&
	    sw_hotspot_pointer_read(&l->objects, l->objects.pointers, h->memory,
				    object + (uint64_t) l->holder, &holder) &&
	    sw_hotspot_object_class(&l->objects, l->objects.header, h->memory, holder,
				    &holder_klass)) {
		sw_hotspot_fields_find(h, holder_klass, held, 2);
		l->holder_daemon = held[0].offset;
		l->holder_status = held[1].offset;
	}
	return true;
}

/* ---- one thread ----------------------------------------------------------------------------- */

/* The object that a JavaThread's field refers to: by a handle since 16. */
static bool referred(const struct sw_hotspot *h, const struct sw_hotspot_objects *o,
		     struct sw_memory m, uint64_t thread_avma, int64_t offset, uint64_t *ret)
{
	uint64_t word;
	if (!sw_hotspot_u64(m, thread_avma, offset, &word) || word == 0 ||
	    (h->version >= 16 && !sw_memory_u64(m, word, &word)))
		return false;
	*ret = sw_hotspot_handle_decode(o, word);
	return *ret != 0;
}

/*
 * Whether the thread's other handle leads to a virtual thread that is mounted on it. Where none is, it leads
 * to the thread's own object; but ZGC moves handles on one by one, so that two of them to one object may
 * differ for a while, and the virtual thread itself has to say so.
 */
static bool is_carrier(const struct sw_hotspot *h, const struct sw_hotspot_thread_layout *l,
		       struct sw_memory m, uint64_t thread_avma, uint64_t own_object)
{
	const struct sw_hotspot_objects *o = &l->objects;
	struct sw_hotspot_field field = {"carrierThread", "Ljava/lang/Thread;", 0};
	uint64_t object, klass, on, eetop;
	if (!referred(h, o, m, thread_avma, h->at.thread_virtual, &object) ||
	    object == own_object || !sw_hotspot_object_class(o, o->header, m, object, &klass) ||
	    (klass = sw_hotspot_class_named(h, klass, "java/lang/VirtualThread")) == 0)
		return false;
	sw_hotspot_fields_find(h, klass, &field, 1);
	return field.offset != SW_HOTSPOT_NONE &&
	       sw_hotspot_pointer_read(o, o->pointers, m, object + (uint64_t) field.offset, &on) &&
	       on != 0 && sw_hotspot_u64(m, on, l->eetop, &eetop) && eetop == thread_avma;
}

/* The scheduler's threads have a class of their own: jdk.internal.misc.CarrierThread (JDK 20 and later). */
static enum sw_hotspot_carrier carrier_read(const struct sw_hotspot *h,
					    const struct sw_hotspot_thread_layout *l,
					    struct sw_memory m, uint64_t thread_avma,
					    uint64_t own_object)
{
	uint64_t klass;
	if (is_carrier(h, l, m, thread_avma, own_object))
		return SW_HOTSPOT_CARRIER_BUSY;
	return h->version >= 20 &&
			       sw_hotspot_object_class(&l->objects, l->objects.header, m,
						       own_object, &klass) &&
			       sw_hotspot_class_named(h, klass,
						      "jdk/internal/misc/CarrierThread") != 0
		       ? SW_HOTSPOT_CARRIER_IDLE
		       : SW_HOTSPOT_CARRIER_NONE;
}

static bool object_read(const struct sw_hotspot *h, const struct sw_hotspot_thread_layout *l,
			struct sw_memory m, uint64_t thread_avma, struct reading *ret)
{
	const struct sw_hotspot_objects *o = &l->objects;
	uint64_t id;
	memset(ret, 0, sizeof(*ret)); /* all bytes: they are compared */
	ret->id = -1;
	if (!referred(h, o, m, thread_avma, h->at.thread_object, &ret->thread) ||
	    !sw_hotspot_u64(m, ret->thread, l->eetop, &ret->eetop) || ret->eetop != thread_avma)
		return false;
	if (sw_hotspot_u64(m, ret->thread, l->tid, &id) && id <= INT32_MAX)
		ret->id = (int64_t) id;
	if (l->daemon != SW_HOTSPOT_NONE)
		(void) sw_hotspot_u8(m, ret->thread, l->daemon, &ret->daemon); /* stays 0 */
	else if (l->holder_daemon != SW_HOTSPOT_NONE &&
		 sw_hotspot_pointer_read(o, o->pointers, m, ret->thread + (uint64_t) l->holder,
					 &ret->holder))
		(void) sw_hotspot_u8(m, ret->holder, l->holder_daemon, &ret->daemon);
	ret->carrier = (uint8_t) carrier_read(h, l, m, thread_avma, ret->thread);
	return true;
}

static bool name_read(const struct sw_hotspot *h, const struct sw_hotspot_thread_layout *l,
		      struct sw_memory m, struct reading *r)
{
	const struct sw_hotspot_objects *o = &l->objects;
	uint64_t klass, data;
	r->coder = 1;
	if (!sw_hotspot_pointer_read(o, o->pointers, m, r->thread + (uint64_t) l->name, &r->name) ||
	    r->name == 0 || !sw_hotspot_object_class(o, o->header, m, r->name, &klass) ||
	    klass != l->string_klass ||
	    !sw_hotspot_pointer_read(o, o->pointers, m, r->name + (uint64_t) l->value, &r->value) ||
	    r->value == 0 ||
	    (l->coder != SW_HOTSPOT_NONE && !sw_hotspot_u8(m, r->name, l->coder, &r->coder)) ||
	    !sw_hotspot_array_read(h, o, m, r->value, &r->length, &data) || r->coder > 1)
		return false;
	/* An array of chars counts them, one of bytes those. */
	uint64_t bytes = l->coder == SW_HOTSPOT_NONE ? UINT64_C(2) * r->length : r->length;
	uint64_t max = r->coder ? 2 * UNITS_MAX : UNITS_MAX;
	r->length = (uint32_t) (bytes < max ? bytes : max);
	return sw_memory_read(m, data, r->bytes, r->length);
}

/* As UTF-8, cut between two characters. */
static void name_convert(const struct reading *r, char *ret, size_t size)
{
	size_t n = 0, step = r->coder ? 2 : 1;
	for (size_t i = 0; i + step <= r->length; i += step) {
		char one[SW_UTF8_BYTES_MAX];
		uint32_t c = r->bytes[i] | (r->coder ? (uint32_t) r->bytes[i + 1] << 8 : 0);
		if ((c & 0xfc00) == 0xd800 && i + 4 <= r->length &&
		    (r->bytes[i + 3] & 0xfc) == 0xdc) {
			c = 0x10000 + ((c & 0x3ff) << 10) + r->bytes[i + 2] +
			    ((uint32_t) (r->bytes[i + 3] & 3) << 8);
			i += 2;
		} else if ((c & 0xf800) == 0xd800 || c == 0) {
			c = SW_UTF8_REPLACEMENT;
		}
		size_t bytes = sw_utf8_encode(c, one);
		if (n + bytes >= size)
			break;
		memcpy(ret + n, one, bytes);
		n += bytes;
	}
	ret[n] = '\0';
}

bool sw_hotspot_thread_name_of(const struct sw_hotspot *h, const struct sw_hotspot_thread_layout *l,
			       struct sw_memory m, uint64_t object, char ret[static 128])
{
	struct reading r = {.thread = object};
	if (!name_read(h, l, m, &r))
		return false;
	name_convert(&r, ret, sizeof(((struct sw_hotspot_thread_object *) NULL)->name));
	return true;
}

static bool is_name_of(const char *name, const char *comm)
{
	enum { CUT = 15, HEAD = 7, TAIL = 6 };
	size_t n = strlen(name);
	if (strncmp(name, comm, CUT) == 0)
		return true;
	return n > CUT && strncmp(name, comm, HEAD) == 0 && strncmp(comm + HEAD, "..", 2) == 0 &&
	       strcmp(comm + HEAD + 2, name + n - TAIL) == 0;
}

bool sw_hotspot_thread_object_find(const struct sw_hotspot *h, const struct sw_hotspot_objects *o,
				   struct sw_memory m, uint64_t thread_avma, uint64_t *ret)
{
	return referred(h, o, m, thread_avma, h->at.thread_object, ret);
}

bool sw_hotspot_thread_layout_find(const struct sw_hotspot *h, uint64_t thread_avma,
				   struct sw_hotspot_thread_layout *l)
{
	uint64_t object;
	sw_hotspot_objects_init(h, &l->objects);
	l->usable =
		referred(h, &l->objects, h->memory, thread_avma, h->at.thread_object, &object) &&
		layout_find(h, object, l);
	return l->usable;
}

/* The layout is not decided by a thread that is not started yet, or whose object is just collected:
 * the next thread is tried. */
const struct sw_hotspot_thread_layout *sw_hotspot_thread_layout(struct sw_hotspot *h,
								uint64_t thread_avma)
{
	if (h->thread_layout == NULL)
		h->thread_layout = sw_arena_calloc(&h->arena, 1, sizeof(*h->thread_layout));
	if (h->thread_layout != NULL && !h->thread_layout->usable &&
	    h->layouts_tried++ < SW_HOTSPOT_LAYOUT_TRIES)
		(void) sw_hotspot_thread_layout_find(h, thread_avma, h->thread_layout);
	return h->thread_layout != NULL && h->thread_layout->usable ? h->thread_layout : NULL;
}

void sw_hotspot_thread_object_read(struct sw_hotspot *h, const struct sw_thread *thread,
				   uint64_t thread_avma, struct sw_hotspot_thread_object *ret)
{
	const struct sw_hotspot_thread_layout *l = sw_hotspot_thread_layout(h, thread_avma);
	struct reading r, again;
	*ret = (struct sw_hotspot_thread_object){.id = -1};
	if (l == NULL || !object_read(h, l, h->memory, thread_avma, &r))
		return;
	bool named = name_read(h, l, h->memory, &r);
	if (h->snap->live) {
		struct sw_memory now = sw_live_memory(h->snap);
		if (!object_read(h, l, now, thread_avma, &again) ||
		    name_read(h, l, now, &again) != named || memcmp(&r, &again, sizeof(r)) != 0)
			return;
	}
	ret->id = r.id;
	ret->daemon = r.daemon == 1;
	ret->carrier = (enum sw_hotspot_carrier) r.carrier;
	if (named)
		name_convert(&r, ret->name, sizeof(ret->name));
	if (l->objects.colored && !is_name_of(ret->name, thread->comm))
		ret->name[0] = '\0';
}
