# shared.awk: from clang's PTX, demangled, to ptxas's words for functions with more __shared__ memory
# than a block has. (What a kernel's callees have is not added to its own, as ptxas does.)
#
#   .shared .align 4 .b8 void smooth<32>(float*)::tile[4096];     then    .entry void smooth<32>(

match($0, /\.shared \.align [0-9]+ \.[a-z][0-9]+ /) && !/\.extern/ {
    width = substr($0, RSTART, RLENGTH)
    sub(/.*\.[a-z]/, "", width)
    name = substr($0, RSTART + RLENGTH)
    sub(/;.*/, "", name)
    count = 1
    if (match(name, /\[[0-9]+\]$/)) count = substr(name, RSTART + 1, RLENGTH - 2)
    sub(/::[^:]*$/, "", name)
    bytes[name] += width / 8 * count
}
match($0, /\.entry /) {
    name = substr($0, RSTART + RLENGTH)
    sub(/\($/, "", name)
    entries = entries name "\n" # of a template with `void ` before it, as the arrays have not
}
END {
    for (name in bytes)
        if (bytes[name] > 49152)
            printf "ptxas error   : %s '%s' uses too much shared data (0x%x bytes, 0xc000 max)\n",
                index(entries, name "\n") ? "Entry function" : "Function", name, bytes[name]
}
