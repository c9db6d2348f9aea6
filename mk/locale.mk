# locale.mk: texts in another language: LANGUAGE=zh_CN, typed or in the environment. Included by the
# Makefile.
#
#   locale/<language>/LC_MESSAGES/*.po     catalogues: English texts, and what they are there
#   build/locale/…/*.mo                    the same, as programs read them, by msgfmt
#
# Without msgfmt there are none, and who reads them says so (autograder/grade/language.py).

# (English that comes first needs none: Ubuntu has en_US:en in everybody's environment)
MSGFMT := $(if $(filter-out en% C C.% POSIX,$(firstword $(subst :, ,$(value LANGUAGE)))),$(shell \
	command -v msgfmt))
catalogues_of = $(if $(MSGFMT),$(patsubst %.po,build/%.mo,$(wildcard $1)))
GRADE_CATALOGUES = $(call catalogues_of,$(addprefix locale/*/LC_MESSAGES/grade/,\
	words.po lab$(LAB_N).po))
PAGE_CATALOGUES = $(call catalogues_of,locale/*/LC_MESSAGES/*.po locale/*/LC_MESSAGES/lab[0-9]/*.po)

build/locale/%.mo: locale/%.po
	@mkdir -p $(@D)
	$(call say,MSG,$@)
	$(Q)$(MSGFMT) --check-format -o $@ $<
