// What the page of a message says, each thing once: the answer of `explain` and the timeline hold the same sentences. Pure.
import type { Explanation, Timeline } from "./types.ts";

// Reasons that only repeat what the page says about what it waits for.
const kPlain = new Set(["it has ended", "it waits for its next attempt", "an attempt is open"]);

export interface Told {
  why: string | undefined;
  lastFailure: string | undefined;
  entries: Timeline["entries"];
}

// "HTTP 503" is said by "after 12 ms: server: HTTP 503".
function says(sentence: string | undefined, part: string): boolean {
  return sentence !== undefined && (sentence === part || sentence.endsWith(`: ${part}`));
}

export function tell(it: Explanation, timeline: Timeline): Told {
  const entries: Timeline["entries"] = [];
  for (const entry of timeline.entries.filter((one) => !one.what.startsWith("waits-for-"))) {
    const { detail, ...bare } = entry;
    const before = entries.at(-1);
    // An end follows from the attempt before it, and has its reason.
    const known = detail !== undefined && !entry.what.startsWith("attempt-") && says(before?.detail, detail);
    entries.push(known || detail === undefined ? bare : entry);
  }
  const inTimeline = (part: string) => entries.some((entry) => says(entry.detail, part));
  const failure = it.last_outcome ?? it.last_failure;
  return {
    why: kPlain.has(it.why) || inTimeline(it.why) ? undefined : it.why,
    lastFailure: failure === undefined || inTimeline(failure) || says(it.why, failure) ? undefined : failure,
    entries,
  };
}
