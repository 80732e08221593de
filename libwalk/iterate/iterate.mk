# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs of libwalk/iterate/bpf: NAME.bpf.c -> clang -> bpftool -> $(BUILD)/gen/iterate/NAME.lskel.h.
# Needs nothing of the machine that builds but clang, bpftool and libbpf's headers. Without them the
# library is built without the task iterator. Included behind OBJ_LIBWALK.

BPF_CLANG ?= clang
BPFTOOL   ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
BPF_GEN   := $(BUILD)/gen/iterate
BPF_NAMES := tasks moved returns files sample host calls descriptors lives mappings timers shm epolls functions deaths made blocked faults pairs locks
BPF_LSKEL := $(BPF_NAMES:%=$(BPF_GEN)/%.lskel.h)
# The programs have their files and lines in them, for the kernel: they must not name the folder of who builds.
BPF_CFLAGS := -target bpf -mcpu=v3 -std=gnu17 -O2 -g -ffreestanding -Wall -Wextra -Werror -Ilibwalk -fdebug-compilation-dir=.

# The tools that are missing, in words; empty: none.
BPF_MISSING := $(shell command -v $(BPF_CLANG) >/dev/null || echo clang; \
	$(BPFTOOL) version >/dev/null 2>&1 || echo bpftool; \
	echo '\#include <bpf/skel_internal.h>' | $(CC) -E -x c - >/dev/null 2>&1 || echo libbpf-dev)

ITERATE := $(BUILD)/obj/libwalk/iterate
ifeq ($(BPF_MISSING),)
OBJ_LIBWALK := $(filter-out %.bpf.o $(ITERATE)/programs_none.o,$(OBJ_LIBWALK))
else
OBJ_LIBWALK := $(filter-out %.bpf.o $(ITERATE)/programs.o,$(OBJ_LIBWALK))
# Said by each build, compiled or not.
$(ITERATE)/programs_none.o: | iterate-missing
.PHONY: iterate-missing
iterate-missing:
	@echo "snapwalk: built without the task iterator, every capture stops all threads;" \
		"missing: $(BPF_MISSING)" >&2
endif

$(ITERATE)/programs.o: ALL_CFLAGS += -isystem $(BPF_GEN)
$(ITERATE)/programs.o: $(BPF_LSKEL) $(BPF_GEN)/digests.h

$(BPF_GEN)/%.bpf.o: libwalk/iterate/bpf/%.bpf.c $(wildcard libwalk/iterate/bpf/*.h) \
		$(wildcard libwalk/iterate/*.h) libwalk/iterate/iterate.mk
	@mkdir -p $(@D)
	$(BPF_CLANG) $(BPF_CFLAGS) -c -o $@ $<
# Through a file beside it: no half-written header is left when it fails.
$(BPF_GEN)/%.lskel.h: $(BPF_GEN)/%.bpf.o
	$(BPFTOOL) gen skeleton -L $< name sw_$* > $@.new
	mv $@.new $@
# The build of each program that stays in the kernel (iterate/pins.h).
$(BPF_GEN)/digests.h: $(BPF_NAMES:%=$(BPF_GEN)/%.bpf.o)
	for name in $(BPF_NAMES); do \
		printf '#define SW_DIGEST_%s "%.16s"\n' "$$(echo $$name | tr a-z A-Z)" \
			"$$(sha256sum <$(BPF_GEN)/$$name.bpf.o)" || exit 1; done >$@.new
	mv $@.new $@
