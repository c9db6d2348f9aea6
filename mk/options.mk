# options.mk: what may be typed behind make: the options of each goal, and that nothing else is.
# Included by the Makefile before all else.

# GIVEN: the names typed on this command line. Their values are taken as they are: make expands what
# was typed, at the latest for a recipe's environment, and a student may call a folder $(shell …).
override GIVEN := $(strip $(foreach v,$(.VARIABLES),$(if $(filter \
	command,$(firstword $(origin $v))),$v)))
override GIVEN_LEFT := $(GIVEN)
include mk/given.mk

# Within quotes a shell takes everything as it is, but a recipe ends at the end of its line.
define line_break


endef
$(foreach v,$(GIVEN),$(if $(findstring $(line_break),$(value $v)),$(error $v= holds a line break)))

# One word for a shell, whatever is in it.
quote = '$(subst ','\'',$(1))'
# NAME='value' for those of the named options that were typed; the program sees the value unchanged.
given = $(foreach o,$(filter $(1),$(GIVEN)),$(o)=$(call quote,$(value $(o))))
# Not empty where the make above hands out jobs: a number of our own would be warned of.
jobs_told = $(findstring jobserver,$(shell printf %s "$${MAKEFLAGS-}"))

# ---- defaults -----------------------------------------------------------------------------------

# given/x86_64: this is a handout, with graders and objects ready-made (mk/handout.mk). Its programs
# are made of the student's own files.
HANDOUT := $(wildcard given/$(shell uname -m))
ifneq ($(wildcard given),$(if $(HANDOUT),given))
$(error this handout is for $(notdir $(wildcard given/*)), and this machine is a $(shell uname -m): \
ask for the one that is made for it)
endif
ifneq ($(HANDOUT),)
MINE ?= 1
export MINE
export GRADLAB_COMMIT ?= $(word 2,$(file <VERSION))
endif

REALS := float double
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
# (CC may have a launcher before its name, and options behind it)
CC_NAME := $(notdir $(lastword $(filter-out -%,$(CC))))
ifeq ($(origin CXX),default)
CXX := $(or $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC))),$(if \
	$(findstring gcc,$(CC)),$(subst gcc,g++,$(CC))),c++)
endif

# ---- goals and their options --------------------------------------------------------------------

# lab0 lab1 …: the labs that there are
LAB_GOALS := $(patsubst autograder/%/lab.toml,%,$(wildcard autograder/lab*/lab.toml))

# (what REAL, SAN, DEBUG and CHECK do to compilers: mk/modes.mk)
BUILD_OPTIONS := YES REAL SAN DEBUG CHECK ARCH CC CXX CFLAGS V PYTHON GRADLAB_DATA GRADLAB_COMMIT \
	NVCC CUBLAS_HOME CUDA_ARCH
# What decides the course of a run; the twin follows it too. The rest concerns our programs alone.
options_of = $(shell awk -F '[^A-Za-z0-9_]+' '$$1 == "OPTION" && $$7 ~ /$1/ { print $$2 }' \
	$(or $2,programs/options.def))
RUN_OPTIONS := $(call options_of,RUN)
TRAIN_OPTIONS := $(call options_of,.)
TWIN_OPTIONS := DEVICE THREADS OUT STEP_LOG LAYOUT DTYPE MASKS
OPTIONS_train := $(TRAIN_OPTIONS) MINE
OPTIONS_baseline := $(RUN_OPTIONS) $(TWIN_OPTIONS) PROFILE MINE
OPTIONS_parity := $(RUN_OPTIONS) NETS DEVICE THREADS RUNGS
OPTIONS_bench-step := $(RUN_OPTIONS) DEVICE THREADS RUNGS REPEAT MINE
OPTIONS_bench-ops := DEVICE THREADS RUNGS SEED OPS REPEAT LONG OUT MINE
BENCH_OPTIONS = $(filter-out MINE BESIDE,$(call options_of,.,programs/bench/options.def))
OPTIONS_bench = $(BENCH_OPTIONS) MINE
OPTIONS_predict := NET PRECISION BITS DEVICE DATASET SEED LIMIT THREADS RUNGS BATCH RESUME OUT MINE
OPTIONS_report := FROM DRAFT FULL AGAIN DATASET OUT MINE
OPTIONS_report-zh := $(OPTIONS_report)
OPTIONS_hostcuda-bench := OUT
OPTIONS_data := DATASET SEED FROM
OPTIONS_gpu-suite := OUT STAGES
OPTIONS_fuzz := SECONDS
OPTIONS_test-distros := DISTROS STEPS COMPILERS TREES LABS
OPTIONS_cuda-all := CUDA_REALS
OPTIONS_lib := PREFIX MINE
OPTIONS_bridge := PREFIX MINE
OPTIONS_bridge-bench := DEVICE PARTS LONG REPEAT EPOCHS THREADS SEED LIMIT OUT MINE
# A lab's workers are built and graded alike.
OPTIONS_labs := LABS MINE CHECK TASKWISE T DEVICES
OPTIONS_grade := $(OPTIONS_labs) LAB SEED MIN JSON JUNIT HTML DIAGNOSIS HINT SUBMISSION SECRET REGRADE \
	LANGUAGE
OPTIONS_claims := LAB T
OPTIONS_watch = $(OPTIONS_grade)
OPTIONS_debug := LAB T SEED DEVICES LANGUAGE
OPTIONS_bundle := LAB OUT
OPTIONS_show := LAB LABS MINE DEVICE THREADS SEED OUT RESUME
OPTIONS_gradcheck := LABS MINE SEED LANGUAGE
OPTIONS_grade-class := SUBMISSIONS LAB OUT ROSTER DUE TIMES ATTEMPT POLICY JOBS SECRET SHARD BOARD
OPTIONS_grade-slurm := $(filter-out SHARD BOARD,$(OPTIONS_grade-class)) SHARDS ONLY
OPTIONS_regrade := OUT LAB STUDENT SIGNED JOBS
OPTIONS_replay := OUT LAB STUDENT ATTEMPT
OPTIONS_merge := FROM OUT
OPTIONS_forget := STUDENT OUT
OPTIONS_similarity := OUT LAB TO EARLIER PSEUDONYMS READ THRESHOLD
OPTIONS_grader-soak := LAB SEEDS FIRST DEVICES JOBS OUT LABS
OPTIONS_hostile := CASE TIER JOBS QUICK LAYERS
OPTIONS_broken := LAB LABS
OPTIONS_mutants := LAB T KEEP
OPTIONS_taskwise := LAB T
OPTIONS_grade-cost := LAB TASKWISE
OPTIONS_restore := LAB T
OPTIONS_submit := LAB OUT LANGUAGE
OPTIONS_secret := SECRET
OPTIONS_handout := OUT LABS CLOSED MACHINES
OPTIONS_handout-check := FROM
OPTIONS_update := FROM
OPTIONS_export := FROM TO OUT ROSTER COLUMN LAB ATTEMPT FEEDBACK
OPTIONS_gradescope := LAB OUT SECRET
OPTIONS_image := OUT TAG FROM BASE MIRROR
OPTIONS_site := OUT PDF LANGUAGE
OPTIONS_help := ALL
# (a goal with a slash in it is a file's name)
options_of_goal = $(if $(filter $(LAB_GOALS),$1),$(OPTIONS_labs),$(OPTIONS_$1)) \
	$(if $(filter build/%,$1),MINE)

# Typed in labs/lab3 (its Makefile sets GRADLAB_LAB): LAB=3 goes along where a goal takes it.
HERE_LAB := $(if $(filter LAB,$(GIVEN)),,$(filter $(LAB_GOALS:lab%=%),$(GRADLAB_LAB)))
ifneq ($(and $(HERE_LAB),$(filter LAB,$(foreach g,$(MAKECMDGOALS),$(call options_of_goal,$g)))),)
override export LAB := $(HERE_LAB)
override GIVEN += LAB
endif
unexport GRADLAB_LAB

# ---- what does not fit --------------------------------------------------------------------------

# A goal that does not exist comes first, for its options are none.
ALL_GOALS = help setup $(LAB_GOALS) $(shell awk -v names=1 -f tools/help.awk Makefile)
GOALS := $(if $(MAKECMDGOALS),$(ALL_GOALS))
NO_GOAL := $(firstword $(foreach g,$(MAKECMDGOALS),$(if \
	$(findstring /,$g),,$(filter-out $(GOALS),$g))))
ifneq ($(NO_GOAL),)
$(error $(shell awk -v goals=1 -f tools/nearest.awk $(call quote,$(NO_GOAL)) make $(GOALS)))
endif

# A misspelt option must never be ignored: `make train EPOCH=3` would train for the default number
# of epochs, and its owner would believe the result.
KNOWN := $(sort $(BUILD_OPTIONS) $(foreach g,$(MAKECMDGOALS),$(call options_of_goal,$g)))
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
ifeq ($(filter $(REAL),$(REALS)),)
$(error REAL=$(REAL): the storage type is float or double)
endif
ifneq ($(CHECK),)
ifneq ($(SAN)$(DEBUG),)
$(error CHECK=1 is a build of its own: leave out SAN and DEBUG)
endif
endif
