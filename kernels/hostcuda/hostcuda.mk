# hostcuda.mk: the rules of kernels/hostcuda, for a Makefile that includes them.
#
# Given: HOSTCUDA (this folder), HOSTCUDA_BUILD (where things go), HOSTCUDA_CXX (g++ or clang++),
# HOSTCUDA_CC. Made: $(HOSTCUDA_REWRITE), $(HOSTCUDA_OBJECTS), $(HOSTCUDA_BUILD)/corpus.
# An object of a .cu file:  $(eval $(call hostcuda_rules,MODE,FLAGS))  gives
# $(HOSTCUDA_BUILD)/MODE/%.o from %.cu through %.hc.cpp.

HOSTCUDA ?= kernels/hostcuda
HOSTCUDA_BUILD ?= build/hostcuda
HOSTCUDA_CXX ?= g++
HOSTCUDA_CC ?= gcc
HOSTCUDA_INCLUDES ?=

HOSTCUDA_REWRITE := $(HOSTCUDA_BUILD)/hostcuda-rewrite
HOSTCUDA_SOURCES := $(wildcard $(HOSTCUDA)/runtime/*.c $(HOSTCUDA)/cublas/*.c)
HOSTCUDA_OBJECTS := $(HOSTCUDA_SOURCES:$(HOSTCUDA)/%.c=$(HOSTCUDA_BUILD)/%.o)
HOSTCUDA_HEADERS := $(wildcard $(HOSTCUDA)/include/*.h $(HOSTCUDA)/include/hostcuda/*.h \
	$(HOSTCUDA)/include/cassert $(HOSTCUDA)/runtime/*.h $(HOSTCUDA)/cublas/*.h $(HOSTCUDA)/cublas/*.inc)
HOSTCUDA_LIBS := -lopenblas -lpthread -ldl -lm
HOSTCUDA_WARNINGS := -Wall -Wextra -Wshadow

# Hidden symbols and a few bytes of thread-local data: so a plug-in loads and captures nothing.
# Line tables name the fault's line (DWARF 4: addr2line of binutils 2.40 names the wrong file in 5);
# clash protection makes a large frame touch the guard page of its stack.
HOSTCUDA_LINK_SAFE := -fPIC -fvisibility=hidden -ftls-model=initial-exec
# SAN=1: ASan + UBSan; the runtime tells them of its fibers. Build into a folder of its own.
HOSTCUDA_SAN := $(if $(SAN),-fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer)
HOSTCUDA_CFLAGS ?= -std=gnu11 -O2 -g $(HOSTCUDA_LINK_SAFE) $(HOSTCUDA_SAN) $(HOSTCUDA_WARNINGS) \
	-Wstrict-prototypes -Wmissing-prototypes -I$(HOSTCUDA)/include
HOSTCUDA_CXXFLAGS ?= -std=c++17 -O2 -march=native -g1 -gdwarf-4 -fstack-clash-protection \
	$(HOSTCUDA_LINK_SAFE) $(HOSTCUDA_SAN) $(HOSTCUDA_WARNINGS) -I$(HOSTCUDA)/include

$(HOSTCUDA_REWRITE): $(wildcard $(HOSTCUDA)/rewriter/*.c $(HOSTCUDA)/rewriter/*.h)
	@mkdir -p $(@D)
	$(HOSTCUDA_CC) -std=gnu11 -O2 $(HOSTCUDA_WARNINGS) -o $@ $(filter %.c,$^)

$(HOSTCUDA_BUILD)/%.o: $(HOSTCUDA)/%.c $(HOSTCUDA_HEADERS)
	@mkdir -p $(@D)
	$(HOSTCUDA_CC) $(HOSTCUDA_CFLAGS) -c -o $@ $<

# $(1): folder below HOSTCUDA_BUILD, $(2): further flags, such as -DTL_REAL_DOUBLE
define hostcuda_rules
$$(HOSTCUDA_BUILD)/$(1)/%.hc.cpp: %.cu $$(HOSTCUDA_REWRITE)
	@mkdir -p $$(@D)
	$$(HOSTCUDA_REWRITE) $$(HOSTCUDA_INCLUDES) $$< >$$@.part && mv $$@.part $$@

$$(HOSTCUDA_BUILD)/$(1)/%.o: $$(HOSTCUDA_BUILD)/$(1)/%.hc.cpp $$(HOSTCUDA_HEADERS)
	$$(HOSTCUDA_CXX) $$(HOSTCUDA_CXXFLAGS) $(2) $$(HOSTCUDA_INCLUDES) -iquote $$(dir $$*) -MMD -MP -c -o $$@ $$<
endef
$(eval $(call hostcuda_rules,cu,))
.PRECIOUS: $(HOSTCUDA_BUILD)/cu/%.hc.cpp

# A plug-in: $(call hostcuda_plugin,OUT.so,OBJECTS) links .cu objects with the runtime.
hostcuda_plugin = $(HOSTCUDA_CXX) $(HOSTCUDA_SAN) -shared -Wl,-Bsymbolic -Wl,--no-undefined -o $(1) $(2) \
	$(HOSTCUDA_OBJECTS) $(HOSTCUDA_LIBS)

# ---- the corpus ----

HOSTCUDA_CASES := $(wildcard $(HOSTCUDA)/tests/*.cu)
HOSTCUDA_CASE_OBJECTS := $(HOSTCUDA_CASES:%.cu=$(HOSTCUDA_BUILD)/cu/%.o)

$(HOSTCUDA_CASE_OBJECTS): $(HOSTCUDA)/tests/cases.h

$(HOSTCUDA_BUILD)/corpus: $(HOSTCUDA)/tests/runner.cpp $(HOSTCUDA_CASE_OBJECTS) $(HOSTCUDA_OBJECTS)
	$(HOSTCUDA_CXX) -std=c++17 -O1 $(HOSTCUDA_SAN) $(HOSTCUDA_WARNINGS) -o $@ $(filter %.cpp %.o,$^) $(HOSTCUDA_LIBS)

.PHONY: hostcuda-test
hostcuda-test: $(HOSTCUDA_BUILD)/corpus $(HOSTCUDA_REWRITE)
	$(HOSTCUDA)/tests/refusals.sh $(HOSTCUDA_REWRITE)
	$(HOSTCUDA_BUILD)/corpus
