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
# A file that does not compile or link costs its own points alone. So these recipes do not fail:
# they leave out what could not be made, say why in the file `why` (`why-<device>`) beside it, and
# whoever needs it looks. What is missing is tried again by the next make. Where it is a .c file
# that is broken or missing, the .cu beside it is judged in `worker-cuda`, which has the
# reference's C instead.

ifeq ($(origin LABS),undefined)
LABS := $(if $(filter grader-soak,$(MAKECMDGOALS)),solution,labs)
endif
LAB_GOALS := lab0 lab1 lab2 lab3 lab4 lab5

# ---- which lab, whose files ----------------------------------------------------------------------

# lab2/im2col.c …: the files that a student writes, as the generator wrote them last
LAB_LIST := autograder/grade/skeletons.sha256
LAB_FILES := $(patsubst labs/%,%,$(if $(wildcard $(LAB_LIST)),$(shell \
	awk '{ print $$2 }' $(LAB_LIST))))
ifeq ($(LAB_FILES)$(filter skeletons setup doctor clean help,$(or $(MAKECMDGOALS),help)),)
$(error $(LAB_LIST) is missing, which says what a student writes: get a clean copy)
endif
# (grading needs no more than a bare Python; $(shell) does not see what the Makefile exports)
LAB_PYTHON := env PYTHONPATH=autograder/grade:tools PYTHONDONTWRITEBYTECODE= \
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
$(error LAB=$(LAB_N): there is no such lab; it is one of 0 1 2 3 4 5)
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

# "float/all double/only-im2col …": what this run of grade needs, by its list of claims
LAB_PLACES := $(shell $(LAB_PYTHON) autograder/grade/grade.py LAB=$(LAB_N) LIST=1 \
	$(call given,T TASKWISE DEVICES) | tr ' ' /)
ifneq ($(.SHELLSTATUS),0)
$(error grade.py does not say what lab $(LAB_N) needs: see above)
endif
else
LAB_PLACES :=
endif

# ---- objects -------------------------------------------------------------------------------------

# Where objects and workers of $(LABS) lie, below build/<mode>.
LAB_FROM := $(if $(filter labs,$(LABS)),,from/$(patsubst %/,%,$(patsubst /%,%,$(LABS)))/)
lab_place = build/$1/$(LAB_FROM)labs
# Checkers look at CUDA alone: all else of a checking worker is that of the plain build.
lab_host_mode = $(firstword $(subst -check, ,$1))

# A student's files are compiled with less optimisation than the reference: that is most of the time
# that grading takes, and no claim measures speed.
lab_optimise = $(if $(findstring -debug,$1),-O0,-O1)
# The line of a crash (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5).
lab_lines := -g1 -gdwarf-4 -fno-omit-frame-pointer

# Seconds, KiB of memory and of output: far more than a lab's file takes (unlinked.py says so).
lab_limits = ulimit -t 30 -v 8000000 -f 1000000;
# $(1) lab2/im2col.c, $(2) a compiler's command. Its messages are kept, for `why` and for said.py;
# without an object, go on. What submission.py has refused is not shown to a compiler, which would
# read, and tell, whatever an #include names.
lab_compile = $(if $(wildcard $(LABS)/$1.refused),{ cat $(LABS)/$1.refused >$@.err; false; },$(if \
	$(wildcard $(LABS)/$1),( $(lab_limits) $2 ) 2>$@.err,{ : >$@.err; false; })) || rm -f $@
# (a shell of its own for mkdir costs as much as a tenth of a short file)
lab_folder = [ -d $(@D) ] || mkdir -p $(@D);

# $(1) mode, $(2) lab2/im2col.c
define lab_c_object
$(call lab_place,$(1))/$(2:.c=.o): $(LABS)/$(2) build/$(1)/flags
	$$(call say,CC,$$@)
	$$(Q)$$(lab_folder) $$(call lab_compile,$(2),$$(CC) $$(call flags,$(1)) \
	    $$(call lab_optimise,$(1)) $$(lab_lines) -Itl/include -MMD -MP -c -o $$@ $$<)
-include $(call lab_place,$(1))/$(2:.c=.d)
endef

# The same for hostcuda. gcc reads hostcuda's headers precompiled: half of the time of a short file.
define lab_hostcuda_object
$(call lab_place,$(1))/$(2).hostcuda.o: $(LABS)/$(2) $$(HOSTCUDA_REWRITE) \
		$(call lab_headers,$(1))
	$$(call say,CUCC,$$@)
	$$(Q)$$(lab_folder) $$(call lab_compile,$(2),{ $$(HOSTCUDA_REWRITE) -Itl/include \
	    -d $$(@:.o=.hc.d) -o $$(@:.o=.hc.cpp) $$< && $$(CXX) -I$(dir $(call lab_headers,$(1))).. \
	    $$(call lab_hostcuda_flags,$(1)) -Itl/include -iquote $$(dir $$<) -MMD -MP -c -o $$@ \
	    $$(@:.o=.hc.cpp)$(if $(findstring -check,$(1)), && objcopy $$(HOSTCUDA_RENAME) $$@); })
-include $(call lab_place,$(1))/$(2).hostcuda.hc.d $(call lab_place,$(1))/$(2).hostcuda.d
endef
# A kernel has to serve any number of elements with any grid (tl/cuda.h): three blocks show it.
lab_hostcuda_flags = $(HOSTCUDA_CXXFLAGS) $(call hostcuda_defined,$(CXX)) \
	$(call hostcuda_flags,$1) $(call lab_optimise,$1) -DTL_MAX_BLOCKS=3
lab_headers = build/$1/hostcuda/precompiled/hostcuda/hostcuda.h.gch

define lab_hostcuda_headers
$(call lab_headers,$(1)): $(HOSTCUDA)/include/hostcuda/hostcuda.h $$(HOSTCUDA_HEADERS) \
		build/$(1)/hostcuda/cu-flags build/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CUCC,$$@)
	$$(Q)$(if $(findstring clang,$(CXX)),touch $$@,$$(CXX) -x c++-header \
	    $$(call lab_hostcuda_flags,$(1)) -o $$@ $$<)
endef

# The reference's kernels beside a student's, and what both are called through, are compiled as the
# student's are: in half of the time that the trainer's take.
define lab_given_cuda
build/$(1)/lab/%.cu.o: %.cu $$(HOSTCUDA_REWRITE) $(call lab_headers,$(1))
	@mkdir -p $$(@D)
	$$(call say,CUCC,$$@)
	$$(Q)$$(HOSTCUDA_REWRITE) $$(HOSTCUDA_INCLUDES) -d $$(@:.o=.hc.d) -o $$(@:.o=.hc.cpp) $$<
	$$(Q)$$(CXX) -I$(dir $(call lab_headers,$(1))).. $(call lab_hostcuda_flags,$(1)) \
	    $$(HOSTCUDA_INCLUDES) -iquote $$(dir $$<) -MMD -MP -c -o $$@ $$(@:.o=.hc.cpp)
	$(if $(findstring -check,$(1)),$$(Q)objcopy $$(HOSTCUDA_RENAME) $$@)
-include $(foreach f,$(WORKER_PLUGIN_CU) $(addprefix solution/,$(filter %.cu,$(LAB_FILES))),\
    build/$(1)/lab/$(f).hc.d build/$(1)/lab/$(f).d)
endef

define lab_cuda_object
$(call lab_place,$(1))/$(2).cuda.o: $(LABS)/$(2) build/$(1)/cuda-flags
	@mkdir -p $$(@D)
	$$(call say,NVCC,$$@)
	$$(Q)$$(call lab_compile,$(2),$$(CUDA_COMPILER) $$(call cuda_flags,$(1)) \
	    $$(call gpu_code,$$(CUDA_ARCH)) -Itl/include -isystem $$(CUBLAS_INCLUDE) -MMD -MP \
	    -MF $$(@:.o=.d) -c -o $$@ $$<)
-include $(call lab_place,$(1))/$(2).cuda.d
endef

# ---- workers and their plug-ins ------------------------------------------------------------------

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

# $(1) mode, $(2) lab, $(3) variant: the folder of its worker
lab_variant = build/$1/$(LAB_FROM)lab$2$(if $(MINE),-mine)/$3
# $(1) lab, $(2) variant: the student's files of this link
lab_own = $(filter $(if $(filter all,$2),lab$1/%,$(foreach h,c cu,$(2:only-%=lab$1/%.$h))),\
	$(LAB_FILES)) $(if $(MINE),$(filter-out lab$1/%,$(LAB_FILES)))

# $(1) mode, $(2) .c or .cu, $(3) suffix of a student's object, $(4) folder and $(5) suffix of a
# reference object, $(6) the student's files
lab_objects = $(patsubst %$2,$(call lab_place,$1)/%$3,$(filter %$2,$6)) \
	$(patsubst %$2,$4/solution/%$5,$(filter %$2,$(filter-out $6,$(LAB_FILES))))

# A sanitised plug-in links with holes, for the sanitizer's own functions come from the program.
lab_no_holes = && ! nm -u $@ | sed -n "s/^ *U \(tl_.*\)/undefined reference to \`\1'/p" | grep . >&2
# After a link: where it failed, the linker's words become ours. $(1) name of the `why` file
lab_or_why = 2>$(@D)/$(1).err && rm -f $(@D)/$(1).err || { rm -f $@; $(LAB_PYTHON) \
	autograder/grade/unlinked.py $(@D)/$(1).err $(LABS) $(filter %.o,$^) >$(@D)/$(1); }

# $(1) the student's files: those in C that have no .cu beside them, so that no reference's C can
# stand for them on a device either
lab_c_alone = $(foreach f,$(filter %.c,$1),$(if $(filter $(f:.c=.cu),$(LAB_FILES)),,$f))
# $(1) the student's files: the reference's objects of the others, as far as there is a solution
lab_instead = $(patsubst %.c,build/$2/%.o,$(wildcard $(addprefix solution/,$(filter-out \
	$(call lab_c_alone,$1),$(filter %.c,$1)))))

# $(1) mode, $(2) mode of what is not CUDA, $(3) folder, $(4) the student's files
define lab_worker
$(3)/worker: $(call lab_objects,$(2),.c,.o,build/$(2),.o,$(4)) $(WORKER_C:%.c=build/$(2)/%.o) \
		| $(call lab_instead,$(4),$(2))
	@mkdir -p $$(@D) && rm -f $$(@D)/why $$(@D)/worker-cuda
	$$(call say,LINK,$$@)
	$$(Q)LC_ALL=C $$(CC) $$(call flags,$(2)) -o $$@ $$(filter %.o,$$^) $$(LIBS) \
	    $$(call lab_or_why,why)
	$$(Q)[ -e $$@ ] || $$(CC) $$(call flags,$(2)) -o $$(@D)/worker-cuda $(call \
	    lab_objects,$(2),.c,.o,build/$(2),.o,$(call lab_c_alone,$(4))) \
	    $(WORKER_C:%.c=build/$(2)/%.o) $$(LIBS) 2>/dev/null || rm -f $$(@D)/worker-cuda

$(3)/libtl_hostcuda.so: $(call lab_objects,$(1),.cu,.cu.hostcuda.o,build/$(1)/lab,.cu.o,$(4)) \
		$(WORKER_PLUGIN_CU:%=build/$(1)/lab/%.o) \
		$(WORKER_PLUGIN_C:%.c=build/$(1)/hostcuda/pic/%.o) $(call hostcuda_library_of,$(1))
	@mkdir -p $$(@D) && rm -f $$(@D)/why-hostcuda
	$$(call say,LINK,$$@)
	$$(Q){ $$(call hostcuda_plugin,LC_ALL=C $$(CXX),$(call hostcuda_san,$(1)),$$@,$$(filter \
	    %.o,$$^)) $(if $(findstring -san,$(1)),$$(lab_no_holes)); } \
	    $$(call lab_or_why,why-hostcuda)

$(3)/libtl_cuda.so: $(call lab_objects,$(1),.cu,.cu.cuda.o,build/$(1),.cu.o,$(4)) \
		$(WORKER_PLUGIN_CU:%=build/$(1)/%.o) $(WORKER_PLUGIN_C:%.c=build/$(1)/pic/%.o)
	@mkdir -p $$(@D) && rm -f $$(@D)/why-cuda
	$$(call say,LINK,$$@)
	$$(Q)LC_ALL=C $$(call cuda_plugin,$$@,$$(filter %.o,$$^)) $$(call lab_or_why,why-cuda)
endef

# With nvcc, cuBLAS and a GPU the real device is graded, too; the checkers are hostcuda's alone.
LAB_DEVICES := hostcuda $(if $(LAB_OFFICIAL),,$(if $(and $(CUDA),$(wildcard /dev/nvidia0)),cuda))
lab_devices = $(if $(findstring -check,$1),hostcuda,$(LAB_DEVICES))

# ---- what this make has to build: a run is <mode>/<variant> --------------------------------------

lab_mode_of = $(patsubst %/,%,$(dir $1))
# A claim that needs the checkers has a mode of its own already, say float-check.
lab_run = $(if $(findstring -check/,$1),$1,$(call lab_mode_of,$1)$(SUFFIX)/$(notdir $1))
LAB_RUNS := $(sort $(foreach p,$(LAB_PLACES),$(call lab_run,$p)))
LAB_MODES := $(sort $(foreach r,$(LAB_RUNS),$(call lab_mode_of,$r)))
LAB_HOST_MODES := $(sort $(foreach m,$(LAB_MODES),$(call lab_host_mode,$m)))
lab_run_own = $(call lab_own,$(LAB_N),$(notdir $1))
lab_run_folder = $(call lab_variant,$(call lab_mode_of,$1),$(LAB_N),$(notdir $1))
LAB_OWN := $(sort $(foreach r,$(LAB_RUNS),$(call lab_run_own,$r)))

# (a file that the student has deleted or renamed is no reason to stop: it is looked for each time)
$(foreach f,$(LAB_OWN),$(eval $(LABS)/$f: $(if $(wildcard $(LABS)/$f),,always)))
$(foreach m,$(LAB_HOST_MODES),$(foreach f,$(filter %.c,$(LAB_OWN)),\
    $(eval $(call lab_c_object,$m,$f))))
$(foreach m,$(LAB_MODES),$(eval $(call lab_hostcuda_headers,$m))$(eval $(call lab_given_cuda,$m))\
    $(foreach f,$(filter %.cu,$(LAB_OWN)),$(eval $(call lab_hostcuda_object,$m,$f))\
        $(if $(filter cuda,$(call lab_devices,$m)),$(eval $(call lab_cuda_object,$m,$f)))))
$(foreach r,$(LAB_RUNS),$(eval $(call lab_worker,$(call lab_mode_of,$r),$(call \
    lab_host_mode,$(call lab_mode_of,$r)),$(call lab_run_folder,$r),$(call lab_run_own,$r))))

LAB_BUILT := $(foreach r,$(LAB_RUNS),$(addprefix $(call lab_run_folder,$r)/,worker \
	$(patsubst %,libtl_%.so,$(call lab_devices,$r))))
# `why` of each thing that could not be linked
LAB_WHYS := $(foreach r,$(LAB_RUNS),$(addprefix $(call lab_run_folder,$r)/,why \
	$(addprefix why-,$(call lab_devices,$r))))

# What compilers said of each of the student's files, in all builds of it; in float first.
lab_in_order = $(filter float%,$1) $(filter-out float%,$1)
LAB_SAID := $(foreach f,$(LAB_OWN),$(addsuffix .err,$(if $(filter %.c,$f),\
	$(foreach m,$(call lab_in_order,$(LAB_HOST_MODES)),$(call lab_place,$m)/$(f:.c=.o)),\
	$(foreach m,$(call lab_in_order,$(LAB_MODES)),$(patsubst %,$(call \
	    lab_place,$m)/$f.%.o,$(call lab_devices,$m))))))
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

# Claims of other labs need not be compiled before this one can be graded.
OTHER_CLAIMS := $(filter-out autograder/lab$(LAB_N)/%,\
	$(wildcard autograder/lab*/*_test.c))
define grader_rule
build/$(1)/grader: $(GRADER_C:%.c=build/$(1)/%.o)
build/$(1)/lab$(LAB_N)/grader: $(patsubst %.c,build/$(1)/%.o,\
		$(filter-out $(OTHER_CLAIMS),$(GRADER_C)))
build/$(1)/grader build/$(1)/lab$(LAB_N)/grader: build/grader/no_git
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call flags,$(1)) -o $$@ $$(filter %.o,$$^) $$(CRITERION) -lm \
	    -Wl,--push-state,--no-as-needed $$$$(find build/grader -name 'libgit2*') \
	    -Wl,--pop-state,-rpath,'$$$$ORIGIN/../grader:$$$$ORIGIN/../../grader'
-include $(patsubst %.c,build/$(1)/%.d,$(GRADER_C) $(WORKER_C))
endef
$(foreach m,$(MODES),$(eval $(call grader_rule,$m)))
GRADERS := $(LAB_HOST_MODES:%=build/%/lab$(LAB_N)/grader)

# ---- commands ------------------------------------------------------------------------------------

.PHONY: $(LAB_GOALS) grade grade-cost grader-soak mutants taskwise skeletons restore submit
##@ labs
# lab0: ## (to lab5) build your lab, for the cpu and for CUDA on a CPU; DEBUG=1 SAN=1 CHECK=1 MINE=1
$(LAB_GOALS): $(LAB_BUILT) $(GRADERS)
	@echo $(@:lab%=%) >build/lab
	@$(lab_say_once)
	@why=$$(cat $(LAB_WHYS) 2>/dev/null | sort -u || true); \
	    if [ -n "$$why" ]; then printf '%s\n' "$$why" >&2; exit 1; fi
	@echo '$@ is built. Now: make grade'

# Where a worker lies: grade.py puts {variant} and {mode} in, which is the precision with SUFFIX
# behind it, or, for claims that need the checkers, say float-check.
LAB_PROGRAMS = LAB=$(LAB_N) LABS=$(LABS) SUFFIX=$(SUFFIX) \
	WORKER='$(call lab_variant,{mode},$(LAB_N),{variant})/worker'

# Where one file cannot be built, the others are graded one by one: it costs its own points alone.
# (two lines: one that names MAKE is run even by make -n)
lab_not_whole = [ -z '$(TASKWISE)' ] && [ -n "$$(ls $(LAB_WHYS) 2>/dev/null)" ]
grade: ## grade the lab built last: LAB=N T=task MIN=n TASKWISE=1 SEED=s …
grade: $(LAB_BUILT) $(GRADERS)
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
grader-soak: $(LAB_BUILT) $(GRADERS)
	@$(lab_say_once)
	@$(LAB_PYTHON) autograder/maintain/soak.py $(LAB_PROGRAMS) \
	    $(call given,SEEDS FIRST DEVICES JOBS OUT)

skeletons: ## the maintainer's: labs/ from the markers in solution/; overwrites nobody's work
	@$(LAB_PYTHON) autograder/maintain/generate.py write
	@$(LAB_PYTHON) autograder/maintain/handouts.py write

restore: ## your file away to build/restore, its skeleton back: LAB=N T=task
	@$(LAB_PYTHON) autograder/grade/skeletons.py restore $(call quote,$(LAB)) $(call quote,$(T))

submit: ## pack your files of a lab to hand them in, with a receipt: LAB=N OUT=file.zip
	@$(LAB_PYTHON) autograder/grade/submit.py $(call given,LAB OUT)
