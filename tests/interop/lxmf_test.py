"""Our daemon and a Python peer of LXMF, over TCP on loopback: messages both ways, by both methods.

`make interop-lxmf` installs the peer, says under which licence, and runs this; POSTRIDER_LXMF_PYTHON is the
interpreter that has it.
"""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import Case, wait_until  # noqa: E402
from lxmf_test_sides import Side, free_port  # noqa: E402

PYTHON = os.environ.get("POSTRIDER_LXMF_PYTHON", "")
SEQUENCE = int(os.environ.get("POSTRIDER_LXMF_SEQUENCE", "50"))


class Peer:
    def __init__(self, directory, interface):
        directory.mkdir()
        (directory / "config").write_text(
            "[reticulum]\nenable_transport = No\nshare_instance = No\n[logging]\nloglevel = 1\n"
            f"[interfaces]\n  [[line]]\n    enabled = yes\n{interface}")
        script = pathlib.Path(__file__).with_name("lxmf_peer.py")
        with open(directory / "errors", "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen([PYTHON, str(script), str(directory)], stdin=subprocess.PIPE,
                                            text=True, stdout=subprocess.PIPE, stderr=errors)
        self.events, self.queue = [], queue.Queue()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        self.address = self.wait("address")["address"]

    def listen(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.queue.put(json.loads(line))

    def wait(self, member, value=None):
        def found():
            while not self.queue.empty():
                self.events.append(self.queue.get())
            return next((one for one in self.events if member in one and value in (None, one[member])), None)
        return wait_until(found, f"{member} {value or ''} of the Python peer: {self.events}")

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.listener.join()
        self.process.stdin.close()
        self.process.stdout.close()


@unittest.skipUnless(PYTHON, "POSTRIDER_LXMF_PYTHON names no interpreter with the Python packages")
class PythonPeer(Case):
    TEXTS = (("opportunistic", "by one packet"), ("direct", "by a link"), ("direct", "by a resource " + "x" * 4000))

    def meet(self):
        port = free_port()
        ours = Side(self, "ours", f"listen tcp://127.0.0.1:{port}")
        ours.start()
        peer = Peer(self.directory / "python", "    type = TCPClientInterface\n    target_host = 127.0.0.1\n"
                                               f"    target_port = {port}\n")
        self.addCleanup(peer.stop)
        return ours, peer

    def test_messages_of_ours_arrive_there(self):
        ours, peer = self.meet()
        peer.tell(announce=True)
        for method, text in self.TEXTS:
            answer = ours.client.post("/v1/messages", {"destination": f"lxmf:{peer.address}", "body": text,
                                                       "attributes": {"title": "a title", "method": method}})
            self.assertEqual(answer.status, 202, answer)
            ours.client.wait_for(answer.json()["id"], "delivered")
            event = peer.wait("received", text)
            self.assertEqual(event["title"], "a title")
            self.assertEqual(event["source"], ours.address)

    def test_messages_from_there_are_in_our_inbox_when_they_are_proven(self):
        ours, peer = self.meet()
        peer.tell(announce=True)
        for method, text in self.TEXTS:
            peer.tell(send=ours.address, content=text, method=method)
            self.assertEqual(peer.wait("ended", text)["state"], "delivered")
            ours.read()
            self.assertEqual(len(ours.inbox[text]), 1)

    def test_a_sequence_of_link_packets_from_there_is_delivered(self):
        """Each is proven before the next one leaves; early or late proofs would tear the link down and take long."""
        ours, peer = self.meet()
        peer.tell(announce=True)
        texts = [f"number {i}" for i in range(SEQUENCE)]
        for text in texts:
            peer.tell(send=ours.address, content=text, method="direct")
            self.assertEqual(peer.wait("ended", text)["state"], "delivered")

        def all_there():
            ours.read()
            return len(ours.inbox) == len(texts)
        wait_until(all_there, "all of them in the inbox")

    def test_a_message_for_a_peer_that_is_unknown_finds_it(self):
        ours, peer = self.meet()
        answer = ours.client.post("/v1/messages", {"destination": f"lxmf:{peer.address}", "body": "hello",
                                                   "attributes": {"method": "direct"}})
        ours.client.wait_for(answer.json()["id"], "delivered")
        peer.wait("received", "hello")


if __name__ == "__main__":
    if not harness.BINARY.exists():
        sys.exit(f"there is no {harness.BINARY}: build it first")
    unittest.main()
