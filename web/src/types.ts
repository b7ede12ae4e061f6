// What the daemon answers; /openapi.json has the whole description.

import type { kEnds, kEventKinds, kFailures, kHealths, kLivePhases } from "./words.ts";

export type LivePhase = (typeof kLivePhases)[number];
export type End = (typeof kEnds)[number];
export type Phase = LivePhase | End;
export type Failure = (typeof kFailures)[number];
export type Health = (typeof kHealths)[number];
export type Scope = "submit" | "read" | "operate" | "receive";

export const kReasonMax = 200; // bytes, of the daemon; characters are close enough for a field

export interface WhoAmI {
  tenant: string;
  scopes: Scope[];
  version: string;
}

export type Conservation = Record<End | "accepted" | "live", number>;

export interface Stats {
  conservation: Conservation;
  dead_letters: Record<string, number>;
  quarantined: number;
  in_window: number;
  open_attempts: number;
  destinations_in_memory: number;
  restoring: boolean;
  clock_doubt_s: number;
  since_start: Record<string, number>;
  process: Record<string, number>;
}

export interface Destination {
  name: string;
  destination_id: string;
  profile: string;
  settings: Record<string, string>;
  health: Health;
  health_since?: string;
  reason?: string;
  strikes: number;
  closed_until?: string;
  failing_since?: string;
  seen_at?: string;
  in_window: number;
  open_attempts: number;
  owed: boolean;
  draining: boolean;
  // Only of a destination that is in memory.
  delivered_last_ten_minutes?: number; // attempts
  failed_last_ten_minutes?: number;
  success_percent?: number;
  degraded?: boolean;
  last_failure?: string;
  last_failure_at?: string;
  last_error?: string;
}

export interface DestinationConfig {
  profile: string;
  settings: Record<string, string>;
}

export interface Explanation {
  id: string;
  destination?: string;
  phase: Phase;
  state: string;
  place: string;
  why: string;
  next: "attempt" | "outcome" | "news" | "operator" | "nothing";
  next_at?: string;
  accepted_at?: string;
  since?: string;
  expires_at?: string;
  attempts: number;
  last_failure?: string;
  last_outcome?: string;
  health: Health;
  cancel_wanted?: boolean;
  redrives?: string;
  batch?: { leader: string; number: number; attempts: number; members: string[] };
}

export interface Message extends Explanation {
  lane: number;
  priority: number;
  not_before?: string;
  first_attempt_at?: string;
  content_type?: string;
  headers?: Record<string, string>;
  has_body: boolean;
  body_bytes?: number;
  body?: string;
  body_base64?: string;
}

export interface Timeline {
  id: string;
  destination?: string;
  attempts: number;
  entries: { at?: string; what: string; detail?: string }[];
}

export interface ShapeRow {
  name?: string;
  profile?: string;
  destination_id: string;
  counts: number[];
  total: number;
  phases: Record<string, number>;
  states: Record<string, number>;
  oldest_at?: string;
}
export interface ShapePage {
  ages_s: number[];
  destinations: ShapeRow[];
  next?: string;
}

export interface DeadGroup {
  destination?: string;
  destination_id: string;
  phase: "dead" | "expired" | "parked";
  cause?: string;
  count: number;
  first_at?: string;
  last_at?: string;
  reason?: string;
  example: string;
}

export interface DeadGroupList {
  groups: DeadGroup[];
  letters: number;
  unlisted_groups: number; // beyond the limit of the list
  others: number; // letters that the daemon counts together
  unreadable: number;
}

export interface LogEvent {
  kind: (typeof kEventKinds)[number] | "fell-behind";
  event?: string;
  at?: string;
  destination?: string;
  destination_id?: string;
  id?: string;
  phase?: Phase;
  attempts?: number;
  latency_ms?: number;
  cause?: string;
  reason?: string;
  detail?: string;
}

export interface FanoutMember {
  destination: string;
  types: string[]; // none: everything
}
export interface FanoutGroup {
  name: string;
  members: FanoutMember[];
  skip_closed: boolean;
  changed_at?: string;
}

export type JobAction = "redrive" | "drop" | "retry" | "cancel" | "resend";
export interface JobFilter {
  destination?: string;
  destination_prefix?: string;
  phase?: string;
  cause?: string;
  since?: string;
  until?: string;
  reason_prefix?: string;
}
export interface JobOrder {
  action: JobAction;
  filter: JobFilter;
  rate: number; // per second
  reason?: string;
  every?: string; // a duration: "24h"
  all?: boolean; // needed when the filter names nothing
}
export interface DryRun {
  matched: number;
  looked: number; // 0: the groups knew it
  complete: boolean;
  rate: number;
  forecast_ms: number;
}
export interface Job {
  id: string;
  action: JobAction;
  filter: JobFilter;
  state: "running" | "waiting" | "done" | "cancelled";
  rate: number;
  created_at?: string;
  finished_at?: string;
  actor?: string;
  reason?: string;
  every_ms?: number;
  rounds?: number; // that are over
  next_at?: string;
  expected?: number; // absent: nobody knew without reading them
  looked: number;
  done: number;
  refused: number;
  last_refusal?: string;
  remaining_ms?: number;
}

export interface HoldRule {
  reason?: string;
  destination_prefix?: string;
  profile?: string;
  tenant?: string;
}
export interface Hold extends HoldRule {
  name: string;
  actor?: string;
  since?: string;
}

// How many messages of a destination live.
export interface Queue {
  destination?: string; // its name; none: it cannot be read
  live: number;
  oldest_at?: string;
}

export interface Mailbox {
  name: string;
  messages: number;
  oldest_at?: string;
}

export interface MailboxMessage {
  id: string;
  accepted_at?: string;
  expires_at?: string;
  body?: unknown;
  body_base64?: string; // of what is no text
}

export interface AuditLine {
  at?: string;
  actor: string;
  action: string;
  target: string;
  reason?: string;
  effect?: string;
}

export interface Transition {
  from: string;
  on: string;
  to: string;
  verb: string;
  raise: string;
  why: string;
}
export interface Method {
  name: string;
  initial: string;
  transitions: Transition[];
}
export interface SettingRow {
  setting: string;
  default: string; // "required": it must be given; "-": there is none
  "may be": string;
  meaning: string;
}
export interface Profile {
  name: string;
  settings: SettingRow[];
  states: { state: string; phase: Phase }[];
  methods: Method[];
}
