"""Writers that remember what they did and when, and the moments at which a state of a server may have been seen."""

import hashlib
import http.client
import random
import threading
import time

from s3 import Client, Refused

BUCKET = "model"
WRITERS = 6
# Of each writer: few, so that most writes replace or delete something.
KEYS = 60
BYTES = (50, 60_000)
# Of the first of two parts.
PART_BYTES = 5 << 20


class Write:
    """A change of one key. It was committed between `begun` and `ended`, or perhaps never if it was not answered."""

    def __init__(self, path, digest):
        self.path = path
        # `None` for a deletion.
        self.digest = digest
        self.begun = time.time()
        # Unanswered for now.
        self.ended = None


class Writer(threading.Thread):
    """Changes its own keys one after another, until the server does not answer."""

    def __init__(self, number, port, state, seed):
        super().__init__(daemon=True)
        self.number, self.port, self.random = number, port, random.Random(f"{seed}-{number}")
        # Before its first write.
        self.before = dict(state)
        self.writes = []
        self.failure = None
        self.is_stopped = False

    def run(self):
        try:
            self.write(Client(self.port))
        except (OSError, http.client.HTTPException):
            # The server was killed.
            pass
        except Exception as failure:  # noqa: BLE001, told by the test
            self.failure = failure

    def write(self, client):
        state = dict(self.before)
        while not self.is_stopped:
            path = f"/{BUCKET}/{self.number}/{self.random.randrange(KEYS)}"
            if path in state and self.random.random() < 0.2:
                write = self.note(path, None)
                client.delete(path)
                state.pop(path)
            else:
                # All bodies differ, so that each write is another state.
                body = self.random.randbytes(self.random.randint(*BYTES))
                kind = self.random.random()
                if kind < 0.1:
                    parts = [body]
                    if kind < 0.005:
                        parts = [self.random.randbytes(PART_BYTES), body]
                    write = self.note(path, digest(b"".join(parts)))
                    client.put_in_parts(path, parts)
                else:
                    write = self.note(path, digest(body))
                    client.put(path, body)
                state[path] = write.digest
            write.ended = time.time()

    def note(self, path, digest):
        write = Write(path, digest)
        self.writes.append(write)
        return write

    def acknowledged(self, before=float("inf")):
        """The number of writes that were answered before a time."""
        return sum(1 for write in self.writes if write.ended is not None and write.ended < before)

    def times(self, count):
        """The first and the last time at which it may have had so many writes."""
        first = self.writes[count - 1].begun if count > 0 else 0.0
        ended = self.writes[count].ended if count < len(self.writes) else None
        return first, float("inf") if ended is None else ended

    def moments(self, found):
        """The counts of writes after which its keys have the state `found`."""
        state = dict(self.before)
        counts = [0] if state == found else []
        for count, write in enumerate(self.writes, 1):
            if write.digest is None:
                state.pop(write.path, None)
            else:
                state[write.path] = write.digest
            if state == found:
                counts.append(count)
        return counts


def digest(body):
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def begin(port, state, seed):
    """Starts all writers."""
    writers = [Writer(number, port, of_writer(state, number), seed) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    return writers


def end(writers):
    """Waits for the ends of all writers."""
    for writer in writers:
        writer.is_stopped = True
    for writer in writers:
        writer.join(60)
        assert not writer.is_alive(), "a writer hangs"
        if isinstance(writer.failure, Refused) and writer.failure.status == 503:
            continue
        assert writer.failure is None, f"writer {writer.number}: {writer.failure!r}"


def of_writer(state, number):
    prefix = f"/{BUCKET}/{number}/"
    return {path: digest for path, digest in state.items() if path.startswith(prefix)}


def read(port):
    """The state of a server: the digest of each object."""
    client = Client(port)
    return {path: digest(client.get(path)) for path in (f"/{BUCKET}/{key}" for key in client.keys(BUCKET))}


def moment(writers, found, what):
    """The number of writes of each writer in a state, which has to be one of one moment; and the newest time at which
    that moment may have been."""
    fitting = []
    for writer in writers:
        of_keys = of_writer(found, writer.number)
        counts = writer.moments(of_keys)
        assert counts, f"{what}: writer {writer.number} never had this state: {len(of_keys)} keys"
        # The same state may come back after a deletion.
        fitting.append([(*writer.times(count), count) for count in counts])
    times = {time for of_writer_ in fitting for first, last, _ in of_writer_ for time in (first, last)}
    for time_ in sorted(times, reverse=True):
        at = [[(last, count) for first, last, count in of_writer_ if first <= time_ <= last]
              for of_writer_ in fitting]
        if all(at):
            newest = [max(of_writer_) for of_writer_ in at]
            return [count for _, count in newest], min(last for last, _ in newest)
    raise AssertionError(f"{what}: the writers are at different moments")


def lost(writers, counts, killed):
    """Acknowledged writes that a state lacks, and the age of the oldest of them at the kill."""
    missing = [write.ended for writer, count in zip(writers, counts)
               for write in writer.writes[count:] if write.ended is not None]
    return len(missing), max((killed - ended for ended in missing), default=0.0)
