"""patroni.py ROUNDS [NAME …]: three servers over three PostgreSQL servers under Patroni, with a synchronous standby. In each round
clients put, get, delete, list and swap on a few keys, and something happens to the primary. The servers go on by themselves,
and the history of each key has to be linearizable.

    postgres      PostgreSQL is killed: Patroni starts it again, or promotes the standby
    both          PostgreSQL and its Patroni are killed
    switchover    `patronictl switchover`
    patroni       Patroni alone is killed, so two primaries run until it is started again

The rounds have all of them in turn, or those that are named. LITEIO names the program. Needs tests/cluster/install-patroni."""

import os
import random
import sys
import time

from patroni_nodes import Patroni
from postgres import until
from rounds import Round, check_nothing_is_lost, make_bucket, pause
from servers import Cluster, with_cluster

WAYS = ["both", "switchover", "postgres", "patroni"]
# Seconds before something happens.
RUN_SECONDS = (1.0, 3.0)
# Seconds for which both primaries run: those without a database for 10 seconds answer 503 meanwhile.
TWO_PRIMARIES_SECONDS = 20
# Seconds without an answered write at most: the time until a silent leader is replaced, and what servers need to see it.
PAUSE_MAX = 60


def killed(node, is_postgres, is_patroni):
    # Patroni first, which would start it again.
    if is_patroni:
        node.kill()
    if is_postgres:
        node.kill_postgres()


def wait_for_another(patroni, former):
    """Waits until another node is the primary."""
    return until(lambda: (leader := patroni.leader()) and leader is not former and leader, "another primary")


def disturb(patroni, what, leader):
    """Lets something happen to the primary. Returns when clients may be answered again."""
    match what:
        case "postgres":
            killed(leader, is_postgres=True, is_patroni=False)
        case "both":
            killed(leader, is_postgres=True, is_patroni=True)
            wait_for_another(patroni, leader)
        case "patroni":
            killed(leader, is_postgres=False, is_patroni=True)
            wait_for_another(patroni, leader)
            time.sleep(TWO_PRIMARIES_SECONDS)
        case "switchover":
            patroni.switch_over()
        case other:
            sys.exit(f"there is no round {other}")


def one_round(cluster, number, what, random_):
    """Returns the keys that are not linearizable."""
    patroni = cluster.database
    if what == "patroni":
        # New connections then reach the standby once it is promoted, and those that are open still the former primary.
        patroni.let_standby_come_first()
    leader = patroni.leader()
    clients = Round(cluster, number, random_)
    pause(RUN_SECONDS, random_)
    begun = time.monotonic()
    disturb(patroni, what, leader)
    changed = time.monotonic()
    if leader.process.poll() is not None:
        leader.start()
    clients.end_after(changed, what)
    paused = clients.longest_pause()
    wrong = clients.check(f"{what} of {leader.name} in {changed - begun:.1f} s, no write for {paused:.1f} s at most")
    assert paused < PAUSE_MAX, f"no write was answered for {paused:.0f} s"
    patroni.wait_until_healthy()
    return wrong


def run(cluster, rounds, ways, random_):
    make_bucket(cluster)
    wrong = []
    for number in range(rounds):
        wrong += one_round(cluster, number, ways[number % len(ways)], random_)
    check_nothing_is_lost(cluster, wrong)


def main():
    rounds, ways = int(sys.argv[1]), sys.argv[2:] or WAYS
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {rounds} rounds: {', '.join(ways)}", flush=True)
    cluster = Cluster(database=Patroni)
    with_cluster(cluster, lambda: run(cluster, rounds, ways, random.Random(seed)))


if __name__ == "__main__":
    main()
