// Dead letters by cause, and sending a whole group again.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, plural } from "../format.ts";
import type { Group } from "../groups.ts";
import { usePoll } from "../hooks.ts";
import { Action, Badge, DestinationLink, Dialog, Empty, MessageLink, Pending, When, say } from "../ui.tsx";

const kEvery = 10_000;
const kExamples = 10;

function ForecastTable({ forecast }: { forecast: api.Forecast }) {
  const risky = forecast.destinations.filter((one) => one.health !== "normal");
  return (
    <>
      <p>
        Dry run: <strong>{plural(forecast.total, "message")}</strong> would be sent again to {plural(forecast.destinations.length, "destination")}, each as a new message linked to the old one.
      </p>
      <table>
        <thead><tr><th>destination</th><th class="number">messages</th><th>health now</th></tr></thead>
        <tbody>
          {forecast.destinations.slice(0, kExamples).map((one) => (
            <tr key={one.id}>
              <td>{one.name ?? <span class="mono">{one.id}</span>}</td>
              <td class="number">{count(one.count)}</td>
              <td>{one.health === undefined ? "removed" : <Badge kind="health" of={one.health} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {risky.length > 0 && <p class="alarm">{plural(risky.length, "destination is", "destinations are")} not well: what is sent there now waits, and may fail again.</p>}
    </>
  );
}

function RedriveDialog({ group, close, done }: { group: Group; close: () => void; done: () => void }) {
  const forecast = usePoll((signal) => api.forecastRedrive(group, signal), 60_000, [group.key]);
  const [progress, setProgress] = useState<api.Progress | undefined>(undefined);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = async () => {
    setProgress({ done: 0, failed: 0, total: group.ids.length });
    const end = await api.redrive(group, setProgress, stop.current.signal);
    say(`Redriven: ${count(end.done)}${end.failed > 0 ? `, failed: ${count(end.failed)} (${end.lastProblem ?? ""})` : ""}`, end.failed > 0);
    close();
    done();
  };
  return (
    <Dialog title="Send these again" close={close}>
      {forecast.data === undefined ? <Pending error={forecast.error} what="forecast" /> : <ForecastTable forecast={forecast.data} />}
      {progress !== undefined && (
        <p role="status">
          <progress max={progress.total} value={progress.done + progress.failed} aria-label="Progress" /> {count(progress.done)} of {count(progress.total)}
          {progress.failed > 0 && <>, {count(progress.failed)} failed: {progress.lastProblem}</>}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="action" onClick={close}>{progress === undefined ? "Leave them" : "Stop"}</button>
        <Action strong run={() => void run()} disabled={forecast.data === undefined || progress !== undefined}>Redrive {count(group.ids.length)}</Action>
      </div>
    </Dialog>
  );
}

function GroupRow({ group, names, redrive }: { group: Group; names: Map<string, string>; redrive: () => void }) {
  const [open, setOpen] = useState(false);
  const where = Object.keys(group.destinations);
  const first = where[0] === undefined ? undefined : names.get(where[0]);
  return (
    <>
      <tr>
        <td>
          <button type="button" data-row class="twist" aria-expanded={open} onClick={() => setOpen(!open)} aria-label={`${group.cause}: examples`}>{open ? "▾" : "▸"} <b>{group.cause === "none" ? group.phase : group.cause}</b></button>
        </td>
        <td><Badge kind="phase" of={group.phase} /></td>
        <td class="wide" data-label="reason">{group.reason || <span class="faint">no reason was given</span>}</td>
        <td class="number" data-label="messages"><b>{count(group.total)}</b></td>
        <td data-label="destinations">{where.length === 1 && first !== undefined ? <DestinationLink name={first} /> : plural(where.length, "destination")}</td>
        <td data-label="last"><When at={group.last} /></td>
        <td class="right"><Action run={redrive} label={`Redrive ${group.total} of ${group.cause}: dry run first`}>Redrive…</Action></td>
      </tr>
      {open && (
        <tr class="inner">
          <td colSpan={7}>
            <ul class="examples">
              {group.ids.slice(0, kExamples).map((id) => <li key={id}><MessageLink id={id} long /></li>)}
              {group.ids.length > kExamples && <li class="faint">and {count(group.ids.length - kExamples)} more</li>}
            </ul>
          </td>
        </tr>
      )}
    </>
  );
}

async function load(signal: AbortSignal) {
  const [found, all] = await Promise.all([api.deadLetterGroups(signal), api.allDestinations(signal)]);
  return { ...found, names: new Map(all.items.map((one) => [one.destination_id, one.name])) };
}

export function DeadLetters() {
  const found = usePoll(load, kEvery, []);
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<Group | undefined>(undefined);
  const words = filter.toLowerCase();
  const groups = found.data?.groups.filter((group) =>
    `${group.key} ${Object.keys(group.destinations).map((id) => found.data?.names.get(id) ?? "").join(" ")}`.toLowerCase().includes(words));
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
              <tbody>{groups.map((group) => <GroupRow key={group.key} group={group} names={found.data?.names ?? new Map()} redrive={() => setChosen(group)} />)}</tbody>
            </table>
          </div>
          {groups.length === 0 && <Empty title="No group is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>}
        </>
      )}
      {chosen !== undefined && <RedriveDialog group={chosen} close={() => setChosen(undefined)} done={found.reload} />}
    </>
  );
}
