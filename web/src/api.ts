// Every call to the daemon. Pages know what they want; only this file knows paths.
import { groupByCause, groupLetters } from "./groups.ts";
import type { Group } from "./groups.ts";
import { tokenWanted, token, unreachable } from "./session.ts";
import { countAges, joinPages, noPhases } from "./shape.ts";
import type { PhaseAges, Shape } from "./shape.ts";
import { EventParser } from "./sse.ts";
import type {
  DeadGroup, DeadLetter, Destination, Explanation, Health, Job, JobFilter, LogEvent, Message, Profile, ShapePage, ShapeRow, Stats, Timeline,
  WhoAmI,
} from "./types.ts";

const kPage = 1000;
const kShapePagesMax = 3; // of what the daemon counts
const kAgePagesMax = 3; // of messages that are counted here
const kLetterPagesMax = 5;
const kDestinationPagesMax = 10;
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
  filter: { prefix?: string; health?: Health | undefined; cursor?: string | undefined; limit?: number }, signal?: AbortSignal,
): Promise<Page<Destination>> {
  const answer = await call<{ destinations: Destination[]; next?: string }>(
    "GET", "/v1/destinations" + queryOf({ limit: 100, ...filter }), { signal });
  return { items: answer.destinations, next: answer.next };
}

export const allDestinations = (signal?: AbortSignal) =>
  walk<Destination>("/v1/destinations", "destinations", {}, kDestinationPagesMax, signal);

export const destination = (name: string, signal?: AbortSignal) =>
  call<Destination>("GET", `/v1/destinations/${segment(name)}`, { signal });

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
export const retry = (id: string) => call<Done>("POST", `/v1/messages/${segment(id)}/retry`);

// A daemon without the route says 404, or 400 when it takes the last word for an id that has no such parameter.
async function ifKnown<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Problem && (error.status === 404 || error.status === 400)) return undefined;
    throw error;
  }
}

// Ages of live messages by destination; the daemon counts. `profile` leaves out the others.
export async function shape(of: { destination?: string; profile?: string }, signal?: AbortSignal): Promise<Shape> {
  const pages: ShapePage[] = [];
  let cursor: string | undefined;
  const wanted = (row: ShapeRow) => of.profile === undefined || row.profile === of.profile;
  do {
    const page = await ifKnown(call<ShapePage>("GET", "/v1/shape" + queryOf({ destination: of.destination, cursor }), { signal }));
    if (page === undefined) return shapeFromList(of, wanted, signal);
    pages.push(page);
    cursor = page.next;
  } while (cursor !== undefined && pages.length < kShapePagesMax);
  return joinPages(pages, cursor !== undefined, wanted);
}

const kBounds = [300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 76800, 153600, 307200, 614400];

// For a daemon that does not count: from its list, which costs it more, and is bounded.
async function shapeFromList(of: { destination?: string }, wanted: (row: ShapeRow) => boolean, signal?: AbortSignal): Promise<Shape> {
  const known = new Map((await allDestinations(signal)).items.map((one) => [one.name, one]));
  const found = await walk<Explanation>("/v1/messages", "messages", of.destination === undefined ? {} : { destination: of.destination }, kAgePagesMax, signal);
  const now = Date.now();
  const rows = found.items.flatMap((message): ShapeRow[] => {
    const one = known.get(message.destination ?? "");
    if (one === undefined || message.accepted_at === undefined) return [];
    const age = (now - Date.parse(message.accepted_at)) / 1000;
    const column = kBounds.findIndex((bound) => age < bound);
    const counts = [...kBounds, 0].map((_, index) => (index === (column < 0 ? kBounds.length : column) ? 1 : 0));
    return [{ name: one.name, profile: one.profile, destination_id: one.destination_id, counts, total: 1,
      phases: { ...noPhases(), [message.phase]: 1 }, states: { [message.state]: 1 }, oldest_at: message.accepted_at }];
  });
  return joinPages([{ ages_s: kBounds, destinations: rows }], found.partial, wanted);
}

// Ages by phase, of one destination; of its first messages, when it has very many.
export async function phaseAges(destinationName: string, signal?: AbortSignal): Promise<PhaseAges> {
  const found = await walk<Explanation>("/v1/messages", "messages", { destination: destinationName }, kAgePagesMax, signal);
  return countAges(found.items, found.partial, Date.now());
}

// Dead letters

export interface Groups {
  groups: Group[];
  partial: boolean; // of a list that went on
  byJob: boolean; // the daemon counted them, and redrives them by itself
}

export async function deadLetterGroups(signal?: AbortSignal): Promise<Groups> {
  const counted = await ifKnown(call<{ groups: DeadGroup[]; unlisted_groups: number }>("GET", "/v1/dead-letters/groups?limit=1000", { signal }));
  if (counted !== undefined) return { groups: groupByCause(counted.groups), partial: counted.unlisted_groups > 0, byJob: true };
  const [found, known] = await Promise.all([
    walk<DeadLetter>("/v1/dead-letters", "dead_letters", {}, kLetterPagesMax, signal), allDestinations(signal),
  ]);
  const names = new Map(known.items.map((one) => [one.destination_id, one.name]));
  return { groups: groupLetters(found.items, names), partial: found.partial, byJob: false };
}

// What is to be sent again: a cause, of one destination or of all.
export interface Choice {
  group: Group;
  destination?: string | undefined;
  rate: number; // per second
  byJob: boolean;
}

export interface Forecast {
  total: number;
  atLeast: boolean;
  duration?: number; // ms
}

function filterOf(choice: Choice): JobFilter {
  const { phase, cause } = choice.group;
  return {
    ...(choice.destination === undefined ? {} : { destination: choice.destination }),
    ...(phase === "parked" ? {} : { phase, ...(cause === "none" ? {} : { cause }) }),
  };
}
const actionOf = (choice: Choice) => (choice.group.phase === "parked" ? "retry" : "redrive");

const chosenParts = (choice: Choice) =>
  choice.group.parts.filter((part) => choice.destination === undefined || part.destination === choice.destination);

// Counts, and changes nothing.
export async function forecastRedrive(choice: Choice, signal?: AbortSignal): Promise<Forecast> {
  if (!choice.byJob) return { total: chosenParts(choice).reduce((sum, part) => sum + part.count, 0), atLeast: false };
  const answer = await call<{ matched: number; complete: boolean; forecast_ms: number }>("POST", "/v1/jobs", {
    body: { action: actionOf(choice), filter: filterOf(choice), rate: choice.rate, dry_run: true }, signal,
  });
  return { total: answer.matched, atLeast: !answer.complete, duration: answer.forecast_ms };
}

export interface Progress {
  done: number;
  failed: number;
  total: number;
  lastProblem?: string;
  job?: string; // the daemon goes on with it
}

// As a job; or one by one, in the order of the list, until it is told to stop.
export async function redrive(choice: Choice, tell: (progress: Progress) => void, signal: AbortSignal): Promise<Progress> {
  if (choice.byJob) {
    const job = await call<{ id: string }>("POST", "/v1/jobs", { body: { action: actionOf(choice), filter: filterOf(choice), rate: choice.rate } });
    return { done: 0, failed: 0, total: 0, job: job.id };
  }
  const ids = chosenParts(choice).flatMap((part) => part.examples);
  const progress: Progress = { done: 0, failed: 0, total: ids.length };
  for (const id of ids) {
    if (signal.aborted) break;
    try {
      await redriveOne(id);
      ++progress.done;
    } catch (error) {
      ++progress.failed;
      progress.lastProblem = error instanceof Error ? error.message : String(error);
    }
    tell({ ...progress });
  }
  return progress;
}

export const redriveOne = (id: string) =>
  call<{ id: string; redrives?: string }>("POST", `/v1/dead-letters/${segment(id)}/redrive`);

// Jobs. A daemon that has none does not know the path.

export const jobs = (signal?: AbortSignal) => ifKnown(call<{ jobs: Job[] }>("GET", "/v1/jobs", { signal }).then((answer) => answer.jobs));
export const cancelJob = (id: string) => call<Done>("POST", `/v1/jobs/${segment(id)}/cancel`);

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
