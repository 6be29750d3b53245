"""A round of a test: clients work while something happens to the database, and their history is checked."""

import time

from history import BUCKET, History
from postgres import until

# Operations that are answered behind a change of the primary before the round ends.
OPERATIONS_AFTER = 300


class Round:
    """The clients of a round, from its start."""

    def __init__(self, cluster, number, random_):
        self.cluster, self.number = cluster, number
        self.history = History(cluster, f"round-{number}", random_.random())

    def acknowledged(self):
        return self.history.acknowledged()

    def first_after(self, moment):
        """The end of the first write that began after a moment; `None` as long as there is none."""
        ended = [it.ended for all_ in self.history.operations.values() for it in list(all_)
                 if it.kind == "put" and it.begun > moment and it.ended is not None]
        return min(ended, default=None)

    def end_after(self, moment, what):
        """Waits until clients are answered behind a moment, and go on. Returns the end of the first answer."""
        answered = until(lambda: self.first_after(moment), f"an answer after {what}")
        before = self.acknowledged()
        until(lambda: self.acknowledged() > before + OPERATIONS_AFTER, f"the operations after {what}")
        self.history.stop()
        return answered

    def longest_pause(self):
        """The longest time between the ends of two writes that were answered."""
        ends = sorted(it.ended for all_ in self.history.operations.values() for it in all_
                      if it.kind == "put" and it.ended is not None)
        return max((after - before for before, after in zip(ends, ends[1:])), default=0)

    def check(self, told, shows=True):
        """Prints what has happened. Returns the keys that are not linearizable, and prints their operations."""
        wrong = self.history.wrong()
        unanswered = sum(it.ended is None for all_ in self.history.operations.values() for it in all_)
        print(f"round {self.number}: {self.acknowledged()} operations, {unanswered} without an answer, {told}, "
              f"{len(wrong)} keys not linearizable, {lost(self.cluster):.0f} commits lost", flush=True)
        for key, operation in wrong:
            print(f"  {key}: {operation}", flush=True)
            if shows:
                for other in sorted(self.history.operations[key], key=lambda it: it.begun):
                    print(f"    {other}")
        return wrong


def make_bucket(cluster):
    cluster.servers[0].client().put(f"/{BUCKET}", b"")


def lost(cluster):
    """The acknowledged commits that the servers have noticed to be lost."""
    return sum(server.metrics().get("liteio_cluster_commits_lost_total", 0) for server in cluster.servers)


def check_nothing_is_lost(cluster, wrong):
    assert not wrong, f"{len(wrong)} keys are not linearizable"
    assert lost(cluster) == 0, "a server has lost commits"
    print(cluster.command("check").strip())


def pause(seconds, random_):
    time.sleep(random_.uniform(*seconds))
