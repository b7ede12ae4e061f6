// One destination: how it is, how old its messages are, and what happens to them now.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { HeatMap, PhaseBar } from "../charts.tsx";
import { conditionOf, successHint, successText } from "../destinations.ts";
import { count, span } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import { link } from "../paths.ts";
import { kAges } from "../shape.ts";
import type { Destination } from "../types.ts";
import { Action, Badge, Empty, Figure, MessageLink, Pending, When } from "../ui.tsx";
import { DestinationActions, LastError, Why, hasWhy } from "./destinations.tsx";
import { HoldDialog } from "./holds.tsx";
import { sendTest } from "./new_destination.tsx";
import { Tail } from "./tail.tsx";
import { kLivePhases } from "../words.ts";

const kEvery = 3000;
const kShapeEvery = 10_000;
const kMessagesShown = 20;

function Settings({ one }: { one: Destination }) {
  const rows = Object.entries(one.settings).sort(([a], [b]) => a.localeCompare(b));
  return (
    <details class="card">
      <summary>Settings ({rows.length})</summary>
      <dl class="settings">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd class="mono">{value}</dd></div>)}</dl>
    </details>
  );
}

// By phase while that can be counted here; the daemon counts the ages of a destination with more.
async function loadAges(name: string, signal: AbortSignal) {
  const ages = await api.phaseAges(name, signal);
  return { ages, shape: ages.partial ? await api.shape({ destination: name }, signal) : undefined };
}

function Ages({ name }: { name: string }) {
  const found = usePoll((signal) => loadAges(name, signal), kShapeEvery, [name]);
  if (found.data === undefined) return <section class="card"><Pending error={found.error} what="ages" /></section>;
  const { ages, shape } = found.data;
  const oldest = shape?.oldest ?? ages.oldest;
  const title = "Age of its messages";
  return (
    <section class="card" aria-labelledby="ages">
      <h2 id="ages">{title}</h2>
      {ages.total === 0 ? <p class="faint">No message of this destination lives. Send one: <code>postrider send {name} 'hello'</code></p>
        : shape === undefined ? (
          <HeatMap title={title} ages={kAges.map((age) => age.label)} rows={kLivePhases.map((phase) => ({
            key: phase, counts: ages.counts[phase], label: <><i class={`swatch phase-fill-${phase}`} />{phase}</>,
          }))} />
        ) : (
          <>
            <PhaseBar phases={shape.phases} />
            <HeatMap title={title} ages={shape.ages} rows={shape.rows.map((row) => ({ key: row.destination_id, counts: row.counts, label: "all phases" }))} />
          </>
        )}
      {oldest !== undefined && (
        <p>
          Oldest: <strong>{span(now.value - Date.parse(oldest.accepted_at))}</strong>
          {shape === undefined && ages.oldest !== undefined && <> · <MessageLink id={ages.oldest.id} /></>}
          {shape?.partial === true && <span class="faint"> · counted were {count(shape.total)}; there are more</span>}
        </p>
      )}
    </section>
  );
}

function Messages({ name }: { name: string }) {
  const found = usePoll((signal) => api.messages({ destination: name, limit: kMessagesShown }, signal), kEvery, [name]);
  return (
    <section class="card" aria-labelledby="messages">
      <h2 id="messages">First in line</h2>
      {found.data === undefined ? <Pending error={found.error} what="messages" /> : found.data.items.length === 0 ? (
        <p class="faint">Nothing waits.</p>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th>message</th><th>phase</th><th class="number">attempts</th><th>accepted</th><th>next</th><th class="wide">why</th></tr></thead>
            <tbody>
              {found.data.items.map((one) => (
                <tr key={one.id}>
                  <td><MessageLink id={one.id} row /></td>
                  <td><Badge kind="phase" of={one.phase} /></td>
                  <td class="number" data-label="attempts">{one.attempts}</td>
                  <td data-label="accepted"><When at={one.accepted_at} /></td>
                  <td data-label="next">{one.next}{one.next_at !== undefined && <> <When at={one.next_at} /></>}</td>
                  <td class="wide">{one.why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

// A hold on this one alone would be a pause: by its tenant, when it has one, or by its name, which can be shortened.
function givenBy(one: Destination): { tenant?: string; destination_prefix?: string } {
  const tenant = one.settings["tenant"] ?? "";
  return tenant === "" ? { destination_prefix: one.name } : { tenant };
}

export function DestinationPage({ name }: { name: string }) {
  const found = usePoll((signal) => api.destination(name, signal), kEvery, [name]);
  const held = usePoll(api.holds, kEvery, []);
  const [holding, setHolding] = useState(false);
  const one = found.data;
  const holds = held.data ?? [];
  const reload = () => {
    held.reload();
    found.reload();
  };
  if (one === undefined) {
    if (found.error instanceof api.Problem && found.error.status === 404) {
      return <Empty title={`There is no destination ${name}`}>{found.error.message}. <a href={link(["destinations"])}>Show all of them.</a></Empty>;
    }
    return <Pending error={found.error} what="destination" />;
  }
  return (
    <>
      <div class="head">
        <h1>{one.name} <Badge kind="health" of={conditionOf(one)} /></h1>
        <span class="actions">
          <Action run={() => void sendTest(name)} label={`Send test to ${name}`}>Send test</Action>
          <DestinationActions one={one} holds={holds} done={reload} />
          <Action run={() => setHolding(true)}>Put a hold…</Action>
        </span>
        {holding && <HoldDialog given={givenBy(one)} close={() => setHolding(false)} done={reload} />}
      </div>
      <div class="why">{hasWhy({ one, holds }) ? <Why one={one} holds={holds} /> : "Messages are sent as they come."} <a class="faint" href={link(["profiles", one.profile])}>profile {one.profile}</a><LastError one={one} /></div>
      <div class="figures">
        <Figure label="success" value={successText(one) ?? "–"} hint={successHint(one)} />
        {one.health_since !== undefined && <Figure label="health since" value={<When at={one.health_since} />} />}
        {one.health === "wait" && <Figure label="next look" value={<When at={one.closed_until} />} />}
        {one.failing_since !== undefined && <Figure label="failing since" value={<When at={one.failing_since} />} />}
        <Figure label="last seen" value={<When at={one.seen_at} />} />
        <Figure label="failures in a row" value={count(one.strikes)} />
        <Figure label="attempts open" value={count(one.open_attempts)} />
        <Figure label="in memory" value={<>{count(one.in_window)}{one.owed && <small> and more on disk</small>}</>} />
      </div>
      <div class="columns">
        <Ages name={name} />
        <Tail ids={[one.destination_id]} />
      </div>
      <Messages name={name} />
      <Settings one={one} />
    </>
  );
}
