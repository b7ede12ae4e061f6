// Dead letters by cause, as the daemon counts them, and what can be done to a whole group.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, plural } from "../format.ts";
import { actionsOf, filterOf, groupByCause, reasonsOf } from "../groups.ts";
import type { Group } from "../groups.ts";
import { usePoll } from "../hooks.ts";
import { kActionWords } from "../jobs.ts";
import type { DeadGroupList, Destination, JobAction } from "../types.ts";
import { Action, Badge, DestinationLink, Empty, MessageLink, Pending, When } from "../ui.tsx";
import { JobDialog } from "./job_dialog.tsx";

const kEvery = 5000;
const kHealthEvery = 600_000; // once; a dialog does not stay open for long
const kPartsShown = 20;

// How the destinations are to which it would go.
async function healths(group: Group, signal: AbortSignal): Promise<Map<string, Destination>> {
  const names = group.parts.slice(0, kPartsShown).flatMap((part) => part.destination ?? []);
  const found = await Promise.all(names.map((name) => api.destination(name, signal).catch(() => undefined)));
  return new Map(found.flatMap((one) => (one === undefined ? [] : [[one.name, one]])));
}

function PartTable({ group, chosen }: { group: Group; chosen: string | undefined }) {
  const found = usePoll((signal) => healths(group, signal), kHealthEvery, [group.key]);
  const parts = group.parts.filter((part) => chosen === undefined || part.destination === chosen);
  const shown = parts.slice(0, kPartsShown);
  const risky = shown.filter((part) => found.data !== undefined && found.data.get(part.destination ?? "")?.health !== "normal").length;
  return (
    <>
      <table>
        <thead><tr><th>destination</th><th class="number">messages</th><th>health now</th></tr></thead>
        <tbody>
          {shown.map((part) => {
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
      {parts.length > shown.length && <p class="faint">and {count(parts.length - shown.length)} more destinations</p>}
      {risky > 0 && <p class="alarm">{plural(risky, "destination is", "destinations are")} not well: what is sent there now waits, or is refused, or fails again.</p>}
    </>
  );
}

function GroupDialog({ group, action, close }: { group: Group; action: JobAction; close: () => void }) {
  const [destination, setDestination] = useState<string | undefined>(undefined);
  const named = group.parts.flatMap((part) => part.destination ?? []);
  const again = action === actionsOf(group).again;
  return (
    <JobDialog
      title={`${kActionWords[action].verb}: ${nameOf(group)}`} action={action} filter={filterOf(group, destination)} close={close}
      choices={group.parts.length > 1 && (
        <label>Destination
          <select value={destination ?? ""} onChange={(event) => setDestination(event.currentTarget.value || undefined)}>
            <option value="">all of them</option>
            {named.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
    >
      {again && <PartTable group={group} chosen={destination} />}
    </JobDialog>
  );
}

function nameOf(group: Group): string {
  return group.phase === "parked" ? "parked" : group.cause === "none" ? group.phase : group.cause;
}

function Parts({ group }: { group: Group }) {
  return (
    <ul class="examples">
      {group.parts.slice(0, kPartsShown).map((part) => (
        <li key={part.destination_id}>
          {part.destination === undefined ? <><span class="mono">{part.destination_id}</span> <span class="faint">removed</span></> : <DestinationLink name={part.destination} />}
          {" "}<b>{count(part.count)}</b> {part.reason} · newest <MessageLink id={part.example} />
          <span class="faint"> · first <When at={part.first} />, last <When at={part.last} /></span>
        </li>
      ))}
      {group.parts.length > kPartsShown && <li class="faint">and {count(group.parts.length - kPartsShown)} more destinations</li>}
    </ul>
  );
}

function GroupRow({ group, choose }: { group: Group; choose: (action: JobAction) => void }) {
  const [open, setOpen] = useState(false);
  const reasons = reasonsOf(group);
  const first = group.parts[0]?.destination;
  const { again, away } = actionsOf(group);
  return (
    <>
      <tr>
        <td>
          <button type="button" data-row class="twist" aria-expanded={open} onClick={() => setOpen(!open)} aria-label={`${nameOf(group)}: destinations and examples`}>{open ? "▾" : "▸"} <b>{nameOf(group)}</b></button>
        </td>
        <td><Badge kind="phase" of={group.phase} /></td>
        <td class="wide">{reasons[0] ?? <span class="faint">no reason was given</span>}{reasons.length > 1 && <span class="faint"> and {plural(reasons.length - 1, "other")}</span>}</td>
        <td class="number" data-label="messages"><b>{count(group.total)}</b></td>
        <td data-label="destinations">{group.parts.length === 1 && first !== undefined ? <DestinationLink name={first} /> : plural(group.parts.length, "destination")}</td>
        <td data-label="first"><When at={group.first} /></td>
        <td data-label="last"><When at={group.last} /></td>
        <td class="right">
          <span class="actions">
            <Action run={() => choose(again)} label={`${kActionWords[again].verb} ${nameOf(group)}: dry run first`}>{kActionWords[again].verb}…</Action>
            <Action danger run={() => choose(away)} label={`${kActionWords[away].verb} ${nameOf(group)}: dry run first`}>{kActionWords[away].verb}…</Action>
          </span>
        </td>
      </tr>
      {open && <tr class="inner"><td colSpan={8}><Parts group={group} /></td></tr>}
    </>
  );
}

function Summary({ list, groups }: { list: DeadGroupList; groups: Group[] }) {
  return (
    <p class="faint">
      {plural(groups.reduce((sum, group) => sum + group.total, 0), "message")} in {plural(groups.length, "group")}.
      {list.unlisted_groups > 0 && <> {plural(list.unlisted_groups, "smaller group is", "smaller groups are")} not listed.</>}
      {list.others > 0 && <> {plural(list.others, "letter")} of further groups {list.others === 1 ? "is" : "are"} counted together only.</>}
      {list.unreadable > 0 && <> {plural(list.unreadable, "letter")} in quarantine {list.unreadable === 1 ? "is" : "are"} still counted.</>}
      {" "}Every action begins with a dry run and becomes a <a href="#/jobs">job</a>.
    </p>
  );
}

export function DeadLetters() {
  const found = usePoll(api.deadLetterGroups, kEvery, []);
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<{ group: Group; action: JobAction } | undefined>(undefined);
  const words = filter.toLowerCase();
  const groups = found.data === undefined ? [] : groupByCause(found.data.groups).filter((group) =>
    [group.key, ...group.parts.flatMap((part) => [part.destination ?? "", part.reason])].join(" ").toLowerCase().includes(words));
  return (
    <>
      <div class="head">
        <h1>Dead letters</h1>
        <div class="filters"><input data-filter type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} placeholder="Cause, reason or destination" aria-label="Filter the groups" /></div>
      </div>
      {found.data === undefined ? <Pending error={found.error} what="dead letters" /> : found.data.groups.length === 0 ? (
        <Empty title="No dead letters">Messages that run out of attempts, are refused for good, expire or are parked come here, and can be sent again.</Empty>
      ) : (
        <>
          <Summary list={found.data} groups={groups} />
          <div class="scroll">
            <table class="stacked">
              <thead><tr><th>cause</th><th>phase</th><th class="wide">newest reason</th><th class="number">messages</th><th>destinations</th><th>first</th><th>last</th><th><span class="hidden">actions</span></th></tr></thead>
              <tbody>{groups.map((group) => <GroupRow key={group.key} group={group} choose={(action) => setChosen({ group, action })} />)}</tbody>
            </table>
          </div>
          {groups.length === 0 && <Empty title="No group is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>}
        </>
      )}
      {chosen !== undefined && <GroupDialog group={chosen.group} action={chosen.action} close={() => { setChosen(undefined); found.reload(); }} />}
    </>
  );
}
