# device.mk: hostcuda as a device: libtl_hostcuda.so of every mode, from the sources of
# libtl_cuda.so, and the corpus by every compiler. hostcuda.mk has the rules for any project; this
# is what gradlab makes of them. Included by the Makefile.

HOSTCUDA_INCLUDES = $(call includes,$*.cu)
include hostcuda/hostcuda.mk
hostcuda_say = $(say)

# Its library and corpus by compiler: that of this build, and for `make test-all` gcc and clang.
HOSTCUDA_COMPILERS := $(sort $(CC_NAME) gcc clang)
hostcuda_cc = $(if $(filter $1,$(CC_NAME)),$(CC),$1)
hostcuda_cxx = $(if $(filter $1,$(CC_NAME)),$(CXX),$(if $(filter gcc,$1),g++,$1++))
# $(1) compiler, $(2) nothing, -san or -check
# (-O1 as in a plug-in's -san: at -O3 to compile the corpus takes thrice as long)
corpus_flags = $(if $(filter -san,$2),-O1 $(HOSTCUDA_SAN)) \
	$(if $(filter -check,$2),$(HOSTCUDA_CHECK))
corpus_rules = $(call hostcuda_corpus,build/hostcuda/$1$2,$(call hostcuda_cc,$1),$\
	$(call hostcuda_cxx,$1),$(strip $(call corpus_flags,$1,$2) -march=$(ARCH)))
$(foreach c,$(HOSTCUDA_COMPILERS),\
    $(foreach s,- -san -check,$(eval $(call corpus_rules,$c,$(filter-out -,$s)))))
CORPUS := build/hostcuda/$(CC_NAME)$(if $(SAN),-san)$(if $(CHECK),-check)/corpus
ALL_CORPORA := $(foreach c,gcc clang,$(foreach s,/corpus -san/corpus -check/corpus,\
	build/hostcuda/$c$s))

$(eval $(call hostcuda_bench,build/hostcuda/$(CC_NAME),$(CXX),))
$(eval $(call hostcuda_bench,build/hostcuda/$(CC_NAME)-check,$(CXX),$(HOSTCUDA_CHECK)))

# What warps access, counted here as by a GPU's profiler (tests/sectors): by g++ alone.
SECTORS := build/hostcuda/gcc-check/sectors
$(SECTORS): build/hostcuda/gcc-check/tests/sectors/sectors.cu.o \
		$(call hostcuda_check_objects,build/hostcuda/gcc-check)
	$(call say,LINK,$@)
	$(Q)$(call hostcuda_cxx,gcc) -o $@ $^ $(HOSTCUDA_LIBS)

-include $(addprefix build/hostcuda/gcc-check/tests/sectors/sectors,.hc.d .cu.d)

hostcuda_san = $(if $(findstring -san,$1),$(HOSTCUDA_SAN))
hostcuda_named := -DTL_CUDA_DEVICE='"hostcuda"'
# What a plug-in of a mode is compiled with.
# (no-uninitialized: gcc does not see that rungs load and use under equal guards; nvcc judges them)
hostcuda_flags = $(call optimise,$1) -march=$(ARCH) -fno-math-errno -fno-exceptions -fno-rtti \
	-Wno-uninitialized \
	$(call hostcuda_san,$1) $(call precision,$1) $(hostcuda_named) \
	$(if $(findstring -check,$1),$(call hostcuda_hooks,$(CXX)))
hostcuda_library_of = $(if $(findstring -check,$1),$(call \
	hostcuda_check_objects,build/hostcuda/$(CC_NAME)-check),$(call \
	hostcuda_library_objects,build/hostcuda/$(CC_NAME)$(if $(findstring -san,$1),-san)))

define hostcuda_mode_rules
$(call hostcuda_objects,build/$(1)/hostcuda,$(CXX),$(call hostcuda_flags,$(1)),$(PLUGIN_CU))

build/$(1)/hostcuda/pic/%.o: %.c build/$(1)/flags
	$$(call compile,$(1),-fPIC -fvisibility=hidden $$(hostcuda_named))

build/$(1)/libtl_hostcuda.so: $(PLUGIN_CU:%=build/$(1)/hostcuda/%.o) \
		$(PLUGIN_C:%.c=build/$(1)/hostcuda/pic/%.o) $(call hostcuda_library_of,$(1)) \
		build/$(1)/objects
	$$(call say,LINK,$$@)
	$$(Q)$$(call hostcuda_plugin,$$(CXX),$(call hostcuda_san,$(1)),$$@,$$(filter %.o,$$^))

-include $(PLUGIN_C:%.c=build/$(1)/hostcuda/pic/%.d)
$(if $(HAVE_CXX),$(PROGRAMS:%=build/$(1)/%) build/$(1)/suites: | build/$(1)/libtl_hostcuda.so)
endef
# Without a C++ compiler the programs are whole without this plug-in; `make doctor` says so.
HAVE_CXX := $(shell command -v $(firstword $(CXX)) 2>/dev/null)
$(foreach m,$(MODES),$(eval $(call hostcuda_mode_rules,$m)))
