// Groups of destinations: who is in them, what each subscribes to, and what happened to them lately.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { conditionOf } from "../destinations.ts";
import { gets, typesOf, wrongType } from "../fanout.ts";
import { clock, count, plural } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import { link } from "../paths.ts";
import type { AuditLine, Destination, FanoutGroup, FanoutMember } from "../types.ts";
import { Action, Badge, DestinationLink, Dialog, Empty, Pending, When, attempt, submitted } from "../ui.tsx";
import { Tail } from "./tail.tsx";

const kEvery = 5000;
const kDestinationsEvery = 10_000;
const kAuditLines = 1000; // looked through for changes of one group
const kChangesShown = 10;

export function Groups() {
  const found = usePoll(api.groups, kEvery, []);
  const [filter, setFilter] = useState("");
  const groups = (found.data?.items ?? []).filter((group) => [group.name, ...group.members.map((member) => member.destination)].join(" ").includes(filter));
  return (
    <>
      <div class="head">
        <h1>Groups</h1>
        <div class="filters"><input data-filter type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} placeholder="Group or member" aria-label="Filter the groups" /></div>
      </div>
      {found.data === undefined ? <Pending error={found.error} what="groups" /> : found.data.items.length === 0 ? (
        <Empty title="There are no groups">One message to many: <code>postrider group put customers shop warehouse</code>, then <code>postrider group send customers 'hello'</code>.</Empty>
      ) : groups.length === 0 ? (
        <Empty title="No group is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th>group</th><th class="number">members</th><th class="wide">who</th><th>members that are closed</th><th>changed</th></tr></thead>
            <tbody>
              {groups.map((group) => (
                <tr key={group.name}>
                  <td><a data-row href={link(["groups", group.name])}>{group.name}</a></td>
                  <td class="number" data-label="members">{count(group.members.length)}</td>
                  <td class="wide">{group.members.slice(0, 5).map((member) => member.destination).join(", ")}{group.members.length > 5 && ", …"}</td>
                  <td data-label="closed ones">{group.skip_closed ? "are left out" : "refuse the whole"}</td>
                  <td data-label="changed"><When at={group.changed_at} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.data?.partial === true && <p class="faint">There are more than are shown: <code>postrider group ls --all</code></p>}
    </>
  );
}

function MemberDialog({ group, given, close, done }: { group: FanoutGroup; given: FanoutMember | undefined; close: () => void; done: () => void }) {
  const [name, setName] = useState(given?.destination ?? "");
  const [text, setText] = useState(given?.types.join(", ") ?? "");
  const types = typesOf(text);
  const wrong = wrongType(types);
  const run = () => {
    close();
    void attempt(`Member ${name}`, () => api.putMember(group.name, { destination: name.trim(), types }), done);
  };
  return (
    <Dialog title={given === undefined ? `Add a member to ${group.name}` : `What ${given.destination} subscribes to`} close={close}>
      <form onSubmit={submitted(run)}>
        {given === undefined && <label>Destination<input value={name} required autofocus spellcheck={false} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} /></label>}
        <label>Event types, apart by commas<input value={text} spellcheck={false} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} placeholder="order.*, refund" /></label>
        <p class={wrong === undefined ? "faint" : "alarm"} role="status">
          {wrong !== undefined ? `${wrong} is no type: letters, digits, dots, hyphens and underscores; order.* stands for all that begin with order.`
            : types.length === 0 ? "Everything, also what has no type." : `Only these: ${types.join(", ")}. What was accepted before is not touched.`}
        </p>
        <div class="buttons">
          <button type="button" class="action" onClick={close}>Leave it</button>
          <button class="action strong" disabled={wrong !== undefined}>{given === undefined ? "Add it" : "Change it"}</button>
        </div>
      </form>
    </Dialog>
  );
}

interface RowProps {
  member: FanoutMember;
  of: Destination | undefined;
  known: boolean; // destinations were asked for
  asked: string; // a type; members that would not get it are grey
  change: () => void;
  remove: () => void;
}

function MemberRow({ member, of, known, asked, change, remove }: RowProps) {
  const left = asked !== "" && !gets(member, asked);
  return (
    <tr class={left ? "left-out" : ""}>
      <td><DestinationLink name={member.destination} row /></td>
      <td>{of !== undefined ? <Badge kind="health" of={conditionOf(of)} /> : known ? <span class="bad">there is none</span> : "…"}</td>
      <td class="wide">{member.types.length === 0 ? <span class="faint">everything</span> : member.types.map((type) => <code key={type} class="type">{type}</code>)}</td>
      {asked !== "" && <td data-label="gets it">{left ? "no" : "yes"}</td>}
      <td class="right">
        <span class="actions">
          <Action run={change} label={`Change what ${member.destination} subscribes to`}>Change…</Action>
          <Action danger run={remove} label={`Remove ${member.destination} from the group`}>Remove…</Action>
        </span>
      </td>
    </tr>
  );
}

function Changes({ lines }: { lines: AuditLine[] }) {
  return (
    <section class="card" aria-labelledby="changes">
      <h2 id="changes">Recent changes</h2>
      {lines.length === 0 ? <p class="faint">None among the newest {count(kAuditLines)} lines of the <a href="#/audit">audit</a>.</p> : (
        <ol class="tail">
          {lines.slice(0, kChangesShown).map((line, index) => (
            <li key={lines.length - index}><time class="mono faint">{clock(line.at, now.peek())}</time> <b>{line.actor}</b> {line.action} <span class="faint">{line.effect}</span></li>
          ))}
        </ol>
      )}
    </section>
  );
}

async function load(name: string, signal: AbortSignal) {
  const [group, lines] = await Promise.all([api.group(name, signal), api.audit({ limit: kAuditLines }, signal)]);
  return { group, changes: lines.items.filter((line) => line.action.startsWith("group-") && line.target === name) };
}

export function GroupPage({ name }: { name: string }) {
  const found = usePoll((signal) => load(name, signal), kEvery, [name]);
  const all = usePoll(api.allDestinations, kDestinationsEvery, []);
  const [asked, setAsked] = useState("");
  const [changed, setChanged] = useState<{ member: FanoutMember | undefined } | undefined>(undefined);
  const [leaving, setLeaving] = useState<string | undefined>(undefined);
  if (found.data === undefined) {
    if (found.error instanceof api.Problem && found.error.status === 404) {
      return <Empty title={`There is no group ${name}`}>{found.error.message}. <a href="#/groups">Show all of them.</a></Empty>;
    }
    return <Pending error={found.error} what="group" />;
  }
  const { group, changes } = found.data;
  const destinations = new Map((all.data?.items ?? []).map((one) => [one.name, one]));
  const ids = group.members.flatMap((member) => destinations.get(member.destination)?.destination_id ?? []);
  const type = asked.trim();
  const reached = group.members.filter((member) => gets(member, type)).length;
  return (
    <>
      <div class="head">
        <h1>Group {group.name}</h1>
        <Action run={() => setChanged({ member: undefined })}>Add a member…</Action>
      </div>
      <p class="why">
        {plural(group.members.length, "member")}. A message is accepted for all who subscribe to its type, or for nobody; members that take no messages {group.skip_closed ? "are left out" : "refuse the whole"}.
        {" "}Changed <When at={group.changed_at} />. <a class="faint" href="#/groups">All groups</a>
      </p>
      <section class="card" aria-labelledby="members">
        <div class="head">
          <h2 id="members">Members</h2>
          <div class="filters"><input data-filter type="search" value={asked} onInput={(event) => setAsked(event.currentTarget.value)} placeholder="Who gets order.paid?" aria-label="Who gets an event of this type" spellcheck={false} /></div>
        </div>
        {type !== "" && <p role="status">{plural(reached, "member gets", "members get")} <code>{type}</code>.</p>}
        {group.members.length === 0 ? <p class="faint">Nobody: what is sent to it is accepted and goes nowhere.</p> : (
          <div class="scroll">
            <table class="stacked">
              <thead><tr><th>destination</th><th>health</th><th class="wide">subscribes to</th>{type !== "" && <th>gets it</th>}<th><span class="hidden">actions</span></th></tr></thead>
              <tbody>
                {group.members.map((member) => (
                  <MemberRow key={member.destination} member={member} of={destinations.get(member.destination)} known={all.data?.partial === false} asked={type}
                    change={() => setChanged({ member })} remove={() => setLeaving(member.destination)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      <div class="columns">
        <Tail ids={ids} named />
        <Changes lines={changes} />
      </div>
      {changed !== undefined && <MemberDialog group={group} given={changed.member} close={() => setChanged(undefined)} done={found.reload} />}
      {leaving !== undefined && (
        <Dialog title={`Remove ${leaving} from ${group.name}?`} close={() => setLeaving(undefined)}>
          <p>It gets nothing more that is sent to the group. The destination and its messages stay.</p>
          <div class="buttons">
            <button type="button" class="action" onClick={() => setLeaving(undefined)}>Keep it</button>
            <Action danger strong run={() => { setLeaving(undefined); void attempt(`Remove ${leaving}`, () => api.removeMember(group.name, leaving), found.reload); }}>Remove it</Action>
          </div>
        </Dialog>
      )}
    </>
  );
}
