# bridge.mk: the bridge's C++ way, operators of PyTorch by libtl.so. Included by the Makefile.
#
#   build/bridge/gradlab/_C.so   the extension, of bridge/gradlab/csrc (bridge/gradlab/ops_cpp.py
#                                finds it there in a checkout; `pip install ./bridge` makes its own)
#   build/bridge/env             what a shell sources to find both
#   build/bridge/flags           where this Python's torch has its headers and libraries
#
# It needs neither Python's headers nor CUDA's: PyTorch loads it as a library of operators.

.PHONY: bridge
BRIDGE_SRC := $(wildcard bridge/gradlab/csrc/*.cpp)
BRIDGE_HEADERS := $(wildcard bridge/gradlab/csrc/*.h)
BRIDGE := build/bridge/gradlab/_C.so
BRIDGE_OBJECTS := $(BRIDGE_SRC:%.cpp=build/%.o)
BRIDGE_CXXFLAGS := -std=c++20 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Itl/include \
	$(filter -Werror,$(CFLAGS))
# What Python needs to find both, here and in a student's terminal (source build/bridge/env).
BRIDGE_ENV := GRADLAB_TL=$(abspath $(LIB_PREFIX)) GRADLAB_EXTENSION=$(abspath $(BRIDGE)) \
	PYTHONPATH=$(abspath bridge)

build/bridge/flags: always
	@mkdir -p $(@D)
	@{ $(CXX) -dumpfullversion; $(PYTHON) tools/torch_flags.py; } | { $(call replace,$@); }
$(wildcard build/bridge/flags): always

$(BRIDGE_OBJECTS): build/%.o: %.cpp build/bridge/flags
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(CXX) $(BRIDGE_CXXFLAGS) $$(sed -n 's/^compile //p' build/bridge/flags) -MMD -MP -c -o $@ $<

$(BRIDGE): $(BRIDGE_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CXX) -shared -o $@ $^ -Wl,--no-undefined $$(sed -n 's/^link //p' build/bridge/flags) -ldl

bridge: ## the bridge to PyTorch: libtl.so and the C++ extension that bridge/ takes in a checkout
bridge: lib $(BRIDGE)
	@echo 'export $(BRIDGE_ENV)' >build/bridge/env

-include $(BRIDGE_OBJECTS:.o=.d)
