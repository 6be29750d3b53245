"""Writes the install script and the manifests of package managers: generate.py ARCHIVES OUT.

Version and address come from Cargo.toml, sums from the archives `liteio-VERSION-TARGET.tar.gz` (`.zip` for Windows) in the
directory. A manager gets a manifest only if there is an archive for its systems.
"""

import base64
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

# System and processor by `uname`, by Homebrew, by Arch Linux, by Nix. A static program of either C library runs everywhere.
TARGETS = {
    "x86_64-unknown-linux-gnu": ("Linux-x86_64", ("linux", "intel"), "x86_64", "x86_64-linux"),
    "x86_64-unknown-linux-musl": ("Linux-x86_64", ("linux", "intel"), "x86_64", "x86_64-linux"),
    "aarch64-unknown-linux-gnu": ("Linux-aarch64", ("linux", "arm"), "aarch64", "aarch64-linux"),
    "aarch64-unknown-linux-musl": ("Linux-aarch64", ("linux", "arm"), "aarch64", "aarch64-linux"),
    "aarch64-apple-darwin": ("Darwin-arm64", ("macos", "arm"), None, "aarch64-darwin"),
}
WINDOWS = "x86_64-pc-windows-"
# Version of the schema.
WINGET = "1.10.0"


def archives(directory, version):
    """SHA-256 of each archive, by target."""
    found = {}
    for file in sorted(pathlib.Path(directory).glob(f"liteio-{version}-*")):
        for suffix in (".tar.gz", ".zip"):
            if file.name.endswith(suffix):
                target = file.name.removeprefix(f"liteio-{version}-").removesuffix(suffix)
                if target not in TARGETS and not target.startswith(WINDOWS):
                    raise SystemExit(f"{file.name}: no package manager is known for it; see TARGETS in generate.py")
                found[target] = hashlib.sha256(file.read_bytes()).hexdigest()
    if not found:
        raise SystemExit(f"{directory} has no archive of version {version}")
    return found


def fill(name, values):
    text = (HERE / name).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    if left := re.findall("@[A-Z_]+@", text):
        raise SystemExit(f"{name}: nothing fills {left}")
    return text


def install_script(values, sums, url):
    cases = [f"        {TARGETS[it][0]}) echo {it} ;;" for it in sums if it in TARGETS]
    # Other words for the same processor.
    cases = [it.replace("Linux-aarch64)", "Linux-aarch64 | Linux-arm64)") for it in cases]
    cases = [it.replace("Linux-x86_64)", "Linux-x86_64 | Linux-amd64)") for it in cases]
    return fill("install.sh.in", values | {"CASES": "\n".join(cases)})


def homebrew(values, sums, url):
    systems = {}
    for target in sums:
        if target in TARGETS:
            system, processor = TARGETS[target][1]
            systems.setdefault(system, []).append((processor, target))
    blocks = []
    for system, processors in sorted(systems.items()):
        lines = [f"  on_{system} do"]
        for processor, target in sorted(processors):
            lines += [
                f"    on_{processor} do",
                f'      url "{url(target, ".tar.gz")}"',
                f'      sha256 "{sums[target]}"',
                "    end",
            ]
        blocks.append("\n".join([*lines, "  end"]))
    return fill("homebrew.rb.in", values | {"PLATFORMS": "\n\n".join(blocks)})


def pkgbuild(values, sums, url):
    targets = {TARGETS[it][2]: it for it in sums if it in TARGETS and TARGETS[it][2]}
    lines = []
    for processor, target in sorted(targets.items()):
        lines += [f"source_{processor}=('{url(target, '.tar.gz')}')", f"sha256sums_{processor}=('{sums[target]}')"]
    own = {
        "AUR_VERSION": values["VERSION"].replace("-", "_"),
        "ARCHITECTURES": " ".join(f"'{it}'" for it in sorted(targets)),
        "SOURCES": "\n".join(lines),
    }
    return fill("PKGBUILD.in", values | own)


def flake(values, sums, url):
    lines = []
    for target in sums:
        if target in TARGETS:
            integrity = "sha256-" + base64.b64encode(bytes.fromhex(sums[target])).decode()
            lines.append(f'        "{TARGETS[target][3]}" = {{ url = "{url(target, ".tar.gz")}"; hash = "{integrity}"; }};')
    return fill("flake.nix.in", values | {"ARCHIVES": "\n".join(sorted(lines))})


def scoop(values, sums, url):
    target = next(it for it in sums if it.startswith(WINDOWS))
    manifest = {
        "version": values["VERSION"],
        "description": "Object store that speaks Amazon S3",
        "homepage": values["REPOSITORY"],
        "license": "MIT|Apache-2.0",
        "architecture": {"64bit": {"url": url(target, ".zip"), "hash": sums[target]}},
        "extract_dir": f"liteio-{values['VERSION']}-{target}",
        "bin": "liteio.exe",
    }
    return json.dumps(manifest, indent=4) + "\n"


def winget(values, sums, url):
    """The three files that winget's repository asks for. They are YAML of quoted strings, which are those of JSON."""
    target = next(it for it in sums if it.startswith(WINDOWS))
    package = {"PackageIdentifier": "LiteIO.LiteIO", "PackageVersion": values["VERSION"]}
    parts = {
        "version": {"DefaultLocale": "en-US"},
        "installer": {
            "InstallerType": "zip",
            "NestedInstallerType": "portable",
            "NestedInstallerFiles": [
                {
                    "RelativeFilePath": f"liteio-{values['VERSION']}-{target}\\liteio.exe",
                    "PortableCommandAlias": "liteio",
                }
            ],
            "Installers": [
                {"Architecture": "x64", "InstallerUrl": url(target, ".zip"), "InstallerSha256": sums[target].upper()}
            ],
        },
        "defaultLocale": {
            "PackageLocale": "en-US",
            "Publisher": "The LiteIO developers",
            "PackageName": "LiteIO",
            "PackageUrl": values["REPOSITORY"],
            "License": "MIT OR Apache-2.0",
            "ShortDescription": "Object store that speaks Amazon S3",
        },
    }
    names = {"version": "", "installer": ".installer", "defaultLocale": ".locale.en-US"}
    return {
        f"winget/LiteIO.LiteIO{names[kind]}.yaml": yaml(package | fields | {"ManifestType": kind, "ManifestVersion": WINGET})
        for kind, fields in parts.items()
    }


def yaml(fields):
    lines = []
    for name, value in fields.items():
        if isinstance(value, str):
            lines.append(f"{name}: {json.dumps(value)}")
            continue
        lines.append(f"{name}:")
        for entry in value:
            pairs = [f"{key}: {json.dumps(text)}" for key, text in entry.items()]
            lines += ["- " + pairs[0], *("  " + it for it in pairs[1:])]
    return "\n".join(lines) + "\n"


def manifests(version, repository, sums):
    """The text of each file, by name."""
    repository = repository.rstrip("/")
    values = {"VERSION": version, "REPOSITORY": repository}

    def url(target, suffix):
        return f"{repository}/releases/download/v{version}/liteio-{version}-{target}{suffix}"

    makers = {"install.sh": install_script, "liteio.rb": homebrew, "PKGBUILD": pkgbuild, "flake.nix": flake}
    of_windows = any(it.startswith(WINDOWS) for it in sums)
    if of_windows:
        makers["liteio.scoop.json"] = scoop
    made = {name: make(values, sums, url) for name, make in makers.items()}
    return made | (winget(values, sums, url) if of_windows else {})


def main(directory, out):
    import crates

    version = crates.own()["version"]
    made = manifests(version, crates.own()["repository"], archives(directory, version))
    for name, text in made.items():
        file = pathlib.Path(out) / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o755 if name.endswith(".sh") else 0o644)


if __name__ == "__main__":
    main(*sys.argv[1:])
