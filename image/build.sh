#!/bin/bash
# build.sh [OUT=file] [TAG=name] [FROM=handout] [BASE=image] [MIRROR=url]: what make image does: an
# OCI image of this commit by the Containerfile, in the store of buildah and podman as TAG, and in
# OUT as an archive. Needs root, mmdebstrap, buildah, and Debian's packages; no registry.
#
#   FROM    a handout: the image holds that, and no solution
#   BASE    an image to build on, in the store or anywhere that buildah pulls from; else a Debian
#           is made of packages
#   MIRROR  where Debian's packages are, else deb.debian.org with its security updates
set -euo pipefail
cd "$(dirname "$0")/.."
DEBIAN=trixie
OUT='' TAG='' FROM='' BASE='' MIRROR=''
for option; do
    declare "$option"
done
die() {
    echo "image: $1" >&2
    exit 2
}

# ---- what is asked for ---------------------------------------------------------------------------

[[ $TAG =~ ^([a-z0-9][a-z0-9._/:-]*)?$ ]] ||
    die "TAG=$TAG: a name of small letters, digits and . _ - / : as gradlab:autumn"
[ -z "$OUT" ] || [ -d "$(dirname "$OUT")" ] || die "OUT=$OUT: there is no folder $(dirname "$OUT")"
[ ! -d "$OUT" ] || die "OUT=$OUT is a folder: name a file, as $OUT/gradlab.tar"
[ -z "$FROM" ] || [ -f "$FROM/VERSION" -a -d "$FROM/given" ] ||
    die "FROM=$FROM is no handout: make handout OUT=folder makes one"
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] ||
    die "an image is made of a commit, and this is no git repository: clone it"
[ "$(id -u)" = 0 ] || die "an image is made as root: sudo make image …"
case $(uname -m) in
x86_64) arch=x86-64-v2 ;; # as a handout's graders (course/machines.py)
aarch64) arch=armv8-a ;;
*) die "no image is made on a $(uname -m): on x86_64 or aarch64" ;;
esac
if [ -n "$(git status --porcelain)" ]; then
    echo "image: what is not committed is not in it" >&2
fi

# ---- what goes in --------------------------------------------------------------------------------

commit=$(git describe --always --abbrev=12 HEAD)
mkdir -p build
work=$(mktemp -d build/image.XXXXXX)
trap 'rm -rf "$work"; [ -z "${made:-}" ] || buildah rmi -f "$made" >/dev/null 2>&1 || true' EXIT
trap 'exit 130' INT TERM
mkdir "$work/context"
if [ -z "$FROM" ]; then
    git archive HEAD | tar -x -C "$work/context"
else
    # (with what puts its grades into the forms of other systems)
    cp -r "$FROM/." "$work/context"
    git archive HEAD image mk/export.mk autograder/course/adapters/'*.py' |
        tar -x -C "$work/context"
    commit=$(awk 'NR == 1 { print $2 }' "$FROM/VERSION")
fi
TAG=${TAG:-gradlab:$commit}
# How this machine's apt reaches its mirror. It is no part of the image.
if command -v apt-config >/dev/null; then
    apt-config dump --no-empty Acquire::http Acquire::https Acquire::Check-Valid-Until \
        Acquire::Check-Date
fi >"$work/apt"

# ---- the image -----------------------------------------------------------------------------------

if [ -z "$BASE" ]; then
    echo "image: Debian $DEBIAN, of its packages"
    mmdebstrap --quiet --variant=minbase --aptopt="$work/apt" \
        --customize-hook='rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
        "$DEBIAN" "$work/debian.tar" ${MIRROR:+"$MIRROR"} ||
        die "mmdebstrap cannot make a Debian $DEBIAN (see above; MIRROR=url names another mirror)"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$work/debian.tar" / >/dev/null
    buildah config --cmd bash "$container"
    made=$(buildah commit --quiet --rm "$container")
    rm "$work/debian.tar"
fi
echo "image: $TAG, of commit $commit: packages, then every lab built and graded (some minutes)"
# (chroot: in most containers and on most machines a build cannot have more; the network is this
# machine's. But processes of its own: a box of tier C ends whatever else has its user, and this
# machine may be grading, too.)
unshare --mount-proc --pid --fork --kill-child \
    buildah build --quiet --isolation chroot --network host --pull=false --target grading \
        --secret "id=apt,src=$work/apt" --build-arg BASE="${BASE:-$made}" \
        --build-arg COMMIT="$commit" --build-arg ARCH="$arch" --tag "$TAG" \
        --file "$work/context/image/Containerfile" "$work/context" >/dev/null ||
    die "no image was made: see above"
if [ -n "$OUT" ]; then
    # (stale parts of an archive would be kept)
    rm -f "$OUT.part"
    buildah push --quiet "$TAG" "oci-archive:$OUT.part:$TAG" || die "OUT=$OUT cannot be written"
    mv "$OUT.part" "$OUT"
fi
size=$(buildah images --format '{{.Size}}' "$TAG")
echo "$TAG is made, $size${OUT:+, and written to $OUT: podman load -i $OUT}"
