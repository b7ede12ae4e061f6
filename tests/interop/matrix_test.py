#!/usr/bin/env python3
"""The matrix profile between two real Synapses on loopback. A hands its outbound federation to the daemon's egress; B is
a server like any other. Users, rooms and messages by the client API alone.

Runs in the environment that scripts/interop makes; POSTRIDER_SYNAPSE_PYTHON has the package matrix-synapse.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import homeserver  # noqa: E402

harness.PATIENCE = float(os.environ.get("POSTRIDER_PATIENCE", "240"))
SECRET = "a replication secret of a test"

CONFIG = """
[transport]
allow = ["127.0.0.0/8", "::1/128"]
trust_file = "{authority}"
[matrix]
server_name = "{name}"
egress = "127.0.0.1:{egress}"
secret_file = "{directory}/replication.secret"
trust_file = "{authority}"
[secrets]
matrix-key = "{directory}/signing.key"
[destinations."matrix:*"]
profile = "matrix"
[destinations."matrix:*".settings]
server_name = "{name}"
key = "matrix-key"
{more}
"""


class TwoServers(harness.Case):
    SETTINGS = ""
    PROXIED = False  # a proxy stands in front of A

    def setUp(self):
        super().setUp()
        self.authority = authority = harness.Authority(self.directory / "ca")
        self.egress = homeserver.free_port()
        self.a = homeserver.Homeserver(self.directory, authority, "a", egress=self.egress, secret=SECRET,
                                       proxied=self.PROXIED)
        self.b = homeserver.Homeserver(self.directory, authority, "b")
        self.config = CONFIG.format(authority=authority.file, name=self.a.name, egress=self.egress,
                                    directory=self.directory, more=self.SETTINGS)
        for name, source in (("signing.key", self.a.directory / "signing.key"), ("replication.secret", None)):
            path = self.directory / name
            if source:
                shutil.copy(source, path)
            else:
                path.write_text(SECRET)
            path.chmod(0o600)
        self.addCleanup(self.a.stop)
        self.addCleanup(self.b.stop)
        self.begin()
        self.a.start()
        self.b.start()
        self.alice, self.bob = homeserver.User(self.a, "alice"), homeserver.User(self.b, "bob")

    def begin(self):
        """Starts the daemon on the store that is there."""
        self.postrider = self.daemon(config=self.config)
        self.client = self.postrider.wait_ready()

    def shared_rooms(self, count):
        """Rooms of B that A's user joined, through the relay."""
        rooms = [self.bob.create_room(f"room {i}") for i in range(count)]
        for room in rooms:
            self.alice.join(room, self.b.name)
        return rooms

    def wait_for_sync(self, question, what):
        def asked():
            self.bob.sync()
            return question()
        harness.wait_until(asked, what)

    def hand_over(self, transaction, **content):
        """A transaction at the egress, as Synapse writes it."""
        body = json.dumps({"origin": self.a.name, "origin_server_ts": 1, "pdus": [], **content})
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.egress, timeout=60)) as connection:
            connection.putrequest("PUT", f"matrix-federation://{self.b.name}/_matrix/federation/v1/send/{transaction}",
                                  skip_host=True)
            for name, value in {"Host": self.b.name, "Proxy-Authorization": f"Bearer {SECRET}",
                                "Content-Type": "application/json", "Content-Length": str(len(body)),
                                "Connection": "close"}.items():
                connection.putheader(name, value)
            connection.endheaders(body.encode())
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def health(self):
        return self.client.get(f"/v1/destinations/matrix:{self.b.name}").json()["health"]

    def metric(self, name):
        for line in self.client.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return 0.0


class Federation(TwoServers):
    # req: matrix.egress.2, matrix.egress.4, matrix.edu.2, matrix.edu.5
    def test_everything_that_a_user_does_is_seen_at_the_other_server(self):
        room, = self.shared_rooms(1)
        event = self.alice.say(room, "hello")
        harness.wait_until(lambda: self.bob.texts(room) == ["hello"], "the message at B")
        self.alice.send_to_device(self.bob.id, {"n": 1})
        self.wait_for_sync(lambda: self.bob.to_device == [{"n": 1}], "the message to devices at B")
        self.alice.type_in(room)
        self.wait_for_sync(lambda: self.alice.id in self.bob.typing.get(room, []), "typing at B")
        answered = self.bob.say(room, "hello yourself")
        harness.wait_until(lambda: len(self.alice.texts(room)) == 2, "the answer at A")
        self.alice.read(room, answered)
        self.wait_for_sync(lambda: any(self.alice.id in kinds.get("m.read", {}) for receipt in self.bob.receipts
                                       for kinds in receipt.values()), "the receipt at B")
        self.alice.be("online", "testing")
        self.wait_for_sync(lambda: self.bob.presence.get(self.alice.id, {}).get("status_msg") == "testing",
                           "presence at B")
        self.assertTrue(event.startswith("$"))
        line = self.client.conservation()
        self.assertEqual(line["dead"], 0, line)
        self.assertGreater(self.metric("postrider_matrix_relays_answered_total"), 0)

    # req: matrix.re.1, matrix.re.5, matrix.cu.11
    def test_an_outage_and_two_crashes_lose_nothing_and_double_nothing(self):
        rooms = self.shared_rooms(5)
        self.alice.send_to_device(self.bob.id, {"n": -1})
        self.wait_for_sync(lambda: self.bob.to_device == [{"n": -1}], "B before its outage")
        self.b.stop()
        began = time.monotonic()
        for n in range(300):
            self.alice.say(rooms[n % 5], f"message {n}")
            if n % 15 == 0:
                self.alice.send_to_device(self.bob.id, {"n": n // 15})
            if n in (100, 200):
                self.postrider.kill()
                self.begin()
        said = time.monotonic()
        self.b.start()
        for index, room in enumerate(rooms):
            want = [f"message {n}" for n in range(index, 300, 5)]
            try:
                harness.wait_until(lambda room=room, want=want: len(self.bob.texts(room)) >= len(want),
                                   f"all of room {index} at B")
            except AssertionError as error:
                print(self.client.get(f"/v1/destinations/matrix:{self.b.name}").body.decode())
                print(self.client.get("/v1/stats").body.decode()[:1500])
                raise AssertionError(f"{error}: {len(self.bob.texts(room))}") from None
            self.assertEqual(self.bob.texts(room), want)
        self.wait_for_sync(lambda: len(self.bob.to_device) >= 21, "the messages to devices")
        self.assertEqual(self.bob.to_device, [{"n": n} for n in range(-1, 20)])
        self.assertNotIn("get_missing_events", self.a.log())
        harness.wait_until(lambda: self.client.conservation()["live"] == 0, "an empty queue")
        self.assertEqual(self.client.conservation()["dead"], 0)
        print(f"300 messages and 20 to devices said in {said - began:.1f} s, at B {time.monotonic() - said:.1f} s after "
              f"its start began")


class Poison(TwoServers):
    # req: matrix.txn.12, matrix.txn.14
    def test_one_item_that_the_server_fails_at_is_a_dead_letter_and_the_others_arrive(self):
        self.alice.send_to_device(self.bob.id, {"n": -1})
        self.wait_for_sync(lambda: self.bob.to_device == [{"n": -1}], "a first message to devices")

        def unit(n, message):
            return {"edu_type": "m.direct_to_device", "content": {
                "sender": self.alice.id, "type": "test.kind", "message_id": f"m{n}",
                "messages": {self.bob.id: {"*": message}}}}
        units = [unit(n, "a text" if n == 57 else {"n": n}) for n in range(100)]
        status, answer = self.hand_over("poison", edus=units)
        self.assertEqual((status, answer), (200, {"pdus": {}}))
        harness.wait_until(lambda: self.client.conservation()["dead"] == 1, "the dead letter")
        self.wait_for_sync(lambda: len(self.bob.to_device) >= 100, "the others")
        self.assertEqual(sorted(item["n"] for item in self.bob.to_device),
                         sorted([-1, *[n for n in range(100) if n != 57]]))
        letters = self.client.get("/v1/dead-letters").json()
        self.assertIn("HTTP 500", json.dumps(letters))
        harness.wait_until(lambda: self.client.conservation()["live"] == 0, "an empty queue")
        failed = self.b.log().count("Error handing EDU")
        print(f"1 of 100 items is a dead letter; B failed at {failed} requests")

    # req: matrix.egress.3
    def test_the_same_transaction_again_adds_nothing(self):
        unit = {"edu_type": "m.direct_to_device", "content": {
            "sender": self.alice.id, "type": "test.kind", "message_id": "once", "messages": {self.bob.id: {"*": {"n": 1}}}}}
        self.assertEqual(self.hand_over("same", edus=[unit])[0], 200)
        self.assertEqual(self.hand_over("same", edus=[unit])[0], 200)
        self.assertEqual(self.hand_over("same", edus=[unit, unit])[0], 400)
        self.wait_for_sync(lambda: self.bob.to_device == [{"n": 1}], "the one message to devices")
        self.assertEqual(self.client.conservation()["accepted"], 1)


class SignOfLife(TwoServers):
    SETTINGS = 'tries = 1\ninterval_first = "10m"'

    # req: matrix.wake.3, matrix.wake.7, matrix.seen.2, matrix.seen.3
    def test_a_signed_request_of_a_server_that_backs_off_starts_sending(self):
        room, = self.shared_rooms(1)
        self.alice.say(room, "before")
        harness.wait_until(lambda: self.bob.texts(room) == ["before"], "B before its outage")
        self.b.stop()
        self.alice.say(room, "meanwhile")
        harness.wait_until(lambda: self.health() == "wait", "the back-off")
        self.b.start()
        uri = "/_matrix/federation/v1/version"

        def mirror(authorization):
            return self.client.ask("POST", "/v1/matrix/inbound", headers={
                "authorization": authorization, "x-original-method": "GET", "x-original-uri": uri}).status
        self.assertEqual(mirror(self.b.signed("GET", uri, self.a.name, key=self.a.directory / "signing.key")), 401)
        self.assertEqual(mirror(self.b.signed("GET", uri, "other.example")), 401)
        self.assertEqual(self.health(), "wait")
        good = self.b.signed("GET", uri, self.a.name)
        began = time.monotonic()
        self.assertEqual(mirror(good), 204)
        harness.wait_until(lambda: self.client.conservation()["live"] == 0, "the end of what waited")
        print(f"delivered {1000 * (time.monotonic() - began):.0f} ms after the signed request")
        harness.wait_until(lambda: self.bob.texts(room) == ["before", "meanwhile"], "the message at B")


if __name__ == "__main__":
    unittest.main(verbosity=2)
