# goals.mk: hostcuda's own commands; included by the Makefile.

.PHONY: hostcuda-legality hostcuda-test hostcuda-bench
# About 4 s a file and compiler. nvcc 13 knows no static __device__ members and has another
# cudaMemAdvise.
NOT_BY_NVCC := %/streams.cu %/student.cu
hostcuda-legality: ## what is not CUDA is refused, every .cu file is legal: by nvcc and by clang
	@hostcuda/corpus/legality_test.sh clang -Itl/include -I. $(PLUGIN_CU) \
	    $(HOSTCUDA_CHECK_CASES)
	$(if $(CUDA),@hostcuda/corpus/legality_test.sh nvcc -Itl/include -I. \
	    -I$(CUBLAS_INCLUDE) $(PLUGIN_CU) $(filter-out $(NOT_BY_NVCC),$(HOSTCUDA_CHECK_CASES)))

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
