#!/usr/bin/env python3
"""The host API of the matrix profile, with two `sink matrix` as servers."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
import matrix_rounds_test as rounds  # noqa: E402


def event(room, text):
    return {"auth_events": [], "content": {"body": text}, "depth": 7, "hashes": {"sha256": text}, "origin_server_ts": 1,
            "prev_events": ["$p"], "room_id": f"!{room}:{rounds.NAME}", "sender": f"@u:{rounds.NAME}",
            "type": "m.room.message"}


class MatrixHost(rounds.MatrixRounds):
    SETTINGS = 'tries = 1\ntime_out = "5s"\ninterval_first = "10m"'

    # Only the set-up is shared.
    test_every_item_is_applied_once_and_in_order_however_often_the_daemon_is_killed = None
    test_a_daemon_that_never_syncs_is_noticed = None

    def setUp(self):
        super().setUp()
        self.postrider = self.begin("files")
        self.client = self.postrider.wait_ready()

    # req: matrix.fan.7
    def test_a_hundred_events_of_a_call_keep_the_order_of_their_rooms_everywhere(self):
        for sink in self.sinks[:2]:
            sink.ask("POST", "/faults", {"slow_ms": 30, "fail": 100})
        answered = []
        for call in range(3):
            events = [event(f"r{number % 3}", f"{call}-{number}") for number in range(100)]
            answer = self.client.post("/v1/matrix/events", {"events": [
                {"event": one, "servers": [sink.name for sink in self.sinks[:2]]} for one in events]})
            self.assertEqual(answer.status, 202, answer)
            answered += [(row["event_id"], one["room_id"]) for row, one in zip(answer.json()["events"], events)]
            for sink in self.sinks[:2]:  # behind the first call both servers are away
                sink.ask("POST", "/faults", {"fail": 0 if call == 2 else 100})
        for sink in self.sinks[:2]:
            self.assertEqual(self.client.post(f"/v1/matrix/seen/{sink.name}").status, 204)
        harness.wait_until(lambda: self.client.conservation()["live"] == 0, "the end of everything")
        for sink in self.sinks[:2]:
            applied = sink.ask("GET", "/applied")
            for number in range(3):
                room = f"!r{number}:{rounds.NAME}"
                self.assertEqual([item["id"] for item in applied if item["room"] == room],
                                 [name for name, where in answered if where == room])
        self.assertEqual(self.client.post("/v1/matrix/events", {"events": [
            {"event": event("r", str(number)), "servers": []} for number in range(101)]}).status, 400)

    # req: matrix.host.2, matrix.obs.4
    def test_units_of_the_host_arrive_and_an_event_can_be_asked_for(self):
        near, far = self.sinks[:2]
        far.ask("POST", "/faults", {"fail": 100})
        answer = self.client.post("/v1/matrix/events", {"events": [
            {"event": event("r", "one"), "servers": [near.name, far.name]},
            {"event": event("s", "two"), "servers": [far.name]}]})
        self.assertEqual(answer.status, 202, answer)
        first, second = (row["event_id"] for row in answer.json()["events"])
        units = self.client.post("/v1/matrix/edus", {"edus": [
            {"edu": {"edu_type": "m.direct_to_device", "content": {
                "message_id": "m1", "sender": f"@u:{rounds.NAME}", "type": "t",
                "messages": {f"@v:{near.name}": {"*": {}}}}}, "servers": [near.name]},
            {"edu": {"edu_type": "m.presence", "content": {"push": [
                {"user_id": f"@u:{rounds.NAME}", "presence": "online"}]}}, "servers": [near.name, far.name]}]})
        self.assertEqual(units.status, 202, units)
        self.assertEqual([row["values"] for row in units.json()["edus"]], [1, 1])

        def copies():
            told = self.client.get(f"/v1/matrix/events/{first}").json()
            return {row["server"]: row["state"] for row in told["servers"]}

        harness.wait_until(lambda: copies() == {near.name: "delivered", far.name: "owed"}, "the first event at one server")
        harness.wait_until(lambda: len(near.ask("GET", "/applied")) == 2, "the event and the message to devices")
        server = f"/v1/destinations/matrix:{far.name}"
        harness.wait_until(lambda: self.client.get(server).json().get("closed_until"), "the back-off of the other")

        def run(*words):
            return self.run_program("matrix", *words, "--url", self.postrider.url)

        rooms = run("rooms", far.name)
        self.assertEqual(rooms.returncode, 0, rooms.stderr)
        self.assertEqual([line.split()[:2] for line in rooms.stdout.splitlines()[1:]],
                         [[f"!r:{rounds.NAME}", "1"], [f"!s:{rounds.NAME}", "1"]])
        self.assertIn("owed", run("event", second).stdout)
        self.assertEqual(run("event", "$nobody").returncode, 1)
        self.assert_fails(run("event", "nobody"), 1, "begins with $")
        self.assert_fails(run("rooms", "nobody.example"), 1, "there is no destination")
        far.ask("POST", "/faults", {"fail": 0})
        self.assertEqual(run("reset", far.name).returncode, 0)
        harness.wait_until(lambda: copies() == {near.name: "delivered", far.name: "delivered"}, "the first event at both")
        harness.wait_until(lambda: "is owed no events" in run("rooms", far.name).stdout, "empty rooms")


if __name__ == "__main__":
    unittest.main(verbosity=2)
