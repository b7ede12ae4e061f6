#!/usr/bin/env python3
"""Commands for meters through a real daemon: the public contract, a vendor of our own, restarts, the command line."""

import json
import signal
import threading

import harness
from harness import wait_until

CONFIG = """
[transport]
allow = ["127.0.0.0/8"]
[plugins.calin]
[plugins.calin.settings]
way = "calin-v1"
url = "URL"
company = "c"
user = "u"
password = "pLaNtEd-password"
poll_first = "100ms"
poll_waits = ["100ms", "100ms", "100ms", "100ms"]
EVENTS
[plugins.lorawan]
secret = "pLaNtEd-ingress"
[plugins.lorawan.settings]
way = "chirpstack"
url = "http://127.0.0.1:1"
[destinations.consumer.settings]
url = "URL/events"
"""
UP = {"deduplicationId": "d1", "deviceInfo": {"devEui": "0000047003333623"}, "fPort": 1, "data": "aAE="}


def command(kind="READ_CREDIT", correlation=None, plugin="calin", **more):
    body = {"commandType": kind, "priority": 1, "pluginId": plugin, "networkId": None,
            "device": {"type": "ELECTRICITY_METER", "externalReference": "47003333623",
                       "relayNode": {"id": "17", "externalReference": "gw", "snr": -7.5, "rssi": -110}}, **more}
    return {**body, "correlationId": correlation} if correlation else body


class Vendor:
    """Calin, version 1. Tasks are done as soon as somebody asks, unless they are held."""

    def __init__(self):
        self.created, self.held, self.lock = [], False, threading.Lock()
        self.refuses = False  # and repeats what it was told
        self.events, self.minted, self.mute, self.slow = [], [], False, threading.Event()
        self.slow.set()

    def __call__(self, request):
        if request.path == "/events":
            with self.lock:
                self.events.append(json.loads(request.body))
            return 200, {}, b""
        body = json.loads(request.body)
        if request.path == "/POS_Purchase":
            with self.lock:
                self.minted.append(body)
            if self.mute:
                return None
            reply = {"result_code": 0, "reason": "OK", "result": {"token": "12345678901234567890"}}
            return 200, {"content-type": "application/json"}, json.dumps(reply).encode()
        self.slow.wait(harness.PATIENCE)
        if request.path.endswith("Task"):
            result = {"TaskNo": body["TaskNo"], "Status": "unknown" if self.held else "True",
                      "DataItem": "Current Credit Register", "Data": "123.45,ON"}
        else:
            with self.lock:
                self.created.append(body)
            if self.refuses:
                reply = {"ResultCode": "99", "Reason": "no " + json.dumps(body)}
                return 200, {"content-type": "application/json"}, json.dumps(reply).encode()
            result = {"TaskNo": f"T{len(self.created)}"}
        reply = json.dumps({"Result": result, "ResultCode": "00", "Reason": "OK"}).encode()
        return 200, {"content-type": "application/json"}, reply


class Device(harness.Case):
    def start(self, text=CONFIG, **more):
        config = text.replace("URL", self.far.url).replace("EVENTS", 'events = "consumer"')
        daemon = self.daemon(config=config, **more)
        return daemon, daemon.wait_ready()

    def setUp(self):
        super().setUp()
        self.vendor = Vendor()
        self.far = self.receiver(self.vendor)

    def outcome(self, client, name):
        def ended():
            answer = client.get(f"/message/{name}/history")
            return answer.json() if answer.status == 200 and "outcome" in answer.json() else None
        return wait_until(ended, f"the end of {name}")

    # req: device.api.1 device.api.4 device.api.6
    def test_a_command_runs_once_and_its_history_stays(self):
        daemon, client = self.start()
        first = client.post("/message/enqueue", command(correlation="c1"))
        self.assertEqual(first.status, 201, first)
        self.assertEqual(first.json()["deliveryStatus"], "QUEUED")
        self.assertEqual(first.json()["deliveryQueueId"], "calin.gateway:17")
        history = self.outcome(client, "c1")
        self.assertEqual(history["outcome"], "executed", history)
        self.assertEqual(history["deliveryStatus"], "DELIVERY_SUCCESSFUL")
        self.assertEqual(client.get("/message/c1").status, 404)
        again = client.post("/message/enqueue", command(correlation="c1"))
        self.assertEqual(again.status, 200, again)
        self.assertEqual(again.json()["id"], first.json()["id"])
        self.assertEqual(client.post("/message/enqueue", command("TURN_ON", "c1")).status, 409)
        self.assertEqual(len(self.vendor.created), 1)
        wait_until(lambda: len(self.vendor.events) >= 2, "two events")
        self.assertEqual({event["message"]["deliveryStatus"] for event in self.vendor.events},
                         {"SENT_TO_NS", "DELIVERY_SUCCESSFUL"})
        daemon.kill()
        _, client = self.start()
        self.assertEqual(client.get("/message/c1/history").json()["outcome"], "executed")
        self.assertEqual(client.post("/message/enqueue", command(correlation="c1")).status, 200)

    # req: device.crash.5
    def test_messages_of_a_plugin_that_is_gone_wait_for_it(self):
        self.vendor.held = True
        daemon, client = self.start()
        client.post("/message/enqueue", command(correlation="c1"))
        wait_until(lambda: client.get("/message/c1").json()["deliveryStatus"] == "DELIVERED_TO_NS", "the task")
        without = CONFIG.replace("[plugins.calin", "[plugins.other")
        daemon.config.write_text(without.replace("URL", self.far.url).replace("EVENTS", ""))
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("its plugin is not configured")
        queue = client.get("/v1/destinations/calin.gateway:17").json()
        self.assertEqual(queue["reason"], "unserved: the plugin 'calin' is not configured")
        self.assertEqual(client.get("/message/c1").status, 200)
        self.assertEqual(client.post("/message/enqueue", command()).status, 400)
        daemon.stop()
        self.vendor.held = False
        _, client = self.start()
        self.assertEqual(self.outcome(client, "c1")["outcome"], "executed")
        self.assertEqual(len(self.vendor.created), 1)

    # req: device.api.8 device.api.10
    def test_events_come_in_with_their_secret(self):
        daemon, client = self.start()
        good = {"x-postrider-secret": "pLaNtEd-ingress"}
        self.assertEqual(client.post("/ingress/lorawan?event=up", UP).status, 401)
        self.assertEqual(client.post("/ingress/lorawan?event=up", UP, headers=good).status, 204)
        self.assertEqual(client.post("/ingress/lorawan", UP, headers=good).status, 400)
        self.assertEqual(client.post("/ingress/lorawan?event=up", "{", headers=good).status, 400)
        self.assertEqual(client.post("/ingress/nobody?event=up", UP, headers=good).status, 404)
        replayed = client.post("/ingress/lorawan/replay", {"since": "2020-01-01T00:00:00Z"})
        self.assertEqual(replayed.json(), {"replayed": 1})
        self.assertEqual(client.get("/healthz").json(), {"status": "ok"})
        for said in client.seen:
            self.assertNotIn(b"pLaNtEd", said)
        self.assertNotIn("pLaNtEd", daemon.log())

    # req: device.obs.4
    def test_tokens_and_credentials_are_seen_nowhere(self):
        daemon, client = self.start("[log]\nlevel = \"debug\"\n" + CONFIG)
        token = "98765432109876543210"
        self.vendor.refuses = True
        sent = client.post("/message/enqueue", command("TOP_UP_KWH", "t1", requestData={"token": token}))
        self.assertEqual(sent.status, 201, sent)
        self.assertEqual(self.outcome(client, "t1")["outcome"], "refused")
        self.vendor.refuses, self.vendor.held = False, True
        client.post("/message/enqueue", command("TOP_UP_KWH", "t2", requestData={"token": token}))
        wait_until(lambda: client.get("/message/t2").json()["deliveryStatus"] == "DELIVERED_TO_NS", "the task")
        client.post("/message/enqueue", {**command("TOP_UP_KWH", requestData={"token": token}), "oops": token})
        self.assertEqual([body.get("Token") for body in self.vendor.created if "Token" in body], [token] * 2)
        for path in ("/message/t1/history", "/message/t2/history", "/v1/messages", "/v1/dead-letters", "/v1/stats",
                     "/v1/destinations", "/v1/destinations/calin.gateway:17", "/metrics"):
            self.assertEqual(client.get(path).status, 200, path)
        live = client.get("/v1/messages").json()["messages"]
        for message in live:
            for path in ("", "/timeline", "/explain"):
                self.assertEqual(client.get(f"/v1/messages/{message['id']}{path}").status, 200)
        self.assertEqual(len(live), 1)
        address = {"POSTRIDER_URL": daemon.url}
        said = [self.run_program(*words, environment=address).stdout
                for words in (("device", "show", "t2"), ("device", "history", "t1"), ("device", "queue"),
                              ("msg", "ls"), ("dlq", "ls"), ("top", "--once"))]
        wait_until(lambda: len(self.vendor.events) >= 3, "events")
        everything = [*client.seen, daemon.log().encode(), *(text.encode() for text in said),
                      json.dumps(self.vendor.events).encode()]
        for seen in everything:
            self.assertNotIn(token.encode(), seen)
            self.assertNotIn(token[-5:].encode(), seen, "four digits are the most")
            self.assertNotIn(b"pLaNtEd", seen)
        self.assertTrue(any(token[-4:].encode() in seen for seen in everything))

    # req: device.crash.7
    def test_on_sigterm_open_calls_end_and_nothing_new_starts(self):
        daemon, client = self.start()
        self.vendor.slow.clear()
        client.post("/message/enqueue", command(correlation="c1"))
        wait_until(lambda: len(self.far.requests) >= 1, "the create call")
        daemon.signal(signal.SIGTERM)
        daemon.wait_for_log("stopping")
        self.vendor.slow.set()
        self.assertEqual(daemon.process.wait(harness.PATIENCE), 0)
        self.assertEqual(len(self.vendor.created), 1)
        _, client = self.start()
        self.assertEqual(self.outcome(client, "c1")["outcome"], "executed")
        self.assertEqual(len(self.vendor.created), 1, "what was accepted is not sent again")

    def test_a_token_is_made_once_and_a_lost_one_is_told_as_such(self):
        daemon, client = self.start()
        wanted = {"type": "TOP_UP_KWH", "pluginId": "calin", "issueDateString": "2026-08-12T14:30:00Z",
                  "device": {"externalReference": "47003333623"}, "payload": {"kwh": 5}}
        key = {"idempotency-key": "mint-1"}
        for _ in range(2):
            made = client.post("/token/generate", wanted, headers=key)
            self.assertEqual((made.status, made.json()), (200, {"token": "12345678901234567890"}), made)
        self.assertEqual(len(self.vendor.minted), 1)
        self.vendor.mute = True
        lost = client.post("/token/generate", wanted)
        self.assertEqual(lost.status, 502, lost)
        self.assertIn("nobody can tell whether the token was made", lost.json()["error"])
        self.assertEqual(len(self.vendor.minted), 2)
        self.assertEqual(client.post("/token/generate", {**wanted, "pluginId": "nobody"}).status, 400)
        self.assertEqual(client.post("/token/generate", {**wanted, "kind": "x"}).status, 400)
        self.assertNotIn("12345678901234567890", daemon.log())

    # req: cli.device.1 cli.device.2 cli.device.3 cli.device.4 cli.device.5
    def test_the_command_line(self):
        daemon, _ = self.start()
        address = {"POSTRIDER_URL": daemon.url}
        where = ("--plugin", "calin", "--gateway", "17")

        def run(*words, code=0):
            done = self.run_program("device", *words, environment=address)
            self.assertEqual(done.returncode, code, done)
            return done.stdout
        self.assertIn("executed", run("send", "read-credit", "47003333623", *where, "--wait"))
        self.vendor.held = True
        ids = [run("send", "turn-on", "47003333623", *where, "--correlation", name).strip() for name in ("a", "b")]
        wait_until(lambda: "DELIVERED_TO_NS" in run("show", "a"), "the task of a")
        self.assertIn("device", run("show", "b"))
        self.assertIn(ids[0], run("history", "a"))
        self.assertEqual(run("cancel", "a", ids[1], "nobody", code=1),
                         f"a: NOT_CANCELLABLE\n{ids[1]}: CANCELLED\nnobody: NOT_FOUND\n")
        queues = json.loads(run("queue", "calin.gateway:17", "--json"))["queues"]
        self.assertEqual((queues[0]["depth"], queues[0]["in_flight"]), (1, 1), queues)
        self.assertIn("calin.gateway:17", run("queue"))
        live = self.run_program("profile", "show", "device", "--live", environment=address)
        self.assertIn("1 message lives", live.stdout)


if __name__ == "__main__":
    harness.main()
