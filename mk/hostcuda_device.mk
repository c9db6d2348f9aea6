# hostcuda_device.mk: hostcuda as a device: libtl_hostcuda.so of every mode, from the sources of
# libtl_cuda.so, and the corpus by every compiler. hostcuda.mk has the rules for any project; this
# is what gradlab makes of them. Included by the Makefile.
#
#   build/<mode>/libtl_hostcuda.so
#   build/<mode>/x.cu.host.o, x.host.o     of x.cu and x.c, by the host's compilers

# The build that is called as CC is has its compilers, with all that was typed for them.
hostcuda_cc = $(if $(filter $1,$(CC_NAME)),$(CC),$1)
hostcuda_cxx = $(if $(filter $1,$(CC_NAME)),$(CXX),$(if $(filter gcc,$1),g++,$1++))
HOSTCUDA_FLAGS := -march=$(ARCH)
HOSTCUDA_INCLUDES := -Itl/include -I.
include hostcuda/hostcuda.mk
hostcuda_say = $(say)

# Corpora: that of this build, and for `make test-all` those of gcc and clang.
CORPUS := build/hostcuda/$(CC_NAME)$(if $(SAN),-san)$(if $(CHECK),-check)/corpus
ALL_CORPORA := $(foreach c,gcc clang,$(addprefix build/hostcuda/$c,/corpus -san/corpus \
	-check/corpus))

# What warps access, counted here as by a GPU's profiler (tests/sectors): by g++ alone.
# (it calls hostcuda's counts by their table, and those are no functions of a .cu file)
SECTORS := build/hostcuda/gcc-check/sectors
build/hostcuda/gcc-check/tests/sectors/sectors.cu.o: private HOSTCUDA_WATCHED_JUMPS :=
$(SECTORS): build/hostcuda/gcc-check/tests/sectors/sectors.cu.o $$(hostcuda_build_library)
	$(call say,LINK,$@)
	$(Q)$(hostcuda_build_cxx) -o $@ $^ $(HOSTCUDA_LIBS)

# Fragments of tensor cores (tests/mma), likewise.
MMA := build/hostcuda/gcc-check/mma
$(MMA): build/hostcuda/gcc-check/tests/mma/mma.cu.o $$(hostcuda_build_library)
	$(call say,LINK,$@)
	$(Q)$(hostcuda_build_cxx) -o $@ $^ $(HOSTCUDA_LIBS)

-include $(wildcard build/hostcuda/gcc-check/tests/*/*.d)

# ---- the plug-in of a mode: $(1) ----------------------------------------------------------------

# Without a C++ compiler the programs are whole without this plug-in; `make doctor` says so.
HAVE_CXX := $(shell command -v $(firstword $(CXX)) 2>/dev/null)

hostcuda_san = $(if $(findstring -san,$1),$(HOSTCUDA_SAN))
hostcuda_named := -DTL_CUDA_DEVICE='"hostcuda"'
# What it is compiled with.
# (no-uninitialized: gcc does not see that rungs load and use under equal guards; nvcc judges them.
# ffp-contract: a compiler that fuses some products with their sums does so in one copy of a loop and
# not in another, and equal sums get other bits.)
hostcuda_flags = $(call optimise,$1) -march=$(ARCH) -ffp-contract=off -fno-math-errno \
	-fno-exceptions -fno-rtti -Wno-uninitialized \
	$(call hostcuda_san,$1) $(call precision,$1) $(hostcuda_named) \
	$(if $(findstring -check,$1),$(call hostcuda_hooks,$(CXX)))
hostcuda_library_of = $(if $(findstring -check,$1),$(call \
	hostcuda_check_objects,build/hostcuda/$(CC_NAME)-check),$(call \
	hostcuda_library_objects,build/hostcuda/$(CC_NAME)$(if $(findstring -san,$1),-san)))
# Its link, once a target's prerequisites are there: $(1) C++ compiler
hostcuda_link = $(call hostcuda_plugin,$1,$(call hostcuda_san,$(mode)),$@,$(filter %.o,$^))

HOST_OBJECTS = $(PLUGIN_CU:%=build/$(mode)/%.host.o) $(PLUGIN_C:%.c=build/$(mode)/%.host.o) \
	$(call hostcuda_library_of,$(mode))

# What tensor cores do not take goes back to the program, which rounds between kernels
# (tl/precision.h): these files alone call out of the plug-in, and such calls are not watched there.
CALL_BACK := conv2d/04_tensor gemm/07_tensor_tf32 gemm/08_tensor_bf16 gemm/12_tensor_fp16 \
	linear/02_tensor
$(call in_modes,$(CALL_BACK:%=kernels/%.cu.host.o)): private HOSTCUDA_WATCHED_JUMPS :=

build/%.cu.host.o: $$(source).cu $(HOSTCUDA_NEEDS) build/$$(mode)/host-flags
	@mkdir -p $(@D)
	$(call say,CUCC,$@)
	$(Q)$(call hostcuda_compile,$(CXX),$(call hostcuda_flags,$(mode)),$(call includes,$<))

# (in the check build with hooks, too: what they are given pointers for, they write in the name of
# who calls them)
build/%.host.o: $$(source).c build/$$(mode)/flags
	$(call compile,-fPIC -fvisibility=hidden $(hostcuda_named) \
	    $(if $(findstring -check,$(mode)),$(call hostcuda_hooks_c,$(CC))))
	$(if $(findstring -check,$(mode)),$(Q)$(HOSTCUDA_OBJCOPY) $(HOSTCUDA_RENAME) $@)

build/%/host-flags: hostcuda-always
	$(call hostcuda_note,$(CXX),$(call hostcuda_noted_flags,$(CXX),$(call hostcuda_flags,$(mode))))

build/%/libtl_hostcuda.so: $$(HOST_OBJECTS) build/%/objects
	$(call say,LINK,$@)
	$(Q)$(call hostcuda_link,$(CXX))

-include $(call in_modes,$(PLUGIN_CU:%=%.host.d) $(PLUGIN_CU:%=%.host.hc.d) \
	$(PLUGIN_C:%.c=%.host.d))
