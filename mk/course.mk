# course.mk: what maintainers and instructors run around the labs; no part of a handout. Included by
# the Makefile.

.PHONY: broken grade-cost grader-soak hostile mutants taskwise skeletons update-po secret handout \
	handout-check
##@@ course
# A handout's graders bring Criterion along, and what it needs: RPATH, and not RUNPATH, is looked at
# for a library's own libraries, too.
handed_graders := $(foreach r,float double,$(LAB_GOALS:%=build/$r/handed/%/grader))
$(handed_graders): $$(GRADER_OBJECTS) build/grader/no_git
	@mkdir -p $(@D)
	$(call link,$(CRITERION) -lm -Wl$(comma)--disable-new-dtags \
	    -Wl$(comma)-rpath$(comma)'$$ORIGIN/../../grader')

handout: ## the instructor's: what students get: OUT=folder LABS=1,2 CLOSED=1 MACHINES=x86_64,…
	@$(LAB_PYTHON) autograder/course/handout.py $(call given,OUT LABS CLOSED MACHINES)

# (one that is given is checked as it is)
handout-check: ## the instructor's: a handout's labs done with the solution's files: FROM=handout
	@$(if $(FROM),,rm -rf build/handout build/handout-closed && \
	    $(LAB_PYTHON) autograder/course/handout.py OUT=build/handout && \
	    $(LAB_PYTHON) autograder/course/handout.py OUT=build/handout-closed LABS=1,2,3,4 \
	    CLOSED=1,2,3 && autograder/course/handout_check.sh build/handout-closed solution &&) \
	    autograder/course/handout_check.sh $(call quote,$(or $(value FROM),build/handout)) solution

mutants: ## the maintainer's: do the claims catch known bugs, and name them? LAB=N T=name,name V=1
	@$(LAB_PYTHON) autograder/maintain/mutants.py LAB=$(LAB) $(call given,T V KEEP)

broken: ## the maintainer's: the broken versions that a student's own cases are tried with: LAB=N
broken: $(LAB_BROKEN)

taskwise: ## the maintainer's: does an unwritten task cost its own points alone? LAB=N T=task V=1
	@$(LAB_PYTHON) autograder/maintain/taskwise.py LAB=$(LAB) $(call given,T V)

grade-cost: ## the maintainer's: CPU seconds of one submission, step by step: LAB=N TASKWISE=1
	@$(LAB_PYTHON) autograder/maintain/cost.py $(call given,LAB TASKWISE)

grader-soak: ## the maintainer's: the reference under many seeds: LAB=N SEEDS=n
grader-soak: $(LAB_BUILT)
	@$(lab_say_once)
	@$(LAB_PYTHON) autograder/maintain/soak.py $(LAB_PROGRAMS) \
	    $(call given,SEEDS FIRST DEVICES JOBS OUT)

hostile: ## the maintainer's: submissions that cheat, spy and break: CASE=name,family TIER=A LAYERS=1
	@$(LAB_PYTHON) autograder/hostile/$(if $(LAYERS),hostile_layers.py $(call \
	    given,CASE TIER V),hostile_submissions.py $(call given,CASE TIER JOBS QUICK V))

skeletons: ## the maintainer's: labs/ from the markers in solution/; overwrites nobody's work
	@$(LAB_PYTHON) autograder/maintain/generate.py write
	@$(LAB_PYTHON) autograder/maintain/handouts.py write

# (by GNU gettext's usual name of this)
update-po: ## the maintainer's: catalogues of other languages (locale/) after a change of English texts
	@$(LAB_PYTHON) autograder/maintain/catalogues.py write
	@$(LAB_PYTHON) site/page_catalogues.py write

secret: ## the instructor's: the file of which official seeds are made: SECRET=file
	@$(LAB_PYTHON) autograder/grade/seeds.py make $(call given,SECRET)
