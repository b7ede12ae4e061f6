// Dead letters by cause. The daemon counts them by destination, phase and cause; here the destinations of one cause come
// together. Pure.
import type { DeadGroup, JobAction, JobFilter } from "./types.ts";

export interface Part {
  destination?: string | undefined; // absent: it was removed
  destination_id: string;
  count: number;
  reason: string; // of the newest
  example: string; // the newest; it may have left since
  first?: string | undefined;
  last?: string | undefined;
}

export interface Group {
  key: string;
  phase: DeadGroup["phase"];
  cause: string;
  total: number;
  first?: string;
  last?: string;
  parts: Part[]; // the largest first
}

// The reasons there are, each once.
export function reasonsOf(group: Group): string[] {
  return [...new Set(group.parts.map((part) => part.reason).filter((reason) => reason !== ""))];
}

export function groupByCause(counted: DeadGroup[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of counted) {
    const cause = one.cause ?? "none";
    const key = `${one.phase} · ${cause}`;
    const group = groups.get(key) ?? { key, phase: one.phase, cause, total: 0, parts: [] };
    groups.set(key, group);
    group.total += one.count;
    group.parts.push({
      destination: one.destination, destination_id: one.destination_id, count: one.count, reason: one.reason ?? "", example: one.example,
      first: one.first_at, last: one.last_at,
    });
    if (one.first_at !== undefined && (group.first === undefined || one.first_at < group.first)) group.first = one.first_at;
    if (one.last_at !== undefined && (group.last === undefined || one.last_at > group.last)) group.last = one.last_at;
  }
  const all = [...groups.values()].sort((one, other) => other.total - one.total || one.key.localeCompare(other.key));
  for (const group of all) group.parts.sort((one, other) => other.count - one.count);
  return all;
}

// What can be done to a group: parked messages live, so they go back in line or are cancelled; letters are sent again or dropped.
export function actionsOf(group: Group): { again: JobAction; away: JobAction } {
  return group.phase === "parked" ? { again: "retry", away: "cancel" } : { again: "redrive", away: "drop" };
}

// The filter that names a group, of one destination or of all.
export function filterOf(group: Group, destination: string | undefined): JobFilter {
  return {
    ...(destination === undefined ? {} : { destination }), phase: group.phase,
    ...(group.phase === "parked" ? {} : { cause: group.cause }),
  };
}
