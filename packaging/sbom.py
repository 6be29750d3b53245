"""Writes the bill of materials of a binary in CycloneDX 1.5: sbom.py TARGET BINARY FILE.

The same binary gives the same bytes: its serial number is derived from the binary's hash, its time is that of the commit.
"""

import datetime
import hashlib
import json
import os
import pathlib
import sys
import uuid

import crates


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind):
    described = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
        "scope": "required",
    }
    if package["description"]:
        described["description"] = " ".join(package["description"].split())
    if package["license"]:
        # Expressions of SPDX with a slash are those of old manifests.
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := crates.checksums().get((package["name"], package["version"])):
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return described


def document(target, binary):
    packages = crates.linked(target)
    own = crates.own()
    digest = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    main = component(own, "application")
    main["hashes"] = [{"alg": "SHA-256", "content": digest}]
    main["properties"] = [{"name": "liteio:target", "value": target}]
    names = {it["id"]: purl(it) for it in packages}
    edges = crates.dependencies(packages)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": main,
        },
        "components": [component(it, "library") for it in packages if it["id"] != own["id"]],
        "dependencies": [
            {"ref": names[it], "dependsOn": sorted(names[needed] for needed in edges[it])}
            for it in sorted(edges, key=names.get)
        ],
    }


if __name__ == "__main__":
    target, binary, out = sys.argv[1:]
    pathlib.Path(out).write_text(json.dumps(document(target, binary), indent=1) + "\n", "utf-8")
