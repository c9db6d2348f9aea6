# debian.sh: where this machine's Debian packages come from, for who makes systems of them; sourced
# by sysroot.sh and test_distros.sh.

# The mirror; nothing where this machine is no Debian.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Label: Debian' 2>/dev/null | head -1
}

# What its apt has been told of the way there.
debian_apt_options() {
    apt-config dump --no-empty Acquire::http Acquire::https Acquire::Check-Valid-Until \
        Acquire::Check-Date 2>/dev/null
}
