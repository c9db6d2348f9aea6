# nearest.awk UNKNOWN COMMAND KNOWN...: names an unknown option and the known one nearest to it;
# with -v goals=1 a goal of make.

function min(a, b) { return a < b ? a : b }

# Levenshtein's distance: the fewest insertions, deletions and replacements from a to b.
function distance(a, b,    i, j, row, diagonal, above) {
    for (j = 0; j <= length(b); j++) row[j] = j
    for (i = 1; i <= length(a); i++) {
        diagonal = row[0]; row[0] = i
        for (j = 1; j <= length(b); j++) {
            above = row[j]
            row[j] = min(min(above, row[j - 1]) + 1,
                         diagonal + (substr(a, i, 1) != substr(b, j, 1)))
            diagonal = above
        }
    }
    return row[length(b)]
}

BEGIN {
    best = 1000
    for (k = 3; k < ARGC; k++) {
        d = distance(goals ? ARGV[1] : toupper(ARGV[1]), ARGV[k])
        if (d < best) { best = d; nearest = ARGV[k] }
    }
    near = best <= 2 || best < length(ARGV[1]) / 2
    if (goals && ARGV[1] ~ /^lab[0-9]+$/) {
        printf "there is no lab %s in this copy: ", substr(ARGV[1], 4)
        print "a later handout may bring it (make update), and make alone lists what is here"
        exit
    }
    if (goals) {
        printf "there is no goal %s; ", ARGV[1]
        print near ? "the nearest is " nearest : "make alone lists them all"
        exit
    }
    sub(/ $/, "", ARGV[2])
    printf "%s: unknown option %s", ARGV[2], ARGV[1]
    if (near) {
        printf "; the nearest that it takes is %s\n", nearest
    } else {
        printf "; it takes"
        for (k = 3; k < ARGC; k++) printf " %s", ARGV[k]
        printf "\n"
    }
}
