#!/bin/bash
# sysroot.sh ARCH FOLDER: what a grader is linked with on machines of another kind (arm64, amd64),
# for a cross compiler's --sysroot: headers and libraries of the oldest Debian that is promised.
# Packages are unpacked, and nothing in them is run; no root is needed.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
SUITE=bookworm
arch=$1 folder=$2
command -v mmdebstrap >/dev/null || {
    echo "there is no mmdebstrap, which fetches Debian's libraries for $arch:" \
        "apt-get install mmdebstrap"
    exit 1
} >&2

work=$folder.part
rm -rf "$work" && mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
debian_apt_options >"$work/apt.conf"
mirror=$(debian_mirror)
mmdebstrap --quiet --variant=extract --architectures="$arch" --aptopt="$work/apt.conf" \
    --include=libc6-dev,libcriterion-dev,libopenblas-dev "$SUITE" - ${mirror:+"$mirror"} |
    tar -xC "$work" ./lib ./usr/include ./usr/lib
# (its installation would link the headers of the one OpenBLAS that is there)
for header in "$work"/usr/include/*/openblas-pthread/*.h; do
    ln -s "openblas-pthread/${header##*/}" "${header%/*/*}/"
done
rm "$work/apt.conf" && rm -rf "$folder" && mv "$work" "$folder"
