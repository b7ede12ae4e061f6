// Drawing the state machine of a profile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, kNode, layersOf, leads, linksOf } from "../src/layout.ts";
import type { Method, Phase, Profile, Transition } from "../src/types.ts";

const row = (from: string, on: string, to: string, verb = "await"): Transition => ({ from, on, to, verb, raise: "-", why: "" });

const kMethod: Method = {
  name: "post",
  initial: "Queued",
  transitions: [
    row("Queued", "due", "Sending", "start-attempt"),
    row("Sending", "failed", "Waiting"), row("Sending", "timed-out", "Waiting"),
    row("Waiting", "due", "Queued"), row("Sending", "due", "-", "ignore"), row("Waiting", "seen", "Waiting"),
    row("Sending", "answered", "Delivered"), row("Queued", "answered", "Delivered"), row("Queued", "held", "Parked"),
    row("Waiting", "held", "Parked"),
  ],
};
const state = (name: string, phase: Phase) => ({ state: name, phase });
const kProfile: Profile = {
  name: "test",
  settings: [],
  states: [state("Queued", "queued"), state("Sending", "in-flight"), state("Waiting", "backoff"), state("Parked", "parked"),
    state("Delivered", "delivered"), state("Unused", "dead")],
  methods: [kMethod],
};

test("only rows that lead somewhere else are drawn, one line for all signals of a pair", () => {
  assert.equal(kMethod.transitions.filter(leads).length, 8);
  const links = linksOf(kMethod);
  assert.deepEqual(links.find((link) => link.from === "Sending" && link.to === "Waiting")?.signals, ["failed", "timed-out"]);
});

test("each state is below all that lead to it, and circles do not matter", () => {
  const links = linksOf(kMethod).filter((link) => link.to !== "Delivered");
  const layers = layersOf(["Queued", "Sending", "Waiting", "Parked"], links, "Queued");
  assert.deepEqual([...layers].sort(), [["Parked", 3], ["Queued", 0], ["Sending", 1], ["Waiting", 2]]);
});

test("a label has two signals at most, and says how many more there are", () => {
  const method = { ...kMethod, transitions: [...kMethod.transitions, row("Sending", "refused", "Waiting")] };
  assert.equal(draw(kProfile, method).edges.find((edge) => edge.to === "Waiting")?.label.text, "failed +2");
});

test("no two states overlap, ends stand at the right, and everything is inside", () => {
  const drawing = draw(kProfile, kMethod);
  assert.deepEqual(drawing.nodes.map((node) => node.name).sort(), ["Delivered", "Parked", "Queued", "Sending", "Waiting"]);
  for (const one of drawing.nodes) {
    assert.ok(one.x >= 0 && one.x + kNode.width <= drawing.width && one.y >= 0 && one.y + kNode.height <= drawing.height);
    for (const other of drawing.nodes) {
      if (one === other) continue;
      assert.ok(Math.abs(one.x - other.x) >= kNode.width || Math.abs(one.y - other.y) >= kNode.height, `${one.name} ${other.name}`);
      if (one.end && !other.end) assert.ok(one.x > other.x + kNode.width);
    }
  }
  assert.equal(drawing.edges.length, linksOf(kMethod).length);
  for (const edge of drawing.edges) {
    assert.ok(!edge.path.includes("NaN"));
    assert.ok(edge.label.x - edge.label.text.length * 2.8 >= 0 && edge.label.x + edge.label.text.length * 2.8 <= drawing.width);
  }
});
