# handout.mk: what a handout has ready-made instead of its source (autograder/course/handout.py laid
# it there). Included by the Makefile.
#
#   given/<machine>/<mode>/labN/grader                  the lab's claims, with oracle and Criterion
#   given/<machine>/double/labN/broken/1 …              what a student's own cases are tried with
#   given/<machine>/<mode>/solution/labN/im2col.o       of labs that are closed: im2col.cu.lab.o …
#   given/<machine>/lib                                 libraries that the graders are linked with

# The other labs are the student's, too: in a handout those that the reference is there for only
# where MINE=1 was typed.
LAB_MINE := $(if $(HANDOUT),$(filter MINE,$(GIVEN)),$(MINE))

ifneq ($(HANDOUT),)
# Sanitised and debugging programs take the plain ones: they are nobody's to debug. $(1) a mode
given_mode = $(subst -debug,,$(subst -san,,$1))
# $(1) files below given/<machine>/<mode>, of each mode as make builds it
given_in_modes = $(foreach m,$(MODES),$(patsubst $(HANDOUT)/$(call given_mode,$m)/%,build/$m/%,\
	$(wildcard $(HANDOUT)/$(call given_mode,$m)/$1)))
GIVEN_GRADERS := $(call given_in_modes,lab*/grader)
GIVEN_BROKEN := $(call given_in_modes,lab*/broken/*)
GIVEN_OBJECTS := $(call given_in_modes,solution/lab*/*.o)

$(GIVEN_GRADERS) $(GIVEN_BROKEN) $(GIVEN_OBJECTS): \
		$$(patsubst build/$$(mode)/%,$(HANDOUT)/$$(call given_mode,$$(mode))/%,$$@)
	@mkdir -p $(@D) && cp $< $@
GIVEN_LIBRARIES := $(patsubst $(HANDOUT)/lib/%,build/grader/%,$(wildcard $(HANDOUT)/lib/*))
$(GIVEN_GRADERS): | $(GIVEN_LIBRARIES)
$(GIVEN_LIBRARIES): build/grader/%: $(HANDOUT)/lib/%
	@mkdir -p $(@D) && cp $< $@
endif

# (in a checkout, git does it)
.PHONY: update
update: ## a newer handout into this one, your files stay: FROM=folder
	@$(if $(HANDOUT),,echo 'update: this is no handout, but a checkout: git pull' >&2; exit 2;) \
	$(LAB_PYTHON) autograder/grade/update.py $(call given,FROM)

# lab1/gemm.c …: files that the reference is there for, and that a program takes from it.
HAVE_REFERENCE := $(if $(LAB_MINE),,$(patsubst $(HANDOUT)/float/solution/%.o,%.c,$(filter-out \
	%.cu.o %.lab.o %.host.o,$(wildcard $(HANDOUT)/float/solution/lab*/*.o))) $(patsubst \
	$(HANDOUT)/float/solution/%.host.o,%,$(wildcard $(HANDOUT)/float/solution/lab*/*.host.o)))
# nvcc's objects of closed labs are there only where whoever made the handout had nvcc.
ifneq ($(and $(HANDOUT),$(if $(LAB_MINE),,$(wildcard $(HANDOUT)/float/solution/*)),$(if $(wildcard \
	$(HANDOUT)/float/solution/*/*.cu.o),,none)),)
ifneq ($(CUDA),)
$(warning the GPU is left out: this handout has no objects of its closed labs for one (VERSION); \
MINE=1 takes your own)
endif
override CUDA :=
endif
