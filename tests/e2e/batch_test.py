#!/usr/bin/env python3
"""Webhooks in batches, with a real daemon: what a receiver gets, a receiver that takes a few only or refuses one
message, and kill -9 in the middle.

POSTRIDER_BATCH_ROUNDS says how often the daemon is killed (4), POSTRIDER_BATCH_SEED at which instants.
"""

import base64
import collections
import hashlib
import hmac
import json
import os
import random
import threading
import time

import harness
from harness import wait_until

ROUNDS = int(os.environ.get("POSTRIDER_BATCH_ROUNDS", "4"))
SEED = int(os.environ.get("POSTRIDER_BATCH_SEED", str(time.time_ns() % 1_000_000_007)))
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CONFIG = """
[transport]
allow = ["127.0.0.0/8"]
"""


def is_signed(request):
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f'{request.headers["webhook-id"]}.{request.headers["webhook-timestamp"]}.'.encode() + request.body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    fresh = abs(time.time() - int(request.headers["webhook-timestamp"])) < 300
    return fresh and request.headers["webhook-signature"] == wanted


def members(request):
    return [element["id"] for element in json.loads(request.body)]


class Batches(harness.Case):
    def start(self, answer=lambda request: (200, {}, b""), **settings):
        self.hooks = self.receiver(answer)
        self.server = self.daemon(config=CONFIG)
        self.client = self.server.wait_ready()
        self.settings = {"url": self.hooks.url, "secret": SECRET, "ladder": "100ms", "batch_max": "50",
                         "strikes_max": "0", **settings}
        self.client.put_destination("shop", **self.settings)

    def pause(self):
        self.assertEqual(self.client.post("/v1/destinations/shop/pause", {"reason": "they gather"}).status, 200)

    def resume(self):
        answer = self.client.post("/v1/destinations/shop/resume")
        self.assertEqual(answer.status, 200, answer)

    def send_paused(self, bodies, **more):
        """Messages that are all there before the first one leaves."""
        self.pause()
        ids = [self.client.send("shop", body, **more) for body in bodies]
        self.resume()
        return ids

    # req: webhook.batch.1, webhook.batch.4, webhook.batch.6, webhook.batch.7, webhook.batch.8
    def test_a_batch_arrives_whole_and_signed(self):
        self.start()
        ids = self.send_paused([{"n": n} for n in range(4)])
        ids += [self.client.send("shop", "no json", content_type="text/plain")]
        for one in ids:
            self.assertEqual(self.client.wait_for(one, "delivered")["attempts"], 1)
        first = self.hooks.got()[0]
        self.assertEqual(members(first)[:4], ids[:4])
        self.assertTrue(all(is_signed(request) for request in self.hooks.requests))
        self.assertEqual(first.headers["content-type"], "application/json")
        self.assertEqual(first.headers["webhook-id"], f"{ids[0]}-1")
        elements = [one for request in self.hooks.requests for one in json.loads(request.body)]
        self.assertEqual([one["id"] for one in elements], ids)
        self.assertEqual([one["data"] for one in elements[:4]], [{"n": n} for n in range(4)])
        self.assertEqual(base64.b64decode(elements[4]["data_base64"]), b"no json")
        metrics = self.client.get("/metrics").body.decode()
        self.assertIn(f"postrider_batch_members_total {len(ids)}\n", metrics)

    # req: webhook.batch.3
    def test_a_batch_waits_for_more(self):
        self.start(batch_max="5", batch_wait="1h")
        ids = [self.client.send("shop", n) for n in range(4)]
        self.assertEqual(self.client.explain(ids[0])["phase"], "queued")
        ids.append(self.client.send("shop", 4))
        for one in ids:
            self.client.wait_for(one, "delivered")
        self.assertEqual([members(request) for request in self.hooks.requests], [ids])
        # It is over when its first message is so old, and not only when it is full.
        self.client.put_destination("shop", **{**self.settings, "batch_max": "50", "batch_wait": "200ms"})
        late = [self.client.send("shop", n) for n in range(2)]
        for one in late:
            self.client.wait_for(one, "delivered")

    # req: webhook.batch.9, webhook.batch.12
    def test_413_halves_and_the_order_is_kept(self):
        self.start(lambda request: (413 if len(members(request)) > 3 else 200, {}, b""), order="fifo")
        ids = self.send_paused(list(range(20)))
        for one in ids:
            self.client.wait_for(one, "delivered")
        taken = [one for request in self.hooks.requests if len(members(request)) <= 3 for one in members(request)]
        self.assertEqual(taken, ids, "each once, in order")
        sizes = [len(members(request)) for request in self.hooks.requests]
        self.assertEqual(sizes[:4], [20, 10, 5, 2])
        self.assertNotIn("dead", {self.client.explain(one)["phase"] for one in ids})

    # req: webhook.batch.9
    def test_one_refused_message_is_found(self):
        self.start(lambda request: (422 if b'"bad"' in request.body else 200, {}, b"not that one"))
        ids = self.send_paused([1, 2, 3, 4, 5, {"bad": 1}, 7, 8])
        for place, one in enumerate(ids):
            self.client.wait_for(one, "dead" if place == 5 else "delivered")
        good = collections.Counter(one for request in self.hooks.requests if b'"bad"' not in request.body
                                   for one in members(request))
        self.assertEqual(good, collections.Counter(ids[:5] + ids[6:]))
        self.assertIn("HTTP 422", self.client.explain(ids[5])["last_outcome"])

    # req: webhook.batch.7, webhook.batch.11
    def test_a_connection_that_is_cut_brings_the_same_batch_again(self):
        cut = threading.Event()

        def answer(request):
            if cut.is_set():
                return 200, {}, b""
            cut.set()
            return None
        self.start(answer)
        ids = self.send_paused([1, 2, 3])
        for one in ids:
            self.client.wait_for(one, "delivered")
        requests = self.hooks.got(2)
        self.assertEqual({request.headers["webhook-id"] for request in requests}, {f"{ids[0]}-1"})
        self.assertEqual([members(request) for request in requests], [ids] * len(requests))
        self.assertTrue(all(is_signed(request) for request in requests))

    # req: webhook.batch.11
    def test_410_holds_all_members(self):
        gone = threading.Event()
        self.start(lambda request: (200 if gone.is_set() else 410, {}, b""), order="fifo")
        ids = self.send_paused([1, 2, 3])
        self.hooks.got()
        wait_until(lambda: self.client.explain(ids[0])["health"] == "disabled", "410")
        for one in ids:
            self.assertEqual(self.client.explain(one)["phase"], "queued")
            self.assertNotIn("batch", self.client.explain(one))
        gone.set()
        self.resume()
        for one in ids:
            self.client.wait_for(one, "delivered")
        self.assertEqual([one for request in self.hooks.requests[1:] for one in members(request)], ids)

    # req: webhook.batch.15
    def test_explain_names_the_batch(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def answer(_):
            go_on.wait(harness.PATIENCE)
            return 200, {}, b""
        self.start(answer)
        ids = self.send_paused([1, 2, 3])
        self.hooks.got()
        for one in ids:
            self.assertEqual(self.client.explain(one)["batch"],
                             {"leader": ids[0], "number": 1, "attempts": 1, "members": ids})
        self.assertIn(f"{ids[0]} leads", self.client.explain(ids[2])["why"])
        told = self.run_program("msg", "explain", ids[1], "--url", self.server.url)
        self.assertIn(f"{ids[0]}-1, 1 attempt, of {' '.join(ids)}", told.stdout)
        go_on.set()
        self.assertNotIn("batch", self.client.wait_for(ids[1], "delivered"))

    # req: webhook.batch.16
    def test_batches_are_switched_on_and_off(self):
        self.start(batch_max="0")
        self.pause()
        alone = [self.client.send("shop", 1), self.client.send("shop", 2)]
        self.client.put_destination("shop", **self.settings | {"batch_max": "9"})
        together = [self.client.send("shop", 3), self.client.send("shop", 4)]
        self.resume()
        for one in alone + together:
            self.client.wait_for(one, "delivered")
        ids = {request.headers["webhook-id"] for request in self.hooks.requests}
        self.assertTrue(set(alone) <= ids)
        self.assertEqual([members(request) for request in self.hooks.requests
                          if "-" in request.headers["webhook-id"]], [together])

    # req: webhook.batch.7, webhook.batch.12, webhook.batch.14
    def test_kill_9_in_the_middle(self):
        chance = random.Random(SEED)
        print(f"seed {SEED}", flush=True)
        ended, lock = [], threading.Lock()  # members of batches that were answered with 200, in that order

        def answer(request):
            time.sleep(chance.choice([0, 0.002, 0.02]))
            with lock:
                if chance.random() < 0.2:
                    return None if chance.random() < 0.5 else (500, {}, b"")
                ended.append((request.headers["webhook-id"], members(request)))
            return 200, {}, b""
        self.start(answer, order="fifo", batch_max="8")
        ids = []
        for _ in range(ROUNDS):
            instant = time.monotonic() + chance.uniform(0.05, 0.4)
            while time.monotonic() < instant:
                ids.append(self.client.send("shop", len(ids)))
            self.server.kill()
            self.server = self.daemon(config=CONFIG)
            self.client = self.server.wait_ready()
        for one in ids:
            self.client.wait_for(one, "delivered")
        self.assertTrue(all(is_signed(request) for request in self.hooks.requests))
        names = {}
        for request in self.hooks.requests:
            known = names.setdefault(request.headers["webhook-id"], members(request))
            self.assertEqual(known, members(request), "a name stands for the same members for ever")
            self.assertEqual(len(set(known)), len(known), "never twice in one batch")
        firsts = list(dict.fromkeys(one for _, batch in ended for one in batch))
        self.assertEqual(firsts, ids, "all of them, and in order")
        self.assertEqual(self.client.conservation()["delivered"], len(ids))


if __name__ == "__main__":
    harness.main()
