#!/bin/bash
# format_check.sh FILE...: are these files of C and CUDA as .clang-format would write them, and no
# line longer than 100 columns? And where ruff is: does it find nothing in the Python files? Ends
# with `N passed, N failed`; exit 0 only if nothing failed.
#
# Versions of clang-format break lines of one style in different places, so that one of them judges:
# 14, Debian 12's. With another one only the columns are judged, and that is said. (Comments stay as
# they are, ReflowComments: false: what overflows would be pushed into the list below it.)
set -uo pipefail
JUDGE=14
COLUMNS_MAX=100

passed=0 failed=0
verdict() { # verdict WHAT STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED format-check: $1"
    fi
}

long=$(LC_ALL=C.UTF-8 grep -nHE "^.{$((COLUMNS_MAX + 1)),}\$" "$@")
[ -z "$long" ] || echo "$long"
[ -z "$long" ]
verdict "lines of more than $COLUMNS_MAX columns" $?

version() { "$1" --version 2>/dev/null | sed -nE 's/.*version ([0-9]+).*/\1/p'; }
judge=
for name in "clang-format-$JUDGE" clang-format; do
    [ -n "$judge" ] || [ "$(version "$name")" != $JUDGE ] || judge=$name
done
if [ -n "$judge" ]; then
    "$judge" --dry-run -Werror "$@"
    verdict "what clang-format $JUDGE would write otherwise (clang-format -i FILE)" $?
elif command -v clang-format >/dev/null; then
    echo "format-check: the style was not judged: here is clang-format $(version clang-format)," \
        "and only $JUDGE judges (Debian 12's, or 'pip install clang-format==14.0.6')"
else
    echo "format-check: no clang-format: run 'make setup format-check'"
    verdict "no clang-format" 1
fi

# Python by the rules of pyproject.toml: of the ruff on the PATH, or beside the Python of make.
ruff=$(command -v ruff || command -v "${PYTHON:+${PYTHON%/*}/ruff}")
if [ -n "$ruff" ]; then
    "$ruff" check --quiet --no-cache .
    verdict "what ruff finds in Python files" $?
else
    echo "format-check: Python was not judged: here is no ruff ('pip install ruff')"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
