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

from postgres import until
from rounds import Round, check_nothing_is_lost, lost, make_bucket, pause
from servers import Cluster, with_cluster

# Seconds before the kill.
RUN_SECONDS = (1.0, 3.0)


def one_round(cluster, number, random_, is_asynchronous):
    """Kills the primary while clients work. Returns the keys that are not linearizable."""
    clients = Round(cluster, number, random_)
    pause(RUN_SECONDS, random_)
    if is_asynchronous:
        before = clients.acknowledged()
        cluster.database.stop_sender()
        # Acknowledged, and not on the standby.
        until(lambda: clients.acknowledged() > before + 100, "writes behind the back of the standby")
    killed = time.monotonic()
    cluster.fail_over()
    # Those that were in flight at the kill may be answered by memory.
    promoted = time.monotonic()
    answered = clients.end_after(promoted, "the promotion")
    return clients.check(f"promoted in {promoted - killed:.1f} s, answered again after {answered - killed:.1f} s",
                         shows=not is_asynchronous)


def run(cluster, rounds, random_, is_asynchronous):
    make_bucket(cluster)
    wrong = []
    for number in range(rounds):
        wrong += one_round(cluster, number, random_, is_asynchronous)
        if number + 1 < rounds:
            cluster.add_standby_again()
    if is_asynchronous:
        assert wrong, "the checker has not found what an asynchronous standby has lost"
        assert lost(cluster) > 0, "no server has noticed that its commits are lost"
    else:
        check_nothing_is_lost(cluster, wrong)


def main():
    rounds = int(sys.argv[1])
    is_asynchronous = "--asynchronous" in sys.argv[2:]
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {rounds} rounds, {'asynchronous' if is_asynchronous else 'synchronous'}", flush=True)
    cluster = Cluster(standby="async" if is_asynchronous else "sync")
    with_cluster(cluster, lambda: run(cluster, rounds, random.Random(seed), is_asynchronous))


if __name__ == "__main__":
    main()
