#!/usr/bin/env python3
"""Delivery through a real nginx, most of it over TLS: certificates good and bad, and answers of every kind.

Needs nginx, which scripts/get-nginx finds or fetches, and openssl. Skipped without nginx.
"""

import datetime
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import Authority, wait_until  # noqa: E402

PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:{harness.ROOT / 'build/nginx/usr/sbin'}"
NGINX = os.environ.get("POSTRIDER_NGINX") or shutil.which("nginx", path=PLACES)

# One server per certificate; all have the same locations. That of tls-1.2 speaks nothing newer.
CERTIFICATES = ("good", "tls-1.2", "wrong-name", "expired", "not-yet", "self-signed")

LOCATIONS = """
    location = /ok           { proxy_pass http://upstream; }
    location = /chunked      { proxy_pass http://upstream; proxy_buffering off; }
    location = /slow         { proxy_pass http://upstream; }
    location = /cut-behind   { proxy_pass http://upstream; proxy_buffering off; }
    location = /close        { return 444; }
    location = /moved        { return 301 $scheme://$http_host/elsewhere; }
    location = /elsewhere    { return 200; }
    location = /gone         { return 410; }
    location = /throttled    { add_header Retry-After 1200 always; return 429; }
    location = /unavailable  { add_header Retry-After "RETRY_DATE" always; return 503; }
    location = /missing      { return 404; }
    location = /small        { client_max_body_size 1k; proxy_pass http://upstream; }
"""


class Nginx:
    """nginx with its files in a directory of its own. It inherits listening sockets that we made, so no port is guessed."""

    def __init__(self, directory, upstream, retry_date):
        self.directory = directory
        directory.mkdir()
        self.authority = Authority(directory / "certificates")
        self.make_certificates()
        self.sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=128) for name in (*CERTIFICATES, "plain")}
        self.ports = {name: each.getsockname()[1] for name, each in self.sockets.items()}
        (directory / "nginx.conf").write_text(self.configuration(upstream, retry_date))
        descriptors = [each.fileno() for each in self.sockets.values()]
        inherited = "".join(f"{descriptor};" for descriptor in descriptors)
        self.process = subprocess.Popen([NGINX, "-p", str(directory), "-c", "nginx.conf", "-e", "error.log"],
                                        env={"NGINX": inherited, "PATH": os.environ.get("PATH", "")},
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=descriptors)
        for each in self.sockets.values():
            each.close()

    def make_certificates(self):
        here = "IP:127.0.0.1,DNS:localhost"
        self.authority.sign("good", here)
        self.authority.sign("tls-1.2", here)
        self.authority.sign("wrong-name", "DNS:other.example")
        self.authority.sign("expired", here, "20200101000000Z", "20200201000000Z")
        self.authority.sign("not-yet", here, "20900101000000Z", "20900201000000Z")
        self.authority.self_signed("self-signed", here)

    def configuration(self, upstream, retry_date):
        locations = LOCATIONS.replace("RETRY_DATE", retry_date)
        servers = ""
        for name, port in self.ports.items():
            tls = "" if name == "plain" else (f"ssl_certificate certificates/{name}.crt; "
                                              f"ssl_certificate_key certificates/{name}.key; "
                                              f"ssl_protocols TLSv1.2{'' if name == 'tls-1.2' else ' TLSv1.3'};")
            servers += (f"  server {{\n    listen 127.0.0.1:{port}{' ssl' if tls else ''};\n    {tls}\n"
                        f"    set $kind {name};\n{locations}  }}\n")
        user = "user root;\n" if os.geteuid() == 0 else ""  # its directory is open to us only
        folders = "".join(f"  {kind}_temp_path temporary;\n"
                          for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (f"{user}daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log info;\n"
                f"events {{ worker_connections 256; }}\nhttp {{\n{folders}"
                f"  log_format ours '$kind $request_uri $status $connection $connection_requests $ssl_protocol';\n"
                f"  access_log access.log ours;\n  keepalive_timeout 60s;\n  ssl_session_cache shared:s:1m;\n"
                f"  upstream upstream {{ server 127.0.0.1:{upstream}; }}\n{servers}}}\n")

    def url(self, path, kind="good", host="127.0.0.1"):
        scheme = "http" if kind == "plain" else "https"
        return f"{scheme}://{host}:{self.ports[kind]}{path}"

    def log(self):
        """One tuple per request that nginx has ended: certificate, path, status, connection, request of it, TLS."""
        file = self.directory / "access.log"
        return [tuple(line.split(" ")) for line in file.read_text().splitlines()] if file.exists() else []

    def paths(self, kind="good"):
        return [row[1] for row in self.log() if row[0] == kind]

    def stop(self):
        self.process.terminate()
        self.process.wait(harness.PATIENCE)


class Upstream:
    """What stands behind nginx."""

    def __init__(self):
        self.release = threading.Event()
        self.receiver = harness.Receiver(self.answer)

    def answer(self, request):
        if request.path == "/slow":
            self.release.wait(harness.PATIENCE)
            return None
        if request.path == "/chunked":
            return 200, {"transfer-encoding": "chunked"}, b"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
        if request.path == "/cut-behind":  # promises more than it sends
            return 200, {"transfer-encoding": "chunked", "connection": "close"}, b"5\r\nhello\r\n"
        return 200, {}, b"thank you"

    def close(self):
        self.release.set()
        self.receiver.close()


@unittest.skipUnless(NGINX, "there is no nginx: scripts/get-nginx fetches it")
class ThroughNginx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="postrider-nginx-")
        cls.addClassCleanup(temporary.cleanup)
        directory = pathlib.Path(temporary.name)
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.retry_at = int(time.time()) + 1800
        date = datetime.datetime.fromtimestamp(cls.retry_at, datetime.timezone.utc)
        cls.nginx = Nginx(directory / "nginx", cls.upstream.receiver.port, date.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        cls.addClassCleanup(cls.nginx.stop)
        cls.daemon = harness.Daemon(directory / "daemon", "--dev")
        cls.addClassCleanup(cls.daemon.kill)
        cls.client = cls.daemon.wait_ready()
        cls.names = 0

    def put(self, path, kind="good", host="127.0.0.1", trust=True, **settings):
        """A destination of its own for each test; its name."""
        type(self).names += 1
        name = f"d{self.names}"
        if trust:
            settings["trust"] = trust if isinstance(trust, str) else self.nginx.authority.pem
        self.client.put_destination(name, url=self.nginx.url(path, kind, host), jitter_percent="0", ladder="10m",
                                    **settings)
        return name

    def fail_once(self, *arguments, **more):
        """What explain says of a message after its first attempt, which must fail; and its destination."""
        name = self.put(*arguments, **more)
        message = self.client.send(name)
        return self.client.wait_for(message, "backoff"), name

    def assert_no_tls(self, kind, **more):
        before = len(self.nginx.paths(kind))
        found, _ = self.fail_once("/ok", kind, **more)
        self.assertIn("TLS", found["last_outcome"])
        self.assertEqual(found["last_failure"], "connect")
        self.assertEqual(len(self.nginx.paths(kind)), before, "nothing may have been sent")

    # req: webhook.wire.3, webhook.answer.1
    def test_a_good_certificate_of_the_destinations_authority_delivers(self):
        for kind, host in (("good", "127.0.0.1"), ("good", "localhost"), ("tls-1.2", "127.0.0.1")):
            message = self.client.send(self.put("/ok", kind, host), f"by {host}")
            self.client.wait_for(message, "delivered")
            got = [request for request in self.upstream.receiver.requests if request.headers["webhook-id"] == message]
            self.assertEqual([request.body for request in got], [f"by {host}".encode()])
        wait_until(lambda: "/ok" in self.nginx.paths() and "/ok" in self.nginx.paths("tls-1.2"), "nginx's log")
        spoken = {(row[0], row[5]) for row in self.nginx.log() if row[0] in ("good", "tls-1.2")}
        self.assertEqual(spoken, {("good", "TLSv1.3"), ("tls-1.2", "TLSv1.2")})

    # req: webhook.wire.3, webhook.answer.8
    def test_a_certificate_that_proves_nothing_gets_nothing(self):
        self.assert_no_tls("wrong-name")
        self.assert_no_tls("expired")
        self.assert_no_tls("not-yet")
        self.assert_no_tls("self-signed")

    # req: webhook.wire.3
    def test_only_the_destinations_own_authority_counts(self):
        self.assert_no_tls("good", trust=False)
        with tempfile.TemporaryDirectory() as directory:
            other = Authority(directory)
            self.assert_no_tls("good", trust=other.pem)

    # req: webhook.wire.3
    def test_a_self_signed_certificate_can_be_trusted_by_name(self):
        pem = (self.nginx.authority.directory / "self-signed.crt").read_text()
        self.client.wait_for(self.client.send(self.put("/ok", "self-signed", trust=pem)), "delivered")

    # req: webhook.answer.8
    def test_tls_against_a_plain_port_fails_and_plain_against_tls_is_rejected(self):
        name = self.put("/ok")
        plain = self.nginx.url("/ok", "plain").replace("http:", "https:")
        self.client.put_destination(name, url=plain, trust=self.nginx.authority.pem)
        self.assertIn("TLS", self.client.wait_for(self.client.send(name), "backoff")["last_outcome"])
        self.client.put_destination(name, url=self.nginx.url("/ok").replace("https:", "http:"))
        self.assertIn("HTTP 400", self.client.wait_for(self.client.send(name), "dead")["last_outcome"])

    # req: webhook.wire.5
    def test_connections_are_kept(self):
        name = self.put("/ok?kept", in_flight_max="1")
        for _ in range(5):
            self.client.wait_for(self.client.send(name), "delivered")
        wait_until(lambda: self.nginx.paths().count("/ok?kept") == 5, "nginx's log")
        connections = {row[3] for row in self.nginx.log() if row[1] == "/ok?kept"}
        self.assertEqual(len(connections), 1, connections)

    # req: webhook.answer.1
    def test_an_answer_in_chunks_is_an_answer(self):
        for kind in ("good", "plain"):
            self.client.wait_for(self.client.send(self.put("/chunked", kind)), "delivered")

    # req: webhook.wire.7, webhook.certainty.2
    def test_a_slow_answer_is_timed_out(self):
        for kind in ("good", "plain"):
            found, _ = self.fail_once("/slow", kind, time_out="200ms")
            self.assertEqual((found["last_failure"], found["last_outcome"]), ("timeout", "no answer in time"))

    # req: webhook.certainty.2, webhook.answer.8
    def test_an_early_close_is_no_answer(self):
        for kind in ("good", "plain"):
            for path in ("/close", "/cut-behind"):
                found, _ = self.fail_once(path, kind)
                self.assertEqual(found["last_outcome"], "cut off before the answer was whole", (kind, path))

    # req: webhook.wire.1, webhook.answer.6
    def test_a_redirect_is_not_followed(self):
        found, name = self.fail_once("/moved")
        self.assertIn("HTTP 301", found["last_outcome"])
        self.client.post(f"/v1/messages/{found['id']}/retry")
        wait_until(lambda: self.nginx.paths().count("/moved") == 2, "a second attempt")
        self.assertNotIn("/elsewhere", self.nginx.paths())
        self.assertEqual(self.client.get(f"/v1/destinations/{name}").json()["strikes"], 0)

    # req: webhook.gone.1, webhook.gone.2
    def test_gone_disables_the_destination(self):
        name = self.put("/gone")
        message = self.client.send(name)

        def disabled():
            return self.client.get(f"/v1/destinations/{name}").json()["health"] == "disabled"
        wait_until(disabled, "a disabled destination")
        self.assertEqual(self.client.explain(message)["phase"], "queued")
        answer = self.client.post("/v1/messages", {"destination": name, "body": "more"})
        self.assertEqual((answer.status, answer.problem()), (409, "destination-disabled"))

    # req: webhook.retry-after.1, webhook.retry-after.2, webhook.retry-after.4
    def test_retry_after_in_seconds_and_as_a_date_holds_the_route(self):
        for path, status, at in (("/throttled", 429, time.time() + 1200), ("/unavailable", 503, self.retry_at)):
            found, name = self.fail_once(path)
            self.assertIn(f"HTTP {status}", found["last_outcome"])
            next_at = datetime.datetime.fromisoformat(found["next_at"].replace("Z", "+00:00")).timestamp()
            self.assertGreaterEqual(next_at, at - 5)  # both clocks round to seconds
            self.assertLess(next_at, at + 600)
            another = self.client.explain(self.client.send(name))
            self.assertEqual((another["phase"], another["attempts"]), ("queued", 0))

    # req: webhook.answer.3
    def test_what_nginx_itself_rejects_is_dead(self):
        self.assertIn("HTTP 404", self.client.wait_for(self.client.send(self.put("/missing")), "dead")["last_outcome"])
        message = self.client.send(self.put("/small"), "x" * 2000)
        self.assertIn("HTTP 413", self.client.wait_for(message, "dead")["last_outcome"])


if __name__ == "__main__":
    harness.main()
