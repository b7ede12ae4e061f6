// A new destination: name, address, a secret for its signatures; then a test message.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { hasSecret, kNamePattern, kSecretBytes, requiredOf, secretOf, settingsFrom } from "../destinations.ts";
import { usePoll } from "../hooks.ts";
import { link } from "../paths.ts";
import { go } from "../route.ts";
import { Action, Dialog, Pending, say, submitted } from "../ui.tsx";

const kOnce = 600_000; // a dialog does not stay open for long
const kNameMax = 255;

// Sends a test message, and shows what becomes of it.
export async function sendTest(name: string): Promise<void> {
  try {
    const sent = await api.testDestination(name);
    say(`Send test to ${name}: it is on its way`);
    go(link(["messages", sent.id]));
  } catch (error) {
    say(`Send test to ${name}: ${error instanceof Error ? error.message : String(error)}`, true);
  }
}

// A secret is shown here and never again: the daemon hides it in every answer.
function Made({ name, secret, close }: { name: string; secret: string | undefined; close: () => void }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret ?? "");
      say("The secret is copied");
    } catch {
      say("The browser does not let pages copy here: select the secret and copy it yourself", true);
    }
  };
  const leave = (then: () => void) => {
    close();
    then();
  };
  return (
    <>
      <p><b>{name}</b> is there.</p>
      {secret !== undefined && (
        <>
          <label>Its secret, for the receiver to check signatures
            <span class="secret"><input readOnly class="mono" value={secret} aria-label="Secret" onFocus={(event) => event.currentTarget.select()} /><button type="button" class="action" onClick={() => void copy()}>Copy</button></span>
          </label>
          <p class="alarm">It is shown now and never again.</p>
        </>
      )}
      <div class="buttons">
        <button type="button" class="action" onClick={() => leave(() => go(link(["destinations", name])))}>Open it</button>
        <Action strong run={() => leave(() => void sendTest(name))}>Send test</Action>
      </div>
    </>
  );
}

function Form({ names, made }: { names: string[]; made: (name: string, secret: string | undefined) => void }) {
  const [profile, setProfile] = useState(names[0] ?? "");
  const [name, setName] = useState("");
  const [given, setGiven] = useState<Record<string, string>>({});
  const [more, setMore] = useState("");
  const [signed, setSigned] = useState(true);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const found = usePoll((signal) => api.profile(profile, signal), kOnce, [profile]);
  const rows = found.data?.settings;
  const run = async () => {
    if (rows === undefined) return;
    const others = settingsFrom(more);
    if (others.wrong !== undefined) return setProblem(`a line of settings is name = value, not: ${others.wrong}`);
    const ownSecret = "secret" in others.settings;
    const secret = signed && hasSecret(rows) && !ownSecret ? secretOf(crypto.getRandomValues(new Uint8Array(kSecretBytes))) : undefined;
    const wanted = Object.fromEntries(requiredOf(rows).map((row) => [row.setting, given[row.setting]?.trim() ?? ""]));
    setBusy(true);
    try {
      await api.newDestination(name, { profile, settings: { ...wanted, ...(secret === undefined ? {} : { secret }), ...others.settings } });
      made(name, secret);
    } catch (error) {
      setBusy(false);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form onSubmit={submitted(() => void run())}>
      <label>Name<input value={name} pattern={kNamePattern} maxLength={kNameMax} required autofocus spellcheck={false} autocomplete="off" placeholder="shop" title="Letters, digits and . _ - : @ + = ~ [ ]; a letter or a digit first" onInput={(event) => setName(event.currentTarget.value)} /></label>
      {names.length > 1 && (
        <label>Profile
          <select value={profile} onChange={(event) => setProfile(event.currentTarget.value)}>{names.map((one) => <option key={one} value={one}>{one}</option>)}</select>
        </label>
      )}
      {rows === undefined ? <Pending error={found.error} what="settings" /> : (
        <>
          {requiredOf(rows).map((row) => (
            <label key={row.setting}>{row.setting}, {row.meaning}
              <input value={given[row.setting] ?? ""} required spellcheck={false} autocomplete="off" placeholder={row.setting === "url" ? "https://shop.example/hook" : row["may be"]} title={row["may be"]} onInput={(event) => setGiven({ ...given, [row.setting]: event.currentTarget.value })} />
            </label>
          ))}
          {hasSecret(rows) && <label class="check"><input type="checkbox" checked={signed} onChange={(event) => setSigned(event.currentTarget.checked)} />Make a secret and sign requests with it</label>}
          <details>
            <summary>More settings</summary>
            <label>One to a line, as time_out = 5s
              <textarea rows={3} value={more} spellcheck={false} onInput={(event) => setMore(event.currentTarget.value)} />
            </label>
            <dl class="settings offered">{rows.filter((row) => row.default !== "required").map((row) => <div key={row.setting}><dt class="mono">{row.setting}</dt><dd>{row.meaning} <span class="faint">({row["may be"]}{row.default !== "-" && `; ${row.default} unless given`})</span></dd></div>)}</dl>
          </details>
        </>
      )}
      {problem !== undefined && <p class="alarm" role="alert">{problem}</p>}
      <div class="buttons"><button class="action strong" disabled={busy || rows === undefined}>Make it</button></div>
    </form>
  );
}

export function NewDestination({ close, done }: { close: () => void; done: () => void }) {
  const list = usePoll(api.profiles, kOnce, []);
  const [made, setMade] = useState<{ name: string; secret: string | undefined } | undefined>(undefined);
  const take = (name: string, secret: string | undefined) => {
    setMade({ name, secret });
    done();
  };
  return (
    <Dialog title={made === undefined ? "New destination" : "A destination was made"} close={close}>
      {made !== undefined ? <Made {...made} close={close} /> : list.data === undefined ? <Pending error={list.error} what="profiles" /> : <Form names={list.data.map((one) => one.name)} made={take} />}
    </Dialog>
  );
}

export function NewDestinationAction({ done, strong }: { done: () => void; strong?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Action strong={strong === true} run={() => setOpen(true)}>New destination…</Action>
      {open && <NewDestination close={() => setOpen(false)} done={done} />}
    </>
  );
}
