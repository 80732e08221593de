/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_CLASSES_H
#define SW_CLR_CLASSES_H

#include "runtimes/clr/metadata/tables.h"
#include "runtimes/clr/published/contract.h"

/*
 * Which class an object is of, and where its fields are, by what the runtime has: MethodTables, FieldDescs, and the
 * names of both in the metadata of its own library. Reading objects needs no names, so that it can be done in the
 * window; the names are looked up before.
 * Source: dotnet/runtime v10.0.0, docs/design/datacontracts/{Object,RuntimeTypeSystem,Loader}.md;
 * src/coreclr/vm/field.h for FieldDesc {MethodTable *, u32 token:24 static:1 ..., u32 offset:27 type:5}.
 */

/* Classes that lead from what is pending to the method that awaits it. Derived ones count as well. */
enum sw_clr_kind {
	SW_CLR_OTHER, /* none of them */
	SW_CLR_ARRAY, /* of references, or of structures that may have some */
	SW_CLR_TASK,
	SW_CLR_BOX, /* a Task that has the state machine of an async method */
	SW_CLR_POOLED, /* such a machine's box that is no Task: of PoolingAsyncValueTaskMethodBuilder */
	SW_CLR_DELEGATE,
	SW_CLR_LIST,
	SW_CLR_CONTINUATION, /* AwaitTaskContinuation: has an Action */
	SW_CLR_CONTINUE_WITH,
	SW_CLR_WRAPPER, /* of an Action, where the runtime traces tasks */
	SW_CLR_EACH,    /* what Task.WhenEach() is told of tasks by, and its iterator waits for */
	SW_CLR_TIMER,
	SW_CLR_TIMERS,
	SW_CLR_QUEUE,  /* of the thread pool, or a part of one */
	SW_CLR_ENGINE, /* what waits for sockets */
	SW_CLR_SOCKET, /* what is waited for of one socket */
	/* Classes of objects that threads wait for, which lead to no task. */
	SW_CLR_RWLOCK_SLIM,
	SW_CLR_RWLOCK, /* the old one */
	SW_CLR_THREAD,
	SW_CLR_WAIT_HANDLE, /* SafeWaitHandle: of a mutex, a semaphore or an event */
	SW_CLR_KINDS,
};

/* The libraries that have such classes. */
enum sw_clr_part {
	SW_CLR_CORE,      /* the runtime's own: library_avma */
	SW_CLR_SOCKETS,   /* System.Net.Sockets */
	SW_CLR_THREADING, /* System.Threading */
	SW_CLR_PARTS,
};

enum {
	SW_CLR_CLASSES_MAX = 32, /* that have such a kind */
	SW_CLR_PART_TRIES = 4,   /* modules that may be such a library */
	SW_CLR_SLOTS_MAX = 8,    /* static fields that lead to what is pending */
	SW_CLR_PARENTS_MAX = 16,
	SW_CLR_FIELDS_MAX = 1024,  /* of one class */
	SW_CLR_CLASS_CACHE = 4096, /* power of two */
	SW_CLR_OBJECT_HEAD = 8,
	SW_CLR_TABLE_UNMASK = 7, /* bits of an object's first word that are the collector's */
};

struct sw_clr_class {
	uint64_t table_avma;      /* MethodTable; 0: not in use */
	uint64_t canon_avma;      /* of all that have the same code */
	uint32_t base_bytes;      /* of an object; of an array, without its elements */
	uint16_t component_bytes; /* of an array's element, or a string's */
	uint8_t kind;             /* enum sw_clr_kind */
	bool ok;                  /* it is one */
};

struct sw_clr_classes {
	bool usable;
	/* of MethodTable, EEClass, ... */
	uint32_t table_flags, table_base, table_flags2, table_parent, table_module, table_class,
		table_arguments, table_aux, table_bytes;
	uint32_t class_table, class_fields, class_n_fields, class_n_statics;
	bool class_counts_behind; /* the last two are behind a class of any kind, with 4 bytes each */
	unsigned row_shift;       /* of a type's row, in table_flags2 */
	bool module_may_differ; /* table_module need not be the type's own: sw_clr_table_module() */
	uint32_t dict_n, dict_arguments;
	uint32_t map_next, map_data, map_count, map_mask;
	uint32_t module_types;
	uint32_t statics_bytes, statics_gc; /* before what table_aux leads to */
	uint32_t module_statics; /* where a module's types have them together; 0: they do not */
	/* The runtime's own library: System.Private.CoreLib */
	uint64_t library_avma; /* Module */
	struct {
		uint64_t avma; /* the library's Module; 0: it is not loaded, or not found */
		uint64_t tried[SW_CLR_PART_TRIES]; /* modules that were looked at for it */
		size_t n_tried;
	} parts[SW_CLR_PARTS]; /* but for SW_CLR_CORE */
	struct {
		uint32_t rid;
		uint8_t kind;
		uint8_t part; /* enum sw_clr_part */
	} known[SW_CLR_CLASSES_MAX];
	size_t n_known;
	/* Fields, from the object's beginning on. */
	uint32_t task_id, task_flags, task_continuation, delegate_target, list_items, list_size,
		continuation_action, continue_with_task, wrapper_continuation, each_source;
	uint32_t box_rid,
		box_machine_rid; /* the class AsyncStateMachineBox, its field StateMachine */
	uint32_t pooled_rid, pooled_machine_rid; /* of the pooled one the same; 0: there is none */
	/* The class that it derives from, and its field with what awaits it */
	uint32_t pooled_base_rid, pooled_source_rid;
	uint64_t slots[SW_CLR_SLOTS_MAX];
	size_t n_slots;
	uint64_t suspender_avma; /* of the variable: the thread that has stopped the others */
	/* The thread pool: the static field that leads to it, its class, and its fields, from the object's beginning on. */
	uint64_t pool_slot, pool_table; /* 0: nobody has used it, or it is not known */
	uint32_t pool_separated, pool_most;
	/* Fields that say who has a lock, from the object's beginning on: numbers of threads, i32, and of
	 * System.Threading.Thread the address of its Thread. 0: not known. */
	uint32_t rwlock_writer, rwlock_upgrader, old_writer, thread_native;
};

/* Classes that were looked at, so that each is once. Empty when all but memory is zero. */
struct sw_clr_class_cache {
	struct sw_memory memory; /* where they are read: unlike objects, they stay where they are */
	struct sw_clr_class slots[SW_CLR_CLASS_CACHE];
	size_t n;
};

/* The class of a MethodTable; NULL: it is none. Borrowed until the next call. */
const struct sw_clr_class *sw_clr_class_get(const struct sw_clr_classes *at,
					    struct sw_clr_class_cache *cache, uint64_t table_avma);

/* Forgets them. */
void sw_clr_class_cache_reset(struct sw_clr_class_cache *cache);

/* The class of an object, which memory has. */
const struct sw_clr_class *sw_clr_class_of(const struct sw_clr_classes *at,
					   struct sw_clr_class_cache *cache,
					   struct sw_memory memory, uint64_t object_avma);

/* Where a field is, from the first one of an object of that class on, which must be the one that declares it; a static
 * one from the first of them that are references. False: it has none. */
bool sw_clr_field_find(const struct sw_clr_classes *at, struct sw_memory memory,
		       uint64_t table_avma, uint32_t field_rid, bool is_static, uint32_t *ret);

/* Whether objects of that class lead to tasks, as those in between may. */
static inline bool sw_clr_kind_leads(unsigned kind)
{
	return kind != SW_CLR_OTHER && kind < SW_CLR_RWLOCK_SLIM;
}

/* Whether it is the box of a state machine. */
static inline bool sw_clr_kind_is_box(unsigned kind)
{
	return kind == SW_CLR_BOX || kind == SW_CLR_POOLED;
}

/* The module whose metadata has a type; 0: it cannot be read. */
uint64_t sw_clr_table_module(const struct sw_clr_classes *at, struct sw_memory memory,
			     uint64_t table_avma);

/* The class itself, or the one of its parents that is the box of a state machine. 0: none. */
uint64_t sw_clr_box_table(const struct sw_clr_classes *at, struct sw_memory memory,
			  uint64_t table_avma);

/* Where what awaits a pooled box stands, from an object's beginning on. False: it cannot be read. */
bool sw_clr_pooled_source(const struct sw_clr_classes *at, struct sw_memory memory,
			  uint64_t table_avma, uint32_t *ret);

/* The n-th type argument of a class's own; false: there is none. */
bool sw_clr_argument(const struct sw_clr_classes *at, struct sw_memory memory, uint64_t table_avma,
		     unsigned n, uint64_t *ret);

#endif
