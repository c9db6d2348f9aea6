#!/bin/bash
# test_distros.sh: the first hour on bare Debians. Each of them is debootstrap's smallest system
# with git and make in it, and a clone of this commit (what is not committed is not in it). There
#     alone   make setup by itself: then labs 1 and 3 are graded, a net is trained, and a report
#             says what it needs; in a system of its own
#     train   README's first command: make setup train (of shapes10, an epoch of 500 images)
#     labs    each lab's skeletons are built and graded, 0 points, and its solution, all of them
#     test    README's second command: make setup test
#     handout a handout of this commit, set up and then done from lab 0 to 5 with the solution's
#             files, its report written, without git and network (course/handout_check.sh)
#     user    the first command and a lab again, as a user without root, whose packages are there;
#             in the first system the second command, too
# are done with gcc and, but for the last, in a fresh system with clang. A step fails by its exit
# status, by a warning of a compiler, or where it does not end with the words that it should.
#
# In bookworm-arm64 that is a handout for aarch64, of LABS, made here and done there: what runs
# there, compilers too, qemu-user translates.
#
#   DISTROS  "bookworm trixie sid bookworm-arm64"   STEPS  "alone train labs test handout user"
#   COMPILERS  "gcc clang"
#   LABS     0,1,2: those of a system for arm64, where each takes many minutes
#   TREES    build/distros: keeps bare systems (for 30 days), fetched packages, and logs
#
# Packages come from where this machine's apt has them, and Python's from where its pip has them.
# Ends with `N passed, N failed`. Needs root and debootstrap; some hours.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
DISTROS=${DISTROS-bookworm trixie sid bookworm-arm64}
STEPS=${STEPS:-alone train labs test handout user}
COMPILERS=${COMPILERS:-gcc clang}
LABS=${LABS:-0,1,2}
TREES=${TREES:-build/distros}
passed=0 failed=0

fail() { # NAME WHY
    echo "FAILED $1: $2"
    failed=$((failed + 1))
}
finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" != 0 ]
    exit
}
lacks() {
    fail distros "$1"
    finish
}
[ "$(id -u)" = 0 ] || lacks "systems are made as root: sudo make test-distros"
for tool in debootstrap git unshare pivot_root; do
    command -v $tool >/dev/null || lacks "there is no $tool: apt-get install debootstrap git"
done
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] ||
    lacks "this is no clone to clone: git has no commit of it"
mkdir -p "$TREES/log" "$TREES/systems" && TREES=$(cd "$TREES" && pwd) || exit 1

# ---- a bare system -------------------------------------------------------------------------------

. tools/debian.sh
mirror=$(debian_mirror)

# The tree of a bare system, made once in 30 days and never changed: of bookworm, or bookworm-arm64.
bare() { # SYSTEM
    local tree=$TREES/$1 suite=${1%%-*} arch=${1#"${1%%-*}"}
    if [ -z "$(find "$tree" -maxdepth 0 -mtime -30 2>/dev/null)" ]; then
        rm -rf "$tree" "$tree.part"
        debootstrap ${arch:+"--arch=${arch#-}"} --variant=minbase \
            --include=git,make,ca-certificates "$suite" "$tree.part" \
            ${mirror:+"$mirror"} >"$TREES/log/$1-debootstrap.log" 2>&1 || return 1
        debian_apt_options >"$tree.part/etc/apt/apt.conf.d/90host"
        touch "$tree.part" && mv "$tree.part" "$tree"
    fi
}

# What pip knows of this machine: its files of options, and the folders that they name. A
# certificate is copied to a place of its own, for packages that bring certificates write theirs.
pip_options=() pip_folders=()
learn_pip() { # ROOT
    local root=$1 file place certificate
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
        [ -f "$file" ] && cat "$file"
    done | awk '/^\[/ { head = $0; next } head == "[global]"' |
        { echo "[global]"; sort -u -t= -k1,1; } >"$root/etc/pip.conf"
    mapfile -t pip_options < <(env | grep '^PIP_')
    certificate=$(printf '%s\n' "${pip_options[@]}" | sed -n 's/^PIP_CERT=//p')
    certificate=${certificate:-$(sed -n 's/^ *cert *= *//p' "$root/etc/pip.conf")}
    if [ -f "$certificate" ]; then
        cp "$certificate" "$root/etc/pip-certificates"
        pip_options+=("PIP_CERT=/etc/pip-certificates")
    fi
    pip_folders=()
    for place in $({ cat "$root/etc/pip.conf"; printf '%s\n' "${pip_options[@]}"; } |
        grep -oE '(file://|[= ])/[^ ]+' | sed 's,^file://,,; s,^[= ],,; s,/simple/*$,,'); do
        if [ -d "$place" ]; then pip_folders+=("$place"); fi
    done
}

# A copy of the bare system, to be changed, with a clone in it.
copy() { # SUITE ROOT
    rm -rf "$2" && cp -a --reflink=auto "$TREES/$1" "$2" && cp -L /etc/resolv.conf "$2/etc/" &&
        chroot "$2" useradd -m -s /bin/bash student &&
        git clone -q --no-hardlinks . "$2/root/gradlab" &&
        cp -a "$2/root/gradlab" "$2/home/student/" &&
        chroot "$2" chown -R student: /home/student && learn_pip "$2"
}

# Runs a command in a system, with processes and mounts of its own, which end with it. (Not by
# chroot: from within one a sandbox cannot be made.)
inside() { # SUITE ROOT USER COMMAND
    local suite=$1 root=$2 user=$3
    mkdir -p "$TREES/packages/$suite/partial"
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1 packages=$2 user=$3 command=$4
        shift 4
        mount --make-rprivate / && mount --bind "$root" "$root"
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys" && mount --bind "$packages" "$root/var/cache/apt/archives"
        while [ "$1" != -- ]; do mkdir -p "$root$1" && mount --rbind "$1" "$root$1" && shift; done
        shift
        cd "$root" && pivot_root . . && umount -l .
        home=$(getent passwd "$user" | cut -d: -f6)
        cd "$home/gradlab"
        exec env -i HOME="$home" USER="$user" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
            TERM=dumb "$@" setpriv --reuid "$user" --regid "$user" --init-groups \
            bash -c "$command"' \
        inside "$root" "$TREES/packages/$suite" "$user" "$4" \
        "${pip_folders[@]}" -- "${pip_options[@]}" "MAKEFLAGS=-j$(nproc)" </dev/null
}

# (a command that was interrupted must not be taken for a step that failed)
trap 'echo "stopped" >&2; exit 130' INT TERM

# ---- steps ---------------------------------------------------------------------------------------

WARNS='(^|: )warning: '
# try NAME WORDS SUITE ROOT USER COMMAND: $why is empty if the last line has these words (a
# pattern) and nothing warned. verdict NAME says so and counts.
try() {
    local name=$1 words=$2
    log=$TREES/log/${1// /-}.log start=$SECONDS why=
    shift 2
    inside "$@" >"$log" 2>&1 || why="exit status $?"
    grep -qE "$WARNS" "$log" && why="$(grep -cE "$WARNS" "$log") warnings"
    [ -n "$why" ] || tail -n 1 "$log" | grep -qxE "$words" ||
        why="ends otherwise: $(tail -n 1 "$log")"
}
verdict() {
    if [ -z "$why" ]; then
        echo "passed $1, $((SECONDS - start)) s"
        passed=$((passed + 1))
    else
        fail "$1" "$why, see $log"
        grep -E "^FAILED|$WARNS" "$log" | sort | uniq -c | head -20
    fi
}
step() {
    try "$@"
    verdict "$1"
}

# Skeletons get nothing and the solution everything; lab 0 has steps instead of points.
nothing='lab[0-9]: (not done, [0-9]+ steps to go|0/100)'
everything='lab[0-9]: (done|100/100(, extra ([0-9]+)/\3)?)'
lab_steps() { # SUITE ROOT CC
    local list n
    for list in autograder/lab*/lab.toml; do
        n=${list//[!0-9]/}
        step "$1 $3 lab $n" "$nothing" "$1" "$2" root \
            "make CC=$3 setup lab$n && make CC=$3 lab$n && make CC=$3 grade"
        step "$1 $3 lab $n solution" "$everything" "$1" "$2" root \
            "make CC=$3 lab$n LABS=solution && make CC=$3 grade LAB=$n LABS=solution"
    done
}

# Where no index that is reached has PyTorch's build for CPUs, setup takes a PyTorch that is in
# .venv: the one with CUDA, 3 GB. A Debian can also be too new for any, and has no twin then.
tests='[1-9][0-9]* passed, 0 failed'
test_step() { # SUITE ROOT CC
    local name="$1 $3 test" python=.venv/bin/python second="make CC=$3 setup test"
    try "$name" "$tests" "$1" "$2" root "$second"
    if [ -n "$why" ] &&
        inside "$1" "$2" root "$python -m pip --version && ! $python -c 'import torch'" &>/dev/null
    then
        echo "  $1: $(grep '^setup: ' "$log" | tail -n 1)"
        if inside "$1" "$2" root "$python -m pip install -q --no-compile \
            $(grep ^torch== baseline/requirements.txt)" &>"$log"; then
            name+=" (PyTorch with CUDA)"
        else
            name+=" without the twin"
            second="grep -v ^torch== baseline/requirements.txt >/tmp/packages &&
            $python -m pip install -q -r /tmp/packages -r report/requirements.txt >/tmp/pip.log &&
            make CC=$3 test-without-twin"
        fi
        try "$name" "$tests" "$1" "$2" root "$second"
    fi
    verdict "$name"
}

# (what a report needs and `make setup` alone has not fetched is one line with the command)
alone_step() { # SUITE CC
    local root=$TREES/systems/$1-$2-alone words='Makefile:[0-9]+: \*\*\* report: .*'
    copy "$1" "$root" || { fail "$1 $2 alone" "$root could not be made" && return; }
    step "$1 $2 alone" "$words: run make setup report.*" "$1" "$root" root "
        make CC=$2 setup && make CC=$2 lab1 && make CC=$2 grade && make CC=$2 lab3 &&
        make CC=$2 grade && make CC=$2 train $SMALL && { make CC=$2 report 2>&1 | tail -n 1; }"
    rm -rf "$root"
}

# (made here, as an instructor does, with options of its own alone; in the system there is nothing
# of ours but it and the answers)
handout_step() { # SYSTEM SETUP OPTION...
    local system=$1 setup=$2 root=$TREES/systems/$1-handout made=$TREES/handout
    local log=$TREES/log/$1-handout-made.log
    shift 2
    rm -rf "$made"
    env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u MAKELEVEL \
        make -s handout OUT="$made" "$@" >"$log" 2>&1 ||
        { fail "$system handout" "$(grep . "$log" | head -1), see $log" && return; }
    copy "$system" "$root" && rm -rf "$root/root/gradlab" "$root/home/student/gradlab" &&
        cp -r "$made" "$root/root/gradlab" && mkdir "$root/root/check" &&
        cp -r solution autograder/course/handout_check.sh "$root/root/check" ||
        { fail "$system handout" "$root could not be made" && return; }
    step "$system handout" "$tests" "$system" "$root" root "
        $setup && make clean && ../check/handout_check.sh . ../check/solution"
    rm -rf "$root"
}

arm64_steps() { # SYSTEM
    [ "$(uname -m)" = aarch64 ] || grep -qs enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 || {
        fail "$1" "programs of aarch64 do not run here: apt-get install qemu-user-static, and \
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc where that is empty (in a container, on its \
host)"
        return
    }
    bare "$1" || { fail "$1" "see $TREES/log/$1-debootstrap.log"; return; }
    handout_step "$1" "make setup lab0" LABS="$LABS" MACHINES=aarch64
}

user_steps() { # SUITE ROOT
    inside "$1" "$2" root "tools/setup.sh train lab3" &>/dev/null
    step "$1 user train" "$FIRST" "$1" "$2" student "make setup train $SMALL"
    step "$1 user lab 3" "$nothing" "$1" "$2" student "make setup lab3 && make lab3 && make grade"
    if [ "$1" = "${DISTROS%% *}" ]; then
        inside "$1" "$2" root "tools/setup.sh test" &>/dev/null
        step "$1 user test" "$tests" "$1" "$2" student "make setup test"
    fi
}

# (where the trainer says that its results lie)
FIRST='results  results/local/train-a-cpu-seed1-limit500/.*'
SMALL='DATASET=shapes10 LIMIT=500 EPOCHS=1'
for suite in $DISTROS; do
    echo "== $suite"
    case $suite in
    *-arm64)
        case " $STEPS " in *" handout "*) arm64_steps "$suite" ;; esac
        continue
        ;;
    esac
    bare "$suite" || { fail "$suite" "see $TREES/log/$suite-debootstrap.log"; continue; }
    for cc in $COMPILERS; do
        root=$TREES/systems/$suite-$cc
            copy "$suite" "$root" || { fail "$suite $cc" "$root could not be made"; continue; }
        for name in $STEPS; do
            case $name in
            alone) alone_step "$suite" "$cc" ;;
            train) step "$suite $cc train" "$FIRST" "$suite" "$root" root \
                "make CC=$cc setup train $SMALL" ;;
            labs) lab_steps "$suite" "$root" "$cc" ;;
            test) test_step "$suite" "$root" "$cc" ;;
            handout) [ "$cc" != gcc ] || handout_step "$suite" \
                "make setup lab0 lab5 train && DRAFT=1 YES=1 tools/setup.sh report" ;;
            user) [ "$cc" != gcc ] || user_steps "$suite" "$root" ;;
            *) lacks "STEPS=$name: one of alone train labs test handout user" ;;
            esac
        done
        rm -rf "$root"
    done
done
finish
