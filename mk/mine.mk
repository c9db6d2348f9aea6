# mine.mk: MINE=1: programs made of a student's files of all labs. The reference has no part in
# them, nor have the quicker kernels: what runs is what is in labs/. Included by the Makefile.
#
#   build/<mode>/mine/{train,predict,…}, and the plug-ins beside them

ifneq ($(MINE),)
ifneq ($(filter RUNGS,$(GIVEN)),)
$(error MINE=1: your own files have no quicker kernels beside them: leave out RUNGS)
endif
# (grading goes on without a file: it costs its own points alone)
MINE_GONE := $(if $(filter $(LAB_GOALS) grade,$(MAKECMDGOALS)),,$(firstword \
	$(filter-out $(wildcard labs/lab*/*),$(LAB_FILES:%=labs/%))))
ifneq ($(MINE_GONE),)
$(error MINE=1: $(shell $(LAB_PYTHON) autograder/grade/unlinked.py gone $(MINE_GONE)))
endif
MINE_UNLISTED := $(firstword $(filter-out $(LAB_FILES:%=solution/%),\
	$(wildcard solution/lab*/*.c solution/lab*/*.cu)))
ifneq ($(MINE_UNLISTED),)
$(error MINE=1: $(LAB_LIST) lacks the line of $(MINE_UNLISTED:solution/%=labs/%): get a clean copy)
endif
NOT_MINE := $(LAB_FILES:%=solution/%) kernels/% programs/rungs_cpu.c
MINE_SRC := $(filter-out $(NOT_MINE),$(LIB_SRC)) $(addprefix labs/,$(filter %.c,$(LAB_FILES)))
MINE_CU := $(filter-out $(NOT_MINE),$(PLUGIN_CU)) $(addprefix labs/,$(filter %.cu,$(LAB_FILES)))
MINE_SOURCES := $(sort $(MINE_SRC) $(MAIN_SRC) $(HEADERS) $(MINE_CU) $(WORKER_PLUGIN_C))
# $(1) mode, $(2) sources; a student's C is compiled apart from what grading makes of it
mine_object = $(patsubst %.c,build/$1/mine/%.o,$(filter labs/lab%,$2)) \
	$(patsubst %.c,build/$1/%.o,$(filter-out labs/lab%,$2))

define mine_rules
build/$(1)/mine/%.o: %.c build/$(1)/flags
	$$(call compile,$(1))

build/$(1)/mine/build_info.o: build/$(1)/mine/build_info.c build/$(1)/flags
	$$(call compile,$(1))

build/$(1)/mine/build_info.c: build/$(1)/flags $(MINE_SOURCES) always
	@mkdir -p $$(@D)
	@GRADLAB_COMMIT=$$(call quote,$$(GRADLAB_COMMIT)) tools/build_info.sh source $$< \
	    $(MINE_SOURCES) | { $$(call replace,$$@); }

$(PROGRAMS:%=build/$(1)/mine/%): build/$(1)/mine/%: build/$(1)/programs/main_%.o \
		$(call mine_object,$(1),$(MINE_SRC)) build/$(1)/mine/build_info.o \
		$(if $(HAVE_CXX),| build/$(1)/mine/libtl_hostcuda.so)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(call flags,$(1)) -o $$@ $$(filter %.o,$$^) $$(LIBS)

build/$(1)/mine/libtl_hostcuda.so: $(MINE_CU:%=build/$(1)/hostcuda/%.o) \
		$(WORKER_PLUGIN_C:%.c=build/$(1)/hostcuda/pic/%.o) $(call hostcuda_library_of,$(1))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(call hostcuda_plugin,$$(CXX),$(call hostcuda_san,$(1)),$$@,$$(filter %.o,$$^))

-include $(patsubst %.o,%.d,$(call mine_object,$(1),$(MINE_SRC))) \
    $(MINE_CU:%.cu=build/$(1)/hostcuda/%.hc.d) $(MINE_CU:%=build/$(1)/hostcuda/%.d)
endef
$(foreach m,$(sort $(MODE) float),$(eval $(call mine_rules,$m))) # (comparisons are in float)

ifneq ($(and $(CUDA),$(filter $(MODE),$(CUDA_MODES))),)
$(PROGRAMS:%=build/$(MODE)/mine/%): | build/$(MODE)/mine/libtl_cuda.so
build/$(MODE)/mine/libtl_cuda.so: $(MINE_CU:%=build/$(MODE)/%.o) \
		$(WORKER_PLUGIN_C:%.c=build/$(MODE)/pic/%.o)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call cuda_plugin,$@,$(filter %.o,$^))
-include $(MINE_CU:%=build/$(MODE)/%.d)
endif
endif
