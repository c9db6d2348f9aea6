# The text of `make`: targets with a `## ` comment, under their `##@ ` groups, also of what the
# Makefile includes. With -v names=1: their names alone.
BEGIN { if (!names) print "usage: make COMMAND [NAME=value ...]" }
{ show($0) }
/^include / { while ((getline line < $2) > 0) show(line) }
END {
    if (names) exit
    print "\nbuild options: REAL=float|double SAN=1 DEBUG=1 ARCH=native CC=gcc CFLAGS= V=1"
    print "places:        GRADLAB_DATA=data (data sets), PYTHON=.venv/bin/python"
    print "CUDA:          NVCC=nvcc|none CUBLAS_HOME=folder" \
        " CUDA_ARCH=\"75 90\" (default: this machine's GPUs)"
}

function show(line,    name, text) {
    if (line ~ /^##@ / && !names) printf "\n%s\n", substr(line, 5)
    if (line !~ /^(# )?[a-z][a-z0-9-]*:.* ## /) return
    name = line; sub(/^# /, "", name); sub(/:.*/, "", name)
    if (names) { print name; return }
    text = line; sub(/.* ## /, "", text)
    printf "  %-14s %s\n", name, text
}
