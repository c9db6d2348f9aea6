# labs_check.mk: make labs-check: solution and skeletons by every compiler there is, warnings are
# errors; then both are graded. Included by the Makefile.
#
#   build/check/<compiler>/<mode>/<solution|labs>/lab2/im2col.o; of .cu files im2col.cu.o

ifneq ($(filter labs-check test test-all test-without-twin,$(MAKECMDGOALS)),)
CHECK_CC := $(foreach c,gcc clang,$(if $(shell command -v $c),$c))
CHECK_CXX := $(if $(filter gcc,$(CHECK_CC)),g++) $(if $(filter clang,$(CHECK_CC)),clang++)
CHECK_FILES := $(LAB_FILES:%=solution/%) $(LAB_FILES:%=labs/%)

# Of build/check/gcc/float/labs/lab2/im2col.o the compiler is gcc, the mode float.
check_compiler = $(word 3,$(subst /, ,$@))
check_mode = $(word 4,$(subst /, ,$@))
check_source = $(patsubst $(check_compiler)/$(check_mode)/%,%,$*)

build/check/%.o: $$(check_source).c build/$$(check_mode)/flags mk/labs_check.mk
	@mkdir -p $(@D)
	$(call say,CHECK,$@)
	$(Q)$(check_compiler) $(filter-out -O3,$(call flags,$(check_mode))) -O1 -Werror \
	    -Itl/include -MMD -MP -c -o $@ $<

build/check/%.cu.o: $$(check_source).cu $(HOSTCUDA_NEEDS) mk/labs_check.mk
	@mkdir -p $(@D)
	$(call say,CHECK,$@)
	$(Q)$(call hostcuda_compile,$(check_compiler),$(call \
	    hostcuda_flags,$(check_mode)) -O1 -Werror,-Itl/include)

# (nvcc takes seconds a file: the skeletons alone, for one GPU; make cuda-all compiles the solution)
build/check/nvcc/float/%.cu.o: %.cu mk/labs_check.mk
	@mkdir -p $(@D)
	$(call say,CHECK,$@)
	$(Q)$(CUDA_COMPILER) $(filter-out -O3,$(call cuda_flags,float)) -Werror all-warnings \
	    $(call gpu_code,$(firstword $(CUDA_ARCH))) -Itl/include -isystem $(CUBLAS_INCLUDE) \
	    -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# One precision by each compiler, both in all: gcc/double clang/float, or gcc/double gcc/float.
check_builds = $(firstword $1)/double $(lastword $1)/float
CHECK_C_BUILDS := $(call check_builds,$(CHECK_CC))
CHECK_CU_BUILDS := $(call check_builds,$(CHECK_CXX))
CHECK_OBJECTS := \
    $(foreach b,$(CHECK_C_BUILDS),$(patsubst %.c,build/check/$b/%.o,$(filter %.c,$(CHECK_FILES))))\
    $(foreach b,$(CHECK_CU_BUILDS),$(patsubst %,build/check/$b/%.o,$(filter %.cu,$(CHECK_FILES))))\
    $(if $(CUDA),$(patsubst %,build/check/nvcc/float/labs/%.o,$(filter %.cu,$(LAB_FILES))))
-include $(CHECK_OBJECTS:.o=.d) $(CHECK_OBJECTS:.o=.hc.d)
endif

# Solution and skeletons of every lab are graded; the skeletons as a folder of their own, so that
# the grades in build/grade stay those of whoever works in labs/. The copy keeps its times: what is
# equal is not built again.
.PHONY: labs-check
labs-check: ## the maintainer's: markers, skeletons and solution fit, in every build
labs-check: $(CHECK_OBJECTS)
	@$(LAB_PYTHON) autograder/maintain/labs_check.py files build/check
	@$(LAB_PYTHON) autograder/maintain/handouts.py check
	@for n in $(LAB_GOALS:lab%=%); do \
	    copy=build/skeletons/lab$$n; rm -rf $$copy; mkdir -p $$copy; \
	    cp -p $$(ls labs/lab$$n/*.c* labs/lab$$n/*.toml 2>/dev/null) $$copy; \
	    for side in solution build/skeletons; do \
	        echo "$$side, lab $$n"; \
	        $(MAKE) -s grade LAB=$$n LABS=$$side JSON=1 \
	            >build/check/grade.json 2>build/check/grade.log || \
	            { cat build/check/grade.log >&2; exit 1; }; \
	        $(LAB_PYTHON) autograder/maintain/labs_check.py graded $$side build/check/grade.json; \
	    done; \
	done
