#!/usr/bin/env python3
"""Our gRPC transport against a network server made of the official packages `grpcio` and `chirpstack-api`.

Runs in the environment that scripts/interop makes.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import grpc  # noqa: E402
from chirpstack_api import api  # noqa: E402
from google.protobuf import empty_pb2  # noqa: E402

CALLER = pathlib.Path(os.environ.get("POSTRIDER_GRPC_CALL", harness.ROOT / "build/release/tests/grpc_call"))
TOKEN = "a.jwt.token"
# The sample of the interface description: devEui 0000047003333623, port 1, confirmed, data 6801.
SAMPLE = "0a1a121030303030303437303033333333363233180120012a026801"


class Devices(api.DeviceServiceServicer):
    """A device service that keeps its queues in memory, checks as the real one does, and notes what it ran."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ran = []
        self.queues = {}
        self.time_left = []
        self.delay = 0

    def enter(self, context):
        if dict(context.invocation_metadata()).get("authorization") != f"Bearer {TOKEN}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "")

    def Enqueue(self, request, context):
        self.enter(context)
        item = request.queue_item
        self.time_left.append(context.time_remaining())
        if not 1 <= item.f_port <= 255:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "f_port must be 1 to 255: 100 % sicher,\nGrüße")
        if item.dev_eui == "0" * 16:
            context.abort(grpc.StatusCode.NOT_FOUND, f"object does not exist (id: {item.dev_eui})")
        time.sleep(self.delay)
        with self.lock:
            self.ran.append(bytes(item.data))
            item.id = f"id-{len(self.ran)}"
            self.queues.setdefault(item.dev_eui, []).append(item)
        return api.EnqueueDeviceQueueItemResponse(id=item.id)

    def GetQueue(self, request, context):
        self.enter(context)
        items = self.queues.get(request.dev_eui, [])
        return api.GetDeviceQueueItemsResponse(total_count=len(items), result=items)

    def FlushQueue(self, request, context):
        self.enter(context)
        self.queues.pop(request.dev_eui, None)
        return empty_pb2.Empty()


class Ended:
    def __init__(self, line):
        self.end, status, body, self.message = line.split(" ", 3)
        self.status, self.body = int(status), bytes.fromhex("" if body == "-" else body)


def item(data=b"\x68\x01", eui="0000047003333623", port=1):
    return api.EnqueueDeviceQueueItemRequest(
        queue_item=api.DeviceQueueItem(dev_eui=eui, confirmed=True, f_port=port, data=data))


class Grpc(harness.Case):
    def serve(self, *options, credentials=None, **more):
        self.devices = Devices()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=16), options=options, **more)
        api.add_DeviceServiceServicer_to_server(self.devices, self.server)
        if credentials:
            self.port = self.server.add_secure_port("127.0.0.1:0", credentials)
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        self.addCleanup(lambda: self.server.stop(0).wait())

    def call(self, calls, *options, scheme="http", host="127.0.0.1", token=TOKEN, time_out=20_000):
        """[(method, message)] -> what became of each, and how many connections were made."""
        lines = []
        for method, message in calls:
            body = message if isinstance(message, bytes) else message.SerializeToString()
            lines.append(f"{scheme}://{host}:{self.port}/api.DeviceService/{method} {token} {time_out} {body.hex() or '-'}\n")
        done = subprocess.run([CALLER, *options], input="".join(lines), capture_output=True, text=True,
                              timeout=harness.PATIENCE, check=True)
        *ends, last = done.stdout.splitlines()
        self.assertEqual(len(ends), len(calls), done.stdout)
        return [Ended(line) for line in ends], int(last.removeprefix("connections "))

    def one(self, method, message, **more):
        return self.call([(method, message)], **more)[0][0]

    # req: daemon.grpc.14, daemon.grpc.1
    def test_the_sample_bytes_mean_what_the_official_stubs_say(self):
        self.assertEqual(item().SerializeToString().hex(), SAMPLE)
        self.serve()
        ended = self.one("Enqueue", bytes.fromhex(SAMPLE))
        self.assertEqual((ended.end, ended.status), ("answered", 0))
        self.assertEqual(api.EnqueueDeviceQueueItemResponse.FromString(ended.body).id, "id-1")
        got = self.devices.queues["0000047003333623"][0]
        self.assertEqual((got.f_port, got.confirmed, got.data), (1, True, b"\x68\x01"))
        self.assertTrue(10 < self.devices.time_left[0] <= 20, self.devices.time_left)
        queue = api.GetDeviceQueueItemsResponse.FromString(
            self.one("GetQueue", api.GetDeviceQueueItemsRequest(dev_eui="0000047003333623")).body)
        self.assertEqual((queue.total_count, queue.result[0].id), (1, "id-1"))
        flushed = self.one("FlushQueue", api.FlushDeviceQueueRequest(dev_eui="0000047003333623"))
        self.assertEqual((flushed.end, flushed.status, flushed.body), ("answered", 0, b""))

    # req: daemon.grpc.14, daemon.grpc.4, daemon.grpc.5
    def test_refusals_come_as_answers(self):
        self.serve()
        ends, connections = self.call([("Enqueue", item(port=0)), ("Enqueue", item(eui="0" * 16)),
                                       ("Enqueue", b"\xff\xff"), ("NoSuchMethod", b"")])
        self.assertEqual([(each.end, each.status) for each in ends],
                         [("answered", 3), ("answered", 5), ("answered", 13), ("answered", 12)])
        self.assertEqual(ends[0].message, "f_port must be 1 to 255: 100 % sicher, Grüße")
        self.assertIn("0" * 16, ends[1].message)
        self.assertEqual(connections, 1)
        for token in ("-", "wrong"):
            ended = self.one("Enqueue", item(), token=token)
            self.assertEqual((ended.end, ended.status, ended.message), ("answered", 16, ""))
        self.assertEqual(self.devices.ran, [])

    # req: daemon.grpc.14, daemon.grpc.3
    def test_the_deadline_is_kept_by_both_sides(self):
        self.serve()
        self.devices.delay = 1
        ended = self.one("Enqueue", item(), time_out=200)
        # Whoever notices first: both know the same deadline.
        self.assertIn((ended.end, ended.status), (("timed-out", 0), ("answered", 4)))
        self.assertLessEqual(self.devices.time_left[0], 0.2)

    # req: daemon.grpc.14, daemon.grpc.2
    def test_many_calls_share_one_connection(self):
        self.serve()
        sent = [str(n).encode() for n in range(1000)]
        ends, connections = self.call([("Enqueue", item(data)) for data in sent], "--together")
        self.assertEqual({(each.end, each.status) for each in ends}, {("answered", 0)})
        self.assertEqual(sorted(self.devices.ran), sorted(sent))
        self.assertEqual(len({api.EnqueueDeviceQueueItemResponse.FromString(each.body).id for each in ends}), 1000)
        self.assertEqual(connections, 1)

    # req: daemon.grpc.14, daemon.grpc.2, daemon.grpc.6
    def test_a_server_with_few_streams_refuses_what_it_has_not_run(self):
        # The official library counts a call until it is torn down, and so refuses below its own limit; what it refuses
        # was not sent.
        self.serve(("grpc.max_concurrent_streams", 7))
        sent = [str(n).encode() for n in range(1000)]
        ends, connections = self.call([("Enqueue", item(data)) for data in sent], "--together")
        self.compare(sent, ends)
        self.assertEqual({each.end for each in ends} | {"refused"}, {"answered", "refused"})
        self.assertEqual(connections, 1)

    # req: daemon.grpc.14, daemon.grpc.9
    def test_large_messages_pass(self):
        for compression in (None, grpc.Compression.Gzip):
            self.serve(compression=compression)
            data = os.urandom(300_000)
            ends, _ = self.call([("Enqueue", item(data)), ("GetQueue", api.GetDeviceQueueItemsRequest(dev_eui=item().queue_item.dev_eui))])
            self.assertEqual([(each.end, each.status) for each in ends], [("answered", 0)] * 2)
            self.assertEqual(api.GetDeviceQueueItemsResponse.FromString(ends[1].body).result[0].data, data)

    # req: daemon.grpc.14, daemon.grpc.6, daemon.grpc.11
    def test_a_server_that_sends_its_clients_away_loses_and_doubles_nothing(self):
        self.serve(("grpc.max_connection_age_ms", 30), ("grpc.max_connection_age_grace_ms", 5000))
        self.devices.delay = 0.002
        sent = [str(n).encode() for n in range(3000)]
        ends, connections = self.call([("Enqueue", item(data)) for data in sent], "--together", "--streams", "20")
        self.assertGreater(connections, 3)
        self.compare(sent, ends)
        self.assertGreater(sum(each.end == "answered" for each in ends), 2900)

    # req: daemon.grpc.14, daemon.grpc.6, daemon.grpc.7
    def test_a_server_that_cuts_its_clients_off_leaves_no_wrong_certainty(self):
        self.serve(("grpc.max_connection_age_ms", 30), ("grpc.max_connection_age_grace_ms", 1))
        self.devices.delay = 0.005
        sent = [str(n).encode() for n in range(1000)]
        ends, _ = self.call([("Enqueue", item(data)) for data in sent], "--together", "--streams", "20")
        self.server.stop(5).wait()
        self.compare(sent, ends)
        self.assertNotEqual({(each.end, each.status) for each in ends}, {("answered", 0)})

    def compare(self, sent, ends):
        """Answered has run, refused has not run, and nothing has run twice."""
        self.assertEqual(len(self.devices.ran), len(set(self.devices.ran)))
        ran = set(self.devices.ran)
        for data, each in zip(sent, ends):
            if each.end == "answered" and each.status == 14:
                # "max connection age": the library says so of calls that have run, too. An answer, but no proof.
                self.assertEqual(each.message, "max connection age")
            elif each.end == "answered":
                self.assertEqual((each.status, data in ran), (0, True), each.message)
            elif each.end == "refused":
                self.assertNotIn(data, ran)
            else:
                self.assertEqual(each.end, "reset")

    # req: daemon.grpc.14, daemon.grpc.6
    def test_a_server_that_is_gone_was_sent_nothing(self):
        self.serve()
        self.server.stop(0).wait()
        self.assertEqual(self.one("Enqueue", item()).end, "refused")

    # req: daemon.grpc.14, daemon.grpc.13
    def test_tls(self):
        authority = harness.Authority(self.directory)
        authority.sign("server", "IP:127.0.0.1")
        self.serve(credentials=grpc.ssl_server_credentials(
            [((self.directory / "server.key").read_bytes(), (self.directory / "server.crt").read_bytes())]))
        trusted = self.call([("Enqueue", item())], "--trust", authority.file, scheme="https")[0][0]
        self.assertEqual((trusted.end, trusted.status), ("answered", 0))
        self.assertEqual(self.one("Enqueue", item(), scheme="https").end, "no-tls")
        self.assertEqual(self.one("Enqueue", item(), scheme="http").end, "refused")
        self.assertEqual(len(self.devices.ran), 1)


if __name__ == "__main__":
    if not CALLER.exists():
        sys.exit(f"there is no {CALLER}; build it, or set POSTRIDER_GRPC_CALL")
    unittest.main(verbosity=2)
