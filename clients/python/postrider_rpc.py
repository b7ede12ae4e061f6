"""A client for rpc sessions of Postrider: standard library only, written from docs/rpc-wire.md alone.

    session = Session("127.0.0.1", 7420, token="...")
    result = session.call("bank", "transfer", b'{"amount": 3}', persist=True)
    if isinstance(result, Value): ...

A call ends with exactly one result, and results of different kinds are different types. `Indeterminate` means that
the operation may or may not have happened. Nothing is repeated without the caller, except for a call that the server
says it never got. A Session may be used by several threads.
"""

import dataclasses
import socket
import ssl
import struct
import threading

VERSION = 1
FRAME_MAX = 16 * 1024 * 1024
HELLO_MAX = 4096
NUMBER_MAX = 2**64 - 1

HELLO, WELCOME, CALL, ADMITTED, OUTCOME, CANCEL, QUERY, ITEM, CREDIT, CLOSE, PING, PONG, BYE, ERROR = range(1, 15)
PERSIST, IDEM, CHANNELS = 1, 2, 4
NEW, RESUMED, REFUSED = 0, 1, 2
DETACH, RELEASE = 1, 2
TO_HANDLER, FROM_HANDLER = 1, 2
(MALFORMED, TOO_LONG, UNKNOWN_TYPE, BAD_VERSION, UNEXPECTED, BAD_NUMBER, BAD_CREDIT, INTERNAL) = range(1, 9)


class BadFrame(Exception):
    """What came is not a frame of docs/rpc-wire.md; `code` is that of the ERROR to send."""

    def __init__(self, code, detail):
        super().__init__(detail)
        self.code = code


class Refused(Exception):
    """The server refused the session: 1 token, 2 key, 3 busy, 4 unavailable."""

    def __init__(self, reason, detail):
        super().__init__(detail)
        self.reason = reason


class ChannelClosed(Exception):
    """The channel, or the attachment that it belonged to, has ended."""


# The results of a call.


@dataclasses.dataclass(frozen=True)
class Result:
    origin: str = dataclasses.field(default="first", kw_only=True)  # first, attached or replayed


@dataclasses.dataclass(frozen=True)
class Value(Result):
    body: bytes
    content_type: str = ""
    status: int = 0


@dataclasses.dataclass(frozen=True)
class Failure(Result):
    """The application's own failure, sealed."""
    body: bytes
    content_type: str = ""
    status: int = 0


@dataclasses.dataclass(frozen=True)
class Cancelled(Result):
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Indeterminate(Result):
    detail: str = ""
    may_call_anew: bool = False  # the method is idem: a new call is safe


@dataclasses.dataclass(frozen=True)
class Conflict(Result):
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Expired(Result):
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Busy(Result):
    detail: str = ""
    retry_ms: int = 0


@dataclasses.dataclass(frozen=True)
class UnknownMethod(Result):
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class BadArguments(Result):
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Transport(Result):
    """Nothing was sent: there is no session, or it was closed before the call left."""
    detail: str = ""


VALUE, FAILURE, CANCELLED, INDETERMINATE, CONFLICT, EXPIRED, BUSY, UNKNOWN_METHOD, BAD_ARGUMENTS, ABSENT = range(1, 11)
ORIGINS = {1: "first", 2: "attached", 3: "replayed"}


# Frames are dictionaries with "type" and the fields of the page.


class _Writer:
    def __init__(self):
        self.out = bytearray()

    def number(self, kind, value):
        self.out += struct.pack(">" + kind, value)
        return self

    def raw(self, data):
        self.out += data
        return self

    def text(self, value):
        data = value.encode()
        return self.number("H", len(data)).raw(data)

    def bytes(self, data):
        return self.number("I", len(data)).raw(data)


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def raw(self, size):
        if len(self.data) - self.at < size:
            raise BadFrame(MALFORMED, "the body is shorter than its fields")
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def number(self, kind, low=0, high=NUMBER_MAX):
        value, = struct.unpack(">" + kind, self.raw(struct.calcsize(">" + kind)))
        if not low <= value <= high:
            raise BadFrame(MALFORMED, f"{value} is out of bounds")
        return value

    def text(self, high, low=0):
        size = self.number("H")
        if not low <= size <= high:
            raise BadFrame(MALFORMED, "a text is too long or empty")
        return self.raw(size).decode(errors="replace")

    def bytes(self, high=FRAME_MAX):
        size = self.number("I")
        if size > high:
            raise BadFrame(MALFORMED, "bytes are too long")
        return self.raw(size)

    def end(self):
        if self.at != len(self.data):
            raise BadFrame(MALFORMED, "the body is longer than its fields")


def _write_hello(w, f):
    w.raw(b"PRPC").number("H", f["version"]).text(f["token"]).text(f["client"]).number("B", 1 if "key" in f else 0)
    if "key" in f:
        w.raw(f["session"]).number("I", f["generation"]).raw(f["key"])


def _read_hello(r):
    if r.raw(4) != b"PRPC":
        raise BadFrame(MALFORMED, "HELLO without its magic")
    version = r.number("H")
    if version != VERSION:
        raise BadFrame(BAD_VERSION, "version 1 is known")
    f = {"version": version, "token": r.text(1024), "client": r.text(64)}
    if r.number("B", 0, 1):
        f.update(session=r.raw(16), generation=r.number("I", 1), key=r.raw(32))
    return f


def _write_welcome(w, f):
    w.number("H", f["version"]).number("B", f["verdict"])
    if f["verdict"] == REFUSED:
        w.number("B", f["reason"]).text(f["detail"])
        return
    w.raw(f["session"]).number("I", f["generation"]).raw(f["key"]).number("Q", f["epoch"])
    for name in ("frame_bytes_max", "arguments_bytes_max", "calls_max", "ping_ms"):
        w.number("I", f[name])


def _read_welcome(r):
    version = r.number("H")
    if version != VERSION:
        raise BadFrame(BAD_VERSION, "version 1 is known")
    f = {"version": version, "verdict": r.number("B", 0, 2)}
    if f["verdict"] == REFUSED:
        f.update(reason=r.number("B", 1, 4), detail=r.text(1024))
        return f
    f.update(session=r.raw(16), generation=r.number("I", 1), key=r.raw(32), epoch=r.number("Q", 1),
             frame_bytes_max=r.number("I", HELLO_MAX, FRAME_MAX), arguments_bytes_max=r.number("I"),
             calls_max=r.number("I", 1), ping_ms=r.number("I"))
    return f


def _write_call(w, f):
    w.number("Q", f["number"]).text(f["service"]).text(f["method"]).number("B", f["policy"])
    w.number("Q", f["first_epoch"]).number("I", f["time_ms"]).text(f["content_type"])
    w.number("B", len(f["channels"]))
    for channel, direction, credit in f["channels"]:
        w.number("I", channel).number("B", direction).number("I", credit)
    w.bytes(f["arguments"])


def _read_call(r):
    f = {"number": r.number("Q", 1), "service": r.text(255, 1), "method": r.text(64, 1), "policy": r.number("B", 0, 7)}
    if f["policy"] & PERSIST and f["policy"] & CHANNELS:
        raise BadFrame(MALFORMED, "persist with channels")
    f.update(first_epoch=r.number("Q", 1), time_ms=r.number("I"), content_type=r.text(128), channels=[])
    count = r.number("B", 0, 16)
    if (count > 0) != bool(f["policy"] & CHANNELS):
        raise BadFrame(MALFORMED, "the channels are not those of the policy")
    last = 0
    for _ in range(count):
        channel, direction = r.number("I", last + 1), r.number("B", 1, 2)
        if channel % 2 == 0:
            raise BadFrame(MALFORMED, "even channel")
        f["channels"].append((channel, direction, r.number("I", 0, 65535 if direction == FROM_HANDLER else 0)))
        last = channel
    f["arguments"] = r.bytes()
    return f


def _write_outcome(w, f):
    w.number("Q", f["number"]).number("B", f["kind"]).number("B", f["origin"]).number("H", f["status"])
    w.number("I", f["retry_ms"]).text(f["content_type"]).bytes(f["body"])


def _read_outcome(r):
    f = {"number": r.number("Q", 1), "kind": r.number("B", 1, 10), "origin": r.number("B", 1, 3)}
    sealed = f["kind"] <= FAILURE
    f["status"] = r.number("H", 0, 65535 if sealed else 0)
    f["retry_ms"] = r.number("I", 0, 2**32 - 1 if f["kind"] == BUSY else 0)
    f["content_type"] = r.text(128 if sealed else 0)
    f["body"] = r.bytes(FRAME_MAX if sealed else 1024)
    return f


# Fields of the plain types: name, kind, lowest, highest; "text" and "bytes" have a limit.
_PLAIN = {
    ADMITTED: (("number", "Q", 1, NUMBER_MAX), ("state", "B", 1, 2), ("origin", "B", 1, 2)),
    CANCEL: (("number", "Q", 1, NUMBER_MAX), ("mode", "B", 1, 2)),
    QUERY: (("number", "Q", 1, NUMBER_MAX), ("watch", "B", 0, 1)),
    ITEM: (("channel", "I", 1, NUMBER_MAX), ("item", "bytes", 262144)),
    CREDIT: (("channel", "I", 1, NUMBER_MAX), ("items", "I", 1, 65535)),
    CLOSE: (("channel", "I", 1, NUMBER_MAX), ("how", "B", 1, 3), ("detail", "text", 1024)),
    PING: (("nonce", "Q", 0, NUMBER_MAX),),
    PONG: (("nonce", "Q", 0, NUMBER_MAX),),
    BYE: (("reason", "B", 1, 4), ("detail", "text", 1024)),
    ERROR: (("code", "B", 1, 8), ("detail", "text", 1024)),
}
_OWN = {HELLO: (_write_hello, _read_hello), WELCOME: (_write_welcome, _read_welcome), CALL: (_write_call, _read_call),
        OUTCOME: (_write_outcome, _read_outcome)}


def encode(frame):
    """A frame with its length."""
    w = _Writer()
    w.number("B", frame["type"])
    if frame["type"] in _OWN:
        _OWN[frame["type"]][0](w, frame)
    else:
        for name, kind, *_ in _PLAIN[frame["type"]]:
            value = frame[name]
            w.text(value) if kind == "text" else w.bytes(value) if kind == "bytes" else w.number(kind, value)
    return struct.pack(">I", len(w.out)) + bytes(w.out)


def decode(payload):
    """A frame without its length; raises BadFrame."""
    if not payload:
        raise BadFrame(MALFORMED, "a frame of 0 bytes")
    kind = payload[0]
    r = _Reader(memoryview(payload)[1:])
    if kind in _OWN:
        frame = _OWN[kind][1](r)
    elif kind in _PLAIN:
        frame = {}
        for name, field, *limits in _PLAIN[kind]:
            reads = r.text if field == "text" else r.bytes if field == "bytes" else None
            frame[name] = reads(limits[0]) if reads else r.number(field, *limits)
    else:
        raise BadFrame(UNKNOWN_TYPE, f"type {kind}")
    r.end()
    return {"type": kind, **frame}


def check_length(length, most):
    if length == 0:
        raise BadFrame(MALFORMED, "a frame of 0 bytes")
    if length > most:
        raise BadFrame(TOO_LONG, f"a frame of {length} bytes")


class Line:
    """Frames over a connected socket."""

    def __init__(self, connected, longest=FRAME_MAX):
        self.socket = connected
        self.longest = longest
        self._writing = threading.Lock()
        self._pinged = False

    def watch(self, ping_ms):
        """After so long a silence PING is sent, and after as long again the line is given up. 0: never."""
        self.socket.settimeout(ping_ms / 1000 or None)

    def _piece(self, most):
        while True:
            try:
                piece = self.socket.recv(most)
            except TimeoutError:
                if self._pinged:
                    raise
                self._pinged = True
                self.send(type=PING, nonce=0)
                continue
            self._pinged = False
            if not piece:
                raise ConnectionError("the connection was closed")
            return piece

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            data += self._piece(min(size - len(data), 65536))
        return bytes(data)

    def receive(self):
        length, = struct.unpack(">I", self._exactly(4))
        check_length(length, self.longest)
        return decode(self._exactly(length))

    def send(self, **frame):
        with self._writing:
            self.socket.sendall(encode(frame))

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


class Channel:
    """One direction of a stream beside a call; ends with its attachment and is never continued."""

    def __init__(self, number, direction, credit):
        self.number = number
        self.direction = direction
        self._credit = credit  # of the sender: what may be sent; of the receiver: what was granted
        self._items = []
        self._ended = None  # how: 1 to 3, or 0 with the attachment
        self._changed = threading.Condition()
        self._line = None

    def _bind(self, line):
        with self._changed:
            if self._line is not None or self._ended is not None:
                return False
            self._line = line
            return True

    def _take(self, frame):
        with self._changed:
            if frame["type"] == CREDIT:
                if self.direction != TO_HANDLER or self._credit + frame["items"] > 65535:
                    raise BadFrame(BAD_CREDIT, "credit that cannot be")
                self._credit += frame["items"]
            elif frame["type"] == CLOSE:
                self._ended = self._ended if self._ended is not None else frame["how"]
            elif self._ended is None:
                if self.direction != FROM_HANDLER or self._credit == 0:
                    raise BadFrame(BAD_CREDIT, "an item without credit")
                self._credit -= 1
                self._items.append(frame["item"])
            self._changed.notify_all()

    def _end(self):
        with self._changed:
            if self._ended is None:
                self._ended = 0
            self._changed.notify_all()

    def send(self, item, timeout=None):
        """Waits for credit; raises ChannelClosed or TimeoutError."""
        with self._changed:
            ready = self._changed.wait_for(lambda: self._ended is not None or (self._line and self._credit), timeout)
            if self._ended is not None:
                raise ChannelClosed(f"channel {self.number} has ended")
            if not ready:
                raise TimeoutError("no credit")
            self._credit -= 1
        # Not under the lock, which the reader of the line needs while this waits for the network.
        self._line.send(type=ITEM, channel=self.number, item=item)

    def receive(self, timeout=None):
        """The next item, or None after the last one; raises ChannelClosed when it was cut off."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._items or self._ended is not None, timeout):
                raise TimeoutError("no item")
            if self._items:
                item = self._items.pop(0)
                if self._ended is None:
                    self._credit += 1
                    self._line.send(type=CREDIT, channel=self.number, items=1)
                return item
            if self._ended == 1:
                return None
            raise ChannelClosed(f"channel {self.number} has ended")

    def close(self):
        with self._changed:
            if self._ended is None and self._line:
                self._ended = 1
                self._line.send(type=CLOSE, channel=self.number, how=1 if self.direction == TO_HANDLER else 2, detail="")
            self._changed.notify_all()


class Call:
    """A call that was made; `result` waits for its end."""

    def __init__(self, session, frame, channels):
        self._session = session
        self.frame = frame
        self.channels = channels
        self.admitted = None  # "queued" or "running", when the server has said so
        self.operation = None  # the operation id, as the handler gets it; None: nothing was sent
        self._result = None
        self._ended = threading.Event()

    @property
    def number(self):
        return self.frame["number"]

    def result(self, timeout=None):
        """Raises TimeoutError; the operation goes on then, and may be asked again."""
        if not self._ended.wait(timeout):
            raise TimeoutError("the operation has not ended yet")
        return self._result

    def cancel(self):
        self._session._cancel(self, RELEASE)

    def detach(self):
        self._session._cancel(self, DETACH)

    def _end(self, result):
        if not self._ended.is_set():
            self._result = result
            self._ended.set()
        for channel in self.channels:
            channel._end()


def _result_of(frame, idem):
    origin, kind = ORIGINS[frame["origin"]], frame["kind"]
    if kind in (VALUE, FAILURE):
        made = Value if kind == VALUE else Failure
        return made(frame["body"], frame["content_type"], frame["status"], origin=origin)
    detail = frame["body"].decode(errors="replace")
    if kind == BUSY:
        return Busy(detail, frame["retry_ms"], origin=origin)
    if kind == INDETERMINATE:
        return Indeterminate(detail, idem, origin=origin)
    return {CANCELLED: Cancelled, CONFLICT: Conflict, EXPIRED: Expired, UNKNOWN_METHOD: UnknownMethod,
            BAD_ARGUMENTS: BadArguments}[kind](detail, origin=origin)


class Session:
    """A session and its connections. Connects in the background, resumes by itself, and repeats nothing.

    `connect` makes a connected socket; without it `host` and `port` (and `tls`, an ssl.SSLContext) are used.
    """

    def __init__(self, host=None, port=None, *, token="", client="python", connect=None, tls=None, waits=(0.1, 5.0),
                 patience=30.0):
        self._connect = connect or (lambda: self._dial(host, port, tls))
        self._token, self._client = token, client
        self._waits, self._patience = waits, patience
        self._state = threading.Condition()
        self._line = None
        self._welcome = None  # the last one that was not refused
        self._open = {}  # number -> Call
        self._asked = set()  # numbers whose QUERY after a resume is not answered yet
        self._unsent = []  # calls that wait for those answers: absent ones, which go first, and new ones
        self._number = 0
        self._channel = -1
        self._closed = None  # why
        self._refused = None
        self._thread = threading.Thread(target=self._run, name="postrider-rpc", daemon=True)
        self._thread.start()

    @staticmethod
    def _dial(host, port, tls):
        plain = socket.create_connection((host, port), timeout=10)
        plain.settimeout(None)
        return tls.wrap_socket(plain, server_hostname=host) if tls else plain

    # For callers.

    def call(self, service, method, arguments=b"", *, timeout=None, **options):
        """Makes a call and waits for its result."""
        return self.start(service, method, arguments, **options).result(timeout)

    def start(self, service, method, arguments=b"", *, persist=False, idem=False, channels=(), time_ms=0,
              content_type="application/json"):
        """Makes a call. `channels`: (direction, credit) of each; they are in `channels` of what is returned."""
        policy = (PERSIST if persist else 0) | (IDEM if idem else 0) | (CHANNELS if channels else 0)
        if persist and channels:
            raise ValueError("a persist method has no channels")
        with self._state:
            self._state.wait_for(lambda: self._line or self._closed, self._patience)
            frame = {"type": CALL, "number": self._number + 1, "service": service, "method": method, "policy": policy,
                     "first_epoch": 1, "time_ms": time_ms, "content_type": content_type, "arguments": bytes(arguments),
                     "channels": []}
            call = Call(self, frame, [])
            reason = self._why_not(frame)
            if reason:
                call._end(reason)
                return call
            self._number += 1
            frame["first_epoch"] = self._welcome["epoch"]
            call.operation = f"{self._welcome['session'].hex()}-{call.number}"
            for direction, credit in channels:
                self._channel += 2
                frame["channels"].append((self._channel, direction, credit))
                call.channels.append(Channel(self._channel, direction, credit))
                call.channels[-1]._bind(self._line)
            self._open[call.number] = call
            # First calls go out in the order of their numbers, so not before those that are repeated.
            if self._asked:
                self._unsent.append(frame)
            else:
                self._send(frame)
            return call

    def close(self):
        """Ends the session; open calls are indeterminate."""
        with self._state:
            self._closed = self._closed or "closed by the caller"
            if self._line:
                self._send({"type": BYE, "reason": 1, "detail": ""})
                self._line.close()
            self._settle("the session was closed")
            self._state.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def refusal(self):
        return self._refused

    @property
    def ended(self):
        """Why no call can be made any more; None: calls can be made."""
        return self._closed

    # Inside; the lock is held where a name begins with an underscore, except in _run, _attach and _dial.

    def _why_not(self, frame):
        if self._closed or not self._line:
            return Transport(self._closed or "there is no connection")
        if len(frame["arguments"]) > self._welcome["arguments_bytes_max"]:
            return BadArguments("the arguments are larger than the server takes")
        if len(self._open) >= self._welcome["calls_max"]:
            return Busy("too many open calls", 0)
        return None

    def _send(self, frame):
        try:
            self._line.send(**frame)
        except OSError:
            pass  # the reader finds out, and resumes

    def _cancel(self, call, mode):
        with self._state:
            if call.number not in self._open:
                return
            if self._line:
                self._send({"type": CANCEL, "number": call.number, "mode": mode})
            if mode == DETACH:
                del self._open[call.number]
                call._end(Indeterminate("detached by the caller", bool(call.frame["policy"] & IDEM)))

    def _settle(self, detail):
        for call in self._open.values():
            call._end(Indeterminate(detail, bool(call.frame["policy"] & IDEM)))
        self._open.clear()
        self._asked.clear()
        self._unsent.clear()

    def _run(self):
        wait = self._waits[0]
        while True:
            with self._state:
                if self._closed:
                    return
            try:
                line = self._attach()
                wait = self._waits[0]
                self._read(line)
            except (OSError, BadFrame, Refused) as error:
                with self._state:
                    if isinstance(error, Refused) and error.reason in (1, 2):
                        self._refused = self._refused or error
                        if error.reason == 1 or self._welcome is None:
                            self._closed = self._closed or str(error)
                        self._welcome = None
                        self._settle("the session could not be resumed")
                        self._state.notify_all()
                    if self._closed:
                        self._settle(self._closed)
                        return
                    self._state.wait_for(lambda: self._closed, wait)
                    wait = min(2 * wait, self._waits[1])

    def _attach(self):
        line = Line(self._connect(), HELLO_MAX)
        try:
            hello = {"type": HELLO, "version": VERSION, "token": self._token, "client": self._client}
            if self._welcome:
                hello.update({name: self._welcome[name] for name in ("session", "generation", "key")})
            line.send(**hello)
            welcome = line.receive()
            if welcome["type"] == ERROR:
                raise ConnectionError(f"the server says {welcome['code']}: {welcome['detail']}")
            if welcome["type"] != WELCOME:
                raise BadFrame(UNEXPECTED, "WELCOME was expected")
            if welcome["verdict"] == REFUSED:
                raise Refused(welcome["reason"], welcome["detail"])
            if welcome["verdict"] == RESUMED and (
                    not self._welcome or welcome["session"] != self._welcome["session"]
                    or welcome["generation"] <= self._welcome["generation"]):
                raise BadFrame(UNEXPECTED, "resumed what was not asked for")
        except BadFrame as error:
            self._complain(line, error)
            raise
        except Exception:
            line.close()
            raise
        line.longest = FRAME_MAX
        with self._state:
            if self._closed:
                line.close()
                raise ConnectionError(self._closed)
            self._begin(line, welcome)
        return line

    def _begin(self, line, welcome):
        self._line, self._welcome, self._channel = line, welcome, -1
        if welcome["verdict"] == NEW:
            self._settle("the server does not know the session any more")
            self._number = 0
        # The first frame of a generation ends the former key.
        self._send({"type": PING, "nonce": welcome["generation"]})
        self._asked = set(self._open)
        self._unsent = []
        for number in sorted(self._open):
            self._send({"type": QUERY, "number": number, "watch": 1})
        self._state.notify_all()

    @staticmethod
    def _complain(line, error):
        try:
            line.send(type=ERROR, code=error.code, detail=str(error))
        except OSError:
            pass
        line.close()

    def _read(self, line):
        try:
            line.watch(self._welcome["ping_ms"])
            while True:
                frame = line.receive()
                with self._state:
                    if not self._take(line, frame):
                        return
        except BadFrame as error:
            self._complain(line, error)
            raise
        finally:
            line.close()
            with self._state:
                self._line = None
                for call in self._open.values():
                    for channel in call.channels:
                        channel._end()

    def _take(self, line, frame):
        """False: the connection is over."""
        kind = frame["type"]
        if kind == PING:
            self._send({"type": PONG, "nonce": frame["nonce"]})
        elif kind == ADMITTED:
            call = self._open.get(frame["number"])
            if call:
                call.admitted = "queued" if frame["state"] == 1 else "running"
            self._answered(frame["number"])
        elif kind == OUTCOME:
            self._ended(frame)
        elif kind in (ITEM, CREDIT, CLOSE):
            for call in self._open.values():
                for channel in call.channels:
                    if channel.number == frame["channel"]:
                        channel._take(frame)
        elif kind in (BYE, ERROR):
            if kind == BYE and frame["reason"] == 1:
                self._closed = self._closed or "the server ended the session"
                self._settle(self._closed)
                self._state.notify_all()
            return False
        elif kind != PONG:
            raise BadFrame(UNEXPECTED, f"type {kind}")
        return True

    def _answered(self, number):
        """A question of the resume has its answer; behind the last one, what waited for that goes out."""
        if number not in self._asked:
            return
        self._asked.discard(number)
        if not self._asked:
            for frame in sorted(self._unsent, key=lambda frame: frame["number"]):
                self._send(frame)
            self._unsent = []

    def _ended(self, frame):
        number = frame["number"]
        call = self._open.get(number)
        if call is not None and frame["kind"] != ABSENT:
            del self._open[number]
            call._end(_result_of(frame, bool(call.frame["policy"] & IDEM)))
        elif call is not None and number in self._asked:  # else it crossed the call
            if call.channels:
                # Its handles belong to an attachment that is gone; fresh ones are the caller's to open.
                del self._open[number]
                call._end(Indeterminate("the connection was lost", bool(call.frame["policy"] & IDEM)))
            else:
                self._unsent.append(call.frame)
        self._answered(number)


def tls_context(authorities=None):
    """A context that checks the server's certificate."""
    return ssl.create_default_context(cafile=authorities)
