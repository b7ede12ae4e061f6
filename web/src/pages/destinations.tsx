// All destinations: health, why, and what can be done about it.
import { useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { conditionOf, kConditions, lastErrorOf, successHint, successText, whyOf } from "../destinations.ts";
import { count } from "../format.ts";
import { holdOn, isPausedApart } from "../holds.ts";
import { usePoll } from "../hooks.ts";
import { link } from "../paths.ts";
import { go, route } from "../route.ts";
import { kReasonMax } from "../types.ts";
import type { Destination, Hold } from "../types.ts";
import { Action, Badge, DestinationLink, Dialog, Empty, Pending, When, attempt, submitted } from "../ui.tsx";
import { HeldBy, HoldDialog, Holds, ReleaseAction } from "./holds.tsx";
import { NewDestinationAction } from "./new_destination.tsx";

const kEvery = 5000;
const kFilterDelay = 250;

export function PauseDialog({ name, close, done }: { name: string; close: () => void; done: () => void }) {
  const [reason, setReason] = useState("");
  const run = () => {
    close();
    void attempt(`Pause ${name}`, () => api.pause(name, reason.trim()), done);
  };
  return (
    <Dialog title={`Pause ${name}`} close={close}>
      <form onSubmit={submitted(run)}>
        <p>Its messages are held, not dropped; new ones are still accepted.</p>
        <label>Reason, shown to whoever asks why<input value={reason} maxLength={kReasonMax} autofocus onInput={(event) => setReason(event.currentTarget.value)} placeholder="maintenance until noon" /></label>
        <div class="buttons">
          <button type="button" class="action" onClick={close}>Leave it</button>
          <button class="action strong">Pause</button>
        </div>
      </form>
    </Dialog>
  );
}

interface OneProps {
  one: Destination;
  holds: Hold[];
}

// What a hold paused goes on when the hold is released, and not before.
export function DestinationActions({ one, holds, done }: OneProps & { done: () => void }) {
  const [pausing, setPausing] = useState(false);
  const hold = holdOn(one, holds);
  return (
    <span class="actions">
      {isPausedApart(one)
        ? <Action run={() => void attempt(`Resume ${one.name}`, () => api.resume(one.name), done)} label={`Resume ${one.name}`}>Resume</Action>
        : hold !== undefined ? <ReleaseAction hold={hold} done={done} />
        : <Action run={() => setPausing(true)} label={`Pause ${one.name}`}>Pause</Action>}
      {(one.health === "wait" || one.health === "probe" || one.health === "deep") &&
        <Action run={() => void attempt(`Wake ${one.name}`, () => api.wake(one.name), done)} label={`Wake ${one.name}: look now whether it is there`}>Wake</Action>}
      {pausing && <PauseDialog name={one.name} close={() => setPausing(false)} done={done} />}
    </span>
  );
}

// Why nothing is sent, or nothing when all is well.
export function hasWhy({ one, holds }: OneProps): boolean {
  return holdOn(one, holds) !== undefined || whyOf(one) !== "";
}
export function Why({ one, holds }: OneProps) {
  const hold = holdOn(one, holds);
  if (hold === undefined) return <>{whyOf(one)}</>;
  const apart = isPausedApart(one) ? whyOf(one) : "";
  return <>{apart !== "" && `${apart}; also `}<HeldBy hold={hold} /></>;
}

export function LastError({ one }: { one: Destination }) {
  const error = lastErrorOf(one);
  return error === undefined ? null : <div class="faint">Last error <When at={error.at} />: {error.text}</div>;
}

function Success({ one }: { one: Destination }) {
  const text = successText(one);
  return text === undefined ? <span class="faint">–</span> : <span title={successHint(one)}>{text}</span>;
}

function WhyCell({ one, holds }: OneProps) {
  const known = hasWhy({ one, holds }) || lastErrorOf(one) !== undefined;
  return (
    <td class={known ? "wide" : "wide none"}>
      {hasWhy({ one, holds }) && <Why one={one} holds={holds} />}
      {known ? <LastError one={one} /> : <span class="faint">–</span>}
    </td>
  );
}

function Rows({ items, holds, reload }: { items: Destination[]; holds: Hold[]; reload: () => void }) {
  return (
    <div class="scroll">
      <table class="stacked">
        <thead><tr><th>destination</th><th>health</th><th class="number" title="Of the attempts of the last ten minutes">success</th><th class="wide">why, last error</th><th>since</th><th>next look</th><th class="number">in memory</th><th class="number">open</th><th>on disk</th><th><span class="hidden">actions</span></th></tr></thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.name}>
              <td><DestinationLink name={one.name} row /> <small class="faint">{one.profile}</small></td>
              <td><Badge kind="health" of={conditionOf(one)} /></td>
              <td class={one.success_percent === undefined ? "number none" : "number"} data-label="success"><Success one={one} /></td>
              <WhyCell one={one} holds={holds} />
              <td class={one.health_since === undefined ? "none" : ""} data-label="since"><When at={one.health_since} /></td>
              <td class={one.health === "wait" ? "" : "none"} data-label="next look">{one.health === "wait" ? <When at={one.closed_until} /> : <span class="faint">–</span>}</td>
              <td class="number" data-label="in memory">{count(one.in_window)}</td>
              <td class="number" data-label="open">{count(one.open_attempts)}</td>
              <td class={one.owed ? "" : "none"} data-label="on disk">{one.owed ? "more" : <span class="faint">–</span>}</td>
              <td class="right"><DestinationActions one={one} holds={holds} done={reload} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

let filterTimer: ReturnType<typeof setTimeout> | undefined;

export function Destinations() {
  const query = route.value.query;
  const prefix = query.get("prefix") ?? "";
  const health = kConditions.find((one) => one === query.get("health"));
  const cursor = query.get("cursor") ?? undefined;
  const found = usePoll((signal) => api.destinations({ prefix, condition: health, cursor }, signal), kEvery, [prefix, health, cursor]);
  const held = usePoll(api.holds, kEvery, []);
  const [holding, setHolding] = useState(false);
  const reload = () => {
    held.reload();
    found.reload();
  };
  const text = useRef<HTMLInputElement>(null);
  const choice = useRef<HTMLSelectElement>(null);
  // What the fields say now: one may have changed while the other waited for its typist.
  const show = (delay: number) => {
    clearTimeout(filterTimer);
    filterTimer = setTimeout(() => {
      if (text.current !== null) go(link(["destinations"], { prefix: text.current.value, health: choice.current?.value }));
    }, delay);
  };
  // One that is degraded is normal for the daemon, and has its own word here.
  const items = (found.data?.items ?? []).filter((one) => health === undefined || conditionOf(one) === health);
  const filtered = prefix !== "" || health !== undefined;
  return (
    <>
      <div class="head">
        <h1>Destinations</h1>
        <div class="filters">
          <input ref={text} data-filter type="search" defaultValue={prefix} placeholder="Name begins with…" aria-label="Filter by the beginning of the name" onInput={() => show(kFilterDelay)} spellcheck={false} />
          <select ref={choice} aria-label="Filter by health" value={health ?? ""} onChange={() => show(0)}>
            <option value="">any health</option>
            {kConditions.map((one) => <option key={one} value={one}>{one}</option>)}
          </select>
          <Action run={() => setHolding(true)}>Put a hold…</Action>
          <NewDestinationAction done={reload} />
        </div>
      </div>
      <Holds holds={held.data ?? []} done={reload} />
      {holding && <HoldDialog given={prefix === "" ? {} : { destination_prefix: prefix }} close={() => setHolding(false)} done={reload} />}
      {found.data === undefined ? <Pending error={found.error} what="destinations" /> : items.length === 0 ? (
        filtered ? (
          <Empty title={found.data.next === undefined ? "No destination is like that" : "None on this page"}>
            {found.data.next === undefined ? <a href="#/destinations">Show all of them.</a> : <a href={link(["destinations"], { prefix, health, cursor: found.data.next })}>Look on the next page.</a>}
          </Empty>
        ) : (
          <Empty title="No destination yet">Make one here, or by <code>postrider dest put shop https://shop.example/hook</code></Empty>
        )
      ) : <Rows items={items} holds={held.data ?? []} reload={reload} />}
      <p class="pages">
        {cursor !== undefined && <a href={link(["destinations"], { prefix, health })}>First page</a>}
        {found.data?.next !== undefined && <a href={link(["destinations"], { prefix, health, cursor: found.data.next })}>Next page</a>}
      </p>
    </>
  );
}
