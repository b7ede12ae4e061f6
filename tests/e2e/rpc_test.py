#!/usr/bin/env python3
"""A service behind the daemon: callers repeat, and daemon, handler and callers are killed. The handler is Python's own
HTTP server in a process of its own; it writes a line for everything that it really did.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest

import harness
from harness import wait_until

ROUNDS = int(os.environ.get("POSTRIDER_RPC_ROUNDS", "12"))
ALLOW = '[transport]\nallow = ["127.0.0.0/8"]\n'
METHODS = {"pay": "persist", "put": "persist, idem", "peek": "volatile", "get": "volatile, idem"}

# Each effect is one line, synced, before it is answered: "method operation fence".
SERVICE = '''
import http.server, os, sys, time
ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(float(self.headers.get("x-slow") or SLOW))
        operation, method = self.headers["operation-id"], self.path.rsplit("/", 1)[-1]
        line = f"{method} {operation} {self.headers['operation-fence']}\\n"
        os.write(ledger, line.encode())
        os.fsync(ledger)
        if body == b"fail":
            return self.say(422, b"failed " + operation.encode())
        self.say(200, b"did " + operation.encode() + b" " + body)
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
SLOW = float(sys.argv[3])
server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
print(server.server_address[1], flush=True)
server.serve_forever(poll_interval=0.05)
'''


class Service:
    """The handler as a process that can be killed and started again at the same port."""

    def __init__(self, directory, slow=0.0):
        self.script, self.ledger = directory / "service.py", directory / "ledger"
        self.script.write_text(SERVICE)
        self.ledger.touch()
        self.slow, self.port = slow, 0
        self.start()

    def start(self):
        command = [sys.executable, self.script, self.ledger, str(self.port), str(self.slow)]
        for _ in range(100):
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL)
            line = self.process.stdout.readline()
            if line:
                self.port = int(line)
                return
            self.process.wait()
            time.sleep(0.05)
        raise AssertionError("the port of the service is taken")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def effects(self):
        return [line.split() for line in self.ledger.read_text().splitlines()]

    def count(self, operation):
        return sum(1 for _, one, _ in self.effects() if one == operation)


class RpcTest(harness.Case):
    def daemon(self, *options, **more):
        return super().daemon(*options, config=ALLOW, **more)

    def service(self, slow=0.0):
        service = Service(self.directory, slow)
        self.addCleanup(service.kill)
        return service

    def bank(self, daemon, service, **more):
        settings = {"handler": f"http://127.0.0.1:{service.port}/rpc", **{f"method.{k}": v for k, v in METHODS.items()},
                    **more}
        answer = daemon.client().ask("PUT", "/v1/destinations/bank", {"profile": "rpc", "settings": settings})
        self.assertEqual(answer.status, 200, answer)

    @staticmethod
    def call(daemon, method, key, body="x", **headers):
        headers = {"idempotency-key": key, "content-type": "text/plain", **headers}
        return daemon.client().ask("POST", f"/v1/services/bank/{method}", body, headers)

    def test_two_hundred_repeats_run_the_handler_once(self):
        daemon, service = self.daemon(), self.service(slow=0.5)
        self.bank(daemon, service)

        def one(_):
            while True:
                answer = self.call(daemon, "pay", "same")
                if answer.status not in (202, 429, 503):
                    return answer
                time.sleep(0.05)
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(one, range(200)))
        self.assertEqual({(answer.status, answer.body) for answer in answers}, {(200, b"did same x")})
        origins = [answer.headers["operation-origin"] for answer in answers]
        self.assertEqual(origins.count("first"), 1)
        self.assertEqual(service.effects()[0][:2], ["pay", "same"])
        self.assertEqual(len(service.effects()), 1)

    def test_an_outcome_survives_kill_9_and_is_replayed(self):
        daemon, service = self.daemon(), self.service()
        self.bank(daemon, service)
        self.assertEqual(self.call(daemon, "pay", "a").body, b"did a x")
        self.assertEqual(self.call(daemon, "pay", "f", body="fail").status, 422)
        daemon.kill()
        service.kill()
        daemon = self.daemon()
        daemon.wait_ready()
        again = self.call(daemon, "pay", "a")
        self.assertEqual((again.status, again.body), (200, b"did a x"))
        self.assertEqual(again.headers["operation-origin"], "replayed")
        self.assertEqual(self.call(daemon, "pay", "f", body="fail").body, b"failed f")
        self.assertEqual(self.call(daemon, "pay", "a", body="y").problem(), "key-conflict")
        self.assertEqual(service.count("a"), 1)

    def test_a_daemon_that_is_killed_while_the_handler_runs(self):
        daemon, service = self.daemon(), self.service(slow=1.0)
        self.bank(daemon, service)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for method in METHODS:
                pool.submit(self.forgiving, daemon, method, "k-" + method)
            wait_until(lambda: daemon.client().get("/v1/stats").json()["open_attempts"] == 4, "four handlers run")
            daemon.kill()
        daemon = self.daemon()
        daemon.wait_ready()
        self.assertEqual(self.call(daemon, "pay", "k-pay").problem(), "indeterminate")
        self.assertEqual(self.call(daemon, "peek", "k-peek").problem(), "indeterminate")
        self.assertEqual(self.call(daemon, "put", "k-put").body, b"did k-put x")
        self.assertEqual(self.call(daemon, "get", "k-get").body, b"did k-get x")
        wait_until(lambda: service.count("k-pay") == 1, "the effect of the first start")
        self.assertEqual(service.count("k-peek"), 1)

    def test_a_service_that_is_away_begins_later(self):
        daemon, service = self.daemon(), self.service()
        self.bank(daemon, service)
        service.kill()
        answer = self.call(daemon, "pay", "late", prefer="wait=1")
        self.assertEqual(answer.status, 202)
        service.start()
        where = answer.headers["Location"]
        answer = daemon.client().get(where + "?wait=60")
        self.assertEqual(answer.body, b"did late x")
        self.assertEqual(service.count("late"), 1)

    def test_the_commands(self):
        daemon, service = self.daemon(), self.service()
        made = self.run_program("dest", "put", "bank", "--profile", "rpc", "--set",
                                f"handler=http://127.0.0.1:{service.port}", "--set", "method.pay=persist",
                                environment={"POSTRIDER_URL": daemon.url})
        self.assertEqual(made.returncode, 0, made)
        done = self.run_program("call", "bank", "pay", "hello", "--idempotency-key", "k", "--url", daemon.url)
        self.assertEqual((done.returncode, done.stdout), (0, "did k hello\n"), done)
        self.assertIn("operation k, first", done.stderr)
        done = self.run_program("op", "wait", "k", "--url", daemon.url)
        self.assertEqual((done.returncode, done.stdout), (0, "did k hello\n"), done)
        done = self.run_program("op", "show", "k", "--url", daemon.url)
        self.assertIn("delivered", done.stdout, done)
        self.assertEqual(self.run_program("op", "ls", "bank", "--url", daemon.url).returncode, 0)
        self.assertEqual(self.run_program("op", "cancel", "k", "--url", daemon.url).returncode, 1)
        failed = self.run_program("call", "bank", "pay", "fail", "--idempotency-key", "f", "--url", daemon.url)
        self.assertEqual((failed.returncode, failed.stdout), (1, "failed f\n"), failed)
        self.assertEqual(self.run_program("call", "bank", "pya", "x", "--url", daemon.url).returncode, 1)

    @staticmethod
    def forgiving(daemon, method, key, body="x"):
        """An answer, or None when the daemon went away."""
        try:
            return RpcTest.call(daemon, method, key, body)
        except (OSError, harness.http.client.HTTPException):
            return None

    def test_anything_is_killed_at_any_time(self):
        """Callers repeat until they have an answer that counts; ledger and answers must agree."""
        random_source = random.Random(int(os.environ.get("POSTRIDER_RPC_SEED", "7")))
        daemon, service = self.daemon(), self.service(slow=0.01)
        self.bank(daemon, service, time_out="2s")
        current, over = [daemon], threading.Event()
        answers, lock = {}, threading.Lock()

        def caller(number):
            mine = random.Random(number)
            for turn in range(10_000):
                if over.is_set():
                    return
                method = mine.choice(list(METHODS))
                key = f"{method}-{number}-{turn}"
                while not over.is_set():
                    answer = self.forgiving(current[0], method, key)
                    final = answer is not None and answer.status in (200, 409)
                    if final:
                        with lock:
                            answers.setdefault(key, []).append((answer.status, answer.body))
                        break
                    time.sleep(0.02)
        threads = [threading.Thread(target=caller, args=(number,), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for number in range(ROUNDS):
            time.sleep(random_source.uniform(0.05, 0.5))
            if random_source.random() < 0.5:
                service.kill()
                service.start()
            else:
                current[0].kill()
                current[0] = self.daemon()
                current[0].wait_ready()
        over.set()
        for thread in threads:
            thread.join(harness.PATIENCE)
        # Everything that was answered is answered so again, and the ledger agrees.
        for key, given in answers.items():
            method = key.split("-")[0]
            again = self.call(current[0], method, key)
            runs = service.count(key)
            status, body = given[0]
            idem = "idem" in METHODS[method]
            if status == 200:
                self.assertEqual((again.status, again.body), (status, body), key)
                self.assertGreaterEqual(runs, 1, key)
            elif not idem:
                self.assertEqual(again.problem(), "indeterminate", key)
            if not idem:
                self.assertLessEqual(runs, 1, key)
        fences = {}
        for _, key, fence in service.effects():
            self.assertGreater(fence, fences.get(key, ""), f"the fence of {key} grows")
            fences[key] = fence
        self.assertGreater(len(answers), ROUNDS)


if __name__ == "__main__":
    unittest.main()
