#!/usr/bin/env python3
"""The daemon as a process: how it starts, what it says when it cannot, signals, and the ways in."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading

import harness
from harness import Authority, Client, ENVIRONMENT, wait_until

SECRETS = {name: f"{name}-0123456789abcdef" for name in ("shop", "eyes", "hands", "later")}


def token(name, *scopes, tenant="default"):
    listed = ", ".join(f'"{scope}"' for scope in scopes)
    return f'[[tokens]]\nname = "{name}"\ntenant = "{tenant}"\nscopes = [{listed}]\nsecret = "{SECRETS[name]}"\n'


def destination(name, url, **settings):
    lines = "".join(f'{key} = "{value}"\n' for key, value in settings.items())
    return f'[destinations.{name}]\nprofile = "webhook"\n[destinations.{name}.settings]\nurl = "{url}"\n{lines}'


class FirstCommand(harness.Case):
    # req: daemon.process.1
    def test_the_printed_curl_line_works_as_it_is(self):
        daemon = self.daemon("--dev")
        self.assertIn("Stop it with Ctrl-C", daemon.welcome)
        self.assertIn(f"Messages are kept in {daemon.directory / 'data'}", daemon.welcome)
        self.assertIn(f"The dashboard is at {daemon.url}/", daemon.welcome)
        line = daemon.welcome[daemon.welcome.index("curl "):].split("\n\n")[0]
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=ENVIRONMENT, check=False)
        self.assertEqual(done.returncode, 0, done)
        message = re.search(r'"id":"([0-9a-f]{32})"', done.stdout)
        self.assertTrue(message, done)
        daemon.client().wait_for(message.group(1), "delivered")
        self.assertIn(message.group(1), daemon.log())

    # req: daemon.process.1
    def test_without_dev_there_is_no_sink_and_loopback_is_not_allowed(self):
        daemon = self.daemon()
        client = daemon.client()
        self.assertNotIn("curl", daemon.welcome)
        self.assertEqual(client.post("/v1/messages", {"destination": "sink", "body": "x"}).status, 404)
        client.put_destination("own", url=f"http://{daemon.address}/livez")
        found = client.wait_for(client.send("own"), "backoff")
        self.assertEqual(found["last_outcome"], "the address is not allowed")

    # req: daemon.process.1
    def test_with_tls_the_line_says_https(self):
        authority = Authority(self.directory / "certificates")
        authority.sign("good", "IP:127.0.0.1")
        daemon = self.daemon("--dev", environment={
            "POSTRIDER_SERVER_TLS_CERTIFICATE": str(authority.directory / "good.crt"),
            "POSTRIDER_SERVER_TLS_KEY": str(authority.directory / "good.key")})
        self.assertIn(f"The dashboard is at https://{daemon.address}/", daemon.welcome)
        line = daemon.welcome[daemon.welcome.index("curl "):].split("\n\n")[0]
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False,
                              env={**ENVIRONMENT, "CURL_CA_BUNDLE": str(authority.file)})
        self.assertIn('"durability":"synced"', done.stdout, done)


class Mistakes(harness.Case):
    # req: daemon.process.2
    def test_a_typo_in_an_option_is_a_usage_error(self):
        self.assert_fails(self.run_program("serve", "--lisen", "127.0.0.1:0"), 2, "did you mean '--listen'?", "--help")

    # req: daemon.process.2
    def test_a_wrong_configuration_is_told_by_line_and_starts_nothing(self):
        file = self.directory / "p.toml"
        file.write_text('[server]\nlisen = ["127.0.0.1:0"]\n[log]\nlevel = "loud"\n')
        done = self.run_program("serve", "--config", file, "--data", "data")
        self.assert_fails(done, 2, "p.toml:2: unknown setting 'server.lisen', did you mean 'listen'?", "p.toml:4: ")
        self.assertFalse((self.directory / "data").exists())
        self.assert_fails(self.run_program("serve", "--config", "nowhere.toml"), 2, "nowhere.toml: No such file")
        done = self.run_program("serve", environment={"POSTRIDER_SERVER_LISTEN": "everywhere"})
        self.assert_fails(done, 2, "POSTRIDER_SERVER_LISTEN")

    # req: daemon.process.2
    def test_beyond_loopback_it_wants_a_token(self):
        self.assert_fails(self.run_program("serve", "--listen", "0.0.0.0:0", "--data", "data"), 2, "0.0.0.0:0", "token")
        self.assert_fails(self.run_program("serve", "--listen", "[::]:0", "--data", "data"), 2, "[::]:0", "token")
        daemon = self.daemon(config=token("eyes", "read"), listen="0.0.0.0:0")
        port = daemon.address.rsplit(":", 1)[1]
        self.assertEqual(Client(f"127.0.0.1:{port}").get("/v1/stats").status, 401)
        self.assertEqual(Client(f"127.0.0.1:{port}", token=SECRETS["eyes"]).get("/v1/stats").status, 200)

    # req: daemon.process.2
    def test_a_port_that_is_taken_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            self.assert_fails(self.run_program("serve", "--listen", address, "--data", "data"), 1, address,
                              "Address already in use")

    # req: daemon.process.2
    def test_a_directory_that_cannot_be_used_is_named(self):
        (self.directory / "file").write_text("not a store")
        for path in ("file", "file/below", "/proc/postrider"):
            done = self.run_program("serve", "--listen", "127.0.0.1:0", "--data", path)
            self.assert_fails(done, 1, path)
            self.assertEqual(len(done.stderr.splitlines()), 1, done)
        closed = self.directory / "closed"
        closed.mkdir(mode=0)
        if os.geteuid() != 0:  # nothing is closed to root
            self.assert_fails(self.run_program("serve", "--listen", "127.0.0.1:0", "--data", closed), 1, "closed",
                              "Permission denied")

    # req: daemon.process.3
    def test_a_second_daemon_on_one_directory_is_refused(self):
        first = self.daemon("--dev")
        message = first.client().send("sink")
        data = first.directory / "data"
        done = self.run_program("serve", "--listen", "127.0.0.1:0", "--data", data)
        self.assert_fails(done, 1, str(data), "another")
        self.assertEqual(len(done.stderr.splitlines()), 1, done)
        first.client().wait_for(message, "delivered")
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.daemon("--dev").client().explain(message)["phase"], "delivered")


class Reload(harness.Case):
    # req: daemon.process.4
    def test_takes_new_tokens_and_destinations(self):
        receiver = self.receiver()
        daemon = self.daemon("--dev", config=token("shop", "submit", "read"))
        shop, hands = daemon.client(token=SECRETS["shop"]), daemon.client(token=SECRETS["hands"])
        self.assertEqual(hands.get("/v1/stats").status, 401)
        daemon.config.write_text(token("hands", "submit", "read", "operate") + destination("late", receiver.url))
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("reloaded")
        wait_until(lambda: hands.get("/v1/destinations/late").status == 200, "the new destination")
        self.assertEqual(shop.get("/v1/stats").status, 401)
        hands.wait_for(hands.send("late", "after the reload"), "delivered")
        self.assertEqual(receiver.got()[0].body, b"after the reload")

    # req: daemon.process.10
    def test_leaves_the_tokens_to_a_daemon_that_others_reach(self):
        daemon = self.daemon(config='[server]\nlisten = ["0.0.0.0:0"]\n' + token("shop", "submit", "read"),
                             listen=None)
        stranger = daemon.client()
        self.assertEqual(stranger.get("/v1/stats").status, 401)
        daemon.config.write_text('[server]\nlisten = ["127.0.0.1:0"]\n')
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("the configuration is not taken")
        self.assertEqual(stranger.get("/v1/stats").status, 401)
        self.assertEqual(daemon.client(token=SECRETS["shop"]).get("/v1/stats").status, 200)

    # req: daemon.process.10
    def test_names_what_needs_a_restart(self):
        daemon = self.daemon("--dev", config="")
        daemon.config.write_text('[store]\ncache_bytes = "48MiB"\n')
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("reloaded")
        self.assertIn("setting=store.cache_bytes", daemon.log())

    # req: config.plugins.3
    def test_events_that_nobody_hears_are_warned_of_until_somebody_does(self):
        words = "a plugin tells its events to a destination that is not there"
        plugin = ('[plugins.lorawan.settings]\nway = "chirpstack"\nurl = "http://127.0.0.1:1"\n'
                  'events = "billing"\n')
        daemon = self.daemon("--dev", config=plugin)
        daemon.wait_for_log(words)
        daemon.wait_ready().put_destination("billing", url="http://127.0.0.1:1")
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("reloaded")
        daemon.config.write_text(plugin.replace("billing", "nobody"))
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log(words, times=2)
        self.assertEqual([line.split("destination=")[1].split()[0] for line in daemon.log().splitlines()
                          if words in line], ["billing", "nobody"])

    # req: daemon.process.4
    def test_of_a_broken_file_changes_nothing(self):
        receiver = self.receiver()
        daemon = self.daemon("--dev", config=token("shop", "submit", "read") + destination("first", receiver.url))
        shop = daemon.client(token=SECRETS["shop"])
        before = shop.get("/v1/destinations").body
        broken = (
            token("later", "read") + destination("second", receiver.url) + "ladderr = \"1s\"\n",
            token("later", "read") + '[log]\nlevl = "debug"\n',
            token("later", "read") + "[[[",
            token("later", "nonsense"),
        )
        for times, text in enumerate(broken, 1):
            daemon.config.write_text(text)
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("the configuration is not taken", times)
            self.assertEqual(daemon.client(token=SECRETS["later"]).get("/v1/stats").status, 401)
            self.assertEqual(shop.get("/v1/destinations").body, before)
        daemon.config.unlink()
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("the configuration is not taken", len(broken) + 1)
        shop.wait_for(shop.send("first"), "delivered")
        self.assertNotIn(SECRETS["later"], daemon.log())


class Stop(harness.Case):
    # req: daemon.process.5
    def test_lets_open_attempts_end_and_takes_nothing_new(self):
        release = threading.Event()
        self.addCleanup(release.set)
        receiver = self.receiver(lambda request: release.wait(harness.PATIENCE) and (200, {}, b""))
        daemon = self.daemon("--dev")
        client = daemon.client()
        client.put_destination("slow", url=receiver.url, time_out="5m", in_flight_max="1")
        first, second = client.send("slow", "first"), client.send("slow", "second")
        receiver.got(1)
        daemon.signal(signal.SIGTERM)
        daemon.wait_for_log("stopping")

        def refused():
            try:
                return client.get("/livez").status == 503
            except OSError:
                return True
        wait_until(refused, "a closed door")
        self.assertIsNone(daemon.process.poll())
        release.set()
        self.assertEqual(daemon.process.wait(harness.PATIENCE), 0, daemon.log())
        self.assertEqual([request.body for request in receiver.requests], [b"first"])
        again = self.daemon("--dev").wait_ready()
        self.assertEqual(again.explain(first)["phase"], "delivered")
        again.wait_for(second, "delivered")
        self.assertEqual(len(receiver.requests), 2)
        self.assertEqual(again.conservation()["accepted"], 2)

    # req: daemon.process.5
    def test_under_load_keeps_every_accepted_message(self):
        receiver = self.receiver()
        daemon = self.daemon("--dev")
        daemon.client().put_destination("all", url=receiver.url, in_flight_max="4")
        accepted, lock = [], threading.Lock()

        def flood():
            client = daemon.client()
            try:
                while True:
                    answer = client.post("/v1/messages", {"destination": "all", "body": "x"})
                    if answer.status != 202:
                        return
                    with lock:
                        accepted.append(answer.json()["id"])
            except (OSError, harness.http.client.HTTPException):
                return  # the door is closed
        threads = [threading.Thread(target=flood) for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(accepted) > 100, "a hundred messages")
        self.assertEqual(daemon.stop(), 0, daemon.log())
        for thread in threads:
            thread.join()
        again = self.daemon("--dev").wait_ready()
        wait_until(lambda: again.conservation()["live"] == 0, "the rest of the messages")
        line = again.conservation()
        self.assertEqual(line["delivered"], line["accepted"])
        # Of those without an answer some may have been accepted, of the others none was lost.
        self.assertGreaterEqual(line["accepted"], len(accepted))
        self.assertLessEqual(line["accepted"], len(accepted) + len(threads))
        self.assertLessEqual(set(accepted), {request.headers["webhook-id"] for request in receiver.requests})

    # req: daemon.process.5
    def test_a_second_signal_gives_open_attempts_up(self):
        release = threading.Event()
        self.addCleanup(release.set)
        receiver = self.receiver(lambda request: release.wait(harness.PATIENCE) and None)
        daemon = self.daemon("--dev")
        client = daemon.client()
        client.put_destination("slow", url=receiver.url, time_out="5m")
        message = client.send("slow")
        receiver.got(1)
        daemon.signal(signal.SIGINT)
        daemon.wait_for_log("stopping")
        daemon.signal(signal.SIGINT)
        self.assertEqual(daemon.process.wait(harness.PATIENCE), 0, daemon.log())
        release.set()
        receiver.answer = lambda request: (200, {}, b"")
        self.daemon("--dev").client().wait_for(message, "delivered")
        ids = {request.headers["webhook-id"] for request in receiver.requests}
        self.assertEqual(ids, {message})


class Order(harness.Case):
    # req: cli.send.4, api.order.1, webhook.order.2
    def test_messages_of_one_key_arrive_one_after_the_other_and_another_key_passes(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def answer(request):
            if request.body == b"a1":
                release.wait(harness.PATIENCE)
            return 200, {}, b""
        receiver = self.receiver(answer)
        daemon = self.daemon("--dev")
        client = daemon.client()
        client.put_destination("shop", url=receiver.url, time_out="5m")
        here = {"POSTRIDER_URL": daemon.url}

        def send(body, key):
            done = self.run_program("send", "shop", body, "--order-key", key, environment=here)
            self.assertEqual(done.returncode, 0, done)
            return done.stdout.strip()
        first = send("a1", "customer 7")
        receiver.got(1)
        second, third = send("a2", "customer 7"), send("b1", "customer 8")
        client.wait_for(third, "delivered")
        self.assertEqual([request.body for request in receiver.requests], [b"a1", b"b1"])
        explained = self.run_program("msg", "explain", second, environment=here).stdout
        self.assertIn("earlier messages of its order come first", explained)
        self.assertIn("customer 7", explained)
        release.set()
        client.wait_for(second, "delivered")
        self.assertEqual([request.body for request in receiver.requests], [b"a1", b"b1", b"a2"])
        self.assertEqual(client.explain(first)["phase"], "delivered")


class Loops(harness.Case):
    # req: daemon.loops.2
    def test_further_loops_deliver_and_drain_like_one(self):
        receivers = [self.receiver() for _ in range(4)]
        daemon = self.daemon("--dev", config="[transport]\nloops = 3\n")
        threads = os.listdir(f"/proc/{daemon.process.pid}/task")
        plain = self.daemon("--dev", name="plain")
        self.assertEqual(len(threads), len(os.listdir(f"/proc/{plain.process.pid}/task")) + 3)
        client = daemon.client()
        for number, receiver in enumerate(receivers):
            client.put_destination(f"d{number}", url=receiver.url)
        sent = {number: {client.send(f"d{number}") for _ in range(25)} for number in range(4)}
        for number, receiver in enumerate(receivers):
            self.assertEqual({request.headers["webhook-id"] for request in receiver.got(25)}, sent[number])
        self.assertEqual(daemon.stop(), 0)


class Limits(harness.Case):
    def crowd(self, daemon, size):
        """So many clients that connect and say nothing."""
        host, port = daemon.address.rsplit(":", 1)
        sockets = [socket.create_connection((host, int(port)), timeout=harness.PATIENCE) for _ in range(size)]
        self.addCleanup(lambda: [each.close() for each in sockets])
        return sockets

    # req: daemon.process.6
    def test_with_too_few_descriptors_it_does_not_start(self):
        done = self.run_program("serve", "--data", "data", "--listen", "127.0.0.1:0",
                                limits=("sh", "-c", 'ulimit -n 63; exec "$@"', "sh"))
        self.assert_fails(done, 1, "63 files", "ulimit -n")

    # req: daemon.process.6
    def test_with_few_descriptors_it_answers_refuses_and_recovers(self):
        daemon = self.daemon("--dev", limits=("sh", "-c", 'ulimit -n 64; exec "$@"', "sh"))
        client = daemon.wait_ready()
        receiver = self.receiver()
        client.put_destination("two", url=receiver.url, in_flight_max="2", ladder="100ms", strikes_max="0")
        with contextlib.closing(client.connection()) as kept:
            kept.connect()
            crowd = self.crowd(daemon, 100)
            # One that came too late is told so, or cut off; nothing was asked on it.
            late = b"".join(iter(lambda: crowd[-1].recv(4096), b""))
            self.assertTrue(late.startswith(b"HTTP/1.1 503 "), late)
            self.assertIn(b"retry-after", late.lower())
            # Whoever was there before is served, and the store has what it needs: these messages fill several of its files.
            body = json.dumps({"destination": "two", "body": "x" * 200_000})
            accepted = []
            for _ in range(200):
                kept.request("POST", "/v1/messages", body, {"content-type": "application/json"})
                reply = kept.getresponse()
                text = reply.read()
                self.assertEqual(reply.status, 202, text)
                accepted.append(json.loads(text)["id"])
            for each in crowd:
                each.close()
        wait_until(lambda: answers(client), "an answer when there is room again")
        wait_until(lambda: client.conservation()["live"] == 0, "the messages to be delivered")
        self.assertEqual(client.conservation()["delivered"], len(accepted))
        self.assertEqual(daemon.stop(), 0)
        self.assertNotIn("Too many open files", daemon.log())


def answers(client):
    try:
        return client.get("/livez").status == 200
    except OSError:
        return False


class WaysIn(harness.Case):
    # req: daemon.process.7
    def test_a_unix_socket_serves_the_command_line(self):
        path = self.directory / "postrider.sock"
        daemon = self.daemon("--dev", listen=f"unix:{path}", config=token("eyes", "read"))
        self.assertEqual(daemon.addresses, [f"unix:{path}"])
        self.assertNotIn("curl", daemon.welcome)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        receiver = self.receiver()
        here = {"POSTRIDER_URL": f"unix:{path}"}
        self.assertEqual(self.run_program("dest", "put", "shop", receiver.url, environment=here).returncode, 0)
        done = self.run_program("send", "shop", "by the socket", "--wait", environment=here)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(receiver.got()[0].body, b"by the socket")
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(path.exists())

    # req: daemon.process.7
    def test_a_socket_beside_the_address_needs_no_token(self):
        path = self.directory / "s"
        daemon = self.daemon("--dev", config=token("eyes", "read"),
                             environment={"POSTRIDER_SERVER_UNIX_SOCKET": str(path)})
        self.assertEqual(daemon.client().get("/v1/stats").status, 401)
        self.assertEqual(Client(f"unix:{path}").get("/v1/stats").status, 200)

    # req: daemon.process.8
    def test_tls_is_spoken_with_the_given_certificate(self):
        authority = Authority(self.directory / "certificates")
        authority.sign("good", "IP:127.0.0.1,DNS:localhost")
        daemon = self.daemon("--dev", environment={
            "POSTRIDER_SERVER_TLS_CERTIFICATE": str(authority.directory / "good.crt"),
            "POSTRIDER_SERVER_TLS_KEY": str(authority.directory / "good.key")})
        self.assertEqual(daemon.client(authority=authority.file).get("/livez").status, 200)
        other = Authority(self.directory / "other")
        with self.assertRaises(harness.ssl.SSLCertVerificationError):
            daemon.client(authority=other.file).get("/livez")
        there = {"POSTRIDER_URL": f"https://{daemon.address}", "SSL_CERT_FILE": str(authority.file)}
        done = self.run_program("dest", "ls", environment=there)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("sink", done.stdout)
        there["SSL_CERT_FILE"] = str(other.file)
        self.assertEqual(self.run_program("dest", "ls", environment=there).returncode, 1)
        done = self.run_program("serve", "--listen", "127.0.0.1:0", "--data", "d", environment={
            "POSTRIDER_SERVER_TLS_CERTIFICATE": str(authority.directory / "good.crt"),
            "POSTRIDER_SERVER_TLS_KEY": str(authority.directory / "authority.key")})
        self.assert_fails(done, 1, "authority.key")

    # req: daemon.process.9
    def test_tokens_open_what_their_scopes_say(self):
        receiver = self.receiver()
        daemon = self.daemon("--dev", config=token("shop", "submit") + token("eyes", "read") +
                             token("hands", "operate") + destination("d", receiver.url))
        clients = {name: daemon.client(token=SECRETS[name]) for name in ("shop", "eyes", "hands")}
        clients["nobody"] = daemon.client()
        clients["stranger"] = daemon.client(token="0123456789abcdef0123")
        submit = ("POST", "/v1/messages", {"destination": "d", "body": "x"})
        cases = (
            (submit, {"shop": 202}),
            (("GET", "/v1/destinations/d", None), {"eyes": 200}),
            (("GET", "/metrics", None), {"eyes": 200}),
            (("POST", "/v1/destinations/d/pause", None), {"hands": 200}),
            (("GET", "/livez", None), {name: 200 for name in clients}),
        )
        for question, allowed in cases:
            for name, client in clients.items():
                refused = 401 if name in ("nobody", "stranger") else 403
                self.assertEqual(client.ask(*question).status, allowed.get(name, refused), (question, name))
        done = self.run_program("dest", "show", "d", "--url", daemon.url, environment={"POSTRIDER_TOKEN": SECRETS["eyes"]})
        self.assertEqual(done.returncode, 0, done)
        done = self.run_program("dest", "resume", "d", "--url", daemon.url, environment={"POSTRIDER_TOKEN": SECRETS["eyes"]})
        self.assert_fails(done, 1, "operate")


if __name__ == "__main__":
    harness.main()
