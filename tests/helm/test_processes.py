"""Pods of the chart as processes: what they are told in variables and files makes a server that the probes find ready."""

import os
import subprocess

import pytest

import pods
from chart import pod, rendered, template, workload, VALUES
from pods import Pod, Server
from postgres import Postgres, until

ROOT_USER = ("admin", "a-root-password")


def volume(tmp_path, name="volume"):
    """A new volume as providers format it."""
    place = tmp_path / name
    place.mkdir()
    (place / "lost+found").mkdir(mode=0o700)
    pods.writable(place)
    return place


@pytest.fixture(autouse=True)
def reachable(tmp_path):
    """Directories above the volumes are open to the users of pods."""
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(directory.stat().st_mode | 0o055)


def test_a_single_server(tmp_path):
    objects = rendered("default")
    claims = {"data": volume(tmp_path)}
    for round in range(2):
        with Server(Pod(objects, pod(objects), tmp_path / f"pod-{round}", claims=claims)) as server:
            assert [server.probe(name) for name in ("startupProbe", "livenessProbe", "readinessProbe")] == [200] * 3
            if round == 0:
                code, told = server.client(*ROOT_USER, "mb", "s3/photos")
                assert code == 0, told
            code, told = server.client(*ROOT_USER, "ls", "s3")
            assert code == 0 and "photos" in told
            assert server.client("admin", "another-password", "ls", "s3")[0] != 0
        assert "WARN" not in "".join(server.lines), server.lines


def test_another_root_user_owns_what_is_there(tmp_path):
    claims = {"data": volume(tmp_path)}
    before = rendered("default")
    with Server(Pod(before, pod(before), tmp_path / "before", claims=claims)) as server:
        assert server.client(*ROOT_USER, "mb", "s3/photos")[0] == 0
    after = rendered("default", "rootUser=other")
    with Server(Pod(after, pod(after), tmp_path / "after", claims=claims)) as server:
        code, told = server.client("other", ROOT_USER[1], "ls", "s3")
        assert code == 0 and "photos" in told, told
        assert server.client("other", ROOT_USER[1], "rb", "s3/photos")[0] == 0


def test_users_change_without_a_restart(tmp_path):
    user = ["users[0].accessKey=camera", "users[0].policy=readwrite"]
    before, after = rendered("default"), rendered("default", *user, "users[0].secretKey=camera-password")
    changed = rendered("default", *user, "users[0].secretKey=another-password", "rootPassword=a-new-password")
    # The container is the same, so nothing restarts it.
    assert pod(before) == pod(after) == pod(changed)
    members = Pod(before, pod(before), tmp_path / "pod", claims={"data": volume(tmp_path)})
    with Server(members) as server:
        def works(*credentials):
            return server.client(*credentials, "ls", "s3")[0] == 0
        assert works(*ROOT_USER) and not works("camera", "camera-password")
        members.update(after)
        until(lambda: works("camera", "camera-password"), "the new user", pods.LONG)
        members.update(changed)
        until(lambda: works("camera", "another-password"), "the new password", pods.LONG)
        assert not works("camera", "camera-password") and not works(*ROOT_USER)
        assert works("admin", "a-new-password")
        members.update(rendered("default"))
        until(lambda: not works("camera", "another-password"), "the end of the user", pods.LONG)


def test_the_values_of_minio(tmp_path):
    objects = rendered("minio")
    place = volume(tmp_path)
    secrets = {"minio-root": {"rootUser": "owner", "rootPassword": "owner-password\n"},
               "auditor": {"password": "auditor-password"}}
    with Server(Pod(objects, pod(objects), tmp_path / "pod", secrets, {"data": place})) as server:
        owner, auditor, photographer = (
            ("owner", "owner-password"), ("auditor", "auditor-password"),
            ("photographer", "quotes%20%22%20and%20%5C%20in%20it"))
        assert server.probe("readinessProbe") == 200
        code, told = server.client(*owner, "ls", "s3")
        assert code == 0 and all(name in told for name in ("photos", "logs", "vault")), told
        file = tmp_path / "a.jpg"
        file.write_text("a picture")
        code, told = server.client(*photographer, "cp", str(file), "s3/photos/a.jpg")
        assert code == 0, told
        assert server.client(*photographer, "cp", str(file), "s3/logs/a.jpg")[0] != 0
        code, told = server.client(*auditor, "cat", "s3/photos/a.jpg")
        assert (code, told) == (0, "a picture")
        assert server.client(*auditor, "cp", str(file), "s3/photos/b.jpg")[0] != 0
        assert server.client("console", "console123", "cp", str(file), "s3/logs/a.jpg")[0] == 0
        code, told = server.client(*owner, "version", "info", "s3/vault")
        assert code == 0 and "enabled" in told, told
    # In the directory below the mount.
    assert (place / "store/format").is_file()


def test_servers_over_a_database(tmp_path):
    objects = template([VALUES / "shared.yaml"])
    database = Postgres.made(str(tmp_path / "postgres"))
    try:
        subprocess.run([os.environ["LITEIO"], "key", "new", str(tmp_path / "master.key")], check=True)
        secrets = {
            "root": {"rootUser": ROOT_USER[0], "rootPassword": ROOT_USER[1]},
            "master": {"key": (tmp_path / "master.key").read_text()},
            "database": {"uri": f"postgresql://liteio@127.0.0.1:{database.port}/postgres?sslmode=disable"},
        }
        claims = {"bodies": volume(tmp_path, "bodies")}
        spec = pod(objects)
        assert workload(objects)["spec"]["replicas"] == 2
        members = [Pod(objects, spec, tmp_path / f"pod-{each}", secrets, claims, f"pod-{each}") for each in range(2)]
        # All pods begin at the same time, and each again whenever it is made anew.
        creating = [each.start(spec["initContainers"][0]) for each in (*members, *members)]
        told = [each.communicate(timeout=pods.LONG)[0] for each in creating]
        assert [each.returncode for each in creating] == [0] * 4, told
        with Server(members[0]) as first, Server(members[1]) as second:
            assert first.probe("readinessProbe") == 200 and second.probe("readinessProbe") == 200
            file = tmp_path / "a.txt"
            file.write_text("shared text")
            code, told = first.client(*ROOT_USER, "cp", str(file), "s3/shared/a.txt")
            assert code == 0, told
            assert second.client("reader", "reader-secret", "cat", "s3/shared/a.txt") == (0, "shared text")
    finally:
        database.kill()
