#!/usr/bin/env python3
"""The commands as an operator types them, against a real daemon and a receiver that checks what it gets."""

import base64
import hashlib
import hmac
import json

import harness


def signs(secret, request):
    """Whether one of the request's signatures is by this secret (Standard Webhooks)."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    want = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return want in request.headers["webhook-signature"].split()


class Commands(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = self.daemon("--dev")
        self.client = self.server.client()
        self.shop = self.receiver()

    def command(self, *arguments, code=0, **more):
        done = self.run_program(*arguments, environment={"POSTRIDER_URL": "http://" + self.server.address}, **more)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    # req: cli.dest.3, cli.dest.4, api.rotate.1
    def test_a_secret_is_made_printed_and_rotated(self):
        text = self.command("dest", "put", "shop", self.shop.url, "--new-secret")
        first = text.splitlines()[1].removeprefix("secret: ")
        self.assertIn("delivered", self.command("send", "shop", "one", "--wait"))
        second = json.loads(self.command("dest", "rotate", "shop", "--overlap", "1h", "--json"))["secret"]
        self.command("send", "shop", "two", "--wait")
        third = self.command("dest", "rotate", "shop", "--overlap", "0s").splitlines()[1].removeprefix("secret: ")
        self.command("send", "shop", "three", "--wait")
        signed = [[signs(secret, request) for secret in (first, second, third)] for request in self.shop.got(3)]
        self.assertEqual(signed, [[True, False, False], [True, True, False], [False, False, True]])
        for secret in (first, second, third):
            self.assertNotIn(secret, self.command("dest", "show", "shop") + self.server.log())


if __name__ == "__main__":
    harness.main()
