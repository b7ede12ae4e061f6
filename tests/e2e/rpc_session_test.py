#!/usr/bin/env python3
"""Sessions against the real daemon, by the Python client, which knows docs/rpc-wire.md only: operations outlive
connections, and daemon, service and callers are killed. Callers are processes; what each of them was told is in its
journal, and what really ran is in the ledger of the service.
"""

import os
import random
import socket
import subprocess
import sys
import time
import unittest

import harness
from harness import ROOT, wait_until
from rpc_test import ALLOW, METHODS, Service

sys.path.insert(0, str(ROOT / "clients/python"))
import postrider_rpc as rpc  # noqa: E402

ROUNDS = int(os.environ.get("POSTRIDER_RPC_ROUNDS", "12"))
CALLERS = 4
TOKENS = '''
[[tokens]]
name = "till"
tenant = "shop"
secret = "till-token-0123456789"
scopes = ["submit"]

[[tokens]]
name = "boss"
tenant = "office"
secret = "boss-token-0123456789"
scopes = ["submit", "read", "operate"]
'''

# Calls until it is killed. Each line of its journal is one write: what is called, and what came of it.
CALLER = '''
import os, random, sys
sys.path.insert(0, sys.argv[1])
import postrider_rpc as rpc
host, port, journal, seed = sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def note(*words):
    os.write(journal, (" ".join(map(str, words)) + "\\n").encode())
METHODS = {"pay": (True, False), "put": (True, True), "peek": (False, False), "get": (False, True)}
mine = random.Random(seed)
while True:
    session = rpc.Session(host, port, token="till-token-0123456789", client="caller", waits=(0.02, 0.2))
    note("session")
    calls = []
    while not session.ended:
        method = mine.choice(list(METHODS))
        persist, idem = METHODS[method]
        call = session.start("bank", method, b"x", persist=persist, idem=idem, content_type="text/plain")
        name = call.operation or "-"
        note("call", method, name)
        calls.append((method, name, call))
        if len(calls) < mine.randrange(1, 6):
            continue
        for method, name, call in calls:
            result = call.result()
            body = result.body.decode() if isinstance(result, (rpc.Value, rpc.Failure)) else "-"
            note("end", method, name, type(result).__name__, result.origin, body.replace(" ", "_"))
        calls = []
'''


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Peer:
    """One connection, frame by frame."""

    def __init__(self, connected, token="till-token-0123456789", claim=None):
        self.line = rpc.Line(connected)
        hello = {"type": rpc.HELLO, "version": 1, "token": token, "client": "peer"}
        self.line.send(**hello, **(claim or {}))
        self.welcome = self.line.receive()

    def claim(self):
        return {name: self.welcome[name] for name in ("session", "generation", "key")}

    def call(self, number, method, arguments=b"x"):
        declared = METHODS[method]
        policy = (rpc.PERSIST if "persist" in declared else 0) | (rpc.IDEM if "idem" in declared else 0)
        self.line.send(type=rpc.CALL, number=number, service="bank", method=method, policy=policy,
                       first_epoch=self.welcome["epoch"], time_ms=0, content_type="text/plain", channels=[],
                       arguments=arguments)

    def ask(self, number, watch=1):
        self.line.send(type=rpc.QUERY, number=number, watch=watch)
        return self.line.receive()


class RpcSessionTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.unix = self.directory / "rpc.sock"
        self.config = ALLOW + f'[stations.rpc]\nlisten = "tcp://127.0.0.1:{self.port} unix:{self.unix}"\n' + TOKENS

    def open(self, service, **more):
        daemon = self.daemon(config=self.config)
        daemon.wait_ready(token="boss-token-0123456789")
        settings = {"handler": f"http://127.0.0.1:{service.port}/rpc", **{f"method.{k}": v for k, v in METHODS.items()},
                    **more}
        answer = daemon.client(token="boss-token-0123456789").ask(
            "PUT", "/v1/destinations/bank", {"profile": "rpc", "settings": settings})
        self.assertEqual(answer.status, 200, answer)
        self.wait_listening()
        return daemon

    def wait_listening(self):
        def listens():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        wait_until(listens, "the listener of sessions")

    def service(self, slow=0.0):
        service = Service(self.directory, slow)
        self.addCleanup(service.kill)
        return service

    def connect(self):
        connected = socket.create_connection(("127.0.0.1", self.port), harness.PATIENCE)
        self.addCleanup(connected.close)
        return connected

    def session(self, **more):
        session = rpc.Session("127.0.0.1", self.port, token="till-token-0123456789", waits=(0.02, 0.2), **more)
        self.addCleanup(session.close)
        return session

    # req: rpc.rule.2
    def test_calls_of_a_session(self):
        service = self.service()
        self.open(service)
        session = self.session()
        for method, declared in METHODS.items():
            result = session.call("bank", method, b"x", persist="persist" in declared, idem="idem" in declared,
                                  content_type="text/plain")
            self.assertIsInstance(result, rpc.Value, result)
            self.assertTrue(result.body.endswith(b" x"))
            self.assertEqual((result.status, result.content_type, result.origin), (200, "text/plain", "first"))
        failed = session.call("bank", "pay", b"fail", persist=True)
        self.assertIsInstance(failed, rpc.Failure)
        self.assertEqual(failed.status, 422)
        # The same arguments are another intention: each call has a number of its own.
        operations = [operation for _, operation, _ in service.effects()]
        self.assertEqual(len(set(operations)), len(operations))
        self.assertIsInstance(session.call("bank", "pya", persist=True), rpc.UnknownMethod)
        self.assertIsInstance(session.call("bank", "pay", persist=False), rpc.UnknownMethod)
        self.assertIsInstance(session.call("bank", "pay", b"x" * 300_000, persist=True), rpc.BadArguments)

    def test_tokens_and_the_socket(self):
        self.open(self.service())
        refused = Peer(self.connect(), token="boss-token-9876543210").welcome
        self.assertEqual((refused["verdict"], refused["reason"]), (rpc.REFUSED, 1))
        till = Peer(self.connect())
        self.assertEqual(till.welcome["verdict"], rpc.NEW)
        office = Peer(self.connect(), token="boss-token-0123456789", claim=till.claim())
        self.assertEqual(office.welcome["verdict"], rpc.NEW)
        self.assertNotEqual(office.welcome["session"], till.welcome["session"])
        local = socket.socket(socket.AF_UNIX)
        self.addCleanup(local.close)
        local.connect(str(self.unix))
        self.assertEqual(Peer(local, token="").welcome["verdict"], rpc.NEW)

    # req: rpc.rule.41, rpc.rule.44
    def test_an_operation_outlives_its_connection_and_kill_9(self):
        service = self.service(slow=0.5)
        daemon = self.open(service)
        peer = Peer(self.connect())
        peer.call(1, "pay")
        self.assertEqual(peer.line.receive()["type"], rpc.ADMITTED)
        wait_until(lambda: daemon.client(token="boss-token-0123456789").get("/v1/stats").json()["open_attempts"],
                   "the handler runs")
        peer.line.close()
        again = Peer(self.connect(), claim=peer.claim())
        self.assertEqual((again.welcome["verdict"], again.welcome["generation"]), (rpc.RESUMED, 2))
        first = again.ask(1)
        self.assertEqual((first["type"], first["origin"]), (rpc.ADMITTED, 2))
        outcome = again.line.receive()
        self.assertEqual((outcome["kind"], outcome["origin"]), (rpc.VALUE, 2))
        self.assertEqual(len(service.effects()), 1)
        daemon.kill()
        service.kill()
        self.daemon(config=self.config)
        self.wait_listening()
        later = Peer(self.connect(), claim=again.claim())
        self.assertEqual((later.welcome["verdict"], later.welcome["generation"]), (rpc.RESUMED, 3))
        self.assertGreater(later.welcome["epoch"], peer.welcome["epoch"])
        replayed = later.ask(1)
        self.assertEqual((replayed["kind"], replayed["origin"], replayed["body"]), (rpc.VALUE, 3, outcome["body"]))
        later.call(1, "pay", b"other")
        self.assertEqual(later.line.receive()["kind"], rpc.CONFLICT)

    # req: rpc.rule.42, rpc.rule.45
    def test_a_session_resumes_by_itself(self):
        service = self.service(slow=1.0)
        daemon = self.open(service)
        session = self.session()
        calls = {method: session.start("bank", method, b"x", persist="persist" in declared, idem="idem" in declared)
                 for method, declared in METHODS.items()}
        wait_until(lambda: daemon.client(token="boss-token-0123456789").get("/v1/stats").json()["open_attempts"] == 4,
                   "four handlers run")
        daemon.kill()
        self.daemon(config=self.config)
        results = {method: call.result(harness.PATIENCE) for method, call in calls.items()}
        for method, result in results.items():
            kind = rpc.Value if "idem" in METHODS[method] else rpc.Indeterminate
            self.assertIsInstance(result, kind, method)
        session.close()

    def caller(self, number, seed):
        journal = self.directory / f"caller-{number}"
        command = [sys.executable, "-c", CALLER, ROOT / "clients/python", "127.0.0.1", self.port, journal, seed]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=open(self.directory / f"errors-{number}", "ab"))

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    # req: rpc.rule.18, rpc.rule.46
    def test_anything_is_killed_at_any_time(self):
        seed = int(os.environ.get("POSTRIDER_RPC_SEED", "7"))
        chance = random.Random(seed)
        service = self.service(slow=0.01)
        daemon = self.open(service, time_out="2s")
        callers = [self.caller(number, seed + number) for number in range(CALLERS)]
        for turn in range(ROUNDS):
            time.sleep(chance.uniform(0.05, 0.4))
            what = chance.choice(["service", "daemon", "caller"])
            if what == "service":
                service.kill()
                service.start()
            elif what == "daemon":
                daemon.kill()
                daemon = self.daemon(config=self.config)
                daemon.wait_ready(token="boss-token-0123456789")
            else:
                number = chance.randrange(CALLERS)
                callers[number].kill()
                callers[number].wait()
                callers[number] = self.caller(number, seed + 1000 * (turn + 1) + number)
        time.sleep(1)
        for caller in callers:
            self.assertIsNone(caller.poll(), [path.read_text() for path in self.directory.glob("errors-*")])
            caller.kill()
            caller.wait()
        # What still runs may end, so that the ledger is whole.
        client = daemon.client(token="boss-token-0123456789")
        wait_until(lambda: client.get("/v1/stats").json()["open_attempts"] == 0, "no handler runs")
        self.audit(service)

    def audit(self, service):
        runs = {}
        for method, operation, fence in service.effects():
            runs.setdefault(operation, []).append((method, fence))
        for operation, lines in runs.items():
            if "idem" not in METHODS[lines[0][0]]:
                self.assertEqual(len(lines), 1, f"{operation} ran more than once")
            fences = [fence for _, fence in lines]
            self.assertEqual(fences, sorted(fences), f"the fence of {operation} grows")
        kinds = {}
        for path in sorted(self.directory.glob("caller-*")):
            for line in path.read_text().splitlines():
                if not line.startswith("end "):
                    continue
                _, method, operation, kind, _, body = line.split()
                kinds[kind] = kinds.get(kind, 0) + 1
                count = len(runs.get(operation, []))
                if kind == "Value":
                    self.assertEqual(body, f"did_{operation}_x")
                    self.assertGreaterEqual(count, 1, line)
                    if "idem" not in METHODS[method]:
                        self.assertEqual(count, 1, line)
                elif kind in ("Busy", "Transport"):
                    self.assertEqual(count, 0, line)  # what was not sent has no name
                elif kind not in ("Indeterminate", "Expired", "Cancelled"):
                    self.fail(line)
        self.assertGreater(kinds.get("Value", 0), ROUNDS, kinds)
        if os.environ.get("POSTRIDER_RPC_VERBOSE"):
            print(f"{ROUNDS} rounds: {sum(kinds.values())} results {kinds}, {len(runs)} operations ran", flush=True)


if __name__ == "__main__":
    harness.main()
