#!/bin/sh
# Installs LiteIO 1.2.3 without root: downloads the archive for this machine, verifies its SHA-256 and puts one file,
# the program, into a directory.
#
#   LITEIO_INSTALL_DIR   the directory [default: ~/.local/bin; /usr/local/bin as root]
#   LITEIO_DOWNLOAD_URL  where the files of the release are [default: those of the project]
set -eu

fail() {
    echo "liteio: $*" >&2
    exit 1
}

# download URL FILE
download() {
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --location --retry 3 --output "$2" "$1" || fail "cannot download $1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --output-document="$2" "$1" || fail "cannot download $1"
    else
        fail "install curl or wget first"
    fi
}

sum_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    else
        fail "install sha256sum or shasum first: nothing is installed unverified"
    fi
}

target_of_machine() {
    case "$(uname -s)-$(uname -m)" in
        Darwin-arm64) echo aarch64-apple-darwin ;;
        Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
        Linux-x86_64 | Linux-amd64) echo x86_64-unknown-linux-gnu ;;
        *) fail "there is no program for $(uname -s) on $(uname -m) yet; with Rust: cargo install liteio" ;;
    esac
}

# Everything is in a function, so that half of a script does nothing.
main() {
    command -v tar >/dev/null 2>&1 || fail "install tar first"
    target=$(target_of_machine)
    name=liteio-1.2.3-$target
    url=${LITEIO_DOWNLOAD_URL:-https://example.org/liteio/releases/download/v1.2.3}
    if [ -n "${LITEIO_INSTALL_DIR:-}" ]; then
        directory=$LITEIO_INSTALL_DIR
    elif [ "$(id -u)" -eq 0 ]; then
        directory=/usr/local/bin
    else
        directory=${HOME:?}/.local/bin
    fi

    work=$(mktemp -d) || fail "cannot make a temporary directory"
    new=
    trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
    trap 'exit 1' HUP INT TERM

    echo "LiteIO 1.2.3 for $target, from $url"
    download "$url/SHA256SUMS" "$work/SHA256SUMS"
    download "$url/$name.tar.gz" "$work/$name.tar.gz"
    expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
    [ -n "$expected" ] || fail "SHA256SUMS at $url does not name $name.tar.gz"
    found=$(sum_of "$work/$name.tar.gz")
    [ "$found" = "$expected" ] || fail "$name.tar.gz has the SHA-256 $found instead of $expected; nothing was installed"
    tar -xzf "$work/$name.tar.gz" -C "$work" || fail "cannot unpack $name.tar.gz"
    "$work/$name/liteio" --version >/dev/null 2>&1 || fail "the program does not run on this machine; nothing was installed"

    mkdir -p "$directory" 2>/dev/null || fail "cannot make $directory: set LITEIO_INSTALL_DIR"
    # In place at once, also over a program that runs.
    new=$(mktemp "$directory/.liteio.XXXXXX" 2>/dev/null) || fail "cannot write to $directory: set LITEIO_INSTALL_DIR"
    cp "$work/$name/liteio" "$new" 2>/dev/null || fail "cannot write $directory/liteio: is the disk full?"
    chmod 755 "$new"
    mv -f "$new" "$directory/liteio" || fail "cannot replace $directory/liteio"
    new=

    echo "Installed $directory/liteio"
    case ":${PATH:-}:" in
        *":$directory:"*) echo "Start it with: liteio" ;;
        *) echo "$directory is not in PATH. Start it with: $directory/liteio" ;;
    esac
}

main
