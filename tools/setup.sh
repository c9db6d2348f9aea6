#!/bin/bash
# setup.sh GOAL...: installs what these make goals need and nothing else. Prints plan and sizes
# first, asks once on a terminal (YES=1: does not ask). Never installs a driver or a CUDA toolkit;
# only cuBLAS, where nvcc came without it.
# Running it again with nothing to do prints one line and needs no network.
set -euo pipefail
. tools/probe.sh
goals=$*
log=build/setup.log

die() {
    echo "setup: $1" >&2
    exit 1
}

# ---- what is missing ----------------------------------------------------------------------------

needs=() need_cuda=
for goal in ${goals:-train lab1}; do
    read -ra of_goal <<<"$(needs_of "$goal" | tr '\n' ' ')"
    case $goal in
    train | predict | baseline | parity | bench | bench-* | report*) of_goal+=(cxx) ;; # hostcuda
    test | test-all) of_goal+=(fuzzer python3 bubblewrap zsh) ;; # and are without
    hostile | grade-class) of_goal+=(bubblewrap) ;;
    show) of_goal+=(cxx plotting) ;;
    lab[0-9]) read -ra of_goal <<<"$(needs_of "$goal") $(needs_of grade)" ;; # who builds, grades
    esac
    if [ "$goal" = test-all ]; then of_goal+=(slurm sphinx); fi
    case $goal in
    cuda-all | gpu-suite) need_cuda=1 ;;
    *) if have_gpu; then need_cuda=1; fi ;; # without a GPU nothing else uses the plug-in
    esac
    for need in "${of_goal[@]}"; do
        case " ${needs[*]} " in *" $need "*) ;; *) needs+=("$need") ;; esac
    done
done

lacking=() packages=() list_of_words=
missing() { # missing "DEBIAN PACKAGES" WORDS-FOR-OTHER-SYSTEMS
    local package
    for package in $1; do
        case " ${packages[*]} " in *" $package "*) ;; *) packages+=("$package") ;; esac
    done
    list_of_words+="${list_of_words:+, }$2"
}
nvcc_waits= # for its host compiler, until then it judges nothing
for need in "${needs[@]}"; do
    if "have_$need" 2>/dev/null; then continue; fi
    if [ "$need" = legality ] && have_nvcc && ! have_cxx; then nvcc_waits=1 && continue; fi
    lacking+=("$need")
    about "$need"
    [ -z "$debian" ] || missing "$debian" "$words"
done
lacks() { case " ${lacking[*]} " in *" $1 "*) ;; *) return 1 ;; esac; }

# The package with libFuzzer's runtime, which has clang's version in its name; false if it has no
# such name here. The version is that of the clang that is here, or else of the one that apt-get
# would install, which takes the lists of packages to know. Where there is no such package (Ubuntu
# 22.04), clang's own brings the runtime along.
fuzzer_runtime() {
    local version
    if command -v "$FUZZ_CC" >/dev/null; then
        version=$("$FUZZ_CC" --version | sed -nE 's/.*clang version ([0-9]+).*/\1/p')
    else
        version=$(LC_ALL=C apt-cache policy clang 2>/dev/null |
            sed -nE 's/^ *Candidate: ([0-9]+:)?([0-9]+).*/\2/p')
    fi
    [ -n "$version" ] && apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1 &&
        echo "libclang-rt-$version-dev"
}
if lacks fuzzer; then missing "$(fuzzer_runtime || true)" "its runtime"; fi

# The Pythons that can make the virtual environment; false if there is none. Debian ships venv
# without ensurepip, so both are asked for.
pythons() {
    local name found= usable='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if command -v "$name" >/dev/null && "$name" -c "$usable" 2>/dev/null; then
            echo "$name"
            found=1
        fi
    done
    [ -n "$found" ]
}
if lacks packages; then
    # Only our own .venv is filled; a Python that somebody named is theirs.
    [ "$PYTHON" = .venv/bin/python ] ||
        die "PYTHON=$PYTHON lacks some of what $REQUIREMENTS lists; to fill:
       $PYTHON -m pip install -r $REQUIREMENTS"
    pythons >/dev/null || missing "python3 python3-venv" "Python 3.10 or newer with venv"
fi

if lacks plotting; then
    [ "$PYTHON" = .venv/bin/python ] ||
        die "PYTHON=$PYTHON lacks matplotlib or jinja2; it is yours to fill:
       $PYTHON -m pip install -r report/requirements.txt"
    pythons >/dev/null || missing "python3 python3-venv" "Python 3.10 or newer with venv"
fi

# nvcc alone builds nothing here: some toolkits come without cuBLAS, and PyPI has it for this one.
CUBLAS=13.0.2.14
nvcc_release() {
    local nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
    "$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\).*/\1/p'
}
lacks_cublas() { [ "$(nvcc_release)" = "${CUBLAS%%.*}" ] && [ -z "$(tools/find_cuda.sh)" ]; }
need_cublas=
if [ -n "$need_cuda" ] && lacks_cublas; then
    need_cublas=1
    [ "$PYTHON" = .venv/bin/python ] ||
        die "nvcc has no cuBLAS beside it, and PYTHON=$PYTHON is yours to fill:
       $PYTHON -m pip install nvidia-cublas==$CUBLAS, or give CUBLAS_HOME=folder"
    pythons >/dev/null || missing "python3 python3-venv" "Python 3.10 or newer with venv"
fi

if [ ${#packages[@]} = 0 ] && ! lacks packages && ! lacks plotting && [ -z "$need_cublas" ]; then
    echo "setup: everything that is needed for ${goals:-labs and training} is here"
    exit 0
fi

# ---- the plan -----------------------------------------------------------------------------------

(mkdir -p build && : >"$log") 2>/dev/null ||
    die "$PWD/build cannot be written (read-only, or full?): copy gradlab to a folder of your own \
(cp -r), and type it there"
run_logged() { "$@" >>"$log" 2>&1; }
# why GUESS: what the log knows of a failure, else what it most likely was.
why() { if grep -qi 'no space left' "$log"; then echo "the disk is full"; else echo "$1"; fi; }
no_room() { # no_room MB FOLDER
    free=$(df -Pm "$2" 2>/dev/null | awk 'NR == 2 { print $4 }')
    [ "${free:-$1}" -lt "$1" ]
}

if [ ${#packages[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        die "this is neither Debian nor Ubuntu: please install $list_of_words; then run it again
       (Debian calls them: ${packages[*]})"
    fi
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    if [ "$(id -u)" != 0 ]; then
        sudo="sudo " who="run this"
        if ! command -v sudo >/dev/null; then sudo= who="have root run this"; fi
        sudo -n true 2>/dev/null ||
            die "packages are root's to install; $who, then type the same make again:
       ${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends ${packages[*]}"
        as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    fi
    apt() { run_logged "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }
    if lacks fuzzer && ! fuzzer_runtime >/dev/null; then
        echo "setup: reading the lists of packages"
        apt update || die "apt-get cannot read its lists (no network?); see $log"
        missing "$(fuzzer_runtime || true)" "its runtime"
    fi
    no_apt() {
        die "apt-get cannot fetch ${packages[*]} ($(why "no network, or no source?")); see $log"
    }
    install=(install -y --no-install-recommends "${packages[@]}")
    # With --print-uris apt-get only lists what it would fetch: 'uri' file bytes hash. A machine
    # that has never seen a package list cannot say, and gets its lists first.
    would_fetch() { apt-get -qq --print-uris "${install[@]}" 2>>"$log"; }
    if ! uris=$(would_fetch); then
        echo "setup: reading the lists of packages"
        apt update || no_apt
        uris=$(would_fetch) || no_apt
    fi
    size=$(awk '{ bytes += $3 } END { printf "%d files, %.1f MB", NR, bytes / 1e6 }' <<<"$uris")
    echo "setup: packages: ${packages[*]} (with what they need: $size to fetch)"
    if lacks legality; then
        echo "setup: of that clang, about 60 MB, is here for one thing, as there is no nvcc that" \
            "works: to say what is not legal CUDA"
    fi
fi
if lacks packages; then
    size="CPU build, about 250 MB to fetch, 900 MB on the disk"
    if have_gpu; then size="with CUDA, about 3 GB to fetch, more on the disk"; fi
    echo "setup: .venv: torch $TORCH ($size), numpy, pytest"
    if no_room 1200 .; then die "$free MB are free in $PWD: too little for .venv"; fi
fi
if lacks plotting; then echo "setup: .venv: matplotlib and jinja2 (about 25 MB)"; fi
if [ -n "$need_cublas" ]; then
    echo "setup: .venv: nvidia-cublas $CUBLAS (about 420 MB), for the nvcc that is here without it"
fi
if [ -t 0 ] && [ "${YES:-}" != 1 ]; then
    read -rp "Go on? [Y/n] " answer
    case $answer in [nN]*) die "nothing was installed" ;; esac
fi

# ---- packages -----------------------------------------------------------------------------------

if [ ${#packages[@]} -gt 0 ]; then
    echo "setup: installing packages"
    # Old package lists name files that the mirror no longer has: refresh and try once more.
    apt "${install[@]}" || { apt update && apt "${install[@]}"; } || no_apt
    for need in "${lacking[@]}"; do
        about "$need"
        if [ -n "$debian" ] && ! "have_$need" 2>>"$log"; then
            # (Ubuntu 22.04: its Python 3.10 wants tomli, which shows once it is there)
            case "$debian ${packages[*]}" in
            *python3-tomli*python3-tomli*) ;;
            python3-tomli*) exec "$0" $goals ;;
            esac
            die "still no $words, though apt-get has installed ${packages[*]}; see $log"
        fi
    done
    if [ -n "$nvcc_waits" ] && ! have_legality 2>>"$log"; then exec "$0" $goals; fi
fi

# ---- torch into .venv ---------------------------------------------------------------------------

cpu_index=https://download.pytorch.org/whl/cpu
pip() { .venv/bin/python -m pip --disable-pip-version-check --no-input "$@"; }
# (few of torch's thousands of files are ever imported: Python translates those when they are)
fill() { run_logged pip install --no-compile "$@"; }

# offered PATTERN [INDEX OPTION...]: this Python can get a torch of that version.
seen_torch=
offered() {
    local pattern=$1 versions
    shift
    versions=$(pip --log "$log" index versions torch "$@" 2>>"$log") || return 1
    seen_torch=1
    grep -qE "[ ,]$pattern(,|$)" <<<"$versions"
}

# What pip is to fetch for the Python in .venv, in `torch`; false if there is no file for it. The
# user's own indexes and folders come first; PyTorch's is asked only where they have no CPU build.
choose_torch() {
    local exact=${TORCH//./\\.}
    torch=("torch==$TORCH")
    if has_torch .venv/bin/python; then
        return 0
    elif have_gpu; then
        offered "$exact(\+[a-z0-9]+)?"
    elif offered "$exact\+cpu"; then
        torch=("torch==$TORCH+cpu")
    elif offered "$exact\+cpu" --extra-index-url "$cpu_index"; then
        torch=("torch==$TORCH+cpu" --extra-index-url "$cpu_index")
    else
        # Elsewhere than on x86-64 the plain file is a CPU build.
        [ "$(uname -m)" != x86_64 ] && offered "$exact"
    fi
}

if lacks packages; then
    chosen=
    for python in .venv/bin/python $(pythons); do
        if [ "$python" = .venv/bin/python ]; then
            pip --version >/dev/null 2>&1 || continue
        else
            # A torch of that version that this Python has already is used, not fetched again.
            site=()
            if has_torch "$python"; then site=(--system-site-packages); fi
            run_logged "$python" -m venv --clear "${site[@]}" .venv || continue
        fi
        if choose_torch; then
            chosen=1
            break
        fi
    done
    if [ -z "$chosen" ]; then
        [ -n "$seen_torch" ] || die "pip reaches no package index (no network?); see $log"
        ! grep -qF "Could not fetch URL $cpu_index" "$log" ||
            die "$cpu_index cannot be reached, and where pip gets through there is no CPU build of
       torch $TORCH for $(pythons | tr '\n' ' ')(no network, or a proxy that is not set?); see $log"
        die "no torch $TORCH for $(pythons | tr '\n' ' ')in any index; see $log"
    fi
    echo "setup: filling .venv, Python $(python_version .venv/bin/python), with ${torch[0]}"
    fill "${torch[@]}" -r "$REQUIREMENTS" ||
        die "pip could not install ${torch[0]} ($(why "no network?")); see $log"
    have_packages ||
        die ".venv still lacks some of what $REQUIREMENTS lists; see $log"
fi

# ---- matplotlib and jinja2 into .venv -----------------------------------------------------------

# (where nothing but a picture is wanted, there may be no .venv yet)
if lacks plotting; then
    for python in $(pythons); do
        if [ -x .venv/bin/python ] && pip --version >/dev/null 2>&1; then break; fi
        run_logged "$python" -m venv --clear .venv || true
    done
    echo "setup: filling .venv with matplotlib and jinja2"
    fill -r report/requirements.txt ||
        die "pip could not install matplotlib and jinja2 ($(why "no network?")); see $log"
fi

# ---- cuBLAS into .venv --------------------------------------------------------------------------

# (a torch with CUDA may just have brought one)
if [ -n "$need_cublas" ] && lacks_cublas; then
    for python in $(pythons); do
        if [ -x .venv/bin/python ] && pip --version >/dev/null 2>&1; then break; fi
        run_logged "$python" -m venv --clear .venv || true
    done
    echo "setup: filling .venv with nvidia-cublas $CUBLAS"
    fill --no-deps "nvidia-cublas==$CUBLAS" ||
        die "pip could not install nvidia-cublas==$CUBLAS ($(why "no network?")); see $log"
    [ -n "$(tools/find_cuda.sh)" ] || die "nvcc still has no cuBLAS; see $log and make doctor"
fi
