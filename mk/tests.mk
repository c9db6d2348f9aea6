# tests.mk: what checks this repository: all its tests, those of one part, its style. Included by
# the Makefile.

.PHONY: test test-steps test-without-twin test-all test-distros format-check prototypes hostcuda-legality \
	hostcuda-test hostcuda-bench cuda-all gpu-suite fuzz
##@@ check
# (under sanitizers in float alone: the lines are the same, and test-all runs both)
SUITES := $(if $(SAN),build/$(REAL)$(SUFFIX)/suites,build/float$(SUFFIX)/suites \
	build/double$(SUFFIX)/suites)
ALL_SUITES := $(addprefix build/,$(addsuffix /suites,float double float-san double-san))
CHECK_SUITES := build/float-check/suites build/double-check/suites

TEST_NEEDS := $(SUITES) $(CORPUS) \
	$(if $(SAN)$(CHECK),,$(BOTH_PROGRAMS) build/float/bench build/float/grader $(SECTORS) $(MMA) lib)
TEST_JOBS := $(if $(CHECK),,$(SUITES)) $(SUITES:%=%@hostcuda) \
	$(if $(SAN)$(CHECK),,$(firstword $(SUITES)):steps driver) refusals $(CORPUS)

# On hostcuda the claims of all labs run again, in both precisions: about 40 CPU seconds each.
# With SAN=1 the C suites run alone: Python and torch are not ours to sanitise.
test: ## C suites on cpu and hostcuda, twin and bridge, a short parity; SAN=1: C under ASan + UBSan
test: $(TEST_NEEDS) $(if $(SAN)$(CHECK),,labs-check bridge)
	@$(PYTHON) tools/run_tests.py $(TEST_JOBS) $(if $(SAN)$(CHECK),,fuzz pytest parity)

test-steps: ## the steps of the ladder alone (kernels/README.md): SAN=1, CHECK=1 watched
test-steps: $(SUITES)
	@$(PYTHON) tools/run_tests.py $(SUITES:%=%:steps)

# (of test-distros: a Debian may bring a Python for which there is no PyTorch)
test-without-twin: ## what make test runs without PyTorch, for a Python that has none
test-without-twin: $(TEST_NEEDS) $(if $(SAN)$(CHECK),,labs-check)
	@$(PYTHON) tools/run_tests.py $(TEST_JOBS) $(if $(SAN)$(CHECK),,fuzz pytest-without-twin)

TEST_ALL_NEEDS := $(ALL_SUITES) $(CHECK_SUITES) $(ALL_CORPORA) $(BOTH_PROGRAMS) build/float/bench \
	build/float/grader $(SECTORS) $(MMA)

# labs-check calls make for its grades, and that make builds objects that these goals are made of:
# one after the other, for a file that two makes write at once is linked half written.
labs-check: | $(if $(filter test test-without-twin,$(MAKECMDGOALS)),$(TEST_NEEDS)) \
	$(if $(filter test-all,$(MAKECMDGOALS)),$(TEST_ALL_NEEDS))

# Bare Debians take root and hours: `DISTROS= make test-all` leaves them out, nothing else does.
test-all: ## everything: sanitised, by gcc and clang, the whole parity, README on bare Debians
test-all: $(TEST_ALL_NEEDS) labs-check bridge
	@GRADLAB_TEST_ALL=1 $(PYTHON) tools/run_tests.py $(ALL_SUITES) $(ALL_SUITES:%=%@hostcuda) \
	    $(ALL_SUITES:%=%:steps) $(CHECK_SUITES:%=%@hostcuda) $(CHECK_SUITES:%=%:steps) refusals \
	    driver legality $(ALL_CORPORA) fuzz-all pytest parity-all grow \
	    hostile hostile-layers $(if $(DISTROS)$(filter undefined,$(origin DISTROS)),distros)

test-distros: ## README's commands and the labs on bare Debians, gcc and clang: DISTROS="trixie sid"
	@tools/test_distros.sh

C_FILES := $(LIB_SRC) $(MAIN_SRC) $(BENCH_SRC) $(BENCH_HEADERS) $(TEST_SRC) $(HEADERS) $(PLUGIN_CU) $(PLUGIN_C) \
	$(wildcard tl/cuda/*.h tl/abi/*.c) $(wildcard autograder/*/*.h tests/*.h tests/lib/*.c) \
	$(BRIDGE_SRC) $(BRIDGE_HEADERS) $(BOX_C) $(wildcard autograder/box/tests/*.c)
format-check: ## C as clang-format 14 would write it, Python as ruff would
	@PYTHON=$(call quote,$(PYTHON)) tools/format_check.sh $(sort $(filter-out %.def,$(C_FILES)))

# About 4 s a file and compiler. nvcc 13 knows no static __device__ members and has another
# cudaMemAdvise.
NOT_BY_NVCC := %/streams.cu %/student.cu
ILLEGAL := hostcuda/corpus/illegal.cu
hostcuda-legality: ## what is not CUDA is refused, every .cu file is legal: by nvcc and by clang
	@hostcuda/corpus/legality_test.sh clang -Itl/include -I. $(PLUGIN_CU) \
	    $(filter-out $(ILLEGAL),$(HOSTCUDA_CHECK_CASES))
	$(if $(CUDA),@hostcuda/corpus/legality_test.sh nvcc -Itl/include -I. \
	    -I$(CUBLAS_INCLUDE) $(PLUGIN_CU) $(filter-out $(ILLEGAL) \
	    $(NOT_BY_NVCC),$(HOSTCUDA_CHECK_CASES)))

hostcuda-test: ## CUDA C on a CPU: the checkers' corpus, right kernels silent and wrong ones named
hostcuda-test: $(CORPUS)
	@hostcuda/corpus/refusals.sh $(HOSTCUDA_REWRITE)
	@$<

hostcuda-bench: ## what CUDA C on a CPU costs beside plain C: OUT=results/MACHINE fills its page
BENCHES := $(addprefix build/hostcuda/$(CC_NAME),/bench -check/bench)
hostcuda-bench: $(BENCHES) build/float/train
	@$(PYTHON) hostcuda/bench/bench.py --kernels $(word 1,$(BENCHES)) \
	    --checked $(word 2,$(BENCHES)) --train build/float/train \
	    $(if $(filter OUT,$(GIVEN)),--out $(call quote,$(value OUT)) \
	    --page hostcuda/README.md)

prototypes: build/prototypes.h ## what tl/ops.def makes, written out: calls, table entries
build/prototypes.h: autograder/call/call_ops.h $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) -E -P -Itl/include $< | sed -nE -e 's/ +([,)])/\1/g' \
	    -e '/^(void call_|tl_status \(\*)/p' >$@

cuda-all: ## compile the CUDA plug-in for every GPU, warnings are errors (needs no GPU)
CUDA_REALS ?= float double
cuda-all: $(foreach r,$(CUDA_REALS),build/$r-all/libtl_cuda.so)

# (a make of its own inside: what was typed here is not for it)
gpu-suite: ## on a GPU machine: suites, sanitizer, training, step times: OUT=dir [STAGES="build …"]
	@test -n $(call quote,$(OUT)) || { echo "gpu-suite: say where results go: OUT=dir" >&2; exit 2; }
	@env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS tools/gpu_suite.sh $(call quote,$(OUT)) $(STAGES)

fuzz: ## feed the readers of data sets and checkpoints damaged files: SECONDS=60 each (needs clang)
	@tests/fuzz/fuzz.sh $(or $(SECONDS),60)
