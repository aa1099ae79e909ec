"""sendmail -t: hands the message on stdin to the server whose port the environment names."""

import email
import email.policy
import os
import smtplib
import sys

if sys.argv[1:] != ["-t"]:
    sys.exit(64)
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.SMTP)
if "SMTP_PORT" not in os.environ:
    sys.exit(75)
with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"]), timeout=60) as server:
    server.send_message(message, from_addr="instep@localhost")
