// Every call to the daemon. Pages know what they want; only this file knows paths.
import type { Condition } from "./destinations.ts";
import { tokenWanted, token, unreachable } from "./session.ts";
import { mailboxesOf } from "./mailboxes.ts";
import { countAges, joinPages } from "./shape.ts";
import type { PhaseAges, Shape } from "./shape.ts";
import { EventParser } from "./sse.ts";
import type {
  AuditLine, DeadGroupList, Destination, DestinationConfig, DryRun, Explanation, FanoutGroup, FanoutMember, Hold, HoldRule, Job, JobOrder, LogEvent, Mailbox, MailboxMessage, Message, Profile, Queue, ShapePage,
  ShapeRow, Stats, Timeline, WhoAmI,
} from "./types.ts";

const kPage = 1000;
const kShapePagesMax = 3; // of what the daemon counts
const kAgePagesMax = 3; // of messages that are counted here
const kDestinationPagesMax = 10;
const kGroupPagesMax = 3;
const kReconnectDelay = 2000;

// What was refused, in the daemon's own words (RFC 9457).
export class Problem extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

export interface Page<T> {
  items: T[];
  next?: string | undefined;
}

interface Options {
  body?: unknown;
  signal?: AbortSignal | undefined;
}

// Not randomUUID(): that one is missing where the page comes over plain HTTP from another machine.
function newKey(): string {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return `dashboard-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function headersFor(method: string, hasBody: boolean): Record<string, string> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (token.value !== "") headers["authorization"] = `Bearer ${token.value}`;
  if (hasBody) headers["content-type"] = "application/json";
  if (method !== "GET") headers["idempotency-key"] = newKey();
  return headers;
}

async function problemOf(response: Response): Promise<Problem> {
  let detail = `${response.status} ${response.statusText}`;
  try {
    const problem = (await response.json()) as { detail?: string; title?: string };
    detail = problem.detail ?? problem.title ?? detail;
  } catch {
    // Somebody in between answered; the status has to do.
  }
  if (response.status === 401) tokenWanted.value = detail;
  return new Problem(response.status, detail);
}

async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const hasBody = options.body !== undefined;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: headersFor(method, hasBody),
      credentials: "omit",
      cache: "no-store",
      ...(hasBody ? { body: JSON.stringify(options.body) } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (options.signal?.aborted !== true) unreachable.value = true;
    throw error;
  }
  unreachable.value = false;
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function call<T>(method: string, path: string, options: Options = {}): Promise<T> {
  return (await (await send(method, path, options)).json()) as T;
}

function queryOf(values: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

const segment = encodeURIComponent;

// Follows a list for a bounded number of pages; `partial` when there would have been more.
async function walk<T>(
  path: string, field: string, query: Record<string, string>, pagesMax: number, signal?: AbortSignal,
): Promise<{ items: T[]; partial: boolean }> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; ++page) {
    const answer = await call<Record<string, unknown>>("GET", path + queryOf({ ...query, limit: kPage, cursor }), { signal });
    items.push(...(answer[field] as T[]));
    cursor = answer["next"] as string | undefined;
    if (cursor === undefined) return { items, partial: false };
  }
  return { items, partial: true };
}

export const whoami = (signal?: AbortSignal) => call<WhoAmI>("GET", "/v1/whoami", { signal });
export const stats = (signal?: AbortSignal) => call<Stats>("GET", "/v1/stats", { signal });

// Destinations

export async function destinations(
  filter: { prefix?: string; condition?: Condition | undefined; cursor?: string | undefined; limit?: number }, signal?: AbortSignal,
): Promise<Page<Destination>> {
  const { condition, ...rest } = filter;
  const asked = condition === "degraded" ? { degraded: "true" } : { health: condition };
  const answer = await call<{ destinations: Destination[]; next?: string }>(
    "GET", "/v1/destinations" + queryOf({ limit: 100, ...rest, ...asked }), { signal });
  return { items: answer.destinations, next: answer.next };
}

export const allDestinations = (signal?: AbortSignal) =>
  walk<Destination>("/v1/destinations", "destinations", {}, kDestinationPagesMax, signal);

export const destination = (name: string, signal?: AbortSignal) =>
  call<Destination>("GET", `/v1/destinations/${segment(name)}`, { signal });

// Refused when there is one of that name: to put it once more would change it, and its secret.
export async function newDestination(name: string, config: DestinationConfig): Promise<void> {
  const there = await destination(name).catch((error: unknown) => {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  });
  if (there !== undefined) throw new Problem(409, `there is a destination ${name} already`);
  await call<Done>("PUT", `/v1/destinations/${segment(name)}`, { body: config });
}
export const testDestination = (name: string) => call<{ id: string }>("POST", `/v1/destinations/${segment(name)}/test`);

export interface Done {
  answer: "done" | "nothing" | "pending";
  detail?: string;
}
export const pause = (name: string, reason: string) =>
  call<Done>("POST", `/v1/destinations/${segment(name)}/pause`, { body: reason === "" ? {} : { reason } });
export const resume = (name: string) => call<Done>("POST", `/v1/destinations/${segment(name)}/resume`);
export const wake = (name: string) => call<Done>("POST", `/v1/destinations/${segment(name)}/wake`);

// Messages

export async function messages(
  filter: { destination?: string; phase?: string; cursor?: string | undefined; limit?: number }, signal?: AbortSignal,
): Promise<Page<Explanation>> {
  const answer = await call<{ messages: Explanation[]; next?: string }>(
    "GET", "/v1/messages" + queryOf({ limit: 50, ...filter }), { signal });
  return { items: answer.messages, next: answer.next };
}

export const message = (id: string, body: boolean, signal?: AbortSignal) =>
  call<Message>("GET", `/v1/messages/${segment(id)}${body ? "?body=true" : ""}`, { signal });
export const explain = (id: string, signal?: AbortSignal) =>
  call<Explanation>("GET", `/v1/messages/${segment(id)}/explain`, { signal });
export const timeline = (id: string, signal?: AbortSignal) =>
  call<Timeline>("GET", `/v1/messages/${segment(id)}/timeline`, { signal });
export const cancel = (id: string) => call<Done>("POST", `/v1/messages/${segment(id)}/cancel`);
// A new message with the content of an old one, which stays as it is.
export const resend = (id: string) => call<{ id: string; resends: string }>("POST", `/v1/messages/${segment(id)}/resend`);
export const retry = (id: string) => call<Done>("POST", `/v1/messages/${segment(id)}/retry`);

// Ages of live messages by destination; the daemon counts. `profile` leaves out the others.
export async function shape(of: { destination?: string; profile?: string }, signal?: AbortSignal): Promise<Shape> {
  const pages: ShapePage[] = [];
  let cursor: string | undefined;
  const wanted = (row: ShapeRow) => of.profile === undefined || row.profile === of.profile;
  do {
    const page = await call<ShapePage>("GET", "/v1/shape" + queryOf({ destination: of.destination, cursor }), { signal });
    pages.push(page);
    cursor = page.next;
  } while (cursor !== undefined && pages.length < kShapePagesMax);
  return joinPages(pages, cursor !== undefined, wanted);
}

// Ages by phase, of one destination; of its first messages, when it has very many.
export async function phaseAges(destinationName: string, signal?: AbortSignal): Promise<PhaseAges> {
  const found = await walk<Explanation>("/v1/messages", "messages", { destination: destinationName }, kAgePagesMax, signal);
  return countAges(found.items, found.partial, Date.now());
}

// Dead letters

export const deadLetterGroups = (signal?: AbortSignal) =>
  call<DeadGroupList>("GET", "/v1/dead-letters/groups" + queryOf({ limit: kPage }), { signal });

export const redriveOne = (id: string) =>
  call<{ id: string; redrives?: string }>("POST", `/v1/dead-letters/${segment(id)}/redrive`);

// Jobs. The daemon keeps fewer than a page of them.

export const jobs = (signal?: AbortSignal) =>
  call<{ jobs: Job[] }>("GET", "/v1/jobs" + queryOf({ limit: kPage }), { signal }).then((answer) => answer.jobs);
export const job = (id: string, signal?: AbortSignal) => call<Job>("GET", `/v1/jobs/${segment(id)}`, { signal });
// Counts, and changes nothing.
export const dryRun = (order: JobOrder, signal?: AbortSignal) =>
  call<DryRun>("POST", "/v1/jobs", { body: { ...order, dry_run: true }, signal });
export const startJob = (order: JobOrder) => call<{ id: string }>("POST", "/v1/jobs", { body: order });
export const cancelJob = (id: string) => call<Done>("POST", `/v1/jobs/${segment(id)}/cancel`);

// Holds and the audit

export const holds = (signal?: AbortSignal) => call<{ holds: Hold[] }>("GET", "/v1/holds", { signal }).then((answer) => answer.holds);
export const putHold = (name: string, rule: HoldRule) => call<Done>("PUT", `/v1/holds/${segment(name)}`, { body: rule });
export const releaseHold = (name: string) => call<Done>("DELETE", `/v1/holds/${segment(name)}`);

// From the newest line back.
export async function audit(of: { limit: number; cursor?: string }, signal?: AbortSignal): Promise<Page<AuditLine>> {
  const answer = await call<{ audit: AuditLine[]; next?: string }>("GET", "/v1/audit" + queryOf({ order: "newest", ...of }), { signal });
  return { items: answer.audit, next: answer.next };
}

// Mailboxes, which their applications read

export async function mailboxes(signal?: AbortSignal): Promise<{ items: Mailbox[]; partial: boolean }> {
  const destinations = await allDestinations(signal);
  const queues = await walk<Queue>("/v1/queues", "queues", {}, kDestinationPagesMax, signal);
  return { items: mailboxesOf(destinations.items, queues.items), partial: destinations.partial || queues.partial };
}
export const readMail = (name: string, limit: number, signal?: AbortSignal) =>
  call<{ messages: MailboxMessage[]; cursor?: string; more: boolean }>("GET", `/v1/mailboxes/${segment(name)}/messages` + queryOf({ limit }), { signal });
export const confirmMail = (name: string, ids: string[]) =>
  call<{ confirmed: number; gone: number }>("POST", `/v1/mailboxes/${segment(name)}/confirm`, { body: { ids } })
    .then((answer) => (answer.confirmed === 0 ? { answer: "nothing" } : { answer: "done" }));

// Groups of destinations, for messages to all who subscribe

export const groups = (signal?: AbortSignal) => walk<FanoutGroup>("/v1/groups", "groups", {}, kGroupPagesMax, signal);
export const group = (name: string, signal?: AbortSignal) => call<FanoutGroup>("GET", `/v1/groups/${segment(name)}`, { signal });
export const putMember = (name: string, member: FanoutMember) =>
  call<Done>("POST", `/v1/groups/${segment(name)}/members`, { body: { members: [member] } });
export const removeMember = (name: string, destinationName: string) =>
  call<Done>("DELETE", `/v1/groups/${segment(name)}/members${queryOf({ destination: destinationName })}`);

// Profiles

export const profiles = (signal?: AbortSignal) =>
  call<{ profiles: { name: string }[] }>("GET", "/v1/profiles", { signal }).then((answer) => answer.profiles);
export const profile = (name: string, signal?: AbortSignal) =>
  call<Profile>("GET", `/v1/profiles/${segment(name)}`, { signal });

// Events

async function readEvents(body: ReadableStream<Uint8Array>, parser: EventParser, take: (events: LogEvent[]) => void) {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    take(parser.push(value).map((event) => ({ kind: event.event, ...(JSON.parse(event.data) as object) }) as LogEvent));
  }
}

// Follows the log until `signal` says stop: behind the last event that `parser` saw, or from now on. Comes back by itself.
export async function follow(
  parser: EventParser, take: (events: LogEvent[]) => void, state: (connected: boolean) => void, signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const headers = headersFor("GET", false);
      headers["accept"] = "text/event-stream";
      if (parser.lastId !== "") headers["last-event-id"] = parser.lastId;
      const response = await fetch("/v1/events", { headers, credentials: "omit", cache: "no-store", signal });
      if (!response.ok || response.body === null) throw await problemOf(response);
      state(true);
      parser.begin();
      await readEvents(response.body, parser, take);
    } catch (error) {
      if (error instanceof Problem && (error.status === 401 || error.status === 403)) throw error;
    }
    state(false);
    if (!signal.aborted) await new Promise((done) => setTimeout(done, kReconnectDelay));
  }
}
