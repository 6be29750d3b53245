# shellcheck shell=bash
# What the parts of a release share. Read by .ci/release and the scripts in packaging/, which run in the root of the
# repository.

# One time for all files: that of the commit. A tree without git says it by SOURCE_DATE_EPOCH.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export TZ=UTC LC_ALL=C

# Tests of the release pack quickly.
level=${LITEIO_PACK_LEVEL:-9}

# field NAME: a field of the package `liteio`, from Cargo.toml. It is the only place of the version.
field() { python3 packaging/crates.py --field "$1"; }

# set_times DIRECTORY: all files get the time of the commit.
set_times() { find "$1" -depth -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

# pack DIRECTORY FILE: a tar.gz of a directory, with its name in it: the same bytes for the same files.
pack() {
    tar --create --directory "$(dirname "$1")" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner \
        --mode=go=rX,u+rw,a-s --mtime="@$SOURCE_DATE_EPOCH" "$(basename "$1")" | gzip -n "-$level" >"$2"
}

# program BINARY ARGUMENTS…: runs a binary, one of another processor by the emulator of .ci/cross.
program() { ${LITEIO_EMULATOR:+"$LITEIO_EMULATOR"} "$@"; }

# debian_architecture TARGET, rpm_architecture TARGET: names of the processor.
debian_architecture() {
    case $1 in
        x86_64-*) echo amd64 ;;
        aarch64-*) echo arm64 ;;
        *) echo "$1: no Debian architecture is known for it" >&2; return 1 ;;
    esac
}
rpm_architecture() { echo "${1%%-*}"; }

# has PROGRAM WHAT PACKAGE: whether the program is there; without it, one line tells what is not made, and a release that
# has to be complete (LITEIO_RELEASE_COMPLETE) ends.
has() {
    command -v "$1" >/dev/null && return
    printf '\n!!!! NOT MADE: %s: apt-get install %s\n\n' "$2" "$3" >&2
    [ -z "${LITEIO_RELEASE_COMPLETE:-}" ] || exit 1
    return 1
}
