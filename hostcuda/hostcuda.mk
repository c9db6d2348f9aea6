# hostcuda.mk: the rules of hostcuda, for a Makefile that includes them.
#
#   $(HOSTCUDA_REWRITE)                                       the rewriter
#   $(eval $(call hostcuda_library,FOLDER,CC,FLAGS))          FOLDER/{runtime,cublas}/*.o
#   $(call hostcuda_library_objects,FOLDER)                   ... their names
#   $(eval $(call hostcuda_objects,FOLDER,CXX,FLAGS,FILES))   FOLDER/x.cu.o of each x.cu of FILES
#   $(call hostcuda_plugin,CXX,FLAGS,OUT.so,OBJECTS)          the command that links a plug-in
#
# FLAGS are further ones, such as -O3, $(HOSTCUDA_SAN) or -DNAME. A change of compilers or flags
# rebuilds what they made. HOSTCUDA_INCLUDES are -I flags for .cu files; it may use $*, a file's
# path without .cu. V=1 shows every command.

HOSTCUDA ?= hostcuda
HOSTCUDA_BUILD ?= build/hostcuda
HOSTCUDA_INCLUDES ?=

HOSTCUDA_REWRITE := $(HOSTCUDA_BUILD)/hostcuda-rewrite
HOSTCUDA_SOURCES := $(wildcard $(HOSTCUDA)/runtime/*.c $(HOSTCUDA)/cublas/*.c)
HOSTCUDA_HEADERS := $(wildcard $(HOSTCUDA)/include/*.h $(HOSTCUDA)/include/cassert \
	$(HOSTCUDA)/include/hostcuda/*.h \
	$(HOSTCUDA)/runtime/*.h $(HOSTCUDA)/cublas/*.h $(HOSTCUDA)/cublas/*.inc \
	$(HOSTCUDA)/check/*.h)
HOSTCUDA_LIBS := $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas) -lpthread -ldl -lm
HOSTCUDA_WARNINGS := -Wall -Wextra -Wshadow

# Hidden symbols and a few bytes of thread-local data: so a plug-in loads and captures nothing.
# Line tables name the fault's line (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5);
# without tail calls the kernel stands in a backtrace, and not only what it called last; clash
# protection makes a large frame touch the guard page of its stack.
HOSTCUDA_LINK_SAFE := -fPIC -fvisibility=hidden -ftls-model=initial-exec
# (two fields that gcc stores as one vector would be read back one by one at the next barrier)
HOSTCUDA_CFLAGS := -std=gnu11 -O2 -fno-tree-vectorize -g1 $(HOSTCUDA_LINK_SAFE) \
	$(HOSTCUDA_WARNINGS) -Wstrict-prototypes -Wmissing-prototypes -I$(HOSTCUDA)/include
# A host compiler knows no `#pragma unroll`. A static member that is only declared has no section
# yet.
HOSTCUDA_CU_WARNINGS := -Wall -Wextra -Wno-unknown-pragmas -Wno-sign-compare \
	-Wno-ignored-attributes
HOSTCUDA_CXXFLAGS := -std=c++17 -g1 -gdwarf-4 -fno-optimize-sibling-calls \
	-fstack-clash-protection $(HOSTCUDA_LINK_SAFE) \
	$(HOSTCUDA_CU_WARNINGS) -I$(HOSTCUDA)/include
# clang++ takes it that no argument is undefined, and drops the `if` of
#     if (lane == leader) first = atomicAdd(n, count);  first = __shfl_sync(mask, first, leader);
# so there every local variable begins with a value. gcc cannot see that a load and its use a loop
# later stand under equal conditions, which is how kernels hide the latency of memory. Each compiler
# gets its own warnings alone: it complains of those that it does not know.
# $(1): a C++ compiler by any name
hostcuda_defined = $(if $(findstring clang,$(1)),-ftrivial-auto-var-init=pattern \
	-Wno-sometimes-uninitialized,-Wno-maybe-uninitialized)
# ASan + UBSan; the runtime tells them of its fibers.
HOSTCUDA_SAN := -fsanitize=address -fsanitize=undefined \
	-fno-omit-frame-pointer

# CHECK=1: a student's file calls a hook before each access, in each basic block, and where it
# enters and leaves a function; the hooks are ours (check/), libtsan is not linked. -O1 overrides
# what stands before it.
HOSTCUDA_CHECK := -DHOSTCUDA_CHECK
# (fortified memcpy and memset would put the lines of the C library's header into messages)
HOSTCUDA_HOOKS := $(HOSTCUDA_CHECK) -O1 -U_FORTIFY_SOURCE -fno-builtin -fsanitize=thread
# (What g++ counts is what stands in the source, as by nvcc with -G: no load serves twice, or moves
# out of a loop or into a branch, no branch is copied or joined, and blocks keep their order.)
HOSTCUDA_AS_WRITTEN := $(addprefix -fno-,tree-fre tree-pre tree-dominator-opts tree-loop-im \
	tree-sink tree-dse tree-phiprop tree-ch ssa-phiopt thread-jumps reorder-blocks)
HOSTCUDA_HOOKS_g++ := $(HOSTCUDA_AS_WRITTEN) -fno-tree-vectorize \
	-fno-tree-loop-distribute-patterns -Wno-tsan \
	--param=tsan-distinguish-volatile=1 -fsanitize-coverage=trace-pc
HOSTCUDA_HOOKS_clang++ := -fno-vectorize -fno-slp-vectorize -fsanitize=alignment \
	$(addprefix -mllvm ,-tsan-instrument-read-before-write -tsan-distinguish-volatile) \
	-fsanitize-coverage=bb,no-prune,trace-pc
# $(1): a C++ compiler by any name
hostcuda_hooks = $(HOSTCUDA_HOOKS) $(HOSTCUDA_HOOKS_$(if $(findstring clang,$(1)),clang++,g++))
# (... and should fortification be switched on again behind these flags, it calls __memcpy_chk)
HOSTCUDA_RENAME := $(foreach f,memcpy memmove memset,--redefine-sym $f=hc_check_$f \
	--redefine-sym __$f_chk=hc_check_$f_chk)

hostcuda_q := $(if $(V),,@)
hostcuda_say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')
# Writes stdin to $(1), but leaves an equal file (and its time) alone.
hostcuda_replace = part=$(1).$$$$; cat >$$part; cmp -s $$part $(1) && rm $$part || mv $$part $(1)

$(HOSTCUDA_REWRITE): $(wildcard $(HOSTCUDA)/rewriter/*.c $(HOSTCUDA)/rewriter/*.h)
	@mkdir -p $(@D)
	$(call hostcuda_say,CC,$@)
	$(hostcuda_q)$(or $(HOSTCUDA_CC),$(CC)) -std=gnu11 -O2 $(HOSTCUDA_WARNINGS) -o $@ \
	    $(filter %.c,$^)

define hostcuda_library
$(1)/%.o: $(HOSTCUDA)/%.c $$(HOSTCUDA_HEADERS) $(1)/library-flags
	@mkdir -p $$(@D)
	$$(call hostcuda_say,CC,$$@)
	$$(hostcuda_q)$(2) $$(HOSTCUDA_CFLAGS) $(3) -c -o $$@ $$<

$(1)/library-flags: hostcuda-always
	@mkdir -p $$(@D)
	@{ $(2) --version; echo '$$(HOSTCUDA_CFLAGS) $(3)'; } | { $$(call hostcuda_replace,$$@); }
endef

hostcuda_library_objects = $(HOSTCUDA_SOURCES:$(HOSTCUDA)/%.c=$(1)/%.o)
# ... of a library that was made with $(HOSTCUDA_CHECK)
hostcuda_check_objects = $(call hostcuda_library_objects,$(1)) \
	$(patsubst $(HOSTCUDA)/%.c,$(1)/%.o,$(wildcard $(HOSTCUDA)/check/*.c))

# The rewriter puts headers that hold CUDA syntax into its output and names them in x.hc.d.
define hostcuda_objects
$(1)/%.hc.cpp: %.cu $$(HOSTCUDA_REWRITE)
	@mkdir -p $$(@D)
	$$(hostcuda_q)$$(HOSTCUDA_REWRITE) $$(HOSTCUDA_INCLUDES) -d $$(@:.cpp=.d) -o $$@ $$<

$(1)/%.cu.o: $(1)/%.hc.cpp $$(HOSTCUDA_HEADERS) $(1)/cu-flags
	$$(call hostcuda_say,CUCC,$$@)
	$$(hostcuda_q)$(2) $$(HOSTCUDA_CXXFLAGS) $(call hostcuda_defined,$(2)) $(3) \
	    $$(HOSTCUDA_INCLUDES) -iquote $$(dir $$*) -MMD -MP -c -o $$@ $$<
	$(if $(findstring $(HOSTCUDA_CHECK),$(3)),$$(hostcuda_q)objcopy $$(HOSTCUDA_RENAME) $$@)

$(1)/cu-flags: hostcuda-always
	@mkdir -p $$(@D)
	@{ $(2) --version; printf '%s\n' '$$(HOSTCUDA_CXXFLAGS) $(call hostcuda_defined,$(2))' \
	    $$(call hostcuda_quote,$(3)); } | \
	    { $$(call hostcuda_replace,$$@); }

-include $(4:%.cu=$(1)/%.hc.d) $(4:%=$(1)/%.d)
endef
hostcuda_quote = '$(subst ','\'',$(1))'

hostcuda_plugin = $(1) $(2) -shared -Wl,-Bsymbolic -Wl,--exclude-libs=ALL \
	$(if $(findstring -fsanitize=address,$(2)),,-Wl$(hostcuda_comma)--no-undefined) \
	-o $(3) $(4) $(HOSTCUDA_LIBS)
hostcuda_comma := ,

.PHONY: hostcuda-always
hostcuda-always:

# ---- the corpus: hostcuda-test with this compiler, and FOLDER/corpus for any ----

# $(1) folder, $(2) C compiler, $(3) C++ compiler, $(4) flags of both: FOLDER/corpus, a program.
# With $(HOSTCUDA_CHECK) in the flags it is the CHECK=1 build, which has cases of its own.
HOSTCUDA_CASES := $(filter-out $(HOSTCUDA)/corpus/check_%,$(wildcard $(HOSTCUDA)/corpus/*.cu))
HOSTCUDA_CHECK_CASES := $(wildcard $(HOSTCUDA)/corpus/*.cu)
hostcuda_if_check = $(if $(findstring $(HOSTCUDA_CHECK),$(1)),$(2),$(3))
hostcuda_cases = $(call hostcuda_if_check,$(1),$(HOSTCUDA_CHECK_CASES),$(HOSTCUDA_CASES))
define hostcuda_corpus
$(call hostcuda_library,$(1),$(2),$(4))
$(call hostcuda_objects,$(1),$(3),$\
	-O3 $(4) $(call hostcuda_if_check,$(4),$(call hostcuda_hooks,$(3))),$\
	$(call hostcuda_cases,$(4)))

$(1)/corpus: $(HOSTCUDA)/corpus/runner.cpp $(1)/cu-flags \
		$(patsubst %,$(1)/%.o,$(call hostcuda_cases,$(4))) \
		$(call hostcuda_if_check,$(4),$(call hostcuda_check_objects,$(1)),$\
		$(call hostcuda_library_objects,$(1))) | $$(HOSTCUDA_REWRITE)
	$$(call hostcuda_say,LINK,$$@)
	$$(hostcuda_q)$(3) -std=c++17 -O1 $(4) $$(HOSTCUDA_WARNINGS) -o $$@ \
	    $$(filter %.cpp %.o,$$^) $$(HOSTCUDA_LIBS)
endef

# ---- the benchmark: FOLDER/bench, with what hostcuda_corpus has made there ----

# $(1) folder, $(2) C++ compiler, $(3) flags
HOSTCUDA_BENCH := $(HOSTCUDA)/bench/bench.cu
define hostcuda_bench
$(1)/bench: $(HOSTCUDA_BENCH:%=$(1)/%.o) $(call hostcuda_if_check,$(3),$\
		$(call hostcuda_check_objects,$(1)),$(call hostcuda_library_objects,$(1)))
	$$(call hostcuda_say,LINK,$$@)
	$$(hostcuda_q)$(2) $(3) -o $$@ $$^ $$(HOSTCUDA_LIBS)

-include $(HOSTCUDA_BENCH:%.cu=$(1)/%.hc.d) $(HOSTCUDA_BENCH:%=$(1)/%.d)
endef
