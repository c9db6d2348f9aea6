#!/bin/bash
# prebuild.sh: the last step of an image: finds the sandbox's tier, and grades every lab once as
# submissions will be graded, so that what is no student's is built. An image in which the solution
# has not all of its points, or in which no tier holds, is none.
#
# With a handout in the place of the repository there are no solutions: the skeletons are graded.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
exec >&2 # (buildah --quiet shows this alone)
die() {
    echo "image: $1"
    exit 1
}

mkdir -p build
if [ -d given ]; then
    # (in a folder of their own, as those that are graded later: nothing built of them may stay)
    cp -r labs build/skeletons
    words='lab[0-9]: (not done, [0-9]+ steps to go|0/100)' what=(LABS=build/skeletons)
else
    tier=$(PYTHONPATH=autograder/grade:tools python3 autograder/grade/sandbox.py) || die "$tier"
    echo "image: sandbox: $tier"
    secret=build/secret # of this build alone: the course's is never in an image
    make -s secret SECRET=$secret >build/graded
    words='lab[0-9]: (done|100/100(, extra ([0-9]+)/\3)?)' what=(SUBMISSION=solution SECRET=$secret)
fi
for list in autograder/lab*/lab.toml; do
    lab=${list//[!0-9]/}
    if ! make grade LAB="$lab" "${what[@]}" >build/graded 2>&1 ||
        ! tail -n 1 build/graded | grep -xE "$words"; then
        tail -n 30 build/graded
        die "lab $lab is not graded here as it has to be: see above"
    fi
done

# What was graded, and what was built of it: a later submission must find nothing of that.
[ ! -d build/submissions ] || chmod -R u+w build/submissions
rm -rf build/secret build/skeletons build/graded build/grade build/spent build/submissions \
    build/*/from
