// Dead letters by cause. Pure.
import type { DeadLetter } from "./types.ts";

export interface Group {
  key: string;
  phase: DeadLetter["phase"];
  cause: string;
  reason: string; // with numbers and ids taken out, so that alike is alike
  example: string; // one reason as it was
  total: number;
  destinations: Record<string, number>; // by destination_id
  first?: string;
  last?: string;
  ids: string[]; // those that were looked at
}

// "status 503 after 1200 ms (req 9f3a…)" and its sisters are one cause.
export function alike(reason: string): string {
  return reason
    .replace(/\b[0-9a-f]{8,}(-[0-9a-f]{4,})*\b/gi, "…")
    .replace(/\b(\d{1,3}\.){3}\d{1,3}(:\d+)?\b/g, "…")
    .replace(/\b\d{4,}\b/g, "…")
    .trim();
}

export function groupByCause(letters: DeadLetter[]): Group[] {
  const groups = new Map<string, Group>();
  for (const letter of letters) {
    const reason = alike(letter.reason ?? "");
    const key = [letter.phase, letter.cause, reason].join(" · ");
    let group = groups.get(key);
    if (group === undefined) {
      group = {
        key, phase: letter.phase, cause: letter.cause, reason, example: letter.reason ?? "",
        total: 0, destinations: {}, ids: [],
      };
      groups.set(key, group);
    }
    ++group.total;
    group.ids.push(letter.id);
    group.destinations[letter.destination_id] = (group.destinations[letter.destination_id] ?? 0) + 1;
    if (letter.at !== undefined) {
      if (group.first === undefined || letter.at < group.first) group.first = letter.at;
      if (group.last === undefined || letter.at > group.last) group.last = letter.at;
    }
  }
  return [...groups.values()].sort((one, other) => other.total - one.total || one.key.localeCompare(other.key));
}
