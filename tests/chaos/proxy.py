"""A TCP proxy that misbehaves on demand."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Literal

Mode = Literal["pass", "refuse", "blackhole", "swallow"]
"""``refuse``: new connections are reset. ``blackhole``: they are taken, and nothing moves in either direction, as with
a dead peer. ``swallow``: requests pass, replies do not."""


class Proxy:
    """Stands before one port of this machine. Modes bear on open connections as well as on new ones."""

    def __init__(self, target: int) -> None:
        """Listen on a free port."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self.mode: Mode = "pass"
        self.latency = 0.0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Reset every open connection."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            _reset(connection)

    def close(self) -> None:
        """Cut everything and listen no more."""
        self._closed = True
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.mode == "refuse":
                _reset(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5.0)
            except OSError:
                _reset(client)
                continue
            server.settimeout(None)
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            for source, sink, replies in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, sink, replies), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        try:
            while data := source.recv(65_536):
                while self.mode == "blackhole" and not self._closed:
                    time.sleep(0.02)
                if self.latency:
                    time.sleep(self.latency)
                if not (replies and self.mode == "swallow"):
                    sink.sendall(data)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open -= {source, sink}
            for connection in (source, sink):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()


def _reset(connection: socket.socket) -> None:
    """Close with RST, as a crashed peer does, and wake whoever reads from it."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
