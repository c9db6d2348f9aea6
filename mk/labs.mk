# labs.mk: what a lab is graded with: the grader, workers, and the plug-ins beside them.
#
#   build/<mode>/labN/grader                     the lab's claims; holds no code of any lab
#   build/<mode>/grader                          those of all labs, for the worker's own tests
#   build/<mode>/labN/<variant>/worker           the code of all labs, which the grader calls
#   build/<mode>/labN/<variant>/libtl_<device>.so
#
# A variant says whose files of lab N are linked: `all` takes every task from $(LABS), `only-<task>`
# that one, and the reference (solution/) has the rest; its objects are shared by all variants. With
# MINE=1 the other labs come from $(LABS), too (labN-mine/). Another folder than labs/ has its
# objects and workers under build/<mode>/from/<folder>/.
#
# What a run of the grader needs of all this, grade.py works out (plan.py), and writes it down as
# rules without recipes in build/plan/. Their recipes are here.
#
# A file that does not compile or link costs its own points alone. So these recipes do not fail:
# they leave out what could not be made, say why in the file `why` (`why-<device>`) beside it, and
# whoever needs it looks. What is missing is tried again by the next make. Where it is a .c file
# that is broken or missing, the .cu beside it is judged in `worker-cuda`, which has the
# reference's C instead.

ifeq ($(origin LABS),undefined)
LABS := $(if $(filter grader-soak,$(MAKECMDGOALS)),solution,labs)
endif

# ---- which lab, whose files ----------------------------------------------------------------------

# lab2/im2col.c …: the files that a student writes, as the generator wrote them last
LAB_LIST := autograder/grade/skeletons.sha256
LAB_FILES := $(patsubst labs/%,%,$(if $(wildcard $(LAB_LIST)),$(shell \
	awk '{ print $$2 }' $(LAB_LIST))))
ifeq ($(LAB_FILES)$(filter skeletons setup doctor clean help,$(or $(MAKECMDGOALS),help)),)
$(error $(LAB_LIST) is missing, which says what a student writes: get a clean copy)
endif
# (grading needs no more than a bare Python; $(shell) does not see what the Makefile exports)
LAB_PYTHON := env PYTHONPATH=autograder/grade PYTHONDONTWRITEBYTECODE= \
	PYTHONPYCACHEPREFIX=build/python $(or $(wildcard $(PYTHON)),python3)

ifneq ($(filter $(LAB_GOALS) grade grader-soak,$(MAKECMDGOALS)),)
# A first build is that of the whole reference: all cores, unless -j says otherwise. (Who grades a
# class has submissions to go side by side.)
ifeq ($(MAKELEVEL)$(filter grade,$(MAKECMDGOALS)),0)
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
# SUBMISSION=folder: of whatever lies there, the files of this lab alone, over this clean copy.
# submission.py refuses where there is no sandbox: what others wrote runs nowhere else.
LAB_OFFICIAL := $(if $(filter SUBMISSION,$(GIVEN))$(value SUBMISSION),yes)
ifneq ($(LAB_OFFICIAL),)
ifneq ($(filter LABS MINE,$(GIVEN)),)
$(error SUBMISSION= says whose files are graded: without LABS= and MINE=)
endif
ifneq ($(SAN)$(filter cuda,$(subst $(comma), ,$(DEVICES))),)
$(error SUBMISSION= is graded on cpu and hostcuda: without SAN= and DEVICES=cuda, for which there is \
no sandbox)
endif
override LABS := $(shell $(LAB_PYTHON) autograder/grade/submission.py \
	$(call quote,$(value SUBMISSION)) $(LAB_N))
ifneq ($(.SHELLSTATUS),0)
$(error nothing was graded)
endif
endif
# (the path becomes part of rules and commands)
ifneq ($(words $(value LABS))$(shell printf %s $(call quote,$(value LABS)) | \
	tr -d 'A-Za-z0-9_./+@\200-\377-'),1)
$(error LABS=$(value LABS): it takes a plain name of a folder: letters, digits and _ - . / + @)
endif
ifeq ($(wildcard $(LABS)/lab$(LAB_N)/.),)
$(error LABS=$(LABS): there is no folder lab$(LAB_N) in it)
endif

# With nvcc, cuBLAS and a GPU the real device is graded, too.
LAB_DEVICES := hostcuda$(if $(LAB_OFFICIAL),,$(if \
	$(and $(CUDA),$(wildcard /dev/nvidia0)),$(comma)cuda))

LAB_PLAN := $(shell $(LAB_PYTHON) autograder/grade/grade.py LAB=$(LAB_N) PLAN=build/plan \
	PLUGINS=$(LAB_DEVICES) SUFFIX=$(SUFFIX) MINE=$(if $(MINE),1) $(call given,T TASKWISE DEVICES))
ifneq ($(.SHELLSTATUS),0)
$(error grade.py does not say what lab $(LAB_N) needs: see above)
endif
else
LAB_PLAN :=
endif

# Where objects and workers of $(LABS) lie, below build/<mode>.
LAB_FROM := $(if $(filter labs,$(LABS)),,from/$(patsubst %/,%,$(patsubst /%,%,$(LABS)))/)

# ---- what workers are made of -------------------------------------------------------------------

# The running side of the call interface; what stays of call/ is the suites' side.
CALL_RUNNING := $(addprefix autograder/call/,call_direct.c call_table.c call_tensor.c call_train.c \
	call_graph.c call_graph_ops.c)
# (of what is given, data sets and checkpoints are the trainer's)
TRAINER_C := $(wildcard $(patsubst %,tl/%.c,checkpoint cifar10 dataset dataset_file mnist \
	plan shapes10_*))
WORKER_C := $(wildcard autograder/worker/*.c) $(CALL_RUNNING) \
	$(filter-out $(TRAINER_C),$(wildcard tl/*.c))
# Rungs are ours: what is next to a student's code has none.
WORKER_PLUGIN_C := $(filter-out programs/%,$(PLUGIN_C))
WORKER_PLUGIN_CU := $(wildcard tl/cuda/*.cu)

# What each of them has that is nobody's lab: $(1) mode
lab_worker_given = $(WORKER_C:%.c=build/$1/%.o)
lab_hostcuda_given = $(WORKER_PLUGIN_CU:%=build/$1/%.lab.o) \
	$(WORKER_PLUGIN_C:%.c=build/$1/%.host.o) $(call hostcuda_library_of,$1)
lab_cuda_given = $(WORKER_PLUGIN_CU:%=build/$1/%.o) $(WORKER_PLUGIN_C:%.c=build/$1/%.pic.o)

# The plan: rules, and in LAB_… lists of what they make.
ifneq ($(LAB_PLAN),)
include $(LAB_PLAN)
endif
LAB_OBJECTS := $(LAB_C_OBJECTS) $(LAB_HOSTCUDA_OBJECTS) $(LAB_CUDA_OBJECTS)
LAB_BUILT := $(LAB_WORKERS) $(LAB_HOSTCUDA_PLUGINS) $(LAB_CUDA_PLUGINS) $(LAB_GRADERS)

-include $(LAB_OBJECTS:.o=.d) $(LAB_HOSTCUDA_OBJECTS:.o=.hc.d)

# ---- a student's objects ------------------------------------------------------------------------

# A file that the student has deleted or renamed is no reason to stop: it is looked for each time.
$(filter-out $(wildcard $(LAB_SOURCES)),$(LAB_SOURCES)): always

# A student's files are compiled with less optimisation than the reference: that is most of the time
# that grading takes, and no claim measures speed.
lab_optimise = $(if $(findstring -debug,$1),-O0,-O1)
# The line of a crash (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5).
lab_lines := -g1 -gdwarf-4 -fno-omit-frame-pointer

# Seconds, KiB of memory and of output: far more than a lab's file takes (unlinked.py says so).
lab_limits = ulimit -t 30 -v 8000000 -f 1000000;
# The recipe: $(1) a compiler's command. Its messages are kept, for `why` and for said.py; without
# an object, go on. What submission.py has refused is not shown to a compiler, which would read, and
# tell, whatever an #include names. (A shell of its own for mkdir costs as much as a tenth of a
# short file.)
lab_compile = $(Q)[ -d $(@D) ] || mkdir -p $(@D); $(if $(wildcard $<.refused),{ cat $<.refused \
	>$@.err; false; },$(if $(wildcard $<),( $(lab_limits) $1 ) 2>$@.err,{ : >$@.err; \
	false; })) || rm -f $@

$(LAB_C_OBJECTS):
	$(call say,CC,$@)
	$(call lab_compile,$(CC) $(call flags,$(mode)) $(call lab_optimise,$(mode)) $(lab_lines) \
	    -Itl/include -MMD -MP -c -o $@ $<)

$(LAB_HOSTCUDA_OBJECTS):
	$(call say,CUCC,$@)
	$(call lab_compile,{ $(call lab_hostcuda_compile,-Itl/include); })

$(LAB_CUDA_OBJECTS):
	$(call say,NVCC,$@)
	$(call lab_compile,$(CUDA_COMPILER) $(call cuda_flags,$(mode)) $(call cuda_code,$(mode)) \
	    -Itl/include -isystem $(CUBLAS_INCLUDE) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<)

# gcc reads hostcuda's headers precompiled: half of the time of a short file. A kernel has to serve
# any number of elements with any grid (tl/cuda.h): three blocks show it.
lab_hostcuda_flags = $(call hostcuda_flags,$(mode)) $(call lab_optimise,$(mode)) -DTL_MAX_BLOCKS=3
lab_hostcuda_compile = $(call \
	hostcuda_compile,$(CXX) -Ibuild/$(mode)/precompiled,$(lab_hostcuda_flags),$1)

build/%/precompiled/hostcuda/hostcuda.h.gch: $(HOSTCUDA)/include/hostcuda/hostcuda.h \
		$(HOSTCUDA_HEADERS) build/%/host-flags build/%/flags
	@mkdir -p $(@D)
	$(call say,CUCC,$@)
	$(Q)$(if $(findstring clang,$(CXX)),touch $@,$(CXX) -x c++-header \
	    $(call hostcuda_noted_flags,$(CXX),$(lab_hostcuda_flags)) -o $@ $<)

# The reference's kernels beside a student's, and what both are called through, are compiled as the
# student's are: in half of the time that the trainer's take.
build/%.cu.lab.o: $$(source).cu $(HOSTCUDA_REWRITE) \
		build/$$(mode)/precompiled/hostcuda/hostcuda.h.gch
	@mkdir -p $(@D)
	$(call say,CUCC,$@)
	$(Q)$(call lab_hostcuda_compile,$(call includes,$<))
LAB_GIVEN_CU := $(WORKER_PLUGIN_CU) $(addprefix solution/,$(filter %.cu,$(LAB_FILES)))
-include $(call in_modes,$(LAB_GIVEN_CU:%=%.lab.d) $(LAB_GIVEN_CU:%=%.lab.hc.d))

# ---- workers and their plug-ins ------------------------------------------------------------------

# A sanitised plug-in links with holes, for the sanitizer's own functions come from the program.
lab_no_holes = && ! nm -u $@ | sed -n "s/^ *U \(tl_.*\)/undefined reference to \`\1'/p" | grep . >&2
# After a link: where it failed, the linker's words become ours. $(1) name of the `why` file
lab_or_why = 2>$(@D)/$(1).err && rm -f $(@D)/$(1).err || { rm -f $@; $(LAB_PYTHON) \
	autograder/grade/unlinked.py $(@D)/$(1).err $(LABS) $(filter %.o,$^) >$(@D)/$(1); }

# (what worker-cuda is made of stands in the plan, too)
$(LAB_WORKERS):
	@mkdir -p $(@D) && rm -f $(@D)/why $(@D)/worker-cuda
	$(call say,LINK,$@)
	$(Q)LC_ALL=C $(CC) $(call flags,$(mode)) -o $@ $(filter %.o,$^) $(LIBS) \
	    $(call lab_or_why,why)
	$(Q)[ -e $@ ] || $(CC) $(call flags,$(mode)) -o $(@D)/worker-cuda \
	    $(WORKER_CUDA) $(LIBS) 2>/dev/null || rm -f $(@D)/worker-cuda

$(LAB_HOSTCUDA_PLUGINS):
	@mkdir -p $(@D) && rm -f $(@D)/why-hostcuda
	$(call say,LINK,$@)
	$(Q){ $(call hostcuda_link,LC_ALL=C $(CXX)) \
	    $(if $(findstring -san,$(mode)),$(lab_no_holes)); } $(call lab_or_why,why-hostcuda)

$(LAB_CUDA_PLUGINS):
	@mkdir -p $(@D) && rm -f $(@D)/why-cuda
	$(call say,LINK,$@)
	$(Q)LC_ALL=C $(cuda_link) $(call lab_or_why,why-cuda)

# `why` of each thing that could not be linked
LAB_WHYS := $(LAB_WORKERS:%worker=%why) \
	$(LAB_HOSTCUDA_PLUGINS:%libtl_hostcuda.so=%why-hostcuda) \
	$(LAB_CUDA_PLUGINS:%libtl_cuda.so=%why-cuda)

# What compilers said of each of the student's files, in all builds of it.
LAB_SAID := $(addsuffix .err,$(LAB_IN_ORDER))
lab_say_once = if [ -n "$$(cat /dev/null $(LAB_SAID) 2>/dev/null)" ]; then \
	$(LAB_PYTHON) autograder/grade/said.py $(LAB_SAID); fi

# ---- the grader ----------------------------------------------------------------------------------

GRADER_C := $(wildcard autograder/oracle/*.c autograder/lab*/*_test.c) \
	$(filter-out $(CALL_RUNNING),$(wildcard autograder/call/*.c)) \
	$(wildcard autograder/claim/*.c) \
	$(addprefix tl/,geometry.c shape.c status.c dropout_threshold.c rng.c)

# Criterion's libgit2 is left out (no_git.c). It is found by the very name that Criterion gives it;
# on a machine where that is another one, or none, the grader starts with Criterion's own.
build/grader/no_git: autograder/grade/no_git.c
	@mkdir -p $(@D) && rm -f $(@D)/*
	@name=$$(objdump -p $$($(CC) -print-file-name=libcriterion.so) | \
	    awk '$$1 == "NEEDED" && $$2 ~ /^libgit2/ { print $$2 }'); \
	if [ -n "$$name" ]; then $(CC) -shared -fPIC -Wl,-soname,$$name -o $(@D)/$$name $<; fi
	@touch $@

# (claims of other labs need not be compiled before one can be graded)
CLAIMS := $(wildcard autograder/lab*/*_test.c)
other_claims = $(filter-out autograder/$(notdir $(@D))/%,$(CLAIMS))
grader_c = $(filter-out $(if $(filter lab%,$(notdir $(@D))),$(other_claims)),$(GRADER_C))
GRADER_OBJECTS = $(patsubst %.c,build/$(mode)/%.o,$(grader_c))
build/%/grader: $$(GRADER_OBJECTS) build/grader/no_git
	@mkdir -p $(@D)
	$(call link,-lcriterion -lm \
	    -Wl$(comma)--push-state$(comma)--no-as-needed $$(find build/grader -name 'libgit2*') \
	    -Wl$(comma)--pop-state$(comma)-rpath$(comma)'$$ORIGIN/../grader:$$ORIGIN/../../grader')

-include $(call in_modes,$(patsubst %.c,%.d,$(GRADER_C) $(WORKER_C)))

# ---- commands ------------------------------------------------------------------------------------

.PHONY: $(LAB_GOALS) grade grade-cost grader-soak mutants taskwise skeletons restore submit
##@ labs
# lab0: ## (to lab5) build your lab, for the cpu and for CUDA on a CPU; DEBUG=1 SAN=1 CHECK=1 MINE=1
$(LAB_GOALS): $(LAB_BUILT)
	@echo $(@:lab%=%) >build/lab
	@$(lab_say_once)
	@why=$$(cat $(LAB_WHYS) 2>/dev/null | sort -u || true); \
	    if [ -n "$$why" ]; then printf '%s\n' "$$why" >&2; exit 1; fi
	@echo '$@ is built. Now: make grade'

# Where a worker lies: grade.py puts {variant} and {mode} in, which is the precision with SUFFIX
# behind it, or, for claims that need the checkers, say float-check.
LAB_PROGRAMS = LAB=$(LAB_N) LABS=$(LABS) SUFFIX=$(SUFFIX) \
	WORKER='build/{mode}/$(LAB_FROM)lab$(LAB_N)$(if $(MINE),-mine)/{variant}/worker'

# Where one file cannot be built, the others are graded one by one: it costs its own points alone.
# (two lines: one that names MAKE is run even by make -n)
lab_not_whole = [ -z '$(TASKWISE)' ] && [ -n "$$(ls $(LAB_WHYS) 2>/dev/null)" ]
grade: ## grade the lab built last: LAB=N T=task MIN=n TASKWISE=1 SEED=s …
grade: $(LAB_BUILT)
	$(if $(LAB)$(LAB_ASKED),,@echo 'lab $(LAB_N), the one built last' >&2)
	@if $(lab_not_whole); then \
	    echo 'not all files can be built: each task is graded by itself' >&2; \
	    exec $(MAKE) grade LAB=$(LAB_N) TASKWISE=1; fi
	@if $(lab_not_whole); then exit 0; fi; $(lab_say_once); \
	exec $(LAB_PYTHON) autograder/grade/grade.py $(LAB_PROGRAMS) \
	    $(call given,T SEED MIN TASKWISE JSON JUNIT DEVICES V)

mutants: ## the maintainer's: do the claims catch known bugs, and name them? LAB=N T=name,name V=1
	@$(LAB_PYTHON) autograder/maintain/mutants.py LAB=$(LAB) $(call given,T V KEEP)

taskwise: ## the maintainer's: does an unwritten task cost its own points alone? LAB=N T=task V=1
	@$(LAB_PYTHON) autograder/maintain/taskwise.py LAB=$(LAB) $(call given,T V)

grade-cost: ## the maintainer's: CPU seconds of one submission, step by step: LAB=N TASKWISE=1
	@$(LAB_PYTHON) autograder/maintain/cost.py $(call given,LAB TASKWISE)

grader-soak: ## the maintainer's: the reference under many seeds: LAB=N SEEDS=n
grader-soak: $(LAB_BUILT)
	@$(lab_say_once)
	@$(LAB_PYTHON) autograder/maintain/soak.py $(LAB_PROGRAMS) \
	    $(call given,SEEDS FIRST DEVICES JOBS OUT)

skeletons: ## the maintainer's: labs/ from the markers in solution/; overwrites nobody's work
	@$(LAB_PYTHON) autograder/grade/skeletons.py write
	@$(LAB_PYTHON) autograder/maintain/handouts.py write

restore: ## your file away to build/restore, its skeleton back: LAB=N T=task
	@$(LAB_PYTHON) autograder/grade/skeletons.py restore $(call quote,$(LAB)) $(call quote,$(T))

submit: ## pack your files of a lab to hand them in, with a receipt: LAB=N OUT=file.zip
	@$(LAB_PYTHON) autograder/grade/submit.py $(call given,LAB OUT)
