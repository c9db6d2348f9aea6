# modes.mk: sources, modes, and how a source becomes an object, objects a program. Included by the
# Makefile.
#
#   build/<mode>/x.o          of x.c, for our programs
#   build/<mode>/<program>    train, predict …: programs/main_<program>.c with the library
#   build/<mode>/bench        the ladder's benchmark, with the oracle
#   build/<mode>/suites       the C suites with it
#   build/<mode>/flags        what the compiler makes of its flags; objects: which sources there are
#
# The other kinds of objects have their suffix and their file: x.cu.o, x.pic.o (cuda.mk), x.cu.hc.o,
# x.hc.o (hostcuda_device.mk), x.mine.o (mine.mk), x.cu.lab.o (labs.mk).
#
# A mode is the first folder below build/, so that one rule holds for all: in prerequisites `$$`
# makes that $(mode) and $(source) are looked at when the rule's target is known.

MODE := $(REAL)$(if $(SAN),-san)$(if $(DEBUG),-debug)$(if $(CHECK),-check)
SUFFIX := $(patsubst $(REAL)%,%,$(MODE))
MODES := $(foreach r,float double,$r $(addprefix $r,-san -debug -san-debug -check))
# A lab is graded with few of them, and to read the headers of all takes as long as a few claims.
ifneq ($(MAKECMDGOALS),)
ifeq ($(filter-out $(LAB_GOALS) grade,$(MAKECMDGOALS)),)
MODES := $(sort $(foreach r,float double,$r $r-check $r$(SUFFIX)))
endif
endif

# The mode of the target at hand, and its source without suffix: of build/float-san/tl/shape.o they
# are float-san and tl/shape.
mode = $(word 2,$(subst /, ,$@))
source = $(patsubst $(mode)/%,%,$*)
# $(1) files, in each mode
in_modes = $(foreach m,$(MODES),$(addprefix build/$m/,$1))

# ---- sources ------------------------------------------------------------------------------------

MAIN_SRC := $(wildcard programs/main_*.c)
LIB_SRC := $(wildcard solution/lab*/*.c tl/*.c kernels/*/*.c) \
	$(filter-out $(MAIN_SRC) programs/rungs_cuda.c,$(wildcard programs/*.c))
# the grader's link has call_remote*.c where this one has call_direct.c; cases of a student's are
# tried with workers alone
TEST_SRC := $(filter-out autograder/call/call_remote% autograder/lab%/cases_test.c,\
	$(wildcard $(addsuffix /*.c,$(addprefix autograder/,oracle call claim lab*) tests)))
HEADERS := $(wildcard tl/include/tl/*.h tl/include/tl/*.def tl/*.h \
	programs/*.h programs/*.def \
	solution/lab*/*.h kernels/*.h kernels/*.def kernels/*/*.h)
# The ladder's benchmark is held against the oracle, which no other program may hold. It is no part
# of `sources`: what it times is.
BENCH_SRC := $(wildcard programs/bench/*.c)
BENCH_HEADERS := $(wildcard programs/bench/*.h programs/bench/*.def)
ORACLE_SRC := $(wildcard autograder/oracle/*.c)
PROGRAMS := $(patsubst programs/main_%.c,%,$(MAIN_SRC))
BOTH_PROGRAMS := $(PROGRAMS:%=build/float/%) $(PROGRAMS:%=build/double/%)

PLUGIN_CU := $(wildcard solution/lab*/*.cu tl/cuda/*.cu kernels/*/*.cu)
PLUGIN_C := $(wildcard tl/cuda/*.c) programs/rungs_cuda.c $(wildcard kernels/net/*.c) \
	$(addprefix tl/,geometry.c shape.c \
	dropout_threshold.c rungs_apply.c)
# Part of what a program runs, so of its `sources`. hostcuda is not: like a driver it stands for the
# machine, and a change of it makes no result of a cpu or a GPU stale.
PLUGIN_SRC := $(PLUGIN_CU) $(PLUGIN_C) $(wildcard tl/cuda/*.h)
SOURCES := $(sort $(LIB_SRC) $(MAIN_SRC) $(HEADERS) $(PLUGIN_SRC))

# ---- flags: $(1) is a mode ----------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
optimise = $(if $(findstring -debug,$1),-O0 -g,$(if $(findstring -san,$1),-O1 -g,-O3))
sanitise = $(if $(findstring -san,$1),-fsanitize=address -fsanitize=undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer)
precision = $(if $(findstring double,$1),-DTL_REAL_DOUBLE)
flags = -std=gnu11 $(call optimise,$1) -march=$(ARCH) -fopenmp -fno-math-errno $(WARNINGS) \
	$(call sanitise,$1) $(call precision,$1) $(CFLAGS)
# Where a library lies in a place of its own, pkg-config knows it.
OPENBLAS := $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas)
CRITERION := $(or $(shell pkg-config --libs criterion 2>/dev/null),-lcriterion)
LIBS := $(OPENBLAS) -lm -ldl
comma := ,

# Who may include whom: labs and solution see the contracts alone; the composition root, the kernels
# and the autograder also see each other by their path from the root ("kernels/rungs.h").
SEE_EACH_OTHER := programs/% tl/cuda/% kernels/% hostcuda/% autograder/% tests/% build/%
includes = -Itl/include $(if $(filter $(SEE_EACH_OTHER),$1),-I.)

# To optimise suites, and the door that they call through, takes longer than they run. What they run
# longest is the oracle and the drawing of shapes10: those are quick under sanitizers, too.
SUITE_RUNS_LONG := autograder/oracle/% tl/shapes10_%
tuned = $(or $(if $(filter %_test.c,$1),-O0),\
	$(if $(and $(findstring -O3,$2),$(filter tests/% autograder/claim/% autograder/call/%,$1)),-O1),\
	$(if $(and $(findstring -O1,$2),$(filter $(SUITE_RUNS_LONG),$1)),-O2))

# Where bits are to be the same on every machine, nobody rounds a product and a sum at once but who
# writes fma (kernels/README.md, tl/portable.h).
exact = $(if $(filter kernels/% tl/portable.c,$1),-ffp-contract=off)

# That TL_TRY leaves with every failure is more than gcc knows, so what only success sets seems
# unset behind it. (clang does not know the warning, and says so of each file.)
CC_WARNINGS := $(if $(findstring clang,$(CC_NAME)),,-Wno-maybe-uninitialized)

# ---- recipes ------------------------------------------------------------------------------------

Q := $(if $(V),,@)
# (JSON=1: stdout holds the result alone)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)'$(if $(JSON), >&2))

# Removes what makes that were killed had begun to write for $(1): its name, the writer's number.
swept = for part in $1.[0-9]*; do \
	[ ! -e $$part ] || kill -0 $${part\#\#*.} 2>/dev/null || rm -f $$part; done

# Writes stdin to $(1), but leaves an equal file (and its time) alone. (Two makes may do so at
# once.) $(2): what the unfinished file's name begins with, $(1) where it is not said.
replace = $(call swept,$(or $2,$1)); part=$(or $2,$1).$$$$; cat >$$part; \
	if cmp -s $$part $(1); then rm $$part; else mv $$part $(1); fi

# The recipe of an object: $(1) more flags.
define compile
@mkdir -p $(@D)
$(call say,CC,$@)
$(Q)$(CC) $(call flags,$(mode)) $(CC_WARNINGS) $(call tuned,$<,$(call flags,$(mode))) \
    $(call exact,$<) $1 $(call includes,$<) -MMD -MP -c -o $@ $<
endef

# The recipe of a program: $(1) libraries
define link
$(call say,LINK,$@)
$(Q)$(CC) $(call flags,$(mode)) -o $@ $(filter %.o,$^) $1
endef

# The recipe of build_info.c, of the flags and then all sources that are its prerequisites.
define build_info
@mkdir -p $(@D)
@GRADLAB_COMMIT=$(call quote,$(GRADLAB_COMMIT)) tools/build_info.sh source $< \
    $(filter-out $< always,$^) | { $(call replace,$@); }
endef

# ---- rules --------------------------------------------------------------------------------------

.SECONDEXPANSION:

# Each compile depends on build/<mode>/flags: the flags and all that the compiler defines under
# them, which covers its version and what -march=native means on this machine. Each link depends
# on build/<mode>/objects, so that a removed source file relinks too.
build/%.o: $$(source).c build/$$(mode)/flags
	$(call compile)

build/%/build_info.o: build/%/build_info.c build/$$(mode)/flags
	$(call compile)

build/%/flags: always
	@mkdir -p $(@D)
	@CC='$(CC)' tools/build_info.sh flags $(call flags,$(mode)) | { $(call replace,$@); }

build/%/objects: always
	@mkdir -p $(@D)
	@printf '%s\n' $(LIB_SRC) $(TEST_SRC) $(PLUGIN_CU) $(PLUGIN_C) | { $(call replace,$@); }

build/%/build_info.c: build/%/flags $(SOURCES) always
	$(call build_info)

# What is looked at anew each time is named here as far as it is there: else make takes it for a file
# made on the way, and all that depends on it for old.
LOOKED_AT := flags objects build_info.c mine/objects mine/build_info.c host-flags cuda-flags
$(wildcard $(addprefix build/*/,$(LOOKED_AT))): always

# The two plug-ins, as far as there are compilers for them. Order only: they are opened when a
# program runs, so a changed one relinks nothing.
plugins = $(addprefix build/$(mode)/,$(if $(HAVE_CXX),libtl_hostcuda.so) \
	$(if $(CUDA),libtl_cuda.so))
LIB_OBJECTS = $(LIB_SRC:%.c=build/$(mode)/%.o)
TEST_OBJECTS = $(TEST_SRC:%.c=build/$(mode)/%.o)

$(call in_modes,$(PROGRAMS)): build/$$(mode)/programs/main_$$(@F).o $$(LIB_OBJECTS) \
		build/$$(mode)/build_info.o build/$$(mode)/objects | $$(plugins)
	$(call link,$(LIBS))

BENCH_OBJECTS = $(patsubst %.c,build/$(mode)/%.o,$(BENCH_SRC) $(ORACLE_SRC))
$(call in_modes,bench): $$(BENCH_OBJECTS) $$(LIB_OBJECTS) build/$$(mode)/build_info.o \
		build/$$(mode)/objects | $$(plugins)
	$(call link,$(LIBS))

# What holds call_direct.c counts blocks of host memory (autograder/call/call_host.c) and the steps of
# a call (call_steps.c): every operation that has a function of the host, and some others.
call_of_row := s/^OP(_DATA)?[(]([a-z0-9_]+),.*/tl_\2/p
CALL_WRAPPED := malloc calloc realloc strdup free tl_tape_wrap tl_tape_record tl_alloc_put \
	$(shell sed -nE '$(call_of_row)' tl/include/tl/ops.def)
CALL_WRAPS := $(addprefix -Wl$(comma)--wrap=,$(CALL_WRAPPED))
# (the suite `program` starts the trainer that lies beside it)
build/%/suites: $$(TEST_OBJECTS) $$(LIB_OBJECTS) build/%/build_info.o build/%/objects \
		| build/%/train $$(plugins)
	$(call link,$(LIBS) $(CRITERION) $(CALL_WRAPS))

-include $(call in_modes,$(patsubst %.c,%.d,$(LIB_SRC) $(MAIN_SRC) $(BENCH_SRC) $(TEST_SRC)))

# No object is removed because it was only made on the way. (.SECONDARY: would do that for all; but
# then make takes flags, too, for such a file, and what depends on them for old.)
.PRECIOUS: build/%.o build/%.lib.o build/%.host.o build/%.cu.host.o build/%.pic.o build/%.cu.o build/%.cu.lab.o \
	build/%.mine.o build/%/build_info.o build/%/build_info.c build/%/flags build/%/objects \
	build/%/host-flags build/%/cuda-flags build/%/mine/build_info.c build/%/mine/objects \
	build/check/%.o \
	build/check/%.cu.o build/%/precompiled/hostcuda/hostcuda.h.gch build/%/libtl_hostcuda.so \
	build/%/libtl_cuda.so build/%-debug/libtl_cuda.so
.PHONY: always
always:
