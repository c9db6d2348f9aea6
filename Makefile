# gradlab: every command a person needs. `make` alone prints those that exist.
#
# One Makefile, no recursion. Objects of one mode live in build/<mode>/ and mirror the source tree:
#   mode = float|double, then -san (SAN=1: ASan + UBSan), then -debug (DEBUG=1: -O0 -g), or -check
#   (CHECK=1: hostcuda kernels are watched access by access)
# Rules hold for every mode at once, so that `make test` builds two precisions in one run.
#
# Its parts, in the order in which they are read:
#   mk/options.mk           what may be typed: goals, options, values (mk/given.mk: as they are)
#   mk/modes.mk             sources, modes, objects, programs
#   mk/cuda.mk              libtl_cuda.so, by nvcc
#   mk/hostcuda_device.mk   libtl_hostcuda.so, by hostcuda and the host's compiler
#   mk/locale.mk            texts in another language, LANGUAGE=
#   mk/handout.mk           what a handout has ready-made: graders, objects of the reference
#   mk/labs.mk              a lab: which one, whose files, its commands
#   mk/course.mk            a whole class: the instructor's commands
#   mk/workers.mk           what it is graded with: grader, workers, plug-ins
#   mk/mine.mk              MINE=1: programs of a student's files alone
#   mk/show.mk              what a lab has come to, to look at
#   mk/course.mk            what maintainers and instructors run around the labs
#   mk/class.mk             a class graded
#   mk/export.mk            grades in the forms of other systems
#   mk/image.mk             a container image to grade in
#   mk/site.mk              the handouts as pages for a browser
#   mk/lib.mk               libtl.so, the library for other programs and languages
#   mk/bridge.mk           the C++ extension of bridge/, PyTorch operators by libtl.so
#   mk/labs_check.mk        make labs-check: solution and skeletons in every build
#   mk/train.mk             train, compare with PyTorch, report
#   mk/compare.mk           compare the reference: step by step, rung by rung
#   mk/tests.mk             tests and checks of this repository
#   mk/editor.mk            compile_commands.json
# mk/complete.mk is read alone: what TAB offers (tools/complete.sh).
# Those behind `-include` are no part of a handout.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

include mk/options.mk

# ---- setup: first and alone, then the other goals in a fresh make -------------------------------

# The rules below this section look at what is installed, so they are read only after setup is done.
ifneq ($(filter setup,$(MAKECMDGOALS)),)
AFTER_SETUP := $(filter-out setup,$(MAKECMDGOALS))
.PHONY: setup $(AFTER_SETUP)
setup:
	@YES=$(call quote,$(YES)) PYTHON=$(call quote,$(PYTHON)) CC=$(call quote,$(CC)) \
	    CXX=$(call quote,$(CXX)) tools/setup.sh $(AFTER_SETUP)
# (as if typed anew, so that a lab is built on all cores)
ifneq ($(AFTER_SETUP),)
$(firstword $(AFTER_SETUP)): setup
	+@env -u MAKELEVEL $(MAKE) $(AFTER_SETUP)
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

include mk/modes.mk
# The two plug-ins are made of the same sources, by nvcc and by the host's compiler.
include mk/cuda.mk
include mk/hostcuda_device.mk

# ---- commands -----------------------------------------------------------------------------------

# `## text` after a target is its line in the help; `##@` starts a group, `##@@` one that only `make
# help ALL=1` shows, as it does with lines that begin with "the maintainer's" or "the instructor's".
.PHONY: help doctor clean
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

include mk/box.mk
include mk/locale.mk
include mk/handout.mk
include mk/labs.mk
include mk/mine.mk
include mk/show.mk
-include mk/lib.mk
-include mk/bridge.mk
-include mk/course.mk
-include mk/class.mk
-include mk/export.mk
-include mk/image.mk
-include mk/site.mk
-include mk/labs_check.mk

include mk/train.mk
-include mk/compare.mk

-include mk/tests.mk
include mk/editor.mk

##@ files
clean: ## remove build/
	@# (snapshots of submissions are read-only)
	@[ ! -d build/submissions ] || chmod -R u+w build/submissions
	rm -rf build

endif
