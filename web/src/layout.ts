// Where the states of a profile are drawn: live states one below the other, ends in a column at the right. Lines to the next
// row are straight; those that skip rows bow out to the right, those that go back to the left. Pure.
import type { Method, Profile, Transition } from "./types.ts";
import { kEnds } from "./words.ts";

export const kNode = { width: 132, height: 40, gap: 32 };
const kMargin = 14;
const kBow = 26; // of a line that skips one row
const kCharacter = 5.6; // of a label, about
const kEndGap = 88;

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
  skips: boolean; // more than the next row, or back
  path: string;
  label: { x: number; y: number; text: string };
}
export interface Drawing {
  nodes: Node[];
  edges: Edge[];
  width: number;
  height: number;
}


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

// Of two signals at most, so that there is room.
function labelOf(signals: string[]): string {
  return signals.length <= 2 ? signals.join(", ") : `${signals[0] ?? ""} +${signals.length - 1}`;
}

// How far a line bows out that goes over so many rows.
function bow(rows: number): number {
  return kBow * (0.6 + Math.abs(rows) * 0.55);
}

interface Way {
  path: string;
  x: number; // of the label's middle
  y: number;
}

function routeToEnd(from: Node, to: Node): Way {
  const start = { x: from.x + kNode.width, y: from.y + kNode.height / 2 };
  const end = { x: to.x - 3, y: to.y + kNode.height / 2 };
  const turn = (start.x + end.x) / 2;
  return {
    path: `M${start.x} ${start.y}C${turn} ${start.y} ${turn} ${end.y} ${end.x} ${end.y}`,
    x: turn,
    y: (start.y + end.y) / 2 + 3,
  };
}

function route(from: Node, to: Node, rows: number): Way {
  if (to.end) return routeToEnd(from, to);
  if (rows === 1) {
    const middle = from.x + kNode.width / 2;
    return { path: `M${middle} ${from.y + kNode.height}V${to.y - 3}`, x: middle + 4, y: (from.y + kNode.height + to.y) / 2 + 3 };
  }
  // Out at one side and back at the same side; the farther, the wider.
  const right = rows > 0;
  const shift = right ? 6 : -6; // lines in and out do not meet in one point
  const side = right ? from.x + kNode.width : from.x;
  const start = from.y + kNode.height / 2 + shift;
  const end = to.y + kNode.height / 2 - shift;
  const out = right ? side + bow(rows) : side - bow(rows);
  return {
    path: `M${side} ${start}C${out} ${start} ${out} ${end} ${side + (right ? 3 : -3)} ${end}`,
    x: out * 0.75 + side * 0.25,
    y: (start + end) / 2 + 3,
  };
}

export function draw(profile: Profile, method: Method): Drawing {
  const links = linksOf(method);
  const phases = new Map<string, string>(profile.states.map((row) => [row.state, row.phase]));
  const used = new Set([method.initial, ...links.flatMap((link) => [link.from, link.to])]);
  const isEnd = (name: string) => kEnds.some((end) => end === phases.get(name));
  const states = profile.states.map((row) => row.state).filter((name) => used.has(name));
  const ends = states.filter(isEnd);
  const live = states.filter((name) => !isEnd(name));
  const liveLinks = links.filter((link) => !isEnd(link.from) && !isEnd(link.to));
  const layers = layersOf(live, liveLinks, method.initial);
  live.sort((one, other) => (layers.get(one) ?? live.length) - (layers.get(other) ?? live.length));
  const rowOf = new Map(live.map((name, index) => [name, index]));
  const rowsOf = (link: Link) => (rowOf.get(link.to) ?? 0) - (rowOf.get(link.from) ?? 0);

  const rows = liveLinks.map(rowsOf);
  const left = kMargin + bow(Math.max(0, ...rows.map((one) => -one)));
  const endsX = left + kNode.width + bow(Math.max(0, ...rows)) * 0.75 + kEndGap;
  const step = kNode.height + kNode.gap;
  const node = (name: string, end: boolean, index: number): Node =>
    ({ name, phase: phases.get(name) ?? "", end, x: end ? endsX : left, y: kMargin + index * step });
  const nodes = [...live.map((name, index) => node(name, false, index)), ...ends.map((name, index) => node(name, true, index))];

  const byName = new Map(nodes.map((one) => [one.name, one]));
  const width = endsX + kNode.width + kMargin;
  const edges = links.flatMap((link) => {
    const from = byName.get(link.from);
    const to = byName.get(link.to);
    if (from === undefined || to === undefined) return [];
    const { path, x, y } = route(from, to, rowsOf(link));
    const text = labelOf(link.signals);
    const half = (text.length * kCharacter) / 2 + 3;
    const inside = Math.min(width - half, Math.max(half, x));
    return [{ ...link, toEnd: to.end, skips: rowsOf(link) !== 1, path, label: { x: inside, y, text } }];
  });
  return { nodes, edges, width, height: 2 * kMargin + Math.max(live.length, ends.length) * step - kNode.gap };
}
