#!/bin/bash
# handout_check.sh HANDOUT SOLUTION: does every lab of a handout as a student would who writes what
# SOLUTION has, in a copy of it: 0 points, then all of them; packs, trains, and takes an update.
# Without git, and, where this machine allows it, without a network. Ends with `N passed, N failed`.
# Labs that the handout has closed stay unwritten: all later ones have to do without them.
#
# It needs what `make setup` has put there for the labs, and nothing of the checkout but SOLUTION.
set -uo pipefail
[ $# = 2 ] && [ -d "$1/given" ] && [ -d "$2" ] ||
    { echo "usage: $0 HANDOUT SOLUTION, two folders" >&2; exit 2; }
[ -d "$1/given/$(uname -m)" ] || {
    echo "$1 is for $(ls "$1/given"), and this machine is a $(uname -m):" \
        "make test-distros DISTROS=bookworm-arm64 tries one for aarch64"
    exit 2
} >&2
handout=$(cd "$1" && pwd) solution=$(cd "$2" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
[ ! -x .venv/bin/python ] || export PYTHON="$PWD/.venv/bin/python"
cp -r "$handout" "$work/mine" && cd "$work/mine" || exit 2
mkdir "$work/bin" &&
    printf '#!/bin/sh\necho "git was called: $*" >&2\nexit 99\n' >"$work/bin/git" &&
    chmod +x "$work/bin/git"
export PATH="$work/bin:$PATH" GRADLAB_DATA="$work/data"
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL GRADLAB_COMMIT
alone=()
if unshare -n true 2>/dev/null; then alone=(unshare -n)
elif unshare -rn true 2>/dev/null; then alone=(unshare -rn)
else echo "network: this machine does not let us do without it"; fi
passed=0 failed=0

# step NAME WORDS COMMAND: good if it succeeds and its last line has these words, a pattern
step() {
    local log=$work/log why=
    "${alone[@]}" bash -c "$3" >"$log" 2>&1 </dev/null || why="exit status $?"
    [ -n "$why" ] || tail -n 1 "$log" | grep -qxE "$2" || why="it ends otherwise"
    grep -q 'git was called' "$log" && why="git was called"
    if [ -z "$why" ]; then passed=$((passed + 1)) && echo "passed $1"; return; fi
    failed=$((failed + 1))
    echo "FAILED $1: $why"
    tail -n 12 "$log" | sed 's/^/    /'
}

# An emulated processor (qemu-user) has no ptrace, by which a sanitizer looks for leaks: there it
# ends every program.
printf 'int main(void) { return 0; }\n' >"$work/empty.c"
"${CC:-gcc}" -fsanitize=address -o "$work/empty" "$work/empty.c" 2>"$work/why" &&
    "$work/empty" 2>"$work/why"
sanitized=$?
[ $sanitized = 0 ] || grep -q 'does not work under ptrace' "$work/why" || sanitized=0
[ $sanitized = 0 ] || echo "sanitizers: not tried, this (emulated?) machine cannot look for leaks"

named=$(sed -n 's/^closed *//p' VERSION)
[ "${named:-none}" = none ] || echo "closed, and so not done: $named"
closed=" ${named//,/} "
for folder in labs/lab*/; do
    lab=$(basename "$folder")
    n=${lab#lab}
    [[ $closed != *" $n "* ]] || continue
    step "$lab: nothing is written" "$lab: (not done, [0-9]+ steps? to go|0/100)" \
        "make $lab && make grade HTML=1 >said && grep -q '<h1>' build/grade/$lab/grade.html &&
        cat said"
    step "$lab: an untouched skeleton is not packed" '.*there is nothing to hand in yet' \
        "! make -s submit LAB=$n >said 2>&1 && grep -v ^make: said"
    for file in "$solution/$lab"/*.c "$solution/$lab"/*.cu "$solution/$lab"/*.toml; do
        [ ! -e "$file" ] || cp "$file" "$folder"
    done
    step "$lab: all is written" "$lab: (done|100/100(, extra ([0-9]+)/\3)?)" \
        "make $lab && make grade"
    if [ $sanitized = 0 ]; then
        step "$lab: under sanitizers it is right, too" \
            "$lab: (done|100/100(, extra ([0-9]+)/\3)?)" "make $lab SAN=1 && make grade SAN=1"
    fi
    step "$lab: it is graded again and packed" '[0-9a-f]{64}' \
        "make submit LAB=$n >said 2>&1; grep 'could not be graded' said || cat said"
done
if [ -d labs/lab5 ]; then
    step "a net is trained" 'results  .*' "make train LIMIT=500 EPOCHS=1"
    if why=$(make -n report DRAFT=1 2>&1); then
        step "a report is written" '.*report/build/report.pdf.*' "make report DRAFT=1"
    else
        echo "no report was written: ${why#*\*\*\* }"
    fi
fi

# A newer handout: a header says more, a skeleton is another, and a file has gone.
newer=$work/newer
cp -r "$handout" "$newer" && (
    cd "$newer" && echo '/* newer */' >>tl/include/tl/vector.h && rm LICENSE &&
        sed -i '1s/.*/gradlab newer/' VERSION && rm MANIFEST.sha256 &&
        find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >"$work/list" &&
        mv "$work/list" MANIFEST.sha256
) || exit 2
mine=$(cat labs/lab*/*.c* labs/lab*/*.toml | sha256sum)
step "an update is taken" 'was gradlab .*, is now gradlab newer' "make update FROM=$newer"
step "it is there, and the student's files are as they were" good "
    grep -q newer tl/include/tl/vector.h && [ ! -e LICENSE ] &&
    [ '$mine' = \"\$(cat labs/lab*/*.c* labs/lab*/*.toml | sha256sum)\" ] && echo good"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
