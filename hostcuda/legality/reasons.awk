# reasons.awk: from what nvcc or clang says to one line for each mistake. Exit 1 if there is none.
#
#   nvcc   x.cu(7): error: …          then indented context, such as `at line 9 of x.cu`
#   clang  x.cu:7:3: error: …         then notes, of which the first reason is the best
#   ptxas  ptxas error   : Entry function 'k(float*)' uses …      of a kernel, without a line
#
# A mistake that is reported inside of a header belongs to the student's line that led there.

function flush(   where) {
    if (text == "") return
    where = file ":" line
    if (file ~ /^\/usr\/|hostcuda\/(include|legality)\// && from != "") where = from
    if (reason != "") text = text " (" reason ")"
    if (!((where text) in told)) print where ": error: this is not legal CUDA: " text
    told[where text] = 1
    text = reason = from = ""
    count++
}

match($0, /^[^ (]+\([0-9]+\): error( #[0-9-]+D?)?: /) {
    flush()
    head = substr($0, 1, RLENGTH)
    text = substr($0, RLENGTH + 1)
    file = head; sub(/\(.*/, "", file)
    line = head; sub(/^[^(]*\(/, "", line); sub(/\).*/, "", line)
    next
}
match($0, /^[^ :]+:[0-9]+:[0-9]+: (fatal )?error: /) {
    flush()
    split($0, part, ":")
    text = substr($0, RLENGTH + 1)
    file = part[1]; line = part[2]
    next
}
# The line where a kernel, named with types and arguments, stands in the student's file.
function line_of(kernel,   row, found, text) {
    gsub(/\(anonymous namespace\)::/, "", kernel)
    sub(/[(<].*/, "", kernel)
    sub(/.*[ :]/, "", kernel)
    while (found == 0 && (getline text < wanted) > 0) {
        row++
        if (text ~ ("(^|[^A-Za-z0-9_])" kernel "[ \t]*[(]")) found = row
    }
    close(wanted)
    return found == 0 ? 1 : found
}
match($0, /^ptxas error *: /) {
    flush()
    text = substr($0, RLENGTH + 1)
    sub(/'void /, "'", text) # of a template
    file = wanted; line = split(text, part, "'") > 1 ? line_of(part[2]) : 1
    if (text ~ /too much shared data/)
        reason = "a block has 48 KiB for its __shared__ arrays: take a smaller tile, or extern " \
            "__shared__ with cudaFuncSetAttribute"
    next
}
# context of nvcc
match($0, /at line [0-9]+ of /) {
    rest = substr($0, RSTART + 8)
    at = rest; sub(/ of .*/, "", at)
    path = rest; sub(/^[0-9]+ of "?/, "", path); sub(/".*/, "", path)
    if (path == wanted) from = path ":" at
    next
}
# notes of clang
match($0, /^[^ :]+:[0-9]+:[0-9]+: note: /) {
    split($0, part, ":")
    note = substr($0, RLENGTH + 1)
    if (part[1] == wanted && from == "") from = part[1] ":" part[2]
    if (reason == "" && note ~ /call to __(host|device|global)/) {
        reason = note
        sub(/^.*not viable: /, "", reason)
    }
}
END {
    flush()
    exit count == 0
}
