# complete.mk: what may stand next behind make, for tools/complete.sh. A makefile of its own, which
# reads options.mk alone of the others: an answer is due while somebody's finger is on the key.
#
#   ASKED=goals make -f mk/complete.mk     what is ASKED for: goals; options, of the goals typed;
#                                          any, options of a build as well; or NAME, its values
#   TYPED='grade LAB= T='                  the goals and names of options that stand there already
#   TYPED_LAB=2 GRADLAB_LAB=3              LAB's value, and that of the folder
#
# A word a line, with a space behind it unless it may go on. All come by the environment; whoever
# asks lets through no letter that make would read as its own.
include mk/options.mk
.PHONY: nothing
nothing: ; @:

TYPED_GOALS := $(filter-out %=,$(TYPED))

# ---- values: read where they are decided ---------------------------------------------------------

# the lab that `make grade` would take (mk/labs.mk)
LAB_MEANT := $(firstword $(patsubst lab%,%,$(lastword $(filter $(LAB_GOALS),$(TYPED_GOALS)))) \
	$(TYPED_LAB) $(GRADLAB_LAB) $(if $(wildcard build/lab),$(file <build/lab)))

LAB_NUMBERS := $(LAB_GOALS:lab%=%)
told = $(shell awk -v name=$1 -f tools/values.awk \
	$(wildcard programs/options.def programs/bench/options.def))
# im2col, im2col/padding_becomes_zero …: tasks, and claims behind theirs
claims = $(shell awk -F '"' '/^\[\[/ { claim = /claim/ } \
	/^name = / { if (claim) print task "/" $$2; else print task = $$2 }' \
	$(wildcard autograder/lab$(LAB_MEANT)/lab.toml))
mutants = $(shell awk -F '"' '/^name = / { print $$2 }' \
	$(wildcard autograder/lab$(LAB_MEANT)/mutants.toml))
# (sorted, each once: of tables with rows RUNG_CPU(conv2d, 1, …), SHAPE(conv2d, odd, …))
rungs = $(sort $(shell awk -F '[^A-Za-z0-9_]+' '$$1 ~ /_C(PU|UDA)$$/ { print $$2 ":" $$3 }' \
	$(wildcard kernels/rungs.def)))
shapes = $(sort $(shell awk -F '[^A-Za-z0-9_]+' '$$1 == "SHAPE" { print $$3 }' \
	$(wildcard programs/bench/shapes.def)))

VALUES_LAB := $(LAB_NUMBERS)
VALUES_CLOSED := $(LAB_NUMBERS)
VALUES_REAL := $(REALS)
VALUES_CUDA_REALS := $(REALS)
VALUES_DEVICES = $(filter-out auto,$(call told,DEVICE))
VALUES_DIAGNOSIS = $(shell awk -F '"' '/^DIAGNOSES = / { print $$2, $$4 }' autograder/grade/grade.py)
VALUES_HINT = $(shell awk '/^HINTS = / { for (i = 1; i <= $$3; i++) print i }' \
	autograder/grade/failure_kinds.py)
VALUES_NET = $(shell sed -n 's/.*\.name = "\([^"]*\)".*/\1/p' tl/nets.c)
VALUES_NETS = $(VALUES_NET)
VALUES_LANGUAGE = $(patsubst locale/%/LC_MESSAGES,%,$(wildcard locale/*/LC_MESSAGES)) en
VALUES_RUNGS = all none $(rungs)
VALUES_RUNG = all $(rungs)
VALUES_OP = all $(shell awk -F '"' '/define_/ { print $$2 }' $(wildcard programs/bench/cases.c))
VALUES_SHAPE = all $(shapes)
# of a handout which labs; else whose files, a folder with labs of CUDA in it
VALUES_LABS = $(if $(filter handout test-distros,$(TYPED_GOALS)),$(LAB_NUMBERS),$(sort \
	$(foreach f,$(wildcard */lab1/*.cu),$(firstword $(subst /, ,$f)))))
tasks = $(foreach c,$(claims),$(if $(findstring /,$c),,$c))
VALUES_T = $(if $(filter mutants,$(TYPED_GOALS)),$(mutants),$(if $(filter \
	restore taskwise,$(TYPED_GOALS)),$(tasks),$(claims)))

# what is on with 1, and off without
SWITCHES := SAN DEBUG CHECK V YES MINE TASKWISE JSON HTML ALL DRAFT FULL AGAIN REGRADE KEEP
# what may go on, with a comma and one more
LISTS := DEVICES NETS RUNGS RUNG OP SHAPE CLOSED $(if $(filter handout,$(TYPED_GOALS)),LABS)
values = $(if $(filter $(SWITCHES),$1),1,$(if $(filter undefined,$(origin VALUES_$1)),$(call \
	told,$1),$(VALUES_$1)))
# … `step:` with its numbers, and a task with one of its claims
goes_on = $(filter %: $(if $(filter $(LISTS),$(ASKED)),%) $(if \
	$(and $(filter T,$(ASKED)),$(findstring /,$1)),$(tasks)),$1)

# ---- the answer ----------------------------------------------------------------------------------

say = $(foreach word,$1,$(info $(word)$2))
space := $(subst ,, )
options = $(call say,$(filter-out $(TYPED),$(patsubst %,%=,$(sort $1 $(foreach \
	g,$(TYPED_GOALS),$(call options_of_goal,$g))))))
answer = $(call say,$(call goes_on,$1))$(call say,$(filter-out $(call goes_on,$1),$1),$(space))

ifeq ($(ASKED),goals)
$(call say,$(filter-out $(TYPED_GOALS),$(sort $(ALL_GOALS))),$(space))
else ifeq ($(ASKED),options)
$(call options)
else ifeq ($(ASKED),any)
$(call options,$(BUILD_OPTIONS))
else
$(call answer,$(call values,$(ASKED)))
endif
