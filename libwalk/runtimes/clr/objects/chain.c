/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The values of a Task's m_continuationObject:
 *
 *	the box of its awaiter			await, without a context to go back to
 *	an Action, whose target is that box		a hand-written awaiter
 *	a Task						WhenAll(), WhenAny(), Task.Run(async ...): promises
 *	a TaskContinuation				await with a SynchronizationContext or a TaskScheduler; ContinueWith()
 *	a List of these
 *	anything else					a thread that waits in Wait(); done
 *
 * A box from a pool, of PoolingAsyncValueTaskMethodBuilder, is no Task. It has a ManualResetValueTaskSourceCore, whose
 * references are a delegate, what it is called with (the box of its awaiter, or a Task made of it by AsTask(), or an
 * Action), and a context. Which is where is not published: they come first, and all that lead to a box lead to one.
 * Task.WhenEach() has one, too, for its iterator; it is what the tasks have as their continuation. It keeps the box of
 * an iterator that has yielded since.
 *
 * Source: dotnet/runtime v10.0.0, System.Private.CoreLib/src/System/Threading/Tasks/{Task,TaskContinuation,Future}.cs,
 * System/Runtime/CompilerServices/{AsyncTaskMethodBuilderT,PoolingAsyncValueTaskMethodBuilderT}.cs.
 */
#include "runtimes/clr/objects/chain.h"
#include "runtimes/clr/metadata/remote.h"

enum {
	/* Task.TaskStateFlags: Faulted, Canceled, RanToCompletion */
	TASK_DONE = 0x200000 | 0x400000 | 0x1000000,
	/* With what a box is made: InternalTaskOptions.PromiseTask, TaskStateFlags.WaitingForActivation */
	BOX_MADE = 0x400,
	BOX_WAITS = 0x2000000,
	LIST_MAX = 64,
	SOURCE_WORDS = 4,
	SOURCE_REFERENCES = 2,             /* of these, in all versions */
	ELEMENTS = 2 * SW_CLR_OBJECT_HEAD, /* of an array */
};

bool sw_clr_is_box(const struct sw_clr_chain *chain, uint64_t box_avma, bool *ret_done)
{
	uint32_t flags;
	const struct sw_clr_class *class =
		sw_clr_class_of(chain->at, chain->classes, chain->memory, box_avma);
	if (class != NULL && class->kind == SW_CLR_POOLED) {
		*ret_done = false;
		return chain->pooled == NULL || chain->pooled(chain->arg, box_avma, ret_done);
	}
	if (!sw_clr_u32(chain->memory, box_avma, chain->at->task_flags, &flags) ||
	    !(flags & BOX_MADE))
		return false;
	*ret_done = flags & TASK_DONE;
	return *ret_done || flags & BOX_WAITS;
}

bool sw_clr_box_pending(const struct sw_clr_chain *chain, uint64_t box_avma)
{
	bool done;
	return sw_clr_is_box(chain, box_avma, &done) && !done;
}

static uint64_t field_get(const struct sw_clr_chain *c, uint64_t object, uint32_t offset)
{
	uint64_t value;
	return offset != 0 && sw_clr_u64(c->memory, object, offset, &value) ? value : 0;
}

static uint64_t box_find(const struct sw_clr_chain *c, uint64_t object, bool *forks,
			 unsigned *left);

static uint64_t of_list(const struct sw_clr_chain *c, uint64_t list, bool *forks, unsigned *left)
{
	uint64_t items = field_get(c, list, c->at->list_items), item, found = 0;
	uint32_t n;
	if (items == 0 || !sw_clr_u32(c->memory, list, c->at->list_size, &n))
		return 0;
	*forks |= n > LIST_MAX;
	for (uint32_t i = 0; i < n && i < LIST_MAX; i++) {
		if (!sw_clr_u64(c->memory, items, ELEMENTS + 8 * (uint64_t) i, &item))
			break;
		uint64_t box = box_find(c, item, forks, left);
		*forks |= box != 0 && found != 0 && box != found;
		found = found == 0 ? box : found;
	}
	return found;
}

/* The box that awaits a ManualResetValueTaskSourceCore. */
static uint64_t of_source(const struct sw_clr_chain *c, uint64_t object, uint32_t offset,
			  bool *forks, unsigned *left)
{
	uint64_t words[SOURCE_WORDS], found = 0;
	if (!sw_clr_read(c->memory, object, offset, words, sizeof(words))) {
		if (c->cut != NULL)
			*c->cut = true;
		return 0;
	}
	for (size_t i = 0; i < SOURCE_WORDS; i++) {
		/* Behind the references are numbers: what of them leads to no object is nothing that is missing. */
		struct sw_clr_chain quiet = *c;
		quiet.cut = i < SOURCE_REFERENCES ? c->cut : NULL;
		uint64_t next = box_find(&quiet, words[i], forks, left);
		*forks |= next != 0 && found != 0 && next != found;
		found = found == 0 ? next : found;
	}
	return found;
}

static uint64_t of_each(const struct sw_clr_chain *c, uint64_t object, bool *forks, unsigned *left)
{
	uint64_t box =
		c->at->each_source != 0 ? of_source(c, object, c->at->each_source, forks, left) : 0;
	return box != 0 && (c->awaits == NULL || c->awaits(c->arg, box)) ? box : 0;
}

static uint64_t box_find(const struct sw_clr_chain *c, uint64_t object, bool *forks, unsigned *left)
{
	while (object != 0 && *left > 0) {
		--*left;
		const struct sw_clr_class *class =
			sw_clr_class_of(c->at, c->classes, c->memory, object);
		if (class == NULL && c->cut != NULL)
			*c->cut = true;
		switch (class != NULL ? class->kind : SW_CLR_OTHER) {
		case SW_CLR_BOX:
		case SW_CLR_POOLED: return sw_clr_box_pending(c, object) ? object : 0;
		case SW_CLR_TASK: object = field_get(c, object, c->at->task_continuation); break;
		case SW_CLR_DELEGATE: object = field_get(c, object, c->at->delegate_target); break;
		case SW_CLR_CONTINUATION:
			object = field_get(c, object, c->at->continuation_action);
			break;
		case SW_CLR_CONTINUE_WITH:
			object = field_get(c, object, c->at->continue_with_task);
			break;
		case SW_CLR_WRAPPER:
			object = field_get(c, object, c->at->wrapper_continuation);
			break;
		case SW_CLR_EACH: return of_each(c, object, forks, left);
		case SW_CLR_LIST: return of_list(c, object, forks, left);
		default: return 0;
		}
	}
	if (object != 0 && c->cut != NULL)
		*c->cut = true;
	return 0;
}

uint64_t sw_clr_chain_box(const struct sw_clr_chain *chain, uint64_t object_avma, bool *ret_forks)
{
	unsigned left = SW_CLR_HOPS_MAX;
	*ret_forks = false;
	return box_find(chain, object_avma, ret_forks, &left);
}

static uint64_t pooled_next(const struct sw_clr_chain *c, const struct sw_clr_class *class,
			    uint64_t box, bool *forks)
{
	unsigned left = SW_CLR_HOPS_MAX;
	uint32_t offset;
	return sw_clr_pooled_source(c->at, c->classes->memory, class->table_avma, &offset)
		       ? of_source(c, box, offset, forks, &left)
		       : 0;
}

uint64_t sw_clr_chain_next(const struct sw_clr_chain *chain, uint64_t box_avma, bool *ret_forks)
{
	const struct sw_clr_class *class =
		sw_clr_class_of(chain->at, chain->classes, chain->memory, box_avma);
	*ret_forks = false;
	if (class != NULL && class->kind == SW_CLR_POOLED)
		return pooled_next(chain, class, box_avma, ret_forks);
	uint64_t next = field_get(chain, box_avma, chain->at->task_continuation);
	if (next == 0 && chain->promised != NULL)
		next = chain->promised(chain->arg, box_avma);
	return sw_clr_chain_box(chain, next, ret_forks);
}

bool sw_clr_machine_find(const struct sw_clr_chain *chain, uint64_t box_avma, uint64_t *ret_table,
			 uint64_t *ret_fields_avma)
{
	const struct sw_clr_classes *at = chain->at;
	struct sw_memory m = chain->classes->memory;
	const struct sw_clr_class *c = sw_clr_class_of(at, chain->classes, chain->memory, box_avma);
	uint64_t box = c != NULL ? sw_clr_box_table(at, m, c->table_avma) : 0, object, declared;
	uint32_t offset;
	uint32_t rid = c != NULL && c->kind == SW_CLR_POOLED ? at->pooled_machine_rid
							     : at->box_machine_rid;
	if (box == 0 || !sw_clr_field_find(at, m, box, rid, false, &offset) ||
	    !sw_clr_argument(at, m, box, 1, &declared) || declared == 0 || declared % 8 != 0)
		return false;
	*ret_table = declared;
	*ret_fields_avma = box_avma + SW_CLR_OBJECT_HEAD + offset;
	/* Debug builds and iterators have it in an object of its own. That object is of the class that the box was made
	 * for: a structure's first word is none. */
	if (!sw_memory_u64(chain->memory, *ret_fields_avma, &object))
		return false;
	c = sw_clr_class_of(at, chain->classes, chain->memory, object);
	if (c != NULL && c->table_avma == declared)
		*ret_fields_avma = object + SW_CLR_OBJECT_HEAD;
	return true;
}
