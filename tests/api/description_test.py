#!/usr/bin/env python3
"""schemathesis against the real daemon: requests that /openapi.json allows, and such that it does not. No 500, no answer that is not
described, nothing accepted that the description forbids, and the daemon is well afterwards.

Runs in the environment that scripts/test-api makes. EXAMPLES (requests per operation and phase) and SEED come from the environment.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "e2e"))
import harness  # noqa: E402

CONFIG = """
[transport]
allow = ["127.0.0.0/8"]
[plugins.lorawan.settings]
way = "chirpstack"
url = "http://127.0.0.1:1"
api_key = "none"
"""


class Description(harness.Case):
    def things(self):
        """Something of each kind: messages that wait, ended and died, a job, a hold, a key."""
        good, bad = self.receiver(), self.receiver(lambda request: (404, {}, b""))
        self.client.put_destination("good", url=good.url)
        self.client.put_destination("bad", url=bad.url)
        self.client.put_destination("held", url=good.url)
        self.client.post("/v1/destinations/held/pause", {"reason": "for the test"})
        keyed = self.client.post("/v1/messages", {"destination": "good", "body": "keyed"}, headers={"idempotency-key": "a-key"})
        messages = [self.client.send(name) for name in ("good", "good", "bad", "bad", "held", "held")]
        for message in messages[:2]:
            self.client.wait_for(message, "delivered")
        for message in messages[2:4]:
            self.client.wait_for(message, "dead")
        job = self.client.post("/v1/jobs", {"action": "redrive", "filter": {"destination": "good"}}).json()["id"]
        hold = self.client.ask("PUT", "/v1/holds/night", {"destination_prefix": "night-", "reason": "for the test"})
        self.assertEqual(hold.status, 200, hold)
        command = self.client.post("/message/enqueue", {
            "commandType": "READ_CREDIT", "priority": 1, "pluginId": "lorawan", "networkId": 7, "correlationId": "c1",
            "device": {"type": "ELECTRICITY_METER", "externalReference": "47003333623"}})
        self.assertEqual(command.status, 201, command)
        return {"message": [keyed.json()["id"], *messages], "destination": ["good", "bad", "held"], "job": [job], "hold": ["night"],
                "key": ["a-key"], "plugin": ["lorawan"], "url": good.url}

    # req: api.openapi.3
    def test_what_is_described_is_what_happens(self):
        daemon = self.daemon(config=CONFIG)
        self.client = daemon.wait_ready()
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE),
                       "POSTRIDER_THINGS": json.dumps(self.things())}
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml"), "run",
             f"{daemon.url}/openapi.json", "--max-examples", os.environ.get("EXAMPLES", "50"), "--seed", os.environ.get("SEED", "1"),
             "--continue-on-failure", "--no-color", "--request-timeout", str(harness.PATIENCE), "--warnings", "off"],
            cwd=self.directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout[-4000:] if done.returncode == 0 else done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertIsNone(daemon.process.poll(), daemon.log()[-2000:])
        self.client.conservation()
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
