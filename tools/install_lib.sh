#!/bin/bash
# install_lib.sh PREFIX [PRECISION LIBRARY PLUGIN… --]…: lays libtl.so with headers, plug-ins and
# pkg-config files into PREFIX, which can be moved as a whole: the .pc files go by where they lie.
# What was there is replaced file by file, each complete from the first moment on, so that programs
# that run with the old one go on. VERSION is the library's.
set -euo pipefail
prefix=$1
shift

stop() {
    echo "lib: $1" >&2
    exit 1
}

# put FILE FOLDER
put() {
    local to
    to=$2/$(basename "$1")
    cp "$1" "$to.part.$$" && mv "$to.part.$$" "$to" || {
        rm -f "$to.part.$$"
        stop "$to cannot be written (see above); say PREFIX=folder, one of your own"
    }
}

mkdir -p "$prefix/include/tl" "$prefix/lib/pkgconfig" "$prefix/share/doc/tl" 2>/dev/null ||
    stop "$prefix cannot be written: say PREFIX=folder, one of your own"
# What tl.h leads to: the other headers are for .cu files and plug-ins, or for functions within.
headers=$($CC -MM -Itl/include tl/include/tl/tl.h | tr ' \\' '\n\n' | grep '^tl/include/tl/') ||
    stop "$CC cannot read tl/include/tl/tl.h"
for header in $headers; do put "$header" "$prefix/include/tl"; done
for page in README.md example.c example.py; do put "tl/abi/$page" "$prefix/share/doc/tl"; done

while [ $# -gt 0 ]; do
    real=$1 library=$2
    shift 2
    folder=$prefix/lib/tl/$real
    mkdir -p "$folder"
    put "$library" "$folder"
    ln -sfn "$(basename "$library")" "$folder/$(basename "${library%.*}")"
    while [ "$1" != -- ]; do
        put "$1" "$folder"
        shift
    done
    shift
    name=$(basename "${library%.so.*}")
    pc=tl flags=
    if [ "$real" = double ]; then pc=tl-double flags=" -DTL_REAL_DOUBLE"; fi
    cat >"$prefix/lib/pkgconfig/$pc.pc" <<PC
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib/tl/$real

Name: $pc
Description: gradlab's tensor library, tl_real is $real
Version: $VERSION
Cflags: -I\${prefix}/include$flags
Libs: -L\${libdir} -Wl,-rpath,\${libdir} -l${name#lib}
PC
done
echo "lib      $prefix: headers in include/tl, libraries in lib/tl; for a C program:"
echo "         export PKG_CONFIG_PATH=$(cd "$prefix" && pwd)/lib/pkgconfig"
echo "         cc program.c \$(pkg-config --cflags --libs tl)"
