# SPDX-License-Identifier: LGPL-2.1-or-later
#
#	sudo make try      install what is needed, build, dump a live process (PID=n for your own)
#	sudo make check    install what the tests need, build, run them
#	make help          the rest

# ---- sudo make: what is in build/ belongs to the user who called it, also when something fails -----------
ifneq ($(and $(SUDO_UID),$(SUDO_GID),$(filter 0,$(shell id -u)),$(if $(AS_SUDO),,1)),)
.PHONY: as-sudo
$(or $(MAKECMDGOALS),all): as-sudo ;
# The trap lets this shell outlive an interrupt, which ends the make that it waits for.
as-sudo:
	@trap : INT TERM HUP; \
	$(MAKE) --no-print-directory AS_SUDO=1 $(MAKECMDGOALS); status=$$?; \
	for folder in "$(or $(BUILD),build)" "$(or $(BUILD),build)"-*; do [ ! -d "$$folder" ] || \
		find "$$folder" -xdev ! -uid $(SUDO_UID) -exec chown -h $(SUDO_UID):$(SUDO_GID) {} +; \
	done; exit $$status
else

# ---- packages of Debian 12, the only place that names them ------------------------------------
PACKAGES_BUILD := gcc make pkg-config libc6-dev libelf-dev libdw-dev libunwind-dev libjson-c-dev \
	libxxhash-dev libiberty-dev liblzma-dev libdeflate-dev \
	libsystemd-dev libinih-dev libzstd-dev libmicrohttpd-dev libcurl4-openssl-dev \
	clang bpftool libbpf-dev
PACKAGES_CHECK := python3 python3-jsonschema libcmocka-dev elfutils gdb g++ musl-tools binutils \
	clang llvm libclang-rt-dev git valgrind util-linux bash-completion man-db dwz xz-utils \
	systemd socat jq zsh fish minisign libbz2-dev zstd curl gcc-multilib g++-multilib
# Static libraries that are in no package of the above.
PACKAGES_STATIC := libbz2-dev zlib1g-dev
PACKAGES_DEB   := dpkg-dev debhelper fakeroot lintian autopkgtest systemd
PACKAGES_RPM   := rpm rpmlint
PACKAGES_DIST  := python3 minisign
PACKAGES_IMAGE := podman runc buildah mmdebstrap
PACKAGES_FMT   := clang-format
PACKAGES_LINT  := $(PACKAGES_FMT) clang git mandoc python3 shellcheck
PACKAGES_LAYERS := python3 binutils
PACKAGES_BENCH := elfutils gdb python3 valgrind nodejs default-jdk-headless chromium
PACKAGES_EVENTS := python3 linux-perf bpftrace strace heaptrack valgrind
# Runtimes that compile code (tests/live/jit_fleet.py); what npm has is put into the build folder.
PACKAGES_JIT := llvm-14 llvm-15 python3-numba postgresql-15 qemu-user php8.2-cli php8.2-opcache \
	nodejs default-jdk-headless luajit pypy3 ruby guile-3.0 racket sbcl erlang-base \
	mono-runtime mono-mcs libgccjit-12-dev wabt
# Monitoring systems. Their packages start services: not for everybody who runs the tests.
PACKAGES_MONITORS := monit prometheus-alertmanager
PACKAGES_RUNTIMES := wine64 wine64-tools gcc-mingw-w64-x86-64-posix debootstrap debian-archive-keyring \
	python3-gevent golang-go php8.2-cli php8.2-fpm php8.2-opcache ruby ruby-sinatra puma protobuf-compiler \
	chromium
# 32-bit Windows programs; their Wine is in a root directory of its own (tests/targets/wine/chroot.sh).
PACKAGES_WINE32 := gcc-mingw-w64-i686-win32 debootstrap debian-archive-keyring
PACKAGES_INSTALLED := systemd-container debootstrap debian-archive-keyring git zstd
PACKAGES_FRESH := debootstrap debian-archive-keyring git util-linux
PACKAGES_KERNEL := qemu-system-x86 busybox-static cpio
PACKAGES_NFS := $(PACKAGES_KERNEL) nfs-ganesha nfs-ganesha-mem

# ---- knobs: on the command line or in the environment -----------------------------------------
CC       ?= gcc
CXX      ?= g++
PYTHON   ?= /usr/bin/python3
BUILD    ?= build
SANITIZE ?=
VERSION  := 0.2.0
SOVERSION := 0

CPPFLAGS ?=
# With sanitizers -O1 and lines alone: the same reports, in less than half of the time to compile.
CFLAGS   ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
LDFLAGS  ?=
# Set by the project's own checks: a newer compiler with a new warning must not stop anybody's build.
WERROR   ?=

# Where things are installed, below DESTDIR. Other paths may have spaces, but BUILD.
DESTDIR     ?=
PREFIX      ?= /usr
BINDIR      ?= $(PREFIX)/bin
SBINDIR     ?= $(PREFIX)/sbin
LIBDIR      ?= $(PREFIX)/lib
INCLUDEDIR  ?= $(PREFIX)/include
DATADIR     ?= $(PREFIX)/share
MANDIR      ?= $(DATADIR)/man
ZSHDIR      ?= $(DATADIR)/zsh/site-functions
FISHDIR     ?= $(DATADIR)/fish/vendor_completions.d
SYSCONFDIR  ?= /etc
UNITDIR     ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d

# ---- how everything is compiled and linked ----------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(WERROR)
ifneq ($(SANITIZE),)
# The build without sanitizers warns: with them, gcc does not see what a function sets or which values a number can have,
# and takes a sixth longer.
WARN      := -w
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
BUILD     := $(BUILD)-asan
endif

# Hardening, as far as the compiler knows it. _FORTIFY_SOURCE is for optimised code, may be set by
# who builds, and does what the sanitizers do better.
known = $(shell for flag in $(1); do $(CC) -Werror $$flag -E -x c /dev/null >/dev/null 2>&1 && echo $$flag; done)
HARDEN := $(call known,-fstack-protector-strong -fstack-clash-protection -fcf-protection)
OPTIMISED := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
ifeq ($(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),)
HARDEN += $(if $(OPTIMISED),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif

ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSW_VERSION='"$(VERSION)"' -DSW_SYSCONFDIR='"$(SYSCONFDIR)"' \
	-fPIC -fvisibility=hidden -fno-omit-frame-pointer $(HARDEN) $(WARN) $(CPPFLAGS) $(CFLAGS) $(SAN_FLAGS)
# Read-only after relocation, all of it (full RELRO).
ALL_LDFLAGS = -Wl,--as-needed -Wl,-O1 -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS)

# The linker marks no program as fit for shadow stacks where the C library's start files are not marked, which return to
# nobody: all other code is (-fcf-protection). Indirect branches are left unmarked then, as those files lack their targets.
MARKED = $(if $(filter -fcf-protection,$(HARDEN)),-Wl$(comma)-z$(comma)shstk)

LIBS_WALK     := -ldw -lelf -ldeflate
# Loaded when a second opinion is asked for (libwalk/compare/load.h), never linked.
LIBS_UNWIND   :=
LIBS_SYM      := -ldw -lelf -llzma -ldeflate -lzstd -liberty
LIBS_PROTOCOL := -ljson-c -lxxhash -ldeflate
# COMMAND_LIBS=archives: the command has these within itself, where all their archives are here (make static needs them,
# too): to load nine takes longer than to stop and walk a process of one thread. Packages of distributions load them, as
# those are mended without us; so do tests that replace a function of libdw (tests/targets/attack.c).
COMMAND_LIBS  ?= shared
LIBS_STATIC   := $(LIBS_PROTOCOL) $(LIBS_SYM) $(LIBS_WALK) -lz -lbz2
without_archive = $(strip $(foreach library,$(1),$(if $(filter /%,$(shell \
	$(CC) -print-file-name=$(patsubst -l%,lib%.a,$(library)))),,$(library))))
LIBS_COMMAND  = $(if $(filter shared,$(COMMAND_LIBS))$(call without_archive,$(LIBS_STATIC)),$(LIBS_PROTOCOL) \
	$(LIBS_SYM) $(LIBS_WALK),-Wl$(comma)-Bstatic $(LIBS_STATIC) -Wl$(comma)-Bdynamic)
LIBS_DAEMON   := -lsystemd -linih -lzstd
LIBS_GATE     := -lmicrohttpd
LIBS_SHIP     := -lcurl

# ---- components: each is compiled with its own -I list, and cannot include what is internal to another
INC_BASE       := -Ilibwalk/base -Ilibwalk/include
# Files of others, for libwalk and the symbolizer.
INC_FORMATS    := -Ilibwalk/formats $(INC_BASE)
INC_LIBWALK    := -Ilibwalk $(INC_BASE)
INC_SYMBOLIZER := -Isymbolizer -Isymbolizer/include $(INC_FORMATS)
INC_PROTOCOL   := -Iprotocol -Iprotocol/include -Isymbolizer/include $(INC_BASE)
INC_CONFINE    := -Iconfine/include $(INC_BASE)
INC_CLI        := -Icli -Iconfine/include -Iprotocol/include -Isymbolizer/include $(INC_BASE)
INC_DAEMON     := -Idaemon -Iconfine/include -Iprotocol/include -Isymbolizer/include $(INC_BASE)
# Tests may include what is internal to any of them.
INC_TESTS      := -Itests/unit -Icli -Idaemon -Iconfine/include -Iprotocol -Iprotocol/include -Isymbolizer -Isymbolizer/include \
	-Ilibwalk $(INC_FORMATS)

# sources DIR: all below it, folder by folder.
sources = $(sort $(foreach entry,$(wildcard $(1)/*),$(filter %.c,$(entry)) $(call sources,$(entry))))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
OBJ_BASE       := $(call objects,libwalk/base)
OBJ_FORMATS    := $(call objects,libwalk/formats)
OBJ_LIBWALK    := $(filter-out $(OBJ_BASE) $(OBJ_FORMATS),$(call objects,libwalk))
OBJ_SYMBOLIZER := $(call objects,symbolizer)
OBJ_PROTOCOL   := $(call objects,protocol)
OBJ_CONFINE    := $(call objects,confine)
OBJ_CLI        := $(call objects,cli)
# The gate and the shipper are programs of their own, without the daemon's code; mains are in no archive.
OBJ_GATE       := $(call objects,daemon/gate)
OBJ_SHIP       := $(call objects,daemon/ship)
OBJ_DAEMON     := $(filter-out $(OBJ_GATE) $(OBJ_SHIP),$(call objects,daemon))
# Folders of the daemon, those first that others may refer to: see tests/graph.py.
ORDER_LIBWALK  := base arch formats process stop iterate iterate/bpf copier copies events snapshot waits unwind capture saved cfi pe native \
	runtimes/clr/metadata runtimes/clr/published runtimes/clr/objects runtimes/clr/code runtimes/clr/tasks \
	runtimes/hotspot/published runtimes/hotspot/structures runtimes/hotspot/virtual \
	runtimes/cpython/extensions,runtimes/cpython/structures runtimes/v8/instructions,runtimes/v8/objects \
	runtimes/*!jit,jit/* jit/common jit/gdb,jit/libgcc,jit/ftable,jit/perf jit walk sample compare
ORDER_DAEMON   := config policy rules,sandbox,store rpc,worker launcher jobs methods . gate,ship!*
include libwalk/iterate/iterate.mk
$(BUILD)/obj/cli/common/pair_file.o: ALL_CFLAGS += -DSW_DATADIR='"$(DATADIR)"'
.DEFAULT_GOAL := all

$(OBJ_BASE):       INC := $(INC_BASE)
$(OBJ_FORMATS):    INC := $(INC_FORMATS)
$(OBJ_LIBWALK):    INC := $(INC_LIBWALK)
$(OBJ_SYMBOLIZER): INC := $(INC_SYMBOLIZER)
$(OBJ_PROTOCOL):   INC := $(INC_PROTOCOL)
$(OBJ_CONFINE):    INC := $(INC_CONFINE)
$(OBJ_CLI):        INC := $(INC_CLI)
$(OBJ_DAEMON) $(OBJ_GATE) $(OBJ_SHIP): INC := $(INC_DAEMON)

BIN   := $(BUILD)/bin
LIB   := $(BUILD)/lib
SO_WALK       := $(LIB)/libwalk.so.$(SOVERSION)
SO_SYMBOLIZER := $(LIB)/libsnapwalk-symbolizer.so.$(SOVERSION)
SO_PROTOCOL   := $(LIB)/libsnapwalk-protocol.so.$(SOVERSION)
ARCHIVES := $(LIB)/libprotocol.a $(LIB)/libsymbolizer.a $(LIB)/libwalk.a $(LIB)/libformats.a \
	$(LIB)/libbase.a

.PHONY: all
all: $(BIN)/snapwalk $(BIN)/snapwalkd $(BIN)/snapwalk-gate $(BIN)/snapwalk-ship $(SO_WALK) $(SO_SYMBOLIZER) $(SO_PROTOCOL)

# The flags with which everything was made: when they change, everything is made again. -Werror changes nothing.
FLAGS := $(CC) $(filter-out -Werror,$(ALL_CFLAGS)) $(ALL_LDFLAGS)
ifneq ($(file <$(BUILD)/flags),$(FLAGS))
.PHONY: $(BUILD)/flags
endif
$(BUILD)/flags: export FLAGS := $(FLAGS)
$(BUILD)/flags: | needed
	@mkdir -p $(@D)
	@printf '%s\n' "$$FLAGS" >$@

# These files are put into the library as they are (.incbin).
$(BUILD)/obj/protocol/interfaces.o: $(wildcard protocol/*.varlink)
$(BUILD)/obj/protocol/profile/html.o: protocol/profile/page.html
$(BUILD)/obj/protocol/report/html/html.o: protocol/report/html/page.html
$(BUILD)/obj/%.o: %.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC) -MMD -MP -c -o $@ $<

$(LIB)/libbase.a: $(OBJ_BASE)
$(LIB)/libformats.a: $(OBJ_FORMATS)
$(LIB)/libwalk.a: $(OBJ_LIBWALK)
$(LIB)/libsymbolizer.a: $(OBJ_SYMBOLIZER)
$(LIB)/libprotocol.a: $(OBJ_PROTOCOL)
$(LIB)/libconfine.a: $(OBJ_CONFINE)
$(LIB)/libdaemon.a: $(filter-out %/main.o,$(OBJ_DAEMON))
$(LIB)/libgate.a: $(filter-out %/main.o,$(OBJ_GATE))
$(LIB)/libship.a: $(filter-out %/main.o,$(OBJ_SHIP))
$(LIB)/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# The command links our own code statically: no start-up cost for it.
$(BIN)/snapwalk: $(OBJ_CLI) $(LIB)/libconfine.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(MARKED) -o $@ $(OBJ_CLI) $(LIB)/libconfine.a $(ARCHIVES) \
		$(LIBS_COMMAND) $(LIBS_UNWIND)

$(BIN)/snapwalkd: $(BUILD)/obj/daemon/main.o $(LIB)/libdaemon.a $(LIB)/libconfine.a $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(MARKED) -o $@ $< $(LIB)/libdaemon.a $(LIB)/libconfine.a $(ARCHIVES) \
		$(LIBS_DAEMON) $(LIBS_PROTOCOL) $(LIBS_SYM) $(LIBS_WALK) $(LIBS_UNWIND)

# The command as one file that runs where nothing else is: another C library, an empty root directory. The linker takes
# load.o and library.o before those of the archives, which would load a library.
STATIC := $(BUILD)/static
$(STATIC)/load.o: libwalk/compare/load.c libwalk/compare/load.h Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_LIBWALK) -DSW_STATIC -c -o $@ $<
$(STATIC)/library.o: symbolizer/archives/library.c symbolizer/archives/library.h Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_SYMBOLIZER) -DSW_STATIC -c -o $@ $<
$(STATIC)/snapwalk: $(STATIC)/load.o $(STATIC)/library.o $(OBJ_CLI) $(LIB)/libconfine.a $(ARCHIVES)
	@missing="$(patsubst -l%,lib%.a,$(call without_archive,$(LIBS_STATIC) -lc))"; \
	[ -z "$$missing" ] || { echo "snapwalk: needed for a static file, but not here: $$missing:" \
		"'sudo make deps-static' installs the packages of Debian 12" >&2; exit 1; }
	$(CC) $(ALL_CFLAGS) -static-pie $(ALL_LDFLAGS) -s -o $@ $(STATIC)/load.o $(STATIC)/library.o \
		$(OBJ_CLI) $(LIB)/libconfine.a \
		$(ARCHIVES) $(LIBS_STATIC)
.PHONY: static
static: $(STATIC)/snapwalk

# Clients in sandboxes of their own: nothing that stops, walks or stores. Of libwalk they have words of dumps.
define client
$(BIN)/snapwalk-$(1): $(BUILD)/obj/daemon/$(1)/main.o $(LIB)/lib$(1).a $(LIB)/libconfine.a $(LIB)/libprotocol.a \
		$(LIB)/libwalk.a $(LIB)/libbase.a
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) -pie $$(ALL_LDFLAGS) $$(MARKED) -o $$@ $$< $(LIB)/lib$(1).a $(LIB)/libconfine.a \
		$(LIB)/libprotocol.a $(LIB)/libwalk.a $(LIB)/libbase.a $(2) $$(LIBS_PROTOCOL)
endef
$(eval $(call client,gate,$(LIBS_GATE)))
$(eval $(call client,ship,$(LIBS_SHIP)))

# Exported is what a library's map says (tests/live/test_build.py compares with the headers).
define shared
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared $(ALL_LDFLAGS) $(MARKED) -Wl,-z,defs -Wl,-soname,$(@F) -Wl,--version-script=$(1) -o $@ \
		-Wl,--whole-archive $(2) -Wl,--no-whole-archive $(3)
	ln -sf $(@F) $(basename $@)
endef

MAP_WALK       := libwalk/libwalk.map
MAP_SYMBOLIZER := symbolizer/libsnapwalk-symbolizer.map
MAP_PROTOCOL   := protocol/libsnapwalk-protocol.map
$(SO_WALK): $(MAP_WALK) $(LIB)/libwalk.a $(LIB)/libformats.a $(LIB)/libbase.a
	$(call shared,$(MAP_WALK),$(LIB)/libwalk.a,$(LIB)/libformats.a $(LIB)/libbase.a $(LIBS_WALK) $(LIBS_UNWIND))
$(SO_SYMBOLIZER): $(MAP_SYMBOLIZER) $(LIB)/libsymbolizer.a $(LIB)/libformats.a $(LIB)/libbase.a $(SO_WALK)
	$(call shared,$(MAP_SYMBOLIZER),$(LIB)/libsymbolizer.a,$(LIB)/libformats.a $(LIB)/libbase.a $(SO_WALK) $(LIBS_SYM))
$(SO_PROTOCOL): $(MAP_PROTOCOL) $(LIB)/libprotocol.a $(LIB)/libbase.a $(SO_SYMBOLIZER) $(SO_WALK)
	$(call shared,$(MAP_PROTOCOL),$(LIB)/libprotocol.a,$(LIB)/libbase.a $(SO_SYMBOLIZER) $(SO_WALK) $(LIBS_PROTOCOL))

# Which object needs which header, for goals that compile something: reading it takes make a second.
WITHOUT_OBJECTS := check check-run check-tools check-asan check-asan-run asan-build lint layers fmt fmt-check help \
	system needed deps $(filter deps-%,$(MAKECMDGOALS))
dependencies = $(if $(filter-out $(WITHOUT_OBJECTS),$(or $(MAKECMDGOALS),all)),$(shell find $(1) -name '*.d' 2>/dev/null))

include tests/tests.mk

# ---- what must be there -----------------------------------------------------------------------
# glibc 2.32 has strerrordesc_np(), json-c 0.16 JSON_C_OBJECT_ADD_CONSTANT_KEY.
NEEDED_GLIBC := 2.32
NEEDED := 'json-c >= 0.16' libelf libdw libxxhash liblzma libdeflate libsystemd inih libzstd \
	libmicrohttpd libcurl
GLIBC ?= $(lastword $(shell getconf GNU_LIBC_VERSION 2>/dev/null))

# In one line each, instead of hundreds of the compiler's.
.PHONY: system needed
system:
	@printf '%s\n' $(NEEDED_GLIBC) "$(GLIBC)" | sort -C -V || { echo "snapwalk: this system is too old:" \
		"it has glibc $(GLIBC), needed is $(NEEDED_GLIBC) or newer (Debian 12, Ubuntu 24.04)" >&2; exit 1; }
needed: system
	@missing=""; for library in $(NEEDED); do \
		pkg-config --exists "$$library" 2>/dev/null || missing="$$missing, $$library"; done; \
	[ -z "$$missing" ] || { echo "snapwalk: needed to build, but not here: $${missing#, }:" \
		"'sudo make deps' installs the packages of Debian 12" >&2; exit 1; }

# ---- packages ---------------------------------------------------------------------------------
# Installs only what is missing; without root it says what to install.
define install_packages
	@packaging/install.sh $(1)
endef

.PHONY: deps deps-check deps-static deps-deb deps-rpm deps-dist deps-fmt deps-lint deps-layers deps-bench deps-events deps-monitors deps-runtimes deps-wine32 deps-installed deps-fresh deps-image deps-kernel deps-nfs
deps: system
	$(call install_packages,$(PACKAGES_BUILD))
deps-check: deps
	$(call install_packages,$(PACKAGES_CHECK))
deps-static: deps
	$(call install_packages,$(PACKAGES_STATIC))
deps-deb: deps
	$(call install_packages,$(PACKAGES_DEB))
deps-rpm: deps
	$(call install_packages,$(PACKAGES_RPM))
deps-dist: deps-static
	$(call install_packages,$(PACKAGES_DIST))
deps-fmt: system
	$(call install_packages,$(PACKAGES_FMT))
deps-layers: deps
	$(call install_packages,$(PACKAGES_LAYERS))
deps-lint: system
	$(call install_packages,$(PACKAGES_BUILD) $(PACKAGES_LINT))
deps-bench: deps
	$(call install_packages,$(PACKAGES_BENCH))
deps-events: deps
	$(call install_packages,$(PACKAGES_EVENTS))
deps-wine32: deps
	$(call install_packages,$(PACKAGES_WINE32))
deps-installed: deps
	$(call install_packages,$(PACKAGES_INSTALLED))
deps-fresh: system
	$(call install_packages,$(PACKAGES_FRESH))
deps-image: system
	$(call install_packages,$(PACKAGES_IMAGE))
deps-kernel: deps
	$(call install_packages,$(PACKAGES_KERNEL))
deps-nfs: deps
	$(call install_packages,$(PACKAGES_NFS))
deps-monitors: deps
	$(call install_packages,$(PACKAGES_MONITORS))
# Some packages of nodejs bring npm along, and refuse the one of that name.
deps-runtimes: deps
	$(call install_packages,$(PACKAGES_RUNTIMES) $(PACKAGES_JIT) $(if $(shell command -v npm),,npm))

# ---- the two commands of the README -----------------------------------------------------------
.PHONY: try check
try: deps
	@tests/progress.sh "snapwalk in $(BUILD)" $(MAKE) --no-print-directory -s -j$$(nproc) all
	@tests/try.sh $(BIN)/snapwalk $(PID)

check: deps-check
	@tests/progress.sh "snapwalk and its tests in $(BUILD)" \
		$(MAKE) --no-print-directory -s -j$$(nproc) WERROR=-Werror all tests-build
	@$(MAKE) --no-print-directory -s check-run

# Both in a clean Debian root: make check-fresh SUITE=trixie RUNS=3 BUSY=4 (tests/fresh.sh).
.PHONY: check-fresh
check-fresh: deps-fresh
	@SUITE=$(or $(SUITE),bookworm) RUNS=$(or $(RUNS),1) BUSY=$(or $(BUSY),0) tests/fresh.sh

# ---- checks of the sources ---------------------------------------------------------------------
SOURCES_C = $(shell find libwalk symbolizer protocol confine cli daemon tests/unit tests/fuzz tests/bench tests/live \
	-name '*.[ch]')

.PHONY: fmt fmt-check lint layers layers-run
fmt: deps-fmt
	clang-format -i $(SOURCES_C)
fmt-check: deps-fmt
	@clang-format --dry-run --Werror $(SOURCES_C)
lint: deps-lint
	@$(MAKE) --no-print-directory fmt-check
	@tests/lint.sh
	@$(MAKE) --no-print-directory -s -j$$(nproc) CC=clang CFLAGS=-O0 BUILD=$(BUILD)-clang WERROR=-Werror all
layers: deps-layers
	@$(MAKE) --no-print-directory layers-run
layers-run: $(OBJ_BASE) $(OBJ_FORMATS) $(OBJ_LIBWALK) $(OBJ_SYMBOLIZER) $(OBJ_PROTOCOL) $(OBJ_CONFINE) $(OBJ_CLI) $(OBJ_DAEMON) $(OBJ_GATE) $(OBJ_SHIP)
	@tests/layers.sh "$(CC)" "$(ALL_CFLAGS)" libwalk/base "$(INC_BASE)" libwalk/formats "$(INC_FORMATS)" \
		libwalk "$(INC_LIBWALK)" symbolizer "$(INC_SYMBOLIZER)" protocol "$(INC_PROTOCOL)" confine "$(INC_CONFINE)" cli "$(INC_CLI)" daemon "$(INC_DAEMON)"
	@tests/graph.py --objects $(BUILD)/obj/libwalk --sources libwalk --without '*.bpf.c' \
		--without 'iterate/programs*.c' --order 'include/snapwalk $(ORDER_LIBWALK)' \
		--headers --public libwalk/include/snapwalk --machine x86_64
	@tests/graph.py --objects $(BUILD)/obj/symbolizer --sources symbolizer --headers \
		--public symbolizer/include/snapwalk --order 'include/snapwalk dwarf,packages,unpacked . finder,search,archives'
	@tests/graph.py --objects $(BUILD)/obj/protocol --sources protocol --headers --machine x86_64 \
		--public protocol/include/snapwalk --order 'include/snapwalk . report report/text,report/json,report/parse report/html,profile,pipeline,diff merge,profile/pprof naming recording events otlp probes'
	@tests/graph.py --objects $(BUILD)/obj/cli --sources cli --headers --machine x86_64 --order 'common cache,daemon,doctor,hook,mcp,top run series,dumps events events/objects,events/memory commands .'
	@tests/graph.py --objects $(BUILD)/obj/daemon --sources daemon --headers --order '$(ORDER_DAEMON)'
	@tests/held.sh "$(CC)" "$(ALL_CFLAGS) $(INC_LIBWALK)" $(if $(SANITIZE),,$(if $(filter -O2,$(OPTIMISED)),$(BUILD)/obj))
	@tests/hangs.sh $(BUILD)/obj
	@tests/copier.sh $(BUILD)/obj/libwalk
	@tests/privileged.py --objects $(BUILD)/obj/libwalk --sources libwalk --tables walk/tables.o

# ---- installation -----------------------------------------------------------------------------
# Mode, source, where; a mode of "keep" is a file that the administrator changes, "link" a symbolic link.
define newline


endef
define INSTALLED
755 $(BIN)/snapwalk $(BINDIR)/snapwalk
755 $(BIN)/snapwalkd $(SBINDIR)/snapwalkd
755 $(BIN)/snapwalk-gate $(SBINDIR)/snapwalk-gate
755 $(BIN)/snapwalk-ship $(SBINDIR)/snapwalk-ship
$(foreach so,$(SO_WALK) $(SO_SYMBOLIZER) $(SO_PROTOCOL),755 $(so) $(LIBDIR)/$(notdir $(so))
link $(notdir $(so)) $(LIBDIR)/$(notdir $(basename $(so)))$(newline))
644 libwalk/libwalk.pc $(LIBDIR)/pkgconfig/libwalk.pc
644 symbolizer/libsnapwalk-symbolizer.pc $(LIBDIR)/pkgconfig/libsnapwalk-symbolizer.pc
644 protocol/libsnapwalk-protocol.pc $(LIBDIR)/pkgconfig/libsnapwalk-protocol.pc
$(foreach header,$(wildcard $(addsuffix /include/snapwalk/*,libwalk symbolizer protocol)),\
644 $(header) $(INCLUDEDIR)/snapwalk/$(notdir $(header))$(newline))
$(foreach page,$(wildcard man/*.[1-8]),644 $(page) $(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))$(newline))
644 protocol/snapwalk-dump.schema.json $(DATADIR)/snapwalk/snapwalk-dump.schema.json
644 protocol/snapwalk-explain.schema.json $(DATADIR)/snapwalk/snapwalk-explain.schema.json
644 protocol/snapwalk-merge.schema.json $(DATADIR)/snapwalk/snapwalk-merge.schema.json
644 protocol/snapwalk-profile.schema.json $(DATADIR)/snapwalk/snapwalk-profile.schema.json
$(foreach file,$(or $(wildcard cli/leaks.d/*.conf),$(error cli/leaks.d has no files)),644 $(file) $(DATADIR)/snapwalk/leaks.d/$(notdir $(file))$(newline))
644 protocol/io.snapwalk.varlink $(DATADIR)/snapwalk/io.snapwalk.varlink
644 cli/completion.bash $(DATADIR)/bash-completion/completions/snapwalk
644 cli/completion.zsh $(ZSHDIR)/_snapwalk
644 cli/completion.fish $(FISHDIR)/snapwalk.fish
$(foreach unit,snapwalkd.service snapwalkd.socket snapwalk-gate.service snapwalk-ship.service,\
644 daemon/units/$(unit) $(UNITDIR)/$(unit)$(newline))
644 daemon/units/snapwalk.sysusers $(SYSUSERSDIR)/snapwalk.conf
644 daemon/units/snapwalk.tmpfiles $(TMPFILESDIR)/snapwalk.conf
644 daemon/units/snapwalk.conf $(DATADIR)/doc/snapwalk/snapwalk.conf
644 daemon/units/ship.conf $(DATADIR)/doc/snapwalk/ship.conf
keep daemon/units/snapwalk.conf $(SYSCONFDIR)/snapwalk/snapwalk.conf
keep daemon/units/ship.conf $(SYSCONFDIR)/snapwalk/ship.conf
endef
# Units, pages and pkg-config files have the default paths in them, so that they can be used and
# tested as they are: the chosen ones take their place when they are installed.
CHOSEN := sed -e 's|/usr/bin/snapwalk|$(BINDIR)/snapwalk|g' -e 's|/usr/sbin/snapwalk|$(SBINDIR)/snapwalk|g' \
	-e 's|/usr/share/snapwalk|$(DATADIR)/snapwalk|g' -e 's|/etc/snapwalk|$(SYSCONFDIR)/snapwalk|g' \
	-e 's|^Version:.*|Version: $(VERSION)|' -e 's|^prefix=.*|prefix=$(PREFIX)|' \
	-e 's|^libdir=.*|libdir=$(LIBDIR)|' -e 's|^includedir=.*|includedir=$(INCLUDEDIR)|'

.PHONY: install install-strip uninstall
install uninstall: export INSTALLED := $(INSTALLED)
install: all
	@printf '%s\n' "$$INSTALLED" | while read -r mode source target; do \
		[ -n "$$mode" ] || continue; \
		target="$(DESTDIR)$$target"; \
		mkdir -p "$${target%/*}"; \
		case $$mode in \
		link) ln -sf "$$source" "$$target" ;; \
		755) install $(STRIPPED) -m 755 "$$source" "$$target" ;; \
		keep) [ -e "$$target" ] || { $(CHOSEN) "$$source" >"$$target" && chmod 644 "$$target"; } ;; \
		644) rm -f "$$target" && $(CHOSEN) "$$source" >"$$target" && chmod 644 "$$target" ;; \
		esac || exit 1; \
	done
	@install -d "$(DESTDIR)$(SYSCONFDIR)/snapwalk/snapwalk.conf.d" "$(DESTDIR)$(SYSCONFDIR)/snapwalk/rules.d"
	@[ -n "$(DESTDIR)" ] || $(MAKE) --no-print-directory install-system

install-strip: STRIPPED := -s
install-strip: install

# Users, groups and directories of the running system.
.PHONY: install-system
install-system:
	@if [ "$$(id -u)" = 0 ] && command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null; then \
		systemd-sysusers "$(SYSUSERSDIR)/snapwalk.conf" && \
		systemd-tmpfiles --create "$(TMPFILESDIR)/snapwalk.conf" && ldconfig; \
	else \
		echo "snapwalk: the users snapwalk, snapwalk-gate and snapwalk-ship and their directories were not made:" \
			"that takes root, systemd-sysusers and systemd-tmpfiles" >&2; \
	fi
	@case "$(UNITDIR)" in \
	/etc/systemd/system | /usr/lib/systemd/system | /lib/systemd/system | /usr/local/lib/systemd/system) ;; \
	*) echo "snapwalk: systemd finds no units in $(UNITDIR): UNITDIR=/etc/systemd/system is one that it reads" >&2 ;; \
	esac

# Files that were changed, or that the daemon has made, stay: configuration, dumps, users.
uninstall:
	@printf '%s\n' "$$INSTALLED" | while read -r mode source target; do \
		target="$(DESTDIR)$$target"; \
		[ "$$mode" != keep ] || $(CHOSEN) "$$source" | cmp -s - "$$target" || continue; \
		[ -z "$$mode" ] || rm -f "$$target" || exit 1; \
	done
	@rmdir "$(DESTDIR)$(INCLUDEDIR)/snapwalk" "$(DESTDIR)$(DATADIR)/snapwalk/leaks.d" "$(DESTDIR)$(DATADIR)/snapwalk" "$(DESTDIR)$(DATADIR)/doc/snapwalk" \
		"$(DESTDIR)$(SYSCONFDIR)/snapwalk/snapwalk.conf.d" "$(DESTDIR)$(SYSCONFDIR)/snapwalk/rules.d" \
		"$(DESTDIR)$(SYSCONFDIR)/snapwalk" 2>/dev/null || true
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@[ -n "$(DESTDIR)" ] || rm -f /var/cache/snapwalk/*.sections /var/cache/snapwalk/daemon/*.sections

include packaging/packaging.mk

.PHONY: clean help
clean:
	rm -rf build build-asan build-clang build-coverage
help:
	@sed -n '3,5s/^#	//p' Makefile
	@printf '%s\n' 'make               build' \
		'make static        $(STATIC)/snapwalk: one file, for containers and other machines' \
		'make dist          the files of a release, in $(BUILD)/dist: MINISIGN_KEY=FILE signs them' \
		'sudo make deb rpm  packages of Debian in $(BUILD)/deb, of rpm in $(BUILD)/rpm' \
		'sudo make install  below PREFIX=/usr, DESTDIR= before it; uninstall takes it away, install-strip strips it' \
		'                   SYSCONFDIR=/etc BINDIR SBINDIR LIBDIR INCLUDEDIR DATADIR MANDIR UNITDIR' \
		'                   and CC CPPFLAGS CFLAGS LDFLAGS are honoured by all of them' \
		'make check-asan    unit tests, fuzzers and hostile input, sanitized' \
		'make check-tools   what checks the sources and makes releases, tested itself' \
		'make check-runtimes  real runtimes; installs them' \
		'make soak          random instants, storms and runtimes, again and again: SOAK_MINUTES=60' \
		'make check-installed  the service under systemd, in a container with Debian' \
		'make check-image   the image of the Containerfile, under podman' \
		'make check-wine32  32-bit Windows programs, with a Wine of their own: minutes, 1.6 GB' \
		'make check-kernel  the command on Debian'\''s own kernel, or KERNEL=FILE, emulated' \
		'make check-nfs     programs on NFS whose server stops, on Debian'\''s kernel, emulated' \
		'make check-mutants  faults that are put in one by one: does a test fail?' \
		'make coverage      lines that unit tests run, by folder' \
		'make check-flags   builds with clang, -O0, -O3, -flto; unit tests with each' \
		'make check-reproducible  dist and deb twice, in other folders and environments: the same bytes' \
		'sudo make check-fresh  try and check in a clean root; SUITE=trixie RUNS=3 BUSY=4' \
		'make lint layers   what a compiler does not see; who may include and call what' \
		'make fmt           format the C code' \
		'make fuzz bench bench-sampling bench-events  FUZZ_SECONDS=60 for each fuzzer; the benchmarks' \
		'make docs-performance docs-invisibility  the tables of these pages in docs/, anew' \
		'make docs-picture                        the pictures of README.md, anew' \
		'make clean'

-include $(call dependencies,$(BUILD)/obj)

endif # sudo make
