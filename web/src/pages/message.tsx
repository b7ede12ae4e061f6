// One message: where it is, why, what happens next, and what happened before.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { bytes, clock, plural, span } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import { isMessageId, link } from "../paths.ts";
import { go } from "../route.ts";
import { tell } from "../telling.ts";
import type { Told } from "../telling.ts";
import type { Explanation, Message, Timeline } from "../types.ts";
import { Action, Badge, DestinationLink, Dialog, Empty, MessageLink, Pending, attempt, say } from "../ui.tsx";
import { kLivePhases } from "../words.ts";

const kEvery = 2000;
const kOnce = 600_000; // a dialog does not stay open for long

const kNextWords: Record<Explanation["next"], string> = {
  attempt: "the next attempt",
  outcome: "the outcome of the open attempt",
  news: "news from the far side",
  operator: "somebody to decide",
  nothing: "nothing: it has ended",
};

const kEntryWords: Record<string, string> = {
  "accepted": "Accepted and durable",
  "not-before": "Not before",
  "first-attempt": "First attempt",
  "earlier-attempts": "Earlier attempts",
  "attempt-open": "Attempt, still open",
  "attempt-failed": "Attempt failed",
  "attempt-delivered": "Attempt succeeded",
  "attempt-given-up": "Attempt given up",
  "last-failure": "Last failure",
  "expires": "Expires",
};

function wordOf(what: string): string {
  const known = kEntryWords[what];
  if (known !== undefined) return known;
  return what.charAt(0).toUpperCase() + what.slice(1);
}

// One attempt of several messages: its name is the one that the receiver sees.
function Members({ of, self }: { of: NonNullable<Explanation["batch"]>; self: string }) {
  const others = of.members.filter((id) => id !== self);
  return (
    <details>
      <summary>{others.length === 0 ? "no others" : plural(others.length, "other message")}, {plural(of.attempts, "attempt")} as <span class="mono">{of.leader}-{of.number}</span></summary>
      <ul class="ids">{others.map((id) => <li key={id}><MessageLink id={id} />{id === of.leader && <small class="faint"> leads</small>}</li>)}</ul>
    </details>
  );
}

function Next({ it, told }: { it: Explanation; told: Told }) {
  const due = it.next_at === undefined ? undefined : Date.parse(it.next_at) - now.value;
  return (
    <section class="card next" aria-labelledby="next">
      <h2 id="next">What happens next</h2>
      <p class="lead">
        {it.next === "nothing" ? "Nothing: it has ended." : <>It waits for {kNextWords[it.next]}{due !== undefined && <>, {due > 0 ? <>in <strong>{span(due)}</strong></> : <strong>due now</strong>}</>}.</>}
      </p>
      {told.why !== undefined && <p>{told.why}</p>}
      {it.cancel_wanted === true && <p class="faint">It is to be cancelled as soon as the open attempt allows.</p>}
      <dl class="facts">
        <div><dt>place</dt><dd>{it.place}</dd></div>
        <div><dt>state</dt><dd>{it.state}</dd></div>
        <div><dt>attempts</dt><dd>{it.attempts}</dd></div>
        {told.lastFailure !== undefined && <div><dt>last failure</dt><dd>{told.lastFailure}</dd></div>}
        {it.batch !== undefined && <div><dt>leaves with</dt><dd><Members of={it.batch} self={it.id} /></dd></div>}
        <div><dt>destination is</dt><dd><Badge kind="health" of={it.health} /></dd></div>
      </dl>
    </section>
  );
}

function TimelineList({ of, entries }: { of: Timeline; entries: Timeline["entries"] }) {
  const first = entries.find((entry) => entry.at !== undefined)?.at;
  return (
    <section class="card" aria-labelledby="timeline">
      <h2 id="timeline">Timeline <small class="faint">{plural(of.attempts, "attempt")}</small></h2>
      <ol class="timeline">
        {entries.map((entry, index) => {
          const future = entry.at !== undefined && Date.parse(entry.at) > now.value;
          const since = entry.at !== undefined && first !== undefined && entry.at !== first ? span(Date.parse(entry.at) - Date.parse(first)) : "";
          return (
            <li key={index} class={`${future ? "future" : ""} entry-${entry.what}`}>
              <span class="mono faint">{entry.at === undefined ? "" : clock(entry.at, now.value)}</span>
              <div>
                <strong>{wordOf(entry.what)}</strong>{since !== "" && since !== "now" && <small class="faint"> {future ? "" : "+"}{since}{future ? " after acceptance" : ""}</small>}
                {entry.detail !== undefined && <div>{entry.detail}</div>}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Content({ message }: { message: Message }) {
  const [body, setBody] = useState<string | undefined>(undefined);
  const show = async () => {
    try {
      const whole = await api.message(message.id, true);
      setBody(whole.body ?? (whole.body_base64 === undefined ? "" : `base64: ${whole.body_base64}`));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true);
    }
  };
  return (
    <section class="card" aria-labelledby="content">
      <h2 id="content">Content</h2>
      <dl class="facts">
        <div><dt>size</dt><dd>{message.body_bytes === undefined ? "not kept" : bytes(message.body_bytes)}</dd></div>
        {message.content_type !== undefined && <div><dt>type</dt><dd>{message.content_type}</dd></div>}
        <div><dt>lane</dt><dd>{message.lane}</dd></div>
        <div><dt>priority</dt><dd>{message.priority}</dd></div>
        {Object.entries(message.headers ?? {}).map(([name, value]) => <div key={name}><dt>{name}</dt><dd class="mono">{value}</dd></div>)}
      </dl>
      {!message.has_body ? <p class="faint">The body of an ended message is not kept, unless its destination has <code>history = on</code>.</p>
        : body === undefined ? <button type="button" class="action" onClick={() => void show()}>Show the body</button>
        : <pre class="body" tabIndex={0} aria-label="Body">{body === "" ? "(empty)" : body}</pre>}
    </section>
  );
}

// As with many: first what would happen, and how it is there; then the same for good.
function ResendDialog({ message, close }: { message: Message; close: () => void }) {
  const name = message.destination ?? "";
  const found = usePoll((signal) => api.destination(name, signal), kOnce, [name]);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const answer = await api.resend(message.id);
      say("Resend: a new message is on its way");
      close();
      go(link(["messages", answer.id]));
    } catch (error) {
      setBusy(false);
      say(`Resend: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  };
  const health = found.data?.health;
  return (
    <Dialog title="Resend this message?" close={close}>
      {found.data === undefined ? <Pending error={found.error} what="destination" /> : (
        <p class="forecast">
          Dry run: <strong>1 message</strong> of {bytes(message.body_bytes ?? 0)} would be sent once more to <b>{name}</b>, as a new message.
          {" "}<span class="faint">This one stays as it is: {message.phase}. Nothing was changed.</span>
        </p>
      )}
      {health !== undefined && health !== "normal" && <p class="alarm">{name} is not well (<Badge kind="health" of={health} />): what is sent there now waits, or is refused, or fails again.</p>}
      {message.phase === "delivered" && <p class="faint">It was delivered: the far side gets it twice, with another id.</p>}
      {message.phase === "indeterminate" && <p class="alarm">Nobody knows whether it was delivered: the far side may get it twice.</p>}
      <div class="buttons">
        <button type="button" class="action" onClick={close}>Leave it</button>
        <Action strong run={() => void run()} disabled={found.data === undefined || busy}>Resend it</Action>
      </div>
    </Dialog>
  );
}

function Actions({ message, done }: { message: Message; done: () => void }) {
  const [asking, setAsking] = useState(false);
  const [again, setAgain] = useState(false);
  const live = kLivePhases.some((phase) => phase === message.phase);
  const letter = message.phase === "parked" || ((message.phase === "dead" || message.phase === "expired") && message.has_body);
  const kept = !live && !letter && message.has_body; // as history
  const redrive = () => attempt("Redrive", async () => {
    const answer = await api.redriveOne(message.id);
    if (answer.redrives !== undefined) go(link(["messages", answer.id]));
    return { detail: answer.redrives === undefined ? "it is back in line" : "a new message takes its place" };
  }, done);
  return (
    <span class="actions">
      {live && <Action run={() => void attempt("Retry", () => api.retry(message.id), done)}>Retry now</Action>}
      {letter && <Action run={() => void redrive()}>Redrive</Action>}
      {kept && <Action run={() => setAgain(true)}>Resend…</Action>}
      {live && <Action danger run={() => setAsking(true)}>Cancel…</Action>}
      {again && <ResendDialog message={message} close={() => setAgain(false)} />}
      {asking && (
        <Dialog title="Cancel this message?" close={() => setAsking(false)}>
          <p>It ends as cancelled and is not sent any more. While an attempt is open, the attempt decides.</p>
          <div class="buttons">
            <button type="button" class="action" onClick={() => setAsking(false)}>Keep it</button>
            <Action danger strong run={() => { setAsking(false); void attempt("Cancel", () => api.cancel(message.id), done); }}>Cancel it</Action>
          </div>
        </Dialog>
      )}
    </span>
  );
}

async function load(id: string, signal: AbortSignal) {
  const [message, timeline] = await Promise.all([api.message(id, false, signal), api.timeline(id, signal)]);
  return { message, timeline };
}

export function MessagePage({ id }: { id: string }) {
  const found = usePoll((signal) => load(id, signal), kEvery, [id]);
  if (!isMessageId(id)) return <Empty title="That is no message id">A message id has 32 hexadecimal digits, as <code>postrider send</code> prints them.</Empty>;
  if (found.data === undefined) {
    if (found.error instanceof api.Problem && found.error.status === 404) {
      return <Empty title="Nothing is known of this message">{found.error.message}. Ends are forgotten after their retention; look whether the id is of this daemon.</Empty>;
    }
    return <Pending error={found.error} what="message" />;
  }
  const { message, timeline } = found.data;
  const told = tell(message, timeline);
  return (
    <>
      <div class="head">
        <h1><span class="mono id">{message.id}</span> <Badge kind="phase" of={message.phase} /></h1>
        <Actions message={message} done={found.reload} />
      </div>
      <p class="why">
        For {message.destination === undefined ? "a destination that was removed" : <DestinationLink name={message.destination} />}
        {message.redrives !== undefined && <> · in place of <MessageLink id={message.redrives} /></>}
      </p>
      <div class="columns">
        <Next it={message} told={told} />
        <TimelineList of={timeline} entries={told.entries} />
      </div>
      <Content message={message} />
    </>
  );
}
