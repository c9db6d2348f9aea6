# cuda.mk: libtl_cuda.so, the CUDA device, beside the programs that open it. Included by the
# Makefile.
#
#   build/<mode>/libtl_cuda.so             for this machine's GPUs
#   build/<real>/cuda-all/libtl_cuda.so    for every GPU, warnings are errors (make cuda-all)

# CUDA := nvcc, the folder of cublas_v2.h and the cuBLAS library; or nothing: then there is no
# plug-in, the programs are whole without it, and `make doctor` says why.
CUDA := $(shell NVCC=$(call quote,$(NVCC)) CUBLAS_HOME=$(call quote,$(CUBLAS_HOME)) \
	PYTHON=$(call quote,$(PYTHON)) tools/find_cuda.sh)
ifeq ($(firstword $(CUDA)),error:)
$(error $(wordlist 2,$(words $(CUDA)),$(CUDA)))
endif
CUDA_COMPILER := $(word 1,$(CUDA))
CUBLAS_INCLUDE := $(word 2,$(CUDA))
CUBLAS_LIBRARY := $(word 3,$(CUDA))
# Compute capabilities to build for, without the point: those of the machine's own GPUs, else the
# oldest and Hopper. Code for newer ones is made by the driver.
ifeq ($(CUDA_ARCH),)
CUDA_ARCH := $(if $(CUDA),$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
	2>/dev/null | tr -d . | grep -x '[0-9]*' | sort -nu))
CUDA_ARCH := $(or $(CUDA_ARCH),75 90)
endif
# ... and for every GPU: no line of ours depends on __CUDA_ARCH__, so the front end runs twice, for
# the oldest and the newest, instead of once each; ptxas makes machine code for each.
EVERY_GPU := 75 80 86 89 90 100 120
space := $(subst ,, )
every_gpu_code := -gencode arch=compute_$(firstword $(EVERY_GPU)),code=[$(subst $(space),$(comma),$\
	$(EVERY_GPU:%=sm_%))] -gencode $\
	arch=compute_$(lastword $(EVERY_GPU)),code=compute_$(lastword $(EVERY_GPU))

# The modes that have objects of their own. Sanitised and checking programs open the plain plug-in:
# neither looks into a GPU.
CUDA_MODES := $(foreach r,float double,$r $r-debug)

linker = $(foreach f,$1,-Xlinker $f)
# no-exceptions and the rest: nothing of libstdc++ is needed in the plug-in
cuda_flags = -std=c++17 $(if $(findstring -debug,$1),-O0 -g -G,-O3 -lineinfo) $(call precision,$1) \
	$(foreach f,-fPIC -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden -Wall \
	-Wextra,-Xcompiler $f)
# machine code for each GPU of the list, and for newer ones PTX, which the driver translates
gpu_code = $(foreach a,$1,-gencode arch=compute_$a$(comma)code=sm_$a) \
	-gencode arch=compute_$(lastword $1)$(comma)code=compute_$(lastword $1)

# $(1) libtl_cuda.so, $(2) objects
cuda_plugin = $(CUDA_COMPILER) -shared -cudart static -o $1 $2 $(call linker,$(CUBLAS_LIBRARY) \
	-rpath=$(dir $(CUBLAS_LIBRARY)) --as-needed --no-undefined -Bsymbolic --exclude-libs=ALL)

# $(1) folder, $(2) mode, $(3) flags that name the GPUs, $(4) more flags
define cuda_rules
$(1)/%.cu.o: %.cu $(1)/cuda-flags
	@mkdir -p $$(@D)
	$$(call say,NVCC,$$@)
	$$(Q)$$(CUDA_COMPILER) $$(call cuda_flags,$(2)) $(4) $(3) \
	    $$(call includes,$$<) -isystem $$(CUBLAS_INCLUDE) -MMD -MP -MF $$(@:.o=.d) -c -o $$@ $$<

$(1)/pic/%.o: %.c $(1)/cuda-flags build/$(2)/flags
	$$(call compile,$(2),-fPIC -fvisibility=hidden)

$(1)/cuda-flags: always
	@mkdir -p $$(@D)
	@{ $$(CUDA_COMPILER) --version; printf '%s\n' '$$(CUDA)' '$$(call cuda_flags,$(2)) $(4)' \
	    '$(3)' '$$(PLUGIN_CU) $$(PLUGIN_C)'; } | { $$(call replace,$$@); }

$(1)/libtl_cuda.so: $(PLUGIN_CU:%=$(1)/%.o) $(PLUGIN_C:%.c=$(1)/pic/%.o)
	$$(call say,LINK,$$@)
	$$(Q)$$(call cuda_plugin,$$@,$$^)

-include $(PLUGIN_CU:%=$(1)/%.d) $(PLUGIN_C:%.c=$(1)/pic/%.d)
endef

define copied_plugin
build/$(1)/libtl_cuda.so: build/$(subst -check,,$(subst -san,,$(1)))/libtl_cuda.so
	@mkdir -p $$(@D) && cp $$< $$@
endef

ifneq ($(CUDA),)
$(foreach m,$(CUDA_MODES),$(eval $(call cuda_rules,build/$m,$m,$(call gpu_code,$(CUDA_ARCH)))))
$(foreach r,float double,\
    $(eval $(call cuda_rules,build/$r/cuda-all,$r,$(every_gpu_code),-Werror all-warnings)))
$(foreach m,$(filter-out $(CUDA_MODES),$(MODES)),$(eval $(call copied_plugin,$m)))

# Order only: a plug-in is opened when a program runs, so a changed one relinks nothing.
$(foreach m,$(MODES),$(eval $(PROGRAMS:%=build/$m/%) build/$m/suites: | build/$m/libtl_cuda.so))
else
build/%/cuda-all/libtl_cuda.so:
	@echo "cuda-all: no nvcc, or no cuBLAS beside it ('make setup cuda-all' fetches cuBLAS" \
	    "alone); make doctor says which" >&2; exit 1
endif
