"""A checker of linearizability, by Wing and Gong with the memory of Lowe: whether there is an order of the operations on a
key, each between its begin and its end, in which each has the outcome that its client was told.

The register of a key has a value; `None` is no object. Operations:

    put v             the value is v afterwards
    delete            there is none afterwards
    swap e v          v replaces e; e may be `None`. Told: it did, or the value was another one
    get               told: the value
    list              told: whether there is a value

An operation without an answer may happen at any time after its begin, or never."""

import dataclasses
import itertools

REFUSED = "refused"


@dataclasses.dataclass(eq=False)
class Operation:
    kind: str
    begun: float
    # `None` without an answer.
    ended: float | None
    value: str | None = None
    expected: str | None = None
    # `REFUSED`, or what was read.
    told: object = None

    def __str__(self):
        words = {"put": f"put {self.value}", "swap": f"swap {self.expected} for {self.value}"}.get(self.kind, self.kind)
        ended = "no answer" if self.ended is None else f"{self.ended:.4f}"
        return f"{self.begun:.4f} to {ended}: {words} -> {self.told}"


class Impossible(Exception):
    """An operation that cannot have had its outcome in a state."""


def after(operation, state):
    """The state after an operation."""
    match operation.kind:
        case "put":
            return operation.value
        case "delete":
            return None
        case "get":
            fits, state_after = operation.told == state, state
        case "list":
            fits, state_after = operation.told == (state is not None), state
        case "swap" if operation.told == REFUSED:
            fits, state_after = operation.expected != state, state
        case "swap":
            fits, state_after = operation.expected == state, operation.value
        case kind:
            raise ValueError(kind)
    if not fits:
        raise Impossible
    return state_after


def check(operations):
    """`None` if the operations of a key are linearizable, otherwise the first one whose outcome has no explanation.

    A configuration is a state, and the open operations that have taken effect already. With each end the configurations are
    replaced by those in which the operation has taken effect, perhaps behind other open ones."""
    # Of two events at a time, the begin comes first: they may overlap.
    events = sorted(itertools.chain.from_iterable(
        [(it.begun, 0, number)] + ([(it.ended, 1, number)] if it.ended is not None else [])
        for number, it in enumerate(operations)))
    opened, configurations = set(), {(None, frozenset())}
    for _, is_end, number in events:
        if not is_end:
            # What was read without an answer says nothing.
            if operations[number].ended is not None or operations[number].kind not in ("get", "list"):
                opened.add(number)
            continue
        configurations = with_effect(operations, number, opened, configurations)
        opened.remove(number)
        if not configurations:
            return operations[number]
    return None


def with_effect(operations, number, opened, configurations):
    """The configurations in which an operation has taken effect, without the mark of it."""
    found, seen, left = set(), set(configurations), list(configurations)
    while left:
        state, taken = left.pop()
        if number in taken:
            found.add((state, taken - {number}))
            continue
        for other in opened - taken:
            try:
                following = after(operations[other], state), taken | {other}
            except Impossible:
                continue
            if following not in seen:
                seen.add(following)
                left.append(following)
    return found
