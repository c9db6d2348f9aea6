# train.mk: to train with what is built, to compare it with PyTorch, and to report on it. Included
# by the Makefile.

.PHONY: train predict data baseline bench-step bench-ops report report-zh
##@ train
# (without quicker kernels in it, a program says so; where its results lie, the report looks)
MINE_DIR := $(if $(MINE),mine/)
RUNGS_OF_MINE := $(if $(MINE),RUNGS=none)
# (a part of a run does not take the place of a whole one)
PART_OF_RUN = $(addprefix -steps,$(filter-out 0,$(STEPS)))$(addprefix -limit,$(filter-out \
	0,$(LIMIT)))$(if $(filter 1,$(PROFILE)),-profile)
FOLDER_OF_MINE = results/mine/$@-$(or $(NET),a)-$(or $(DEVICE),auto)-seed$(or \
	$(SEED),1)$(PART_OF_RUN)
OUT_OF_MINE = $(if $(MINE),$(if $(filter OUT,$(GIVEN)),,OUT=$(call quote,$(FOLDER_OF_MINE))))
train: build/$(MODE)/$(MINE_DIR)train
train: ## train a net: NET=a|b|c|m DATASET= EPOCHS= LR= SEED= BITS=portable OUT= MINE=1 …
	@$< $(call given,$(TRAIN_OPTIONS)) $(RUNGS_OF_MINE) $(OUT_OF_MINE)

predict: ## a trained net's answers on the test images: NET= RESUME=checkpoint OUT=
predict: build/$(MODE)/$(MINE_DIR)predict
	@$< $(call given,$(filter-out MINE,$(OPTIONS_predict))) $(RUNGS_OF_MINE)

data: ## a data set: DATASET=cifar10|mnist [FROM=archive or folder], or shapes10, drawn here
ifeq ($(DATASET),shapes10)
data: build/$(MODE)/shapes10
	@$< $(call quote,$(GRADLAB_DATA)) $(if $(filter SEED,$(GIVEN)),$(call quote,$(value SEED)))
else
data:
	@data/fetch.sh $(call quote,$(or $(DATASET),cifar10)) $(call quote,$(GRADLAB_DATA)) \
	    $(if $(FROM),$(call quote,$(value FROM)))
endif

##@ compare with PyTorch
# The twin reads batch order, draws and initial weights from the plan that our trainer writes.
baseline: ## train the PyTorch twin with the options of `make train`
baseline: build/$(MODE)/$(MINE_DIR)train
	@mkdir -p build/plans; plan=$$(mktemp -d build/plans/XXXXXX); trap 'rm -rf "$$plan"' EXIT; \
	$< PLAN_ONLY=1 PLAN="$$plan" $(call given,$(RUN_OPTIONS)) $(RUNGS_OF_MINE); \
	$(PYTHON) baseline/$(if $(PROFILE),profile_step,train).py PLAN="$$plan" \
	    $(call given,$(filter-out MINE,$(OPTIONS_baseline))) $(OUT_OF_MINE)

# (of MINE=1 the programs learn by their environment, as everything typed here)
bench-step: ## time training steps, ours and PyTorch's alternating: NET=… MINE=1
bench-step: build/float/$(MINE_DIR)train
	@$(PYTHON) baseline/bench_step.py $(call given,$(filter-out MINE,$(OPTIONS_bench-step)))

bench-ops: ## time convolution and linear layers, likewise
bench-ops: build/float/$(MINE_DIR)bench_ops
	@$(PYTHON) baseline/bench_ops.py $(call given,$(filter-out MINE,$(OPTIONS_bench-ops)))

# What is missing is measured first. FROM= and DRAFT=1 take what is there: that needs no programs,
# and no torch.
MEASURED := $(if $(FROM)$(filter 1,$(DRAFT)),,$(addprefix build/float/$(MINE_DIR),train predict \
	bench_ops))
report report-zh: $(MEASURED)
	@$(if $(MEASURED),$(PYTHON) report/measure.py $(call given,FULL AGAIN DATASET))
	@$(PYTHON) report/build.py $(call given,FROM DRAFT OUT) $(if $(filter %-zh,$@),LANG=zh) \
	    CODE=$$(tools/build_info.sh code $(if $(MINE),$(MINE_SOURCES),$(SOURCES)))
# report: ## report/build/report.pdf from results: FROM=folders DRAFT=1 FULL=1 MINE=1
# report-zh: ## the same in Chinese
