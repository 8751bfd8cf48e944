"""A proxy on loopback that knows CONNECT alone. The standard library alone.

    tunnel.py

prints its port, then the first line of each request, and ends with its input.
"""

import os
import socket
import threading


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client: socket.socket) -> None:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (byte := client.recv(1)):
            return
        head += byte
    start = head.decode("latin-1").split("\r\n")[0]
    print(start, flush=True)
    _, address, _ = start.split()
    host, _, port = address.rpartition(":")
    server = socket.create_connection((host.strip("[]"), int(port)))
    client.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n")
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


def end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end_with_input, daemon=True).start()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
