"""A Python peer of LXMF, driven by lines of JSON: one command a line in, one event a line out.

  lxmf_peer.py DIRECTORY    the directory has a file `config` of Reticulum

{"send": ADDRESS, "content": TEXT, "method": "opportunistic" or "direct"}, {"announce": true}; it tells its
address, what it received, and what became of what it sent. It runs under the interpreter of an environment
into which `make interop-lxmf` installed the packages `rns` and `lxmf`.
"""

import json
import sys
import threading
import time

import LXMF
import RNS

LOCK = threading.Lock()
STATES = {LXMF.LXMessage.DELIVERED: "delivered", LXMF.LXMessage.FAILED: "failed", LXMF.LXMessage.SENT: "sent"}


def tell(**event):
    with LOCK:
        print(json.dumps(event), flush=True)


def ended(message):
    tell(ended=message.content_as_string(), state=STATES.get(message.state, str(message.state)))


def received(message):
    tell(received=message.content_as_string(), title=message.title_as_string(), source=message.source_hash.hex(),
         verified=bool(message.signature_validated))


def send(router, own, command):
    address = bytes.fromhex(command["send"])
    give_up = time.monotonic() + 30
    RNS.Transport.request_path(address)
    while RNS.Identity.recall(address) is None and time.monotonic() < give_up:
        time.sleep(0.05)
    identity = RNS.Identity.recall(address)
    if identity is None:
        tell(ended=command["content"], state="unknown recipient")
        return
    to = RNS.Destination(identity, RNS.Destination.OUT, RNS.Destination.SINGLE, "lxmf", "delivery")
    method = LXMF.LXMessage.DIRECT if command["method"] == "direct" else LXMF.LXMessage.OPPORTUNISTIC
    message = LXMF.LXMessage(to, own, command["content"], "a title", desired_method=method)
    message.register_delivery_callback(ended)
    message.register_failed_callback(ended)
    router.handle_outbound(message)


def main():
    directory = sys.argv[1]
    RNS.Reticulum(directory, loglevel=1)
    router = LXMF.LXMRouter(storagepath=directory + "/lxmf")
    own = router.register_delivery_identity(RNS.Identity(), display_name="a Python peer")
    router.register_delivery_callback(received)
    tell(address=own.hash.hex())
    for line in sys.stdin:
        command = json.loads(line)
        if "announce" in command:
            router.announce(own.hash)
        else:
            send(router, own, command)


if __name__ == "__main__":
    main()
