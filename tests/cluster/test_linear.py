"""The checker finds what is linearizable, and what is not."""

import itertools
import random

import pytest

from linear import REFUSED, Impossible, Operation, after, check


def put(begun, ended, value):
    return Operation("put", begun, ended, value)


def get(begun, ended, told):
    return Operation("get", begun, ended, told=told)


def swap(begun, ended, expected, value, told=None):
    return Operation("swap", begun, ended, value, expected, told)


@pytest.mark.parametrize("operations", [
    [],
    [get(0, 1, None)],
    [put(0, 1, "a"), get(2, 3, "a")],
    # Open ones may have happened or not.
    [put(0, 10, "a"), get(1, 2, None), get(3, 4, "a")],
    [put(0, 1, "a"), put(2, 10, "b"), get(3, 4, "a"), get(5, 6, "b")],
    # Two at a time, in either order.
    [put(0, 10, "a"), put(0, 10, "b"), get(11, 12, "a")],
    [put(0, 10, "a"), put(0, 10, "b"), get(11, 12, "b")],
    # Without an answer: never, or late.
    [put(0, None, "a"), get(1, 2, None), get(90, 91, None)],
    [put(0, None, "a"), put(1, 2, "b"), get(3, 4, "b"), get(90, 91, "a")],
    [put(0, 1, "a"), Operation("delete", 2, None), get(3, 4, "a"), get(5, 6, None)],
    [swap(0, None, None, "a"), swap(1, 2, None, "b", REFUSED), get(3, 4, "a")],
    # Conditions.
    [swap(0, 10, None, "a"), swap(0, 10, None, "b", REFUSED), get(11, 12, "a")],
    [put(0, 1, "a"), swap(2, 10, "a", "b"), swap(3, 9, "b", "c"), get(11, 12, "c")],
    [put(0, 1, "a"), Operation("list", 2, 3, told=True), Operation("delete", 4, 5), Operation("list", 6, 7, told=False)],
])
def test_linearizable(operations):
    assert check(operations) is None


@pytest.mark.parametrize("operations, wrong", [
    ([get(0, 1, "a")], 0),
    # An acknowledged write that is lost, and an older one that comes back.
    ([put(0, 1, "a"), get(2, 3, None)], 1),
    ([put(0, 1, "a"), put(2, 3, "b"), get(4, 5, "a")], 2),
    ([put(0, 1, "a"), Operation("delete", 2, 3), get(4, 5, "a")], 2),
    # A read of the new value, then one of the old.
    ([put(0, 1, "a"), put(2, 20, "b"), get(3, 4, "b"), get(5, 6, "a")], 3),
    # An operation without an answer happens once.
    ([put(0, None, "a"), get(1, 2, "a"), put(3, 4, "b"), get(5, 6, "b"), get(7, 8, "a")], 4),
    # Two winners, and a refusal without a reason.
    ([swap(0, 10, None, "a"), swap(0, 10, None, "b")], 1),
    ([put(0, 1, "a"), swap(2, 3, "a", "b", REFUSED)], 1),
    ([put(0, 1, "a"), swap(2, 3, "b", "c")], 1),
    # A list that lacks an object.
    ([put(0, 1, "a"), Operation("list", 2, 3, told=False)], 1),
    # Two readers that see two writes in different orders.
    ([put(0, 10, "a"), put(0, 10, "b"), get(11, 12, "a"), get(13, 14, "b")], 3),
])
def test_not_linearizable(operations, wrong):
    assert check(operations) is operations[wrong]


def by_all_orders(operations):
    """`True` if some order of the operations explains them; the slow and plain way."""
    sure = [it for it in operations if it.ended is not None]
    unsure = [it for it in operations if it.ended is None]
    for count in range(len(unsure) + 1):
        for some in itertools.combinations(unsure, count):
            for order in itertools.permutations(sure + list(some)):
                in_time = all(not (later.ended is not None and later.ended < earlier.begun)
                              for earlier, later in itertools.combinations(order, 2))
                if in_time and explains(order):
                    return True
    return False


def explains(order):
    state = None
    try:
        for operation in order:
            state = after(operation, state)
    except Impossible:
        return False
    return True


def test_it_agrees_with_a_search_through_all_orders():
    found = {True: 0, False: 0}
    for seed in range(1500):
        random_ = random.Random(seed)
        operations = []
        for number in range(random_.randint(1, 5)):
            begun = random_.randrange(12) + number / 100
            ended = None if random_.random() < 0.2 else begun + random_.randrange(1, 8) + 0.5
            kind = random_.choice(["put", "get", "swap", "delete", "list"])
            if ended is None and kind in ("get", "list"):
                kind = "put"
            told = {"get": random_.choice([None, "a", "b"]), "list": random_.random() < 0.5,
                    "swap": random_.choice([REFUSED, None]) if ended is not None else None}.get(kind)
            operations.append(Operation(kind, begun, ended, random_.choice("ab"), random_.choice([None, "a", "b"]), told))
        expected = by_all_orders(operations)
        assert (check(operations) is None) == expected, f"seed {seed}: {[str(it) for it in operations]}"
        found[expected] += 1
    assert min(found.values()) > 300, found
