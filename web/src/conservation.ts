// The conservation law as a bar: accepted = the five ends + live. Pure.
import type { Conservation } from "./types.ts";
import { kEnds } from "./words.ts";

export const kParts = [...kEnds, "live"] as const;
export type Part = (typeof kParts)[number];

export interface Segment {
  part: Part;
  value: number;
  share: number; // of the bar, 0 to 1
}

// The parts that are not zero, in their order, drawn to scale.
export function segments(law: Conservation): Segment[] {
  const whole = kParts.reduce((sum, part) => sum + law[part], 0);
  if (whole === 0) return [];
  return kParts
    .map((part) => ({ part, value: law[part], share: law[part] / whole }))
    .filter((segment) => segment.value > 0);
}

// How many messages the books cannot account for; 0 in a daemon without bugs.
export function missing(law: Conservation): number {
  return law.accepted - kParts.reduce((sum, part) => sum + law[part], 0);
}
