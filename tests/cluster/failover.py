"""failover.py ROUNDS [--asynchronous]: three servers over a primary of PostgreSQL and its standby. In each round clients put,
get, delete, list and swap on a few keys, the primary is killed, the standby is promoted, and the servers go on by
themselves. The history of each key has to be linearizable: nothing that was acknowledged is lost or comes back.

With --asynchronous commits do not wait for the standby, and it lags behind: the control, in which the checker or the
servers have to find something.

LITEIO names the program."""

import os
import random
import sys
import time

from history import BUCKET, History
from postgres import until
from servers import Cluster, with_cluster

# Seconds before the kill.
RUN_SECONDS = (1.0, 3.0)
# Operations that are answered behind the promotion before the round ends.
OPERATIONS_AFTER = 300


def fail_over(cluster, history, random_, is_asynchronous):
    """Kills the primary while clients work. Returns the seconds until they are answered again."""
    time.sleep(random_.uniform(*RUN_SECONDS))
    if is_asynchronous:
        before = history.acknowledged()
        cluster.database.stop_sender()
        # Acknowledged, and not on the standby.
        until(lambda: history.acknowledged() > before + 100, "writes behind the back of the standby")
    killed = time.monotonic()
    cluster.fail_over()
    # Those that were in flight at the kill may be answered by memory.
    promoted = time.monotonic()
    answered = until(lambda: first_after(history, promoted), "an answer after the promotion")
    before = history.acknowledged()
    until(lambda: history.acknowledged() > before + OPERATIONS_AFTER, "the operations after the promotion")
    history.stop()
    return promoted - killed, answered - killed


def first_after(history, moment):
    """The end of the first write that began after a moment."""
    ended = [it.ended for all_ in history.operations.values() for it in list(all_)
             if it.kind == "put" and it.begun > moment and it.ended is not None]
    return min(ended, default=None)


def lost(cluster):
    """The acknowledged commits that the servers have noticed to be lost."""
    return sum(server.metrics().get("liteio_cluster_commits_lost_total", 0) for server in cluster.servers)


def one_round(cluster, number, random_, is_asynchronous):
    """Returns the keys that are not linearizable."""
    history = History(cluster, f"round-{number}", random_.random())
    promotion, answered = fail_over(cluster, history, random_, is_asynchronous)
    wrong = history.wrong()
    unanswered = sum(it.ended is None for all_ in history.operations.values() for it in all_)
    print(f"round {number}: {history.acknowledged()} operations, {unanswered} without an answer, promoted in "
          f"{promotion:.1f} s, answered again after {answered:.1f} s, {len(wrong)} keys not linearizable, "
          f"{lost(cluster):.0f} commits lost", flush=True)
    for key, operation in wrong:
        print(f"  {key}: {operation}", flush=True)
        if not is_asynchronous:
            for other in sorted(history.operations[key], key=lambda it: it.begun):
                print(f"    {other}")
    return wrong


def run(cluster, rounds, random_, is_asynchronous):
    cluster.servers[0].client().put(f"/{BUCKET}", b"")
    wrong = []
    for number in range(rounds):
        wrong += one_round(cluster, number, random_, is_asynchronous)
        if number + 1 < rounds:
            cluster.add_standby_again()
    if is_asynchronous:
        assert wrong, "the checker has not found what an asynchronous standby has lost"
        assert lost(cluster) > 0, "no server has noticed that its commits are lost"
    else:
        assert not wrong, f"{len(wrong)} keys are not linearizable"
        assert lost(cluster) == 0, "a server has lost commits"
        checked = cluster.command("check")
        print(checked.strip())


def main():
    rounds = int(sys.argv[1])
    is_asynchronous = "--asynchronous" in sys.argv[2:]
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {rounds} rounds, {'asynchronous' if is_asynchronous else 'synchronous'}", flush=True)
    cluster = Cluster(standby="async" if is_asynchronous else "sync")
    with_cluster(cluster, lambda: run(cluster, rounds, random.Random(seed), is_asynchronous))


if __name__ == "__main__":
    main()
