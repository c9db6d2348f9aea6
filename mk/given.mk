# given.mk: the value of each name in GIVEN_LEFT becomes what was typed, letter by letter. A file
# that includes itself is make's only loop in which a value is not read as make's own text.
ifneq ($(GIVEN_LEFT),)
override export $(firstword $(GIVEN_LEFT)) := $(value $(firstword $(GIVEN_LEFT)))
override GIVEN_LEFT := $(strip $(wordlist 2,$(words $(GIVEN_LEFT)),$(GIVEN_LEFT)))
include mk/given.mk
endif
