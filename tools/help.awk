# The text of `make`: targets with a `## ` comment, under their `##@ ` groups, also of what the
# Makefile includes. Goals of maintainers and instructors (groups of `##@@ `, and texts that say so)
# come with -v all=1 alone. With -v names=1: the names of all goals, and nothing else.
BEGIN { if (!names) print "usage: make COMMAND [NAME=value ...]" }
{ show($0) }
/^-?include / { while ((getline line < $2) > 0) show(line) }
END {
    if (names) exit
    print "\nbuild options: REAL=float|double SAN=1 DEBUG=1 ARCH=native CC=gcc CFLAGS= V=1"
    print "places:        GRADLAB_DATA=data (data sets), PYTHON=.venv/bin/python"
    print "CUDA:          NVCC=nvcc|none CUBLAS_HOME=folder" \
        " CUDA_ARCH=\"75 90\" (default: this machine's GPUs)"
    if (!all) print "\nmake help ALL=1 lists the maintainer's commands, too"
}

function show(line,    name, text) {
    if (line ~ /^##@@? /) {
        hidden = line ~ /^##@@/ && !all
        group = substr(line, index(line, " ") + 1)
    }
    if (line !~ /^(# )?[a-z][a-z0-9_.-]*:.* ## /) return
    name = line; sub(/^# /, "", name); sub(/:.*/, "", name)
    if (names) { print name; return }
    text = line; sub(/.* ## /, "", text)
    if (hidden || !all && text ~ /^the (maintainer|instructor)'s: /) return
    if (group != "") printf "\n%s\n", group
    group = ""
    printf "  %-17s %s\n", name, text
}
