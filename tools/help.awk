# The text of `make`: targets with a `## ` comment, under their `##@ ` groups.
BEGIN { print "usage: make COMMAND [NAME=value ...]" }
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^(# )?[a-z][a-z-]*:.* ## / {
    name = $0; sub(/^# /, "", name); sub(/:.*/, "", name)
    text = $0; sub(/.* ## /, "", text)
    printf "  %-14s %s\n", name, text
}
END {
    print "\nbuild options: REAL=float|double SAN=1 DEBUG=1 ARCH=native CC=gcc CFLAGS= V=1"
    print "places:        GRADLAB_DATA=data (data sets), PYTHON=.venv/bin/python"
    print "CUDA:          NVCC=nvcc|none CUBLAS_HOME=folder CUDA_ARCH=\"75 90\" (default: this machine's GPUs)"
}
