"""Pods of the chart as processes: their variables and files make a server that the probes find ready."""

import os
import subprocess
from contextlib import ExitStack

import pytest

import pods
from chart import RELEASE, pod, rendered, workload
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
            ("photographer", 'quotes " and \\ in it'))
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


def test_https_and_the_other_values(tmp_path, master):
    objects = rendered("everything")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=store", "-days", "2", "-out", certificate, "-keyout", key], check=True,
                   capture_output=True)
    secrets = {
        f"{RELEASE}-store-tls": {"tls.crt": certificate.read_text(), "tls.key": key.read_text()},
        "master": {"master.key": master},
        "authorities": {"public.crt": certificate.read_text()},
        "more": {"config.env": "MINIO_API_CORS_ALLOW_ORIGIN=https://app.example.com\n"},
        "site": {"region": "eu-central-1"},
    }
    claims = {"claimed": volume(tmp_path, "claimed"), f"{RELEASE}-backup": volume(tmp_path, "backup")}
    with Server(Pod(objects, pod(objects), tmp_path / "pod", secrets, claims)) as server:
        assert server.endpoint.startswith("https://")
        assert [server.probe(name) for name in ("startupProbe", "livenessProbe", "readinessProbe")] == [200] * 3
        code, told = server.client(*ROOT_USER, "mb", "--region", "eu-central-1", "s3/photos")
        assert code == 0, told
        until((claims[f"{RELEASE}-backup"] / "backup.json").is_file, "the backup", pods.LONG)
    assert (claims["claimed"] / "liteio/format").is_file()
    # The lines behind the banner are JSON.
    assert any(line.startswith("{") and "bucket" in line for line in server.lines), server.lines


@pytest.fixture
def database(tmp_path):
    database = Postgres.made(str(tmp_path / "postgres"))
    yield database
    database.kill()


@pytest.fixture
def master(tmp_path):
    subprocess.run([os.environ["LITEIO"], "key", "new", str(tmp_path / "master.key")], check=True)
    return (tmp_path / "master.key").read_text()


def check_servers(members, tmp_path, bucket):
    """Starts pods over the same database, and what one of them stores, the next one has."""
    spec = members[0].spec
    # All pods begin at the same time, and each again whenever it is made anew.
    creating = [each.start(spec["initContainers"][0]) for each in (*members, *members)]
    told = [each.communicate(timeout=pods.LONG)[0] for each in creating]
    assert [each.returncode for each in creating] == [0] * len(creating), told
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(each)) for each in members]
        assert [each.probe("readinessProbe") for each in servers] == [200] * len(servers)
        code, told = servers[0].client(*ROOT_USER, "mb", "--ignore-existing", f"s3/{bucket}")
        assert code == 0, told
        # Long enough for the place of bodies.
        file = tmp_path / "a.txt"
        file.write_text("shared text\n" * 10_000)
        for server, other in zip(servers, servers[1:] + servers[:1]):
            name = f"s3/{bucket}/{server.pod.name}"
            code, told = server.client(*ROOT_USER, "cp", str(file), name)
            assert code == 0, told
            assert other.client(*ROOT_USER, "cat", name) == (0, file.read_text())
        return servers[-1].client("reader", "reader-secret", "cat", f"s3/{bucket}/{members[0].name}")


def test_servers_over_a_database_and_a_shared_volume(tmp_path, database, master):
    objects = rendered("shared")
    secrets = {
        "root": {"rootUser": ROOT_USER[0], "rootPassword": ROOT_USER[1]},
        "master": {"key": master},
        "database": {"uri": f"postgresql://liteio@127.0.0.1:{database.port}/postgres?sslmode=disable"},
    }
    claims = {"bodies": volume(tmp_path, "bodies")}
    count = workload(objects)["spec"]["replicas"]
    members = [Pod(objects, pod(objects), tmp_path / f"pod-{each}", secrets, claims, f"pod-{each}")
               for each in range(count)]
    code, told = check_servers(members, tmp_path, "shared")
    assert code == 0 and told.startswith("shared text"), told


def test_the_example_of_three_servers(tmp_path, database, master):
    objects = rendered("cluster")
    command = [os.environ["LITEIO"], "server", "--memory", "--address", "127.0.0.1:0", "--bucket", "bodies"]
    store = subprocess.Popen(command, env={"LITEIO_ACCESS_KEY": "store-key", "LITEIO_SECRET_KEY": "store-secret"},
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        endpoint = next(line.split()[1] for line in store.stdout if "Endpoint" in line)
        secrets = {
            "liteio-master-key": {"master.key": master},
            "liteio-blobs": {"access-key": "store-key", "secret-key": "store-secret"},
            f"{RELEASE}-database-app": {"password": "any: this database trusts"},
        }
        # The places are those of this machine. Everything else is as in the example.
        variables = {
            "LITEIO_METADATA": f"postgres://liteio@127.0.0.1:{database.port}/postgres?sslmode=disable",
            "LITEIO_BLOBS": f"s3://bodies/liteio?region=us-east-1&endpoint={endpoint}",
        }
        assert workload(objects)["spec"]["replicas"] == 3
        members = [Pod(objects, pod(objects), tmp_path / name, secrets, name=name, variables=variables)
                   for name in ("pod-0", "pod-1", "pod-2")]
        code, told = check_servers(members, tmp_path, "photos")
        assert code != 0, "nobody has this name"
    finally:
        store.terminate()
        store.communicate(timeout=pods.LONG)
