"""What schemathesis must know of our API beyond /openapi.json: how NDJSON is written, and what really exists, so that a part of
the requests meets something. Loaded through SCHEMATHESIS_HOOKS by description_test.py, which names the things in POSTRIDER_THINGS.
"""

import json
import os
import zlib

import schemathesis

THINGS = json.loads(os.environ["POSTRIDER_THINGS"])


def often(value):
    """Three times in four, decided by the value itself, so that a repetition is one."""
    return zlib.crc32(repr(value).encode()) % 4 != 0


def one_of(things, value):
    return things[zlib.crc32(repr(value).encode()[::-1]) % len(things)]


@schemathesis.serializer("application/x-ndjson")
def write_lines(_context, value):
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.deserializer("application/x-ndjson")
def read_lines(context, response):
    """The schema describes a line; the last one is looked at. No line is no wrong line."""
    lines = response.content.splitlines()
    if lines:
        return json.loads(lines[-1])
    return {"next": ""} if context.operation.path == "/v1/dead-letters/export" else {"line": 1, "id": "0" * 32}


@schemathesis.hook
def filter_failure(_context, failure, case, response):
    """Lines are judged one by one: 200, and a problem on the line that is wrong."""
    judged = case.media_type == "application/x-ndjson" and response.status_code == 200 and b'"problem":' in response.content
    return not (judged and "Schema-violating request accepted" in failure.title)


def kind_of(path, name):
    if path.startswith("/v1/jobs"):
        return "job"
    if path.startswith("/v1/holds"):
        return "hold"
    return {"id": "message", "name": "destination", "key": "key", "plugin": "plugin"}.get(name, "")


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    for name, value in (path_parameters or {}).items():
        known = THINGS.get(kind_of(context.operation.path, name))
        if context.operation.path.startswith("/v1/profiles"):
            known = ["webhook"]
        elif context.operation.path.startswith("/message/"):
            known = ["c1"]
        if known and often(value):
            path_parameters[name] = one_of(known, value)
    return path_parameters


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    if context.operation.path == "/v1/destinations/{name}" and isinstance(body.get("settings"), dict):
        body["settings"].pop("url", None)  # nothing leaves this machine
        if often(body):
            body["settings"] = {"url": THINGS["url"]}
    if isinstance(body.get("destination"), str) and often(body["destination"]):
        body["destination"] = one_of(THINGS["destination"], body["destination"])
    if isinstance(body.get("pluginId"), str) and often(body["pluginId"]):
        body["pluginId"] = THINGS["plugin"][0]
    return body
