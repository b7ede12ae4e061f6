// Dead letters by cause, and sending a whole group again.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, plural, span } from "../format.ts";
import { reasonsOf } from "../groups.ts";
import type { Group } from "../groups.ts";
import { usePoll } from "../hooks.ts";
import { go } from "../route.ts";
import type { Destination } from "../types.ts";
import { Action, Badge, DestinationLink, Dialog, Empty, MessageLink, Pending, When, say } from "../ui.tsx";

const kEvery = 10_000;
const kForecastEvery = 600_000; // once; a dialog does not stay open for long
const kPartsShown = 20;
const kExamples = 10;
const kRate = 100; // per second, of the daemon's own default

// How the destinations are to which it would go.
async function healths(group: Group, signal: AbortSignal): Promise<Map<string, Destination>> {
  const names = group.parts.slice(0, kPartsShown).flatMap((part) => part.destination ?? []);
  const found = await Promise.all(names.map((name) => api.destination(name, signal).catch(() => undefined)));
  return new Map(found.flatMap((one) => (one === undefined ? [] : [[one.name, one]])));
}

function PartTable({ group, chosen }: { group: Group; chosen: string | undefined }) {
  const found = usePoll((signal) => healths(group, signal), kForecastEvery, [group.key]);
  const parts = group.parts.filter((part) => chosen === undefined || part.destination === chosen);
  const risky = parts.filter((part) => found.data !== undefined && found.data.get(part.destination ?? "")?.health !== "normal").length;
  return (
    <>
      <table>
        <thead><tr><th>destination</th><th class="number">messages</th><th>health now</th></tr></thead>
        <tbody>
          {parts.slice(0, kPartsShown).map((part) => {
            const health = found.data?.get(part.destination ?? "")?.health;
            return (
              <tr key={part.destination_id}>
                <td>{part.destination ?? <span class="mono">{part.destination_id}</span>}</td>
                <td class="number">{count(part.count)}</td>
                <td>{health !== undefined ? <Badge kind="health" of={health} /> : found.data === undefined ? "…" : "removed"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {risky > 0 && <p class="alarm">{plural(risky, "destination is", "destinations are")} not well: what is sent there now waits, or is refused, or fails again.</p>}
    </>
  );
}

function RedriveDialog({ group, byJob, close, done }: { group: Group; byJob: boolean; close: () => void; done: () => void }) {
  const [destination, setDestination] = useState<string | undefined>(undefined);
  const [rate, setRate] = useState(kRate);
  const [progress, setProgress] = useState<api.Progress | undefined>(undefined);
  const choice: api.Choice = { group, destination, rate, byJob };
  const forecast = usePoll((signal) => api.forecastRedrive(choice, signal), kForecastEvery, [group.key, destination, rate]);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = async () => {
    setProgress({ done: 0, failed: 0, total: forecast.data?.total ?? 0 });
    try {
      const end = await api.redrive(choice, setProgress, stop.current.signal);
      if (end.job !== undefined) go("#/jobs");
      say(end.job !== undefined ? `Job ${end.job} redrives them`
        : `Redriven: ${count(end.done)}${end.failed > 0 ? `, failed: ${count(end.failed)} (${end.lastProblem ?? ""})` : ""}`, end.failed > 0);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true);
    }
    close();
    done();
  };
  const data = forecast.data;
  return (
    <Dialog title="Send these again" close={close}>
      {data === undefined ? <Pending error={forecast.error} what="forecast" /> : (
        <p>
          Dry run: {data.atLeast && "at least "}<strong>{plural(data.total, "message")}</strong> would {group.phase === "parked" ? "go back in line" : "be sent again, each as a new message linked to the old one"}
          {data.duration !== undefined && <>, in about {span(data.duration) === "now" ? "a second" : span(data.duration)}</>}.
        </p>
      )}
      <div class="choices">
        {group.parts.length > 1 && (
          <label>Destination
            <select value={destination ?? ""} onChange={(event) => setDestination(event.currentTarget.value || undefined)}>
              <option value="">all of them</option>
              {group.parts.flatMap((part) => (part.destination === undefined ? [] : <option key={part.destination} value={part.destination}>{part.destination}</option>))}
            </select>
          </label>
        )}
        {byJob && <label>Messages per second<input type="number" min={1} max={100_000} value={rate} onChange={(event) => setRate(Math.min(100_000, Math.max(1, Math.round(event.currentTarget.valueAsNumber || kRate))))} /></label>}
      </div>
      <PartTable group={group} chosen={destination} />
      {progress !== undefined && progress.total > 0 && !byJob && (
        <p role="status">
          <progress max={progress.total} value={progress.done + progress.failed} aria-label="Progress" /> {count(progress.done)} of {count(progress.total)}
          {progress.failed > 0 && <>, {count(progress.failed)} failed: {progress.lastProblem}</>}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="action" onClick={close}>{progress === undefined ? "Leave them" : "Stop"}</button>
        <Action strong run={() => void run()} disabled={data === undefined || data.total === 0 || progress !== undefined}>Redrive {data === undefined ? "" : count(data.total)}</Action>
      </div>
    </Dialog>
  );
}

function Parts({ group }: { group: Group }) {
  return (
    <ul class="examples">
      {group.parts.slice(0, kPartsShown).map((part) => (
        <li key={part.destination_id}>
          {part.destination === undefined ? <span class="mono">{part.destination_id}</span> : <DestinationLink name={part.destination} />} <b>{count(part.count)}</b> {part.reason}
          <span class="ids">{part.examples.slice(0, kExamples).map((id) => <MessageLink key={id} id={id} />)}</span>
        </li>
      ))}
      {group.parts.length > kPartsShown && <li class="faint">and {count(group.parts.length - kPartsShown)} more destinations</li>}
    </ul>
  );
}

function GroupRow({ group, redrive }: { group: Group; redrive: () => void }) {
  const [open, setOpen] = useState(false);
  const reasons = reasonsOf(group);
  const first = group.parts[0]?.destination;
  return (
    <>
      <tr>
        <td>
          <button type="button" data-row class="twist" aria-expanded={open} onClick={() => setOpen(!open)} aria-label={`${group.cause}: examples`}>{open ? "▾" : "▸"} <b>{group.cause === "none" ? group.phase : group.cause}</b></button>
        </td>
        <td><Badge kind="phase" of={group.phase} /></td>
        <td class="wide">{reasons[0] ?? <span class="faint">no reason was given</span>}{reasons.length > 1 && <span class="faint"> and {plural(reasons.length - 1, "other")}</span>}</td>
        <td class="number" data-label="messages"><b>{count(group.total)}</b></td>
        <td data-label="destinations">{group.parts.length === 1 && first !== undefined ? <DestinationLink name={first} /> : plural(group.parts.length, "destination")}</td>
        <td data-label="last"><When at={group.last} /></td>
        <td class="right"><Action run={redrive} label={`Redrive ${group.total} of ${group.cause}: dry run first`}>Redrive…</Action></td>
      </tr>
      {open && <tr class="inner"><td colSpan={7}><Parts group={group} /></td></tr>}
    </>
  );
}

export function DeadLetters() {
  const found = usePoll(api.deadLetterGroups, kEvery, []);
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<Group | undefined>(undefined);
  const words = filter.toLowerCase();
  const groups = found.data?.groups.filter((group) =>
    [group.key, ...group.parts.flatMap((part) => [part.destination ?? "", part.reason])].join(" ").toLowerCase().includes(words));
  return (
    <>
      <div class="head">
        <h1>Dead letters</h1>
        <div class="filters"><input data-filter type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} placeholder="Cause, reason or destination" aria-label="Filter the groups" /></div>
      </div>
      {found.data === undefined || groups === undefined ? <Pending error={found.error} what="dead letters" /> : found.data.groups.length === 0 ? (
        <Empty title="No dead letters">Messages that run out of attempts, are refused for good, expire or are parked come here, and can be sent again.</Empty>
      ) : (
        <>
          <p class="faint">{plural(groups.reduce((sum, group) => sum + group.total, 0), "message")} in {plural(groups.length, "group")}{found.data.partial && "; there are more than were looked at"}. Redriving begins with a dry run.</p>
          <div class="scroll">
            <table class="stacked">
              <thead><tr><th>cause</th><th>phase</th><th class="wide">reason</th><th class="number">messages</th><th>destinations</th><th>last</th><th><span class="hidden">actions</span></th></tr></thead>
              <tbody>{groups.map((group) => <GroupRow key={group.key} group={group} redrive={() => setChosen(group)} />)}</tbody>
            </table>
          </div>
          {groups.length === 0 && <Empty title="No group is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>}
        </>
      )}
      {chosen !== undefined && <RedriveDialog group={chosen} byJob={found.data?.byJob ?? false} close={() => setChosen(undefined)} done={found.reload} />}
    </>
  );
}
