"""Two daemons that send each other messages of LXMF over a line on loopback.

  POSTRIDER_LXMF_ROUNDS=100 python3 tests/e2e/lxmf_test.py    kills one of them so often; 8 by default
"""

import json
import os
import random
import sys
import time
import unittest

import harness
from harness import Case, wait_until
from lxmf_test_sides import Side, free_port

ROUNDS = int(os.environ.get("POSTRIDER_LXMF_ROUNDS", "8"))
SEED = int(os.environ.get("POSTRIDER_LXMF_SEED", "1"))


class Lxmf(Case):
    def two(self):
        port = free_port()
        bob = Side(self, "bob", f"listen tcp://127.0.0.1:{port}")
        alice = Side(self, "alice", f"tcp://127.0.0.1:{port}")
        for side in (bob, alice):
            side.start()
        return alice, bob

    def test_an_identity_is_a_file_of_64_bytes_for_its_owner_alone(self):
        made = self.run_program("lxmf", "new", "a.key")
        self.assertEqual(made.returncode, 0, made)
        file = self.directory / "a.key"
        self.assertEqual(file.stat().st_size, 64)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        shown = self.run_program("lxmf", "id", "a.key")
        self.assertEqual(shown.stdout, made.stdout)
        again = self.run_program("lxmf", "new", "a.key")
        self.assert_fails(again, 1, "File exists")
        (self.directory / "b.key").write_bytes(b"x" * 63)
        self.assertIn("exactly 64 bytes", self.run_program("lxmf", "id", "b.key").stderr)

    def test_messages_go_both_ways_by_packet_link_and_resource(self):
        alice, bob = self.two()
        texts = {"by one packet": "opportunistic", "by a link": "direct", "by a resource " + "x" * 5000: "direct"}
        sent = {}
        for sender, receiver in ((alice, bob), (bob, alice)):
            for text, method in texts.items():
                answer = sender.client.post("/v1/messages", {
                    "destination": f"lxmf:{receiver.address}", "body": text, "attributes": {"method": method}})
                self.assertEqual(answer.status, 202, answer)
                sent[(sender.name, text)] = (sender, answer.json()["id"])
        for sender, message in sent.values():
            sender.client.wait_for(message, "delivered")
        for receiver in (alice, bob):
            receiver.read()
            self.assertEqual(set(receiver.inbox), set(texts))
            receiver.client.conservation()

    def test_a_stamp_is_worked_for_and_a_ticket_takes_its_place(self):
        port = free_port()
        bob = Side(self, "bob", f"listen tcp://127.0.0.1:{port}",
                   station='stamp_cost.own = "9"\nstamps_enforced.own = "on"')
        alice = Side(self, "alice", f"tcp://127.0.0.1:{port}")
        for side in (bob, alice):
            side.start()

        def send(sender, receiver, text, **attributes):
            answer = sender.client.post("/v1/messages", {
                "destination": f"lxmf:{receiver.address}", "body": text, "attributes": attributes})
            self.assertEqual(answer.status, 202, answer)
            return answer.json()["id"]

        alice.client.wait_for(send(alice, bob, "stamped"), "delivered")
        bob.client.wait_for(send(bob, alice, "with a ticket", ticket="yes"), "delivered")
        alice.client.wait_for(send(alice, bob, "by ticket"), "delivered")
        page = bob.client.get("/v1/mailboxes/inbox/messages").json()
        bodies = [json.loads(item["body"]) for item in page["messages"]]
        self.assertEqual([body["stamp"] for body in bodies], ["valid", "ticket"])
        self.assertGreaterEqual(bodies[0]["stamp_value"], 9)

    def test_a_node_keeps_a_message_until_its_recipient_comes(self):
        door, friend = free_port(), free_port()
        node = Side(self, "node", f"listen tcp://127.0.0.1:{door}",
                    station='node = "own"\nnode_cost = "13"',
                    more='[destinations."lxmf-node:*"]\nprofile = "mailbox"')
        uses = f'propagation_node = "{node.node}"'
        alice = Side(self, "alice", f"listen tcp://127.0.0.1:{friend}", f"tcp://127.0.0.1:{door}", settings=uses)
        carol = Side(self, "carol", f"tcp://127.0.0.1:{friend}", f"tcp://127.0.0.1:{door}", settings=uses)
        for side in (node, alice, carol):
            side.start()
        alice.submit("to know each other", carol, "direct")
        wait_until(lambda: carol.read() or "to know each other" in carol.inbox, "the first message")
        carol.daemon.kill()
        texts = {"short", "a resource " + "x" * 3000}
        for text in texts:
            answer = alice.client.post("/v1/messages", {
                "destination": f"lxmf:{carol.address}", "body": text, "attributes": {"method": "propagated"}})
            self.assertEqual(answer.status, 202, answer)
            alice.client.wait_for(answer.json()["id"], "delivered")
        node.daemon.kill()
        node.start()
        carol.start()
        done = self.run_program("lxmf", "sync", node.node, "--url", carol.daemon.url)
        self.assertEqual(done.returncode, 0, done)
        carol.client.wait_for(done.stdout.strip(), "delivered")
        carol.read()
        self.assertEqual(set(carol.inbox), texts | {"to know each other"})
        for side in (node, alice, carol):
            side.client.conservation()

    def test_kill_9_loses_and_doubles_nothing(self):
        draw = random.Random(SEED)
        alice, bob = self.two()
        sides, number, expected = (alice, bob), 0, {alice.name: set(), bob.name: set()}
        for _ in range(ROUNDS):
            for sender, receiver in ((alice, bob), (bob, alice)):
                for _ in range(draw.randrange(1, 5)):
                    number += 1
                    text = f"message {number} of {sender.name} " + "x" * draw.choice((1, 200, 3000))
                    expected[receiver.name].add(text)
                    sender.submit(text, receiver, draw.choice(("opportunistic", "direct")))
            time.sleep(draw.random() * 0.3)
            for side in sides:
                side.read()
            victim = draw.choice(sides)
            victim.daemon.kill()
            time.sleep(draw.random() * 0.1)
            victim.start()

        def all_arrived():
            for side in sides:
                side.hand_over()
                side.read()
            return all(set(side.inbox) == expected[side.name] for side in sides)
        wait_until(all_arrived, "all messages in their inboxes")

        def all_ended():
            lines = [side.client.conservation() for side in sides]
            return all(line["live"] == 0 for line in lines)
        wait_until(lambda: [side.read() for side in sides] and all_ended(), "all messages ended")
        for side in sides:
            for text, ids in side.inbox.items():
                self.assertEqual(len(ids), 1, f"'{text[:40]}' was taken in twice")


if __name__ == "__main__":
    if not harness.BINARY.exists():
        sys.exit(f"there is no {harness.BINARY}: build it first")
    unittest.main()
