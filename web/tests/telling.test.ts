// What is said of a destination and of a message, each thing once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, hasSecret, kNamePattern, lastErrorOf, requiredOf, secretOf, settingsFrom, successHint, successText, whyOf } from "../src/destinations.ts";
import { tell } from "../src/telling.ts";
import type { Destination, Explanation, SettingRow, Timeline } from "../src/types.ts";

const kDestination: Destination = {
  name: "shop", destination_id: "1", profile: "webhook", settings: {}, health: "normal", strikes: 0, in_window: 0, open_attempts: 0, owed: false, draining: false,
};
const kDegraded: Destination = {
  ...kDestination, degraded: true, success_percent: 60, delivered_last_ten_minutes: 6, failed_last_ten_minutes: 4, last_error: "HTTP 503", last_failure: "server",
};

test("degraded is a word for what is open, and for nothing else", () => {
  assert.equal(conditionOf(kDestination), "normal");
  assert.equal(conditionOf(kDegraded), "degraded");
  assert.equal(conditionOf({ ...kDegraded, health: "wait" }), "wait");
});

test("the rate is told with what it is of, and not at all when nothing was tried", () => {
  assert.equal(successText(kDegraded), "60 %");
  assert.equal(successHint(kDegraded), "6 of 10 attempts in the last ten minutes");
  assert.equal(successText(kDestination), undefined);
});

test("a destination says why it is not well, and its last error unless that is the reason", () => {
  assert.equal(whyOf(kDestination), "");
  assert.equal(whyOf(kDegraded), "4 of 10 attempts failed in the last ten minutes");
  assert.equal(lastErrorOf(kDegraded)?.text, "HTTP 503");
  const closed = { ...kDegraded, health: "wait" as const, reason: "HTTP 503" };
  assert.equal(whyOf(closed), "HTTP 503");
  assert.equal(lastErrorOf(closed), undefined);
  assert.equal(lastErrorOf({ ...closed, last_error: "HTTP 500" })?.text, "HTTP 500");
  assert.equal(lastErrorOf(kDestination), undefined);
});

test("a new destination has the settings that it needs, and others line by line", () => {
  const row = (setting: string, fallback: string): SettingRow => ({ setting, default: fallback, "may be": "", meaning: "" });
  const rows = [row("url", "required"), row("secret", "-"), row("rate", "0")];
  assert.deepEqual(requiredOf(rows).map((one) => one.setting), ["url"]);
  assert.equal(hasSecret(rows), true);
  assert.equal(hasSecret([row("url", "required")]), false);
  assert.deepEqual(settingsFrom(" rate = 5 \n\nheaders.x-key=a=b"), { settings: { rate: "5", "headers.x-key": "a=b" } });
  assert.equal(settingsFrom("rate = 5\nnonsense").wrong, "nonsense");
  assert.equal(settingsFrom("rate =").wrong, "rate =");
  assert.equal(settingsFrom("= 5").wrong, "= 5");
});

test("a name is what the daemon takes for one", () => {
  const name = new RegExp(`^(?:${kNamePattern})$`, "v");
  for (const good of ["a", "shop-eu", "calin.gateway:17", "a@b+c=d~e_f", "9", "matrix:[2001:db8::1]:8448", "a".repeat(255)]) assert.ok(name.test(good), good);
  for (const bad of ["", "-a", "a b", "a/b", "ä", "a*", "a".repeat(256)]) assert.ok(!name.test(bad), bad);
});

test("a secret is that of Standard Webhooks", () => {
  assert.equal(secretOf(new Uint8Array([0, 1, 2, 255])), "whsec_AAEC/w==");
});

const kExplained: Explanation = {
  id: "0".repeat(32), phase: "backoff", state: "Waiting", place: "sleeping", why: "it waits for its next attempt", next: "attempt", attempts: 1,
  last_failure: "server", last_outcome: "HTTP 503", health: "normal",
};
const timeline = (...entries: Timeline["entries"]): Timeline => ({ id: kExplained.id, attempts: 1, entries: [{ what: "accepted" }, ...entries] });

test("a message that waits says so once", () => {
  const told = tell(kExplained, timeline({ what: "attempt-failed", detail: "after 3 ms: server: HTTP 503" }, { what: "waits-for-attempt", detail: kExplained.why }, { what: "expires" }));
  assert.deepEqual(told.entries.map((entry) => entry.what), ["accepted", "attempt-failed", "expires"]);
  assert.equal(told.why, undefined, "what it waits for is said above");
  assert.equal(told.lastFailure, undefined, "the timeline has it");
});

test("a reason that nothing else tells stays, and so does a failure", () => {
  const told = tell({ ...kExplained, why: "the destination is paused: lunch" }, timeline({ what: "waits-for-attempt", detail: "the destination is paused: lunch" }));
  assert.equal(told.why, "the destination is paused: lunch");
  assert.equal(told.lastFailure, "HTTP 503");
  assert.equal(tell({ ...kExplained, why: "the destination is closed: HTTP 503" }, timeline()).lastFailure, undefined);
});

test("an end does not repeat the reason of the attempt that led to it", () => {
  const ended: Explanation = { ...kExplained, phase: "dead", next: "nothing", why: "it has ended", last_outcome: "HTTP 422" };
  const told = tell(ended, timeline({ what: "attempt-failed", detail: "after 3 ms: rejected: HTTP 422" }, { what: "dead", detail: "HTTP 422" }));
  assert.deepEqual(told.entries.at(-1), { what: "dead" });
  assert.equal(told.lastFailure, undefined);
  const expired = tell({ ...ended, phase: "expired" }, timeline({ what: "expired", detail: "nobody wants it any more" }));
  assert.equal(expired.entries.at(-1)?.detail, "nobody wants it any more");
});

test("attempts that failed alike are told each", () => {
  const failed = { what: "attempt-failed", detail: "after 1 ms: connect: connection refused" };
  assert.equal(tell(kExplained, timeline(failed, failed)).entries.filter((entry) => entry.detail !== undefined).length, 2);
});
