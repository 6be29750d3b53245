"""Rules for .github/ that linters do not have, and .ci/publish where it needs no service."""

import pathlib
import re
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# Files that a directory of dependabot.yml has, by ecosystem.
MANIFESTS = {"cargo": "Cargo.toml", "gomod": "go.mod", "npm": "package.json", "pip": "requirements.txt",
             "maven": "pom.xml", "gradle": "build.gradle", "docker": "Dockerfile",
             "github-actions": ".github/workflows"}


def read(file):
    return yaml.safe_load(file.read_text())


def names(workflow):
    # YAML reads `on` as true.
    return workflow[True]


def steps_of_checks():
    text = (ROOT / ".ci/steps").read_text()
    return set(re.findall(r"^step_(\w+)\(\)", text, re.MULTILINE))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_and_permissions_small(file):
    text, workflow = file.read_text(), read(file)
    for line in re.findall(r"uses: *(.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert "pull_request_target" not in text and "workflow_run" not in text
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 350, name
        writes = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        if "pull_request" in names(workflow):
            # What a change of somebody else runs may write alerts at most, which GitHub gives to no fork.
            assert writes <= {"security-events"} or job.get("if") == "github.event_name != 'pull_request'", name
        for step in job["steps"]:
            # Expressions are in `env`, where they are no code.
            assert "${{" not in step.get("run", ""), (name, step)


def test_each_action_has_one_digest():
    pins = {}
    for file in WORKFLOWS:
        for action, digest in re.findall(r"uses: *([\w.-]+/[\w.-]+)[\w/.-]*@(.*)", file.read_text()):
            pins.setdefault(action, set()).add(digest)
    assert all(len(digests) == 1 for digests in pins.values()), pins


def test_steps_of_workflows_exist_and_none_is_left_out():
    known = steps_of_checks()
    run = set(re.findall(r"^(?:step|start_lane) ([\w ]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    run = {word for line in run for word in line.split()}
    full = re.search(r"steps=\(\n(.*?)\n\)", (ROOT / ".ci/full").read_text(), re.DOTALL)[1].split()

    def called(file, script):
        workflow = read(file)
        words = []
        for job in workflow["jobs"].values():
            words += [word for line in job.get("strategy", {}).get("matrix", {}).get("steps", []) for word in line.split()]
            for step in job["steps"]:
                for line in re.findall(rf"{re.escape(script)} ([a-z_ ]+)$", step.get("run", ""), re.MULTILINE):
                    words += line.split()
        return set(words)
    ci, nightly = (called(ROOT / f".github/workflows/{name}.yml", script)
                   for name, script in (("ci", ".ci/run"), ("nightly", ".ci/full")))
    assert ci <= known and nightly <= known
    # Suites install what they need.
    assert run - {"install"} <= ci, run - ci
    assert set(full) - {"install"} <= nightly, set(full) - nightly
    assert called(ROOT / ".github/workflows/security.yml", ".ci/full") == {"advisories"}


def test_releases_use_no_cache_and_wait_for_a_reviewer():
    text, workflow = (ROOT / ".github/workflows/release.yml").read_text(), read(ROOT / ".github/workflows/release.yml")
    assert "cache" not in text.replace("Without any cache", "")
    for name, job in workflow["jobs"].items():
        writes = any(value == "write" for value in job.get("permissions", {}).values())
        secrets = "secrets." in yaml.safe_dump(job)
        assert not (writes or secrets) or job["environment"] == "release", name
    written = set(re.findall(r"\.ci/publish (\w+)", text))
    told = subprocess.run([ROOT / ".ci/publish"], text=True, capture_output=True).stderr
    assert all(what in told for what in written)


def test_directories_of_dependabot_have_manifests():
    listed = set()
    for update in read(ROOT / ".github/dependabot.yml")["updates"]:
        for directory in update.get("directories") or [update["directory"]]:
            manifest = ROOT / directory.strip("/") / MANIFESTS[update["package-ecosystem"]]
            assert manifest.exists(), manifest
            listed.add(manifest)
    tracked = subprocess.run(["git", "ls-files", *(f"*{name}" for name in MANIFESTS.values())], cwd=ROOT, check=True,
                             text=True, capture_output=True).stdout.splitlines()
    members = {ROOT / name for name in tracked if re.fullmatch(r"crates/[\w-]+/Cargo.toml", name)}
    wanted = {ROOT / name for name in tracked if pathlib.Path(name).name in MANIFESTS.values()} - members
    assert wanted <= listed, wanted - listed


def test_packages_of_the_suites_have_one_version():
    # A range costs pip minutes on the day on which two newest versions do not agree, and each day tests something else.
    files = subprocess.run(["git", "ls-files", "*requirements*.txt"], cwd=ROOT, check=True, text=True, capture_output=True).stdout.split()
    assert files
    for file in files:
        for line in (ROOT / file).read_text().splitlines():
            assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\w.]+", line), f"{file}: {line}"


def test_community_files_are_where_they_are_looked_for():
    for name in ("CODE_OF_CONDUCT", "GOVERNANCE", "MAINTAINERS", "SECURITY", "SUPPORT", "CONTRIBUTING", "docs/policies"):
        assert (ROOT / f"{name}.md").exists()
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        content = read(form)
        if form.name != "config.yml":
            ids = [field["id"] for field in content["body"] if "id" in field]
            assert content["name"] and content["description"] and len(ids) == len(set(ids))
            assert all(field["type"] in ("markdown", "textarea", "input", "dropdown") for field in content["body"])


@pytest.fixture
def tree(tmp_path):
    """The files that .ci/publish reads, as of a release 1.2.3."""
    for name in (".ci/publish", ".ci/image-index", "Cargo.toml", "packaging/helm/liteio/Chart.yaml", "packaging/helm/liteio/values.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text()
        if not name.startswith(".ci/"):
            text = re.sub(r'(?m)^(version[ =:]+"?)[0-9.]+', r"\g<1>1.2.3", text)
        (tmp_path / name).write_text(text)
    for script in (tmp_path / ".ci").iterdir():
        script.chmod(0o755)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.3\n\n- now\n\n## 1.2.2\n\n- before\n")
    return tmp_path


def publish(tree, *arguments):
    done = subprocess.run([tree / ".ci/publish", *arguments], text=True, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def test_notes_are_the_section_of_the_version(tree):
    assert publish(tree, "notes", "v1.2.3") == (0, "\n- now\n\n", "")


@pytest.mark.parametrize("arguments, told", [
    (["tag", "v1.2.4"], "the tag v1.2.4 is not v1.2.3"),
    (["tag", "1.2.3"], "the tag 1.2.3 is not v1.2.3"),
    (["tag"], "tag takes one argument"),
    (["npm", "now"], "npm takes no argument"),
    ([], "give tag, notes, image, chart, npm, maven or homebrew"),
    (["everything"], "give tag, notes, image, chart, npm, maven or homebrew"),
    (["image", "example.com/liteio"], "target/dist has no archive for Linux: run .ci/release first"),
    (["npm"], "target/dist/npm is missing"),
    (["maven"], "target/dist/maven is missing"),
    (["homebrew", "somebody"], "target/dist/liteio.rb is missing"),
])
def test_what_is_not_right_is_refused_in_one_line(tree, arguments, told):
    code, output, errors = publish(tree, *arguments)
    assert code != 0 and output == "" and errors.count("\n") == 1 and told in errors, errors


def test_a_tag_needs_its_section_and_the_chart(tree):
    assert publish(tree, "tag", "v1.2.3")[:2] == (0, "1.2.3\n")
    chart = tree / "packaging/helm/liteio/Chart.yaml"
    text = chart.read_text()
    chart.write_text(text.replace("version: 1.2.3", "version: 1.2.2"))
    assert "the chart has version 1.2.2" in publish(tree, "tag", "v1.2.3")[2]
    chart.write_text(text)
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    code, output, errors = publish(tree, "notes", "v1.2.3")
    assert code != 0 and output == "" and 'no section "## 1.2.3"' in errors
