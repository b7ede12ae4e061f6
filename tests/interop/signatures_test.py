#!/usr/bin/env python3
"""Our signatures, verified by the published Python package `standardwebhooks`, over the daemon's real requests.

Runs in the environment that scripts/interop makes.
"""

import base64
import datetime
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from standardwebhooks import Webhook, WebhookVerificationError  # noqa: E402


def new_secret(size=32):
    return "whsec_" + base64.b64encode(os.urandom(size)).decode()


class Signatures(harness.Case):
    def setUp(self):
        super().setUp()
        self.target = self.receiver()
        self.client = self.daemon("--dev").wait_ready()

    def deliver(self, body, **settings):
        """The request of one message that was delivered."""
        self.client.put_destination("shop", url=self.target.url, **settings)
        message = self.client.send("shop", body)
        self.client.wait_for(message, "delivered")
        return next(each for each in self.target.got() if each.headers["webhook-id"] == message)

    def assert_refused(self, secret, request, body=None, **headers):
        with self.assertRaises(WebhookVerificationError):
            Webhook(secret).verify(request.body if body is None else body, {**request.headers, **headers})

    # req: webhook.signature.9, webhook.signature.1, webhook.signature.2
    def test_one_secret(self):
        for size in (24, 32, 33, 64):
            secret = new_secret(size)
            for body in ({"type": "invoice.paid", "n": size}, {"text": "Grüße, 世界 \u0007 \"quoted\""}, [], 0):
                request = self.deliver(body, secret=secret)
                self.assertEqual(Webhook(secret).verify(request.body, request.headers), body)
                self.assert_refused(new_secret(size), request)

    # req: webhook.signature.9
    def test_bodies_that_are_no_json_and_empty_ones(self):
        secret = new_secret()
        for body in ("plain text\r\n", "", "x" * 200_000):
            request = self.deliver(body, secret=secret)
            self.assertEqual(request.body, body.encode())
            Webhook(secret).verify(request.body, request.headers, json_parse=False)

    # req: webhook.signature.9, webhook.signature.3
    def test_two_secrets_while_rotating(self):
        old, new = new_secret(), new_secret()
        steps = ((old, (old,), (new,)), (f"{new} {old}", (old, new), ()), (new, (new,), (old,)))
        for configured, good, bad in steps:
            request = self.deliver({"rotating": True}, secret=configured)
            for secret in good:
                self.assertEqual(Webhook(secret).verify(request.body, request.headers), {"rotating": True})
            for secret in bad:
                self.assert_refused(secret, request)

    # req: webhook.signature.9
    def test_what_was_tampered_with_is_refused(self):
        secret = new_secret()
        request = self.deliver({"amount": 10}, secret=secret)
        self.assertEqual(Webhook(secret).verify(request.body, request.headers), {"amount": 10})
        self.assert_refused(secret, request, body=request.body.replace(b"10", b"11"))
        self.assert_refused(secret, request, body=request.body + b" ")
        self.assert_refused(secret, request, **{"webhook-id": "0" * 32})
        later = str(int(request.headers["webhook-timestamp"]) + 1)
        self.assert_refused(secret, request, **{"webhook-timestamp": later})
        self.assert_refused(secret, request, **{"webhook-signature": "v1,"})

    # req: webhook.signature.9, webhook.signature.5, webhook.wire.6
    def test_the_id_is_the_same_over_retries_and_each_is_signed(self):
        secret = new_secret()
        answers = iter([(500, {}, b"not now"), None, (429, {}, b""), (200, {}, b"")])
        self.target.answer = lambda request: next(answers)
        self.client.put_destination("shop", url=self.target.url, secret=secret, ladder="100ms", jitter_percent="0")
        message = self.client.send("shop", {"n": 1})
        found = self.client.wait_for(message, "delivered")
        requests = self.target.got(4)
        # The cut off came on a kept connection, so that attempt was repeated at once.
        self.assertEqual((len(requests), found["attempts"]), (4, 3))
        for request in requests:
            self.assertEqual(request.headers["webhook-id"], message)
            self.assertEqual(Webhook(secret).verify(request.body, request.headers), {"n": 1})

    # req: webhook.signature.8, webhook.signature.9
    def test_another_prefix_changes_the_names_only(self):
        secret = new_secret()
        self.client.put_destination("shop", url=self.target.url, secret=secret, header_prefix="x-shop-")
        self.client.wait_for(self.client.send("shop", {"n": 2}), "delivered")
        request = self.target.got()[0]
        self.assertFalse([name for name in request.headers if name.startswith("webhook-")])
        renamed = {name.replace("x-shop-", "webhook-"): value for name, value in request.headers.items()}
        self.assertEqual(Webhook(secret).verify(request.body, renamed), {"n": 2})

    # req: sink.verify.1
    def test_the_sink_accepts_what_the_library_signs(self):
        secret = new_secret()
        said = self.directory / "sink"
        with open(said, "wb") as errors:
            sink = subprocess.Popen([str(harness.BINARY), "sink", "--listen", "127.0.0.1:0", "--quiet", "--verify", secret],
                                    stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(sink.wait)
        self.addCleanup(sink.terminate)
        address = harness.wait_until(lambda: re.search(r"at http://(\S+:\d+)/\n", said.read_text()), "the sink").group(1)
        now = datetime.datetime.now(datetime.timezone.utc)
        signature = Webhook(secret).sign("m1", now, '{"n":3}')
        headers = {"webhook-id": "m1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
        self.assertEqual(harness.Client(address).post("/", '{"n":3}', headers=headers).status, 200)
        self.assertEqual(harness.Client(address).post("/", '{"n":4}', headers=headers).status, 401)


if __name__ == "__main__":
    harness.main()
