#!/usr/bin/env python3
"""Runs a command that cannot use the server's Unix socket, such as a Java program.

usage: forward.py COMMAND...

JDBC_URL leads the command to a port of the loopback interface, whose connections go to
the server that PGHOST (a folder) and PGPORT name, as long as the command runs.
"""
import asyncio
import os
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


async def serve(reader, writer):
    to_server = await asyncio.open_unix_connection(f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}")
    await asyncio.gather(copy(reader, to_server[1]), copy(to_server[0], writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    url = f"jdbc:postgresql://{host}:{port}/{os.environ['PGDATABASE']}?user={os.environ['PGUSER']}"
    command = await asyncio.create_subprocess_exec(*sys.argv[1:], env={**os.environ, "JDBC_URL": url})
    return await command.wait()


sys.exit(asyncio.run(main()))
