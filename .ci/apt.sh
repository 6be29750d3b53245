# shellcheck shell=bash
# Packages of Debian that suites use. Read by their install scripts.

# apt_install PROGRAM=PACKAGE…: installs the packages of programs that are missing. Without root or apt-get it installs nothing, and the
# suites say what they need.
apt_install() {
    local pair missing=()
    for pair; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
    [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 0
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# apt_unpack PROGRAM DIRECTORY: puts a program of the package of its name into a directory.
apt_unpack() {
    [ ! -x "$2/$1" ] && ! command -v "$1" >/dev/null && command -v apt-get >/dev/null || return 0
    local work
    work=$(mktemp -d)
    [ "$(id -u)" -ne 0 ] || apt-get update -qq
    (cd "$work" && apt-get download -qq "$1" && dpkg-deb --extract ./*.deb .) >/dev/null 2>&1 || true
    mkdir -p "$2"
    find "$work" -path "*bin/$1" -type f -exec cp {} "$2/" \;
    rm -rf "$work"
}
