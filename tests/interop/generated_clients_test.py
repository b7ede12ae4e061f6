#!/usr/bin/env python3
"""Clients that stock generators make from /openapi.json of the running daemon, in Python (openapi-python-client) and in
TypeScript (@hey-api/openapi-ts): they send, lose the answer, send again with the same key, and read the outcome.

Runs in the environment that scripts/interop makes. What is generated goes away with the test.
"""

import http.client
import http.server
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "e2e"))
import harness  # noqa: E402
import httpx  # noqa: E402

ORDER = {"order": 4711}


class Cutter:
    """Stands between a client and the daemon. The first `cuts` submissions reach the daemon and are answered by it, but the
    client's connection is cut in the middle of the answer's first line."""

    def __init__(self, address, cuts):
        host, port = address.rsplit(":", 1)
        cutter = self
        self.cuts, self.lock, self.swallowed = cuts, threading.Lock(), []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                connection = http.client.HTTPConnection(host, int(port), timeout=harness.PATIENCE)
                connection.request(self.command, self.path, body, dict(self.headers))
                reply = connection.getresponse()
                answer = reply.read()
                connection.close()
                if self.command == "POST" and self.path == "/v1/messages" and cutter.takes_a_cut():
                    cutter.swallowed.append((reply.status, answer))
                    self.wfile.write(b"HTTP/1.1 2")
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "content-length", "date"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = pass_on

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def takes_a_cut(self):
        with self.lock:
            self.cuts -= 1
            return self.cuts >= 0

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Generated(harness.Case):
    def setUp(self):
        super().setUp()
        daemon = self.daemon(config='[transport]\nallow = ["127.0.0.0/8"]\n')
        self.client = daemon.wait_ready()
        self.target = self.receiver()
        self.cutter = Cutter(daemon.address, cuts=1)
        self.addCleanup(self.cutter.close)
        self.document = self.directory / "openapi.json"
        self.document.write_bytes(self.client.get("/openapi.json").body)

    def generate(self, *command, **more):
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300, check=False, **more)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def assert_sent_once(self, identity):
        """The answer that was cut off named the message that everybody saw, and it came once."""
        (status, answer), = self.cutter.swallowed
        self.assertEqual((status, json.loads(answer)["id"]), (202, identity))
        request, = self.target.requests
        self.assertEqual(json.loads(request.body), ORDER)
        self.assertEqual(self.client.conservation()["accepted"], 1)

    # req: api.openapi.2
    def test_python(self):
        config = self.directory / "generator.json"
        # Lines of JSON are text to this generator. Everything else must be understood: a warning is a failure.
        config.write_text(json.dumps({"content_type_overrides": {"application/x-ndjson": "application/octet-stream"}}))
        tools = pathlib.Path(sys.executable).parent
        self.generate(tools / "openapi-python-client", "generate", "--path", self.document, "--config", config, "--meta", "none",
                      "--fail-on-warning", "--output-path", self.directory / "postrider_generated",
                      env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        sys.path.insert(0, str(self.directory))
        self.addCleanup(sys.path.remove, str(self.directory))
        package = importlib.import_module("postrider_generated")
        models = importlib.import_module("postrider_generated.models")
        messages = importlib.import_module("postrider_generated.api.messages")
        for part in ("messages.submit", "messages.explain_message", "destinations.put_destination", "operations.get_operation"):
            importlib.import_module(f"postrider_generated.api.{part}")
        destinations = sys.modules["postrider_generated.api.destinations"]
        operations = sys.modules["postrider_generated.api.operations"]
        client = package.Client(base_url=self.cutter.url, timeout=httpx.Timeout(harness.PATIENCE))

        def send(body):
            message = models.Message.from_dict({"destination": "shop", "body": body})
            return messages.submit.sync_detailed(client=client, body=message, idempotency_key="order-4711")

        put = destinations.put_destination.sync("shop", client=client, body=models.DestinationConfig.from_dict(
            {"profile": "webhook", "settings": {"url": self.target.url}}))
        self.assertEqual(put.answer, "done")
        with self.assertRaises(httpx.TransportError):
            send(ORDER)
        again = send(ORDER)
        self.assertEqual((again.status_code, again.headers["idempotency-replayed"]), (202, "true"))
        identity = again.parsed.id

        def outcome():
            seen = messages.explain_message.sync(identity, client=client)
            return seen if seen.next_ == "nothing" else None
        seen = harness.wait_until(outcome, "the end")
        self.assertEqual((seen.phase, seen.attempts), ("delivered", 1))
        operation = operations.get_operation.sync("order-4711", client=client)
        self.assertEqual((operation.answer, operation.id), ("accepted", identity))
        conflict = send("something else")
        self.assertEqual((conflict.status_code, conflict.parsed.status), (422, 422))
        self.assertIsInstance(conflict.parsed, models.Problem)
        self.assert_sent_once(identity)

    # req: api.openapi.2
    def test_typescript(self):
        work = self.directory / "client"
        work.mkdir()
        for name in ("package.json", "tsconfig.json", "use.ts"):
            shutil.copy(HERE / "client" / name, work)
        (work / "node_modules").symlink_to(HERE / "client/node_modules")
        bins = work / "node_modules/.bin"
        self.generate(bins / "openapi-ts", "-i", self.document, "-o", work / "generated", "-c", "@hey-api/client-fetch", cwd=work)
        self.generate(bins / "tsc", "-p", ".", cwd=work)
        seen = json.loads(self.generate("node", work / "built/use.js", self.cutter.url, self.target.url, "order-4711", cwd=work))
        self.assertEqual(seen["put"], "done")
        self.assertEqual(seen["cut"], {"status": None, "accepted": False})
        self.assertEqual((seen["replayed"], seen["phase"], seen["attempts"], seen["state"]), ("true", "delivered", 1, "delivered"))
        self.assertEqual(seen["operation"], {"key": "order-4711", "answer": "accepted", "id": seen["id"]})
        self.assertEqual(seen["conflict"]["status"], 422)
        self.assert_sent_once(seen["id"])


if __name__ == "__main__":
    unittest.main()
