#!/bin/bash
# gpu_packages.sh FOLDER: fetches what tools/gpu_suite.sh needs and a GPU machine without network
# may lack, to be carried there (CARRIED=FOLDER): Criterion and the libraries that it needs, as
# packages of this Debian, and PyTorch's own test helper. Needs apt, pip and a network; a few MB.
set -euo pipefail
folder=${1:?usage: $0 FOLDER}
mkdir -p "$folder"
cd "$folder"

# (what every Debian and Ubuntu has is its own there: an older libc would not even start)
own='^(libc6|libgcc-s1|gcc-.*|libcom-err2|libssl3|libkeyutils1|libk(rb)?5.*|libgssapi.*|zlib1g)$'
needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances libcriterion3 | grep '^[a-z]' | grep -vE "$own" | sort -u)
# (_apt is apt's own user, who must not write here)
apt-get -qq -o APT::Sandbox::User=root download \
    $needed libcriterion-dev libboxfort-dev libnanomsg-dev
pip download -q --no-deps -d . expecttest
ls
