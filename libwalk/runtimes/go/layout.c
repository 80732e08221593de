/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Offsets and addresses that change from version to version are read out of functions that every
 * program has, because its runtime prints all goroutines when it ends by a signal:
 *
 *	runtime.forEachGRace         mov allglen(%rip), %reg; mov allgptr(%rip), %reg
 *	runtime.castogscanstatus     lock cmpxchg %reg, atomicstatus(%reg)
 *	runtime.printcreatedby       mov gopc(%rax), %reg
 *	runtime.goroutineheader      lea waitReasonStrings(%rip), %reg
 *
 * Source: go1.19.8 and go1.26 src/runtime/proc.go, traceback.go, runtime2.go.
 */
#include "runtimes/go/layout.h"

#include <string.h>

enum {
	G_SCHED_END = 72, /* stack, m and sched.pc are before */
	STATUS_BYTES = 33,
	REASON_STEP = 16, /* a string: pointer, length */
};

static bool code_named(const struct sw_elf *elf, const struct sw_go_image *image, const char *name,
		       struct sw_bytes *ret, uint64_t *ret_svma)
{
	struct sw_go_func f;
	if (!sw_go_image_named(image, name, 0, &f))
		return false;
	*ret = sw_go_image_code(elf, image, &f);
	*ret_svma = image->text_svma + f.start_off;
	return ret->size > 0;
}

/* REX.W, opcode, %reg and disp32(%rip): what it is of. */
static bool of_rip(struct sw_bytes code, uint64_t at, uint64_t svma, uint8_t opcode, uint64_t *ret)
{
	uint32_t off;
	if (!sw_bytes_has(code, at, 7) || (code.data[at] & 0xfb) != 0x48 ||
	    code.data[at + 1] != opcode || (code.data[at + 2] & 0xc7) != 0x05 ||
	    !sw_bytes_u32(code, at + 3, &off))
		return false;
	*ret = svma + at + 7 + (uint64_t) (int64_t) (int32_t) off;
	return true;
}

static bool list_look(const struct sw_elf *elf, const struct sw_go_image *image,
		      struct sw_go_layout *ret)
{
	enum { MOV = 0x8b };
	struct sw_bytes code;
	uint64_t svma, found[2];
	size_t n = 0;
	if (!code_named(elf, image, "runtime.forEachGRace", &code, &svma))
		return false;
	for (uint64_t at = 0; at < code.size && n < 2; at++)
		n += of_rip(code, at, svma, MOV, &found[n]);
	if (n < 2 || found[0] == found[1])
		return false;
	/* The length is read first: the list only grows. */
	ret->length_svma = found[0];
	ret->list_svma = found[1];
	return true;
}

/* lock, perhaps REX, cmpxchg %reg, disp32(%reg) */
static bool status_look(const struct sw_elf *elf, const struct sw_go_image *image,
			struct sw_go_layout *ret)
{
	struct sw_bytes code;
	uint64_t svma;
	if (!code_named(elf, image, "runtime.castogscanstatus", &code, &svma))
		return false;
	for (uint64_t at = 0; sw_bytes_has(code, at, 9); at++) {
		uint32_t off;
		uint64_t op = at + 1;
		if (code.data[at] != 0xf0)
			continue;
		op += (code.data[op] & 0xf0) == 0x40;
		if (code.data[op] != 0x0f || code.data[op + 1] != 0xb1 ||
		    (code.data[op + 2] & 0xc0) != 0x80 || !sw_bytes_u32(code, op + 3, &off))
			continue;
		if (off < G_SCHED_END || off % 8 != 0 || off > SW_GO_G_BYTES_MAX - STATUS_BYTES)
			return false;
		ret->status_off = off;
		return true;
	}
	return false;
}

/* mov disp32(%reg), %reg: the offset; 0 when it is something else. */
static uint32_t load_of(struct sw_bytes code, uint64_t at)
{
	uint32_t off;
	bool is_load = sw_bytes_has(code, at, 7) && (code.data[at] & 0xfa) == 0x48 &&
		       code.data[at + 1] == 0x8b && (code.data[at + 2] & 0xc0) == 0x80;
	return is_load && sw_bytes_u32(code, at + 3, &off) ? off : 0;
}

/* Since 1.21 it says also which goroutine that was, whose number is before. */
static void created_look(const struct sw_elf *elf, const struct sw_go_image *image,
			 struct sw_go_layout *ret)
{
	struct sw_bytes code;
	uint64_t svma;
	if (!code_named(elf, image, "runtime.printcreatedby", &code, &svma))
		return;
	for (uint64_t at = 0; at < code.size; at++) {
		uint32_t off = load_of(code, at);
		if (off == 0 || off % 8 != 0 || off > SW_GO_G_BYTES_MAX - 8 ||
		    off < ret->status_off + STATUS_BYTES + 8)
			continue;
		if (ret->created_off == 0)
			ret->created_off = off;
		ret->has_parent |= off == ret->created_off - 8;
	}
}

static bool string_at(const struct sw_elf *elf, uint64_t svma, struct sw_bytes *ret)
{
	uint64_t data_svma, length;
	struct sw_bytes b;
	return sw_go_image_word(elf, svma + 8, &length) && length < SW_GO_REASON_BYTES_MAX &&
	       length > 0 && sw_go_image_word(elf, svma, &data_svma) &&
	       sw_elf_loaded(elf, data_svma, &b) && sw_bytes_sub(b, 0, length, ret);
}

/* The array of wait reasons is, among the arrays of strings that the function refers to, the one
 * that begins with the first reasons. */
static void reasons_look(const struct sw_elf *elf, const struct sw_go_image *image,
			 struct sw_go_layout *ret)
{
	enum { LEA = 0x8d };
	static const char first[] = "GC assist marking"; /* behind "" */
	struct sw_bytes code, text;
	uint64_t svma, of, none;
	if (!code_named(elf, image, "runtime.goroutineheader", &code, &svma))
		return;
	for (uint64_t at = 0; at < code.size && ret->reasons_svma == 0; at++)
		if (of_rip(code, at, svma, LEA, &of) && sw_go_image_word(elf, of + 8, &none) &&
		    none == 0 && string_at(elf, of + REASON_STEP, &text) &&
		    text.size == sizeof(first) - 1 && memcmp(text.data, first, text.size) == 0)
			ret->reasons_svma = of;
}

bool sw_go_layout_read(const struct sw_elf *elf, const struct sw_go_image *image,
		       struct sw_go_layout *ret)
{
	*ret = (struct sw_go_layout){0};
	if (!list_look(elf, image, ret) || !status_look(elf, image, ret))
		return false;
	created_look(elf, image, ret);
	reasons_look(elf, image, ret);
	ret->g_bytes =
		ret->created_off != 0 ? ret->created_off + 8 : ret->status_off + STATUS_BYTES + 7;
	return true;
}

bool sw_go_reason(const struct sw_elf *elf, const struct sw_go_layout *layout, uint8_t reason,
		  char ret[static SW_GO_REASON_BYTES_MAX])
{
	struct sw_bytes text;
	if (layout->reasons_svma == 0 || reason == 0 || reason >= SW_GO_REASONS_MAX ||
	    !string_at(elf, layout->reasons_svma + REASON_STEP * (uint64_t) reason, &text))
		return false;
	for (size_t i = 0; i < text.size; i++)
		ret[i] = text.data[i] < ' ' || text.data[i] > '~' ? '?' : (char) text.data[i];
	ret[text.size] = '\0';
	return true;
}
