# labs.mk: what a lab is graded with: the grader, workers, and the plug-ins beside them.
#
#   build/<mode>/grader                          the claims; holds no code of any lab
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
# whoever needs it looks. What is missing is tried again by the next make.

LABS ?= $(if $(filter grader-soak,$(MAKECMDGOALS)),solution,labs)
LAB_GOALS := lab0 lab1 lab2 lab3 lab4 lab5

# ---- which lab, whose files -----------------------------------------------------------------------

# lab2/im2col.c …: the files that a student writes, as the generator wrote them last
LAB_FILES := $(patsubst labs/%,%,$(shell awk '{ print $$2 }' autograder/grade/skeletons.sha256))
lab_files = $(filter lab$1/%,$(LAB_FILES))
lab_tasks = $(sort $(basename $(notdir $(call lab_files,$1))))
LAB_PYTHON := $(or $(wildcard $(PYTHON)),python3)

ifneq ($(filter $(LAB_GOALS) grade grader-soak,$(MAKECMDGOALS)),)
LAB_REMEMBERED := $(if $(wildcard build/lab),$(file <build/lab))
LAB_N := $(or $(patsubst lab%,%,$(lastword $(filter $(LAB_GOALS),$(MAKECMDGOALS)))),$(LAB),$(LAB_REMEMBERED))
ifeq ($(LAB_N),)
$(error grade: say which lab: make grade LAB=2, or make lab2 first)
endif
ifeq ($(filter lab$(LAB_N),$(LAB_GOALS)),)
$(error LAB=$(LAB_N): there is no such lab; it is one of 0 1 2 3 4 5)
endif
# SUBMISSION=folder: of whatever lies there, the files of this lab alone, over this clean copy
ifneq ($(SUBMISSION),)
ifneq ($(filter LABS MINE,$(GIVEN)),)
$(error SUBMISSION= says whose files are graded: without LABS= and MINE=)
endif
LABS := $(shell $(LAB_PYTHON) autograder/grade/submission.py $(call quote,$(SUBMISSION)) $(LAB_N))
ifneq ($(.SHELLSTATUS),0)
$(error nothing was graded)
endif
endif
ifneq ($(words $(LABS)),1)
$(error LABS=$(LABS): the path of a folder without spaces)
endif
ifeq ($(wildcard $(LABS)/lab$(LAB_N)/.),)
$(error LABS=$(LABS): there is no folder lab$(LAB_N) in it)
endif
ifneq ($(and $(SAN),$(CHECK)),)
$(error SAN=1 and CHECK=1 are two builds: one after the other)
endif
ifeq ($(HAVE_CXX),)
$(error lab $(LAB_N): its CUDA half runs on this machine through a C++ compiler, and there is none: \
run make setup lab$(LAB_N))
endif

# "float/all double/only-im2col …": what this run of grade needs, by its list of claims
LAB_OPTIONS := $(foreach o,T TASKWISE DEVICES,$(call given,$o))
LAB_PLACES := $(shell $(LAB_PYTHON) autograder/grade/grade.py LAB=$(LAB_N) LIST=1 $(LAB_OPTIONS) | tr ' ' /)
ifneq ($(.SHELLSTATUS),0)
$(error grade.py does not say what lab $(LAB_N) needs: see above)
endif
else
LAB_PLACES :=
endif

# ---- objects --------------------------------------------------------------------------------------

# Where objects and workers of $(LABS) lie, below build/<mode>.
LAB_FROM := $(if $(filter labs,$(LABS)),,from/$(patsubst %/,%,$(patsubst /%,%,$(LABS)))/)
lab_place = build/$1/$(LAB_FROM)labs
LAB_SUFFIX := $(patsubst $(REAL)%,%,$(MODE))
# Checkers look at CUDA alone: all else of a checking worker is that of the plain build.
lab_host_mode = $(firstword $(subst -check, ,$1))

# A student's files are compiled with less optimisation than the reference: that is most of the time
# that grading takes, and no claim measures speed.
# Line tables name the line of a crash (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5).
lab_lines := -g1 -gdwarf-4 -fno-omit-frame-pointer
lab_optimise = $(if $(findstring -debug,$1),-O0,-O1)

# After a compiler: its messages are shown, and kept for `why`; without an object, go on.
may_fail = 2>$@.err || rm -f $@; cat $@.err >&2
# $(1) the file: a student has deleted it
lab_missing = { echo '$(1): this file is missing (make restore puts its skeleton back)' >$@.err; \
	rm -f $@; cat $@.err >&2; }

# $(1) mode, $(2) lab2/im2col.c
define lab_c_object
$(call lab_place,$(1))/$(2:.c=.o): $(if $(wildcard $(LABS)/$(2)),$(LABS)/$(2),always) build/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$(if $(wildcard $(LABS)/$(2)),$$(CC) $$(call flags,$(1)) $(call lab_optimise,$(1)) $$(lab_lines) \
	    -Ilabs/include -MMD -MP -c -o $$@ $$< $$(may_fail),$$(call lab_missing,$(LABS)/$(2)))
-include $(call lab_place,$(1))/$(2:.c=.d)
endef

# The same for hostcuda. gcc reads hostcuda's headers precompiled: half of the time of a short file.
define lab_hostcuda_object
$(call lab_place,$(1))/$(2).hostcuda.o: $(if $(wildcard $(LABS)/$(2)),$(LABS)/$(2),always) \
		$$(HOSTCUDA_REWRITE) $(call lab_headers,$(1))
	@mkdir -p $$(@D)
	$$(call say,CUCC,$$@)
	$$(Q)$(if $(wildcard $(LABS)/$(2)),{ $$(HOSTCUDA_REWRITE) -Ilabs/include -d $$(@:.o=.hc.d) \
	    -o $$(@:.o=.hc.cpp) $$< && $$(CXX) -I$(dir $(call lab_headers,$(1))).. \
	    $$(call lab_hostcuda_flags,$(1)) -Ilabs/include -iquote $$(dir $$<) -MMD -MP -c -o $$@ \
	    $$(@:.o=.hc.cpp)$(if $(findstring -check,$(1)), && objcopy $$(HOSTCUDA_RENAME) $$@); } \
	    $$(may_fail),$$(call lab_missing,$(LABS)/$(2)))
-include $(call lab_place,$(1))/$(2).hostcuda.hc.d $(call lab_place,$(1))/$(2).hostcuda.d
endef
lab_hostcuda_flags = $(HOSTCUDA_CXXFLAGS) $(call hostcuda_flags,$1) $(call lab_optimise,$1)
lab_headers = build/$1/hostcuda/precompiled/hostcuda/hostcuda.h.gch

define lab_hostcuda_headers
$(call lab_headers,$(1)): $(HOSTCUDA)/include/hostcuda/hostcuda.h $$(HOSTCUDA_HEADERS) \
		build/$(1)/hostcuda/cu-flags build/$(1)/flags
	@mkdir -p $$(@D)
	$$(call say,CUCC,$$@)
	$$(Q)$(if $(findstring clang,$(CXX)),touch $$@,$$(CXX) -x c++-header \
	    $$(call lab_hostcuda_flags,$(1)) -o $$@ $$<)
endef

define lab_cuda_object
$(call lab_place,$(1))/$(2).cuda.o: $(if $(wildcard $(LABS)/$(2)),$(LABS)/$(2),always) \
		build/$(1)/cuda-flags
	@mkdir -p $$(@D)
	$$(call say,NVCC,$$@)
	$$(Q)$(if $(wildcard $(LABS)/$(2)),$$(CUDA_COMPILER) $$(call cuda_flags,$(1)) \
	    $$(call gpu_code,$$(CUDA_ARCH)) -Ilabs/include -isystem $$(CUBLAS_INCLUDE) -MMD -MP \
	    -MF $$(@:.o=.d) -c -o $$@ $$< $$(may_fail),$$(call lab_missing,$(LABS)/$(2)))
-include $(call lab_place,$(1))/$(2).cuda.d
endef

# ---- workers and their plug-ins -------------------------------------------------------------------

# The running side of the call interface; what stays of call/ is the suites' side.
CALL_RUNNING := $(addprefix autograder/call/,call_direct.c call_table.c call_tensor.c call_train.c \
	call_graph.c call_graph_ops.c)
WORKER_C := $(wildcard autograder/worker/*.c labs/common/*.c) $(CALL_RUNNING) \
	$(addprefix labs/common/program/,device.c device_cpu.c device_plugin.c rungs_apply.c)
# Rungs are ours: what stands beside a student's code has none.
WORKER_PLUGIN_C := $(filter-out %/rungs_cuda.c,$(PLUGIN_C)) autograder/worker/rungs_none.c
WORKER_PLUGIN_CU := $(wildcard labs/common/cuda/*.cu)

# $(1) lab, $(2) variant: the student's files of this link
lab_own = $(filter $(if $(filter all,$2),lab$1/%,$(foreach h,c cu,$(2:only-%=lab$1/%.$h))),$(LAB_FILES)) \
	$(if $(MINE),$(filter-out lab$1/%,$(LAB_FILES)))
lab_variant = build/$1/$(LAB_FROM)lab$2$(if $(MINE),-mine)/$3

# $(1) mode, $(2) .c or .cu, $(3) suffix of a student's object, $(4) folder and $(5) suffix of a reference
# object, $(6) the student's files
lab_objects = $(patsubst %$2,$(call lab_place,$1)/%$3,$(filter %$2,$6)) \
	$(patsubst %$2,$4/solution/%$5,$(filter %$2,$(filter-out $6,$(LAB_FILES))))

# A sanitised plug-in links with holes, for the sanitizer's own functions come from the program.
lab_no_holes = && ! nm -u $@ | sed -n "s/^ *U \(tl_.*\)/undefined reference to \`\1'/p" | grep . >&2
# After a link: where it failed, the linker's words become ours. $(1) name of the `why` file
lab_or_why = 2>$(@D)/$(1).err && rm -f $(@D)/$(1).err || { rm -f $@; \
	$(LAB_PYTHON) autograder/grade/unlinked.py $(@D)/$(1).err $(LABS) $(filter %.o,$^) >$(@D)/$(1); }

# $(1) mode, $(2) lab, $(3) variant, $(4) the student's files
define lab_worker
$(call lab_variant,$(1),$(2),$(3))/worker: \
		$(call lab_objects,$(call lab_host_mode,$(1)),.c,.o,build/$(call lab_host_mode,$(1)),.o,$(4)) \
		$(WORKER_C:%.c=build/$(call lab_host_mode,$(1))/%.o)
	@mkdir -p $$(@D) && rm -f $$(@D)/why
	$$(call say,LINK,$$@)
	$$(Q)LC_ALL=C $$(CC) $$(call flags,$(call lab_host_mode,$(1))) -o $$@ $$(filter %.o,$$^) $$(LIBS) $$(call lab_or_why,why)

$(call lab_variant,$(1),$(2),$(3))/libtl_hostcuda.so: \
		$(call lab_objects,$(1),.cu,.cu.hostcuda.o,build/$(1)/hostcuda,.cu.o,$(4)) \
		$(WORKER_PLUGIN_CU:%=build/$(1)/hostcuda/%.o) \
		$(WORKER_PLUGIN_C:%.c=build/$(1)/hostcuda/pic/%.o) $(call hostcuda_library_of,$(1))
	@mkdir -p $$(@D) && rm -f $$(@D)/why-hostcuda
	$$(call say,LINK,$$@)
	$$(Q){ $$(call hostcuda_plugin,LC_ALL=C $$(CXX),$(if $(findstring -san,$(1)),$$(HOSTCUDA_SAN)),$$@,$$(filter \
	    %.o,$$^)) $(if $(findstring -san,$(1)),$$(lab_no_holes)); } $$(call lab_or_why,why-hostcuda)

$(call lab_variant,$(1),$(2),$(3))/libtl_cuda.so: \
		$(call lab_objects,$(1),.cu,.cu.cuda.o,build/$(1),.cu.o,$(4)) \
		$(WORKER_PLUGIN_CU:%=build/$(1)/%.o) $(WORKER_PLUGIN_C:%.c=build/$(1)/pic/%.o)
	@mkdir -p $$(@D) && rm -f $$(@D)/why-cuda
	$$(call say,LINK,$$@)
	$$(Q)LC_ALL=C $$(call cuda_plugin,$$@,$$(filter %.o,$$^)) $$(call lab_or_why,why-cuda)
endef

# With nvcc, cuBLAS and a GPU the real device is graded, too.
LAB_DEVICES := hostcuda $(if $(and $(CUDA),$(wildcard /dev/nvidia0)),cuda)
lab_devices = $(if $(findstring -check,$1),hostcuda,$(LAB_DEVICES))

# The mode of one of grade's places: `float`, or `float-check` for claims that need the checkers.
lab_mode = $(if $(findstring -check,$1),$1,$1$(LAB_SUFFIX))
lab_mode_of = $(call lab_mode,$(patsubst %/,%,$(dir $1)))
LAB_RUNS := $(sort $(foreach p,$(LAB_PLACES),$(call lab_mode_of,$p)/$(notdir $p)))
LAB_MODES := $(sort $(foreach p,$(LAB_PLACES),$(call lab_mode_of,$p)))
LAB_OWN := $(sort $(foreach p,$(LAB_RUNS),$(call lab_own,$(LAB_N),$(notdir $p))))

$(foreach m,$(sort $(foreach m,$(LAB_MODES),$(call lab_host_mode,$m))),\
    $(foreach f,$(filter %.c,$(LAB_OWN)),$(eval $(call lab_c_object,$m,$f))))
$(foreach m,$(LAB_MODES),$(eval $(call lab_hostcuda_headers,$m))\
    $(foreach f,$(filter %.cu,$(LAB_OWN)),$(eval $(call lab_hostcuda_object,$m,$f))\
        $(if $(filter cuda,$(call lab_devices,$m)),$(eval $(call lab_cuda_object,$m,$f)))))
$(foreach p,$(LAB_RUNS),$(eval $(call lab_worker,$(patsubst %/,%,$(dir $p)),$(LAB_N),$(notdir \
    $p),$(call lab_own,$(LAB_N),$(notdir $p)))))

# `why` of each thing that could not be linked
LAB_WHYS := $(foreach p,$(LAB_RUNS),$(foreach w,why $(addprefix why-,$(call lab_devices,$p)),$(call \
	lab_variant,$(patsubst %/,%,$(dir $p)),$(LAB_N),$(notdir $p))/$w))
LAB_BUILT := $(foreach p,$(LAB_RUNS),$(addprefix $(call lab_variant,$(patsubst %/,%,$(dir \
	$p)),$(LAB_N),$(notdir $p))/,worker $(foreach d,$(call lab_devices,$p),libtl_$d.so)))

# ---- the grader -----------------------------------------------------------------------------------

GRADER_C := $(wildcard autograder/oracle/*.c autograder/tests/lab*_test.c) \
	$(filter-out $(CALL_RUNNING),$(wildcard autograder/call/*.c)) \
	$(filter-out %_test.c,$(wildcard autograder/tests/*.c)) \
	$(addprefix labs/common/,geometry.c shape.c status.c dropout_threshold.c rng.c)

define grader_rule
build/$(1)/grader: $(GRADER_C:%.c=build/$(1)/%.o)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call flags,$(1)) -o $$@ $$(filter %.o,$$^) -lcriterion -lm
-include $(patsubst %.c,build/$(1)/%.d,$(GRADER_C) $(WORKER_C))
endef
$(foreach m,$(MODES),$(eval $(call grader_rule,$m)))
GRADERS := $(sort $(foreach m,$(LAB_MODES),build/$(call lab_host_mode,$m)/grader))

# ---- labs-check: skeleton and solution by every compiler there is, warnings are errors ------------

# build/check/<compiler>/<mode>/<solution|labs>/lab2/im2col.o; .cu files as im2col.cu.o
ifneq ($(filter labs-check test test-all,$(MAKECMDGOALS)),)
CHECK_CC := $(foreach c,gcc clang,$(if $(shell command -v $c),$c))
CHECK_CXX := $(if $(filter gcc,$(CHECK_CC)),g++) $(if $(filter clang,$(CHECK_CC)),clang++)
CHECK_FILES := $(LAB_FILES:%=solution/%) $(LAB_FILES:%=labs/%)

# $(1) compiler, $(2) mode
define check_c_rule
build/check/$(1)/$(2)/%.o: %.c build/$(2)/flags labs/labs.mk
	@mkdir -p $$(@D)
	$$(call say,CHECK,$$@)
	$$(Q)$(1) $$(filter-out -O3,$$(call flags,$(2))) -O1 -Werror -Ilabs/include -MMD -MP -c -o $$@ $$<
endef

define check_hostcuda_rule
build/check/$(1)/$(2)/%.cu.o: %.cu $$(HOSTCUDA_REWRITE) $$(HOSTCUDA_HEADERS) labs/labs.mk
	@mkdir -p $$(@D)
	$$(call say,CHECK,$$@)
	$$(Q)$$(HOSTCUDA_REWRITE) -Ilabs/include -d $$(@:.o=.hc.d) -o $$(@:.o=.hc.cpp) $$<
	$$(Q)$(1) $$(HOSTCUDA_CXXFLAGS) $$(call hostcuda_flags,$(2)) -O1 -Werror \
	    -Wno-unknown-warning-option -Wno-unused-function -Wno-unused-const-variable \
	    -Ilabs/include \
	    -MMD -MP -c -o $$@ $$(@:.o=.hc.cpp)
endef

# (nvcc takes seconds a file: the skeletons alone, for one GPU; make cuda-all compiles the solution)
build/check/nvcc/float/%.cu.o: %.cu labs/labs.mk
	@mkdir -p $(@D)
	$(call say,CHECK,$@)
	$(Q)$(CUDA_COMPILER) $(filter-out -O3,$(call cuda_flags,float)) -Werror all-warnings \
	    $(call gpu_code,$(firstword $(CUDA_ARCH))) -Ilabs/include -isystem $(CUBLAS_INCLUDE) \
	    -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# (the second compiler in one precision)
CHECK_BUILDS := $(foreach m,float double,$(firstword $(CHECK_CC))/$m) $(CHECK_CC:%=%/float)
CHECK_CU_BUILDS := $(foreach m,float double,$(firstword $(CHECK_CXX))/$m) $(CHECK_CXX:%=%/float)
$(foreach b,$(sort $(CHECK_BUILDS)),$(eval $(call check_c_rule,$(patsubst %/,%,$(dir $b)),$(notdir $b))))
$(foreach b,$(sort $(CHECK_CU_BUILDS)),\
    $(eval $(call check_hostcuda_rule,$(patsubst %/,%,$(dir $b)),$(notdir $b))))
CHECK_OBJECTS := $(sort \
    $(foreach b,$(CHECK_BUILDS),$(patsubst %.c,build/check/$b/%.o,$(filter %.c,$(CHECK_FILES))))\
    $(foreach b,$(CHECK_CU_BUILDS),$(patsubst %,build/check/$b/%.o,$(filter %.cu,$(CHECK_FILES))))\
    $(if $(CUDA),$(patsubst %,build/check/nvcc/float/labs/%.o,$(filter %.cu,$(LAB_FILES)))))
-include $(CHECK_OBJECTS:.o=.d) $(CHECK_OBJECTS:.o=.hc.d)
endif

# ---- commands -------------------------------------------------------------------------------------

.PHONY: $(LAB_GOALS) grade grader-soak mutants skeletons restore labs-check
##@ labs
# lab0: ## (to lab5) build your lab, for the cpu and for CUDA on a CPU; DEBUG=1 SAN=1 CHECK=1 MINE=1
$(LAB_GOALS): $(LAB_BUILT) $(GRADERS)
	@echo $(@:lab%=%) >build/lab
	@why=$$(cat $(LAB_WHYS) 2>/dev/null | sort -u || true); \
	    if [ -n "$$why" ]; then printf '%s\n' "$$why" >&2; exit 1; fi
	@echo '$@ is built. Now: make grade'

# Where one file cannot be linked, the others are graded one by one: it costs its own points alone.
grade: $(LAB_BUILT) $(GRADERS) ## grade the lab built last: LAB=N T=task MIN=n TASKWISE=1 SEED=s …
	$(if $(LAB)$(filter $(LAB_GOALS),$(MAKECMDGOALS)),,@echo 'lab $(LAB_N), the one built last' >&2)
	@if [ -z '$(TASKWISE)' ] && [ -n "$$(ls $(LAB_WHYS) 2>/dev/null)" ]; then \
	    echo 'not all files can be linked: each task is graded by itself' >&2; \
	    exec $(MAKE) --no-print-directory grade LAB=$(LAB_N) TASKWISE=1; fi; \
	exec $(LAB_PYTHON) autograder/grade/grade.py LAB=$(LAB_N) LABS=$(LABS) \
	    GRADER='build/{mode}$(call lab_host_mode,$(LAB_SUFFIX))/grader' \
	    WORKER='$(call lab_variant,$(if $(CHECK),{real}-check,{mode}$(LAB_SUFFIX)),$(LAB_N),{variant})/worker' \
	    $(call given,T SEED MIN TASKWISE JSON JUNIT DEVICES V)

mutants: ## the maintainer's: do the claims catch known bugs, and name them? LAB=N T=name,name V=1
	@$(LAB_PYTHON) autograder/grade/mutants.py LAB=$(LAB) $(call given,T V KEEP)

grader-soak: $(LAB_BUILT) $(GRADERS) ## the maintainer's: the reference under many seeds: LAB=N SEEDS=n
	@$(LAB_PYTHON) autograder/grade/soak.py LAB=$(LAB_N) LABS=$(LABS) \
	    GRADER='build/{mode}$(LAB_SUFFIX)/grader' \
	    WORKER='$(call lab_variant,{mode}$(LAB_SUFFIX),$(LAB_N),{variant})/worker' \
	    $(call given,SEEDS FIRST DEVICES JOBS OUT)

skeletons: ## labs/ from the markers in solution/; never overwrites a file with work in it
	@$(LAB_PYTHON) autograder/grade/skeletons.py write
	@$(LAB_PYTHON) autograder/grade/handouts.py write

restore: ## your file away to build/restore, its skeleton back: LAB=N T=task
	@$(LAB_PYTHON) autograder/grade/skeletons.py restore '$(LAB)' '$(T)'

# Skeletons and solution of every lab are graded; the skeletons from a copy, because whoever asks may
# have work in labs/.
CHECK_LABS := $(patsubst autograder/grade/lab%.toml,%,$(wildcard autograder/grade/lab[0-9].toml))
labs-check: $(CHECK_OBJECTS) ## the maintainer's: markers, skeletons and solution fit, in every build
	@$(LAB_PYTHON) autograder/grade/labs_check.py files build/check
	@$(LAB_PYTHON) autograder/grade/handouts.py check
	@for n in $(CHECK_LABS); do \
	    mkdir -p build/skeletons/lab$$n; cp -pu labs/lab$$n/*.c* build/skeletons/lab$$n; \
	    for side in solution build/skeletons; do echo "$$side, lab $$n"; \
	        $(MAKE) -s grade LAB=$$n LABS=$$side JSON=1 \
	            >build/check/grade.json 2>build/check/grade.log || \
	            { cat build/check/grade.log; exit 1; }; \
	        $(LAB_PYTHON) autograder/grade/labs_check.py graded $$side build/check/grade.json; \
	    done; done
