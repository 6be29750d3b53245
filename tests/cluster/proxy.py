"""A balancer that sends each request to another server, also those of one connection: what a server remembers of the
request before is of no use to it."""

import asyncio
import itertools
import threading

HEAD_BYTES = 1 << 20


class Head:
    """The first line and the headers of a message, as they came."""

    def __init__(self, raw):
        self.raw = raw
        self.first, *lines = raw.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        self.headers = {name.strip().lower(): value.strip().lower() for name, _, value in pairs}

    @staticmethod
    async def read(reader):
        """`None` at the end of a connection."""
        try:
            return Head(await reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


async def body(head, reader, writer, until_end=False):
    """Passes a body on, by its framing."""
    if "chunked" in head.headers.get("transfer-encoding", ""):
        size = None
        while size != 0:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            writer.write(line)
            if size:
                await passed(reader, writer, size + 2)
        line = None
        while line != b"\r\n":
            line = await reader.readuntil(b"\r\n")
            writer.write(line)
        await writer.drain()
    elif "content-length" in head.headers:
        await passed(reader, writer, int(head.headers["content-length"]))
    elif until_end:
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()


async def passed(reader, writer, count):
    while count > 0:
        piece = await reader.read(min(count, 1 << 16))
        if not piece:
            raise ConnectionError("a body that was cut")
        writer.write(piece)
        await writer.drain()
        count -= len(piece)


class RoundRobin:
    """The balancer, in a thread; `ports()` names those of the servers that may be asked."""

    def __init__(self, ports):
        self.ports, self.turns = ports, itertools.count()
        self.loop, started = asyncio.new_event_loop(), threading.Event()
        self.port = None

        async def begin():
            listener = await asyncio.start_server(self.connection, "127.0.0.1", 0, limit=HEAD_BYTES)
            self.port = listener.sockets[0].getsockname()[1]
            started.set()

        def run():
            self.loop.create_task(begin())
            self.loop.run_forever()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        started.wait()

    def stop(self):
        async def end():
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self.loop.stop()

        self.loop.call_soon_threadsafe(lambda: self.loop.create_task(end()))
        self.thread.join()

    async def connection(self, reader, writer):
        try:
            while head := await Head.read(reader):
                if not await self.request(head, reader, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def request(self, head, reader, writer):
        """Passes a request on, and its answer back. `False` if the connection is of no more use."""
        ports = self.ports()
        from_server, to_server = await asyncio.open_connection(
            "127.0.0.1", ports[next(self.turns) % len(ports)], limit=HEAD_BYTES)
        try:
            to_server.write(head.raw)
            sent = asyncio.ensure_future(body(head, reader, to_server))
            while True:
                answer = await Head.read(from_server)
                if answer is None:
                    sent.cancel()
                    return False
                writer.write(answer.raw)
                status = answer.first.split()[1]
                if not status.startswith("1"):
                    break
                await writer.drain()
            if head.first.split()[0] != "HEAD" and status not in ("204", "304"):
                await body(answer, from_server, writer, until_end=True)
            await writer.drain()
            # An answer may come before the end of the body: what is left of it is no request.
            if not sent.done():
                sent.cancel()
                return False
            return sent.exception() is None and answer.headers.get("connection") != "close"
        finally:
            to_server.close()
