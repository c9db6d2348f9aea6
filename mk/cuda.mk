# cuda.mk: libtl_cuda.so, the CUDA device, beside the programs that open it. Included by the
# Makefile.
#
#   build/<mode>/libtl_cuda.so        for this machine's GPUs
#   build/<real>-all/libtl_cuda.so    for every GPU, warnings are errors (make cuda-all)
#   build/<mode>/x.cu.o, x.pic.o      of x.cu and x.c

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
# ... and for every GPU, or those that were named: of what __CUDA_ARCH__ says, our lines only ask
# whether it is 8.0 or newer (kernels/device.h). So the front end runs three times, for the oldest on
# each side and for the newest, instead of once each; ptxas makes machine code for each.
EVERY_GPU := $(if $(filter CUDA_ARCH,$(GIVEN)),$(CUDA_ARCH),75 80 86 89 90 100 120)
space := $(subst ,, )
BEFORE_80 := $(filter 75,$(EVERY_GPU))
# $(1) compute capabilities of which one front end makes the code
machine_code = $(if $1,-gencode arch=compute_$(firstword $1)$(comma)code=[$(subst \
	$(space),$(comma),$(1:%=sm_%))])
# $(1) 90 where 9.0 has code of its own
every_gpu_code = $(call machine_code,$(BEFORE_80)) \
	$(call machine_code,$(filter-out $(BEFORE_80) $1,$(EVERY_GPU))) \
	$(call code_90a,$1,$(EVERY_GPU)) -gencode \
	arch=compute_$(lastword $(EVERY_GPU)),code=compute_$(lastword $(EVERY_GPU))

# Tiles by tensor cores (*_tensor*.cu) use what compute capability 9.0 has and no other
# (kernels/warpgroup.h), in code for sm_90a. nvcc 12.0 is the first to know it; an older one does
# without. $(1) a source: 90 if it is one of them
KNOWS_90A := $(if $(CUDA),$(shell $(CUDA_COMPILER) --version | \
	sed -n 's/.*release \(1[2-9]\|[2-9][0-9]\)\..*/90/p'))
with_90a = $(if $(findstring _tensor,$(notdir $1)),$(KNOWS_90A))
code_90a = $(if $(and $1,$(filter $1,$2)),-gencode arch=compute_90a$(comma)code=sm_90a)

linker = $(foreach f,$1,-Xlinker $f)
# $(1) mode; no-exceptions and the rest: nothing of libstdc++ is needed in the plug-in
cuda_flags = -std=c++17 $(if $(findstring -debug,$1),-O0 -g -G,-O3 -lineinfo) $(call precision,$1) \
	$(foreach f,-fPIC -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden -Wall \
	-Wextra,-Xcompiler $f) $(if $(findstring -all,$1),-Werror all-warnings)
# machine code for each GPU of the list, and for newer ones PTX, which the driver translates
gpu_code = $(foreach a,$(filter-out $2,$1),-gencode arch=compute_$a$(comma)code=sm_$a) \
	$(call code_90a,$2,$1) -gencode arch=compute_$(lastword $1)$(comma)code=compute_$(lastword $1)

# $(1) mode, $(2) source
cuda_code = $(if $(findstring -all,$1),$(call every_gpu_code,$(call with_90a,$2)),$(call \
	gpu_code,$(CUDA_ARCH),$(call with_90a,$2)))

# The link of a plug-in, once a target's prerequisites are there.
cuda_link = $(CUDA_COMPILER) -shared -cudart static -o $@ $(filter %.o,$^) $(call \
	linker,$(CUBLAS_LIBRARY) -rpath=$(dir $(CUBLAS_LIBRARY)) --as-needed --no-undefined \
	-Bsymbolic --exclude-libs=ALL)

ifneq ($(CUDA),)
CUDA_OBJECTS = $(PLUGIN_CU:%=build/$(mode)/%.o) $(PLUGIN_C:%.c=build/$(mode)/%.pic.o)

build/%.cu.o: $$(source).cu build/$$(mode)/cuda-flags
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(Q)$(CUDA_COMPILER) $(call cuda_flags,$(mode)) $(call cuda_code,$(mode),$<) \
	    $(call includes,$<) -isystem $(CUBLAS_INCLUDE) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

build/%.pic.o: $$(source).c build/$$(mode)/cuda-flags build/$$(mode)/flags
	$(call compile,-fPIC -fvisibility=hidden)

build/%/cuda-flags: always
	@mkdir -p $(@D)
	@{ $(CUDA_COMPILER) --version; printf '%s\n' '$(CUDA)' '$(call cuda_flags,$(mode))' \
	    '$(call cuda_code,$(mode)) $(KNOWS_90A)' '$(PLUGIN_CU) $(PLUGIN_C)'; } | { $(call replace,$@); }

build/%/libtl_cuda.so: $$(CUDA_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(cuda_link)

# Sanitised and checking programs open the plain plug-in: neither looks into a GPU.
define copy_plugin
@mkdir -p $(@D) && cp $< $@
endef
build/%-san/libtl_cuda.so: build/%/libtl_cuda.so ; $(copy_plugin)
build/%-check/libtl_cuda.so: build/%/libtl_cuda.so ; $(copy_plugin)
build/%-san-debug/libtl_cuda.so: build/%-debug/libtl_cuda.so ; $(copy_plugin)

-include $(call in_modes,$(PLUGIN_CU:%=%.d) $(PLUGIN_C:%.c=%.pic.d))
-include $(foreach r,float double,$(PLUGIN_CU:%=build/$r-all/%.d) \
	$(PLUGIN_C:%.c=build/$r-all/%.pic.d))
else
build/%-all/libtl_cuda.so:
	@echo "cuda-all: no nvcc, or no cuBLAS beside it ('make setup cuda-all' fetches cuBLAS" \
	    "alone); make doctor says which" >&2; exit 1
endif
