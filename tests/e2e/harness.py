"""What the tests with real processes share: a daemon, clients, receivers. Standard library only.

Everything is on loopback with ports that the kernel chose, in a directory that goes away with the test.
Nothing waits by sleeping for a guessed time: wait_until() asks again until the thing is there.
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("POSTRIDER_BINARY", ROOT / "build/release/postrider"))
PATIENCE = float(os.environ.get("POSTRIDER_PATIENCE", "60"))  # seconds; only a failure takes so long

# What our own settings in the caller's environment say must not reach the daemons of the tests.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("POSTRIDER_")}
ENVIRONMENT["NO_COLOR"] = "1"


def wait_until(question, what):
    """The first true answer of question()."""
    give_up = time.monotonic() + PATIENCE
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > give_up:
            raise AssertionError(f"waited {PATIENCE:.0f} s for: {what}")
        time.sleep(0.01)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def problem(self):
        """The last word of the problem's type."""
        return self.json()["type"].rsplit(":", 1)[-1]

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Client:
    """Asks a daemon; keeps what it answered in `seen`, heads included."""

    def __init__(self, address, token=None, authority=None):
        self.address, self.token, self.authority = address, token, authority
        self.seen = []

    def connection(self):
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"))
        host, port = self.address.rsplit(":", 1)
        if not self.authority:
            return http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        context = ssl.create_default_context(cafile=self.authority)
        return http.client.HTTPSConnection(host, int(port), timeout=PATIENCE, context=context)

    def ask(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("authorization", f"Bearer {self.token}")
        if body is not None:
            headers.setdefault("content-type", "application/json")
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            answer = Answer(reply.status, dict(reply.getheaders()), reply.read())
        self.seen.append(repr(answer.headers).encode() + answer.body)
        return answer

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)

    def put_destination(self, name, **settings):
        answer = self.ask("PUT", f"/v1/destinations/{name}", {"profile": "webhook", "settings": settings})
        assert answer.status in (200, 201), answer
        return answer

    def send(self, destination, body="hello", **more):
        answer = self.post("/v1/messages", {"destination": destination, "body": body, **more})
        assert answer.status == 202, answer
        return answer.json()["id"]

    def explain(self, message):
        answer = self.get(f"/v1/messages/{message}/explain")
        assert answer.status == 200, answer
        return answer.json()

    def wait_for(self, message, *phases):
        """Until the message is in one of the phases; what explain said then."""
        last = {}

        def arrived():
            last.clear()
            last.update(self.explain(message))
            return last["phase"] in phases
        try:
            wait_until(arrived, f"{message} in {phases}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {last}") from None
        return last

    def conservation(self):
        line = self.get("/v1/stats").json()["conservation"]
        parts = ("delivered", "dead", "expired", "cancelled", "indeterminate", "live")
        assert line["accepted"] == sum(line[part] for part in parts), line
        return line


class Daemon:
    """`postrider serve` as a process of its own. `addresses` are those that it printed."""

    def __init__(self, directory, *options, config=None, environment=None, listen="127.0.0.1:0", limits=()):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [BINARY, "serve", "--data", self.directory / "data"]
        if listen:
            command += ["--listen", listen]
        self.config = self.directory / "postrider.toml"
        if config is not None:
            self.config.write_text(config)
            command += ["--config", self.config]
        self.command = [str(part) for part in [*limits, *command, *options]]
        self.output, self.errors = self.directory / "stdout", self.directory / "stderr"
        with open(self.output, "ab") as output, open(self.errors, "ab") as errors:
            begin = output.tell()
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                            cwd=self.directory, env={**ENVIRONMENT, **(environment or {})})
        try:
            self.welcome = wait_until(lambda: self.read_welcome(begin), f"the start of {self.command}")
        except BaseException:
            self.kill()
            raise
        self.addresses = [line.removeprefix("Postrider listens on ") for line in self.welcome.splitlines()
                          if line.startswith("Postrider listens on ")]
        self.address = self.addresses[0]
        self.url = self.address if self.address.startswith("unix:") else "http://" + self.address

    def read_welcome(self, begin):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.command} ended with {self.process.returncode}: {self.log()}")
        text = self.output.read_text()[begin:]
        return text if "Stop it with" in text and text.endswith("\n") else ""

    def log(self):
        return self.errors.read_text()

    def wait_for_log(self, words, times=1):
        wait_until(lambda: self.log().count(words) >= times, f"'{words}' in the log: {self.log()}")

    def client(self, **more):
        return Client(self.address, **more)

    def wait_ready(self, **more):
        client = self.client(**more)
        wait_until(lambda: client.get("/readyz").status == 200, "readyz")
        return client

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Asks it to drain; its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Receiver:
    """A destination. `answer(request)` gives (status, headers, body), or None to cut the connection off."""

    class Request:
        def __init__(self, path, headers, body):
            self.path, self.headers, self.body = path, headers, body

    def __init__(self, answer=lambda request: (200, {}, b"")):
        self.answer, self.requests, self.lock = answer, [], threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Receiver.Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                with receiver.lock:
                    receiver.requests.append(request)
                reply = receiver.answer(request)
                if reply is None:
                    self.close_connection = True
                    return
                status, headers, body = reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "transfer-encoding" not in headers:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):  # a client that went away is not our problem
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def got(self, count=1):
        """Waits for so many requests; all that there are."""
        wait_until(lambda: len(self.requests) >= count, f"{count} requests, there are {len(self.requests)}")
        with self.lock:
            return list(self.requests)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="postrider-e2e-")
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)

    def daemon(self, *options, name="daemon", **more):
        daemon = Daemon(self.directory / name, *options, **more)
        self.addCleanup(daemon.kill)
        return daemon

    def receiver(self, *arguments):
        receiver = Receiver(*arguments)
        self.addCleanup(receiver.close)
        return receiver

    def run_program(self, *arguments, environment=None, stdin=None, limits=()):
        """The finished program, with its standard output and standard error as text."""
        return subprocess.run([*limits, str(BINARY), *map(str, arguments)], input=stdin, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory,
                              env={**ENVIRONMENT, **(environment or {})}, check=False)

    def assert_fails(self, done, code, *words):
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)


def openssl(*arguments, directory, stdin=None):
    done = subprocess.run(["openssl", *map(str, arguments)], cwd=directory, input=stdin, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise AssertionError(f"openssl {arguments}: {done.stderr}")


class Authority:
    """Makes certificates: NAME.crt and NAME.key in its directory."""

    def __init__(self, directory, name="authority"):
        self.directory, self.name = pathlib.Path(directory), name
        self.directory.mkdir(parents=True, exist_ok=True)
        self.self_signed(name, "DNS:authority.example", extra=["-addext", "keyUsage=critical,keyCertSign"])
        self.file = self.directory / f"{name}.crt"
        self.pem = self.file.read_text()

    def key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key", directory=self.directory)

    def self_signed(self, name, names, extra=()):
        self.key(name)
        openssl("req", "-x509", "-new", "-key", f"{name}.key", "-days", "2", "-subj", f"/CN={name}",
                "-addext", f"subjectAltName={names}", *extra, "-out", f"{name}.crt", directory=self.directory)

    def sign(self, name, names, start=None, end=None):
        """start and end like 20200101000000Z; otherwise good from now on."""
        self.key(name)
        openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr",
                directory=self.directory)
        (self.directory / f"{name}.cnf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=.\ndatabase={name}.index\nrand_serial=yes\n"
            f"default_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName={names}\n")
        (self.directory / f"{name}.index").write_text("")
        dates = ["-startdate", start, "-enddate", end] if start else ["-days", "2"]
        openssl("ca", "-batch", "-notext", "-config", f"{name}.cnf", "-cert", f"{self.name}.crt", "-keyfile",
                f"{self.name}.key", *dates, "-in", f"{name}.csr", "-out", f"{name}.crt", directory=self.directory)


def main():
    if not BINARY.exists():
        sys.exit(f"there is no {BINARY}; build it, or set POSTRIDER_BINARY")
    unittest.main(verbosity=2)
