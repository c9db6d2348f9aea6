#!/bin/bash
# fetch.sh cifar10|mnist FOLDER [FROM]: puts a data set into FOLDER/<set>, checked, or changes
# nothing.
#
# Archives come from the addresses of mirrors.tsv (MIRRORS=file: another table), in order, or from
# FROM: an archive, or a folder that holds the archives. A download that breaks off is resumed, also
# from the next mirror: a file without the table's SHA-256 is never used. What was unpacked is
# listed with its sums in <set>/SHA256SUMS, by which a later call checks the files again.
# Exit status: 0 the set is there; 1 it could not be had; 2 wrong use.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
table=${MIRRORS:-$here/mirrors.tsv}
slowest=${SLOWEST:-50000} # bytes a second below which a mirror counts as stalled …
patience=${PATIENCE:-20}  # … after so many seconds

die() {
    echo "data: $1" >&2
    exit "${2:-1}"
}

[ $# -ge 2 ] || die "usage: fetch.sh cifar10|mnist FOLDER [FROM]" 2
set_name=$1 folder=$2 from=${3:-}
[ "${from#\~/}" = "$from" ] || from=$HOME/${from#\~/} # not every shell expands it in FROM=~/…
case $set_name in
cifar10)
    files=$(printf 'data_batch_%d.bin ' 1 2 3 4 5)test_batch.bin
    unpacked=184380000
    ;;
mnist)
    files=$(printf '%s-ubyte ' {train,t10k}-{images-idx3,labels-idx1})
    unpacked=54950048
    ;;
*) die "no data set \"$set_name\": DATASET=cifar10, mnist or shapes10" 2 ;;
esac
goal="$folder/$set_name"
parts="$folder/.fetch-$set_name" # partial downloads wait here for the next call

# ---- is it there already? ------------------------------------------------------------------------

complete() {
    local file
    for file in $files; do [ -s "$goal/$file" ] || return 1; done
}

if complete; then
    if [ ! -f "$goal/SHA256SUMS" ]; then
        echo "data: $goal is there, put there by somebody else: its sums are unknown, so unchecked"
        exit 0
    fi
    (cd "$goal" && sha256sum --quiet --strict -c SHA256SUMS) >&2 ||
        die "$goal changed since it was fetched; move it away and run this again"
    rm -rf "$parts" # of a call that was killed behind its last rename
    echo "data: $goal is there, every file has its sum"
    exit 0
fi

elsewhere="GRADLAB_DATA=dir names another"
mkdir -p "$folder" 2>/dev/null || die "cannot create the folder $folder; $elsewhere"
[ -w "$folder" ] || die "cannot write to $folder; $elsewhere"
mkdir -p "$parts" 2>/dev/null || die "cannot create the folder $parts; $elsewhere"
exec 9>"$parts/lock"
flock -n 9 || die "another call is fetching $set_name into $folder; wait until it is done"

# ---- archives ------------------------------------------------------------------------------------

rows() { awk -F '\t' -v s="$set_name" '!/^#/ && $1 == s' "$table"; }
archives=$(rows | awk -F '\t' '!seen[$2]++ {print $2, $3, $4}')
[ -n "$archives" ] || die "$table has no address for $set_name"

needed=$(awk -v u=$unpacked '{sum += $2} END {print int((sum + u) / 1024)}' <<<"$archives")
free=$(df -Pk "$folder" | awk 'NR == 2 {print $4}')
[ "$free" -ge "$needed" ] ||
    die "$((needed / 1024)) MB are needed, $folder has $((free / 1024)); $elsewhere"

sum_is() { [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$2" ]; }

# One address, resuming what is there; a file that ends complete and wrong is removed.
download() { # ADDRESS PART BYTES SHA256
    local address=$1 part=$2 bytes=$3 sum=$4 have=0 status=0 why
    [ -f "$part" ] && have=$(stat -c %s "$part")
    if [ "$have" -ge "$bytes" ]; then
        rm -f "$part"
        have=0
    fi
    echo "data: $address: $((have / 1000)) of $((bytes / 1000)) kB are here"
    # curl's own meter shows rate and time left; without a terminal its lines would fill a log
    local meter=() errors=/dev/stderr
    [ -t 2 ] || { meter=(--show-error --silent) && errors=$parts/curl; }
    # The limit is for a mirror that never ends: --max-filesize works only where a length is sent.
    (
        ulimit -f $((bytes / 1024 + 1))
        exec curl "${meter[@]}" --fail --location --proto '=http,https' --connect-timeout 15 \
            --speed-limit "$slowest" --speed-time "$patience" --max-filesize "$bytes" \
            --continue-at - -o "$part" "$address" 2>"$errors"
    ) || status=$?
    case $status in
    0) ;;
    5 | 6 | 7) why="no way there (no network, or a proxy that is not set)" ;;
    18 | 56 | 92) why="the connection broke off" ;;
    22) why="it refused: $(tail -n 1 "$parts/curl" 2>/dev/null)" ;;
    23) why="the disk is full, or $parts cannot be written" ;;
    28)
        why="it stalled: below $((slowest / 1000)) kB/s for $patience s, or no answer"
        why+=" (SLOWEST=bytes a second in the environment waits for slower ones)"
        ;;
    33) # the next attempt starts from nothing
        why="it cannot resume"
        rm -f "$part"
        ;;
    63 | 153) # 153: SIGXFSZ
        why="it sends more than the archive's $bytes bytes"
        rm -f "$part"
        ;;
    *) why="curl ended with status $status" ;;
    esac
    if [ $status = 0 ]; then
        sum_is "$part" "$sum" && return 0
        why="what it sent is not the archive: $(stat -c %s "$part") bytes with another sum"
        rm -f "$part"
    fi
    echo "data: $address: $why" >&2
    return 1
}

find_archive() { # NAME BYTES SHA256: leaves it in $parts
    local name=$1 bytes=$2 sum=$3 source=$from address round
    if [ -n "$from" ]; then
        [ -d "$from" ] && source="$from/$name"
        [ -f "$source" ] || die "FROM=$from: there is no $name"
        sum_is "$source" "$sum" ||
            die "FROM=$source: not the official $name ($bytes bytes, SHA-256 $sum)"
        cp "$source" "$parts/$name.partial" || die "cannot copy $source to $parts (full?)"
        mv "$parts/$name.partial" "$parts/$name"
        return
    fi
    [ -f "$parts/$name" ] && sum_is "$parts/$name" "$sum" && return
    command -v curl >/dev/null || die "no curl: run make setup data, or say FROM=path of an archive"
    for round in 1 2; do # the second one for what a bad mirror of the first has spoilt
        while read -r address; do
            download "$address" "$parts/$name.partial" "$bytes" "$sum" || continue
            mv "$parts/$name.partial" "$parts/$name"
            return
        done < <(rows | awk -F '\t' -v n="$name" '$2 == n {print $5}')
    done
    die "no mirror gave $name; run this again with a network (it goes on where it stopped), or \
bring the archive and say FROM=path; DATASET=shapes10 needs neither"
}

while read -r name bytes sum; do find_archive "$name" "$bytes" "$sum"; done <<<"$archives"

# ---- unpack beside, check, then one rename -------------------------------------------------------

fresh=$(mktemp -d "$parts/unpacked.XXXXXX") || die "cannot create a folder in $parts"
trap 'rm -rf "$fresh"' EXIT
case $set_name in
cifar10) tar -xzf "$parts"/*.tar.gz --strip-components=1 --no-same-owner -C "$fresh" ;;
mnist) for file in $files; do gunzip -c "$parts/$file.gz" >"$fresh/$file" || break; done ;;
esac || die "unpacking into $fresh failed (is the disk full?)"
total=0
for file in $files; do
    [ -s "$fresh/$file" ] || die "$file is missing or empty after unpacking (is the disk full?)"
    total=$((total + $(stat -c %s "$fresh/$file")))
done
[ $total = $unpacked ] || die "unpacked, the files have $total bytes, not $unpacked (disk full?)"
# shellcheck disable=SC2086  # a list of plain names
(cd "$fresh" && sha256sum $files >SHA256SUMS && chmod 755 . && sync -f .) ||
    die "cannot write $fresh/SHA256SUMS"
if [ -e "$goal" ]; then # incomplete, but somebody's work all the same
    aside=$(mktemp -d "$goal.before.XXXXXX") && mv -T "$goal" "$aside" ||
        die "cannot move the incomplete $goal away"
    echo "data: what was in $goal lies in $aside now"
fi
mv -T "$fresh" "$goal" || die "cannot rename $fresh to $goal"
trap - EXIT
rm -rf "$parts"
echo "data: $goal is ready, $((total / 1000000)) MB, every file with its sum in SHA256SUMS"
