"""move.py KILLS: a directory is moved into a cluster, and back into another directory, by a command that is killed again and
again at random. What comes to its end has to be equal: the command says so, and so do the objects. Then the newest
backup of the directory is restored and moved in the same way.

LITEIO names the program. LITEIO_KILL_SEED repeats the choices of a run."""

import hashlib
import os
import random
import subprocess
import sys

from directory import OnDirectory
from servers import LITEIO, Cluster, with_cluster

BUCKET = "moved"
OBJECTS = 1500
# Of every tenth object: in a file, and of those in several pieces.
LONG_BODY = 300_000


def body(number):
    short = hashlib.sha512(str(number).encode()).digest()
    return short * (LONG_BODY // len(short)) if number % 10 == 0 else short


def fill(client):
    client.put(f"/{BUCKET}", b"")
    for number in range(OBJECTS):
        client.put(f"/{BUCKET}/{number}", body(number))
    client.put_in_parts(f"/{BUCKET}/parts", [bytes(5 << 20), b"the end"])
    client.request("PUT", f"/{BUCKET}", [("versioning", "")],
                   b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    client.put(f"/{BUCKET}/0", b"another version")


def check(client):
    assert len(client.keys(BUCKET)) == OBJECTS + 1
    assert client.get(f"/{BUCKET}/0") == b"another version"
    for number in range(1, OBJECTS):
        assert client.get(f"/{BUCKET}/{number}") == body(number), number
    assert client.get(f"/{BUCKET}/parts") == bytes(5 << 20) + b"the end"
    _, versions = client.request("GET", f"/{BUCKET}", [("versions", ""), ("prefix", "0")])
    assert versions.count(b"<Version>") == 2, versions


def moved(cluster, kills, random_, *direction):
    """Runs the command until it ends by itself, and kills it before as often as this."""
    command = [LITEIO, "cluster", "move", *direction, *cluster.place]
    # The first kills come early, however fast it is.
    killed, longest = 0, 0.1
    while True:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=cluster.environment)
        try:
            told, failure = process.communicate(timeout=random_.uniform(0, longest) if killed < kills else None)
        except subprocess.TimeoutExpired:
            killed += 1
            # So that one comes at any moment of it, however long it takes.
            longest *= 1.2
            process.kill()
            process.communicate()
            continue
        assert process.returncode == 0, f"{told}{failure}"
        assert "Both sides are equal" in told, told
        print(f"{direction[0]}: {killed} kills, then: {told.strip()}", flush=True)
        return killed


def run(cluster, kills, random_):
    directory, key = f"{cluster.directory}/data", cluster.key
    backup = f"{cluster.directory}/backup"
    with OnDirectory(directory, key, "--backup", f"file://{backup}") as client:
        fill(client)
    assert moved(cluster, kills, random_, "--from-directory", directory) > 0, "it was never killed"
    cluster.start_servers(2)
    for server in cluster.servers:
        check(server.client())
    assert ", 0 damaged, 0 bodies that no record names" in cluster.command("check")
    cluster.end_servers()
    back = f"{cluster.directory}/back"
    assert moved(cluster, kills, random_, "--to-directory", back) > 0, "it was never killed"
    with OnDirectory(back, key) as client:
        check(client)
    print(cluster.run("verify", "--data-dir", back).strip())
    # A backup goes the same way, by a directory.
    restored = f"{cluster.directory}/restored"
    cluster.run("restore", f"file://{backup}", restored)
    cluster.begin_anew("restored")
    moved(cluster, 0, random_, "--from-directory", restored)
    cluster.start_servers(1)
    check(cluster.servers[0].client())
    print("the backup is in the cluster, too")


def main():
    kills = int(sys.argv[1])
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {kills} kills", flush=True)
    cluster = Cluster(servers=0)
    with_cluster(cluster, lambda: run(cluster, kills, random.Random(seed)))


if __name__ == "__main__":
    main()
