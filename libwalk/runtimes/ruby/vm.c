/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: vm_core.h, vm_backtrace.c (calc_pos(), rb_ec_partial_backtrace_object()), iseq.c
 * (succ_index_lookup()), symbol.c (get_id_serial_entry()) of Ruby 3.1.7.
 */
#include "runtimes/ruby/vm.h"
#include "bytes.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	STACK_WORDS_MAX = 1 << 24,
	INSTRUCTIONS_MAX = 1 << 22, /* words of one iseq */
	ENTRIES_MAX = 1 << 20,
	SERIAL_MIN = 1024, /* ids below are operators: greater ones have a scope in 4 bits */
	IDS_UNIT = 512,    /* symbols in one array, which has two items for each */
	IMMEDIATE_MAX = 54,
	IMMEDIATE_IN_WORD = 9,
	BLOCK_BITS = 512,
};

bool sw_ruby_ec_read(const struct sw_ruby_vm *vm, uint64_t fs_base, uint64_t *ret_avma,
		     uint8_t *ret, size_t n)
{
	uint64_t slot, ec;
	if (!sw_tls_address(&vm->found->ec, vm->memory, vm->found->place->bias, fs_base, &slot) ||
	    !sw_memory_u64(vm->memory, slot, &ec) || ec == 0 || ec % 8 != 0 ||
	    !sw_memory_read(vm->memory, ec, ret, n))
		return false;
	*ret_avma = ec;
	return true;
}

bool sw_ruby_any_ec(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap, uint64_t *ret_avma)
{
	uint8_t data[SW_RUBY_EC_FRAMES_BYTES];
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].fs_base != 0 &&
		    sw_ruby_ec_read(vm, snap->threads[i].fs_base, ret_avma, data, sizeof(data)))
			return true;
	return false;
}

bool sw_ruby_stack_of(const struct sw_ruby_vm *vm, uint64_t ec_avma, struct sw_ruby_stack *ret)
{
	uint64_t words, bytes;
	uint8_t data[SW_RUBY_EC_FRAMES_BYTES];
	struct sw_bytes b = {data, sizeof(data)};
	ret->ec_avma = ec_avma;
	if (!sw_memory_read(vm->memory, ec_avma, data, sizeof(data)))
		return false;
	(void) sw_bytes_u64(b, SW_RUBY_EC_STACK, &ret->values_avma); /* these fit */
	(void) sw_bytes_u64(b, SW_RUBY_EC_STACK_SIZE, &words);
	(void) sw_bytes_u64(b, SW_RUBY_EC_CFP, &ret->first_avma);
	if (words > STACK_WORDS_MAX || ret->values_avma % 8 != 0 || ret->first_avma % 8 != 0)
		return false;
	bytes = words * 8;
	return !__builtin_add_overflow(ret->values_avma, bytes, &ret->end_avma) &&
	       ret->first_avma >= ret->values_avma && ret->first_avma < ret->end_avma &&
	       (ret->end_avma - ret->first_avma) % vm->found->layout->frame_bytes == 0;
}

bool sw_ruby_stack_read(const struct sw_ruby_vm *vm, uint64_t fs_base, struct sw_ruby_stack *ret)
{
	uint64_t ec_avma, stack_avma;
	return sw_ruby_ec_read(vm, fs_base, &ec_avma, (uint8_t *) &stack_avma,
			       sizeof(stack_avma)) &&
	       sw_ruby_stack_of(vm, ec_avma, ret);
}

bool sw_ruby_frame_read(const struct sw_ruby_vm *vm, uint64_t avma, struct sw_ruby_frame *ret)
{
	uint8_t frame[SW_RUBY_FRAME_BYTES], env[SW_RUBY_EP_BYTES];
	struct sw_bytes f = {frame, sizeof(frame)}, e = {env, sizeof(env)};
	*ret = (struct sw_ruby_frame){.avma = avma};
	if (!sw_memory_read(vm->memory, avma, frame, sizeof(frame)))
		return false;
	(void) sw_bytes_u64(f, SW_RUBY_FRAME_PC, &ret->pc_avma); /* these fit */
	(void) sw_bytes_u64(f, SW_RUBY_FRAME_SP, &ret->sp_avma);
	(void) sw_bytes_u64(f, SW_RUBY_FRAME_ISEQ, &ret->iseq_avma);
	(void) sw_bytes_u64(f, SW_RUBY_FRAME_EP, &ret->ep_avma);
	if (ret->ep_avma % 8 != 0 || ret->ep_avma < SW_RUBY_EP_BEFORE ||
	    !sw_memory_read(vm->memory, ret->ep_avma - SW_RUBY_EP_BEFORE, env, sizeof(env)))
		return false;
	(void) sw_bytes_u64(e, 0, &ret->method_avma);
	(void) sw_bytes_u64(e, SW_RUBY_EP_BEFORE, &ret->flags);
	if (ret->flags & SW_RUBY_CFRAME)
		ret->kind = (ret->flags & SW_RUBY_MAGIC_MASK) == SW_RUBY_MAGIC_CFUNC
				    ? SW_RUBY_FRAME_C
				    : SW_RUBY_FRAME_OTHER;
	else if ((ret->flags & SW_RUBY_MAGIC_MASK) != SW_RUBY_MAGIC_DUMMY && ret->iseq_avma != 0)
		ret->kind = SW_RUBY_FRAME_RUBY;
	return true;
}

/* ---- objects ------------------------------------------------------------------------------------ */

struct object {
	uint64_t avma, flags;
	uint8_t data[SW_RUBY_OBJECT_BYTES];
};

static bool object_read(const struct sw_ruby_vm *vm, uint64_t avma, unsigned type,
			struct object *ret)
{
	ret->avma = avma;
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_memory_read(vm->memory, avma, ret->data, sizeof(ret->data)))
		return false;
	memcpy(&ret->flags, ret->data, sizeof(ret->flags));
	return (ret->flags & SW_RUBY_TYPE_MASK) == type;
}

static uint64_t word(const struct object *o, unsigned off)
{
	uint64_t value;
	memcpy(&value, o->data + off, sizeof(value)); /* off is one of ours */
	return value;
}

static bool string_read(const struct sw_ruby_vm *vm, uint64_t avma, char *ret)
{
	struct object o;
	unsigned embedded = vm->found->layout->embedded_off;
	if (!object_read(vm, avma, SW_RUBY_STRING, &o))
		return false;
	uint64_t length = word(&o, SW_RUBY_OBJECT_LENGTH), text = word(&o, SW_RUBY_STRING_TEXT);
	if (!(o.flags & SW_RUBY_USER1)) {
		text = avma + embedded;
		if (embedded == SW_RUBY_OBJECT_LENGTH) /* its length is in the flags */
			length =
				o.flags >> SW_RUBY_STRING_LENGTH_SHIFT & SW_RUBY_STRING_LENGTH_MASK;
	}
	if (length == 0 || length >= SW_RUBY_NAME_MAX)
		return false;
	if (text == avma + embedded && embedded + length <= sizeof(o.data))
		memcpy(ret, o.data + embedded, (size_t) length);
	else if (!sw_memory_read(vm->memory, text, ret, (size_t) length))
		return false;
	ret[length] = '\0';
	return memchr(ret, '\0', (size_t) length) == NULL;
}

/* Item of an array. */
static bool item_read(const struct sw_ruby_vm *vm, uint64_t avma, uint64_t index, uint64_t *ret)
{
	struct object o;
	if (!object_read(vm, avma, SW_RUBY_ARRAY, &o))
		return false;
	bool embedded = o.flags & SW_RUBY_USER1;
	uint64_t length = embedded ? o.flags >> SW_RUBY_ARRAY_LENGTH_SHIFT & 0x7f
				   : word(&o, SW_RUBY_OBJECT_LENGTH);
	uint64_t items = embedded ? avma + SW_RUBY_ARRAY_EMBEDDED : word(&o, SW_RUBY_ARRAY_ITEMS);
	return index < length && index < UINT32_MAX &&
	       sw_memory_u64(vm->memory, items + index * 8, ret);
}

/* ---- names -------------------------------------------------------------------------------------- */

static bool imemo_is(uint64_t flags, unsigned type)
{
	return (flags & SW_RUBY_TYPE_MASK) == SW_RUBY_IMEMO &&
	       (flags >> SW_RUBY_IMEMO_SHIFT & SW_RUBY_IMEMO_MASK) == type;
}

/* succ_index_lookup(): how many entries begin at or before pos. */
static bool succ_rank(const struct sw_ruby_vm *vm, uint64_t table, uint64_t pos, uint64_t *ret)
{
	uint64_t value;
	if (pos < IMMEDIATE_MAX) {
		if (!sw_memory_u64(vm->memory, table + pos / IMMEDIATE_IN_WORD * 8, &value))
			return false;
		*ret = value >> (pos % IMMEDIATE_IN_WORD * 7) & 0x7f;
		return true;
	}
	uint8_t data[SW_RUBY_SUCC_BLOCK_BYTES];
	struct sw_bytes b = {data, sizeof(data)};
	uint64_t bit = (pos - IMMEDIATE_MAX) % BLOCK_BITS, small = bit / 64, ranks, bits;
	uint32_t rank;
	if (!sw_memory_read(vm->memory,
			    table + SW_RUBY_SUCC_BLOCKS +
				    (pos - IMMEDIATE_MAX) / BLOCK_BITS * SW_RUBY_SUCC_BLOCK_BYTES,
			    data, sizeof(data)))
		return false;
	(void) sw_bytes_u32(b, 0, &rank); /* these fit */
	(void) sw_bytes_u64(b, 8, &ranks);
	(void) sw_bytes_u64(b, 16 + small * 8, &bits);
	*ret = rank + (uint64_t) __builtin_popcountll(bits << (63 - bit % 64));
	if (small > 0)
		*ret += ranks >> ((small - 1) * 9) & 0x1ff;
	return true;
}

static uint32_t line_read(const struct sw_ruby_vm *vm, struct sw_bytes body, uint64_t pc)
{
	const struct sw_ruby_layout *at = vm->found->layout;
	uint64_t encoded = 0, entries = 0, table = 0, index = 1, pos;
	uint32_t words = 0, n = 0, line;
	(void) sw_bytes_u32(body, SW_RUBY_BODY_SIZE, &words); /* these fit */
	(void) sw_bytes_u64(body, SW_RUBY_BODY_ENCODED, &encoded);
	(void) sw_bytes_u64(body, at->body_insns, &entries);
	(void) sw_bytes_u32(body, at->body_insns_size, &n);
	(void) sw_bytes_u64(body, at->body_succ, &table);
	if (pc < encoded || (pc - encoded) % 8 != 0 || words > INSTRUCTIONS_MAX ||
	    (pc - encoded) / 8 > words || n == 0 || n > ENTRIES_MAX)
		return 0;
	pos = (pc - encoded) / 8;
	if (pos > 0) /* it is at the next instruction */
		pos--;
	if (n > 1 && !succ_rank(vm, table, pos, &index))
		return 0;
	if (index == 0 || index > n ||
	    !sw_memory_read(vm->memory, entries + (index - 1) * at->entry_bytes, &line,
			    sizeof(line)))
		return 0;
	return line <= INT32_MAX ? line : 0;
}

static bool body_read(const struct sw_ruby_vm *vm, uint64_t iseq_avma, uint64_t *ret_avma,
		      uint8_t ret[SW_RUBY_BODY_BYTES])
{
	uint8_t iseq[SW_RUBY_ISEQ_BYTES];
	uint64_t flags, avma;
	if (iseq_avma % 8 != 0 || !sw_memory_read(vm->memory, iseq_avma, iseq, sizeof(iseq)))
		return false;
	memcpy(&flags, iseq, sizeof(flags));
	memcpy(&avma, iseq + SW_RUBY_ISEQ_BODY, sizeof(avma));
	*ret_avma = avma;
	return imemo_is(flags, SW_RUBY_IMEMO_ISEQ) && avma != 0 && avma % 8 == 0 &&
	       sw_memory_read(vm->memory, avma, ret, SW_RUBY_BODY_BYTES);
}

bool sw_ruby_iseq_read(const struct sw_ruby_vm *vm, uint64_t iseq_avma, struct sw_ruby_iseq *ret)
{
	const struct sw_ruby_layout *at = vm->found->layout;
	uint8_t data[SW_RUBY_BODY_BYTES];
	struct sw_bytes body = {data, sizeof(data)};
	uint32_t words = 0, insns = 0;
	*ret = (struct sw_ruby_iseq){0};
	if (!body_read(vm, iseq_avma, &ret->body_avma, data))
		return false;
	(void) sw_bytes_u64(body, SW_RUBY_BODY_PATH, &ret->path_avma); /* these fit */
	(void) sw_bytes_u64(body, SW_RUBY_BODY_LABEL, &ret->label_avma);
	(void) sw_bytes_u64(body, SW_RUBY_BODY_ENCODED, &ret->encoded_avma);
	(void) sw_bytes_u64(body, at->body_insns, &ret->insns_avma);
	(void) sw_bytes_u64(body, at->body_succ, &ret->succ_avma);
	(void) sw_bytes_u32(body, SW_RUBY_BODY_SIZE, &words);
	(void) sw_bytes_u32(body, at->body_insns_size, &insns);
	ret->n_words = words;
	ret->n_insns = insns;
	return true;
}

bool sw_ruby_iseq_name(const struct sw_ruby_vm *vm, uint64_t iseq_avma, uint64_t pc_avma,
		       struct sw_ruby_name *ret)
{
	uint8_t data[SW_RUBY_BODY_BYTES];
	struct sw_bytes body = {data, sizeof(data)};
	uint64_t body_avma, path, label, first;
	if (!body_read(vm, iseq_avma, &body_avma, data))
		return false;
	(void) sw_bytes_u64(body, SW_RUBY_BODY_PATH, &path); /* these fit */
	(void) sw_bytes_u64(body, SW_RUBY_BODY_LABEL, &label);
	if (!string_read(vm, label, ret->label))
		return false;
	ret->line = 0;
	/* A path that was made absolute is [path, absolute path]. */
	if (!string_read(vm, path, ret->path) &&
	    !(item_read(vm, path, 0, &first) && string_read(vm, first, ret->path)))
		ret->path[0] = '\0';
	else if (pc_avma != 0)
		ret->line = line_read(vm, body, pc_avma);
	return true;
}

bool sw_ruby_id_name(const struct sw_ruby_vm *vm, uint64_t id, char *ret)
{
	uint64_t serial = id < SERIAL_MIN ? id : id >> 4, array, string, ids;
	uint64_t symbols = vm->found->symbols_svma + vm->found->place->bias;
	uint32_t last;
	return vm->found->symbols_svma != 0 &&
	       sw_memory_read(vm->memory, symbols + SW_RUBY_SYMBOLS_LAST, &last, sizeof(last)) &&
	       serial != 0 && serial <= last &&
	       sw_memory_u64(vm->memory, symbols + SW_RUBY_SYMBOLS_IDS, &ids) &&
	       item_read(vm, ids, serial / IDS_UNIT, &array) &&
	       item_read(vm, array, serial % IDS_UNIT * 2, &string) && string_read(vm, string, ret);
}

bool sw_ruby_method_id(const struct sw_ruby_vm *vm, uint64_t method_avma, uint64_t *ret)
{
	uint8_t data[SW_RUBY_METHOD_BYTES];
	uint64_t flags, definition;
	for (int i = 0; i < 2; i++) {
		if (method_avma == 0 || method_avma % 8 != 0 ||
		    !sw_memory_read(vm->memory, method_avma, data, sizeof(data)))
			return false;
		memcpy(&flags, data, sizeof(flags));
		if (imemo_is(flags, SW_RUBY_IMEMO_METHOD))
			break;
		if (!imemo_is(flags, SW_RUBY_IMEMO_SVAR))
			return false;
		memcpy(&method_avma, data + SW_RUBY_SVAR_METHOD, sizeof(method_avma));
	}
	memcpy(&definition, data + SW_RUBY_METHOD_DEF, sizeof(definition));
	return imemo_is(flags, SW_RUBY_IMEMO_METHOD) && definition % 8 == 0 && definition != 0 &&
	       sw_memory_u64(vm->memory, definition + SW_RUBY_DEF_ID, ret);
}

bool sw_ruby_method_name(const struct sw_ruby_vm *vm, uint64_t method_avma,
			 struct sw_ruby_name *ret)
{
	uint64_t id;
	ret->path[0] = '\0';
	ret->line = 0;
	return sw_ruby_method_id(vm, method_avma, &id) && sw_ruby_id_name(vm, id, ret->label);
}
