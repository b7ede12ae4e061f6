// The audit from its newest line back, page by page, and what came meanwhile before it. Pure.
import { isJobId, isMessageId, link } from "./paths.ts";
import type { AuditLine } from "./types.ts";

interface AuditPage {
  items: AuditLine[];
  next?: string | undefined;
}
export interface Trail {
  lines: AuditLine[]; // the newest first
  next: string | undefined; // where older ones begin
}

// The newest page, put before what is known; instead of it, when so many came that the two do not meet.
export function refreshed(trail: Trail | undefined, page: AuditPage): Trail {
  const known = trail?.lines.slice(0, page.items.length).map((line) => JSON.stringify(line)) ?? [];
  const fresh = page.items.map((line) => JSON.stringify(line));
  for (let more = 0; trail !== undefined && known.length > 0 && more < fresh.length; ++more) {
    const both = Math.min(fresh.length - more, known.length);
    if (fresh.slice(more, more + both).every((line, index) => line === known[index])) {
      return { lines: [...page.items.slice(0, more), ...trail.lines], next: trail.next };
    }
  }
  return { lines: page.items, next: page.next };
}

export function extended(trail: Trail, page: AuditPage): Trail {
  return { lines: [...trail.lines, ...page.items], next: page.next };
}

// What is done to a destination that is still there afterwards.
const kOnDestinations = ["configure", "limits", "drain", "pause", "resume", "wake"];
const kOnGroups = ["group-put", "group-add", "group-remove"];

// Where its target can be seen; nothing for what is a name only, such as a hold.
export function placeOf(line: AuditLine): string | undefined {
  if (line.action.startsWith("job-")) return isJobId(line.target) ? link(["jobs", line.target]) : undefined;
  if (kOnDestinations.includes(line.action)) return link(["destinations", line.target]);
  if (kOnGroups.includes(line.action)) return link(["groups", line.target]);
  return isMessageId(line.target) ? link(["messages", line.target]) : undefined;
}
