"""docs/kubernetes.md and README.md of deploy/ say what is there."""

import pathlib
import re
import shlex

import yaml

from chart import CHART, ROOT, helm, one, pod, template

PAGE = (ROOT / "docs/kubernetes.md").read_text()


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text):
    lines = "".join(blocks(text, "sh")).replace("\\\n", "").splitlines()
    return [shlex.split(line) for line in lines if line]


def secrets_of(objects):
    """The Secrets that pods need and the objects do not have, with their keys."""
    found = {}
    spec = pod(objects)
    for volume in spec["volumes"]:
        for source in volume.get("projected", {}).get("sources", []):
            secret = source["secret"]
            found.setdefault(secret["name"], set()).update(item["key"] for item in secret.get("items", []))
    for each in spec["containers"][0]["env"]:
        if reference := each.get("valueFrom", {}).get("secretKeyRef"):
            found.setdefault(reference["name"], set()).add(reference["key"])
    made = {each["metadata"]["name"] for each in objects if each["kind"] == "Secret"}
    return {name: keys for name, keys in found.items() if name not in made}


def test_the_commands_of_the_page(tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(blocks(PAGE, "yaml")[0])
    made, rendered = {}, 0
    for words in commands(PAGE):
        if words[:4] == ["kubectl", "create", "secret", "generic"]:
            keys = {word.split("=")[1] for word in words if word.startswith(("--from-literal=", "--from-file="))}
            made[words[4]] = keys
        elif words[0] == "helm":
            assert words[1] in ("install", "upgrade")
            words = [word for word in words[2:] if word not in ("--install", "--create-namespace")]
            words = [str(values) if word == "values.yaml" else word for word in words]
            words = [str(ROOT / word) if word.startswith("packaging/") else word for word in words]
            objects = [each for each in yaml.safe_load_all(helm("template", *words)) if each]
            rendered += 1
            for name, keys in secrets_of(objects).items():
                if name.endswith("-database-app"):
                    continue  # CloudNativePG makes it.
                assert keys <= made[name], (name, keys)
        elif words[0] == "kubectl":
            assert words[1:4] == ["--namespace", "s3", "port-forward"] and words[4] == "service/store-liteio"
        else:
            assert words[:3] == ["liteio", "key", "new"]
    assert rendered == 3


def test_the_values_of_the_page(tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(blocks(PAGE, "yaml")[0])
    objects = template([values])
    environment = {each["name"]: each.get("value") for each in pod(objects)["containers"][0]["env"]}
    assert environment["LITEIO_BUCKET"] == "photos:download:versioned,vault:locked"
    text = one(objects, "Secret", "-users")["stringData"]["credentials.toml"]
    assert text.count("[[user]]") == 3 and "s3:DeleteObject" in text


def test_the_dependency_of_the_page(tmp_path):
    dependency, = yaml.safe_load(blocks(PAGE, "yaml")[1])["dependencies"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (dependency["name"], dependency["version"]) == (chart["name"], chart["version"])
    # tests/helm/test_rendering.py renders it as a subchart.
    assert dependency["alias"] == "minio" and dependency["condition"] == "minio.enabled"


def test_versions_are_those_of_the_program():
    workspace = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == workspace and chart["appVersion"] == workspace


def test_each_folder_names_its_files():
    for folder in ("deploy/kubernetes", "deploy/compose"):
        text = (ROOT / folder / "README.md").read_text()
        for file in pathlib.Path(ROOT, folder).glob("*.yaml"):
            assert file.name in text, file
