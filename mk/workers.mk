# workers.mk: what a lab is graded with: the grader, workers, and the plug-ins beside them. Included
# by labs.mk, which knows the lab and whose files are graded.
#
#   build/<mode>/labN/grader                     the lab's claims; holds no code of any lab
#   build/<mode>/grader                          those of all labs, for the worker's own tests
#   build/<mode>/labN/<variant>/worker           C on the cpu
#   build/<mode>/labN/<variant>-cuda/worker      CUDA, and host code on a device, with
#   build/<mode>/labN/<variant>-cuda/libtl_<device>.so
#   build/<mode>/shared/{worker,hostcuda}.o      what is nobody's lab of all these, in one object
#
# A variant says whose files of lab N are linked: `all` takes every task from $(LABS), `whole` all
# but extra credit, `only-<task>` that one. Of the reference (solution/) there is what lab.toml
# grants these tasks (grants.py); for every other file stands one whose functions fail and say so
# (absent.py). No worker holds C and CUDA of one task. The reference's objects, and those that stand
# for them, are shared by all. With MINE=1 the other labs come from $(LABS), too (labN-mine/).
# Another folder than labs/ has its objects and workers under build/<mode>/from/<folder>/.
#
# What a run of the grader needs of all this, grade.py works out (plan.py), and writes it down as
# prerequisites in $(LAB_PLAN). The recipes are here.
#
# A file that does not compile or link costs its own points alone. So these recipes do not fail:
# they leave out what could not be made, say why in the file `why` (`why-<device>`) beside it, and
# whoever needs it looks. What is missing is tried again by the next make.

# ---- what workers are made of -------------------------------------------------------------------

# The running side of the call interface; what stays of call/ is the suites' side.
CALL_RUNNING := $(addprefix autograder/call/,call_direct.c call_host.c call_memory.c call_steps.c \
	call_table.c call_tensor.c call_train.c call_graph.c call_graph_ops.c)
# (of what is given, data sets and checkpoints are the trainer's)
TRAINER_C := $(wildcard $(patsubst %,tl/%.c,checkpoint cifar10 dataset dataset_file mnist \
	plan shapes10_*))
# (some workers have them, others what stands for them: the plan says which)
SOME_WORKERS_C := tl/device_plugin.c tl/metrics.c $(wildcard autograder/call/absent/*.c)
WORKER_C := $(wildcard autograder/worker/*.c) $(CALL_RUNNING) \
	$(filter-out $(TRAINER_C) $(SOME_WORKERS_C),$(wildcard tl/*.c))
# Rungs are ours: what is next to a student's code has none.
WORKER_PLUGIN_C := $(filter-out programs/% kernels/%,$(PLUGIN_C))
WORKER_PLUGIN_CU := $(wildcard tl/cuda/*.cu)

# What each of them has that is nobody's lab: $(1) mode
lab_worker_given = $(WORKER_C:%.c=build/$1/%.o)
lab_plugin_cu = $(filter-out tl/cuda/metrics.cu,$(WORKER_PLUGIN_CU))
lab_hostcuda_given = $(lab_plugin_cu:%=build/$1/%.lab.o) \
	$(WORKER_PLUGIN_C:%.c=build/$1/%.host.o) \
	$(filter-out %/cublas/operations.o,$(call hostcuda_library_of,$1))
lab_cuda_given = $(lab_plugin_cu:%=build/$1/%.o) $(WORKER_PLUGIN_C:%.c=build/$1/%.pic.o)
# What only those have who may call cuBLAS. (A GPU's is a library of its own.)
lab_hostcuda_blas = $(filter %/cublas/operations.o,$(call hostcuda_library_of,$1))
lab_cuda_blas =

# The plan: rules, and in LAB_… lists of what they make.
ifneq ($(LAB_PLAN),)
include $(LAB_PLAN)
endif
LAB_OBJECTS := $(LAB_C_OBJECTS) $(LAB_HOSTCUDA_OBJECTS) $(LAB_CUDA_OBJECTS)
LAB_BUILT := $(LAB_WORKERS) $(LAB_BARE_COPIES) $(LAB_HOSTCUDA_PLUGINS) $(LAB_CUDA_PLUGINS) \
	$(LAB_BROKEN) $(filter build/double/lab$(LAB_N)/broken/%,$(GIVEN_BROKEN)) $(LAB_GRADERS)

# (make expands what they name, so nothing that came of a SUBMISSION= is read: it includes no headers
# but ours)
ifeq ($(LAB_OFFICIAL),)
-include $(LAB_OBJECTS:.o=.d) $(LAB_HOSTCUDA_OBJECTS:.o=.hc.d)
else
$(LAB_OBJECTS): $(wildcard tl/include/tl/*.h)
endif

# ---- a student's objects ------------------------------------------------------------------------

# A file that the student has deleted or renamed is no reason to stop: it is looked for each time.
$(filter-out $(wildcard $(LAB_SOURCES)),$(LAB_SOURCES)): always

# A student's files are compiled with less optimisation than the reference: that is most of the time
# that grading takes, and no claim measures speed.
lab_optimise = $(if $(findstring -debug,$1),-O0,-O1)
# The line of a crash (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5).
# (for a debugger all of it: variables, too)
lab_lines = $(if $(findstring -debug,$(mode)),-g,-g1) -gdwarf-4 -fno-omit-frame-pointer

# Seconds, KiB of memory and of output: far more than a lab's file takes (unlinked.py says so). A
# box has narrower ones (box/box_inner.c), and one for the sum of all files (box/box_watch.c).
# (What compilers say is read by programs, too: LANGUAGE= is not for them.)
lab_limits = $(if $(LAB_OFFICIAL),,unset LANGUAGE; ulimit -t 30 -v 8000000 -f 1000000;)
# The recipe: $(1) a compiler's command; but for a GPU the preprocessor's, with $(2) its limit and $(3) what it
# makes, and then $(4) the compiler's, which sees $(5). Their messages are kept, for `why` and for
# said.py; without an object, go on. What submission.py has refused is not shown to a compiler, which
# would read, and tell, whatever an #include names. (A shell of its own for mkdir costs as much as a
# tenth of a short file.)
lab_compile = $(Q)[ -d $(@D) ] || mkdir -p $(@D); $(if $(wildcard $<.refused),{ cat $<.refused \
	>$@.err; false; },$(if $(wildcard $<),{ $(call lab_compiled,$1,$2,$3,$4,$5); } 2>$@.err,{ \
	: >$@.err; false; })) || $(call lab_not_made,$@.err)
lab_compiled = $(call lab_boxed,( $(lab_limits) $2 $1 ),$(lab_sees) $<,$3)$(if $4, && \
	$(call lab_boxed,( $(lab_limits) $4 ),$5))

# A file that could not be made costs its own points; a box that could not be built, or that somebody
# outside has ended for the second time, is nobody's. $(1) what was said
lab_not_made = { case $$? in $(BOX_FAILED)$(if $(LAB_OFFICIAL),|$(BOX_ENDED))) cat $1 >&2; \
	echo 'grade: $@ could not be made here: nothing was graded' >&2; exit $(BOX_FAILED);; \
	esac; rm -f $@; }
BOX_FAILED := 125
# by SIGKILL: what it held, or `box` itself
BOX_ENDED := 126|137

# What others wrote is compiled and linked in a box (autograder/box/): nothing of ours is seen there
# but what the command needs, and of what it writes $@ alone comes out, over a pipe.
# $(1) a command, $(2) the files and folders that it sees. What it costs is written down, by the name
# of the source or of what is linked (submission.py begins the list). $(3) what it makes, if not $@.
# Of a build that somebody outside has ended nothing stays, and it is done once more.
# (All this by the shell itself: a small program a step was a twentieth of what grading takes.)
lab_boxed = $(if $(LAB_OFFICIAL),{ for try in 1 2; do \
	said=$$(build/box/box run build in=$(CURDIR) make=$(@D) $(addprefix see=,$(sort $2)) \
	spent=build/spent/$(LAB_FROM)builds of=$(if $(filter %.c %.cu,$<),$<,$@) \
	-- /bin/bash --norc -c $(call quote,{ $1; } >&2 && cat $(or $3,$@)) \
	2>&1 >$@.part) && ended=0 || ended=$$?; \
	case $$try.$$ended in (1.126|1.137) ;; (*) break ;; esac; done 2>/dev/null; \
	[ -z "$$said" ] || printf '%s\n' "$$said" >&2; ( exit $$ended ) && \
	$(if $(suffix $@),,chmod +x $@.part && )mv -f $@.part $(or $3,$@); },$1)
lab_sees = tl/include $(if $(filter %.cu,$<),$(HOSTCUDA)/include $(HOSTCUDA_REWRITE) \
	build/$(mode)/precompiled)

# A file is preprocessed by itself, at most 8 MB, and what came of it is compiled and nothing else:
# so it can be judged (preprocessed.py). The compiler shows lines of the source beside its messages,
# and no longer sees comments, such as those that allow a case to fall through.
lab_c_flags = $(call flags,$(mode)) $(call lab_optimise,$(mode)) $(lab_lines)
lab_largest := ulimit -f 8192;
# (an object of an older build tree has no preprocessed text beside it: it is made again)
$(filter-out $(patsubst %.i,%,$(wildcard $(LAB_C_OBJECTS:%=%.i))),$(LAB_C_OBJECTS)): always
$(filter-out $(patsubst %.ii,%,$(wildcard $(LAB_HOSTCUDA_OBJECTS:%=%.ii))),$(LAB_HOSTCUDA_OBJECTS)): \
	always
$(LAB_C_OBJECTS):
	$(call say,CC,$@)
	$(call lab_compile,$(CC) $(lab_c_flags) -Itl/include -MMD -MP -MT $@ -MF $(@:.o=.d) -E \
	    -o $@.i $<,$(lab_largest),$@.i,$(CC) $(lab_c_flags) -Wno-implicit-fallthrough -c -o $@ \
	    $@.i,$@.i $<)

$(LAB_HOSTCUDA_OBJECTS):
	$(call say,CUCC,$@)
	$(call lab_compile,{ $(call lab_hostcuda,preprocess,-Itl/include); },$(lab_largest),$@.ii,{ \
	    $(call lab_hostcuda,preprocessed); },$@.ii $< build/$(mode)/precompiled $(HOSTCUDA_UNHOOKED))

$(LAB_CUDA_OBJECTS):
	$(call say,NVCC,$@)
	$(call lab_compile,$(CUDA_COMPILER) $(call cuda_flags,$(mode)) $(call cuda_code,$(mode)) \
	    -Itl/include -isystem $(CUBLAS_INCLUDE) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<)

# gcc reads hostcuda's headers precompiled: half of the time of a short file. A kernel has to serve
# any number of elements with any grid (tl/cuda.h): three blocks show it. (Headers
# appear whole: a half one, written by two makes at once, ends every compiler that maps it.)
lab_hostcuda_flags = $(call hostcuda_flags,$(mode)) $(call lab_optimise,$(mode)) -DTL_MAX_BLOCKS=3
lab_hostcuda = $(call \
	hostcuda_$1,$(CXX) -Ibuild/$(mode)/precompiled,$(lab_hostcuda_flags),$2)

build/%/precompiled/hostcuda/hostcuda.h.gch: $(HOSTCUDA)/include/hostcuda/hostcuda.h \
		$(HOSTCUDA_HEADERS) build/%/host-flags build/%/flags
	@mkdir -p $(@D)
	$(call say,CUCC,$@)
	@$(call swept,$@)
	$(Q)$(if $(findstring clang,$(CXX)),touch $@,$(CXX) -x c++-header \
	    $(call hostcuda_noted_flags,$(CXX),$(lab_hostcuda_flags)) -o $@.$$$$ $< && \
	    mv $@.$$$$ $@)

# The reference's kernels beside a student's, and what both are called through, are compiled as the
# student's are: in half of the time that the trainer's take.
build/%.cu.lab.o: $$(source).cu $(HOSTCUDA_REWRITE) \
		build/$$(mode)/precompiled/hostcuda/hostcuda.h.gch
	@mkdir -p $(@D)
	$(call say,CUCC,$@)
	$(Q)$(call lab_hostcuda,compile,$(call includes,$<))
LAB_GIVEN_CU := $(WORKER_PLUGIN_CU) $(addprefix solution/,$(filter %.cu,$(LAB_FILES)))
-include $(call in_modes,$(LAB_GIVEN_CU:%=%.lab.d) $(LAB_GIVEN_CU:%=%.lab.hc.d))

# ---- what stands for the files that a worker lacks ----------------------------------------------

# A plug-in takes the same. (Headers are prerequisites of their sources.)
build/absent/written: autograder/grade/absent.py autograder/grade/grants.py $(LAB_LIST) \
		$(wildcard tl/include/tl/*.h)
	@mkdir -p $(@D)
	$(Q)$(LAB_PYTHON) autograder/grade/absent.py $(@D) && touch $@

define lab_absent
@mkdir -p $(@D)
$(call say,CC,$@)
$(Q)$(CC) -std=gnu11 -O1 -fPIC -fvisibility=hidden $(call precision,$(mode)) -Itl/include \
    -c -o $@ $(patsubst build/$(mode)/absent/%.o,build/absent/%_absent.c,$@)
endef
$(LAB_ABSENT): build/absent/written build/$$(mode)/flags
	$(lab_absent)

# ---- workers and their plug-ins ------------------------------------------------------------------

# A sanitised plug-in links with holes, for the sanitizer's own functions come from the program.
lab_no_holes = && ! nm -u $@ | sed -n "s/^ *U \(tl_.*\)/undefined reference to \`\1'/p" | grep . >&2
# After a link: where it failed, the linker's words become ours. $(1) name of the `why` file
lab_or_why = 2>$(@D)/$(1).err && rm -f $(@D)/$(1).err || { $(call lab_not_made,$(@D)/$(1).err) && \
	$(LAB_PYTHON) autograder/grade/unlinked.py $(@D)/$(1).err $(LABS) $(filter %.o,$^) \
	>$(@D)/$(1); }

# Some 50 files are in each worker: as one they are read in a third of the time, and seen by one
# mount of the link's box. (Two makes may want it at once, so it is put in place whole.)
$(LAB_SHARED):
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	@$(call swept,$@)
	$(Q)$(CC) -r -nostdlib -o $@.$$$$ $^ && mv -f $@.$$$$ $@

# OpenBLAS defines 15,000 names, and reading them was half of a link. In its place these are linked
# with a library that has the names of its C interface alone and says that it is OpenBLAS: so that
# is what a program loads.
BLAS_NAMES := build/box/blas_names.so
$(BLAS_NAMES): build/box/libraries mk/workers.mk
	$(call say,LINK,$@)
	@$(call swept,$@)
	$(Q)ldd $< | awk '/openblas/ { print $$1, $$3 }' | { read -r name library || { \
	    echo 'grade: OpenBLAS is not there as a shared library: make setup grade' >&2; false; } && \
	    nm -D --defined-only "$$library" | awk '$$3 ~ /^(cblas|openblas)_/ { \
	        sub(/@.*/, "", $$3); print ".globl", $$3; print $$3 ":" }' | \
	    $(CC) -shared -nostdlib -Wl,-soname="$$name" -x assembler - -o $@.$$$$; } && \
	    mv -f $@.$$$$ $@
$(LAB_WORKERS) $(LAB_BARE_WORKERS) $(LAB_HOSTCUDA_PLUGINS): | $(BLAS_NAMES)

# Without BLAS where its place is taken: then it is not in the process either.
lab_no_blas = $(filter-out $(OPENBLAS),$1)
lab_libs = $(if $(filter %/absent/blas.o,$^),,$(BLAS_NAMES)) $(call lab_no_blas,$(LIBS)) $(CALL_WRAPS)

# Its box sees the objects, and as one folder those that stand for others: each mount makes the next
# one slower.
lab_link_sees = $(foreach o,$(filter %.o,$^) $(BLAS_NAMES),$(firstword $(subst /absent/,/absent ,$o)))

$(LAB_WORKERS):
	@mkdir -p $(@D) && rm -f $(@D)/why
	$(call say,LINK,$@)
	$(Q)$(call lab_boxed,LC_ALL=C $(CC) $(call flags,$(mode)) -o $@ $(filter \
	    %.o,$^) $(lab_libs),$(lab_link_sees)) $(call lab_or_why,why)

# Without any code of a student's: linked once, and copied beside each plug-in, which a program
# looks for in its own folder.
$(LAB_BARE_WORKERS):
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(call flags,$(mode)) -o $@ $(filter %.o,$^) $(lab_libs)

$(LAB_BARE_COPIES):
	@mkdir -p $(@D) && rm -f $(@D)/why && cp $< $@

# Broken versions of ours, for a student's own cases: all ten of a lab are written at once. (A
# handout has them ready-made.)
BROKEN_C := $(patsubst build/double/lab$(LAB_N)/broken/%,build/broken/lab$(LAB_N)/%.c,\
	$(filter-out %/broken/0,$(LAB_BROKEN)))
ifneq ($(BROKEN_C),)
$(BROKEN_C) &: autograder/maintain/broken.py autograder/maintain/mutants.py \
		$(wildcard autograder/lab$(LAB_N)/*.toml solution/lab$(LAB_N)/*.c)
	@mkdir -p $(@D)
	$(Q)$(LAB_PYTHON) autograder/maintain/broken.py LAB=$(LAB_N) OUT=$(@D)
endif
$(LAB_BROKEN):
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(call flags,$(mode)) -o $@ $(filter %.o,$^) $(if $(filter \
	    %/absent/blas.o,$^),$(call lab_no_blas,$(LIBS)),$(LIBS)) $(CALL_WRAPS)

LAB_HOSTCUDA_LIBS := $(HOSTCUDA_LIBS)
$(LAB_HOSTCUDA_PLUGINS): private HOSTCUDA_LIBS = $(if $(filter \
	%/cublas/operations.o,$^),$(BLAS_NAMES)) $(call lab_no_blas,$(LAB_HOSTCUDA_LIBS))
$(LAB_HOSTCUDA_PLUGINS):
	@mkdir -p $(@D) && rm -f $(@D)/why-hostcuda
	$(call say,LINK,$@)
	$(Q)$(call lab_boxed,{ $(call hostcuda_link,LC_ALL=C $(CXX)) \
	    $(if $(findstring -san,$(mode)),$(lab_no_holes)); },$(lab_link_sees)) \
	    $(call lab_or_why,why-hostcuda)

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
	$(addprefix tl/,geometry.c shape.c status.c dropout_threshold.c rng.c portable.c)

# Criterion's libgit2 is left out (no_git.c). It is found by the very name that Criterion gives it;
# on a machine where that is another one, or none, the grader starts with Criterion's own.
build/grader/no_git: autograder/grade/no_git.c
	@mkdir -p $(@D) && rm -f $(@D)/*
	@name=$$($$($(CC) -print-prog-name=objdump) -p $$($(CC) -print-file-name=libcriterion.so) | \
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
	$(call link,$(CRITERION) -lm \
	    -Wl$(comma)--push-state$(comma)--no-as-needed $$(find build/grader -name 'libgit2*') \
	    -Wl$(comma)--pop-state$(comma)-rpath$(comma)'$$ORIGIN/../grader:$$ORIGIN/../../grader')

-include $(call in_modes,$(patsubst %.c,%.d,$(GRADER_C) $(WORKER_C) $(SOME_WORKERS_C)))
