# SPDX-License-Identifier: LGPL-2.1-or-later
#
#	sudo make try      install what is needed, build, dump a live process (PID=n for your own)
#	sudo make check    install what the tests need, build, run them
#	make help          the rest

# ---- packages of Debian 12, the only place that names them ------------------------------------
PACKAGES_BUILD := gcc make pkg-config libc6-dev libelf-dev libdw-dev libunwind-dev libjson-c-dev \
	libxxhash-dev libiberty-dev liblzma-dev libdeflate-dev \
	libsystemd-dev libseccomp-dev libinih-dev libzstd-dev libmicrohttpd-dev \
	clang bpftool libbpf-dev
PACKAGES_CHECK := python3 python3-jsonschema libcmocka-dev elfutils gdb g++ musl-tools binutils \
	clang libclang-rt-14-dev valgrind util-linux bash-completion man-db dwz xz-utils \
	systemd socat jq zstd curl
PACKAGES_LINT  := clang-format clang mandoc shellcheck
PACKAGES_BENCH := elfutils gdb python3 valgrind nodejs default-jdk-headless chromium
# Runtimes that compile code (tests/live/jit_fleet.py); what npm has is put into the build folder.
PACKAGES_JIT := llvm-14 llvm-15 python3-numba postgresql-15 qemu-user php8.2-cli php8.2-opcache \
	nodejs default-jdk-headless luajit pypy3 ruby guile-3.0 racket sbcl erlang-base \
	mono-runtime mono-mcs libgccjit-12-dev wabt
# Their packages start services: not for everybody who runs the tests.
PACKAGES_DOORS := monit prometheus-alertmanager
PACKAGES_RUNTIMES := wine64 wine64-tools gcc-mingw-w64-x86-64-posix debootstrap debian-archive-keyring

# ---- knobs -----------------------------------------------------------------------------------
CC       ?= gcc
CXX      ?= g++
PYTHON   ?= /usr/bin/python3
PREFIX   ?= /usr
DESTDIR  ?=
BUILD    ?= build
SANITIZE ?=
VERSION  := 0.1.0
SOVERSION := 0

CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSW_VERSION='"$(VERSION)"' -fPIC -fvisibility=hidden \
	-fno-omit-frame-pointer $(WARN) $(CFLAGS) $(SAN_FLAGS)
ifneq ($(SANITIZE),)
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
BUILD     := $(BUILD)-asan
endif

LIBS_WALK     := -ldw -lelf -ldeflate
# Loaded when a second opinion is asked for (libwalk/compare/load.h), never linked.
LIBS_UNWIND   :=
LIBS_SYM      := -ldw -lelf -llzma -ldeflate -liberty
LIBS_PROTOCOL := -ljson-c -lxxhash
LIBS_DAEMON   := -lsystemd -lseccomp -linih -lzstd
LIBS_GATE     := -lmicrohttpd

# ---- rooms: each is compiled with its own -I list, so that nobody reaches into another's -------
INC_BASE       := -Ilibwalk/base -Ilibwalk/include
INC_LIBWALK    := -Ilibwalk $(INC_BASE)
INC_SYMBOLIZER := -Isymbolizer -Isymbolizer/include $(INC_BASE)
INC_PROTOCOL   := -Iprotocol -Iprotocol/include -Isymbolizer/include $(INC_BASE)
INC_CLI        := -Icli -Iprotocol/include -Isymbolizer/include $(INC_BASE)
INC_DAEMON     := -Idaemon -Iprotocol/include -Isymbolizer/include $(INC_BASE)
# Tests look inside every room; only they may.
INC_TESTS      := -Itests/unit -Icli -Idaemon -Iprotocol -Iprotocol/include -Isymbolizer -Isymbolizer/include \
	-Ilibwalk $(INC_BASE)

# sources DIR: all below it, folder by folder.
sources = $(sort $(foreach entry,$(wildcard $(1)/*),$(filter %.c,$(entry)) $(call sources,$(entry))))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
OBJ_BASE       := $(call objects,libwalk/base)
OBJ_LIBWALK    := $(filter-out $(OBJ_BASE),$(call objects,libwalk))
OBJ_SYMBOLIZER := $(call objects,symbolizer)
OBJ_PROTOCOL   := $(call objects,protocol)
OBJ_CLI        := $(call objects,cli)
OBJ_DAEMON     := $(call objects,daemon)
# The gate is a program of its own, without the daemon's code; mains are in no archive.
OBJ_GATE       := $(filter $(BUILD)/obj/daemon/gate_%,$(OBJ_DAEMON))
include libwalk/iterate/iterate.mk
.DEFAULT_GOAL := all

$(OBJ_BASE):       INC := $(INC_BASE)
$(OBJ_LIBWALK):    INC := $(INC_LIBWALK)
$(OBJ_SYMBOLIZER): INC := $(INC_SYMBOLIZER)
$(OBJ_PROTOCOL):   INC := $(INC_PROTOCOL)
$(OBJ_CLI):        INC := $(INC_CLI)
$(OBJ_DAEMON):     INC := $(INC_DAEMON)

BIN   := $(BUILD)/bin
LIB   := $(BUILD)/lib
SO_WALK       := $(LIB)/libwalk.so.$(SOVERSION)
SO_SYMBOLIZER := $(LIB)/libsnapwalk-symbolizer.so.$(SOVERSION)
SO_PROTOCOL   := $(LIB)/libsnapwalk-protocol.so.$(SOVERSION)
ARCHIVES := $(LIB)/libprotocol.a $(LIB)/libsymbolizer.a $(LIB)/libwalk.a $(LIB)/libbase.a

.PHONY: all
all: $(BIN)/snapwalk $(BIN)/snapwalkd $(BIN)/snapwalk-gate $(SO_WALK) $(SO_SYMBOLIZER) $(SO_PROTOCOL)

# Interface definitions are put into the library as they are (.incbin).
$(BUILD)/obj/protocol/interfaces.o: $(wildcard protocol/*.varlink)
$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC) -MMD -MP -c -o $@ $<

$(LIB)/libbase.a: $(OBJ_BASE)
$(LIB)/libwalk.a: $(OBJ_LIBWALK)
$(LIB)/libsymbolizer.a: $(OBJ_SYMBOLIZER)
$(LIB)/libprotocol.a: $(OBJ_PROTOCOL)
$(LIB)/libdaemon.a: $(filter-out %/main.o $(OBJ_GATE),$(OBJ_DAEMON))
$(LIB)/libgate.a: $(filter-out %/gate_main.o,$(OBJ_GATE))
$(LIB)/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

# The command links our own code statically (no start-up cost for it) and the system's dynamically.
$(BIN)/snapwalk: $(OBJ_CLI) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $(OBJ_CLI) $(ARCHIVES) -Wl,--as-needed -Wl,-O1 \
		$(LIBS_PROTOCOL) $(LIBS_SYM) $(LIBS_WALK) $(LIBS_UNWIND)

$(BIN)/snapwalkd: $(BUILD)/obj/daemon/main.o $(LIB)/libdaemon.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(LIB)/libdaemon.a $(ARCHIVES) -Wl,--as-needed -Wl,-O1 \
		$(LIBS_DAEMON) $(LIBS_PROTOCOL) $(LIBS_SYM) $(LIBS_WALK) $(LIBS_UNWIND)

# A client in a sandbox of its own: nothing that stops, walks or stores.
$(BIN)/snapwalk-gate: $(BUILD)/obj/daemon/gate_main.o $(LIB)/libgate.a $(LIB)/libprotocol.a \
		$(LIB)/libbase.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(LIB)/libgate.a $(LIB)/libprotocol.a $(LIB)/libbase.a \
		-Wl,--as-needed -Wl,-O1 $(LIBS_GATE) $(LIBS_PROTOCOL)

define shared
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--as-needed -o $@ \
		-Wl,--whole-archive $(1) -Wl,--no-whole-archive $(2)
	ln -sf $(@F) $(basename $@)
endef

$(SO_WALK): $(LIB)/libwalk.a $(LIB)/libbase.a
	$(call shared,$(LIB)/libwalk.a,$(LIB)/libbase.a $(LIBS_WALK) $(LIBS_UNWIND))
$(SO_SYMBOLIZER): $(LIB)/libsymbolizer.a $(LIB)/libbase.a $(SO_WALK)
	$(call shared,$(LIB)/libsymbolizer.a,$(LIB)/libbase.a $(SO_WALK) $(LIBS_SYM))
$(SO_PROTOCOL): $(LIB)/libprotocol.a $(LIB)/libbase.a $(SO_SYMBOLIZER) $(SO_WALK)
	$(call shared,$(LIB)/libprotocol.a,$(LIB)/libbase.a $(SO_SYMBOLIZER) $(SO_WALK) $(LIBS_PROTOCOL))

include tests/tests.mk

# ---- packages ---------------------------------------------------------------------------------
# Installs only what is missing; without root it says what to install.
define install_packages
	@missing=""; for p in $(1); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q '^install ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" != 0 ]; then \
			echo "snapwalk: packages are missing:$$missing" >&2; \
			echo "snapwalk: run: sudo apt-get install$$missing" >&2; exit 1; \
		fi; \
		echo "installing:$$missing"; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null 2>&1 || { \
			apt-get update -qq && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; \
	fi
endef

.PHONY: deps deps-check deps-lint deps-bench deps-doors deps-runtimes
deps:
	$(call install_packages,$(PACKAGES_BUILD))
deps-check: deps
	$(call install_packages,$(PACKAGES_CHECK))
deps-lint:
	$(call install_packages,$(PACKAGES_BUILD) $(PACKAGES_LINT))
deps-bench: deps
	$(call install_packages,$(PACKAGES_BENCH))
deps-doors: deps
	$(call install_packages,$(PACKAGES_DOORS))
# Some packages of nodejs bring npm along, and refuse the one of that name.
deps-runtimes: deps
	$(call install_packages,$(PACKAGES_RUNTIMES) $(PACKAGES_JIT) $(if $(shell command -v npm),,npm))

# ---- the two commands of the README -----------------------------------------------------------
.PHONY: try check
try: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@tests/try.sh $(BIN)/snapwalk $(PID)

check: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(MAKE) --no-print-directory -s check-run

# ---- house keeping ----------------------------------------------------------------------------
SOURCES_C := $(wildcard libwalk/*/*.[ch] libwalk/*/*/*.[ch] libwalk/include/snapwalk/*.h \
	symbolizer/*.[ch] symbolizer/include/snapwalk/*.h protocol/*.[ch] \
	protocol/include/snapwalk/*.h cli/*.[ch] daemon/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/bench/*.[ch] \
	tests/live/*.[ch])

.PHONY: fmt fmt-check lint layers
fmt:
	clang-format -i $(SOURCES_C)
fmt-check:
	@clang-format --dry-run --Werror $(SOURCES_C)
lint: deps-lint
	@$(MAKE) --no-print-directory fmt-check
	@tests/lint.sh
	@$(MAKE) --no-print-directory -s -j$$(nproc) CC=clang BUILD=$(BUILD)-clang all
layers:
	@tests/layers.sh "$(CC)" "$(ALL_CFLAGS)" libwalk/base "$(INC_BASE)" libwalk "$(INC_LIBWALK)" \
		symbolizer "$(INC_SYMBOLIZER)" protocol "$(INC_PROTOCOL)" cli "$(INC_CLI)" daemon "$(INC_DAEMON)"
	@tests/held.sh "$(CC)" "$(ALL_CFLAGS) $(INC_LIBWALK)"

.PHONY: install
install: all
	install -D -m 755 $(BIN)/snapwalk $(DESTDIR)$(PREFIX)/bin/snapwalk
	install -D -m 755 $(BIN)/snapwalkd $(DESTDIR)$(PREFIX)/sbin/snapwalkd
	install -D -m 755 $(BIN)/snapwalk-gate $(DESTDIR)$(PREFIX)/sbin/snapwalk-gate
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include/snapwalk
	for so in $(SO_WALK) $(SO_SYMBOLIZER) $(SO_PROTOCOL); do \
		install -m 755 $$so $(DESTDIR)$(PREFIX)/lib/; \
		ln -sf $$(basename $$so) $(DESTDIR)$(PREFIX)/lib/$$(basename $$so .$(SOVERSION)); done
	install -m 644 libwalk/include/snapwalk/* symbolizer/include/snapwalk/* \
		protocol/include/snapwalk/* $(DESTDIR)$(PREFIX)/include/snapwalk/
	for page in man/*.[1-8]; do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$(basename $$page); done
	install -D -m 644 protocol/snapwalk-dump.schema.json $(DESTDIR)$(PREFIX)/share/snapwalk/snapwalk-dump.schema.json
	install -D -m 644 protocol/io.snapwalk.varlink $(DESTDIR)$(PREFIX)/share/snapwalk/io.snapwalk.varlink
	for unit in snapwalkd.service snapwalkd.socket snapwalk-gate.service; do \
		install -D -m 644 daemon/units/$$unit $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit; done
	install -D -m 644 daemon/units/snapwalk.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/snapwalk.conf
	install -D -m 644 daemon/units/snapwalk.tmpfiles $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/snapwalk.conf
	install -d $(DESTDIR)/etc/snapwalk/snapwalk.conf.d $(DESTDIR)/etc/snapwalk/rules.d
	test -e $(DESTDIR)/etc/snapwalk/snapwalk.conf || \
		install -m 644 daemon/units/snapwalk.conf $(DESTDIR)/etc/snapwalk/snapwalk.conf
	install -D -m 644 daemon/units/snapwalk.conf $(DESTDIR)$(PREFIX)/share/doc/snapwalk/snapwalk.conf
	install -D -m 644 cli/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/snapwalk

.PHONY: clean help
clean:
	rm -rf build build-asan build-clang
help:
	@sed -n '3,5s/^#	//p' Makefile
	@printf '%s\n' 'make               build' \
		'sudo make install  below PREFIX=/usr, DESTDIR= before it' \
		'make check-asan    unit tests, fuzzers and hostile input, sanitized' \
		'make check-runtimes  real runtimes; installs them' \
		'make lint layers   what a compiler does not see; who may include and call what' \
		'make fmt           format the C code' \
		'make fuzz bench    FUZZ_SECONDS=60 for each fuzzer; the tables of the README' \
		'make clean'

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
