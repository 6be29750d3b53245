# shellcheck shell=bash
# Where files of the library lie in a Maven repository.
name=$(python3 packaging/registry.py maven-name packages/java/pom.xml)
version=$(field version)

# folder DIRECTORY: the folder of this version in the repository DIRECTORY/maven; the group is `liteio`.
folder() { echo "$1/maven/liteio/$name/$version"; }

# manifest DIRECTORY: manifest and licences of a jar with the files of the directory.
manifest() {
    mkdir -p "$1/META-INF"
    printf 'Manifest-Version: 1.0\r\nImplementation-Title: %s\r\nImplementation-Version: %s\r\n\r\n' "$name" "$version" \
        >"$1/META-INF/MANIFEST.MF"
    install -m 644 -t "$1/META-INF" LICENSE-MIT LICENSE-APACHE
}

# add_sums FILE…: the sums that Maven verifies.
add_sums() {
    local file
    for file in "$@"; do
        for sum in md5 sha1 sha256 sha512; do
            "${sum}sum" <"$file" | cut -d ' ' -f 1 | tr -d '\n' >"$file.$sum"
        done
    done
}
