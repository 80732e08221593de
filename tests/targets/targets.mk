# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that the live tests look at. targets/NAME.c becomes $(BUILD)/tests/targets/NAME with
# debug information and -O2; variants with other flags are listed below the generic rule.
# Targets are never built with sanitizers.

T := $(BUILD)/tests/targets
TARGET_CFLAGS := -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -pthread
TARGETS := $(patsubst tests/targets/%.c,$(T)/%,$(sort $(wildcard tests/targets/*.c)))
TARGET_DEPS := $(wildcard tests/targets/*.h) tests/targets/targets.mk

$(T)/%: tests/targets/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -o $@ $< -lm -lrt

# ---- one plain chain of calls, built in many ways ----------------------------------------------
CHAIN_pie         := -fPIE -pie
CHAIN_nopie       := -fno-pie -no-pie
CHAIN_static      := -fno-pie -static
CHAIN_static_pie  := -fPIE -static-pie
CHAIN_O0          := -O0
CHAIN_Os          := -Os
CHAIN_framepointer := -fno-omit-frame-pointer
CHAIN_debug_frame := -fno-asynchronous-unwind-tables -fno-unwind-tables
CHAIN_nohdr       := -Wl,--no-eh-frame-hdr
CHAIN_cet         := -fcf-protection=full -Wl,-z,ibtplt
CHAIN_prelinked   := -fno-pie -no-pie -Wl,-Ttext-segment=0x7000000
CHAIN_gold        := -fuse-ld=gold
CHAIN_bare        := -fno-asynchronous-unwind-tables -fno-unwind-tables -g0
# Since binutils 2.44 the gold linker is a package of its own.
CHAINS := pie nopie static static_pie O0 Os framepointer debug_frame nohdr cet prelinked bare \
	$(if $(shell command -v ld.gold),gold)
CHAIN_TARGETS := $(addprefix $(T)/chain_,$(CHAINS) clang musl musl_static stripped separate)

$(addprefix $(T)/chain_,$(CHAINS)): $(T)/chain_%: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) $(CHAIN_$*) -o $@ $<
$(T)/chain_clang: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	clang $(TARGET_CFLAGS) -o $@ $<
$(T)/chain_musl: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	musl-gcc $(TARGET_CFLAGS) -o $@ $<
$(T)/chain_musl_static: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	musl-gcc $(TARGET_CFLAGS) -static -o $@ $<
$(T)/locks_musl $(T)/lives_musl: $(T)/%_musl: tests/targets/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	musl-gcc $(TARGET_CFLAGS) -static -o $@ $<
# The variable of OpenTelemetry's thread context: of the program, or of a library by each model of thread-local storage.
$(T)/spans: tests/targets/spans.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -o $@ $<
$(T)/spans_library: tests/targets/spans.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -DIN_LIBRARY -o $@ $<
SPAN_gnu := -mtls-dialect=gnu
SPAN_descriptor := -mtls-dialect=gnu2
SPAN_initial := -ftls-model=initial-exec
SPAN_LIBRARIES := $(patsubst %,$(T)/span_%.so,gnu descriptor initial)
$(SPAN_LIBRARIES): $(T)/span_%.so: tests/targets/lib/span_variable.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fPIC -shared $(SPAN_$*) -o $@ $<

$(T)/chain_stripped: $(T)/chain_pie
	strip -o $@ $<
# Debug information in a file of its own, found by debuglink (and by build-id where installed).
$(T)/chain_separate: $(T)/chain_pie
	objcopy --only-keep-debug $< $@.debug
	strip -o $@ $<
	cd $(@D) && objcopy --add-gnu-debuglink=$(@F).debug $(@F)

# ---- more than one source, or special linking --------------------------------------------------
$(T)/assembly: tests/targets/assembly.c tests/targets/lib/assembly_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -o $@ $< tests/targets/lib/assembly_frames.S
# The driver of the task iterator is told its addresses.
$(T)/restless: tests/targets/restless.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fno-pie -no-pie -o $@ $<
# 32-bit code, without a C library: any compiler for 64 bits can make it.
$(T)/i386: tests/targets/lib/i386.S tests/targets/targets.mk
	@mkdir -p $(@D)
	$(CC) -m32 -nostdlib -static -no-pie -o $@ $<
$(T)/exceptions $(T)/throwing $(T)/statics $(T)/functions $(T)/blocks: $(T)/%: tests/targets/%.cc $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CXX) -D_GNU_SOURCE -O2 -g -Wall -Wextra -pthread -o $@ $<
$(T)/cxx20: tests/targets/cxx20.cc $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -D_GNU_SOURCE -O1 -g -Wall -Wextra -pthread -o $@ $<
$(T)/plugin.so $(T)/refuse.so $(T)/attack.so $(T)/called.so: $(T)/%.so: tests/targets/lib/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fPIC -shared -o $@ $<
# Without optimization one destructor of a class calls another.
$(T)/destroyed.so: tests/targets/lib/destroyed.cc $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CXX) -O0 -g -Wall -Wextra -fPIC -shared -o $@ $<
$(T)/probed $(T)/probed_busy: $(T)/%: tests/targets/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -O2 -o $@ $<
$(T)/haskell: tests/targets/haskell.c tests/targets/lib/haskell_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -O2 -o $@ $< tests/targets/lib/haskell_frames.S
$(T)/stepped_haskell: tests/targets/stepped_haskell.c tests/targets/lib/haskell_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -o $@ $< tests/targets/lib/haskell_frames.S
$(T)/haskell_stripped: $(T)/haskell
	strip -o $@ $<
$(T)/stepped_switch: tests/targets/stepped_switch.c tests/targets/lib/switch_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -O2 -o $@ $< tests/targets/lib/switch_frames.S
$(T)/stepped_jumpto: tests/targets/stepped_jumpto.c tests/targets/lib/jumpto_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -O2 -o $@ $< tests/targets/lib/jumpto_frames.S
$(T)/stepped_managed: tests/targets/stepped_managed.c tests/targets/lib/managed_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -O2 -o $@ $< tests/targets/lib/managed_frames.S
$(T)/stepped_synchronous: tests/targets/stepped_managed.c tests/targets/lib/managed_frames.S $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -DSYNCHRONOUS -O2 -o $@ $< tests/targets/lib/managed_frames.S
# Lazy binding: the first call goes through the PLT stub and the dynamic linker's resolver.
$(T)/stepped: tests/targets/stepped.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fno-builtin -Wl,-z,lazy -o $@ $<
$(T)/stepped_bare_plt: tests/targets/stepped.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fno-builtin -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info -o $@ $<
$(T)/stepped_cet: tests/targets/stepped.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -fno-builtin -fcf-protection=full -Wl,-z,lazy -Wl,-z,ibtplt -o $@ $<

$(T)/coroutine_static $(T)/coroutine_exit_static: $(T)/%_static: tests/targets/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -static -o $@ $<
$(T)/locks_memory: tests/targets/locks_memory.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -static -o $@ $<
# libgcc as a library, and in the program.
$(T)/stepped_throw: THROW_LDFLAGS :=
$(T)/stepped_throw_static: THROW_LDFLAGS := -static
$(T)/stepped_throw_i386: THROW_LDFLAGS := -m32
# Where the compilers have what i386 needs (gcc-multilib, g++-multilib).
M32 := $(filter /%,$(shell gcc -m32 -print-file-name=Scrt1.o 2>/dev/null))
THROW_TARGETS := $(T)/stepped_throw $(addprefix $(T)/stepped_throw_,static $(if $(M32),i386))
$(THROW_TARGETS): tests/targets/stepped_throw.cc $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CXX) -D_GNU_SOURCE -O2 -g -Wall -Wextra $(THROW_LDFLAGS) -o $@ $<

# ---- two busy programs, built in many ways: test_compare_busy.py ----------------------------------
# The program in C by gcc (with -O2, unless it says otherwise), by clang and with musl; that in C++.
COMPARED_O0           := -O0
COMPARED_O1           := -O1
COMPARED_O2           :=
COMPARED_O3           := -O3
COMPARED_Os           := -Os
COMPARED_pointer      := -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
COMPARED_no_pointer   := -O1 -fomit-frame-pointer
COMPARED_nopie        := -fno-pie -no-pie
COMPARED_static       := -fno-pie -static
COMPARED_static_pie   := -fPIE -static-pie
COMPARED_lto          := -flto
COMPARED_split_dwarf  := -gsplit-dwarf
COMPARED_cet          := -fcf-protection=full -Wl,-z,ibtplt
COMPARED_no_cet       := -fcf-protection=none
COMPARED_pg           := -pg
COMPARED_fentry       := -pg -mfentry
COMPARED_instrument   := -finstrument-functions
COMPARED_lazy         := -fno-builtin -Wl,-z,lazy
COMPARED_no_plt       := -fno-builtin -fno-plt -Wl,-z,now
COMPARED_bare_plt     := -fno-builtin -fno-pie -no-pie -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info
COMPARED_nohdr        := -Wl,--no-eh-frame-hdr
COMPARED_debug_frame  := -fno-asynchronous-unwind-tables -fno-unwind-tables
COMPARED_own_tables   := -fno-dwarf2-cfi-asm
COMPARED_probed       := -fstack-clash-protection -fstack-protector-all
COMPARED_wide         := -O3 -mavx2
COMPARED_pushes       := -Os -mno-red-zone -mpush-args -mno-accumulate-outgoing-args
COMPARED_accumulate   := -maccumulate-outgoing-args
COMPARED_large        := -fno-pie -no-pie -mcmodel=large
COMPARED_sections     := -ffunction-sections -Wl,--gc-sections
COMPARED_gold         := -fuse-ld=gold
COMPARED_GCC := O0 O1 O2 O3 Os pointer no_pointer nopie static static_pie lto split_dwarf cet no_cet pg \
	fentry instrument lazy no_plt bare_plt nohdr debug_frame own_tables probed wide pushes accumulate large \
	sections $(if $(shell command -v ld.gold),gold)
COMPARED_CLANG := O0 O1 O2 O3 Os pointer nopie static static_pie cet
COMPARED_MUSL := O0 O2 pointer static static_pie
COMPARED_GXX := O0 O2 O3 pointer static static_pie lto
COMPARED_CLANGXX := O0 O2 Os
COMPARED_TARGETS := $(addprefix $(T)/compared_,$(addprefix gcc_,$(COMPARED_GCC)) $(addprefix clang_,$(COMPARED_CLANG)) \
	$(addprefix musl_,$(COMPARED_MUSL)) $(addprefix g++_,$(COMPARED_GXX)) \
	$(addprefix clang++_,$(COMPARED_CLANGXX)) gcc_stripped musl_stripped g++_stripped)
COMPARED := tests/targets/compared
COMPARED_DEPS := $(COMPARED)/record.h tests/targets/targets.mk
# gcc warns of a function that never returns, which is what that is for.
COMPARED_C := -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-infinite-recursion -pthread

$(addprefix $(T)/compared_gcc_,$(COMPARED_GCC)): $(T)/compared_gcc_%: $(COMPARED)/busy.c $(COMPARED)/frames.S $(COMPARED_DEPS)
	@mkdir -p $(@D)
	gcc -std=gnu17 $(COMPARED_C) $(COMPARED_$*) -o $@ $(filter %.c %.S,$^) -lm
$(addprefix $(T)/compared_clang_,$(COMPARED_CLANG)): $(T)/compared_clang_%: $(COMPARED)/busy.c $(COMPARED)/frames.S $(COMPARED_DEPS)
	@mkdir -p $(@D)
	clang -std=gnu17 $(filter-out -Wno-infinite-recursion,$(COMPARED_C)) $(COMPARED_$*) -o $@ $(filter %.c %.S,$^) -lm
$(addprefix $(T)/compared_musl_,$(COMPARED_MUSL)): $(T)/compared_musl_%: $(COMPARED)/busy.c $(COMPARED)/frames.S $(COMPARED_DEPS)
	@mkdir -p $(@D)
	musl-gcc -std=gnu17 $(COMPARED_C) $(COMPARED_$*) -o $@ $(filter %.c %.S,$^) -lm
$(addprefix $(T)/compared_g++_,$(COMPARED_GXX)): $(T)/compared_g++_%: $(COMPARED)/throwing.cc $(COMPARED_DEPS)
	@mkdir -p $(@D)
	g++ -std=gnu++17 $(COMPARED_C) $(COMPARED_$*) -o $@ $<
$(addprefix $(T)/compared_clang++_,$(COMPARED_CLANGXX)): $(T)/compared_clang++_%: $(COMPARED)/throwing.cc $(COMPARED_DEPS)
	@mkdir -p $(@D)
	clang++ -std=gnu++17 $(filter-out -Wno-infinite-recursion,$(COMPARED_C)) $(COMPARED_$*) -o $@ $<
$(T)/compared_gcc_stripped $(T)/compared_musl_stripped $(T)/compared_g++_stripped: $(T)/compared_%_stripped: $(T)/compared_%_O2
	strip -o $@ $<

# The same two for i386.
COMPARED32_GCC := O0 O1 O2 O3 Os pointer no_pointer nopie static static_pie lto split_dwarf cet no_cet pg \
	instrument lazy no_plt bare_plt nohdr debug_frame own_tables probed wide pushes accumulate sections
COMPARED32_CLANG := O0 O1 O2 O3 Os pointer nopie static static_pie
COMPARED32_GXX := O0 O2 O3 pointer static static_pie lto
COMPARED32_CLANGXX := O0 O2 Os
COMPARED32_TARGETS := $(if $(M32),$(addprefix $(T)/compared_i386_,$(addprefix gcc_,$(COMPARED32_GCC)) \
	$(addprefix clang_,$(COMPARED32_CLANG)) $(addprefix g++_,$(COMPARED32_GXX)) \
	$(addprefix clang++_,$(COMPARED32_CLANGXX)) gcc_stripped g++_stripped))

$(addprefix $(T)/compared_i386_gcc_,$(COMPARED32_GCC)): $(T)/compared_i386_gcc_%: $(COMPARED)/busy.c $(COMPARED)/frames_i386.S $(COMPARED_DEPS)
	@mkdir -p $(@D)
	gcc -m32 -std=gnu17 $(COMPARED_C) $(COMPARED_$*) -o $@ $(filter %.c %.S,$^) -lm
$(addprefix $(T)/compared_i386_clang_,$(COMPARED32_CLANG)): $(T)/compared_i386_clang_%: $(COMPARED)/busy.c $(COMPARED)/frames_i386.S $(COMPARED_DEPS)
	@mkdir -p $(@D)
	clang -m32 -std=gnu17 $(filter-out -Wno-infinite-recursion,$(COMPARED_C)) $(COMPARED_$*) -o $@ $(filter %.c %.S,$^) -lm
$(addprefix $(T)/compared_i386_g++_,$(COMPARED32_GXX)): $(T)/compared_i386_g++_%: $(COMPARED)/throwing.cc $(COMPARED_DEPS)
	@mkdir -p $(@D)
	g++ -m32 -std=gnu++17 $(COMPARED_C) $(COMPARED_$*) -o $@ $<
$(addprefix $(T)/compared_i386_clang++_,$(COMPARED32_CLANGXX)): $(T)/compared_i386_clang++_%: $(COMPARED)/throwing.cc $(COMPARED_DEPS)
	@mkdir -p $(@D)
	clang++ -m32 -std=gnu++17 $(filter-out -Wno-infinite-recursion,$(COMPARED_C)) $(COMPARED_$*) -o $@ $<
$(T)/compared_i386_gcc_stripped $(T)/compared_i386_g++_stripped: $(T)/compared_i386_%_stripped: $(T)/compared_i386_%_O2
	strip -o $@ $<

# Builds that the gate looks at, at known instants: test_known_instants.py.
COMPARED_KNOWN := $(addprefix $(T)/compared_,gcc_O2 clang_O2 musl_O2 g++_O2 $(if $(M32),i386_gcc_O2))

# Blocked programs for i386: test_i386.py.
CHAINS32 := pie nopie static static_pie O0 Os framepointer debug_frame nohdr cet bare
PLAIN32 := locks contended probed_busy inlines nullcall variable leaf tailcall plugin_user deep exceptions crash
I386_TARGETS := $(if $(M32),$(addprefix $(T)/i386_,$(addprefix chain_,$(CHAINS32) clang stripped separate) $(PLAIN32) \
	plugin.so handlers epoll))

$(addprefix $(T)/i386_chain_,$(CHAINS32)): $(T)/i386_chain_%: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	gcc -m32 $(TARGET_CFLAGS) $(CHAIN_$*) -o $@ $<
$(T)/i386_chain_clang: tests/targets/chain.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	clang -m32 $(TARGET_CFLAGS) -o $@ $<
$(T)/i386_chain_stripped: $(T)/i386_chain_pie
	strip -o $@ $<
$(T)/i386_chain_separate: $(T)/i386_chain_pie
	objcopy --only-keep-debug $< $@.debug
	strip -o $@ $<
	cd $(@D) && objcopy --add-gnu-debuglink=$(@F).debug $(@F)
$(T)/i386_plugin.so: tests/targets/lib/plugin.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	gcc -m32 $(TARGET_CFLAGS) -fPIC -shared -o $@ $<
$(T)/i386_handlers $(T)/i386_epoll: $(T)/%: tests/targets/lib/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	gcc -m32 $(TARGET_CFLAGS) -o $@ $<
$(T)/i386_exceptions: tests/targets/exceptions.cc $(TARGET_DEPS)
	@mkdir -p $(@D)
	g++ -m32 -D_GNU_SOURCE -O2 -g -Wall -Wextra -pthread -o $@ $<
$(addprefix $(T)/i386_,$(filter-out exceptions,$(PLAIN32))): $(T)/i386_%: tests/targets/%.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	gcc -m32 $(TARGET_CFLAGS) -o $@ $< -lm -lrt

# JIT compilers that register their code include one header of ours, and nothing else.
JIT_TARGETS := $(addprefix $(T)/jit_,busy example stress hostile files libgcc_churn)
$(JIT_TARGETS): $(T)/%: tests/targets/%.c $(TARGET_DEPS) libwalk/include/snapwalk/ftable.h
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -Ilibwalk/include -o $@ $<

# Code that is loaded by the program itself: with .eh_frame, and with .debug_frame alone. Not -g0: the
# second has no other tables.
$(T)/symfile_code.o $(T)/symfile_debug.o: tests/targets/lib/symfile_code.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O1 -g -fno-pie -fcf-protection=none -fomit-frame-pointer -Wall -Wextra \
		$(if $(findstring debug,$@),-fno-asynchronous-unwind-tables -fno-unwind-tables) -c -o $@ $<
$(T)/jit_libgcc_static: tests/targets/jit_libgcc.c $(TARGET_DEPS)
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -static-libgcc -o $@ $<

# ---- programs of the benchmark, drivers of the live tests --------------------------------------
BENCH_PROGRAMS := $(T)/threads $(T)/floor $(T)/measure $(T)/events_work
$(BENCH_PROGRAMS): $(T)/%: tests/bench/%.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -o $@ $<

DRIVERS := $(patsubst tests/live/%.c,$(T)/%,$(sort $(wildcard tests/live/drive_*.c)))
$(DRIVERS): $(T)/%: tests/live/%.c tests/targets/targets.mk $(TESTS_ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(TESTS_CFLAGS) -o $@ $< $(TESTS_ARCHIVES) $(TESTS_LIBS)

# With a reader of its own for the toy interpreter.
$(T)/drive_toy: tests/unit/toy/runtime.c tests/unit/toy/runtime.h
$(T)/drive_toy: TESTS_CFLAGS += tests/unit/toy/runtime.c
$(T)/toy $(T)/fiber_entry: TARGET_CFLAGS += -rdynamic

.PHONY: targets
targets: $(TARGETS) $(CHAIN_TARGETS) $(T)/locks_musl $(T)/lives_musl $(T)/i386 $(T)/exceptions $(T)/throwing $(T)/statics $(T)/cxx20 $(T)/functions $(T)/blocks $(T)/plugin.so $(T)/spans_library $(SPAN_LIBRARIES) $(T)/called.so $(T)/destroyed.so $(T)/refuse.so $(T)/attack.so $(T)/symfile_code.o $(T)/symfile_debug.o $(T)/jit_libgcc_static $(T)/haskell_stripped $(T)/stepped_cet $(T)/stepped_bare_plt $(T)/stepped_synchronous $(THROW_TARGETS) $(T)/coroutine_static $(T)/coroutine_exit_static $(I386_TARGETS) \
	$(COMPARED_KNOWN) $(BENCH_PROGRAMS) $(DRIVERS)
# Targets that only the soak looks at: two thirds of the time that all targets take.
.PHONY: targets-soak
targets-soak: $(COMPARED_TARGETS) $(COMPARED32_TARGETS)

# ---- Windows programs: their compiler is there for check-runtimes only ---------------------------
MINGW := x86_64-w64-mingw32-gcc-posix
# Code as compilers make it, each in its own way; main() and assembly around it.
STEP := $(BUILD)/obj/pe_step
STEP_gcc    := $(MINGW) -O2
STEP_gcc_O0 := $(MINGW) -O0 -fno-omit-frame-pointer
STEP_gcc_Os := $(MINGW) -Os
STEP_clang  := clang -target x86_64-w64-windows-gnu -O2
STEP_CODE := $(addprefix $(STEP)/,gcc.o gcc_O0.o gcc_Os.o clang.o)
$(STEP_CODE): $(STEP)/%.o: tests/targets/lib/pe_step_code.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(STEP_$*) -std=gnu17 -Wall -Wextra -DNAME=$* -c -o $@ $<
STEP_SOURCES := $(addprefix tests/targets/lib/,pe_step.c pe_step_library.c) $(wildcard tests/targets/lib/pe_step_*.S)
$(T)/pe_step.exe: $(STEP_SOURCES) $(STEP_CODE) tests/targets/lib/pe_step_macros.h
	@mkdir -p $(@D)
	$(MINGW) -std=gnu17 -O2 -Wall -Wextra -s -Wl,--stack,16777216 -o $@ $(STEP_SOURCES) $(STEP_CODE)

# Threads in all the ways there are to wait, fault and call back under Wine.
$(T)/wine_threads.exe: $(wildcard tests/targets/wine/threads*.[ch]) tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW) -std=gnu17 -O2 -g -gdwarf-4 -Wall -Wextra -Wno-missing-field-initializers -static \
		-ffile-prefix-map="$(CURDIR)/tests/targets"=. -o $@ $(filter %.c,$^) -lws2_32

# Threads that never rest, to be stopped at random instants.
$(T)/wine_busy.exe: tests/targets/wine/busy.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW) -std=gnu17 -O2 -g -Wall -Wextra -Wl,--build-id -o $@ $<

# Threads that change between Windows and Unix code all the time.
$(T)/wine_boundaries.exe: tests/targets/wine/boundaries.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW) -std=gnu17 -O2 -g -gdwarf-4 -Wall -Wextra -static -o $@ $<

# Writes minidumps of itself, and what is true.
$(T)/wine_minidump.exe: tests/targets/wine/minidump.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW) -std=gnu17 -O2 -g -gdwarf-4 -Wall -Wextra -ffile-prefix-map="$(CURDIR)/tests/targets"=. -o $@ $< -ldbghelp

# The same for i386, and threads that are blocked: with tables, without debug information, without tables.
MINGW32 := i686-w64-mingw32-gcc-win32
MINGW32_FLAGS := -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers
CHAIN32_O2 := -O2 -g -gdwarf-4
CHAIN32_O0 := -O0 -g
CHAIN32_bare := -O2 -fno-asynchronous-unwind-tables -fno-exceptions
WINE32_CHAINS := $(addprefix $(T)/wine32_chain_,O2.exe O0.exe bare.exe stripped.exe)
$(T)/wine32_busy.exe: tests/targets/wine/busy.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW32) $(MINGW32_FLAGS) -O2 -g -Wl,--build-id -o $@ $<
$(addprefix $(T)/wine32_chain_,O2.exe O0.exe bare.exe): $(T)/wine32_chain_%.exe: tests/targets/wine/chain.c tests/targets/targets.mk
	@mkdir -p $(@D)
	$(MINGW32) $(MINGW32_FLAGS) $(CHAIN32_$*) -Wl,--build-id -static -o $@ $< -lws2_32
$(T)/wine32_chain_stripped.exe: $(T)/wine32_chain_O2.exe
	i686-w64-mingw32-strip -o $@ $<

.PHONY: targets-wine32 targets-runtimes
targets-wine32: $(T)/wine32_busy.exe $(WINE32_CHAINS)
targets-runtimes: $(T)/wine_busy.exe $(T)/pe_step.exe $(T)/wine_threads.exe $(T)/wine_boundaries.exe $(T)/wine_minidump.exe
