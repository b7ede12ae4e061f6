// What a job's figures mean. Pure.
import { span } from "./format.ts";
import type { Job, JobAction, JobFilter, Phase } from "./types.ts";
import { kFailures, kLivePhases } from "./words.ts";

// On a button, in a dry run, and of a job.
export const kActionWords: Record<JobAction, { verb: string; would: string; does: string }> = {
  redrive: {
    verb: "Redrive", would: "be sent again, each as a new message linked to the old one",
    does: "dead letters are sent again, each as a new message linked to the old one",
  },
  drop: { verb: "Drop", would: "be gone for good, with their bodies", does: "dead letters are removed for good" },
  retry: { verb: "Retry", would: "go back in line", does: "parked messages go back in line" },
  cancel: { verb: "Cancel", would: "end as cancelled and not be sent any more", does: "live messages end as cancelled" },
  resend: {
    verb: "Resend", would: "be sent once more, each as a new message; what is kept stays",
    does: "what has ended and is kept as history is sent once more, each as a new message",
  },
};

// Which phases an action can be about; none: it says itself.
export const kActionPhases: Record<JobAction, readonly Phase[]> = {
  redrive: ["dead", "expired"],
  drop: ["dead", "expired"],
  retry: [],
  cancel: kLivePhases,
  resend: ["delivered", "cancelled", "indeterminate"],
};
export const kActions = Object.keys(kActionWords) as JobAction[];
export const kCauses = kFailures;

// What somebody typed, as a filter: nothing for fields that are empty or that the action does not know. Times are of the
// place where the browser is.
export function filterFrom(action: JobAction, fields: JobFilter): JobFilter {
  const phase = kActionPhases[action].some((one) => one === fields.phase) ? fields.phase : undefined;
  const time = (text: string | undefined) => {
    const at = text === undefined || text === "" ? NaN : Date.parse(text);
    return Number.isNaN(at) ? undefined : new Date(at).toISOString();
  };
  const wanted = { ...fields, phase, since: time(fields.since), until: time(fields.until) };
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined && value !== ""));
}

export function isAlive(job: Job): boolean {
  return job.state === "running" || job.state === "waiting";
}

// Of what was there when its round began: 0 to 1; nothing when nobody counted.
export function share(job: Job): number | undefined {
  if (job.state === "done") return 1;
  if (job.expected === undefined || job.expected === 0) return undefined;
  return Math.min(1, (job.done + job.refused) / job.expected);
}

const kFilterWords: [keyof JobFilter, string][] = [
  ["destination", "destination"], ["destination_prefix", "destinations that begin with"], ["phase", "phase"], ["cause", "cause"],
  ["since", "since"], ["until", "until"], ["reason_prefix", "reason begins with"],
];

export function filterRows(filter: JobFilter): { name: string; value: string }[] {
  return kFilterWords.flatMap(([key, name]) => {
    const value = filter[key];
    return value === undefined || value === "" ? [] : [{ name, value }];
  });
}

export function filterText(filter: JobFilter): string {
  return filterRows(filter).map((row) => `${row.name} ${row.value}`).join(", ") || "everything";
}

// A forecast: never "now", which would say that nothing has to be done.
export function duration(milliseconds: number): string {
  const text = span(milliseconds);
  return text === "now" ? "less than a second" : text;
}
