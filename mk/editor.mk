# editor.mk: what an editor with clangd reads. Included by the Makefile.

# A student's files are read as the solution's are. Of .cu files clangd sees CUDA as hostcuda has it.
SEEN_C := $(LIB_SRC) $(MAIN_SRC) $(TEST_SRC) $(PLUGIN_C) $(wildcard labs/lab*/*.c \
	autograder/worker/*.c autograder/call/*.c)
SEEN_CU := $(PLUGIN_CU) $(wildcard labs/lab*/*.cu)
seen_cu := clang++ -x cuda -std=c++17 --cuda-host-only --cuda-gpu-arch=sm_75 -nocudainc \
	-nocudalib --cuda-path=/nonexistent -Xclang -fno-cuda-host-device-constexpr \
	$(call precision,$(MODE)) -Ihostcuda/include -include hostcuda/legality/prelude.h -Itl/include
commands = $(foreach d,yes no,$(call quote,$1 $(if $(filter yes,$d),-I.)) \
	$(sort $(if $(filter yes,$d),$(filter $(SEE_EACH_OTHER),$2),\
	$(filter-out $(SEE_EACH_OTHER),$2))) --)
compile_commands.json: always ## for an editor with clangd: how each file is compiled
	@mkdir -p build
	@tools/compile_commands.sh $(call commands,$(CC) $(call flags,$(MODE)) -Itl/include,$(SEEN_C)) \
	    $(call commands,$(seen_cu),$(SEEN_CU)) | { $(call replace,$@,build/$@); }
# (a copy that cannot be written to needs no editor)
ifneq ($(shell [ -w . ] && echo yes),)
$(filter lab%,$(MAKECMDGOALS)): | compile_commands.json
endif
