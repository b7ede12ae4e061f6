// The audit from its newest line back. The daemon tells it from the oldest on, by cursor: the end is walked to once, pages that
// nobody saw are let go of on the way, and fetched again when somebody wants older ones. Pure but for the asking.
import { isJobId, isMessageId, link } from "./paths.ts";
import type { AuditLine } from "./types.ts";

type Cursor = string | undefined;
export type AskAudit = (cursor: Cursor) => Promise<{ items: AuditLine[]; next?: Cursor }>;

export interface Trail {
  starts: Cursor[]; // where each page begins
  from: number; // of the first page that is kept
  pages: AuditLine[][];
  ended: boolean; // the end was seen
}

const kKeptUnseen = 2; // a newest page with a few lines, and the one before it

export const emptyTrail = (): Trail => ({ starts: [undefined], from: 0, pages: [], ended: false });

// Goes on from the last page, which may have grown, for a bounded number of pages.
export async function goOn(trail: Trail, ask: AskAudit, pagesMax: number): Promise<Trail> {
  const next: Trail = { starts: [...trail.starts], from: trail.from, pages: [...trail.pages], ended: trail.ended };
  for (let asked = 0; asked < pagesMax; ++asked) {
    const page = await ask(next.starts.at(-1));
    next.pages[next.starts.length - 1 - next.from] = page.items;
    if (page.next === undefined) return { ...next, ended: true };
    next.starts.push(page.next);
    while (!trail.ended && next.pages.length >= kKeptUnseen) {
      next.pages.shift();
      ++next.from;
    }
  }
  return next;
}

export async function older(trail: Trail, ask: AskAudit): Promise<Trail> {
  if (trail.from === 0) return trail;
  const page = await ask(trail.starts[trail.from - 1]);
  return { ...trail, from: trail.from - 1, pages: [page.items, ...trail.pages] };
}

export function newestFirst(trail: Trail): AuditLine[] {
  return trail.pages.flat().reverse();
}

// What is done to a destination that is still there afterwards.
const kOnDestinations = ["configure", "limits", "drain", "pause", "resume", "wake"];

// Where its target can be seen; nothing for what is a name only, such as a hold.
export function placeOf(line: AuditLine): string | undefined {
  if (line.action.startsWith("job-")) return isJobId(line.target) ? link(["jobs", line.target]) : undefined;
  if (kOnDestinations.includes(line.action)) return link(["destinations", line.target]);
  return isMessageId(line.target) ? link(["messages", line.target]) : undefined;
}
