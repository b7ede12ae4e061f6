#!/usr/bin/env python3
"""Secrets are planted wherever one can be given; then everything that the daemon and the commands said is searched for them."""

import base64
import signal
import socket

import harness
from harness import wait_until

MARK = "pLaNtEd"


def signing_secret(word):
    """A good whsec_ secret that can be recognised."""
    return "whsec_" + base64.b64encode(f"{MARK}-{word}-signing-key".encode().ljust(32, b".")).decode()


TOKENS = {name: f"{MARK}-token-{name}-0123456789" for name in ("all", "file", "variable", "eyes", "reloaded", "broken")}
SIGNING = {name: signing_secret(name) for name in ("file", "text", "new", "old", "conflict", "bad", "named")}
HEADERS = {name: f"{MARK}-header-{name}" for name in ("config", "api", "message", "command", "key", "bad")}
BODY = f"{MARK}-body"

CONFIG = f"""
[log]
level = "debug"
[[tokens]]
name = "all"
scopes = ["submit", "read", "operate"]
secret = "{TOKENS['all']}"
[[tokens]]
name = "file"
scopes = ["submit"]
secret_file = "token.secret"
[[tokens]]
name = "variable"
scopes = ["submit"]
secret_env = "TEST_TOKEN"
[[tokens]]
name = "eyes"
scopes = ["read"]
secret = "{TOKENS['eyes']}"
[destinations.config]
profile = "webhook"
[destinations.config.settings]
url = "URL/config"
secret_file = "signing.secret"
headers = {{ authorization = "Bearer {HEADERS['config']}" }}
[secrets]
billing = "billing.key"
"""


def hidden_words():
    """What must not be seen: each secret, and the base64 of signing secrets without its prefix."""
    words = [*TOKENS.values(), *HEADERS.values(), BODY]
    for secret in SIGNING.values():
        words += [secret, secret.removeprefix("whsec_").rstrip("=")]
    return [word.encode() for word in words]


class Secrets(harness.Case):
    def setUp(self):
        super().setUp()
        self.outputs = []  # (what, bytes)
        self.answers = []  # of the API
        self.shop = self.receiver(lambda request: (500 if request.path == "/fails" else
                                                   400 if request.path == "/rejects" else 200, {}, b"an answer"))
        folder = self.directory / "daemon"
        folder.mkdir()
        (folder / "token.secret").write_text(TOKENS["file"] + "\n")
        (folder / "signing.secret").write_text(SIGNING["file"] + "\n")
        (folder / "billing.key").write_text(SIGNING["named"] + "\n")
        (folder / "billing.key").chmod(0o600)
        self.server = self.daemon("--dev", config=CONFIG.replace("URL", self.shop.url),
                                  environment={"TEST_TOKEN": TOKENS["variable"]})
        self.client = self.client_with("all")

    def client_with(self, token):
        client = self.server.client(token=TOKENS[token])
        client.seen = self.answers
        return client

    def command(self, *arguments, token="all", code=0, stdin=None):
        done = self.run_program(*arguments, stdin=stdin, environment={
            "POSTRIDER_URL": self.server.url, "POSTRIDER_TOKEN": TOKENS.get(token, token)})
        self.assertEqual(done.returncode, code, done)
        self.outputs.append((f"postrider {' '.join(map(str, arguments))}", (done.stdout + done.stderr).encode()))
        return done.stdout

    def send_everything(self):
        """Messages that are delivered, that wait and that are dead; their ids."""
        put = self.client.put_destination
        put("good", url=f"{self.shop.url}/good", secret=f"{SIGNING['new']} {SIGNING['old']}",
            **{"headers.authorization": HEADERS["api"], "headers.x-api-key": HEADERS["key"]})
        put("fails", url=f"{self.shop.url}/fails", secret=SIGNING["text"])
        put("rejects", url=f"{self.shop.url}/rejects", secret=SIGNING["text"])
        put("named", url=f"{self.shop.url}/good", secret_name="billing")
        ids = {}
        for name in ("config", "good", "fails", "rejects", "named"):
            ids[name] = self.client.send(name, {"text": BODY}, headers={"authorization": HEADERS["message"]})
        self.client.wait_for(ids["config"], "delivered")
        self.client.wait_for(ids["good"], "delivered")
        self.client.wait_for(ids["named"], "delivered")
        self.client.wait_for(ids["fails"], "backoff")
        self.client.wait_for(ids["rejects"], "dead")
        for name in ("file", "variable"):
            self.assertEqual(self.client_with(name).post(
                "/v1/messages", {"destination": "good", "body": BODY}).status, 202)
        return ids

    def provoke_refusals(self):
        """Requests that carry secrets and are refused."""
        ask, message = self.client.ask, {"destination": "good", "body": BODY}
        bad_settings = (
            {"url": "http://h/", "secret": SIGNING["bad"] + "!"}, {"url": "http://h/", "secrett": SIGNING["bad"]},
            {"url": "http://h/", "headers.authorization": HEADERS["bad"] + "\n"},
            {"url": "http://h/", "secret": " ".join([SIGNING["bad"]] * 5)}, {"secret": SIGNING["bad"]},
            {"url": "http://h/", "secret": [SIGNING["bad"]]}, {"url": "http://h/", "rate": "x", "secret": SIGNING["bad"]},
        )
        statuses = [ask("PUT", "/v1/destinations/bad", {"profile": "webhook", "settings": each}).status
                    for each in bad_settings]
        bodies = ('{"destination":"good","body":"%s"' % BODY, '{"destination":"good","%s":1}' % "bodyy",
                  '{"destination":"nobody","body":"%s"}' % BODY, '{"destination":"good","body":"%s","lane":-1}' % BODY,
                  '{"destination":"good","body":"x","headers":{"webhook-id":"%s"}}' % HEADERS["bad"],
                  '"%s"' % BODY, BODY)
        statuses += [ask("POST", "/v1/messages", each).status for each in bodies]
        for number, body in enumerate((message, {**message, "body": "other"})):
            answer = ask("POST", "/v1/messages", body, headers={"idempotency-key": "k1"})
            self.assertEqual(answer.status, (202, 422)[number])
        keyed = {"idempotency-key": "k2"}
        for secret in (SIGNING["conflict"], SIGNING["bad"]):
            statuses.append(ask("PUT", "/v1/destinations/conflict", {"profile": "webhook", "settings": {
                "url": f"{self.shop.url}/good", "secret": secret}}, headers=keyed).status)
        self.assertEqual(statuses.pop(-2), 200)
        statuses.append(ask("POST", "/v1/messages", BODY.encode() * 100_000).status)
        statuses.append(ask("POST", "/v1/messages", BODY, headers={"content-type": "text/plain"}).status)
        statuses.append(ask("GET", "/v1/stats", headers={"authorization": f"Basic {TOKENS['broken']}"}).status)
        statuses.append(self.client_with("broken").get("/v1/stats").status)
        statuses.append(self.client_with("eyes").post("/v1/messages", message).status)
        self.assertTrue(all(400 <= status < 500 for status in statuses), statuses)
        self.send_garbage()

    def send_garbage(self):
        host, port = self.server.address.rsplit(":", 1)
        for head in (f"GET / HTTP/1.1\r\nauthorization {TOKENS['all']}\r\n\r\n", f"{TOKENS['all']}\r\n\r\n",
                     f"GET /v1/stats?{TOKENS['all']}=1 HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {TOKENS['all']}\0\r\n\r\n"):
            with socket.create_connection((host, int(port)), timeout=harness.PATIENCE) as connection:
                connection.sendall(head.encode())
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while chunk := connection.recv(4096):
                    answer += chunk
                self.outputs.append(("the answer to garbage", answer))

    def ask_everything(self, ids):
        get = self.client.get
        paths = ["/v1/destinations", "/v1/messages", "/v1/dead-letters", f"/v1/dead-letters/{ids['rejects']}", "/v1/stats",
                 "/metrics", "/livez", "/readyz", "/openapi.json", "/v1/profiles", "/v1/profiles/webhook", "/v1/whoami", "/",
                 "/v1/operations/k1", "/v1/operations/k2"]
        paths += [f"/v1/destinations/{name}" for name in ("config", "good", "fails", "rejects", "conflict")]
        paths += [f"/v1/messages/{message}{what}" for message in ids.values() for what in ("", "/explain", "/timeline")]
        for path in paths:
            self.assertEqual(get(path).status, 200, path)
        self.client.ask("PATCH", "/v1/destinations/good/limits", {"rate": 10})
        self.client.post(f"/v1/messages/{ids['fails']}/retry")
        self.client.post(f"/v1/messages/{ids['fails']}/cancel")
        self.client.post("/v1/destinations/good/test")

    def run_commands(self, ids):
        secret_file = self.directory / "command.secret"
        secret_file.write_text(SIGNING["text"])
        self.command("dest", "put", "command", f"{self.shop.url}/good", "--secret-file", secret_file,
                     "--header", f"authorization: {HEADERS['command']}")
        message = self.command("send", "command", BODY, "--header", f"cookie: {HEADERS['command']}").strip()
        self.command("send", "command", "-", "--wait", stdin=BODY)
        for flags in ([], ["--json"]):
            for name in ("config", "good", "command"):
                self.command("dest", "show", name, *flags)
            self.command("dest", "ls", *flags)
            self.command("msg", "ls", *flags)
            self.command("dlq", "ls", *flags)
            self.command("dlq", "show", ids["rejects"], *flags)
            self.command("tail", "--from", "start", "--limit", "3", *flags)
            for verb in ("get", "explain", "timeline"):
                self.command("msg", verb, message, *flags)
                self.command("msg", verb, ids["fails"], *flags)
            self.command("dest", "ls", *flags, token="broken", code=1)
            self.command("dest", "pause", "good", *flags, token="eyes", code=1)
        self.command("config", "check", self.write_config("broken.toml", "scopess = 1\n"), code=1)

    def write_config(self, name, more):
        path = self.directory / name
        path.write_text(f'[[tokens]]\nname = "b"\nsecret = "{TOKENS["broken"]}"\n{more}')
        return path

    def reload(self):
        self.server.config.write_text(f'[[tokens]]\nname = "b"\nsecret = "{TOKENS["broken"]}"\nscopess = 1\n')
        self.server.signal(signal.SIGHUP)
        self.server.wait_for_log("the configuration is not taken")
        text = CONFIG.replace("URL", self.shop.url).replace(TOKENS["all"], TOKENS["reloaded"])
        self.server.config.write_text(text)
        self.server.signal(signal.SIGHUP)
        self.server.wait_for_log("reloaded")
        again = self.client_with("reloaded")
        wait_until(lambda: again.get("/v1/stats").status == 200, "the new token")

    def assert_secrets_were_used(self):
        """Otherwise the search would prove nothing."""
        seen = {request.headers.get("authorization") for request in self.shop.requests}
        self.assertLessEqual({HEADERS["message"], HEADERS["command"], HEADERS["api"]}, seen)
        first = next(request for request in self.shop.requests if request.headers.get("x-api-key") == HEADERS["key"])
        self.assertRegex(first.headers["webhook-signature"], r"^v1,\S+ v1,\S+$")
        self.assertTrue(any(request.headers.get("webhook-signature") and not request.headers.get("x-api-key")
                            for request in self.shop.requests if request.path == "/good"))
        self.assertTrue(any(BODY.encode() in request.body for request in self.shop.requests))

    def assert_not_stored(self, secret):
        """A secret that is named is in no file of the store; one that is given is, so the search would find it."""
        stored = [path.read_bytes() for path in (self.directory / "daemon").rglob("*")
                  if path.is_file() and path.suffix not in (".key", ".secret", ".toml")]
        self.assertTrue(any(SIGNING["new"].encode() in data for data in stored))
        for data in stored:
            self.assertNotIn(secret.encode(), data)

    # req: daemon.secrets.1, engine.secret.4
    def test_nothing_that_is_secret_is_told(self):
        ids = self.send_everything()
        self.provoke_refusals()
        self.ask_everything(ids)
        self.run_commands(ids)
        self.reload()
        self.assert_secrets_were_used()
        self.assertEqual(self.server.stop(), 0)
        self.outputs += [("an answer of the API", answer) for answer in self.answers]
        self.outputs += [(path.name, path.read_bytes()) for path in (self.server.output, self.server.errors)]
        self.assert_not_stored(SIGNING["named"])
        words = hidden_words()
        for what, text in self.outputs:
            for word in words:
                self.assertNotIn(word, text, f"{what} tells a secret")

    # req: daemon.secrets.2
    def test_a_body_is_told_to_whoever_asks_for_it(self):
        ids = self.send_everything()
        for path in (f"/v1/messages/{ids['fails']}", f"/v1/dead-letters/{ids['rejects']}"):
            self.assertNotIn(BODY.encode(), self.client.get(path).body)
            self.assertIn(BODY.encode(), self.client.get(f"{path}?body=true").body)
            self.assertNotIn(HEADERS["message"].encode(), self.client.get(f"{path}?body=true").body)
        self.assertIn(BODY, self.command("msg", "get", ids["fails"], "--body"))
        self.assertIn(BODY, self.command("dlq", "show", ids["rejects"], "--body"))
        self.assertEqual(self.client_with("file").get(
            f"/v1/messages/{ids['fails']}?body=true").status, 403)


if __name__ == "__main__":
    harness.main()
