// The parts of the dashboard that compute: no browser, no daemon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extended, placeOf, refreshed } from "../src/audit.ts";
import { mailboxesOf, shownBody } from "../src/mailboxes.ts";
import { gets, typesOf, wrongType } from "../src/fanout.ts";
import { missing, segments } from "../src/conservation.ts";
import * as format from "../src/format.ts";
import { actionsOf, filterOf, groupByCause, reasonsOf } from "../src/groups.ts";
import { fits, holdOn, isPausedApart, ruleText } from "../src/holds.ts";
import { duration, filterFrom, filterText, isAlive, share } from "../src/jobs.ts";
import { isJobId, isMessageId, link, parseRoute } from "../src/paths.ts";
import * as rates from "../src/rates.ts";
import { bucketOf, countAges, heat, joinPages, kAges } from "../src/shape.ts";
import { EventParser } from "../src/sse.ts";
import type { AuditLine, DeadGroup, Destination, Explanation, Hold, Job, ShapeRow } from "../src/types.ts";

const kLaw = { accepted: 100, delivered: 90, dead: 1, expired: 2, cancelled: 3, indeterminate: 0, live: 4 };

test("the bar is drawn to scale and leaves out what is not there", () => {
  const parts = segments(kLaw);
  assert.deepEqual(parts.map((part) => part.part), ["delivered", "dead", "expired", "cancelled", "live"]);
  assert.equal(parts.reduce((sum, part) => sum + part.share, 0).toFixed(9), "1.000000000");
  assert.equal(parts[0]?.share, 0.9);
  assert.deepEqual(segments({ ...kLaw, accepted: 0, delivered: 0, dead: 0, expired: 0, cancelled: 0, live: 0 }), []);
});

test("books that do not balance are noticed", () => {
  assert.equal(missing(kLaw), 0);
  assert.equal(missing({ ...kLaw, accepted: 101 }), 1);
  assert.equal(missing({ ...kLaw, live: 5 }), -1);
});

test("numbers have groups of three", () => {
  assert.equal(format.count(0), "0");
  assert.equal(format.count(999), "999");
  assert.equal(format.count(1000), "1,000");
  assert.equal(format.count(1234567), "1,234,567");
});

test("spans have at most two units, and no unit is skipped", () => {
  assert.equal(format.span(999), "now");
  assert.equal(format.span(1000), "1 s");
  assert.equal(format.span(59_999), "59 s");
  assert.equal(format.span(61_000), "1 m 1 s");
  assert.equal(format.span(3_600_000), "1 h");
  assert.equal(format.span(3_605_000), "1 h");
  assert.equal(format.span(2 * 86_400_000 + 3 * 3_600_000 + 60_000), "2 d 3 h");
});

test("heads of columns have one unit", () => {
  assert.deepEqual([10, 300, 4800, 9600, 76800, 153600, 307200].map(format.shortSpan), ["10 s", "5 m", "80 m", "2.7 h", "21 h", "43 h", "3.6 d"]);
});

test("times are told from now, in both directions", () => {
  const now = Date.parse("2026-01-02T03:04:05.000Z");
  assert.equal(format.ago("2026-01-02T03:04:00.000Z", now), "5 s ago");
  assert.equal(format.ago("2026-01-02T03:05:05.000Z", now), "in 1 m");
  assert.equal(format.ago("2026-01-02T03:04:05.000Z", now), "now");
  assert.equal(format.ago(undefined, now), "–");
});

test("shares that are tiny or nearly all do not round to nothing or everything", () => {
  assert.equal(format.percent(0, 10), "0 %");
  assert.equal(format.percent(1, 1_000_000), "< 0.01 %");
  assert.equal(format.percent(999_999, 1_000_000), "> 99.99 %");
  assert.equal(format.percent(10, 10), "100.0 %");
  assert.equal(format.percent(1, 0), "0 %");
});

test("bytes and rates can be read", () => {
  assert.equal(format.bytes(1023), "1023 B");
  assert.equal(format.bytes(1024), "1.0 KiB");
  assert.equal(format.bytes(50 * 1024 * 1024), "50 MiB");
  assert.equal(format.rate(0), "0");
  assert.equal(format.rate(0.25), "0.25");
  assert.equal(format.rate(3.14), "3.1");
  assert.equal(format.rate(12345), "12,345");
  assert.equal(format.plural(1, "message"), "1 message");
  assert.equal(format.plural(2, "message"), "2 messages");
});

const kSample = (at: number, accepted: number) => ({ at, accepted, delivered: 0, attempts: accepted });

test("rates are of the last ten seconds", () => {
  let samples: rates.Sample[] = [];
  assert.equal(rates.current(samples), undefined);
  for (let i = 0; i <= 20; ++i) samples = rates.add(samples, kSample(i * 2000, i < 10 ? 0 : (i - 10) * 20));
  assert.equal(rates.current(samples)?.accepted, 10);
  assert.equal(rates.history(samples).length, 20);
});

test("a restart of the daemon begins a new history", () => {
  let samples = rates.add([], kSample(0, 100));
  samples = rates.add(samples, kSample(2000, 120));
  samples = rates.add(samples, { ...kSample(4000, 130), attempts: 3 });
  assert.equal(samples.length, 1);
});

test("the history is bounded", () => {
  let samples: rates.Sample[] = [];
  for (let i = 0; i < 3 * rates.kSamplesMax; ++i) samples = rates.add(samples, kSample(i, i));
  assert.equal(samples.length, rates.kSamplesMax);
});

test("ages fall into the bucket whose bound they are below", () => {
  assert.equal(bucketOf(0), 0);
  assert.equal(bucketOf(9_999), 0);
  assert.equal(bucketOf(10_000), 1);
  assert.equal(bucketOf(1e12), kAges.length - 1);
});

test("ages are counted by phase, and the oldest is known", () => {
  const now = Date.parse("2026-01-02T00:00:00.000Z");
  const message = (id: string, phase: string, at: string) => ({ id, phase, state: phase, accepted_at: at }) as Explanation;
  const ages = countAges([
    message("a", "queued", "2026-01-01T23:59:59.000Z"),
    message("b", "backoff", "2026-01-01T00:00:00.000Z"),
    message("c", "delivered", "2025-01-01T00:00:00.000Z"),
    message("d", "queued", "2026-01-02T00:00:01.000Z"),
  ], false, now);
  assert.equal(ages.total, 3);
  assert.equal(ages.counts.queued[0], 2);
  assert.equal(ages.counts.backoff[6], 1);
  assert.equal(ages.oldest?.id, "b");
});

test("pages of a shape are added by destination, the one with the oldest message first", () => {
  const row = (id: string, counts: number[], oldest: string, phase: string): ShapeRow =>
    ({ destination_id: id, name: id, profile: "webhook", counts, total: counts.reduce((a, b) => a + b), phases: { [phase]: counts.reduce((a, b) => a + b) },
      states: { [phase]: 1 }, oldest_at: oldest });
  const shape = joinPages([
    { ages_s: [300, 86400], destinations: [row("a", [1, 0, 0], "2026-01-02", "queued"), row("b", [0, 2, 0], "2026-01-03", "backoff")] },
    { ages_s: [300, 86400], destinations: [row("b", [1, 0, 1], "2026-01-01", "queued")] },
  ], true);
  assert.deepEqual(shape.ages, ["5 m", "24 h", "older"]);
  assert.deepEqual(shape.rows.map((one) => [one.name, one.counts, one.total]), [["b", [1, 2, 1], 4], ["a", [1, 0, 0], 1]]);
  assert.equal(shape.total, 5);
  assert.deepEqual([shape.phases.queued, shape.phases.backoff, shape.states["queued"]], [3, 2, 2]);
  assert.deepEqual(shape.oldest, { destination: "b", accepted_at: "2026-01-01" });
  assert.ok(shape.partial);
  assert.equal(joinPages([], false).total, 0);
});

test("heat grows with the count and never leaves its scale", () => {
  assert.equal(heat(0, 100), 0);
  assert.equal(heat(1, 1), 2);
  let before = 0;
  for (const value of [1, 10, 100, 1000, 10_000]) {
    const now = heat(value, 10_000);
    assert.ok(now >= before && now >= 1 && now <= 5);
    before = now;
  }
  assert.equal(before, 5);
});

test("groups of one cause come together, the largest first, with their destinations and times", () => {
  const counted = (destination: string, cause: string, number: number, at: string): DeadGroup =>
    ({ destination, destination_id: destination, phase: "dead", cause, count: number, first_at: at, last_at: at, reason: `HTTP ${number}`, example: destination });
  const groups = groupByCause([
    counted("a", "rejected", 2, "2026-01-02"), counted("a", "server", 4, "2026-01-01"), counted("b", "rejected", 3, "2026-01-01"),
  ]);
  assert.deepEqual(groups.map((group) => [group.cause, group.total]), [["rejected", 5], ["server", 4]]);
  assert.deepEqual(groups[0]?.parts.map((part) => [part.destination, part.count]), [["b", 3], ["a", 2]]);
  assert.deepEqual([groups[0]?.first, groups[0]?.last], ["2026-01-01", "2026-01-02"]);
  assert.deepEqual(groups.map(reasonsOf), [["HTTP 3", "HTTP 2"], ["HTTP 4"]]);
});

test("a group is named by a filter, and what lives is treated otherwise than letters", () => {
  const [dead] = groupByCause([{ destination: "a", destination_id: "1", phase: "dead", cause: "none", count: 1, example: "x" }]);
  const [parked] = groupByCause([{ destination: "a", destination_id: "1", phase: "parked", count: 1, example: "x" }]);
  assert.ok(dead !== undefined && parked !== undefined);
  assert.deepEqual(filterOf(dead, undefined), { phase: "dead", cause: "none" });
  assert.deepEqual(filterOf(dead, "a"), { destination: "a", phase: "dead", cause: "none" });
  assert.deepEqual(filterOf(parked, undefined), { phase: "parked" });
  assert.deepEqual([actionsOf(dead), actionsOf(parked)], [{ again: "redrive", away: "drop" }, { again: "retry", away: "cancel" }]);
});

const kJob: Job = { id: "0123456789abcdef", action: "redrive", filter: {}, state: "running", rate: 10, looked: 0, done: 0, refused: 0 };

test("a job has come as far as what was done and what was refused, of what there was", () => {
  assert.equal(share(kJob), undefined);
  assert.equal(share({ ...kJob, expected: 0 }), undefined);
  assert.equal(share({ ...kJob, expected: 10, done: 2, refused: 3, looked: 400 }), 0.5);
  assert.equal(share({ ...kJob, expected: 10, done: 12 }), 1);
  assert.equal(share({ ...kJob, state: "done" }), 1);
  assert.deepEqual((["running", "waiting", "done", "cancelled"] as const).map((state) => isAlive({ ...kJob, state })), [true, true, false, false]);
});

test("filters are told in words, and a forecast is never now", () => {
  assert.equal(filterText({}), "everything");
  assert.equal(filterText({ cause: "server", destination: "shop", reason_prefix: "HTTP 5" }), "destination shop, cause server, reason begins with HTTP 5");
  assert.equal(filterText({ destination_prefix: "sh", phase: "dead" }), "destinations that begin with sh, phase dead");
  assert.deepEqual([0, 999, 1000, 61_000].map(duration), ["less than a second", "less than a second", "1 s", "1 m 1 s"]);
});

const kShop = { name: "shop-eu", profile: "webhook", settings: { tenant: "acme" }, health: "normal" as const };

test("a hold fits when everything that it says fits", () => {
  assert.ok(fits({}, kShop));
  assert.ok(fits({ destination_prefix: "shop", tenant: "acme", profile: "webhook" }, kShop));
  assert.ok(!fits({ destination_prefix: "hop" }, kShop));
  assert.ok(!fits({ destination_prefix: "shop", tenant: "other" }, kShop));
  assert.ok(!fits({ profile: "device" }, kShop));
  assert.ok(!fits({ tenant: "acme" }, { ...kShop, settings: {} }));
  assert.equal(ruleText({}), "every destination");
  assert.equal(ruleText({ destination_prefix: "shop", tenant: "acme" }), "names that begin with shop, tenant acme");
});

test("the hold that paused a destination is told from a pause by somebody", () => {
  const holds: Hold[] = [{ name: "a", destination_prefix: "shop" }, { name: "b", tenant: "acme" }, { name: "c", destination_prefix: "bank" }];
  assert.equal(holdOn({ ...kShop, health: "paused", reason: "hold 'b': moves" }, holds)?.name, "b");
  assert.equal(holdOn({ ...kShop, health: "paused", reason: "hold 'gone': moves" }, holds)?.name, "a");
  assert.equal(holdOn({ ...kShop, health: "paused", reason: "by hand" }, holds)?.name, "a");
  assert.equal(holdOn(kShop, holds.slice(2)), undefined);
  assert.ok(isPausedApart({ health: "paused", reason: "by hand" }));
  assert.ok(isPausedApart({ health: "paused" }));
  assert.ok(isPausedApart({ health: "disabled", reason: "HTTP 410" }));
  assert.ok(!isPausedApart({ health: "paused", reason: "hold 'b': moves" }));
  assert.ok(!isPausedApart({ health: "normal" }));
});

test("the audit grows at its new end and goes back at its old one", () => {
  const lines = (from: number, to: number): AuditLine[] => Array.from({ length: from - to + 1 }, (_, index) => ({ actor: "ops", action: "pause", target: String(from - index) }));
  const targets = (of: { lines: { target: string }[] }) => of.lines.map((one) => Number(one.target));
  const numbers = (from: number, to: number) => lines(from, to).map((one) => Number(one.target));
  let trail = refreshed(undefined, { items: lines(29, 20), next: "20" });
  trail = extended(trail, { items: lines(19, 10), next: "10" });
  assert.deepEqual([targets(trail), trail.next], [numbers(29, 10), "10"]);
  trail = refreshed(trail, { items: lines(29, 20), next: "20" });
  assert.deepEqual([targets(trail), trail.next], [numbers(29, 10), "10"], "nothing came");
  trail = refreshed(trail, { items: lines(38, 29), next: "29" });
  assert.deepEqual([targets(trail), trail.next], [numbers(38, 10), "10"], "nine came, one line is known");
  trail = refreshed(trail, { items: lines(58, 49), next: "49" });
  assert.deepEqual([targets(trail), trail.next], [numbers(58, 49), "49"], "there is a gap: begun anew");
  assert.deepEqual(refreshed(undefined, { items: [] }), { lines: [], next: undefined });
  assert.deepEqual(targets(refreshed(refreshed(undefined, { items: [] }), { items: lines(2, 1) })), [2, 1]);
  assert.deepEqual(targets(refreshed(refreshed(undefined, { items: lines(2, 1) }), { items: lines(4, 1) })), [4, 3, 2, 1]);
});

test("a member gets what it subscribes to", () => {
  const member = (...types: string[]) => ({ destination: "shop", types });
  for (const [one, type, expected] of [
    [member(), "", true], [member(), "order.paid", true], [member("*"), "order.paid", true], [member("*"), "", false],
    [member("order.*"), "order.paid", true], [member("order.*"), "order", false], [member("order.*"), "orders.paid", false],
    [member("order.paid", "refund"), "refund", true], [member("order.paid"), "order.paid.late", false],
  ] as const) assert.equal(gets(one, type), expected, `${one.types.join()} ${type}`);
  assert.deepEqual(typesOf(" order.*, refund  order.*,"), ["order.*", "refund"]);
  assert.equal(wrongType(["order.*", "*", "a-b_c.1"]), undefined);
  for (const bad of ["order*", "ord er", "a/b", "x".repeat(129)]) assert.equal(wrongType(["ok", bad]), bad);
});

test("a free filter has what was typed and what its action knows", () => {
  assert.deepEqual(filterFrom("redrive", {}), {});
  assert.deepEqual(filterFrom("redrive", { destination: "shop", phase: "dead", cause: "", reason_prefix: "HTTP" }), { destination: "shop", phase: "dead", reason_prefix: "HTTP" });
  assert.deepEqual(filterFrom("cancel", { phase: "dead" }), {}, "a phase of another action");
  assert.deepEqual(filterFrom("cancel", { phase: "backoff" }), { phase: "backoff" });
  assert.deepEqual(filterFrom("retry", { phase: "parked" }), {});
  assert.deepEqual(filterFrom("resend", { since: "2026-01-01T00:00Z", until: "half" }), { since: "2026-01-01T00:00:00.000Z" });
});

test("a line of the audit leads to what it is about", () => {
  const place = (action: string, target: string) => placeOf({ actor: "ops", action, target });
  assert.equal(place("job-start", "0123456789abcdef"), "#/jobs/0123456789abcdef");
  assert.equal(place("redrive", "0123456789abcdef0123456789abcdef"), "#/messages/0123456789abcdef0123456789abcdef");
  assert.equal(place("pause", "shop/eu"), "#/destinations/shop%2Feu");
  assert.equal(place("hold", "night"), undefined);
  assert.equal(place("remove", "shop"), undefined);
  assert.equal(place("something-newer", "shop"), undefined);
});

test("events are read whole, wherever the pieces are cut", () => {
  const text = ": hello\n\nid: 1.2.3\n\nid: 1.2.4\nevent: end\ndata: {\"a\":\ndata: 1}\n\n";
  for (let cut = 0; cut <= text.length; ++cut) {
    const parser = new EventParser();
    const events = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
    assert.deepEqual(events, [{ id: "1.2.4", event: "end", data: "{\"a\":\n1}" }]);
    assert.equal(parser.lastId, "1.2.4");
  }
});

test("what a broken connection left half said is forgotten, and where to go on is not", () => {
  const parser = new EventParser();
  parser.push("id: 7\nevent: end\ndata: {}\n\nid: 8\nevent: end\ndata: {\"half");
  parser.begin();
  assert.equal(parser.lastId, "7");
  assert.deepEqual(parser.push("id: 8\nevent: end\ndata: {}\n\n"), [{ id: "8", event: "end", data: "{}" }]);
});

test("fragments and links are each other's inverse", () => {
  const text = link(["destinations", "a/b c"], { health: "wait", prefix: "", cursor: "x=y&z" });
  const route = parseRoute(text);
  assert.deepEqual(route.parts, ["destinations", "a/b c"]);
  assert.equal(route.query.get("health"), "wait");
  assert.equal(route.query.has("prefix"), false);
  assert.equal(route.query.get("cursor"), "x=y&z");
  assert.deepEqual(parseRoute("").parts, []);
  assert.deepEqual(parseRoute("#/%zz").parts, ["%zz"]);
  assert.ok(isMessageId("0123456789abcdef0123456789abcdef"));
  assert.ok(!isMessageId("0123"));
  assert.ok(isJobId("0123456789abcdef") && !isJobId("0123456789abcdeg") && !isJobId("0123456789abcdef0"));
});

test("mailboxes are those of all destinations that are read, the fullest first", () => {
  const destination = (name: string, profile: string) => ({ name, profile }) as Destination;
  const boxes = mailboxesOf(
    [destination("a", "mailbox"), destination("shop", "webhook"), destination("b", "mailbox"), destination("in:*", "mailbox"), destination("c", "mailbox")],
    [{ destination: "b", live: 7, oldest_at: "2026-01-01T00:00:00Z" }, { destination: "shop", live: 9 }, { live: 3 }],
  );
  assert.deepEqual(boxes, [{ name: "b", messages: 7, oldest_at: "2026-01-01T00:00:00Z" }, { name: "a", messages: 0 }, { name: "c", messages: 0 }]);
});

test("a body in a mailbox is shown as one short line", () => {
  assert.deepEqual(shownBody({ id: "1", body: "hello\n  world" }), "hello world");
  assert.deepEqual(shownBody({ id: "1", body: { order: 4711 } }), '{"order":4711}');
  assert.deepEqual(shownBody({ id: "1", body_base64: "AAE=" }), "(bytes)");
  assert.deepEqual(shownBody({ id: "1" }), "");
  assert.deepEqual(shownBody({ id: "1", body: "x".repeat(201) }).length, 201);
});
