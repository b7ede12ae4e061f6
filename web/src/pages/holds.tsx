// Holds: rules that keep destinations paused, whoever they fit.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { ago, clock, count, plural } from "../format.ts";
import { fits, ruleText } from "../holds.ts";
import { now, usePoll } from "../hooks.ts";
import { kReasonMax } from "../types.ts";
import type { Hold, HoldRule } from "../types.ts";
import { Action, Dialog, attempt, submitted } from "../ui.tsx";

const kOnce = 600_000; // a dialog does not stay open for long
const kNameMax = 200;

// In the words of somebody who asks why nothing is sent.
export function HeldBy({ hold }: { hold: Hold }) {
  return <>held by <b>{hold.name}</b> <Since hold={hold} /></>;
}

function Since({ hold }: { hold: Hold }) {
  const at = hold.since;
  return <>{at !== undefined && <>since <time dateTime={at} title={ago(at, now.value)}>{clock(at, now.value)}</time> </>}by {hold.actor ?? "somebody"}{hold.reason !== undefined && <>: {hold.reason}</>}</>;
}

// How many it would pause, of those that are known now.
function Fit({ rule }: { rule: HoldRule }) {
  const found = usePoll(api.allDestinations, kOnce, []);
  const all = found.data;
  const number = all?.items.filter((one) => fits(rule, one)).length ?? 0;
  const wide = !rule.destination_prefix && !rule.tenant && !rule.profile;
  const tenants = [...new Set(all?.items.flatMap((one) => one.settings["tenant"] || []) ?? [])].sort();
  return (
    <>
      <datalist id="tenants">{tenants.map((one) => <option key={one} value={one} />)}</datalist>
      <p class={wide ? "alarm" : "faint"} role="status">
        {all === undefined ? "Counting destinations…" : <>{wide && "Nothing is given, so it holds everything: "}{plural(number, "destination fits", "destinations fit")} now{all.partial && ` of the first ${count(all.items.length)}`}; those that come later are held too.</>}
      </p>
    </>
  );
}

export function HoldDialog({ given, close, done }: { given: Partial<Hold>; close: () => void; done: () => void }) {
  const [name, setName] = useState(given.name ?? "");
  const [prefix, setPrefix] = useState(given.destination_prefix ?? "");
  const [tenant, setTenant] = useState(given.tenant ?? "");
  const [reason, setReason] = useState(given.reason ?? "");
  const rule: HoldRule = {
    ...(reason.trim() === "" ? {} : { reason: reason.trim() }), ...(prefix === "" ? {} : { destination_prefix: prefix }),
    ...(tenant === "" ? {} : { tenant }), ...(given.profile === undefined ? {} : { profile: given.profile }),
  };
  const run = () => {
    close();
    void attempt(`Hold ${name}`, () => api.putHold(name, rule), done);
  };
  const text = (label: string, value: string, set: (value: string) => void, more: object) => (
    <label>{label}<input value={value} maxLength={kNameMax} spellcheck={false} autocomplete="off" onInput={(event) => set(event.currentTarget.value)} {...more} /></label>
  );
  return (
    <Dialog title={given.name === undefined ? "Put a hold" : `Change hold ${given.name}`} close={close}>
      <form onSubmit={submitted(run)}>
        <p>Every destination that it fits is paused for as long as it stands. Messages are held, not dropped; new ones are still accepted.</p>
        {given.name === undefined && text("Name of the hold", name, setName, { required: true, autofocus: true, placeholder: "night" })}
        {text("Destinations whose names begin with", prefix, setPrefix, { placeholder: "shop-" })}
        {text("Destinations of the tenant", tenant, setTenant, { list: "tenants" })}
        {given.profile !== undefined && <p class="faint">and of the profile {given.profile}</p>}
        <label>Reason, shown to whoever asks why<input value={reason} maxLength={kReasonMax} onInput={(event) => setReason(event.currentTarget.value)} placeholder="their data centre moves" /></label>
        <Fit rule={rule} />
        <div class="buttons">
          <button type="button" class="action" onClick={close}>Leave it</button>
          <button class="action strong">{given.name === undefined ? "Put the hold" : "Change it"}</button>
        </div>
      </form>
    </Dialog>
  );
}

export function ReleaseAction({ hold, done }: { hold: Hold; done: () => void }) {
  const [asking, setAsking] = useState(false);
  const run = () => {
    setAsking(false);
    void attempt(`Release ${hold.name}`, () => api.releaseHold(hold.name), done);
  };
  return (
    <>
      <Action run={() => setAsking(true)} label={`Release hold ${hold.name}`}>Release…</Action>
      {asking && (
        <Dialog title={`Release hold ${hold.name}?`} close={() => setAsking(false)}>
          <p>It holds {ruleText(hold)}. All that it paused goes on at once, except what another hold fits or somebody paused apart.</p>
          <div class="buttons">
            <button type="button" class="action" onClick={() => setAsking(false)}>Keep it</button>
            <Action strong run={run}>Release it</Action>
          </div>
        </Dialog>
      )}
    </>
  );
}

export function Holds({ holds, done }: { holds: Hold[]; done: () => void }) {
  const [changing, setChanging] = useState<Hold | undefined>(undefined);
  if (holds.length === 0) return null;
  return (
    <section class="card" aria-labelledby="holds">
      <h2 id="holds">{plural(holds.length, "hold stands", "holds stand")}</h2>
      <ul class="holds">
        {holds.map((hold) => (
          <li key={hold.name}>
            <span><b>{hold.name}</b> holds {ruleText(hold)} <Since hold={hold} /></span>
            <span class="actions">
              <Action run={() => setChanging(hold)} label={`Change hold ${hold.name}`}>Change…</Action>
              <ReleaseAction hold={hold} done={done} />
            </span>
          </li>
        ))}
      </ul>
      {changing !== undefined && <HoldDialog given={changing} close={() => setChanging(undefined)} done={done} />}
    </section>
  );
}
