#!/usr/bin/env python3
"""Tests of postrider_rpc.py against the page of the wire and a server of a few lines on loopback."""

import pathlib
import re
import socket
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import postrider_rpc as rpc  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "rpc-wire.md"
SESSION, KEYS = bytes(16), [bytes([n]) * 32 for n in range(8)]
PATIENCE = 20.0
BACKGROUND = []  # what a thread of a session raised
threading.excepthook = lambda problem: BACKGROUND.append(problem.exc_value)


def examples():
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]+) \| .* \| ([0-9a-f]+) \|$", text[text.index("## Examples"):], re.M)
    return [(name, bytes.fromhex(data)) for name, data in rows]


class Frames(unittest.TestCase):
    def test_examples_of_the_page_are_read_and_written(self):
        self.assertEqual(len(examples()), 18)
        for name, data in examples():
            frame = rpc.decode(data[4:])
            self.assertEqual(frame["type"], getattr(rpc, name))
            self.assertEqual(rpc.encode(frame), data)
        self.assertEqual({frame[4] for _, frame in examples()}, set(range(1, 15)))

    def test_every_cut_and_every_longer_body_is_refused(self):
        for name, data in examples():
            for size in range(len(data) - 4):
                with self.assertRaises(rpc.BadFrame, msg=f"{name} {size}"):
                    rpc.decode(data[4:4 + size])
            with self.assertRaises(rpc.BadFrame):
                rpc.decode(data[4:] + b"\0")

    def test_every_flipped_bit_is_read_or_refused(self):
        for _, data in examples():
            for bit in range(8 * (len(data) - 4)):
                damaged = bytearray(data[4:])
                damaged[bit // 8] ^= 1 << bit % 8
                try:
                    self.assertEqual(rpc.encode(rpc.decode(bytes(damaged)))[4:], bytes(damaged))
                except rpc.BadFrame:
                    pass
                except AssertionError:
                    # Bytes that are no UTF-8 are shown replaced.
                    self.assertIn("\ufffd", str(rpc.decode(bytes(damaged))))

    def test_lengths_have_bounds(self):
        for length, code in ((0, rpc.MALFORMED), (rpc.FRAME_MAX + 1, rpc.TOO_LONG)):
            with self.assertRaises(rpc.BadFrame) as caught:
                rpc.check_length(length, rpc.FRAME_MAX)
            self.assertEqual(caught.exception.code, code)
        rpc.check_length(rpc.FRAME_MAX, rpc.FRAME_MAX)

    def test_unknown_types_and_versions_have_codes_of_their_own(self):
        hello = bytearray(examples()[0][1][4:])
        hello[6] = 2
        for payload, code in ((b"\x0f", rpc.UNKNOWN_TYPE), (b"\x00", rpc.UNKNOWN_TYPE), (bytes(hello), rpc.BAD_VERSION)):
            with self.assertRaises(rpc.BadFrame) as caught:
                rpc.decode(payload)
            self.assertEqual(caught.exception.code, code)


class Peer:
    """The other side, written by the test frame by frame."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.lines = []
        self.epoch = 5

    def connect(self):
        return socket.create_connection(self.listener.getsockname(), timeout=PATIENCE)

    def accept(self):
        connected, _ = self.listener.accept()
        connected.settimeout(PATIENCE)
        self.lines.append(rpc.Line(connected))
        return self.lines[-1], self.lines[-1].receive()

    def welcome(self, line, verdict, generation, **changes):
        line.send(**{"type": rpc.WELCOME, "version": 1, "verdict": verdict, "session": SESSION,
                     "generation": generation, "key": KEYS[generation], "epoch": self.epoch,
                     "frame_bytes_max": 1 << 20, "arguments_bytes_max": 1000, "calls_max": 3, "ping_ms": 0, **changes})
        ping = line.receive()  # the first frame of the generation
        assert ping["type"] == rpc.PING, ping
        line.send(type=rpc.PONG, nonce=ping["nonce"])

    def outcome(self, line, number, kind, body=b"", origin=1, **changes):
        line.send(**{"type": rpc.OUTCOME, "number": number, "kind": kind, "origin": origin, "status": 0,
                     "retry_ms": 0, "content_type": "", "body": body, **changes})

    def close(self):
        for line in self.lines:
            line.close()
        self.listener.close()


class Attached(unittest.TestCase):
    def setUp(self):
        self.peer = Peer()
        self.session = rpc.Session(connect=self.peer.connect, token="secret", waits=(0.001, 0.001), patience=PATIENCE)
        self.line, self.hello = self.peer.accept()

    def tearDown(self):
        self.peer.close()
        self.session.close()
        self.assertEqual(BACKGROUND, [])

    def begin(self):
        self.peer.welcome(self.line, rpc.NEW, 1)
        return self.line

    def lose(self, line):
        line.close()
        return self.peer.accept()


class Sessions(Attached):
    def test_a_new_session_shows_its_token_and_no_key(self):
        self.assertEqual(self.hello, {"type": rpc.HELLO, "version": 1, "token": "secret", "client": "python"})
        self.begin()

    # req: rpc.rule.1, rpc.rule.2
    def test_every_intention_has_a_number_of_its_own(self):
        line = self.begin()
        for _ in range(2):
            self.session.start("s", "m", b"same")
        first, second = line.receive(), line.receive()
        self.assertEqual((first["number"], second["number"]), (1, 2))
        self.assertEqual(first["first_epoch"], 5)
        self.assertEqual((first["policy"], first["arguments"]), (0, b"same"))

    # req: rpc.rule.36, rpc.rule.37, rpc.rule.38, rpc.own.3
    def test_results_of_different_kinds_are_different_types(self):
        line = self.begin()
        kinds = {rpc.VALUE: rpc.Value, rpc.FAILURE: rpc.Failure, rpc.CANCELLED: rpc.Cancelled,
                 rpc.INDETERMINATE: rpc.Indeterminate, rpc.CONFLICT: rpc.Conflict, rpc.EXPIRED: rpc.Expired,
                 rpc.BUSY: rpc.Busy, rpc.UNKNOWN_METHOD: rpc.UnknownMethod, rpc.BAD_ARGUMENTS: rpc.BadArguments}
        for kind, expected in kinds.items():
            call = self.session.start("s", "m", idem=True)
            number = line.receive()["number"]
            self.peer.outcome(line, number, kind, b"text", origin=kind % 3 + 1,
                              **({"retry_ms": 70} if kind == rpc.BUSY else {}))
            result = call.result(PATIENCE)
            self.assertIs(type(result), expected)
            self.assertEqual(result.origin, ("first", "attached", "replayed")[kind % 3])
            self.assertEqual(result.body if kind <= 2 else result.detail, b"text" if kind <= 2 else "text")
        self.assertFalse(any(issubclass(one, other) for one in kinds.values() for other in kinds.values()
                             if one is not other))

    # req: rpc.rule.43, rpc.rule.46, rpc.rule.4
    def test_after_a_resume_open_calls_are_asked_for_and_not_repeated(self):
        line = self.begin()
        call = self.session.start("s", "m", persist=True)
        line.receive()
        line.send(type=rpc.ADMITTED, number=1, state=1, origin=1)
        line, hello = self.lose(line)
        self.assertEqual((hello["session"], hello["generation"], hello["key"]), (SESSION, 1, KEYS[1]))
        self.peer.welcome(line, rpc.RESUMED, 2)
        self.assertEqual(line.receive(), {"type": rpc.QUERY, "number": 1, "watch": 1})
        line.send(type=rpc.ADMITTED, number=1, state=2, origin=2)
        self.peer.outcome(line, 1, rpc.VALUE, b"done", origin=3, status=200)
        self.assertEqual(call.result(PATIENCE), rpc.Value(b"done", "", 200, origin="replayed"))
        self.session.start("s", "m")
        self.assertEqual(line.receive()["number"], 2)  # nothing was sent between

    def test_the_newest_key_is_shown(self):
        line, _ = self.lose(self.begin())
        self.peer.welcome(line, rpc.RESUMED, 2)
        line, hello = self.lose(line)
        self.assertEqual((hello["generation"], hello["key"]), (2, KEYS[2]))

    def test_a_call_that_never_arrived_is_sent_with_its_old_epoch(self):
        line = self.begin()
        call = self.session.start("s", "m", b"x")
        sent = line.receive()
        line, _ = self.lose(line)
        self.peer.epoch = 6
        self.peer.welcome(line, rpc.RESUMED, 2)
        self.assertEqual(line.receive()["type"], rpc.QUERY)
        self.peer.outcome(line, 1, rpc.ABSENT)
        self.assertEqual(line.receive(), sent)
        self.peer.outcome(line, 1, rpc.INDETERMINATE)
        self.assertEqual(call.result(PATIENCE), rpc.Indeterminate())

    # req: rpc.rule.43
    def test_absent_calls_go_first_and_when_all_are_known(self):
        line = self.begin()
        for _ in range(2):
            self.session.start("s", "m", persist=True)
            line.receive()
        line, _ = self.lose(line)
        self.peer.welcome(line, rpc.RESUMED, 2)
        self.assertEqual([line.receive()["number"] for _ in range(2)], [1, 2])
        self.session.start("s", "m", persist=True)  # has a higher number, so it waits
        self.peer.outcome(line, 2, rpc.ABSENT)
        line.send(type=rpc.PING, nonce=9)
        self.assertEqual(line.receive(), {"type": rpc.PONG, "nonce": 9})  # nothing was sent between
        self.peer.outcome(line, 1, rpc.ABSENT)
        sent = [line.receive() for _ in range(3)]
        self.assertEqual([(frame["type"], frame["number"]) for frame in sent], [(rpc.CALL, n) for n in (1, 2, 3)])

    # req: rpc.own.6
    def test_a_session_that_is_not_resumed_settles_its_calls(self):
        line = self.begin()
        once, idem = self.session.start("s", "m", persist=True), self.session.start("s", "n", idem=True)
        line, _ = self.lose(line)
        self.peer.welcome(line, rpc.NEW, 1)
        self.assertFalse(once.result(PATIENCE).may_call_anew)
        self.assertTrue(idem.result(PATIENCE).may_call_anew)
        self.session.start("s", "o")
        self.assertEqual(line.receive()["method"], "o")  # nothing of the old session came before it

    def test_a_refused_key_settles_calls_and_begins_anew(self):
        line = self.begin()
        call = self.session.start("s", "m")
        line, _ = self.lose(line)
        line.send(type=rpc.WELCOME, version=1, verdict=rpc.REFUSED, reason=2, detail="key")
        self.assertIsInstance(call.result(PATIENCE), rpc.Indeterminate)
        line, hello = self.peer.accept()
        self.assertNotIn("key", hello)

    def test_a_refused_token_ends_it(self):
        self.line.send(type=rpc.WELCOME, version=1, verdict=rpc.REFUSED, reason=1, detail="token")
        self.assertEqual(self.session.call("s", "m"), rpc.Transport("token"))
        self.assertEqual(self.session.refusal.reason, 1)

    def test_limits_of_the_server_are_kept(self):
        line = self.begin()
        self.assertIsInstance(self.session.call("s", "m", bytes(1001)), rpc.BadArguments)
        for _ in range(3):
            self.session.start("s", "m")
            line.receive()
        self.assertIsInstance(self.session.call("s", "m"), rpc.Busy)

    def test_an_unknown_outcome_is_ignored_and_pings_are_answered(self):
        line = self.begin()
        self.peer.outcome(line, 77, rpc.VALUE)
        line.send(type=rpc.PING, nonce=9)
        self.assertEqual(line.receive(), {"type": rpc.PONG, "nonce": 9})
        call = self.session.start("s", "m")
        self.peer.outcome(line, line.receive()["number"], rpc.VALUE)
        self.assertIsInstance(call.result(PATIENCE), rpc.Value)

    def test_a_bad_frame_is_told_and_the_session_resumed(self):
        line = self.begin()
        line.socket.sendall(bytes.fromhex("00000001ff"))
        self.assertEqual(line.receive()["code"], rpc.UNKNOWN_TYPE)
        _, hello = self.peer.accept()
        self.assertEqual(hello["generation"], 1)

    def test_a_cancel_asks_and_the_server_decides(self):
        line = self.begin()
        call = self.session.start("s", "m")
        line.receive()
        call.cancel()
        self.assertEqual(line.receive(), {"type": rpc.CANCEL, "number": 1, "mode": 2})
        self.peer.outcome(line, 1, rpc.VALUE, b"it was faster")
        self.assertIsInstance(call.result(PATIENCE), rpc.Value)

    def test_a_silent_server_is_given_up(self):
        self.peer.welcome(self.line, rpc.NEW, 1, ping_ms=1)
        line, hello = self.peer.accept()
        self.assertEqual(hello["generation"], 1)

    def test_close_says_so_and_settles(self):
        line = self.begin()
        call = self.session.start("s", "m")
        line.receive()
        self.session.close()
        self.assertEqual(line.receive(), {"type": rpc.BYE, "reason": 1, "detail": ""})
        self.assertIsInstance(call.result(PATIENCE), rpc.Indeterminate)
        self.assertIsInstance(self.session.call("s", "m"), rpc.Transport)


class Channels(Attached):
    def open(self, *channels):
        line = self.begin()
        call = self.session.start("s", "stream", idem=True, channels=channels)
        self.frame = line.receive()
        return line, call

    def test_credit_allows_so_many_items(self):
        line, call = self.open((rpc.TO_HANDLER, 0))
        up, = call.channels
        with self.assertRaises(TimeoutError):
            up.send(b"x", timeout=0)
        line.send(type=rpc.CREDIT, channel=1, items=1)
        line.send(type=rpc.CREDIT, channel=1, items=1)  # grants add up
        for item in (b"a", b"b"):
            up.send(item, PATIENCE)
            self.assertEqual(line.receive(), {"type": rpc.ITEM, "channel": 1, "item": item})
        with self.assertRaises(TimeoutError):
            up.send(b"c", timeout=0)

    def test_items_that_come_early_are_kept_and_the_close_stays(self):
        line, call = self.open((rpc.TO_HANDLER, 0), (rpc.FROM_HANDLER, 2))
        self.assertEqual(self.frame["channels"], [(1, 1, 0), (3, 2, 2)])
        for item in (b"a", b"b"):
            line.send(type=rpc.ITEM, channel=3, item=item)
        line.send(type=rpc.CLOSE, channel=3, how=1, detail="")
        down = call.channels[1]
        self.assertEqual([down.receive(PATIENCE) for _ in range(3)], [b"a", b"b", None])
        self.assertIsNone(down.receive(PATIENCE))

    def test_an_item_without_credit_is_an_error(self):
        line, _ = self.open((rpc.FROM_HANDLER, 1))
        line.send(type=rpc.ITEM, channel=1, item=b"a")
        line.send(type=rpc.ITEM, channel=1, item=b"b")
        self.assertEqual(line.receive()["code"], rpc.BAD_CREDIT)

    # req: rpc.rule.54, rpc.rule.53
    def test_a_lost_attachment_closes_its_channels(self):
        line, call = self.open((rpc.FROM_HANDLER, 4), (rpc.TO_HANDLER, 0))
        line, _ = self.lose(line)
        for use in (lambda: call.channels[0].receive(PATIENCE), lambda: call.channels[1].send(b"x", PATIENCE)):
            with self.assertRaises(rpc.ChannelClosed):
                use()
        self.peer.welcome(line, rpc.RESUMED, 2)
        self.assertEqual(line.receive()["type"], rpc.QUERY)
        self.peer.outcome(line, 1, rpc.ABSENT)
        self.assertTrue(call.result(PATIENCE).may_call_anew)

    # req: rpc.rule.52
    def test_persist_with_channels_is_refused(self):
        self.begin()
        with self.assertRaises(ValueError):
            self.session.start("s", "m", persist=True, channels=((rpc.TO_HANDLER, 0),))


if __name__ == "__main__":
    unittest.main()
