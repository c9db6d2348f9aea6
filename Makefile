# gradlab: every command a person needs. `make` alone prints those that exist.
#
# One Makefile, no recursion. Objects of one mode live in build/<mode>/ and mirror the source tree:
#   mode = float|double, then -san (SAN=1: ASan + UBSan), then -debug (DEBUG=1: -O0 -g), or -check
#   (CHECK=1: hostcuda kernels are watched access by access)
# Rules exist for every mode at once, so that `make test` builds two precisions in one run.
#
# Here are options, programs and suites. Of one subject each: mk/cuda.mk and
# mk/hostcuda_device.mk (the two plug-ins), mk/labs.mk (a lab: workers, grader, grading),
# mk/mine.mk (MINE=1), mk/labs_check.mk (make labs-check), mk/hostcuda_goals.mk (hostcuda's own
# tests).

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# ---- what may be given on the command line ------------------------------------------------------

# GIVEN: the names typed on this command line. Their values are taken as they are: make expands what
# was typed, at the latest for a recipe's environment, and a student may call a folder $(shell …).
GIVEN := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$v))
$(foreach v,$(GIVEN),$(eval export override $v := $$(value $v)))
# Within quotes a shell takes everything as it is, but a recipe ends at the end of its line.
define line_break


endef
$(foreach v,$(GIVEN),$(if $(findstring $(line_break),$(value $v)),$(error $v= holds a line break)))

REAL ?= float
ARCH ?= native
PYTHON ?= .venv/bin/python
GRADLAB_DATA ?= data
export GRADLAB_DATA
# Python translates what it imports once, into build/, whatever it would otherwise do: torch's
# thousands of files cost seconds of every run.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/python
ifeq ($(origin CC),default)
CC := gcc
endif
# The C++ compiler that belongs to CC, for hostcuda: both bring the same sanitizer.
CC_NAME := $(notdir $(lastword $(CC)))
ifeq ($(origin CXX),default)
CXX := $(or $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC))),$(if \
	$(findstring gcc,$(CC)),$(subst gcc,g++,$(CC))),c++)
endif

BUILD_OPTIONS := YES REAL SAN DEBUG CHECK ARCH CC CXX CFLAGS V PYTHON GRADLAB_DATA GRADLAB_COMMIT \
	NVCC CUBLAS_HOME CUDA_ARCH
# What decides the course of a run; the twin follows it too. The rest concerns our programs alone.
options_of = $(shell awk -F '[^A-Za-z0-9_]+' '$$1 == "OPTION" && $$7 ~ /$1/ { print $$2 }' \
	programs/options.def)
RUN_OPTIONS := $(call options_of,RUN)
TRAIN_OPTIONS := $(call options_of,.)
TWIN_OPTIONS := DEVICE THREADS OUT STEP_LOG LAYOUT DTYPE MASKS
OPTIONS_train := $(TRAIN_OPTIONS) MINE
OPTIONS_baseline := $(RUN_OPTIONS) $(TWIN_OPTIONS) PROFILE MINE
OPTIONS_parity := $(RUN_OPTIONS) NETS DEVICE THREADS RUNGS
OPTIONS_bench-step := $(RUN_OPTIONS) DEVICE THREADS RUNGS REPEAT MINE
OPTIONS_bench-ops := DEVICE THREADS RUNGS SEED OPS REPEAT LONG OUT MINE
OPTIONS_predict := NET DEVICE DATASET SEED LIMIT THREADS RUNGS BATCH RESUME OUT MINE
OPTIONS_report := FROM DRAFT FULL AGAIN DATASET OUT MINE
OPTIONS_report-zh := $(OPTIONS_report)
OPTIONS_hostcuda-bench := OUT
OPTIONS_data := DATASET SEED FROM
OPTIONS_gpu-suite := OUT STAGES
OPTIONS_fuzz := SECONDS
OPTIONS_test-distros := DISTROS STEPS COMPILERS TREES
OPTIONS_cuda-all := CUDA_REALS
# A lab's workers are built and graded alike.
OPTIONS_labs := LABS MINE CHECK TASKWISE T DEVICES
$(foreach n,0 1 2 3 4 5,$(eval OPTIONS_lab$n := $(OPTIONS_labs)))
OPTIONS_grade := $(OPTIONS_labs) LAB SEED MIN JSON JUNIT SUBMISSION
OPTIONS_grader-soak := LAB SEEDS FIRST DEVICES JOBS OUT LABS
OPTIONS_mutants := LAB T KEEP
OPTIONS_taskwise := LAB T
OPTIONS_grade-cost := LAB TASKWISE
OPTIONS_restore := LAB T
OPTIONS_submit := LAB OUT
OPTIONS_help := ALL

# One word for a shell, whatever is in it.
quote = '$(subst ','\'',$(1))'

# A goal that does not exist comes first, for its options are none. (What has a slash in it is a
# file's name.)
GOALS := $(if $(MAKECMDGOALS),help setup lab1 lab2 lab3 lab4 lab5 $(shell \
	awk -v names=1 -f tools/help.awk Makefile))
NO_GOAL := $(firstword $(foreach g,$(MAKECMDGOALS),$(if \
	$(findstring /,$g),,$(filter-out $(GOALS),$g))))
ifneq ($(NO_GOAL),)
$(error $(shell awk -v goals=1 -f tools/nearest.awk $(call quote,$(NO_GOAL)) make $(GOALS)))
endif

# A misspelt option must never be ignored: `make train EPOCH=3` would train for the default number
# of epochs, and its owner would believe the result.
KNOWN := $(sort $(BUILD_OPTIONS) $(foreach g,$(MAKECMDGOALS),$(OPTIONS_$g) \
	$(if $(filter build/%,$g),MINE)))
UNKNOWN := $(firstword $(filter-out $(KNOWN),$(GIVEN)))
ifneq ($(UNKNOWN),)
$(error $(shell awk -f tools/nearest.awk '$(UNKNOWN)' 'make $(MAKECMDGOALS)' $(KNOWN)))
endif
ifneq ($(and $(filter report report-zh,$(MAKECMDGOALS)),$(FROM)$(filter 1,$(DRAFT))),)
ifneq ($(filter FULL AGAIN DATASET,$(GIVEN)),)
$(error FROM= and DRAFT=1 take the results that are there, and measure nothing: leave out \
	$(filter FULL AGAIN DATASET,$(GIVEN)))
endif
endif
ifeq ($(filter $(REAL),float double),)
$(error REAL=$(REAL): the storage type is float or double)
endif

# NAME='value' for those of the named options that were typed; the program sees the value unchanged.
given = $(foreach o,$(filter $(1),$(GIVEN)),$(o)=$(call quote,$(value $(o))))

# ---- setup: first and alone, then the other goals in a fresh make -------------------------------

# The rules below this section look at what is installed, so they are read only after setup is done.
ifneq ($(filter setup,$(MAKECMDGOALS)),)
AFTER_SETUP := $(filter-out setup,$(MAKECMDGOALS))
.PHONY: setup $(AFTER_SETUP)
setup:
	@YES=$(call quote,$(YES)) PYTHON=$(call quote,$(PYTHON)) CC=$(call quote,$(CC)) \
	    CXX=$(call quote,$(CXX)) tools/setup.sh $(AFTER_SETUP)
ifneq ($(AFTER_SETUP),)
$(firstword $(AFTER_SETUP)): setup
	+@$(MAKE) $(AFTER_SETUP)
$(wordlist 2,$(words $(AFTER_SETUP)),$(AFTER_SETUP)): $(firstword $(AFTER_SETUP)) ; @:
endif
else

# What these goals need and this machine lacks, in one line, before a tool says it in its own words.
ifneq ($(MAKECMDGOALS),)
LACKING := $(shell PYTHON=$(call quote,$(PYTHON)) CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) \
	NVCC=$(call quote,$(NVCC)) CUBLAS_HOME=$(call quote,$(CUBLAS_HOME)) \
	FROM=$(call quote,$(FROM)) DRAFT=$(call quote,$(DRAFT)) DATASET=$(call quote,$(DATASET)) \
	GRADLAB_DATA=$(call quote,$(GRADLAB_DATA)) ALONE=$(call quote,$(SAN)$(CHECK)) \
	SETUP=$(call quote,$(call given,CC CXX PYTHON NVCC CUBLAS_HOME)) \
	tools/needs.sh $(MAKECMDGOALS))
ifneq ($(LACKING),)
$(error $(LACKING))
endif
endif

# ---- sources and modes --------------------------------------------------------------------------

ifneq ($(CHECK),)
ifneq ($(SAN)$(DEBUG),)
$(error CHECK=1 is a build of its own: leave out SAN and DEBUG)
endif
endif
MODE := $(REAL)$(if $(SAN),-san)$(if $(DEBUG),-debug)$(if $(CHECK),-check)
SUFFIX := $(patsubst $(REAL)%,%,$(MODE))
MODES := $(foreach r,float double,$r $(addprefix $r,-san -debug -san-debug -check))
# A lab is graded with few of them, and to read the rules of all takes as long as a few claims.
ifneq ($(MAKECMDGOALS),)
ifeq ($(filter-out $(addprefix lab,0 1 2 3 4 5) grade,$(MAKECMDGOALS)),)
MODES := $(sort $(foreach r,float double,$r $r-check $r$(SUFFIX)))
endif
endif

MAIN_SRC := $(wildcard programs/main_*.c)
LIB_SRC := $(wildcard solution/lab*/*.c tl/*.c kernels/*/*.c) \
	$(filter-out $(MAIN_SRC) programs/rungs_cuda.c,$(wildcard programs/*.c))
# the grader's link has call_remote*.c where this one has call_direct.c
TEST_SRC := $(filter-out autograder/call/call_remote%,\
	$(wildcard $(addsuffix /*.c,$(addprefix autograder/,oracle call claim lab*) tests)))
HEADERS := $(wildcard tl/include/tl/*.h tl/include/tl/*.def tl/*.h \
	programs/*.h programs/*.def \
	solution/lab*/*.h kernels/*.h kernels/*.def kernels/*/*.h)
PROGRAMS := $(patsubst programs/main_%.c,%,$(MAIN_SRC))
BOTH_PROGRAMS := $(PROGRAMS:%=build/float/%) $(PROGRAMS:%=build/double/%)

PLUGIN_CU := $(wildcard solution/lab*/*.cu tl/cuda/*.cu kernels/*/*.cu)
PLUGIN_C := $(wildcard tl/cuda/*.c) programs/rungs_cuda.c \
	$(addprefix tl/,geometry.c shape.c \
	dropout_threshold.c rungs_apply.c)
# Part of what a program runs, so of its `sources`. hostcuda is not: like a driver it stands for the
# machine, and a change of it makes no result of a cpu or a GPU stale.
PLUGIN_SRC := $(PLUGIN_CU) $(PLUGIN_C) $(wildcard tl/cuda/*.h)
SOURCES := $(sort $(LIB_SRC) $(MAIN_SRC) $(HEADERS) $(PLUGIN_SRC))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
optimise = $(if $(findstring -debug,$1),-O0 -g,$(if $(findstring -san,$1),-O1 -g,-O3))
sanitise = $(if $(findstring -san,$1),-fsanitize=address -fsanitize=undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer)
precision = $(if $(findstring double,$1),-DTL_REAL_DOUBLE)
flags = -std=gnu11 $(call optimise,$1) -march=$(ARCH) -fopenmp -fno-math-errno $(WARNINGS) \
	$(call sanitise,$1) $(call precision,$1) $(CFLAGS)
# Where a library lies in a place of its own, pkg-config knows it.
OPENBLAS := $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas)
CRITERION := $(or $(shell pkg-config --libs criterion 2>/dev/null),-lcriterion)
LIBS := $(OPENBLAS) -lm -ldl
comma := ,

# Who may include whom: labs and solution see the contracts alone; the composition root, the kernels
# and the autograder also see each other by their path from the root ("kernels/rungs.h").
SEE_EACH_OTHER := programs/% tl/cuda/% kernels/% hostcuda/% autograder/% tests/% build/%
includes = -Itl/include $(if $(filter $(SEE_EACH_OTHER),$1),-I.)

Q := $(if $(V),,@)
# (JSON=1: stdout holds the result alone)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)'$(if $(JSON), >&2))

# Writes stdin to $(1), but leaves an equal file (and its time) alone. (Two makes may do so at
# once.)
replace = part=$(1).$$$$; cat >$$part; if cmp -s $$part $(1); then rm $$part; else mv $$part $(1); fi

# To optimise suites, and the door that they call through, takes longer than they run. What they run
# longest is the oracle and the drawing of shapes10: those are quick under sanitizers, too.
SUITE_RUNS_LONG := autograder/oracle/% tl/shapes10_%
tuned = $(or $(if $(filter %_test.c,$1),-O0),\
	$(if $(and $(findstring -O3,$2),$(filter tests/% autograder/claim/% autograder/call/%,$1)),-O1),\
	$(if $(and $(findstring -O1,$2),$(filter $(SUITE_RUNS_LONG),$1)),-O2))

# That TL_TRY leaves with every failure is more than gcc knows, so what only success sets seems
# unset behind it. (clang does not know the warning, and says so of each file.)
CC_WARNINGS := $(if $(findstring clang,$(CC_NAME)),,-Wno-maybe-uninitialized)

# The recipe of an object: $(1) mode, $(2) more flags.
define compile
@mkdir -p $(@D)
$(call say,CC,$@)
$(Q)$(CC) $(call flags,$1) $(CC_WARNINGS) $(call tuned,$<,$(call flags,$1)) $2 \
    $(call includes,$<) -MMD -MP -c -o $@ $<
endef

# Each compile depends on build/<mode>/flags: the flags and all that the compiler defines under
# them, which covers its version and what -march=native means on this machine. Each link depends
# on build/<mode>/objects, so that a removed source file relinks too.
define mode_rules
build/$(1)/%.o: %.c build/$(1)/flags
	$$(call compile,$(1))

build/$(1)/build_info.o: build/$(1)/build_info.c build/$(1)/flags
	$$(call compile,$(1))

build/$(1)/flags: always
	@mkdir -p $$(@D)
	@CC='$$(CC)' tools/build_info.sh flags $$(call flags,$(1)) | { $$(call replace,$$@); }

build/$(1)/objects: always
	@mkdir -p $$(@D)
	@printf '%s\n' $$(LIB_SRC) $$(TEST_SRC) $$(PLUGIN_CU) $$(PLUGIN_C) | { $$(call replace,$$@); }

build/$(1)/build_info.c: build/$(1)/flags $$(SOURCES) always
	@GRADLAB_COMMIT=$$(call quote,$$(GRADLAB_COMMIT)) tools/build_info.sh source $$< $$(SOURCES) \
	    | { $$(call replace,$$@); }

$(PROGRAMS:%=build/$(1)/%): build/$(1)/%: build/$(1)/programs/main_%.o \
		$(LIB_SRC:%.c=build/$(1)/%.o) build/$(1)/build_info.o build/$(1)/objects
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call flags,$(1)) -o $$@ $$(filter %.o,$$^) $$(LIBS)

# (the suite `program` starts the trainer that lies beside it)
build/$(1)/suites: $(TEST_SRC:%.c=build/$(1)/%.o) $(LIB_SRC:%.c=build/$(1)/%.o) \
		build/$(1)/build_info.o build/$(1)/objects | build/$(1)/train
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call flags,$(1)) -o $$@ $$(filter %.o,$$^) $$(LIBS) $$(CRITERION)
endef
$(foreach m,$(MODES),$(eval $(call mode_rules,$m)))

-include $(foreach m,$(MODES),$(patsubst %.c,build/$m/%.d,$(LIB_SRC) $(MAIN_SRC) $(TEST_SRC)))

# The two plug-ins are made of the same sources, by nvcc and by the host's compiler.
include mk/cuda.mk
include mk/hostcuda_device.mk

.PHONY: always help doctor train predict data baseline parity bench-step bench-ops report \
	report-zh report-test test test-all test-without-twin test-distros prototypes cuda-all \
	gpu-suite clean format-check fuzz
.SECONDARY:
always:

# ---- commands -----------------------------------------------------------------------------------

# `## text` after a target is its line in the help; `##@` starts a group, `##@@` one that only `make
# help ALL=1` shows, as it does with lines that begin with "the maintainer's" or "the instructor's".
help:
	@awk -v all=$(call quote,$(ALL)) -f tools/help.awk Makefile

##@ first
# (the rule of setup stands above; this line is its help)
# setup: ## install what the other goals on the line need; says what and how big first
# (141: who reads no further, as `| head`, has seen enough)
doctor: ## what was found, what is missing, what that costs, and the command that fixes it
	@PYTHON=$(call quote,$(PYTHON)) CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) \
	    NVCC=$(call quote,$(NVCC)) CUBLAS_HOME=$(call quote,$(CUBLAS_HOME)) tools/doctor.sh || \
	    [ $$? = 141 ]

include mk/labs.mk
include mk/mine.mk
include mk/labs_check.mk

##@ train
# (without quicker kernels in it, a program says so; where its results lie, the report looks)
MINE_DIR := $(if $(MINE),mine/)
RUNGS_OF_MINE := $(if $(MINE),RUNGS=none)
FOLDER_OF_MINE = results/mine/$@-$(or $(NET),a)-$(or $(DEVICE),auto)-seed$(or $(SEED),1)
OUT_OF_MINE = $(if $(MINE),$(if $(filter OUT,$(GIVEN)),,OUT=$(call quote,$(FOLDER_OF_MINE))))
train: build/$(MODE)/$(MINE_DIR)train
train: ## train a net: NET=a|b|c|m DATASET= EPOCHS= BATCH= LR= SEED= OUT= MINE=1 …
	@$< $(call given,$(TRAIN_OPTIONS)) $(RUNGS_OF_MINE) $(OUT_OF_MINE)

predict: ## a trained net's answers on the test images: NET= RESUME=checkpoint OUT=
predict: build/$(MODE)/$(MINE_DIR)predict
	@$< $(call given,$(filter-out MINE,$(OPTIONS_predict))) $(RUNGS_OF_MINE)

data: ## a data set: DATASET=cifar10|mnist [FROM=archive or folder], or shapes10, drawn here
ifeq ($(DATASET),shapes10)
data: build/$(MODE)/shapes10
	@$< $(call quote,$(GRADLAB_DATA)) $(if $(filter SEED,$(GIVEN)),$(call quote,$(value SEED)))
else
data:
	@data/fetch.sh $(call quote,$(or $(DATASET),cifar10)) $(call quote,$(GRADLAB_DATA)) \
	    $(if $(FROM),$(call quote,$(value FROM)))
endif

##@ compare with PyTorch
# The twin reads batch order, draws and initial weights from the plan that our trainer writes.
baseline: ## train the PyTorch twin with the options of `make train`
baseline: build/$(MODE)/$(MINE_DIR)train
	@mkdir -p build/plans; plan=$$(mktemp -d build/plans/XXXXXX); trap 'rm -rf "$$plan"' EXIT; \
	$< PLAN_ONLY=1 PLAN="$$plan" $(call given,$(RUN_OPTIONS)) $(RUNGS_OF_MINE); \
	$(PYTHON) baseline/$(if $(PROFILE),profile_step,train).py PLAN="$$plan" \
	    $(call given,$(filter-out MINE,$(OPTIONS_baseline))) $(OUT_OF_MINE)

parity: $(BOTH_PROGRAMS) ## compare with the twin step by step: NET=…
	@$(PYTHON) baseline/parity.py $(call given,$(OPTIONS_parity))

# (of MINE=1 the programs learn by their environment, as everything typed here)
bench-step: ## time training steps, ours and PyTorch's alternating: NET=… MINE=1
bench-step: build/float/$(MINE_DIR)train
	@$(PYTHON) baseline/bench_step.py $(call given,$(filter-out MINE,$(OPTIONS_bench-step)))

bench-ops: ## time convolution and linear layers, likewise
bench-ops: build/float/$(MINE_DIR)bench_ops
	@$(PYTHON) baseline/bench_ops.py $(call given,$(filter-out MINE,$(OPTIONS_bench-ops)))

# What is missing is measured first. FROM= and DRAFT=1 take what is there: that needs no programs,
# and no torch.
MEASURED := $(if $(FROM)$(filter 1,$(DRAFT)),,$(addprefix build/float/$(MINE_DIR),train predict \
	bench_ops))
report report-zh: $(MEASURED)
	@$(if $(MEASURED),$(PYTHON) report/measure.py $(call given,FULL AGAIN DATASET))
	@$(PYTHON) report/build.py $(call given,FROM DRAFT OUT) $(if $(filter %-zh,$@),LANG=zh) \
	    CODE=$$(tools/build_info.sh code $(if $(MINE),$(MINE_SOURCES),$(SOURCES)))
# report: ## report/build/report.pdf from results: FROM=folders DRAFT=1 FULL=1 MINE=1
# report-zh: ## the same in Chinese

report-test: ## the maintainer's: the report's tests: filling, escaping, staleness, equal bytes
	@$(PYTHON) -m pytest -q -p no:cacheprovider report/tests

##@@ check
# (under sanitizers in float alone: the lines are the same, and test-all runs both)
SUITES := $(if $(SAN),build/$(REAL)$(SUFFIX)/suites,build/float$(SUFFIX)/suites \
	build/double$(SUFFIX)/suites)
ALL_SUITES := $(addprefix build/,$(addsuffix /suites,float double float-san double-san))
CHECK_SUITES := build/float-check/suites build/double-check/suites

TEST_NEEDS := $(SUITES) $(CORPUS) \
	$(if $(SAN)$(CHECK),,$(BOTH_PROGRAMS) build/float/grader labs-check $(SECTORS))
TEST_JOBS := $(if $(CHECK),,$(SUITES)) $(SUITES:%=%@hostcuda) refusals $(CORPUS)

# On hostcuda the claims of all labs run again, in both precisions: about 40 CPU seconds each.
# With SAN=1 the C suites run alone: Python and torch are not ours to sanitise.
test: ## C suites on cpu and hostcuda, the twin's tests, a short parity; SAN=1: C under ASan + UBSan
test: $(TEST_NEEDS)
	@$(PYTHON) tools/run_tests.py $(TEST_JOBS) $(if $(SAN)$(CHECK),,fuzz pytest parity)

# (of test-distros: a Debian may bring a Python for which there is no PyTorch)
test-without-twin: ## what make test runs without PyTorch, for a Python that has none
test-without-twin: $(TEST_NEEDS)
	@$(PYTHON) tools/run_tests.py $(TEST_JOBS) $(if $(SAN)$(CHECK),,fuzz pytest-without-twin)

# Bare Debians take root and hours: `DISTROS= make test-all` leaves them out, nothing else does.
test-all: ## everything: sanitised, by gcc and clang, the whole parity, README on bare Debians
test-all: $(ALL_SUITES) $(CHECK_SUITES) $(ALL_CORPORA) $(BOTH_PROGRAMS) build/float/grader \
		labs-check $(SECTORS)
	@$(PYTHON) tools/run_tests.py $(ALL_SUITES) $(ALL_SUITES:%=%@hostcuda) \
	    $(CHECK_SUITES:%=%@hostcuda) refusals legality $(ALL_CORPORA) fuzz-all pytest parity-all grow \
	    $(if $(DISTROS)$(filter undefined,$(origin DISTROS)),distros)

test-distros: ## README's commands and the labs on bare Debians, gcc and clang: DISTROS="trixie sid"
	@tools/test_distros.sh

C_FILES := $(LIB_SRC) $(MAIN_SRC) $(TEST_SRC) $(HEADERS) $(PLUGIN_CU) $(PLUGIN_C) \
	$(wildcard tl/cuda/*.h) $(wildcard autograder/*/*.h tests/*.h)
format-check: ## C as clang-format 14 would write it, Python as ruff would
	@PYTHON=$(call quote,$(PYTHON)) tools/format_check.sh $(sort $(filter-out %.def,$(C_FILES)))

include mk/hostcuda_goals.mk

# A student's files are read as the solution's are. Of .cu files clangd sees CUDA as hostcuda has it.
SEEN_C := $(LIB_SRC) $(MAIN_SRC) $(TEST_SRC) $(PLUGIN_C) $(wildcard labs/lab*/*.c \
	autograder/worker/*.c autograder/call/*.c)
SEEN_CU := $(PLUGIN_CU) $(wildcard labs/lab*/*.cu)
seen_cu := clang++ -x cuda -std=c++17 --cuda-host-only --cuda-gpu-arch=sm_75 -nocudainc \
	-nocudalib --cuda-path=/nonexistent -Xclang -fno-cuda-host-device-constexpr \
	$(call precision,$(MODE)) -Ihostcuda/include -include hostcuda/legality/prelude.h -Itl/include
commands = $(foreach d,yes no,$(call quote,$1 $(if $(filter yes,$d),-I.)) \
	$(sort $(if $(filter yes,$d),$(filter $(SEE_EACH_OTHER),$2),\
	$(filter-out $(SEE_EACH_OTHER),$2))) --)
compile_commands.json: always ## for an editor with clangd: how each file is compiled
	@tools/compile_commands.sh $(call commands,$(CC) $(call flags,$(MODE)) -Itl/include,$(SEEN_C)) \
	    $(call commands,$(seen_cu),$(SEEN_CU)) | { $(call replace,$@); }
# (a copy that cannot be written to needs no editor)
ifneq ($(shell [ -w . ] && echo yes),)
$(filter lab%,$(MAKECMDGOALS)): | compile_commands.json
endif

prototypes: build/prototypes.h ## what tl/ops.def makes, written out: calls, table entries
build/prototypes.h: autograder/call/call_ops.h $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -E -P -Itl/include $< | sed -nE -e 's/ +([,)])/\1/g' \
	    -e '/^(void call_|tl_status \(\*)/p' >$@

cuda-all: ## compile the CUDA plug-in for every GPU, warnings are errors (needs no GPU)
CUDA_REALS ?= float double
cuda-all: $(foreach r,$(CUDA_REALS),build/$r/cuda-all/libtl_cuda.so)

# (a make of its own inside: what was typed here is not for it)
gpu-suite: ## on a GPU machine: suites, sanitizer, training, step times: OUT=dir [STAGES="build …"]
	@test -n $(call quote,$(OUT)) || { echo "gpu-suite: say where results go: OUT=dir" >&2; exit 2; }
	@env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS tools/gpu_suite.sh $(call quote,$(OUT)) $(STAGES)

fuzz: ## feed the readers of data sets and checkpoints damaged files: SECONDS=60 each (needs clang)
	@tests/fuzz/fuzz.sh $(or $(SECONDS),60)

##@ files
clean: ## remove build/
	rm -rf build

endif
