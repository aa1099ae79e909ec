"""A WebSub subscriber in one file, written from the W3C recommendation alone: nothing of instep is in it.

    subscriber.py TOPIC_URL

Finds self and hub in the Link headers of the topic, subscribes with a secret, confirms, and prints a line of JSON for each
thing that happens. With --leave it unsubscribes after the first delivery.
"""

import argparse
import hashlib
import hmac
import json
import re
import secrets
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = argparse.ArgumentParser()
options.add_argument("topic")
options.add_argument("--leave", action="store_true")
options = options.parse_args()

secret = secrets.token_hex(20)
path = "/" + secrets.token_urlsafe(16)
wanted = {"subscribe"}
lock = threading.Lock()


def tell(**event):
    with lock:
        print(json.dumps(event), flush=True)


def link(headers, rel):
    for field in headers.get_all("Link", []):
        for uri, own in re.findall(r'<([^>]*)>\s*;\s*rel="?([^",;]*)"?', field):
            if rel in own.split():
                return uri
    raise SystemExit(f"no {rel} link")


def post(hub, topic, mode):
    form = {"hub.mode": mode, "hub.topic": topic, "hub.callback": callback, "hub.secret": secret}
    request = urllib.request.Request(hub, urllib.parse.urlencode(form).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        tell(event="asked", mode=mode, status=answer.status)


class Callback(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        own, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        mode, challenge = query.get("hub.mode"), query.get("hub.challenge", "")
        if own != path or query.get("hub.topic") != topic or mode not in wanted:
            tell(event="refused", mode=mode)
            return self.answer(404, b"")
        tell(event="confirmed", mode=mode, lease=query.get("hub.lease_seconds"))
        self.answer(200, challenge.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(202, b"")
        name, _, tag = self.headers.get("X-Hub-Signature", "=").partition("=")
        right = name in ("sha1", "sha256", "sha384", "sha512") and hmac.compare_digest(
            tag, hmac.new(secret.encode(), body, getattr(hashlib, name)).hexdigest())
        tell(event="delivered", signed=name if right else False, type=self.headers.get("Content-Type"),
             own=link(self.headers, "self") == topic, hub=link(self.headers, "hub") == hub, body=body.decode())
        if options.leave and "unsubscribe" not in wanted:
            wanted.add("unsubscribe")
            threading.Thread(target=post, args=(hub, topic, "unsubscribe")).start()

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with urllib.request.urlopen(options.topic, timeout=10) as answer:
    topic, hub = link(answer.headers, "self"), link(answer.headers, "hub")
server = ThreadingHTTPServer(("127.0.0.1", 0), Callback)
callback = f"http://127.0.0.1:{server.server_port}{path}"
threading.Thread(target=post, args=(hub, topic, "subscribe")).start()
server.serve_forever()
