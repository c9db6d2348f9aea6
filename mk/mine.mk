# mine.mk: MINE=1: programs made of a student's files of all labs. The reference has no part in
# them, nor have the quicker kernels: what runs is what is in labs/. Included by the Makefile.
#
#   build/<mode>/mine/{train,predict,…}, and the plug-ins beside them
#   build/<mode>/labs/labN/x.mine.o        of x.c; what grading makes of it is another object

# Also of what `make show` links (show.mk).
NOT_MINE := $(LAB_FILES:%=solution/%) kernels/% programs/rungs_cpu.c
build/%.mine.o: $$(source).c build/$$(mode)/flags
	$(call compile)

ifneq ($(MINE),)
ifneq ($(filter RUNGS BITS,$(GIVEN)),)
$(error MINE=1: your own files have no kernels of ours beside them: leave out \
	$(filter RUNGS BITS,$(GIVEN)))
endif
# (grading goes on without a file: it costs its own points alone)
MINE_GONE := $(if $(filter $(LAB_GOALS) grade show,$(MAKECMDGOALS)),,$(firstword \
	$(filter-out $(wildcard labs/lab*/*) $(HAVE_REFERENCE:%=labs/%),$(LAB_FILES:%=labs/%))))
ifneq ($(MINE_GONE),)
$(error MINE=1: $(shell $(LAB_PYTHON) autograder/grade/unlinked.py gone $(MINE_GONE)))
endif
MINE_UNLISTED := $(firstword $(filter-out $(LAB_FILES:%=solution/%),\
	$(wildcard solution/lab*/*.c solution/lab*/*.cu)))
ifneq ($(MINE_UNLISTED),)
$(error MINE=1: $(LAB_LIST) lacks the line of $(MINE_UNLISTED:solution/%=labs/%): get a clean copy)
endif
MINE_GIVEN := $(filter-out $(NOT_MINE),$(LIB_SRC))
# (of a handout's closed labs the reference's objects are taken: mk/handout.mk)
MINE_FILES := $(filter-out $(HAVE_REFERENCE),$(LAB_FILES))
MINE_C := $(addprefix labs/,$(filter %.c,$(MINE_FILES)))
MINE_CU := $(filter-out $(NOT_MINE),$(PLUGIN_CU)) $(addprefix labs/,$(filter %.cu,$(MINE_FILES)))
mine_reference = $(patsubst %.c,build/$(mode)/solution/%.o,$(filter %.c,$(HAVE_REFERENCE)))
mine_reference_cu = $(patsubst %,build/$(mode)/solution/%$1,$(filter %.cu,$(HAVE_REFERENCE)))
MINE_SOURCES := $(sort $(MINE_GIVEN) $(MINE_C) $(MAIN_SRC) $(HEADERS) $(MINE_CU) \
	$(WORKER_PLUGIN_C))
# (comparisons are in float)
MINE_MODES := $(sort $(MODE) float)
# $(1) files, in each of them
in_mine_modes = $(foreach m,$(MINE_MODES),$(addprefix build/$m/,$1))

MINE_OBJECTS = $(MINE_GIVEN:%.c=build/$(mode)/%.o) $(MINE_C:%.c=build/$(mode)/%.mine.o) \
	$(mine_reference)
MINE_HOST_OBJECTS = $(MINE_CU:%=build/$(mode)/%.host.o) $(call mine_reference_cu,.host.o) \
	$(WORKER_PLUGIN_C:%.c=build/$(mode)/%.host.o) $(call hostcuda_library_of,$(mode))
MINE_CUDA_OBJECTS = $(MINE_CU:%=build/$(mode)/%.o) $(call mine_reference_cu,.o) \
	$(WORKER_PLUGIN_C:%.c=build/$(mode)/%.pic.o)
# (there is no other CUDA device for a program that is sanitised or checks)
mine_plugins = $(addprefix build/$(mode)/mine/,$(if $(HAVE_CXX),libtl_hostcuda.so) \
	$(if $(CUDA),$(if $(findstring -san,$(mode))$(findstring -check,$(mode)),,libtl_cuda.so)))

# In a handout `make train MINE=1` and `make train` take other objects under the same names: each
# link depends on which ones. A reference's object may be older than what was linked without it.
build/%/mine/objects: always
	@mkdir -p $(@D)
	@printf '%s\n' $(MINE_GIVEN) $(MINE_CU) $(MINE_FILES) $(HAVE_REFERENCE:%=solution/%) | \
	    { $(call replace,$@); }

build/%/mine/build_info.c: build/%/flags $(MINE_SOURCES) always
	$(call build_info)

$(call in_mine_modes,$(PROGRAMS:%=mine/%)): build/$$(mode)/programs/main_$$(@F).o \
		$$(MINE_OBJECTS) build/$$(mode)/mine/build_info.o build/$$(mode)/mine/objects \
		| $$(mine_plugins)
	$(call link,$(LIBS))

$(foreach m,$(sort $(MINE_MODES) float-check),build/$m/mine/bench): $$(BENCH_OBJECTS) $$(MINE_OBJECTS) \
		build/$$(mode)/mine/build_info.o build/$$(mode)/mine/objects | $$(mine_plugins)
	$(call link,$(LIBS))

# (each by its name: of two patterns make takes the one whose objects are there already, and that is
# the plug-in of the solution)
$(foreach m,$(sort $(MINE_MODES) float-check),build/$m/mine/libtl_hostcuda.so): $$(MINE_HOST_OBJECTS) \
		build/$$(mode)/mine/objects
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call hostcuda_link,$(CXX))

$(call in_mine_modes,mine/libtl_cuda.so): $$(MINE_CUDA_OBJECTS) build/$$(mode)/mine/objects
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(cuda_link)

-include $(call in_mine_modes,$(MINE_C:%.c=%.mine.d) $(MINE_CU:%=%.host.d) \
	$(MINE_CU:%=%.host.hc.d) $(MINE_CU:%=%.d))
endif
