# lib.mk: libtl.so, the library for other programs and languages, and `make lib`, which lays it with
# its headers, plug-ins and pkg-config files into one folder. Included by the Makefile.
#
#   build/<mode>/lib/libtl.so.1          of the solution (libtl_double.so.1 in double)
#   build/<mode>/mine/lib/libtl.so.1     of the files in labs/ (make lib MINE=1)
#   build/<mode>/x.lib.o                 of x.c
#   PREFIX/include/tl/*.h, PREFIX/lib/tl/{float,double}/, PREFIX/lib/pkgconfig/tl{,-double}.pc
#
# The library's objects are joined to one, in which only what tl/abi/libtl.symbols lists stays
# visible, less the operations: those names belong to tl/abi/dispatch.c. OpenBLAS is linked in, for
# its number of threads is set to one, and the program may have another use for its own.

.PHONY: lib
LIB_SYMBOLS := tl/abi/libtl.symbols
LIB_ABI := $(shell awk '/TL_ABI =/ { print $$5 }' tl/include/tl/version.h)
LIB_VERSION := $(shell awk -F '"' '/define TL_VERSION / { print $$2 }' tl/include/tl/version.h)
LIB_MINE := $(if $(MINE),mine/)
# $(1) a precision
lib_name = libtl$(if $(filter double,$1),_double).so
lib_file = build/$1$(SUFFIX)/$(LIB_MINE)lib/$(call lib_name,$1).$(LIB_ABI)

LIB_C := $(filter-out programs/%,$(if $(MINE),$(MINE_GIVEN) $(MINE_C),$(LIB_SRC))) \
	$(if $(MINE),,programs/rungs_cpu.c)
LIB_OBJECTS_OF_ABI = $(LIB_C:%.c=build/$(mode)/%.lib.o)
LIBDIR_OF_OPENBLAS := $(shell pkg-config --variable=libdir openblas 2>/dev/null)
OPENBLAS_ARCHIVE = $(firstword $(wildcard $(LIBDIR_OF_OPENBLAS)/libopenblas.a) \
	$(shell $(CC) -print-file-name=libopenblas.a))

build/%.lib.o: $$(source).c build/$$(mode)/flags
	$(call compile,-fPIC)

# (of static OpenBLAS the linker takes what is called; its LAPACK, in Fortran, is not)
define lib_link
@mkdir -p $(@D)
$(call say,LINK,$@)
$(Q)nm -g --defined-only $(filter %/dispatch.lib.o,$^) | awk '{ print $$3 }' | sort >$@.operations
$(Q)sort $(LIB_SYMBOLS) | comm -23 - $@.operations >$@.keep
$(Q){ echo 'TL_$(LIB_ABI) { global: tl_is_$(if $(findstring double,$(mode)),double,float);'; \
    sed 's/$$/;/' $(LIB_SYMBOLS); echo 'local: *; };'; } >$@.map
$(Q)ld -r -o $@.joined.o $(filter-out %/dispatch.lib.o,$(filter %.o,$^))
$(Q)objcopy --keep-global-symbols=$@.keep $@.joined.o
$(Q)$(CC) $(call flags,$(mode)) -shared -o $@ $@.joined.o $(filter %/dispatch.lib.o,$^) \
    -Wl,-soname=$(@F) -Wl,--version-script=$@.map -Wl,--exclude-libs=ALL -Wl,-Bsymbolic \
    -Wl,--no-undefined $(OPENBLAS_ARCHIVE) -lm -ldl -lpthread
@rm -f $@.operations $@.keep $@.map $@.joined.o
endef

lib_inputs = $(LIB_OBJECTS_OF_ABI) build/$(mode)/tl/abi/dispatch.lib.o $(LIB_SYMBOLS) \
	mk/lib.mk build/$(mode)/objects
$(foreach r,float double,$(call lib_file,$r)): $$(lib_inputs)
	$(lib_link)

lib_plugins = $(addprefix build/$1$(SUFFIX)/$(LIB_MINE),$(if $(HAVE_CXX),libtl_hostcuda.so) \
	$(if $(CUDA),libtl_cuda.so))

LIB_PREFIX := $(or $(value PREFIX),build/lib$(if $(MINE),-mine))
lib: ## libtl.so for other programs and languages: PREFIX=folder MINE=1
lib: $(foreach r,float double,$(call lib_file,$r) $(call lib_plugins,$r))
	@VERSION=$(LIB_VERSION) CC=$(call quote,$(CC)) tools/install_lib.sh $(call quote,$(LIB_PREFIX)) \
	    $(foreach r,float double,$r $(call lib_file,$r) $(call lib_plugins,$r) --)

-include $(foreach m,float double,$(patsubst \
	%.c,build/$m$(SUFFIX)/%.lib.d,$(LIB_C) tl/abi/dispatch.c))
