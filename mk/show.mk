# show.mk: make show LAB=N: what a lab has come to, to look at, made with the student's own files.
# Included by the Makefile.
#
#   build/<mode>/show/lab2[-mine]/{show,train,predict}, and a CUDA device's plug-in beside them
#   build/<mode>/show/<folder>/lab2 …                        LABS=folder: other files than labs/
#   build/show/lab2                                          what it writes: numbers and pictures
#
# Of lab N the files of $(LABS) are linked. What earlier labs have is the reference's where it is
# there (a checkout; closed labs of a handout), else, or with MINE=1, the student's own; and for
# later labs stands what fails and says so (absent.py). So nothing else can keep lab N from it.

.PHONY: show
show: ## look at what your lab does: LAB=N DEVICE=cpu|hostcuda SEED= OUT= (lab 5: RESUME=)
ifneq ($(filter show,$(MAKECMDGOALS)),)
SHOW_N := $(or $(LAB),$(if $(wildcard build/lab),$(file <build/lab)))
ifeq ($(filter lab$(SHOW_N),$(LAB_GOALS)),)
$(error show: $(if $(SHOW_N),LAB=$(SHOW_N): there is no such lab; it is one of \
$(LAB_GOALS:lab%=%),say which lab: make show LAB=2))
endif
ifeq ($(SHOW_N),0)
$(error show: lab 0 has nothing to look at: make grade LAB=0)
endif
ifneq ($(LABS_NOT_PLAIN),)
$(error LABS=$(value LABS): it takes a plain name of a folder: letters, digits and _ - . / + @)
endif
SHOW_DEVICE := $(or $(DEVICE),cpu)
ifneq ($(filter-out cpu hostcuda cuda auto,$(SHOW_DEVICE))$(filter-out 1,$(words $(SHOW_DEVICE))),)
$(error show: DEVICE=$(DEVICE): one of cpu, hostcuda, cuda, auto is needed)
endif
ifeq ($(SHOW_DEVICE)$(CUDA),cuda)
$(error show: DEVICE=cuda: there is no nvcc, or no cuBLAS beside it: make doctor says which)
endif
ifeq ($(MAKELEVEL)$(jobs_told),0)
MAKEFLAGS += -j$(shell nproc)
endif

SHOW_BEFORE := $(shell printf '%s\n' $(LAB_GOALS) | awk '$$1 < "lab$(SHOW_N)"')
SHOW_EARLIER := $(filter $(SHOW_BEFORE:%=%/%),$(LAB_FILES))
SHOW_THESE := $(filter lab$(SHOW_N)/%,$(LAB_FILES))
SHOW_ABSENT := $(filter-out $(SHOW_EARLIER) $(SHOW_THESE),$(LAB_FILES))
# (a checkout has the reference of all labs as source)
SHOW_REFERENCE := $(if $(LAB_MINE),,$(filter $(if $(HANDOUT),$(HAVE_REFERENCE),%),$(SHOW_EARLIER)))
SHOW_EARLIER_OWN := $(filter-out $(SHOW_REFERENCE),$(SHOW_EARLIER))
SHOW_OWN := $(addprefix $(LABS)/,$(SHOW_THESE)) $(addprefix labs/,$(SHOW_EARLIER_OWN))
SHOW_GONE := $(firstword $(filter-out $(wildcard $(SHOW_OWN)),$(SHOW_OWN)))
ifneq ($(SHOW_GONE),)
$(error show: $(shell $(LAB_PYTHON) autograder/grade/unlinked.py gone $(SHOW_GONE)))
endif

# ---- what is linked ------------------------------------------------------------------------------

show_absent = $(patsubst %,build/$(MODE)/absent/%.o,$1)
show_kind = $(patsubst %$1,%,$(filter %$1,$2))
SHOW_DIR := build/$(MODE)/show/$(patsubst labs/%,%,$(patsubst /%,%,$(LABS))/lab$(SHOW_N))$(if \
	$(LAB_MINE),-mine)
SHOW_LATER_OBJECTS := $(SHOW_DIR)/later.o $(SHOW_DIR)/later.cu.o

SHOW_GIVEN := $(filter-out $(NOT_MINE),$(LIB_SRC))
SHOW_SRC := $(wildcard programs/show/*.c)
SHOW_HEADERS := $(wildcard programs/show/*.h programs/show/*.def)
SHOW_OBJECTS := $(SHOW_GIVEN:%.c=build/$(MODE)/%.o) \
	$(patsubst %,build/$(MODE)/%.mine.o,$(call show_kind,.c,$(SHOW_OWN))) \
	$(patsubst %,build/$(MODE)/solution/%.o,$(call show_kind,.c,$(SHOW_REFERENCE))) \
	$(call show_absent,$(call show_kind,.c,$(SHOW_ABSENT)))
SHOW_CU := $(filter-out $(NOT_MINE),$(PLUGIN_CU)) $(filter %.cu,$(SHOW_OWN))
# $(1) .host.o or .o: of hostcuda or nvcc
show_cu_objects = $(SHOW_CU:%=build/$(MODE)/%$1) \
	$(patsubst %,build/$(MODE)/solution/%$1,$(filter %.cu,$(SHOW_REFERENCE))) \
	$(call show_absent,$(filter %.cu,$(SHOW_ABSENT))) $(SHOW_DIR)/later.cu.o
SHOW_PROGRAMS := $(addprefix $(SHOW_DIR)/,show $(if $(filter 5,$(SHOW_N)),train predict))
SHOW_PLUGIN := $(patsubst %,$(SHOW_DIR)/libtl_%.so,$(filter-out cpu auto,$(SHOW_DEVICE)) \
	$(if $(filter auto,$(SHOW_DEVICE)),$(if $(CUDA),$(if $(wildcard /dev/nvidia0),cuda))))

$(SHOW_DIR)/build_info.c: build/$(MODE)/flags $(SHOW_GIVEN) $(SHOW_OWN) $(SHOW_SRC) $(HEADERS) \
		$(SHOW_HEADERS) always
	$(call build_info)

# (of C files without their .c, as workers have them)
$(call show_absent,$(SHOW_ABSENT:%.c=%)): build/absent/written build/$(MODE)/flags
	$(lab_absent)

# Where labs are not handed out yet, the given code calls them all the same (contracts.py).
$(SHOW_LATER_OBJECTS): $(SHOW_DIR)/later%o: build/absent/written build/$(MODE)/flags
	@mkdir -p $(@D)
	$(Q)later=build/absent/later/all$(if $(findstring .cu,$*),.cu)_absent.c; \
	[ -e $$later ] || later=/dev/null; \
	$(CC) -std=gnu11 -O1 -fPIC -fvisibility=hidden $(call precision,$(MODE)) -Itl/include \
	    -x c -c -o $@ $$later

$(SHOW_DIR)/show: $(SHOW_SRC:%.c=build/$(MODE)/%.o)
$(SHOW_DIR)/train: build/$(MODE)/programs/main_train.o
$(SHOW_DIR)/predict: build/$(MODE)/programs/main_predict.o
$(SHOW_PROGRAMS): $(SHOW_OBJECTS) $(SHOW_DIR)/build_info.o $(SHOW_DIR)/later.o
	@mkdir -p $(@D)
	$(call link,$(LIBS))

$(SHOW_DIR)/libtl_hostcuda.so: $(call show_cu_objects,.host.o) \
		$(WORKER_PLUGIN_C:%.c=build/$(MODE)/%.host.o) $(call hostcuda_library_of,$(MODE))
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(call hostcuda_link,$(CXX))

$(SHOW_DIR)/libtl_cuda.so: $(call show_cu_objects,.o) $(WORKER_PLUGIN_C:%.c=build/$(MODE)/%.pic.o)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(cuda_link)

-include $(patsubst %.o,%.d,$(SHOW_OBJECTS) $(SHOW_SRC:%.c=build/$(MODE)/%.o)) \
	$(foreach f,$(SHOW_CU),$(addprefix build/$(MODE)/$f,.host.d .host.hc.d .d))

# ---- and shown -----------------------------------------------------------------------------------

SHOW_OUT = $(if $(filter OUT,$(GIVEN)),$(call quote,$(value OUT)),build/show/lab$(SHOW_N))
show: $(SHOW_PROGRAMS) $(SHOW_PLUGIN)
	@$(SHOW_DIR)/show LAB=$(SHOW_N) OUT=$(SHOW_OUT) DEVICE=$(SHOW_DEVICE) \
	    $(call given,$(filter-out LAB LABS MINE DEVICE OUT,$(OPTIONS_show)))
	@$(LAB_PYTHON) report/show.py $(SHOW_OUT)
endif
