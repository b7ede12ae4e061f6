// Ages of live messages, after Postfix's qshape: by destination (as GET /v1/shape tells them) and by phase. Pure.
import type { Explanation, LivePhase, ShapePage, ShapeRow } from "./types.ts";
import { shortSpan } from "./format.ts";
import { kLivePhases } from "./words.ts";

// What all pages of GET /v1/shape amount to.
export interface Shape {
  ages: string[]; // of the columns: "5 m" for those younger than that, the last one has no bound
  rows: ShapeRow[];
  total: number;
  phases: Record<LivePhase, number>;
  states: Record<string, number>;
  oldest?: { destination?: string | undefined; accepted_at: string };
  partial: boolean; // there are more than were looked at
}

export function noPhases(): Record<LivePhase, number> {
  return { queued: 0, "in-flight": 0, awaiting: 0, backoff: 0, parked: 0 };
}

function addTo(sums: Record<string, number>, more: Record<string, number>): void {
  for (const [name, number] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + number;
}

function merge(one: ShapeRow, other: ShapeRow): ShapeRow {
  const merged = { ...one, counts: one.counts.map((number, index) => number + (other.counts[index] ?? 0)), total: one.total + other.total,
    phases: { ...one.phases }, states: { ...one.states } };
  addTo(merged.phases, other.phases);
  addTo(merged.states, other.states);
  const oldest = [one.oldest_at, other.oldest_at].filter((at) => at !== undefined).sort()[0];
  return oldest === undefined ? merged : { ...merged, oldest_at: oldest };
}

// Rows of one destination may be on several pages.
export function joinPages(pages: ShapePage[], partial: boolean, wanted: (row: ShapeRow) => boolean = () => true): Shape {
  const rows = new Map<string, ShapeRow>();
  for (const row of pages.flatMap((page) => page.destinations).filter(wanted)) {
    const before = rows.get(row.destination_id);
    rows.set(row.destination_id, before === undefined ? row : merge(before, row));
  }
  const bounds = pages[0]?.ages_s ?? [];
  const shape: Shape = {
    ages: [...bounds.map(shortSpan), "older"],
    rows: [...rows.values()].sort((one, other) => (one.oldest_at ?? "~").localeCompare(other.oldest_at ?? "~")),
    total: 0, phases: noPhases(), states: {}, partial,
  };
  for (const row of shape.rows) {
    shape.total += row.total;
    addTo(shape.phases, row.phases);
    addTo(shape.states, row.states);
  }
  const first = shape.rows[0];
  if (first?.oldest_at !== undefined) shape.oldest = { destination: first.name, accepted_at: first.oldest_at };
  return shape;
}

// Age × phase, counted from messages.

export const kAges: { label: string; below: number }[] = [
  { label: "10 s", below: 10_000 },
  { label: "1 m", below: 60_000 },
  { label: "10 m", below: 600_000 },
  { label: "1 h", below: 3_600_000 },
  { label: "6 h", below: 21_600_000 },
  { label: "1 d", below: 86_400_000 },
  { label: "3 d", below: 259_200_000 },
  { label: "older", below: Infinity },
];

export interface PhaseAges {
  counts: Record<LivePhase, number[]>; // by age
  total: number;
  partial: boolean;
  oldest?: { id: string; accepted_at: string };
}

export function bucketOf(age: number): number {
  return kAges.findIndex((bucket) => age < bucket.below);
}

export function countAges(messages: Explanation[], partial: boolean, now: number): PhaseAges {
  const zeros = () => kAges.map(() => 0);
  const ages: PhaseAges = {
    counts: { queued: zeros(), "in-flight": zeros(), awaiting: zeros(), backoff: zeros(), parked: zeros() }, total: 0, partial,
  };
  for (const message of messages) {
    const phase = kLivePhases.find((one) => one === message.phase);
    if (phase === undefined || message.accepted_at === undefined) continue; // it ended meanwhile
    const column = bucketOf(Math.max(0, now - Date.parse(message.accepted_at)));
    ages.counts[phase][column] = (ages.counts[phase][column] ?? 0) + 1;
    ++ages.total;
    if (ages.oldest === undefined || message.accepted_at < ages.oldest.accepted_at) ages.oldest = { id: message.id, accepted_at: message.accepted_at };
  }
  return ages;
}

// 0 (nothing) to 5: by powers, because one old message matters beside a thousand young ones.
export function heat(value: number, most: number): number {
  if (value <= 0) return 0;
  if (most <= 1) return 2;
  return Math.min(5, 1 + Math.round((4 * Math.log(value)) / Math.log(most)));
}
