"""Prints each message of a channel as a line of JSON, with the `websockets` package: nothing of instep is in it.

    listener.py ws://host/topic
"""

import json
import sys

from websockets.sync.client import connect

with connect(sys.argv[1], compression=None) as channel:
    print(json.dumps({"event": "open"}), flush=True)
    for message in channel:
        print(json.dumps({"event": "message", "text": isinstance(message, str), "body": message}), flush=True)
