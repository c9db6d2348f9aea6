# unhooked.awk FILE x.ii: accesses that g++ places no hook at, though they lead out of the variable
# that they begin at. Reads what -fdump-tree-tsan-lineno=FILE has left of a file that was compiled
# with hooks, and what the compiler was given; says `file:line: error: why`; exit 1 if there is one.
#
# An access through a pointer has a hook, wherever it leads. One that begins at a variable by its
# name has none, if the variable is constant or nobody has its address: that the index is in bounds
# is asked by the type, which a cast replaces; that the access ends within the variable, by its
# size. Below a variable, behind a function or a label, nobody asks. A cast shows in the dump:
#     MEM[(struct everything *)&name + -8B].field[index_5]
# A function that returns a struct writes it without a hook, too, and where its caller has said: who
# takes it for a function of another type says what he likes. So it is there to be called alone.

BEGIN {
    FAR = 1e12 # bytes: with the size of a type on top, below would come round to above
    PLACE = "^ *\\[[^][\" ]+:[0-9]+:[0-9]+( discrim [0-9]+)?\\] "
    OURS = "^([^:]*/)?hostcuda/include/" # (what is hc:: there is nobody's to name)
    NOBODY = ", and no checker sees where that leads"
}

function said(where, why) {
    if (!((where, why) in told)) print where ": error: " why NOBODY
    told[where, why] = bad = 1
}

# no variable: a value, such as a pointer's (# numbers the arguments of a pack)
function is_ssa(name) { return name ~ /^(<retval>)?[A-Za-z0-9_.$#]*_[0-9]+(\(D\))?$/ }

# How much of the text its first parenthesis takes; 0 where it has no end.
function closed(text,    at, depth, c) {
    for (at = 1; at <= length(text); at++) {
        c = substr(text, at, 1)
        depth += (c == "(") - (c == ")")
        if (depth == 0) return at
    }
    return 0
}

# Of one MEM[…] what stands behind its first bracket.
function access(where, text,    end, type, base, offset) {
    end = closed(text)
    type = substr(text, 1, end)
    text = substr(text, end + 1)
    if (end && match(text, /^(<retval>)?[A-Za-z0-9_.$#]+(\(D\))?/)) {
        base = substr(text, 1, RLENGTH)
        if ((is_ssa(base) || base ~ /^[0-9]+B$/) && substr(text, RLENGTH + 1) ~ /^[] ]/) return
    }
    if (!end || !(match(text, /^&[A-Za-z0-9_.$<>]+/) || match(text, /^"([^"\\]|\\.)*"/))) {
        said(where, "an access begins at a function")
        return
    }
    base = substr(text, 1, RLENGTH)
    offset = substr(text, RLENGTH + 1)
    # (with an index behind it there is a hook)
    offset = offset ~ /^ \+ -?[0-9]+B\]/ ? substr(offset, 4) + 0 : 0
    sub(/^&/, "", base)
    if (base in label)
        said(where, "an access begins at a label")
    else if (offset < 0 || offset > FAR)
        said(where, "an access begins outside of " base)
    else if (type ~ /\[[^]]*[^]0-9:][^]]*\]/)
        said(where, base " is taken for an array whose bound is a variable")
}

# Both MEM[(type *)…] and MEM <type> [(type *)…].
function accesses(where, line,    is_address, has_type) {
    while (match(line, /MEM( <|\[)/)) {
        is_address = substr(line, RSTART - 1, 1) == "&"
        has_type = RLENGTH > 4
        line = substr(line, RSTART + RLENGTH)
        if (has_type) line = substr(line, index(line, "> [(") + 3)
        if (!is_address) access(where, line)
    }
}

# A function's name stands in a line where it is not called.
function names(line, f,    n, before) {
    while (n = index(line, f)) {
        before = substr(line, n - 1, n > 1)
        line = substr(line, n + length(f))
        # (operator+= is another one)
        if (before !~ /[A-Za-z0-9_$]/ && line !~ /^([A-Za-z0-9_$]| *\()/ &&
            !((f substr(line, 1, 1)) ~ /^operator([-+*\/]=|\+\+|--|->)$/))
            said(where ":" at, f " returns a struct, and is not only called")
    }
}

# (a label may stand behind what begins at it)
function function_ends(    i) {
    for (i = 1; i <= lines; i++) accesses(place[i], text_of[i])
    split("", label)
    lines = 0
}

FNR == 1 && NR > 1 { is_source = 1 }
is_source && /^# [0-9]+ "/ { where = $3; at = $2 - 1; gsub(/"/, "", where); next }
is_source {
    at++
    if (where ~ /\.cu$/)
        for (f in of_struct) names($0, f)
    next
}

/^;; Function / {
    function_ends()
    name = $0
    sub(/^;; Function /, "", name)
    sub(/ \([^(]*funcdef_no=.*/, "", name)
    where = begins = ""
    next
}

{
    line = $0
    if (match(line, PLACE)) {
        where = substr(line, RSTART, RLENGTH)
        gsub(/^ *\[|:[0-9]+( discrim [0-9]+)?\] $/, "", where)
        if (begins == "") begins = where
    }
    gsub(/\[[^][" ]+:[0-9]+:[0-9]+( discrim [0-9]+)?\] /, "", line)
}
line ~ /^[A-Za-z0-9_.$<> ]+:/ { base = line; gsub(/^ +|:.*/, "", base); label[base] = 1 }
line ~ /^ *\.UBSAN_BOUNDS .* 18446744073709551615\);$/ {
    said(where, "an index into an array of no elements")
}
line ~ /^ *(# DEBUG|\.UBSAN_)/ || line !~ /^  / { next }
line ~ /^ *return (<retval>|D\.[0-9]+);/ {
    if (name ~ /^([A-Za-z_][A-Za-z0-9_]*|operator[-+*\/])$/) of_struct[name] = 1
    else if (begins !~ OURS)
        said(begins, name " returns a struct (make it inline, or a function of its own)")
}
{ place[++lines] = where; text_of[lines] = line }

END {
    function_ends()
    exit bad
}
