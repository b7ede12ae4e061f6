#!/usr/bin/env python3
"""Message ids between real processes: what one daemon shows no other one shows, whatever they have in common."""

import shutil

import harness

COUNT = 5


class Ids(harness.Case):
    def begin(self, name):
        daemon = self.daemon("--dev", name=name)
        client = daemon.wait_ready()
        client.put_destination("shop", url=self.hooks.url + "/" + name)
        return daemon, client

    def setUp(self):
        super().setUp()
        self.status = 200
        self.hooks = self.receiver(lambda request: (self.status, {}, b""))

    def sent_by(self, name):
        with self.hooks.lock:
            return [request.headers["webhook-id"] for request in self.hooks.requests if request.path == "/" + name]

    # The first messages of a fresh store are for one destination, in one epoch: their addresses are equal.
    # req: engine.name.7, webhook.signature.5
    def test_fresh_stores_show_no_common_id(self):
        shown = []
        for name in ("one", "other"):
            daemon, client = self.begin(name)
            ids = [client.send("shop", f"{name} {number}") for number in range(COUNT)]
            for message in ids:
                client.wait_for(message, "delivered")
            self.assertEqual(sorted(self.sent_by(name)), sorted(ids), "webhook-id is the id of the API")
            shown += ids
            self.assertEqual(daemon.stop(), 0)
        shutil.rmtree(self.directory / "one" / "data")
        _, client = self.begin("one")
        shown += [client.send("shop", f"anew {number}") for number in range(COUNT)]
        self.assertEqual(len(set(shown)), 3 * COUNT, "a store that is made anew shows others again")
        for foreign in shown[:2 * COUNT]:
            self.assertEqual(client.get(f"/v1/messages/{foreign}").status, 404)

    # req: engine.name.7
    def test_a_store_keeps_its_ids_over_a_kill(self):
        self.status = 503
        daemon, client = self.begin("one")
        message = client.send("shop")
        client.wait_for(message, "backoff")
        daemon.kill()
        self.status = 200
        daemon = self.daemon("--dev", name="one")
        client = daemon.wait_ready()
        self.assertEqual(client.explain(message)["id"], message)
        here = {"POSTRIDER_URL": daemon.url}
        explained = self.run_program("msg", "explain", message, environment=here)
        self.assertEqual(explained.returncode, 0, explained)
        self.assertIn(message, explained.stdout)
        self.assertEqual(self.run_program("msg", "retry", message, environment=here).returncode, 0)
        client.wait_for(message, "delivered")
        self.assertEqual(set(self.sent_by("one")), {message})
        other = self.run_program("msg", "explain", message[::-1], environment=here)
        self.assertEqual(other.returncode, 1, other)


if __name__ == "__main__":
    harness.main()
