# class.mk: what an instructor types for a whole class (autograder/course/). What is built for that,
# a make of each grade builds (labs.mk). No part of a handout. Included by the Makefile.

.PHONY: grade-class grade-slurm regrade replay merge similarity forget
COURSE := $(LAB_PYTHON) autograder/course

grade-class: ## the instructor's: grades a class: SUBMISSIONS=dir LAB=N OUT=dir ROSTER=csv DUE=time …
	@$(COURSE)/grade_class.py $(call given,$(OPTIONS_grade-class))

grade-slurm: ## the instructor's: the same in n tasks of a Slurm array: SHARDS=n SUBMISSIONS=dir …
	@$(COURSE)/slurm.py $(call given,$(OPTIONS_grade-slurm))

regrade: ## the instructor's: grades again what a class handed in: OUT=dir LAB=N STUDENT=id SIGNED=csv
	@$(COURSE)/regrade.py $(call given,$(OPTIONS_regrade))

replay: ## the instructor's: one attempt before its student's eyes: OUT=dir LAB=N STUDENT=id ATTEMPT=n
	@$(COURSE)/replay.py $(call given,$(OPTIONS_replay))

merge: ## the instructor's: parts of a class (SHARD=i/n) into one: FROM=dir,dir OUT=dir
	@$(COURSE)/merge.py $(call given,$(OPTIONS_merge))

similarity: ## the instructor's: for Dolos or JPlag, OUT=dir LAB=N TO=dir; their result, … READ=csv
	@$(COURSE)/similarity.py $(call given,$(OPTIONS_similarity))

forget: ## the instructor's: takes a student out of all that is kept: STUDENT=id OUT=dir
	@$(COURSE)/forget.py $(call given,$(OPTIONS_forget))
