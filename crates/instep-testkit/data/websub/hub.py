"""A WebSub hub in one file, written from the W3C recommendation alone: nothing of instep is in it.

Prints its port, then a line of JSON for each thing that happens. A publisher POSTs a document with Link headers
(rel=self, rel=hub) to /; a subscriber POSTs a form to /. GET /count answers how many subscriptions there are.
"""

import argparse
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = argparse.ArgumentParser()
options.add_argument("--port", type=int, default=0)
options.add_argument("--lease", type=int, default=864000, help="seconds granted, whatever is asked for")
options.add_argument("--deny", action="store_true", help="deny each subscription")
options.add_argument("--old", action="store_true", help="refuse a named lease, insist on hub.verify, verify at once")
options.add_argument("--algorithm", default="sha256")
options.add_argument("--forge", action="store_true", help="sign deliveries with another secret")
options.add_argument("--times", type=int, default=1, help="how often each delivery is sent")
options = options.parse_args()

lock = threading.Lock()
subscriptions = {}  # (topic, callback) -> (secret, end of the lease)


def tell(**event):
    with lock:
        print(json.dumps(event), flush=True)


def ask(callback, **parameters):
    separator = "&" if "?" in callback else "?"
    query = urllib.parse.urlencode({"hub." + name: value for name, value in parameters.items()})
    return urllib.request.urlopen(callback + separator + query, timeout=10)


def verify(form):
    mode, topic, callback = form["hub.mode"], form["hub.topic"], form["hub.callback"]
    if options.deny:
        ask(callback, mode="denied", topic=topic, reason="not for you").close()
        tell(event="denied", topic=topic)
        return False
    challenge = secrets.token_urlsafe(24)
    parameters = dict(mode=mode, topic=topic, challenge=challenge)
    if mode == "subscribe":
        parameters["lease_seconds"] = options.lease
    try:
        with ask(callback, **parameters) as answer:
            confirmed = 200 <= answer.status < 300 and answer.read() == challenge.encode()
    except OSError as error:
        tell(event="unverified", mode=mode, why=str(error))
        return False
    if confirmed and mode == "subscribe":
        subscriptions[topic, callback] = (form.get("hub.secret"), time.time() + options.lease)
    elif confirmed:
        subscriptions.pop((topic, callback), None)
    tell(event=mode if confirmed else "unverified", topic=topic, callback=callback, lease=form.get("hub.lease_seconds"))
    return confirmed


def deliver(topic, callback, secret, body, links):
    headers = {"Content-Type": "application/xml", "Link": links}
    if secret:
        key = b"another secret" if options.forge else secret.encode()
        tag = hmac.new(key, body, getattr(hashlib, options.algorithm)).hexdigest()
        headers["X-Hub-Signature"] = f"{options.algorithm}={tag}"
    for _ in range(options.times):
        request = urllib.request.Request(callback, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
        except OSError as error:
            status = str(error)
        if status == 410:
            subscriptions.pop((topic, callback), None)
        tell(event="delivered", status=status, callback=callback)


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, str(len(subscriptions)).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get_content_type() == "application/x-www-form-urlencoded":
            self.subscribe(dict(urllib.parse.parse_qsl(body.decode())))
        else:
            self.publish(body)

    def subscribe(self, form):
        if options.old and ("hub.lease_seconds" in form or "hub.verify" not in form):
            self.answer(409, b"")
        elif options.old:
            self.answer(204 if verify(form) else 409, b"")
        else:
            self.answer(202, b"")
            threading.Thread(target=verify, args=(form,)).start()

    def publish(self, body):
        links = self.headers.get("Link", "")
        own = re.search(r'<([^>]*)>\s*;\s*rel="?self"?', links)
        if not own:
            return self.answer(400, b"no self link")
        tell(event="published", topic=own[1], bytes=len(body), type=self.headers.get("Content-Type"))
        self.answer(204, b"")
        for (topic, callback), (secret, end) in list(subscriptions.items()):
            if topic == own[1] and end > time.time():
                threading.Thread(target=deliver, args=(topic, callback, secret, body, links)).start()

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", options.port), Hub)
print(server.server_port, flush=True)
server.serve_forever()
