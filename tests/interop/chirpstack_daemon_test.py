#!/usr/bin/env python3
"""The daemon's device profile against a network server made of the official packages: commands arrive as the official
stubs read them, and events are made by the official stubs, in JSON and in protobuf.

Runs in the environment that scripts/interop makes.
"""

import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from chirpstack_grpc_test import Grpc, TOKEN  # noqa: E402
from chirpstack_api import api, integration  # noqa: E402
from google.protobuf import json_format  # noqa: E402

EUI = "0000047003333623"
READ_CREDIT = "6823363303700468010254174116"
CREDIT = bytes.fromhex("6823363303700468810854177856343334336316")
TURN_OFF = "682336330370046804076ff333333333687416"
WRITTEN = bytes.fromhex("682336330370046884005716")

CONFIG = """
[transport]
allow = ["127.0.0.0/8"]
[plugins.lorawan]
secret = "shared-with-the-server"
[plugins.lorawan.settings]
way = "chirpstack"
url = "http://127.0.0.1:PORT"
api_key = "TOKEN"
spacing = "0"
call_time_out = "2s"
air_time_out = "1s"
events = "consumer"
[destinations.consumer.settings]
url = "CONSUMER"
"""


def command(kind, correlation):
    return {"commandType": kind, "priority": 1, "pluginId": "lorawan", "networkId": 7, "correlationId": correlation,
            "device": {"type": "ELECTRICITY_METER", "externalReference": "47003333623"}}


class Daemon(Grpc):
    def setUp(self):
        super().setUp()
        self.serve()
        self.consumer = self.receiver()
        config = CONFIG.replace("PORT", str(self.port)).replace("TOKEN", TOKEN).replace("CONSUMER", self.consumer.url)
        self.client = self.daemon(config=config).wait_ready()

    def enqueue(self, kind, correlation):
        answer = self.client.post("/message/enqueue", command(kind, correlation))
        self.assertEqual(answer.status, 201, answer)
        return answer.json()

    def sent(self, count):
        """The items in the server's queue, as the official stubs read them."""
        harness.wait_until(lambda: len(self.devices.queues.get(EUI, [])) >= count, f"{count} items")
        return self.devices.queues[EUI]

    def status(self, correlation):
        return self.client.get(f"/message/{correlation}/history").json()["deliveryStatus"]

    def wait_status(self, correlation, status):
        harness.wait_until(lambda: self.status(correlation) == status, f"{correlation} {status}")

    def tell(self, name, event, protobuf):
        event.device_info.dev_eui = EUI
        if protobuf:
            body, kind = event.SerializeToString(), "application/octet-stream"
        else:
            body, kind = json_format.MessageToJson(event), "application/json"
        answer = self.client.post(f"/ingress/lorawan?event={name}", body, headers={
            "content-type": kind, "x-postrider-secret": "shared-with-the-server"})
        self.assertEqual(answer.status, 204, answer)

    def ends(self):
        bodies = [harness.json.loads(request.body) for request in self.consumer.requests]
        return [body["message"] for body in bodies if body["message"]["deliveryStatus"].startswith("DELIVERY")]

    def deliver(self, kind, data, answer, protobuf):
        self.enqueue(kind, "c1")
        item = self.sent(1)[0]
        self.assertEqual((item.dev_eui, item.f_port, item.confirmed, item.data.hex()), (EUI, 1, True, data))
        self.assertTrue(item.HasField("expires_at"))
        self.wait_status("c1", "DELIVERED_TO_NS")
        self.tell("txack", integration.TxAckEvent(downlink_id=4711, queue_item_id=item.id), protobuf)
        self.wait_status("c1", "SENT_TO_DEVICE")
        self.tell("up", integration.UplinkEvent(deduplication_id="d1", f_port=1, data=answer), protobuf)
        self.tell("ack", integration.AckEvent(deduplication_id="d1", queue_item_id=item.id, acknowledged=True), protobuf)
        self.wait_status("c1", "DELIVERY_SUCCESSFUL")
        harness.wait_until(self.ends, "the event of the end")
        self.assertEqual(len(self.devices.ran), 1)
        return self.ends()[0]

    # req: device.wire.7, device.wire.8, device.send.2, device.send.3
    def test_a_read_in_json(self):
        end = self.deliver("READ_CREDIT", READ_CREDIT, CREDIT, protobuf=False)
        self.assertEqual((end["outcome"], end["response"]["data"]), ("executed", 123.45))

    # req: device.wire.7, device.wire.8
    def test_an_act_in_protobuf(self):
        end = self.deliver("TURN_OFF", TURN_OFF, WRITTEN, protobuf=True)
        self.assertEqual((end["outcome"], end["mayHaveRun"]), ("executed", True))

    # req: device.ack.5
    def test_a_negative_acknowledgement_is_tried_again(self):
        self.enqueue("READ_CREDIT", "c1")
        first = self.sent(1)[0]
        self.wait_status("c1", "DELIVERED_TO_NS")
        self.tell("ack", integration.AckEvent(queue_item_id=first.id, acknowledged=False), False)
        self.sent(2)

    # req: device.poll.9, device.crash.3
    def test_a_lost_reply_is_adopted_and_not_sent_again(self):
        self.devices.delay = 4  # longer than our patience: the act is taken, and we do not hear of it
        self.enqueue("TURN_OFF", "c1")
        self.wait_status("c1", "DELIVERED_TO_NS")
        self.assertEqual(len(self.devices.ran), 1)
        item = self.sent(1)[0]
        self.tell("txack", integration.TxAckEvent(queue_item_id=item.id), False)
        self.wait_status("c1", "SENT_TO_DEVICE")


del Grpc  # its own tests run by themselves
if __name__ == "__main__":
    unittest.main()
