/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The classes that are known by name, before the window. */
#include "runtimes/clr/objects/find_classes.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/remote.h"

#include <stddef.h>
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

#define ROW(type, field, member)                                     \
	{                                                            \
		type, field, offsetof(struct sw_clr_classes, member) \
	}

static const struct sw_clr_row rows[] = {
	ROW("MethodTable", NULL, table_bytes),
	ROW("MethodTable", "MTFlags", table_flags),
	ROW("MethodTable", "BaseSize", table_base),
	ROW("MethodTable", "MTFlags2", table_flags2),
	ROW("MethodTable", "ParentMethodTable", table_parent),
	ROW("MethodTable", "Module", table_module),
	ROW("MethodTable", "EEClassOrCanonMT", table_class),
	ROW("MethodTable", "PerInstInfo", table_arguments),
	ROW("MethodTable", "AuxiliaryData", table_aux),
	ROW("EEClass", "MethodTable", class_table),
	ROW("EEClass", "FieldDescList", class_fields),
	ROW("EEClass", "NumInstanceFields", class_n_fields),
	ROW("EEClass", "NumStaticFields", class_n_statics),
	ROW("GenericsDictInfo", "NumDicts", dict_n),
	ROW("GenericsDictInfo", "NumTypeArgs", dict_arguments),
	ROW("ModuleLookupMap", "Next", map_next),
	ROW("ModuleLookupMap", "TableData", map_data),
	ROW("ModuleLookupMap", "Count", map_count),
	ROW("ModuleLookupMap", "SupportedFlagsMask", map_mask),
	ROW("Module", "TypeDefToMethodTableMap", module_types),
	ROW("DynamicStaticsInfo", NULL, statics_bytes),
	ROW("DynamicStaticsInfo", "GCStatics", statics_gc),
};

static const struct {
	const char *name; /* with its namespace and the types that it is in */
	enum sw_clr_kind kind;
	bool optional;
} wanted[] = {
	{"System.Threading.Tasks.Task", SW_CLR_TASK, false},
	{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
	 SW_CLR_BOX, false},
	{"System.MulticastDelegate", SW_CLR_DELEGATE, false},
	{"System.Collections.Generic.List`1", SW_CLR_LIST, false},
	{"System.Threading.Tasks.AwaitTaskContinuation", SW_CLR_CONTINUATION, false},
	{"System.Threading.Tasks.ContinueWithTaskContinuation", SW_CLR_CONTINUE_WITH, true},
	{"System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper",
	 SW_CLR_WRAPPER, true},
	{"System.Threading.TimerQueueTimer", SW_CLR_TIMER, true},
	{"System.Threading.TimerQueue", SW_CLR_TIMERS, true},
	{"System.Threading.ThreadPoolWorkQueue", SW_CLR_QUEUE, true},
	{"System.Threading.ThreadPoolWorkQueue+WorkStealingQueue", SW_CLR_QUEUE, true},
	{"System.Collections.Concurrent.ConcurrentQueue`1", SW_CLR_QUEUE, true},
	{"System.Collections.Concurrent.ConcurrentQueueSegment`1", SW_CLR_QUEUE, true},
	/* only for their static fields or because others are asked for theirs */
	{"System.Threading.ThreadPool", SW_CLR_OTHER, true},
	{"System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList", SW_CLR_OTHER, true},
	{"System.Delegate", SW_CLR_OTHER, false},
};

enum { WANTED = SW_ARRAY_SIZE(wanted) };

struct finding {
	struct sw_clr_classes *at;
	struct sw_memory memory;
	struct sw_clr_metadata library;
	uint32_t rids[WANTED]; /* 0: it has none */
};

/* The last part of a name, which is all that TypeDef has of a type in another one. */
static const char *brief_of(const char *name)
{
	const char *plus = strrchr(name, '+'), *dot = strrchr(name, '.');
	return plus != NULL ? plus + 1 : dot != NULL ? dot + 1 : name;
}

static bool names_match(const struct sw_clr_metadata *m, uint32_t rid, size_t i)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	return sw_clr_type_def_name(m, rid, false, &text) && !text.failed && text.size > 0 &&
	       strcmp(text.data, wanted[i].name) == 0;
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
		for (size_t i = 0; i < WANTED; i++)
			if (f->rids[i] == 0 && strcmp(text.data, brief_of(wanted[i].name)) == 0 &&
			    names_match(m, rid, i))
				f->rids[i] = rid;
	}
	for (size_t i = 0; i < WANTED; i++) {
		if (f->rids[i] == 0 && !wanted[i].optional)
			return false;
		if (f->rids[i] == 0 || wanted[i].kind == SW_CLR_OTHER)
			continue;
		f->at->known[f->at->n_known].rid = f->rids[i];
		f->at->known[f->at->n_known++].kind = (uint8_t) wanted[i].kind;
	}
	return true;
}

static uint32_t rid_of(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < WANTED; i++)
		if (strcmp(wanted[i].name, name) == 0)
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
	uint64_t map = at->library_avma + at->module_types, data, mask, index = rid, table;
	uint32_t count;
	for (unsigned i = 0; i < MAPS_MAX && map != 0; i++) {
		if (!sw_clr_u32(f->memory, map, at->map_count, &count))
			return 0;
		if (index < count)
			return sw_clr_u64(f->memory, map, at->map_data, &data) &&
					       sw_clr_u64(f->memory,
							  at->library_avma + at->module_types,
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

static bool members_find(struct finding *f)
{
	static const char task[] = "System.Threading.Tasks.Task";
	struct sw_clr_classes *at = f->at;
	uint32_t rid = rid_of(f, wanted[1].name);
	at->box_rid = rid;
	at->box_machine_rid = sw_clr_field_rid(&f->library, rid, "StateMachine");
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
	/* Of a generic class the first one that was loaded: all have references there. */
	if (!member_find(f, 0, "System.Collections.Generic.List`1", "_items", &at->list_items) ||
	    !member_find(f, 0, "System.Collections.Generic.List`1", "_size", &at->list_size))
		at->list_items = at->list_size = 0;
	return at->box_machine_rid != 0 && member_find(f, 0, task, "m_taskId", &at->task_id) &&
	       member_find(f, 0, task, "m_stateFlags", &at->task_flags) &&
	       member_find(f, 0, task, "m_continuationObject", &at->task_continuation) &&
	       member_find(f, 0, "System.Delegate", "_target", &at->delegate_target);
}

static void slot_add(struct finding *f, const char *type, const char *name)
{
	struct sw_clr_classes *at = f->at;
	uint32_t rid = rid_of(f, type),
		 field = rid != 0 ? sw_clr_field_rid(&f->library, rid, name) : 0;
	uint64_t table = rid != 0 ? table_of(f, rid) : 0, aux, statics;
	uint32_t offset;
	if (field == 0 || table == 0 || at->n_slots == SW_CLR_SLOTS_MAX ||
	    !sw_clr_field_find(at, f->memory, table, field, true, &offset) ||
	    !sw_clr_u64(f->memory, table, at->table_aux, &aux) || aux <= at->statics_bytes ||
	    !sw_clr_u64(f->memory, aux - at->statics_bytes, at->statics_gc, &statics))
		return;
	/* Nobody has used the class yet, or its static fields are being made. */
	if (statics == 0 || statics & STATICS_NOT_READY)
		return;
	at->slots[at->n_slots++] = statics + offset;
}

bool sw_clr_classes_find(const struct sw_clr_contract *contract, struct sw_memory memory,
			 bool (*open)(void *arg, uint64_t module_avma, struct sw_clr_metadata *ret),
			 void *arg, struct sw_clr_classes *ret, const char **ret_why)
{
	struct finding f = {.at = ret, .memory = memory};
	uint64_t variable, table, version;
	*ret = (struct sw_clr_classes){0};
	*ret_why = "the runtime does not say where objects have what: .NET 10 does";
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++)
		if (!sw_clr_row_resolve(contract, &rows[i], ret))
			return false;
	if (!sw_clr_version(contract, "RuntimeTypeSystem", &version) || version != 1 ||
	    !sw_clr_version(contract, "Object", &version) || version != 1 ||
	    !sw_clr_version(contract, "Loader", &version) || version != 1 ||
	    !sw_clr_global(contract, "ObjectMethodTable", &variable) ||
	    !sw_clr_global(contract, "GCThread", &ret->suspender_avma))
		return false;
	*ret_why = "the classes of tasks were not found in the runtime's library";
	if (!sw_memory_u64(memory, variable, &table) ||
	    !sw_clr_u64(memory, table, ret->table_module, &ret->library_avma) ||
	    !open(arg, ret->library_avma, &f.library) || !rids_find(&f) || !members_find(&f))
		return false;
	slot_add(&f, "System.Threading.TimerQueue", "<Instances>k__BackingField");
	slot_add(&f, "System.Threading.ThreadPool", "s_workQueue");
	slot_add(&f, "System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList", "s_queues");
	*ret_why = NULL;
	return ret->usable = true;
}
