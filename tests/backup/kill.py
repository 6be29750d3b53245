"""kill.py SECONDS [--standby]: a server with a backup is killed again and again while six writers change it. Each time the
newest state of the backup is restored and compared with what the writers did: it has to be the state of one moment, with
everything that the server said to be in the backup. With --standby a standby follows, and is promoted after each kill: it
has to have everything up to its lag.

LITEIO names the program. LITEIO_LOSS_SECONDS is the age of the oldest write that may be lost by a kill, and by default
not limited: a busy machine needs longer for everything."""

import os
import random
import shutil
import sys
import tempfile
import time

import model
from s3 import Client
from servers import Server, run, until

LOSS = float(os.environ.get("LITEIO_LOSS_SECONDS", "inf"))
# Time that the writers have before a kill, at least and at most.
RUN_SECONDS = (0.5, 4.0)


class Figures:
    """The findings of all rounds."""

    def __init__(self):
        self.rounds = self.writes = 0
        self.lost, self.ages, self.restores, self.promotions = [], [], [], []

    def note(self, writers, lost):
        self.rounds += 1
        self.writes += sum(writer.acknowledged() for writer in writers)
        self.lost.append(lost[0])
        self.ages.append(lost[1])

    def show(self):
        def spread(values):
            values = sorted(values)
            return f"{values[len(values) // 2]:.2f} (most {values[-1]:.2f})"

        print(f"{self.rounds} kills, {self.writes} acknowledged writes")
        print(f"lost by a kill: {spread(self.lost)} writes, the oldest {spread(self.ages)} s before it")
        if self.restores:
            print(f"restore of the newest state: {spread(self.restores)} s")
        if self.promotions:
            print(f"promotion of the standby: {spread(self.promotions)} s")


def check(directory, name, writers, killed, promised, figures):
    """Compares a directory that no server uses with the writes. Returns its state."""
    run(directory, "verify", "--data-dir", name)
    server = Server(directory, f"{directory}/{name}.log", "--data-dir", name)
    found = model.read(server.port)
    server.end()
    compare(name, writers, found, killed, promised, figures)


def compare(what, writers, found, killed, promised, figures):
    counts, latest = model.moment(writers, found, what)
    for writer, count in zip(writers, counts):
        expected = writer.acknowledged(promised)
        assert count >= expected, f"{what}: writer {writer.number} has {count} of {expected} promised writes"
    lost = model.lost(writers, counts, killed)
    assert lost[1] <= LOSS, f"{what}: lost {lost[0]} writes, the oldest {lost[1]:.2f} s before the kill"
    assert latest >= killed - LOSS, f"{what}: it is a moment {killed - latest:.2f} s before the kill"
    figures.note(writers, lost)


def write_for_a_while(server, follows, state, random_):
    """Writes until a kill. Returns the writers, the time of the kill, and a time before which nothing may be lost."""
    writers = model.begin(server.port, state, random_.random())
    until(server.restorable, "the first base")
    time.sleep(random_.uniform(*RUN_SECONDS))
    promised = follows(server)
    # Anywhere within an interval.
    time.sleep(random_.uniform(0, 1.2))
    killed = server.kill()
    model.end(writers)
    return writers, killed, promised


def restored_after_each_kill(directory, seconds, random_, figures):
    backup = ("--backup", f"file://{directory}/backup", "--backup-keep", "30s", "--backup-keep-bases", "1")
    state, end = {}, time.time() + seconds
    while figures.rounds == 0 or time.time() < end:
        server = Server(directory, f"{directory}/data.log", "--data-dir", "data", *backup)
        if figures.rounds == 0:
            Client(server.port).put(f"/{model.BUCKET}", b"")
        writers, killed, promised = write_for_a_while(server, Server.restorable, state, random_)
        begun = time.time()
        run(directory, "restore", f"file://{directory}/backup", "restored")
        figures.restores.append(time.time() - begun)
        check(directory, "restored", writers, killed, promised, figures)
        shutil.rmtree(f"{directory}/restored")
        # The directory itself has lost nothing, and shows which of the unanswered writes it has.
        server = Server(directory, f"{directory}/data.log", "--data-dir", "data")
        state = model.read(server.port)
        counts, _ = model.moment(writers, state, "the data directory")
        for writer, count in zip(writers, counts):
            assert count >= writer.acknowledged(), f"writer {writer.number} lost an acknowledged write"
        server.end()


def followed_by(standby):
    """Asks for a time before which the standby has everything that was acknowledged."""
    def ask(primary):
        restorable, asked = primary.restorable(), time.time()
        # It has had all that the backup had at that time.
        until(lambda: time.time() - standby.metrics()["liteio_standby_seconds_behind"] > asked, "the standby")
        return restorable
    return ask


def promoted_after_each_kill(directory, seconds, random_, figures):
    location = f"file://{directory}/backup"
    backup = ("--backup-keep", "30s", "--backup-keep-bases", "1", "--fence=2s")
    state, end = {}, time.time() + seconds
    primary = Server(directory, f"{directory}/data.log", "--data-dir", "data", "--backup", location, *backup)
    Client(primary.port).put(f"/{model.BUCKET}", b"")
    serving = "data"
    while figures.rounds == 0 or time.time() < end:
        name = f"standby-{figures.rounds}"
        until(primary.restorable, "the first base")
        standby = Server(directory, f"{directory}/standby.log", "standby", location, name, *backup)
        writers, killed, promised = write_for_a_while(primary, followed_by(standby), state, random_)
        begun = time.time()
        run(directory, "promote", name)
        figures.promotions.append(time.time() - begun)
        state = model.read(standby.port)
        compare(name, writers, state, killed, promised, figures)
        # It is written to at once.
        Client(standby.port).put(f"/{model.BUCKET}/promoted", b"")
        Client(standby.port).delete(f"/{model.BUCKET}/promoted")
        shutil.rmtree(f"{directory}/{serving}")
        primary, serving = standby, name
    primary.end()
    run(directory, "verify", "--data-dir", serving)


def main():
    seconds = float(sys.argv[1])
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    has_standby = "--standby" in sys.argv[2:]
    print(f"seed {seed}, {seconds:.0f} s, {'with a standby' if has_standby else 'restores'}", flush=True)
    directory, figures = tempfile.mkdtemp(prefix="liteio-kill-"), Figures()
    try:
        rounds = promoted_after_each_kill if has_standby else restored_after_each_kill
        rounds(directory, seconds, random.Random(seed), figures)
    except BaseException:
        print(f"left for a look: {directory}", file=sys.stderr)
        raise
    shutil.rmtree(directory)
    figures.show()


if __name__ == "__main__":
    main()
