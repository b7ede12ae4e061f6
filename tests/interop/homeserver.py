"""A real Synapse on loopback: its files, its process, and its client API. Standard library only.

Server names are localhost:PORT, so that neither a well-known object nor SRV is asked for; the certificate of the
federation listener is signed by an authority that both sides trust, and verification stays on.
"""

import hashlib
import hmac
import json
import os
import pathlib
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness

PYTHON = pathlib.Path(os.environ.get("POSTRIDER_SYNAPSE_PYTHON", harness.ROOT / "build/interop/synapse/bin/python"))
REGISTRATION = "registration-secret-of-a-test"

FILE = """
server_name: "localhost:{federation}"
pid_file: {directory}/pid
listeners:
  - {{port: {listener}, tls: {tls}, type: http, bind_addresses: ['127.0.0.1'], resources: [{{names: [federation]}}]}}
  - {{port: {client}, tls: false, type: http, bind_addresses: ['127.0.0.1'], resources: [{{names: [client]}}]}}
tls_certificate_path: {certificate}
tls_private_key_path: {key}
federation_custom_ca_list: [{authority}]
federation_ip_range_blacklist: []
ip_range_blacklist: []
trusted_key_servers: []
suppress_key_server_warning: true
registration_shared_secret: "{registration}"
enable_registration: false
report_stats: false
media_store_path: {directory}/media
signing_key_path: {directory}/signing.key
log_config: {directory}/log.yaml
macaroon_secret_key: "a macaroon secret of a test"
form_secret: "a form secret of a test"
database: {{name: sqlite3, args: {{database: {directory}/homeserver.db}}}}
rc_message: {{per_second: 100000, burst_count: 100000}}
rc_registration: {{per_second: 100000, burst_count: 100000}}
rc_login:
  address: {{per_second: 100000, burst_count: 100000}}
  account: {{per_second: 100000, burst_count: 100000}}
  failed_attempts: {{per_second: 100000, burst_count: 100000}}
rc_joins:
  local: {{per_second: 100000, burst_count: 100000}}
  remote: {{per_second: 100000, burst_count: 100000}}
rc_joins_per_room: {{per_second: 100000, burst_count: 100000}}
rc_invites:
  per_room: {{per_second: 100000, burst_count: 100000}}
  per_user: {{per_second: 100000, burst_count: 100000}}
  per_issuer: {{per_second: 100000, burst_count: 100000}}
rc_federation: {{window_size: 1000, sleep_limit: 100000, sleep_delay: 1, reject_limit: 100000, concurrent: 100}}
rc_presence: {{per_user: {{per_second: 100000, burst_count: 100000}}}}
"""

# Outbound federation goes to the instance `postrider`, which is the daemon's egress.
EGRESS = """
instance_map: {{main: {{host: 127.0.0.1, port: {main}}}, postrider: {{host: 127.0.0.1, port: {egress}}}}}
outbound_federation_restricted_to: [postrider]
worker_replication_secret: "{secret}"
federation: {{destination_min_retry_interval: 1s, destination_max_retry_interval: 30s}}
"""

LOG = """
version: 1
formatters: {{plain: {{format: '%(asctime)s %(levelname)s %(name)s %(message)s'}}}}
handlers: {{file: {{class: logging.FileHandler, formatter: plain, filename: {directory}/homeserver.log}}}}
root: {{level: INFO, handlers: [file]}}
disable_existing_loggers: false
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class User:
    """A user with a device, by the client API alone."""

    def __init__(self, server, name):
        self.server = server
        nonce = server.ask("GET", "/_synapse/admin/v1/register")["nonce"]
        mac = hmac.new(REGISTRATION.encode(), "\0".join([nonce, name, "password", "notadmin"]).encode(), hashlib.sha1)
        made = server.ask("POST", "/_synapse/admin/v1/register", {
            "nonce": nonce, "username": name, "password": "password", "admin": False, "mac": mac.hexdigest()})
        self.id, self.token, self.device = made["user_id"], made["access_token"], made["device_id"]
        self.since, self.count = None, 0
        self.timeline, self.to_device, self.typing, self.receipts, self.presence = {}, [], {}, [], {}

    def ask(self, method, path, body=None):
        return self.server.ask(method, "/_matrix/client/v3" + path, body, self.token)

    def create_room(self, name):
        return self.ask("POST", "/createRoom", {"preset": "public_chat", "name": name})["room_id"]

    def join(self, room, via):
        return self.ask("POST", f"/join/{quote(room)}?via={quote(via)}&server_name={quote(via)}", {})

    def say(self, room, text):
        self.count += 1
        return self.ask("PUT", f"/rooms/{quote(room)}/send/m.room.message/{self.count}",
                        {"msgtype": "m.text", "body": text})["event_id"]

    def send_to_device(self, user, content):
        self.count += 1
        self.ask("PUT", f"/sendToDevice/test.kind/{self.count}", {"messages": {user: {"*": content}}})

    def type_in(self, room):
        self.ask("PUT", f"/rooms/{quote(room)}/typing/{quote(self.id)}", {"typing": True, "timeout": 30000})

    def read(self, room, event):
        self.ask("POST", f"/rooms/{quote(room)}/receipt/m.read/{quote(event)}", {})

    def be(self, presence, words):
        self.ask("PUT", f"/presence/{quote(self.id)}/status", {"presence": presence, "status_msg": words})

    def upload(self, content):
        """Media, by its server's store; (server, id)."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.client}/_matrix/media/v3/upload", method="POST",
                                         data=content, headers={"content-type": "application/octet-stream",
                                                                "authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=harness.PATIENCE) as answer:
            return json.loads(answer.read())["content_uri"].removeprefix("mxc://").split("/")

    def download(self, server, media):
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.client}/_matrix/client/v1/media/download/"
                                         f"{quote(server)}/{quote(media)}",
                                         headers={"authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=harness.PATIENCE) as answer:
            return answer.read()

    def sync(self):
        """Takes in what is new, at most 50 events of each room."""
        since = f"&since={self.since}" if self.since else ""
        told = self.ask("GET", "/sync?timeout=0" + since)
        self.since = told["next_batch"]
        self.to_device += [event["content"] for event in told.get("to_device", {}).get("events", [])
                           if event["type"] == "test.kind"]
        for event in told.get("presence", {}).get("events", []):
            self.presence[event["sender"]] = event["content"]
        for room, news in told.get("rooms", {}).get("join", {}).items():
            for event in news["timeline"]["events"]:
                self.timeline.setdefault(room, []).append(event)
            for event in news["ephemeral"]["events"]:
                if event["type"] == "m.typing":
                    self.typing[room] = event["content"]["user_ids"]
                if event["type"] == "m.receipt":
                    self.receipts.append(event["content"])
        return told

    def texts(self, room):
        """All texts of a room, the oldest first."""
        found, begin = [], ""
        while True:
            page = self.ask("GET", f"/rooms/{quote(room)}/messages?dir=b&limit=200{begin}")
            found += [event["content"].get("body") for event in page["chunk"] if event["type"] == "m.room.message"]
            if not page.get("end") or not page["chunk"]:
                return found[::-1]
            begin = f"&from={page['end']}"


def quote(text):
    return urllib.parse.quote(text, safe="")


class Homeserver:
    def __init__(self, directory, authority, name, egress=None, secret=None, proxied=False):
        """proxied: its federation listener is `inner`, without TLS, and a proxy has to listen at its name."""
        self.directory = pathlib.Path(directory) / name
        self.directory.mkdir(parents=True)
        self.federation, self.client, self.process = free_port(), free_port(), None
        self.inner = free_port() if proxied else None
        self.name = f"localhost:{self.federation}"
        authority.sign(name, "DNS:localhost,IP:127.0.0.1")
        text = FILE.format(directory=self.directory, federation=self.federation, client=self.client,
                           listener=self.inner or self.federation, tls="false" if proxied else "true",
                           certificate=authority.directory / f"{name}.crt", key=authority.directory / f"{name}.key",
                           authority=authority.file, registration=REGISTRATION)
        self.file, self.plain_text = self.directory / "homeserver.yaml", text
        if egress:
            text += EGRESS.format(main=free_port(), egress=egress, secret=secret)
        self.file.write_text(text)
        (self.directory / "log.yaml").write_text(LOG.format(directory=self.directory))
        self.run("--generate-keys")

    def run(self, *options):
        done = subprocess.run([str(PYTHON), "-m", "synapse.app.homeserver", "-c", str(self.file), *options],
                              cwd=self.directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise AssertionError(f"synapse {options}: {done.stdout}")

    def send_by_itself(self):
        """Takes the lines of the egress out of its file; holds from the next start on."""
        self.file.write_text(self.plain_text)

    def start(self):
        with open(self.directory / "output", "ab") as output:
            self.process = subprocess.Popen([str(PYTHON), "-m", "synapse.app.homeserver", "-c", str(self.file)],
                                            cwd=self.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

        def answers():
            if self.process.poll() is not None:
                raise AssertionError((self.directory / "output").read_text()[-3000:])
            try:
                return self.ask("GET", "/_matrix/client/versions")
            except OSError:
                return None
        harness.wait_until(answers, f"the start of {self.name}")
        return self

    def stop(self):
        """By its process, and waits for its end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(harness.PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def signed(self, method, uri, destination, key=None):
        """The header Authorization of a request of this server, made with the library of its own project."""
        script = (
            "import sys; from signedjson.key import read_signing_keys; from signedjson.sign import sign_json\n"
            "file, method, uri, origin, destination = sys.argv[1:]\n"
            "key = read_signing_keys(open(file))[0]\n"
            "said = {'method': method, 'uri': uri, 'origin': origin, 'destination': destination}\n"
            "signature = sign_json(said, origin, key)['signatures'][origin]\n"
            "print('X-Matrix origin=\"%s\",destination=\"%s\",key=\"%s\",sig=\"%s\"'"
            " % (origin, destination, *list(signature.items())[0]))\n")
        done = subprocess.run([str(PYTHON), "-c", script, str(key or self.directory / "signing.key"), method, uri,
                               self.name, destination], text=True, stdout=subprocess.PIPE, check=True)
        return done.stdout.strip()

    def log(self):
        path = self.directory / "homeserver.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def ask(self, method, path, body=None, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.client}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode())
        request.add_header("content-type", "application/json")
        if token:
            request.add_header("authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=harness.PATIENCE) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from None
