// Dead letters by cause. The daemon counts them by destination, phase and cause; here the destinations of one cause come
// together. Pure.
import type { DeadGroup, DeadLetter } from "./types.ts";

export interface Part {
  destination?: string | undefined; // absent: it was removed
  destination_id: string;
  count: number;
  reason: string; // of the newest
  examples: string[];
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
    group.parts.push({ destination: one.destination, destination_id: one.destination_id, count: one.count, reason: one.reason ?? "", examples: [one.example] });
    if (one.first_at !== undefined && (group.first === undefined || one.first_at < group.first)) group.first = one.first_at;
    if (one.last_at !== undefined && (group.last === undefined || one.last_at > group.last)) group.last = one.last_at;
  }
  const all = [...groups.values()].sort((one, other) => other.total - one.total || one.key.localeCompare(other.key));
  for (const group of all) group.parts.sort((one, other) => other.count - one.count);
  return all;
}

// The same from the letters themselves, with the ids of all of them as examples.
export function groupLetters(letters: DeadLetter[], names: Map<string, string>): Group[] {
  const counted = new Map<string, DeadGroup & { ids: string[] }>();
  for (const letter of letters) {
    const key = [letter.destination_id, letter.phase, letter.cause].join(" ");
    const name = names.get(letter.destination_id);
    const group = counted.get(key) ?? {
      ...(name === undefined ? {} : { destination: name }), destination_id: letter.destination_id, phase: letter.phase, cause: letter.cause,
      count: 0, example: letter.id, ids: [],
    };
    counted.set(key, group);
    ++group.count;
    group.ids.push(letter.id);
    if (letter.at === undefined) continue;
    if (group.first_at === undefined || letter.at < group.first_at) group.first_at = letter.at;
    if (group.last_at === undefined || letter.at >= group.last_at) {
      group.last_at = letter.at;
      group.reason = letter.reason ?? "";
    }
  }
  const groups = groupByCause([...counted.values()]);
  for (const group of groups) {
    for (const part of group.parts) {
      part.examples = counted.get([part.destination_id, group.phase, group.cause].join(" "))?.ids ?? part.examples;
    }
  }
  return groups;
}
