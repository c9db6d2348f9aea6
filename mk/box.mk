# box.mk: the launcher of everything that runs a student's code (autograder/box/). Included by the
# Makefile. Two makes may want it at once, so it is put in place whole.
#
#   build/box/box          the launcher
#   build/box/libraries    linked with all that a worker may be linked with; says where it lies

BOX_C := $(wildcard autograder/box/*.c)

build/box/box: $(BOX_C) autograder/box/box.h mk/box.mk
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	@$(call swept,$@)
	$(Q)$(CC) -std=c11 -O2 -Wall -Wextra $(filter -Werror,$(CFLAGS)) -o $@.$$$$ $(BOX_C) && \
	    mv -f $@.$$$$ $@

build/box/libraries: mk/box.mk
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	@$(call swept,$@)
	$(Q)echo 'int main(void) { return 0; }' | $(CC) -x c -fopenmp -o $@.$$$$ - -Wl,--no-as-needed \
	    $(LIBS) -l:libstdc++.so.6 -l:libgcc_s.so.1 && mv -f $@.$$$$ $@
