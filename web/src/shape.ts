// Age × phase of live messages, after Postfix's qshape. Pure.
import { kLivePhases } from "./types.ts";
import type { Explanation, LivePhase } from "./types.ts";

// Upper bounds of the ages, in ms; the last bucket has none.
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

export interface Shape {
  counts: Record<LivePhase, number[]>; // by age
  states: Record<string, number>; // by the profile's own word
  total: number;
  partial: boolean; // there are more than were looked at
  oldest?: { id?: string | undefined; destination?: string | undefined; accepted_at: string };
}

export function emptyShape(): Shape {
  const counts = {} as Record<LivePhase, number[]>;
  for (const phase of kLivePhases) counts[phase] = kAges.map(() => 0);
  return { counts, states: {}, total: 0, partial: false };
}

export function bucketOf(age: number): number {
  return kAges.findIndex((bucket) => age < bucket.below);
}

export function addToShape(shape: Shape, message: Explanation, now: number): void {
  const row = shape.counts[message.phase as LivePhase];
  if (row === undefined) return; // it ended meanwhile
  ++shape.total;
  shape.states[message.state] = (shape.states[message.state] ?? 0) + 1;
  if (message.accepted_at === undefined) return;
  const column = bucketOf(Math.max(0, now - Date.parse(message.accepted_at)));
  row[column] = (row[column] ?? 0) + 1;
  if (shape.oldest === undefined || message.accepted_at < shape.oldest.accepted_at) {
    shape.oldest = { id: message.id, destination: message.destination, accepted_at: message.accepted_at };
  }
}

export function phaseTotal(shape: Shape, phase: LivePhase): number {
  return shape.counts[phase].reduce((sum, value) => sum + value, 0);
}

// 0 (nothing) to 5: by powers, because one old message matters beside a thousand young ones.
export function heat(value: number, most: number): number {
  if (value <= 0) return 0;
  if (most <= 1) return 2;
  return Math.min(5, 1 + Math.round((4 * Math.log(value)) / Math.log(most)));
}
