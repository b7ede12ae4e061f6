"""A daemon with an identity of LXMF and an inbox, for tests with real processes."""

import json
import socket


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Side:
    """One daemon with its identity, its inbox and what its clients want."""

    def __init__(self, case, name, *interfaces, station="", settings="", more=""):
        """Lines of its configuration: of the station, of the settings of its recipients, and more."""
        self.case, self.name, self.interfaces = case, name, interfaces
        self.station, self.settings, self.more = station, settings, more
        self.directory = case.directory / name
        self.directory.mkdir()
        made = case.run_program("lxmf", "new", self.directory / "key", "--json")
        case.assertEqual(made.returncode, 0, made)
        self.address, self.node = json.loads(made.stdout)["address"], json.loads(made.stdout)["node"]
        self.waiting, self.inbox = [], {}
        self.daemon = None

    def start(self):
        self.daemon = self.case.daemon(name=self.name, config=f"""
[secrets]
own = "{self.directory}/key"
[stations.lxmf]
{chr(10).join(f'interface.line{i} = "{line}"' for i, line in enumerate(self.interfaces))}
{self.station}
identity.own = "inbox"
display_name.own = "{self.name}"
[destinations.inbox]
profile = "mailbox"
[destinations."lxmf:*"]
profile = "lxmf"
[destinations."lxmf:*".settings]
identity = "own"
wait_base = "200ms"
wait_max = "2s"
{self.settings}
{self.more}
""")
        self.client = self.daemon.wait_ready()

    def submit(self, text, to, method):
        """A message that is handed over until it is accepted."""
        self.waiting.append((text, to.address, method))
        self.hand_over()

    def hand_over(self):
        while self.waiting:
            text, to, method = self.waiting[0]
            try:
                answer = self.client.post(
                    "/v1/messages",
                    {"destination": f"lxmf:{to}", "body": text, "attributes": {"title": "a title", "method": method}},
                    headers={"idempotency-key": f"{self.name}-{text[:40]}"})
            except OSError:
                return
            if answer.status != 202:
                return
            self.waiting.pop(0)

    def read(self):
        """Reads and confirms what lies in the inbox, as an application does."""
        try:
            page = self.client.get("/v1/mailboxes/inbox/messages").json()
            for item in page["messages"]:
                body = json.loads(item["body"])
                self.inbox.setdefault(body["content"], set()).add(item["id"])
                self.case.assertEqual(body["to"], self.address)
            ids = [item["id"] for item in page["messages"]]
            if ids:
                self.client.post("/v1/mailboxes/inbox/confirm", {"ids": ids})
        except OSError:
            pass
