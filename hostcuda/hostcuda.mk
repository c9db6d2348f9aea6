# hostcuda.mk: the rules of hostcuda, for a Makefile that includes it.
#
#   $(HOSTCUDA_REWRITE)                              the rewriter
#   $(HOSTCUDA_BUILD)/BUILD/x.cu.o                   the object of x.cu
#   $(HOSTCUDA_BUILD)/BUILD/{runtime,cublas}/*.o     hostcuda's library; its names are
#   $(call hostcuda_library_objects,FOLDER)          ... in the FOLDER of a build
#   $(call hostcuda_plugin,CXX,FLAGS,OUT.so,OBJECTS) the command that links a plug-in
#   $(HOSTCUDA_BUILD)/BUILD/{corpus,bench}           hostcuda's tests and its benchmark
#
# The name of a BUILD says how it is made: a C compiler's name, as gcc or clang-15, and behind it
# -san (ASan + UBSan), -check (the checkers of CHECK=1) or nothing. A Makefile may say more before
# it includes this: HOSTCUDA_FLAGS for every build, such as -march=native; HOSTCUDA_INCLUDES, -I
# flags for .cu files; hostcuda_cc and hostcuda_cxx, the compilers that belong to the name $(1);
# HOSTCUDA_CC, what makes programs for this machine where CC makes them for another.
# What is compiled otherwise has a rule of its own with the command $(hostcuda_compile). A change of
# compilers or flags rebuilds what they made. V=1 shows every command.
#
# It says .SECONDEXPANSION for the whole Makefile: prerequisites of rules behind it are expanded
# twice.

HOSTCUDA ?= hostcuda
HOSTCUDA_BUILD ?= build/hostcuda
HOSTCUDA_FLAGS ?=
HOSTCUDA_INCLUDES ?=
hostcuda_cc ?= $1
hostcuda_cxx ?= $(if $(findstring clang,$1),$(subst clang,clang++,$1),$(subst gcc,g++,$1))

HOSTCUDA_REWRITE := $(HOSTCUDA_BUILD)/hostcuda-rewrite
HOSTCUDA_SOURCES := $(wildcard $(HOSTCUDA)/runtime/*.c $(HOSTCUDA)/cublas/*.c)
HOSTCUDA_HEADERS := $(wildcard $(HOSTCUDA)/include/*.h $(HOSTCUDA)/include/cassert \
	$(HOSTCUDA)/include/hostcuda/*.h $(HOSTCUDA)/include/cooperative_groups/*.h \
	$(HOSTCUDA)/include/cuda/* $(HOSTCUDA)/include/cuda/std/* $(HOSTCUDA)/include/nvtx3/*.h \
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
HOSTCUDA_X86 := $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null))
HOSTCUDA_CFLAGS := -std=gnu11 -O2 -fno-tree-vectorize -g1 $(HOSTCUDA_LINK_SAFE) \
	$(if $(HOSTCUDA_X86),-fcf-protection=none) $(HOSTCUDA_WARNINGS) \
	-Wstrict-prototypes -Wmissing-prototypes -I$(HOSTCUDA)/include
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
# later stand under equal conditions, which is how kernels hide the latency of memory; and clang says
# so of each `#pragma unroll` that it does not follow. Each compiler gets its own warnings alone: it
# complains of those that it does not know.
# $(1): a C++ compiler by any name
hostcuda_defined = $(if $(findstring clang,$(1)),-ftrivial-auto-var-init=pattern \
	-Wno-sometimes-uninitialized -Wno-pass-failed,-Wno-maybe-uninitialized)
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
# out of a loop or into a branch, no branch is copied or joined, and blocks keep their order; nor
# is a copy of a copy read from the first again, as g++ 16 does.)
HOSTCUDA_AS_WRITTEN := $(addprefix -fno-,tree-fre tree-pre tree-dominator-opts tree-loop-im \
	tree-sink tree-dse tree-forwprop tree-phiprop tree-ch ssa-phiopt thread-jumps reorder-blocks)
# (calls by an address and returns: check/calls.c)
HOSTCUDA_WATCHED_JUMPS := -fcf-protection=branch -mindirect-branch=thunk-extern \
	-mindirect-branch-register -mfunction-return=thunk-extern -fno-jump-tables -mno-red-zone
# (An array whose address goes nowhere has no hooks, however far its index leads: so the index and
# the object's size are asked. Nor has a struct that a call takes by value, but where it is copied
# first; and 16 bytes have one hook, whether a float4 or two doubles: alignment knows the type.)
# (A function without effects has none; -fno-ipa-pure-const: no function is known for one.)
HOSTCUDA_HOOKS_g++ = $(HOSTCUDA_AS_WRITTEN) -fno-ipa-pure-const -fno-tree-vectorize \
	-fno-tree-loop-distribute-patterns -Wno-tsan \
	--param=tsan-distinguish-volatile=1 -fsanitize-coverage=trace-pc \
	-fsanitize=object-size,bounds-strict,alignment -fno-elide-constructors \
	$(if $(HOSTCUDA_X86),$(HOSTCUDA_WATCHED_JUMPS))
HOSTCUDA_HOOKS_clang++ := -fno-vectorize -fno-slp-vectorize \
	-fsanitize=alignment,array-bounds \
	$(addprefix -mllvm ,-tsan-instrument-read-before-write -tsan-distinguish-volatile) \
	-fsanitize-coverage=bb,no-prune,trace-pc
# (a cross compiler brings tools of its own)
HOSTCUDA_OBJCOPY := $(or $(shell $(CC) -print-prog-name=objcopy 2>/dev/null),objcopy)
# $(1): a compiler by any name. (What a student's file calls of ours, in C, returns as it does, and
# is nobody's to call by address.)
hostcuda_hooks_c = $(HOSTCUDA_HOOKS) $(if $(HOSTCUDA_X86),-fcf-protection=none $(if $(findstring \
	clang,$(1)),,-mfunction-return=thunk-extern))
hostcuda_hooks = $(HOSTCUDA_HOOKS) $(HOSTCUDA_HOOKS_$(if $(findstring clang,$(1)),clang++,g++))
# (... and should fortification be switched on again behind these flags, it calls __memcpy_chk.)
# Variables of host code go where host.c finds them; what would start libtsan goes.
HOSTCUDA_RENAME := $(foreach f,memcpy memmove memset,--redefine-sym $f=hc_check_$f \
	--redefine-sym __$f_chk=hc_check_$f_chk) $(foreach f,sincos sincosf modf modff frexp frexpf \
	snprintf,--redefine-sym $f=hc_check_$f) $(foreach s,data bss,--rename-section .$s=hc_host_$s) \
	$(foreach s,00099 0,--remove-section=.init_array.$s --remove-section=.rela.init_array.$s)

# ---- commands -----------------------------------------------------------------------------------

hostcuda_q := $(if $(V),,@)
hostcuda_say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')
# Writes stdin to $(1), but leaves an equal file (and its time) alone.
hostcuda_replace = part=$(1).$$$$; cat >$$part; cmp -s $$part $(1) && rm $$part || mv $$part $(1)
hostcuda_quote = '$(subst ','\'',$(1))'

# From x.cu to an object: $(1) C++ compiler, $(2) flags, $(3) -I flags. The rewriter puts headers
# that hold CUDA syntax into its output and names them in the .hc.d file beside the object: there as
# what the object depends on, for make has no recipe for that output and would look no further.
hostcuda_rewritten = $(HOSTCUDA_REWRITE) $1 -d $(@:.o=.hc.d) -o $(@:.o=.hc.cpp) $< && \
	sed -i 's|^$(@:.o=.hc.cpp):|$@:|' $(@:.o=.hc.d)
hostcuda_flagged = $1 $(HOSTCUDA_CXXFLAGS) $(call hostcuda_defined,$1) $2
hostcuda_finished = $(if $(findstring \
	$(HOSTCUDA_CHECK),$1), && $(HOSTCUDA_OBJCOPY) $(HOSTCUDA_RENAME) $@)
hostcuda_compile = $(call hostcuda_rewritten,$3) && \
	$(hostcuda_flagged) $3 -iquote $(dir $<) -MMD -MP -c -o $@ \
	$(@:.o=.hc.cpp)$(call hostcuda_finished,$2)
# The same in two steps: $@.ii is what the compiler is given, and all that it is given. (Comments are
# gone from it, such as those that allow a case to fall through; and clang says of each flag that is
# the preprocessor's that nothing reads it.)
hostcuda_preprocess = $(call hostcuda_rewritten,$3) && \
	$(hostcuda_flagged) $3 -iquote $(dir $<) -MMD -MP -MT $@ -MF $(@:.o=.d) -E \
	$(if $(findstring clang,$1),,-fpch-preprocess) -o $@.ii $(@:.o=.hc.cpp)
hostcuda_preprocessed = $(hostcuda_flagged) -Wno-implicit-fallthrough $(if $(findstring \
	clang,$1),-Wno-unused-command-line-argument) $(call hostcuda_seen,$1,$2,-c -o $@ $@.ii)$(call \
	hostcuda_finished,$2)
# (Who compiles so does not trust the file: what g++ places no hook at has to stay where it begins.)
hostcuda_seen = $(if $(and $(findstring $(HOSTCUDA_CHECK),$2),$(if $(findstring \
	clang,$1),,g++)),-fdump-tree-tsan-lineno=$@.seen $3 && { awk -f $(HOSTCUDA_UNHOOKED) $@.seen \
	$@.ii >&2 && rm $@.seen; },$3)
HOSTCUDA_UNHOOKED := $(HOSTCUDA)/check/unhooked.awk
# What an object depends on beside its source.
HOSTCUDA_NEEDS := $(HOSTCUDA_REWRITE) $(HOSTCUDA_HEADERS)

# The recipe of a file that notes compiler $(1) and flags $(2), and changes when they do.
define hostcuda_note
@mkdir -p $(@D)
@{ $1 --version; printf '%s\n' $(call hostcuda_quote,$2 $(HOSTCUDA_RENAME)); } | { $(call hostcuda_replace,$@); }
endef
hostcuda_noted_flags = $(HOSTCUDA_CXXFLAGS) $(call hostcuda_defined,$1) $2

hostcuda_plugin = $(1) $(2) -shared -Wl,-Bsymbolic -Wl,--exclude-libs=ALL \
	$(if $(findstring -fsanitize=address,$(2)),,-Wl$(hostcuda_comma)--no-undefined) \
	-o $(3) $(4) $(HOSTCUDA_LIBS)
hostcuda_comma := ,

# ---- builds -------------------------------------------------------------------------------------

# Of $(HOSTCUDA_BUILD)/gcc-san/tests/x.cu.o the build is gcc-san and the source tests/x.
hostcuda_build = $(firstword $(subst /, ,$(patsubst $(HOSTCUDA_BUILD)/%,%,$@)))
hostcuda_source = $(patsubst $(hostcuda_build)/%,%,$*)
hostcuda_compiler = $(patsubst %-san,%,$(patsubst %-check,%,$(hostcuda_build)))
hostcuda_build_cc = $(call hostcuda_cc,$(hostcuda_compiler))
hostcuda_build_cxx = $(call hostcuda_cxx,$(hostcuda_compiler))
hostcuda_if_check = $(if $(filter %-check,$(hostcuda_build)),$1,$2)
# (-O1 as in a plug-in's -san: at -O3 to compile the corpus takes thrice as long)
hostcuda_build_flags = $(strip $(if $(filter %-san,$(hostcuda_build)),-O1 $(HOSTCUDA_SAN)) \
	$(call hostcuda_if_check,$(HOSTCUDA_CHECK)) $(HOSTCUDA_FLAGS))
hostcuda_cu_flags = -O3 $(hostcuda_build_flags) $(call hostcuda_if_check,$(call \
	hostcuda_hooks,$(hostcuda_build_cxx)))

# $(1) a build's folder; ... of one that ends in -check
hostcuda_library_objects = $(HOSTCUDA_SOURCES:$(HOSTCUDA)/%.c=$(1)/%.o)
hostcuda_check_objects = $(call hostcuda_library_objects,$(1)) \
	$(patsubst $(HOSTCUDA)/%.c,$(1)/%.o,$(wildcard $(HOSTCUDA)/check/*.c))
hostcuda_build_library = $(call hostcuda_if_check,$(call hostcuda_check_objects,$(@D)),$(call \
	hostcuda_library_objects,$(@D)))

HOSTCUDA_CHECK_CASES := $(wildcard $(HOSTCUDA)/corpus/*.cu)
HOSTCUDA_CASES := $(filter-out $(HOSTCUDA)/corpus/check_%,$(HOSTCUDA_CHECK_CASES))
hostcuda_case_objects = $(patsubst %,$(@D)/%.o,$(call \
	hostcuda_if_check,$(HOSTCUDA_CHECK_CASES),$(HOSTCUDA_CASES)))
hostcuda_bench_object = $(@D)/$(HOSTCUDA)/bench/bench.cu.o

# ---- rules --------------------------------------------------------------------------------------

$(HOSTCUDA_REWRITE): $(wildcard $(HOSTCUDA)/rewriter/*.c $(HOSTCUDA)/rewriter/*.h)
	@mkdir -p $(@D)
	$(call hostcuda_say,CC,$@)
	$(hostcuda_q)$(or $(HOSTCUDA_CC),$(CC)) -std=gnu11 -O2 $(HOSTCUDA_WARNINGS) -o $@ \
	    $(filter %.c,$^)

.SECONDEXPANSION:
.PRECIOUS: $(addprefix $(HOSTCUDA_BUILD)/,%.o %.cu.o %/library-flags %/cu-flags)

$(HOSTCUDA_BUILD)/%.o: $(HOSTCUDA)/$$(hostcuda_source).c $(HOSTCUDA_HEADERS) \
		$(HOSTCUDA_BUILD)/$$(hostcuda_build)/library-flags
	@mkdir -p $(@D)
	$(call hostcuda_say,CC,$@)
	$(hostcuda_q)$(hostcuda_build_cc) $(HOSTCUDA_CFLAGS) $(hostcuda_build_flags) -c -o $@ $<

$(HOSTCUDA_BUILD)/%/library-flags: hostcuda-always
	$(call hostcuda_note,$(hostcuda_build_cc),$(HOSTCUDA_CFLAGS) $(hostcuda_build_flags))

$(HOSTCUDA_BUILD)/%.cu.o: $$(hostcuda_source).cu $(HOSTCUDA_NEEDS) \
		$(HOSTCUDA_BUILD)/$$(hostcuda_build)/cu-flags
	@mkdir -p $(@D)
	$(call hostcuda_say,CUCC,$@)
	$(hostcuda_q)$(call \
	    hostcuda_compile,$(hostcuda_build_cxx),$(hostcuda_cu_flags),$(HOSTCUDA_INCLUDES))

$(HOSTCUDA_BUILD)/%/cu-flags: hostcuda-always
	$(call hostcuda_note,$(hostcuda_build_cxx),$(call \
	    hostcuda_noted_flags,$(hostcuda_build_cxx),$(hostcuda_cu_flags)))

# (named as far as they are there: else make takes them for files made on the way, and all that
# depends on them for old)
$(wildcard $(HOSTCUDA_BUILD)/*/library-flags $(HOSTCUDA_BUILD)/*/cu-flags): hostcuda-always

# Programs of a build; that of a -check build has cases of its own.
$(HOSTCUDA_BUILD)/%/corpus: $(HOSTCUDA)/corpus/runner.cpp $(HOSTCUDA_BUILD)/%/cu-flags \
		$$(hostcuda_case_objects) $$(hostcuda_build_library) | $(HOSTCUDA_REWRITE)
	$(call hostcuda_say,LINK,$@)
	$(hostcuda_q)$(hostcuda_build_cxx) -std=c++17 -O1 $(hostcuda_build_flags) \
	    $(HOSTCUDA_WARNINGS) -o $@ $(filter %.cpp %.o,$^) $(HOSTCUDA_LIBS)

$(HOSTCUDA_BUILD)/%/bench: $$(hostcuda_bench_object) $$(hostcuda_build_library)
	$(call hostcuda_say,LINK,$@)
	$(hostcuda_q)$(hostcuda_build_cxx) $(hostcuda_build_flags) -o $@ $^ $(HOSTCUDA_LIBS)

-include $(wildcard $(HOSTCUDA_BUILD)/*/$(HOSTCUDA)/*/*.d)

.PHONY: hostcuda-always
hostcuda-always:
