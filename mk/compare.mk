# compare.mk: what compares the reference, or is held against the oracle: parity with PyTorch, the
# ladder, the operators inside PyTorch. No part of a handout. Included by the Makefile.

.PHONY: parity bench bridge-bench report-test
##@ compare the reference
parity: $(BOTH_PROGRAMS) ## compare with the twin step by step: NET=…
	@$(PYTHON) baseline/parity.py $(call given,$(OPTIONS_parity))

# On hostcuda it counts what the check build sees, for times there are no speeds.
BENCH_MODE := $(if $(filter hostcuda,$(DEVICE)),$(REAL)-check,$(REAL))
BENCH_MINE := build/$(BENCH_MODE)/mine/bench
bench: ## check each rung of the ladder and time it: OP=gemm,conv2d RUNG= SHAPE= DEVICE= MINE=1 …
bench: build/$(BENCH_MODE)/bench $(if $(MINE),$(BENCH_MINE))
	@$< $(call given,$(BENCH_OPTIONS)) $(if $(MINE),MINE=$(BENCH_MINE) $(if $(filter \
	    OUT,$(GIVEN)),,OUT=results/mine/ladder.jsonl))

# (the net that it trains is net m, whose layers the trainer tells)
bridge-bench: ## time our operators inside PyTorch, and train net m by them: PARTS= EPOCHS=5 MINE=1
bridge-bench: bridge build/float/$(MINE_DIR)train build/float/$(MINE_DIR)bench_ops
	@$(BRIDGE_ENV) $(PYTHON) baseline/bench_bridge.py \
	    $(call given,$(filter-out MINE,$(OPTIONS_bridge-bench)))

report-test: ## the maintainer's: the report's tests: filling, escaping, staleness, equal bytes
	@$(PYTHON) -m pytest -q -p no:cacheprovider report/tests
