"""Clients that change a few keys at a time, and note when each request began and ended, and what it was told."""

import hashlib
import random
import re
import threading
import time
from http.client import HTTPException

from linear import REFUSED, Operation, check
from servers import Refused

BUCKET = "history"
CLIENTS = 9
KEYS = 12
UNKNOWN = {500, 503}


def tag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


class History:
    """The operations of all clients of a round, by their keys, each of which begins without an object."""

    def __init__(self, cluster, name, seed):
        self.cluster, self.keys = cluster, [f"{name}-{number}" for number in range(KEYS)]
        self.prefix = f"{name}-"
        self.operations = {key: [] for key in self.keys}
        self.is_stopped, self.failures = False, []
        self.clients = [threading.Thread(target=self.work, args=(random.Random(f"{seed}-{number}"),), daemon=True)
                        for number in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def stop(self):
        self.is_stopped = True
        for client in self.clients:
            client.join(180)
            assert not client.is_alive(), "a client hangs"
        if self.failures:
            raise self.failures[0]

    def acknowledged(self):
        """The number of operations that were answered."""
        return sum(it.ended is not None for all_ in self.operations.values() for it in all_)

    def wrong(self):
        """The keys whose histories are not linearizable, with the operation that shows it."""
        found = ((key, check(operations)) for key, operations in self.operations.items())
        return [(key, operation) for key, operation in found if operation is not None]

    def work(self, random_):
        try:
            # The value that it saw last of each key: what its conditions ask for.
            seen, connections = {}, {}
            while not self.is_stopped:
                server = random_.choice(self.cluster.servers)
                if server.name not in connections:
                    connections[server.name] = server.client()
                if not self.one(random_, connections[server.name], seen):
                    connections.pop(server.name).connection.close()
                    self.wait_until_ready(server)
        except Exception as failure:  # noqa: BLE001, told by the test
            self.failures.append(failure)

    def wait_until_ready(self, server):
        """Waits for a server as a balancer does. One that is asked again and again would leave thousands of operations without
        an outcome, in all orders of which the checker has to look."""
        while not self.is_stopped and not server.is_ready():
            time.sleep(0.1)

    def one(self, random_, client, seen):
        """One operation. `False` if its outcome is not known."""
        key = random_.choice(self.keys)
        path = f"/{BUCKET}/{key}"
        # Bodies in records, and in files.
        body = random_.randbytes(random_.choice([40, 40, 20_000]))
        kind = random_.choices(["put", "get", "swap", "delete", "list"], [25, 35, 25, 8, 7])[0]
        operation = Operation(kind, time.monotonic(), None, tag(body) if kind in ("put", "swap") else None)
        listed = None
        if kind == "swap":
            operation.expected = seen.get(key)
        if kind == "list":
            # The same request reads all keys.
            listed = {other: Operation("list", operation.begun, None) for other in self.keys}
        else:
            self.operations[key].append(operation)
        try:
            answer = self.asked(client, kind, path, body, operation)
        except Refused as refused:
            if refused.status in UNKNOWN:
                return False
            if kind == "swap" and refused.status in (404, 412):
                operation.told = REFUSED
                seen.pop(key, None)
            elif kind == "swap" and refused.status == 409:
                # Another write was under way: it did nothing, whatever the value was.
                self.operations[key].remove(operation)
                return True
            elif kind == "get" and refused.status == 404:
                answer = None
                seen.pop(key, None)
            else:
                raise
        except (OSError, HTTPException):
            return False
        ended = time.monotonic()
        if kind == "list":
            there = set(re.findall(r"<Key>(.+?)</Key>", answer.decode()))
            for other, of_key in listed.items():
                of_key.ended, of_key.told = ended, other in there
                self.operations[other].append(of_key)
            return True
        if kind == "get":
            operation.told = seen[key] = None if answer is None else tag(answer)
        elif operation.told != REFUSED:
            seen[key] = operation.value
        operation.ended = ended
        return True

    def asked(self, client, kind, path, body, operation):
        match kind:
            case "put":
                return client.request("PUT", path, body=body)
            case "get":
                return client.request("GET", path)[1]
            case "delete":
                return client.request("DELETE", path)
            case "list":
                return client.request("GET", f"/{BUCKET}", [("list-type", "2"), ("prefix", self.prefix)])[1]
            case "swap":
                wanted = operation.expected
                condition = {"If-None-Match": "*"} if wanted is None else {"If-Match": wanted}
                return client.request("PUT", path, body=body, headers=condition)
