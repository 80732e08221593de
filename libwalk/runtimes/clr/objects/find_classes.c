/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The classes that are known by name, before the window. */
#include "runtimes/clr/objects/find_classes.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/class_layout.h"

#include <string.h>

enum {
	MAPS_MAX = 64,
	TYPES_MAX = 1 << 16,
	/* tables of metadata, and their columns */
	TABLE_FIELD = 0x04,
	FIELD_NAME = 1,
	TYPE_NAME = 1,
	TYPE_FIELDS = 4,
	STATICS_NOT_READY = 1,
};

static const char pooled_base[] =
	"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox";

static const char thread_pool[] = "System.Threading.PortableThreadPool";
static const char thread[] = "System.Threading.Thread";
static const char rwlock_slim[] = "System.Threading.ReaderWriterLockSlim";
static const char rwlock[] = "System.Threading.ReaderWriterLock";

struct wanted {
	const char *name; /* with its namespace and the types that it is in */
	enum sw_clr_kind kind;
	bool optional;
};

static const struct wanted wanted[] = {
	{"System.Threading.Tasks.Task", SW_CLR_TASK, false},
	{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
	 SW_CLR_BOX, false},
	{"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1",
	 SW_CLR_POOLED, true},
	{"System.MulticastDelegate", SW_CLR_DELEGATE, false},
	{"System.Collections.Generic.List`1", SW_CLR_LIST, false},
	{"System.Threading.Tasks.AwaitTaskContinuation", SW_CLR_CONTINUATION, false},
	{"System.Threading.Tasks.ContinueWithTaskContinuation", SW_CLR_CONTINUE_WITH, true},
	{"System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper",
	 SW_CLR_WRAPPER, true},
	{"System.Threading.Tasks.Task+WhenEachState", SW_CLR_EACH, true}, /* since .NET 9 */
	{"System.Threading.TimerQueueTimer", SW_CLR_TIMER, true},
	{"System.Threading.TimerQueue", SW_CLR_TIMERS, true},
	{"System.Threading.ThreadPoolWorkQueue", SW_CLR_QUEUE, true},
	{"System.Threading.ThreadPoolWorkQueue+WorkStealingQueue", SW_CLR_QUEUE, true},
	{"System.Collections.Concurrent.ConcurrentQueue`1", SW_CLR_QUEUE, true},
	{"System.Collections.Concurrent.ConcurrentQueueSegment`1", SW_CLR_QUEUE, true},
	{rwlock_slim, SW_CLR_RWLOCK_SLIM, true},
	{thread, SW_CLR_THREAD, true},
	{"Microsoft.Win32.SafeHandles.SafeWaitHandle", SW_CLR_WAIT_HANDLE, true},
	/* only for their static fields or because others are asked for theirs */
	{"System.Threading.ThreadPool", SW_CLR_OTHER, true},
	{"System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList", SW_CLR_OTHER, true},
	{thread_pool, SW_CLR_OTHER, true},
	{"System.Delegate", SW_CLR_OTHER, false},
	{"System.String", SW_CLR_OTHER, false},
	{"System.Object", SW_CLR_OTHER, false},
	{pooled_base, SW_CLR_OTHER, true},
};

enum { WANTED = SW_ARRAY_SIZE(wanted), BOX = 1, POOLED = 2 }; /* indices of wanted */

/* A socket's context leads to what waits for the socket, and that to its awaiter. Since .NET 10 all
 * sockets are in one array; before, each engine has a dictionary of its own. */
static const char engine[] = "System.Net.Sockets.SocketAsyncEngine";
static const struct wanted of_sockets[] = {
	{engine, SW_CLR_ENGINE, false},
	{"System.Net.Sockets.SocketAsyncContext", SW_CLR_SOCKET, true},
};

static const struct wanted of_threading[] = {{rwlock, SW_CLR_RWLOCK, false}};

_Static_assert(WANTED + SW_ARRAY_SIZE(of_sockets) + SW_ARRAY_SIZE(of_threading) <=
		       SW_CLR_CLASSES_MAX,
	       "all are known together");

static const struct {
	const struct wanted *wanted;
	size_t n;
} parts[] = {
	[SW_CLR_SOCKETS] = {of_sockets, SW_ARRAY_SIZE(of_sockets)},
	[SW_CLR_THREADING] = {of_threading, SW_ARRAY_SIZE(of_threading)},
};

struct finding {
	struct sw_clr_classes *at;
	struct sw_memory memory;
	uint64_t module_avma;           /* in which they are */
	enum sw_clr_part part;          /* the same */
	struct sw_clr_metadata library; /* its */
	const struct wanted *wanted;
	size_t n_wanted;
	uint32_t rids[WANTED]; /* 0: it has none */
};

/* The last part of a name, which is all that TypeDef has of a type in another one. */
static const char *brief_of(const char *name)
{
	const char *plus = strrchr(name, '+'), *dot = strrchr(name, '.');
	return plus != NULL ? plus + 1 : dot != NULL ? dot + 1 : name;
}

static bool names_match(const struct sw_clr_metadata *m, uint32_t rid, const char *name)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	return sw_clr_type_def_name(m, rid, false, &text) && !text.failed && text.size > 0 &&
	       strcmp(text.data, name) == 0;
}

static bool rids_find(struct finding *f)
{
	const struct sw_clr_metadata *m = &f->library;
	uint32_t n = m->tables[SW_CLR_TABLE_TYPE_DEF].rows;
	for (uint32_t rid = 1; rid <= n && rid <= TYPES_MAX; rid++) {
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		uint32_t index;
		if (!sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, rid, TYPE_NAME, &index) ||
		    !sw_clr_metadata_string(m, index, &text) || text.failed || text.size == 0)
			continue;
		for (size_t i = 0; i < f->n_wanted; i++)
			if (f->rids[i] == 0 &&
			    strcmp(text.data, brief_of(f->wanted[i].name)) == 0 &&
			    names_match(m, rid, f->wanted[i].name))
				f->rids[i] = rid;
	}
	for (size_t i = 0; i < f->n_wanted; i++)
		if (f->rids[i] == 0 && !f->wanted[i].optional)
			return false; /* nothing was added */
	for (size_t i = 0; i < f->n_wanted && f->at->n_known < SW_CLR_CLASSES_MAX; i++) {
		if (f->rids[i] == 0 || f->wanted[i].kind == SW_CLR_OTHER)
			continue;
		f->at->known[f->at->n_known].rid = f->rids[i];
		f->at->known[f->at->n_known].part = (uint8_t) f->part;
		f->at->known[f->at->n_known++].kind = (uint8_t) f->wanted[i].kind;
	}
	return true;
}

static uint32_t rid_of(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_wanted; i++)
		if (strcmp(f->wanted[i].name, name) == 0)
			return f->rids[i];
	return 0;
}

uint32_t sw_clr_field_rid(const struct sw_clr_metadata *m, uint32_t type, const char *name)
{
	uint32_t first, end, index;
	if (!sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, type, TYPE_FIELDS, &first))
		return 0;
	if (type == m->tables[SW_CLR_TABLE_TYPE_DEF].rows ||
	    !sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, type + 1, TYPE_FIELDS, &end))
		end = m->tables[TABLE_FIELD].rows + 1;
	for (uint32_t rid = first; rid < end && rid - first < SW_CLR_FIELDS_MAX; rid++) {
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		if (sw_clr_metadata_get(m, TABLE_FIELD, rid, FIELD_NAME, &index) &&
		    sw_clr_metadata_string(m, index, &text) && !text.failed && text.size > 0 &&
		    strcmp(text.data, name) == 0)
			return rid;
	}
	return 0;
}

/* The MethodTable of a type that is not generic; 0: it is not loaded. */
static uint64_t table_of(const struct finding *f, uint32_t rid)
{
	const struct sw_clr_classes *at = f->at;
	uint64_t map = f->module_avma + at->module_types, data, mask, index = rid, table;
	uint32_t count;
	for (unsigned i = 0; i < MAPS_MAX && map != 0; i++) {
		if (!sw_clr_u32(f->memory, map, at->map_count, &count))
			return 0;
		if (index < count)
			return sw_clr_u64(f->memory, map, at->map_data, &data) &&
					       sw_clr_u64(f->memory,
							  f->module_avma + at->module_types,
							  at->map_mask, &mask) &&
					       sw_clr_u64(f->memory, data, 8 * index, &table)
				       ? table & ~mask
				       : 0;
		index -= count;
		if (!sw_clr_u64(f->memory, map, at->map_next, &map))
			return 0;
	}
	return 0;
}

/* From the object's beginning on. */
static bool member_find(const struct finding *f, uint64_t table, const char *type, const char *name,
			uint32_t *ret)
{
	uint32_t rid = rid_of(f, type);
	if (table == 0 && rid != 0)
		table = table_of(f, rid);
	uint32_t field = rid != 0 ? sw_clr_field_rid(&f->library, rid, name) : 0;
	if (field == 0 || table == 0 ||
	    !sw_clr_field_find(f->at, f->memory, table, field, false, ret))
		return false;
	*ret += SW_CLR_OBJECT_HEAD;
	return true;
}

/* Without a field that is needed: there are none. */
static void pooled_find(struct finding *f)
{
	struct sw_clr_classes *at = f->at;
	uint32_t rid = f->rids[POOLED], base = rid_of(f, pooled_base);
	if (rid == 0 || base == 0)
		return;
	at->pooled_machine_rid = sw_clr_field_rid(&f->library, rid, "StateMachine");
	at->pooled_source_rid = sw_clr_field_rid(&f->library, base, "_valueTaskSource");
	at->pooled_base_rid = base;
	if (at->pooled_machine_rid != 0 && at->pooled_source_rid != 0)
		at->pooled_rid = rid;
}

static bool members_find(struct finding *f)
{
	static const char task[] = "System.Threading.Tasks.Task";
	struct sw_clr_classes *at = f->at;
	at->box_rid = f->rids[BOX];
	at->box_machine_rid = sw_clr_field_rid(&f->library, at->box_rid, "StateMachine");
	pooled_find(f);
	if (!member_find(f, 0, "System.Threading.Tasks.ContinueWithTaskContinuation", "m_task",
			 &at->continue_with_task))
		at->continue_with_task = 0; /* nobody has used one yet, or it is not known */
	if (!member_find(f, 0, "System.Threading.Tasks.AwaitTaskContinuation", "m_action",
			 &at->continuation_action))
		at->continuation_action = 0;
	if (!member_find(f, 0,
			 "System.Runtime.CompilerServices.AsyncMethodBuilderCore+"
			 "ContinuationWrapper",
			 "_continuation", &at->wrapper_continuation))
		at->wrapper_continuation = 0;
	if (!member_find(f, 0, "System.Threading.Tasks.Task+WhenEachState",
			 "_waitForNextCompletedTask", &at->each_source))
		at->each_source = 0;
	/* A generic class is represented by its first instance that was loaded: all instances have
	 * references at these fields. */
	if (!member_find(f, 0, "System.Collections.Generic.List`1", "_items", &at->list_items) ||
	    !member_find(f, 0, "System.Collections.Generic.List`1", "_size", &at->list_size))
		at->list_items = at->list_size = 0;
	return at->box_machine_rid != 0 && member_find(f, 0, task, "m_taskId", &at->task_id) &&
	       member_find(f, 0, task, "m_stateFlags", &at->task_flags) &&
	       member_find(f, 0, task, "m_continuationObject", &at->task_continuation) &&
	       member_find(f, 0, "System.Delegate", "_target", &at->delegate_target);
}

/* Where a class has its static fields that are references; 0: nobody has used it, or they are being made. */
static uint64_t statics_of(const struct finding *f, uint64_t table)
{
	const struct sw_clr_classes *at = f->at;
	uint64_t aux, statics;
	if (at->module_statics != 0) {
		if (!sw_clr_u64(f->memory, f->module_avma, at->module_statics, &aux))
			return 0;
	} else if (!sw_clr_u64(f->memory, table, at->table_aux, &aux) || aux <= at->statics_bytes) {
		return 0;
	} else {
		aux -= at->statics_bytes;
	}
	return sw_clr_u64(f->memory, aux, at->statics_gc, &statics) &&
			       !(statics & STATICS_NOT_READY)
		       ? statics
		       : 0;
}

static bool slot_find(const struct finding *f, const char *type, const char *name, uint64_t *ret)
{
	uint32_t rid = rid_of(f, type), offset,
		 field = rid != 0 ? sw_clr_field_rid(&f->library, rid, name) : 0;
	uint64_t table = rid != 0 ? table_of(f, rid) : 0, statics;
	if (field == 0 || table == 0 ||
	    !sw_clr_field_find(f->at, f->memory, table, field, true, &offset) ||
	    (statics = statics_of(f, table)) == 0)
		return false;
	*ret = statics + offset;
	return true;
}

static void slot_add(struct finding *f, const char *type, const char *name)
{
	uint64_t slot;
	if (f->at->n_slots < SW_CLR_SLOTS_MAX && slot_find(f, type, name, &slot))
		f->at->slots[f->at->n_slots++] = slot;
}

static void pool_find(struct finding *f)
{
	struct sw_clr_classes *at = f->at;
	uint32_t rid = rid_of(f, thread_pool);
	at->pool_table = rid != 0 ? table_of(f, rid) : 0;
	if (at->pool_table == 0 ||
	    !member_find(f, 0, thread_pool, "_separated", &at->pool_separated) ||
	    !member_find(f, 0, thread_pool, "_maxThreads", &at->pool_most) ||
	    !slot_find(f, thread_pool, "ThreadPoolInstance", &at->pool_slot))
		at->pool_slot = 0;
}

/* Where an object says who has it; *ret 0: nobody has used its class yet, or it is not known. */
static void owner_find(const struct finding *f, const char *type, const char *name, uint32_t *ret)
{
	if (!member_find(f, 0, type, name, ret))
		*ret = 0;
}

/* Whether what the runtime does not say itself is as it is known: classes are those that their names say, with their
 * fields where all know them, and the one static field of String is one. */
static bool layout_holds(const struct finding *f, uint64_t object_table)
{
	uint32_t object = rid_of(f, "System.Object"), string = rid_of(f, "System.String");
	uint64_t table = table_of(f, string), slot, empty, word;
	return object_table != 0 && table_of(f, object) == object_table && table != 0 &&
	       sw_clr_class_layout_holds(f->at, f->memory, table,
					 sw_clr_field_rid(&f->library, string, "_stringLength"),
					 sw_clr_field_rid(&f->library, string, "_firstChar")) &&
	       slot_find(f, "System.String", "Empty", &slot) &&
	       sw_memory_u64(f->memory, slot, &empty) && sw_memory_u64(f->memory, empty, &word) &&
	       (word & ~(uint64_t) SW_CLR_TABLE_UNMASK) == table;
}

/* The variables that lead to classes, and whether the runtime has what is read in a way that is known. */
static bool variables_find(const struct sw_clr_contract *contract,
			   const struct sw_clr_layout *layout, struct sw_clr_classes *ret,
			   uint64_t *ret_object)
{
	uint64_t version;
	if (contract->json.values == NULL) {
		*ret_object = layout->object_table_avma;
		ret->suspender_avma = layout->suspender_avma;
		return *ret_object != 0 && ret->suspender_avma != 0;
	}
	return sw_clr_version(contract, "RuntimeTypeSystem", &version) && version == 1 &&
	       sw_clr_version(contract, "Object", &version) && version == 1 &&
	       sw_clr_version(contract, "Loader", &version) && version == 1 &&
	       sw_clr_global(contract, "ObjectMethodTable", ret_object) &&
	       sw_clr_global(contract, "GCThread", &ret->suspender_avma);
}

bool sw_clr_classes_find(const struct sw_clr_contract *contract, const struct sw_clr_layout *layout,
			 struct sw_memory memory,
			 bool (*open)(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret),
			 void *arg, struct sw_clr_classes *ret, const char **ret_why)
{
	struct finding f = {.at = ret,
			    .memory = memory,
			    .part = SW_CLR_CORE,
			    .wanted = wanted,
			    .n_wanted = WANTED};
	uint64_t variable, table;
	*ret = (struct sw_clr_classes){0};
	*ret_why = "the runtime does not say where objects have what, and is not .NET 8 or 9";
	if (!sw_clr_class_layout(contract, layout, ret) ||
	    !variables_find(contract, layout, ret, &variable))
		return false;
	*ret_why = "the classes of tasks were not found in the runtime's library";
	if (!sw_memory_u64(memory, variable, &table) ||
	    !sw_clr_u64(memory, table, ret->table_module, &ret->library_avma) ||
	    (f.module_avma = ret->library_avma) == 0 || !open(arg, ret->library_avma, &f.library) ||
	    !rids_find(&f) || !members_find(&f))
		return false;
	*ret_why =
		"the runtime has its classes in another way than the .NET 8 and 9 that are known";
	if (layout->fixed_version != 0 && !layout_holds(&f, table))
		return false;
	slot_add(&f, "System.Threading.TimerQueue", "<Instances>k__BackingField");
	slot_add(&f, "System.Threading.ThreadPool", "s_workQueue");
	slot_add(&f, "System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList", "s_queues");
	pool_find(&f);
	owner_find(&f, rwlock_slim, "_writeLockOwnerId", &ret->rwlock_writer);
	owner_find(&f, rwlock_slim, "_upgradeLockOwnerId", &ret->rwlock_upgrader);
	owner_find(&f, thread, "_DONT_USE_InternalThread", &ret->thread_native);
	*ret_why = NULL;
	return ret->usable = true;
}

/* Each module is looked at once, and few are: a program may name any file so. */
static bool part_try(struct sw_clr_classes *at, enum sw_clr_part part, uint64_t module_avma)
{
	size_t n = at->parts[part].n_tried;
	for (size_t i = 0; i < n; i++)
		if (at->parts[part].tried[i] == module_avma)
			return false;
	if (n == SW_CLR_PART_TRIES)
		return false;
	at->parts[part].tried[at->parts[part].n_tried++] = module_avma;
	return true;
}

void sw_clr_part_find(struct sw_memory memory, enum sw_clr_part part, uint64_t module_avma,
		      bool (*open)(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret),
		      void *arg, struct sw_clr_classes *at)
{
	struct finding f = {.at = at,
			    .memory = memory,
			    .module_avma = module_avma,
			    .part = part,
			    .wanted = parts[part].wanted,
			    .n_wanted = parts[part].n};
	if (module_avma == 0 || module_avma == at->library_avma || at->parts[part].avma != 0 ||
	    !part_try(at, part, module_avma) || !open(arg, module_avma, &f.library) ||
	    !rids_find(&f))
		return;
	at->parts[part].avma = module_avma;
	if (part == SW_CLR_SOCKETS) {
		slot_add(&f, engine, "s_registeredContexts");
		slot_add(&f, engine, "s_engines");
	} else {
		owner_find(&f, rwlock, "_writerID", &at->old_writer);
	}
}
