"""An HTTPS server that reads each POST and answers {}: as little as a server can do, so that it hides no client's time.

    sink_server.py CERTIFICATE KEY [FOLDER]

Prints its port on loopback. With FOLDER each body is saved there, as 0000.body, 0001.body and so on.
"""

import itertools
import pathlib
import socket
import ssl
import sys
import threading

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
numbers = itertools.count()


def serve(connection: ssl.SSLSocket, folder: pathlib.Path | None) -> None:
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    while True:
        head = b""
        while b"\r\n\r\n" not in head:
            received = connection.recv(1 << 16)
            if not received:
                return
            head += received
        head, _, body = head.partition(b"\r\n\r\n")
        lines = [line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:]]
        length = next(int(value) for name, value in lines if name == b"content-length")
        saved = None if folder is None else bytearray(body)
        left = length - len(body)
        while left > 0:
            count = connection.recv_into(buffer, min(left, len(buffer)))
            if not count:
                return
            if saved is not None:
                saved += view[:count]
            left -= count
        if folder is not None:
            (folder / f"{next(numbers):04}.body").write_bytes(saved)
        connection.sendall(ANSWER)


def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["http/1.1"])
    folder = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        plain, _ = listener.accept()
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(context, plain, folder), daemon=True).start()


def run(context: ssl.SSLContext, plain: socket.socket, folder: pathlib.Path | None) -> None:
    try:
        with context.wrap_socket(plain, server_side=True) as connection:
            serve(connection, folder)
    except OSError:
        # A client that went away.
        pass


main()
