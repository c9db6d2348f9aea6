# export.mk: grades in the forms of other systems (autograder/course/README-adapters.md). Included
# by the Makefile.

.PHONY: export gradescope
# (no space before its colon: then it would be make's own word)
export: ## the instructor's: for another system: FROM=grade.json TO=gradescope|moodle|… OUT=file
	@$(LAB_PYTHON) autograder/course/adapters/export.py \
	    $(call given,FROM TO OUT ROSTER COLUMN LAB ATTEMPT FEEDBACK)

gradescope: ## the instructor's: the zip that Gradescope takes as autograder: LAB=N OUT=file.zip
	@$(LAB_PYTHON) autograder/course/adapters/gradescope_zip.py $(call given,LAB OUT SECRET)
