# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests: unit/FOLDER/test_*.c -> one program each, in folders like what they test; fuzz/fuzz_*.c -> a
# libFuzzer target that also runs over its corpus without libFuzzer; live/test_*.py -> scripts over real processes; targets/ -> the
# programs they look at (targets/targets.mk). Everything speaks TAP; run.py counts.

UNIT  := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(sort $(shell find tests/unit -name "test_*.c")))
FUZZ  := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
comma := ,
LIVE  := $(sort $(wildcard tests/live/test_*.py))
# Archives: a test links what it uses of the command and the daemon, never all of it.
TESTS_CLI := $(BUILD)/tests/libcli.a
$(TESTS_CLI): $(filter-out %/main.o,$(OBJ_CLI))
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^
TESTS_ARCHIVES = $(LIB)/libdaemon.a $(LIB)/libgate.a $(LIB)/libship.a $(LIB)/libconfine.a $(ARCHIVES)
# cmocka's assertions return as far as gcc can see, which takes what they have looked at for unset; and
# gcc 12 with -O3 takes a pointer into a string for one into the pointer to the string. What a test plays (a hook, a
# program of the kernel, a setup of cmocka) has the parameters of what it stands for, and uses few of them.
TESTS_WARN  := $(call known,-Wno-maybe-uninitialized -Wno-dangling-pointer) -Wno-unused-parameter
TESTS_CFLAGS = $(ALL_CFLAGS) $(TESTS_WARN) -DSW_TESTS_DIR='"$(CURDIR)/tests"' $(INC_TESTS)
TESTS_LIBS   = $(ALL_LDFLAGS) $(LIBS_DAEMON) $(LIBS_GATE) $(LIBS_SHIP) $(LIBS_PROTOCOL) $(LIBS_SYM) $(LIBS_WALK) $(LIBS_UNWIND)

# Shared by unit tests and fuzzers: fake memory, snapshot builders. Compiled once.
UNIT_HEADERS := $(wildcard tests/unit/*.h)
UNIT_COMMON  := $(BUILD)/tests/libunit.a
UNIT_OBJECTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/common/%.o,\
	$(filter-out tests/unit/test_% tests/unit/program.c,$(sort $(wildcard tests/unit/*.c))))
$(BUILD)/tests/common/%.o: tests/unit/%.c $(UNIT_HEADERS) $(TESTS_ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(TESTS_CFLAGS) -c -o $@ $<
$(UNIT_COMMON): $(UNIT_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# A program for each top folder of unit/, as linking costs more than compiling: all tests of libwalk are in one.
# Each test is a link to its program, which runs the test by whose name it was called (unit/program.c). Programs in
# which the kernel's answers are a table (unit/fake_kernel.h) are linked in another way, and tests that define functions
# of the product or of the C library themselves have a program each.
FAKE_KERNEL := $(patsubst %,libwalk/%,stop/test_helper stop/test_run waits/test_peers walk/test_walk_answers \
	$(patsubst %,sample/test_%,code light links passes sampler) \
	$(patsubst %,capture/test_%,before copy kernel take_tries touchless waits window))
UNIT_ALONE  := cli/common/test_remedy cli/daemon/test_dump cli/daemon/test_kept cli/events/test_event_run cli/run/test_batch cli/run/test_merging cli/run/test_split daemon/jobs/test_job daemon/jobs/test_kept daemon/jobs/test_profile daemon/methods/test_watch daemon/sandbox/test_filters \
	daemon/worker/test_events \
	libwalk/base/test_range_index_nomem \
	libwalk/runtimes/beam/test_beam_before libwalk/runtimes/cpython/test_cpython_before libwalk/stop/test_helper_killed \
	protocol/profile/test_write protocol/report/test_distinct protocol/report/test_nomem protocol/test_varlink_nomem
UNIT_NAMES  := $(patsubst $(BUILD)/tests/unit/%,%,$(UNIT))
unit_group   = $(if $(filter $(1),$(UNIT_ALONE)),$(subst /,_,$(1)),\
	$(if $(filter $(1),$(FAKE_KERNEL)),fake_kernel,$(firstword $(subst /, ,$(1)))))
UNIT_GROUPS := $(sort $(foreach name,$(UNIT_NAMES),$(call unit_group,$(name))))
unit_tests   = $(foreach name,$(UNIT_NAMES),$(if $(filter $(1),$(strip $(call unit_group,$(name)))),$(name)))
UNIT_WRAP_fake_kernel := $(patsubst %,-Wl$(comma)--wrap=%,ptrace waitid process_vm_readv clock_gettime \
	setitimer fstat lseek getdents64 faccessat openat getppid poll \
	sw_iterate_open sw_target_stat sw_iterate_link_thread sw_expendable_start sw_target_live_fd \
	sw_file_lock_owner sw_text_read_at sw_take_before sw_take_after sw_capture_take sw_iterate_link_pid)
# Tests of confine/ may play a kernel of another version (unit/fake_syscall.h).
UNIT_WRAP_confine := -Wl$(comma)--wrap=syscall
UNIT_OBJ := $(BUILD)/tests/unit-obj
# Test code is not optimised, but for a user who chose another level: compiling it takes longer than running it. The
# code that it tests is compiled as ever.
UNIT_CFLAGS := $(if $(filter command% environment,$(origin CFLAGS)),,-O0 -U_FORTIFY_SOURCE $(call known,-Wno-format-truncation))

$(UNIT_OBJ)/%.o: tests/unit/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(TESTS_CFLAGS) $(UNIT_CFLAGS) -Wno-missing-prototypes -Dmain=main_of_$(subst /,_,$*) -MMD -MP -c -o $@ $<

# The names of a program's tests: written when they change, as a file of its own may come or go.
.PHONY: names
$(UNIT_OBJ)/%.names: names
	@mkdir -p $(@D)
	@printf 'TEST("%s", %s)\n' $(foreach name,$(call unit_tests,$*),"$(name)" "main_of_$(subst /,_,$(name))") >$@.new
	@if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi

define unit_program
$(UNIT_OBJ)/program_$(1).o: tests/unit/program.c $(UNIT_OBJ)/$(1).names $(BUILD)/flags
	$$(CC) $$(TESTS_CFLAGS) -DTESTS='"$(abspath $(UNIT_OBJ)/$(1).names)"' -c -o $$@ $$<
$(BUILD)/tests/unit/program_$(1): $(UNIT_OBJ)/program_$(1).o $$(patsubst %,$(UNIT_OBJ)/%.o,$$(call unit_tests,$(1))) \
		$$(UNIT_COMMON) $$(TESTS_CLI) $$(TESTS_ARCHIVES)
	@mkdir -p $$(@D)
	$$(CC) $$(TESTS_CFLAGS) $$(UNIT_WRAP_$(1)) -o $$@ $$(filter $(UNIT_OBJ)/%,$$^) $$(UNIT_COMMON) \
		$$(TESTS_CLI) $$(TESTS_ARCHIVES) $$(TESTS_LIBS) -lcmocka
$$(patsubst %,$(BUILD)/tests/unit/%,$$(call unit_tests,$(1))): $(BUILD)/tests/unit/program_$(1)
	@mkdir -p $$(@D)
	@rm -rf $$@
	@ln -sr $$< $$@
endef
$(foreach group,$(UNIT_GROUPS),$(eval $(call unit_program,$(group))))
-include $(call dependencies,$(UNIT_OBJ))

# Fuzzers as plain programs: LLVMFuzzerTestOneInput over each file of a corpus, plus fixed-seed mutations of it. One
# program has all of them and runs that by whose name it was called, as for unit tests; but for those that define
# functions of the product.
FUZZ_ALONE := fuzz_worker_stream
FUZZ_NAMES := $(patsubst $(BUILD)/tests/fuzz/%,%,$(FUZZ))
FUZZ_OBJ   := $(BUILD)/tests/fuzz-obj
$(FUZZ_OBJ)/%.o: tests/fuzz/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(TESTS_CFLAGS) $(UNIT_CFLAGS) -Wno-missing-prototypes -DLLVMFuzzerTestOneInput=input_of_$* -MMD -MP -c -o $@ $<

# fuzz_program PROGRAM,NAMES
define fuzz_program
$(FUZZ_OBJ)/$(1).names: names
	@mkdir -p $$(@D)
	@printf 'FUZZER(%s)\n' $(2) >$$@.new
	@if cmp -s $$@.new $$@; then rm -f $$@.new; else mv $$@.new $$@; fi
$(FUZZ_OBJ)/driver_$(1).o: tests/fuzz/driver.c $(FUZZ_OBJ)/$(1).names $(BUILD)/flags
	$$(CC) $$(TESTS_CFLAGS) -DFUZZERS='"$(abspath $(FUZZ_OBJ)/$(1).names)"' -c -o $$@ $$<
$(BUILD)/tests/fuzz/program_$(1): $(FUZZ_OBJ)/driver_$(1).o $(patsubst %,$(FUZZ_OBJ)/%.o,$(2)) $$(UNIT_COMMON) \
		$$(TESTS_CLI) $$(TESTS_ARCHIVES)
	@mkdir -p $$(@D)
	$$(CC) $$(TESTS_CFLAGS) -o $$@ $$(filter $(FUZZ_OBJ)/%,$$^) $$(UNIT_COMMON) \
		$$(TESTS_CLI) $$(TESTS_ARCHIVES) $$(TESTS_LIBS) -lcmocka
$(patsubst %,$(BUILD)/tests/fuzz/%,$(2)): $(BUILD)/tests/fuzz/program_$(1)
	@ln -sfn program_$(1) $$@
endef
$(eval $(call fuzz_program,all,$(filter-out $(FUZZ_ALONE),$(FUZZ_NAMES))))
$(foreach name,$(FUZZ_ALONE),$(eval $(call fuzz_program,$(name),$(name))))
-include $(call dependencies,$(FUZZ_OBJ))

-include tests/targets/targets.mk

.PHONY: tests-build unit-tests fuzz-tests check-run check-tools check-asan check-runtimes bench bench-sampling fuzz
tests-build: unit-tests fuzz-tests targets
unit-tests: $(UNIT)
fuzz-tests: $(FUZZ)

# The gate, which decides whether a change lands: what is deterministic (tests/README.md). The fuzzers run over their
# corpora; check-asan also mutates. BESIDE="COMMAND" has the CPU time that the tests leave.
BESIDE ?=
check-run:
	@SNAPWALK_MUTATIONS=0 $(PYTHON) tests/run.py --build $(BUILD) --unit $(UNIT) --fuzz $(FUZZ) --live $(LIVE) --tier gate \
		$(if $(BESIDE),--beside "$(BESIDE)")

# Tests of what checks the sources, judges tests and makes releases.
check-tools: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) WERROR=-Werror all targets
	@$(PYTHON) tests/run.py --build $(BUILD) --live $(LIVE) --tier tools

# While one works: unit tests, and of the live tests those that go through capture, walk, names, JSON,
# fixtures, the command and the daemon, and are quick.
LIVE_FAST := $(patsubst %,tests/live/test_%.py,capture cli core daemon_clients daemon_protocol \
	daemon_store docs fallback first_sight fixture json licences names signals states verify wine_fixtures)
.PHONY: check-fast
check-fast: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(PYTHON) tests/run.py --build $(BUILD) --unit $(UNIT) --live $(LIVE_FAST)

# Mutations of each file of a corpus. The soak makes 2,000.
MUTATIONS ?= 200

# Unit tests, fuzz corpora and hostile input under ASan and UBSan. The targets have no sanitizers: they are those of
# make check, not made again.
check-asan: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) WERROR=-Werror targets
	@$(MAKE) --no-print-directory -s asan-build
	@SNAPWALK_TARGETS="$(abspath $(T))" $(MAKE) --no-print-directory -s SANITIZE=1 check-asan-run
.PHONY: asan-build asan-programs
asan-build:
	@$(MAKE) --no-print-directory -s -j$$(nproc) SANITIZE=1 WERROR=-Werror asan-programs
asan-programs: all unit-tests fuzz-tests
check-asan-run:
	@SNAPWALK_MUTATIONS=$(MUTATIONS) $(PYTHON) tests/run.py --build $(BUILD) --unit $(UNIT) --fuzz $(FUZZ) --live tests/live/test_hostile.py tests/live/test_cli.py tests/live/test_wine_fixtures.py \
		tests/live/test_daemon_protocol.py tests/live/test_daemon_store.py

# Real runtimes and monitoring systems that are packages: installs them and skips nothing.
check-runtimes: deps-check deps-bench deps-monitors deps-runtimes
	@$(MAKE) --no-print-directory -s -j$$(nproc) all targets targets-runtimes $(BUILD)/tests/unit/libwalk/pe/test_pe_steps
	@SNAPWALK_RUNTIMES=1 $(PYTHON) tests/run.py --build $(BUILD) --no-skip --live $(sort $(wildcard tests/live/runtime_*.py))

# All that looks at random instants, or at runtimes, or makes a storm: for SOAK_MINUTES, file by file, in an order and
# with a seed of its own each time, with SOAK_LOOKS times as many looks. The evidence of what was wrong is kept in
# $(BUILD)/evidence, and measured rates are added to tests/rates.tsv; the status is 0 unless the tests themselves break.
SOAK_MINUTES ?= 120
SOAK_LOOKS ?= 3
.PHONY: soak soak-run
soak: deps-check deps-bench deps-monitors deps-runtimes
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build targets-soak targets-runtimes
	@$(MAKE) --no-print-directory -s soak-run
soak-run:
	@SNAPWALK_RUNTIMES=1 SNAPWALK_LOOKS_FACTOR=$(SOAK_LOOKS) $(PYTHON) tests/run.py --build $(BUILD) \
		--minutes $(SOAK_MINUTES) --rates tests/rates.tsv --fuzz $(FUZZ) \
		--live $(LIVE) $(sort $(wildcard tests/live/runtime_*.py)) --tier soak --tier runtime

# 32-bit Windows programs: Wine for i386 costs minutes and 1.6 GB, so that check-runtimes leaves it out.
.PHONY: check-wine32
check-wine32: deps-check deps-wine32
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build targets-wine32
	@tests/targets/wine/chroot.sh "$(abspath $(BUILD))/wine-8-i386" bookworm i386
	@$(PYTHON) tests/run.py --build $(BUILD) --no-skip --live tests/live/test_wine32.py

# Which faults no test notices: the patches of tests/mutate, and MUTANTS_N of those that rules make, others each day.
# MUTANTS="NAME ...": those patches alone. MUTANTS_IN="FOLDER ...": rule mutants of those alone.
MUTANTS_N ?= 40
MUTANTS_SEED ?= $(shell date -u +%F)
.PHONY: check-mutants
check-mutants: deps-check
	@$(PYTHON) tests/mutants.py --build $(BUILD) --rules $(MUTANTS_N) --seed $(MUTANTS_SEED) $(MUTANTS) \
		$(if $(MUTANTS_IN),--in $(MUTANTS_IN))

# The fixtures of a runtime anew: RUNTIME=python NAMES="3.11.2 3.12.1"; all of them without NAMES.
.PHONY: record-fixture
record-fixture: all
	@SNAPWALK_BUILD="$(abspath $(BUILD))" $(PYTHON) tests/fixtures/record.py $(RUNTIME) $(NAMES)

# Other compilers and flags, in a folder whose name has a space.
.PHONY: check-flags
check-flags: deps-check
	@tests/flags.sh

# The packages of make deb in Debian 12 and 13, or SUITES=bookworm.
.PHONY: check-deb
check-deb: deps-installed deb
	@for suite in $(or $(SUITES),bookworm trixie); do \
		tests/packages.sh $(BUILD)/installed-packages $(BUILD)/deb $$suite || exit 1; done

# The image of the Containerfile, under podman.
.PHONY: check-image
check-image: deps-image
	@tests/image.sh $(BUILD)/image

# As a service under systemd, in a container with a Debian of its own: tests/installed.sh.
.PHONY: check-installed
check-installed: deps-check deps-installed
	@tests/installed.sh $(BUILD)/installed $(PACKAGES_BUILD)

# On another kernel, in an emulator: tests/kernel.sh. KERNEL=FILE: that one instead of Debian's.
.PHONY: check-kernel
check-kernel: deps-check deps-kernel
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@KERNEL=$(KERNEL) tests/kernel.sh $(BUILD)

# On Debian's kernel, in the emulator: programs on NFS whose server stops.
.PHONY: check-nfs
check-nfs: deps-check deps-nfs
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@tests/kernel.sh $(BUILD) nfs

bench: deps-check deps-bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(PYTHON) tests/bench/bench.py --build $(BUILD)

# The tables of two pages, made anew on this machine: of what dumps cost, and of what blocked calls notice.
.PHONY: docs-performance docs-invisibility
docs-performance: deps-check deps-bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(PYTHON) tests/bench/bench.py --build $(BUILD) --into docs/performance.md
docs-invisibility: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@SNAPWALK_BUILD="$(abspath $(BUILD))" $(PYTHON) tests/live/test_invisible.py --into docs/invisibility.md

# The pictures of the README, from real runs on this machine.
.PHONY: docs-picture
docs-picture: $(BIN)/snapwalk
	@$(PYTHON) packaging/picture.py $<

# The cost of sampling to the target, and how right its shares are: five minutes on a machine that does nothing else.
bench-sampling: deps-check deps-bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(PYTHON) tests/bench/sampling.py --build $(BUILD)

# The cost of events for the program that has them, side by side with perf, bpftrace, strace, heaptrack and valgrind: one to three
# minutes, also on a machine that has other work.
.PHONY: bench-events
bench-events: deps-check deps-events
	@$(MAKE) --no-print-directory -s -j$$(nproc) all tests-build
	@$(PYTHON) tests/bench/events.py --build $(BUILD)

# Lines that unit tests and the fuzzers' corpora run, by folder. Processes that give up their rights write no counts, so
# that what only live tests run is not in it. COVERAGE="--save FILE" keeps the covered lines, COVERAGE="--against FILE" says
# which of them are covered no more.
.PHONY: coverage coverage-run
coverage: deps-check
	@$(MAKE) --no-print-directory -s -j$$(nproc) BUILD=$(BUILD)-coverage CFLAGS="-O0 --coverage" LDFLAGS=--coverage coverage-run
coverage-run: unit-tests fuzz-tests
	@find $(BUILD) -name "*.gcda" -delete
	@SNAPWALK_MUTATIONS=0 $(PYTHON) tests/run.py --build $(BUILD) --no-rerun --unit $(UNIT) --fuzz $(FUZZ) || true
	@$(PYTHON) tests/coverage.py $(BUILD) $(COVERAGE)

# Coverage-guided, clang only: make fuzz FUZZ_SECONDS=60
FUZZ_SECONDS ?= 30
fuzz: deps-check
	@tests/fuzz/libfuzzer.sh $(FUZZ_SECONDS) "$(INC_TESTS)" "$(TESTS_LIBS)"
