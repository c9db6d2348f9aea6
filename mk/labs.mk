# labs.mk: which lab is asked for, whose files are graded, and the commands for that. What is built
# is in workers.mk. Included by the Makefile.

ifeq ($(origin LABS),undefined)
LABS := $(if $(filter broken grader-soak,$(MAKECMDGOALS)),solution,labs)
endif

# ---- which lab, whose files ----------------------------------------------------------------------

# lab2/im2col.c …: the files that a student writes, as the generator wrote them last; and data,
# which no compiler reads
LAB_LIST := autograder/grade/skeletons.sha256
LAB_LISTED := $(patsubst labs/%,%,$(if $(wildcard $(LAB_LIST)),$(shell \
	awk '{ print $$2 }' $(LAB_LIST))))
LAB_FILES := $(filter-out %.toml,$(LAB_LISTED))
ifeq ($(LAB_FILES)$(filter skeletons setup doctor clean help,$(or $(MAKECMDGOALS),help)),)
$(error $(LAB_LIST) is missing, which says what a student writes: get a clean copy)
endif
# (grading needs no more than a bare Python; $(shell) does not see what the Makefile exports)
LAB_PYTHON := env PYTHONPATH=autograder/grade:tools PYTHONDONTWRITEBYTECODE= \
	PYTHONPYCACHEPREFIX=build/python $(or $(wildcard $(PYTHON)),python3)

# (the path of LABS= becomes part of rules and commands)
LABS_NOT_PLAIN = $(filter-out 1,$(words $(value LABS))$(shell printf %s \
	$(call quote,$(value LABS)) | tr -d 'A-Za-z0-9_./+@\200-\377-'))

ifneq ($(filter $(LAB_GOALS) broken grade grader-soak,$(MAKECMDGOALS)),)
# A first build is that of the whole reference: all cores, unless -j says otherwise. (Who grades a
# class has submissions to go side by side; the make behind `make -j2 setup lab2` has been told.)
ifeq ($(MAKELEVEL)$(filter grade,$(MAKECMDGOALS))$(jobs_told),0)
MAKEFLAGS += -j$(shell nproc)
endif
LAB_REMEMBERED := $(if $(wildcard build/lab),$(file <build/lab))
LAB_ASKED := $(patsubst lab%,%,$(lastword $(filter $(LAB_GOALS),$(MAKECMDGOALS))))
LAB_N := $(or $(LAB_ASKED),$(LAB),$(LAB_REMEMBERED))
ifeq ($(LAB_N),)
$(error grade: say which lab: make grade LAB=2, or make lab2 first)
endif
ifeq ($(filter lab$(LAB_N),$(LAB_GOALS)),)
$(error LAB=$(LAB_N): there is no such lab; it is one of $(LAB_GOALS:lab%=%))
endif
# SUBMISSION=folder or .zip: of whatever lies there, the files of this lab alone, over this clean
# copy. submission.py refuses where there is no sandbox: what others wrote runs nowhere else; and
# where there is no secret to make the seed of (seeds.py).
LAB_OFFICIAL := $(if $(filter SUBMISSION,$(GIVEN))$(value SUBMISSION),yes)
ifneq ($(LAB_OFFICIAL),)
ifneq ($(HANDOUT),)
$(error SUBMISSION= is graded beside the reference, and a handout has none: make grade LAB=$(LAB_N) \
grades your own files)
endif
ifneq ($(filter LABS MINE,$(GIVEN)),)
$(error SUBMISSION= says whose files are graded: without LABS= and MINE=)
endif
ifneq ($(SAN)$(filter cuda,$(subst $(comma), ,$(DEVICES))),)
$(error SUBMISSION= is graded on cpu and hostcuda: without SAN= and DEVICES=cuda, for which there \
is no sandbox)
endif
# (the make within this one that grades each task by itself has the same snapshot of the files)
ifneq ($(and $(filter-out 0,$(MAKELEVEL)),$(GRADLAB_SNAPSHOT)),)
override LABS := $(GRADLAB_SNAPSHOT)
else
override LABS := $(shell $(LAB_PYTHON) autograder/grade/submission.py \
	$(call quote,$(value SUBMISSION)) $(LAB_N) $(call given,SECRET SEED REGRADE))
ifneq ($(.SHELLSTATUS),0)
$(error nothing was graded)
endif
# each task beside the reference's, so that one bug costs one task, and one's own gemm is no matmul
override TASKWISE := 1
override GIVEN := $(filter-out TASKWISE,$(GIVEN)) TASKWISE
# which box compiles, links and runs it: A, B or C
export GRADLAB_TIER := $(firstword $(shell $(LAB_PYTHON) autograder/grade/sandbox.py))
endif
endif
ifneq ($(LABS_NOT_PLAIN),)
$(error LABS=$(value LABS): it takes a plain name of a folder: letters, digits and _ - . / + @)
endif
ifeq ($(wildcard $(LABS)/lab$(LAB_N)/.),)
$(error LABS=$(LABS): there is no folder lab$(LAB_N) in it)
endif

# With nvcc, cuBLAS and a GPU the real device is graded, too.
LAB_DEVICES := hostcuda$(if $(LAB_OFFICIAL),,$(if \
	$(and $(CUDA),$(wildcard /dev/nvidia0)),$(comma)cuda))

LAB_PLAN := $(shell $(LAB_PYTHON) autograder/grade/grade.py LAB=$(LAB_N) PLAN=build/plan \
	PLUGINS=$(LAB_DEVICES) SUFFIX=$(SUFFIX) MINE=$(if $(LAB_MINE),1) \
	$(call given,T TASKWISE DEVICES HTML DIAGNOSIS HINT))
ifneq ($(.SHELLSTATUS),0)
$(error nothing was $(if $(filter grade,$(MAKECMDGOALS)),graded,built))
endif
else
LAB_PLAN :=
endif

# Where objects and workers of $(LABS) lie, below build/<mode>.
LAB_FROM := $(if $(filter labs,$(LABS)),,from/$(patsubst %/,%,$(patsubst /%,%,$(LABS)))/)

include mk/workers.mk

# ---- commands ------------------------------------------------------------------------------------

.PHONY: $(LAB_GOALS) bundle claims debug grade watch gradcheck restore submit
##@ labs
# lab0: ## (to lab5) build your lab, for the cpu and for CUDA on a CPU; DEBUG=1 SAN=1 CHECK=1 MINE=1
$(LAB_GOALS): $(LAB_BUILT)
	@echo $(@:lab%=%) >build/lab
	@$(lab_say_once)
	@why=$$(cat /dev/null $(LAB_WHYS) 2>/dev/null | sort -u || true); \
	    if [ -n "$$why" ]; then printf '%s\n' "$$why" >&2; exit 1; fi
	@echo '$@ is built. Now: make grade'

# Where a worker lies: grade.py puts {variant} and {mode} in, which is the precision with SUFFIX
# behind it, or, for claims that need the checkers, say float-check.
LAB_PROGRAMS = LAB=$(LAB_N) LABS=$(LABS) SUFFIX=$(SUFFIX) \
	WORKER='build/{mode}/$(LAB_FROM)lab$(LAB_N)$(if $(LAB_MINE),-mine)/{variant}/worker'

# Behind `|| `: who is below MIN (status 1) has read it, and nothing of make's comes after it. At
# SIGQUIT GNU make ends with status 1 and no word, once it has waited for who has sent it. Where
# make's caller has that signal ignored, it cannot be trapped either: then make has its line, and
# status 2.
as_said = { case $$? in \
	1) trap 'kill -QUIT $$PPID; sleep 0.1; exit 0' QUIT; kill -QUIT $$$$; exit 1;; \
	*) exit $$?;; esac; }

# Where one file cannot be built, the others are graded one by one: it costs its own points alone.
# (two lines: one that names MAKE is run even by make -n)
lab_not_whole = [ -z '$(TASKWISE)' ] && [ -n "$$(ls $(LAB_WHYS) /dev/null 2>/dev/null | grep why)" ]
grade_exec = $(if $(MIN),,exec)
grade_end = $(if $(MIN),|| $(as_said))
grade: ## grade the lab built last: LAB=N T=task MIN=n TASKWISE=1 SEED=s …
grade: $(LAB_BUILT) $(GRADE_CATALOGUES)
	$(if $(LAB)$(LAB_ASKED),,@echo 'lab $(LAB_N), the one built last' >&2)
	@if $(lab_not_whole); then \
	    echo 'not all files can be built: each task is graded by itself' >&2; \
	    $(if $(LAB_OFFICIAL),GRADLAB_SNAPSHOT=$(LABS)) $(grade_exec) $(MAKE) grade LAB=$(LAB_N) \
	        TASKWISE=1 $(grade_end); fi
	@if $(lab_not_whole); then exit 0; fi; $(lab_say_once); \
	$(grade_exec) $(LAB_PYTHON) autograder/grade/grade.py $(LAB_PROGRAMS) \
	    $(if $(LAB_MINE),MINE=1) CC=$(call quote,$(CC)) \
	    CXX=$(call quote,$(CXX)) $(if $(LAB_OFFICIAL),SUBMISSION=$(call quote,$(value SUBMISSION))) \
	    $(call given,$(filter-out LABS MINE CHECK LAB SUBMISSION,$(OPTIONS_grade)) V) $(grade_end)

claims: ## a lab's tasks and claims, with their points and how each is judged: LAB=N T=task
	@$(LAB_PYTHON) autograder/grade/listing.py $(call given,LAB T)

WATCHED_LAB = $(or $(LAB),$(if $(wildcard build/lab),$(file <build/lab)))
lab_is_said = [ -d 'labs/lab$(WATCHED_LAB)' ] || { \
	echo $(call quote,$@: say which lab: make $@ LAB=2$(if $(T), T=$(value T))) >&2; exit 2; }

# (entr starts the command at once, and again when one of the files is saved)
watch: ## grade again whenever you save a file of the lab: LAB=N T=task
	@$(lab_is_said); printf '%s\n' $(filter labs/lab$(WATCHED_LAB)/%,$(LAB_LISTED:%=labs/%)) | \
	entr -n $(LAB_MAKE_AFRESH) grade LAB=$(WATCHED_LAB) $(call given,$(filter-out \
	    LAB SUBMISSION SECRET REGRADE,$(OPTIONS_grade)) V SAN DEBUG CC CXX PYTHON)

# (The grade shows the failure, and its workers are asked which call that is: on hostcuda they have
# the checkers. gdb then stops in the same call of an unoptimised build. What was typed for the first
# is in the environment, too, and not for the second.)
debug: ## into a failing claim with gdb, inputs replayed: LAB=N T=task/claim DEVICES=hostcuda
	@$(lab_is_said)
	@$(LAB_MAKE_AFRESH) grade LAB=$(WATCHED_LAB) $(call given,T SEED DEVICES CHECK SAN CC CXX PYTHON)
	@env -u CHECK -u SAN $(LAB_MAKE_AFRESH) lab$(WATCHED_LAB) DEBUG=1 \
	    $(call given,T DEVICES CC CXX PYTHON) >/dev/null
	@$(LAB_PYTHON) autograder/grade/debug.py LAB=$(WATCHED_LAB) SUFFIX=$(SUFFIX) \
	    WORKER='build/{mode}/lab$(WATCHED_LAB)/{variant}/worker' $(call given,T DEVICES)

bundle: ## what to attach to a question; no source, no names: LAB=N YES=1
	@$(LAB_PYTHON) autograder/grade/bundle.py $(call given,LAB OUT YES)

restore: ## your file away to build/restore, its skeleton back: LAB=N T=task
	@$(LAB_PYTHON) autograder/grade/skeletons.py restore $(call quote,$(LAB)) $(call quote,$(T))

# (what cannot be graded here may be handed in all the same, and its owner knows it; what was typed
# for submit is not for grade)
LAB_MAKE_AFRESH := env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u MAKELEVEL $(MAKE)
# Lab 4's task own by itself, on the cpu: what is less than all of its points there is a failure.
gradcheck: ## the gradients of your own operation (labs/lab4/own.c) against differences: SEED=s
	@$(LAB_MAKE_AFRESH) grade LAB=4 T=own DEVICES=cpu MIN=6 \
	    $(call given,LABS MINE SEED V SAN DEBUG CC CXX PYTHON) || $(as_said)

submit: ## grade a lab once more and pack it to be handed in, with a receipt: LAB=N OUT=file.zip
	@$(LAB_PYTHON) autograder/grade/submit.py CHECK=1 $(call given,LAB OUT)
	@$(LAB_MAKE_AFRESH) grade LAB=$(LAB) || \
	    echo 'submit: it could not be graded here; it is packed all the same' >&2
	@$(LAB_PYTHON) autograder/grade/submit.py $(call given,LAB OUT)
