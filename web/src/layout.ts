// Where the states of a profile are drawn: live states in layers from top to bottom, ends in a column at the right.
// Lines that go on by one layer are straight; those that skip layers bow out to the right, those that go back to the
// left. Pure.
import type { Method, Profile, Transition } from "./types.ts";

export const kNode = { width: 132, height: 40, gapX: 28, gapY: 34 };
const kMargin = 14;
const kBow = 26; // of a line that skips one layer
const kEndGap = 64;

export interface Node {
  name: string;
  phase: string;
  end: boolean;
  x: number; // of the upper left corner
  y: number;
}
export interface Edge {
  from: string;
  to: string;
  signals: string[];
  toEnd: boolean;
  skips: boolean; // more than the next layer, or back
  path: string;
  label: { x: number; y: number };
}
export interface Drawing {
  nodes: Node[];
  edges: Edge[];
  width: number;
  height: number;
}

const kEnds = new Set(["delivered", "dead", "expired", "cancelled", "indeterminate"]);

// The rows that lead somewhere else.
export function leads(row: Transition): boolean {
  return row.verb !== "ignore" && row.to !== "-" && row.to !== row.from;
}

interface Link {
  from: string;
  to: string;
  signals: string[];
}

export function linksOf(method: Method): Link[] {
  const links = new Map<string, Link>();
  for (const row of method.transitions.filter(leads)) {
    const key = `${row.from}\n${row.to}`;
    const link = links.get(key) ?? { from: row.from, to: row.to, signals: [] };
    if (!link.signals.includes(row.on)) link.signals.push(row.on);
    links.set(key, link);
  }
  return [...links.values()];
}

// The links without those that close a circle, as met from `initial` on.
function forward(links: Link[], initial: string): Link[] {
  const open = new Set<string>();
  const seen = new Set<string>();
  const kept: Link[] = [];
  const visit = (state: string) => {
    seen.add(state);
    open.add(state);
    for (const link of links.filter((one) => one.from === state)) {
      if (open.has(link.to)) continue;
      kept.push(link);
      if (!seen.has(link.to)) visit(link.to);
    }
    open.delete(state);
  };
  visit(initial);
  return kept;
}

// Longest way from the first state; bounded by the number of states, because `forward` has no circles.
export function layersOf(states: string[], links: Link[], initial: string): Map<string, number> {
  const layer = new Map<string, number>([[initial, 0]]);
  const ahead = forward(links, initial);
  for (let round = 0; round < states.length; ++round) {
    for (const link of ahead) {
      const from = layer.get(link.from);
      if (from !== undefined && (layer.get(link.to) ?? -1) < from + 1) layer.set(link.to, from + 1);
    }
  }
  return layer;
}

function place(rows: string[][], left: number, phases: Map<string, string>): Node[] {
  const widest = Math.max(...rows.map((row) => row.length));
  return rows.flatMap((row, index) => {
    const free = (widest - row.length) * (kNode.width + kNode.gapX);
    return row.map((name, column) => ({
      name,
      phase: phases.get(name) ?? "",
      end: false,
      x: left + free / 2 + column * (kNode.width + kNode.gapX),
      y: kMargin + index * (kNode.height + kNode.gapY),
    }));
  });
}

function route(from: Node, to: Node, layers: number): { path: string; label: { x: number; y: number } } {
  const middle = from.x + kNode.width / 2;
  const target = to.x + kNode.width / 2;
  if (to.end) {
    const start = { x: from.x + kNode.width, y: from.y + kNode.height / 2 };
    const end = { x: to.x - 3, y: to.y + kNode.height / 2 };
    const turn = (start.x + end.x) / 2;
    return {
      path: `M${start.x} ${start.y}C${turn} ${start.y} ${turn} ${end.y} ${end.x} ${end.y}`,
      label: { x: turn, y: (start.y + end.y) / 2 },
    };
  }
  if (layers === 1) {
    const top = from.y + kNode.height;
    const bottom = to.y - 3;
    return {
      path: `M${middle} ${top}C${middle} ${(top + bottom) / 2} ${target} ${(top + bottom) / 2} ${target} ${bottom}`,
      label: { x: (middle + target) / 2 + 4, y: (top + bottom) / 2 + 3 },
    };
  }
  // Out at one side and back at the same side; the farther, the wider.
  const right = layers > 0;
  const wide = kBow * (0.6 + Math.abs(layers) * 0.55);
  const side = (node: Node) => (right ? node.x + kNode.width : node.x);
  const shift = right ? 6 : -6; // lines in and out do not meet in one point
  const start = { x: side(from), y: from.y + kNode.height / 2 + shift };
  const end = { x: side(to) + (right ? 3 : -3), y: to.y + kNode.height / 2 - shift };
  const out = right ? Math.max(start.x, end.x) + wide : Math.min(start.x, end.x) - wide;
  return {
    path: `M${start.x} ${start.y}C${out} ${start.y} ${out} ${end.y} ${end.x} ${end.y}`,
    label: { x: out * 0.75 + ((start.x + end.x) / 2) * 0.25, y: (start.y + end.y) / 2 },
  };
}

export function draw(profile: Profile, method: Method): Drawing {
  const links = linksOf(method);
  const phases = new Map<string, string>(profile.states.map((row) => [row.state, row.phase]));
  const used = new Set([method.initial, ...links.flatMap((link) => [link.from, link.to])]);
  const isEnd = (name: string) => kEnds.has(phases.get(name) ?? "");
  const states = profile.states.map((row) => row.state).filter((name) => used.has(name));
  const live = states.filter((name) => !isEnd(name));
  const liveLinks = links.filter((link) => !isEnd(link.from) && !isEnd(link.to));
  const layers = layersOf(live, liveLinks, method.initial);
  const last = Math.max(0, ...layers.values());
  const rows: string[][] = [];
  for (const name of live) (rows[layers.get(name) ?? last + 1] ??= []).push(name);
  const filled = Array.from(rows, (row) => row ?? []).filter((row) => row.length > 0);

  const spans = liveLinks.map((link) => (layers.get(link.to) ?? 0) - (layers.get(link.from) ?? 0));
  const widest = (sign: number) => Math.max(0, ...spans.filter((one) => Math.sign(one) === sign).map(Math.abs));
  const left = kMargin + kBow * (0.6 + widest(-1) * 0.55) * 0.8;
  const nodes = place(filled, left, phases);
  const rightmost = Math.max(...nodes.map((node) => node.x + kNode.width));
  const endsX = rightmost + kBow * (0.6 + widest(1) * 0.55) * 0.75 + kEndGap;
  const height = 2 * kMargin + filled.length * (kNode.height + kNode.gapY) - kNode.gapY;
  const ends = states.filter(isEnd);
  const step = Math.max(kNode.height + 12, Math.min(kNode.height + kNode.gapY, height / ends.length));
  ends.forEach((name, index) => {
    nodes.push({ name, phase: phases.get(name) ?? "", end: true, x: endsX, y: kMargin + index * step });
  });

  const byName = new Map(nodes.map((node) => [node.name, node]));
  const edges = links.flatMap((link) => {
    const from = byName.get(link.from);
    const to = byName.get(link.to);
    if (from === undefined || to === undefined) return [];
    const span = (layers.get(link.to) ?? 0) - (layers.get(link.from) ?? 0);
    return [{ ...link, toEnd: to.end, skips: span !== 1, ...route(from, to, span) }];
  });
  return {
    nodes,
    edges,
    width: endsX + kNode.width + kMargin,
    height: Math.max(height, 2 * kMargin + (ends.length - 1) * step + kNode.height),
  };
}
