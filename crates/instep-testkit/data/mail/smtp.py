"""Takes mail over SMTP on a free port of 127.0.0.1; prints the port, then each message as a line of JSON."""

import asyncio
import json

from aiosmtpd.smtp import SMTP


class Printer:
    """Prints what arrives."""

    async def handle_DATA(self, server, session, envelope):
        text = envelope.content.decode("utf-8").replace("\r\n", "\n")
        print(json.dumps({"to": envelope.rcpt_tos, "text": text}), flush=True)
        return "250 OK"


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Printer(), enable_SMTPUTF8=True), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
