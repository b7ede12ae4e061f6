// From a dry run to a job: what would happen, how long it would take, and then the same as a job of the daemon.
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import * as api from "../api.ts";
import { count, plural } from "../format.ts";
import { usePoll } from "../hooks.ts";
import { duration, kActionWords } from "../jobs.ts";
import { link } from "../paths.ts";
import { go } from "../route.ts";
import { kReasonMax } from "../types.ts";
import type { DryRun, JobAction, JobFilter, JobOrder } from "../types.ts";
import { Action, Dialog, Pending, say } from "../ui.tsx";

const kOnce = 600_000; // a dialog does not stay open for long
const kRate = 100; // per second, the daemon's own choice too
const kRateMax = 100_000;
const kRounds = [["", "once"], ["1h", "every hour"], ["24h", "every day"], ["168h", "every week"]] as const;

function Forecast({ run, action }: { run: DryRun; action: JobAction }) {
  return (
    <p class="forecast">
      Dry run: {!run.complete && "at least "}<strong>{plural(run.matched, "message")}</strong> would {kActionWords[action].would}
      {run.matched > 0 && <>, in {run.complete ? "about" : "more than"} {duration(run.forecast_ms)} at {count(run.rate)} per second</>}.{" "}
      <span class="faint">{run.complete ? "All of them were counted; nothing was changed." : `Not complete: ${count(run.looked)} records were looked at, and there are more. Nothing was changed.`}</span>
    </p>
  );
}

interface JobDialogProps {
  title: string;
  action: JobAction;
  filter: JobFilter;
  choices?: ComponentChildren; // fields that alter the filter
  close: () => void;
  children?: ComponentChildren; // what else is worth knowing before
}

export function JobDialog({ title, action, filter, choices, close, children }: JobDialogProps) {
  const [rate, setRate] = useState(kRate);
  const [typed, setTyped] = useState(String(kRate)); // a forecast that comes meanwhile must not undo what somebody types
  const [every, setEvery] = useState("");
  const [reason, setReason] = useState("");
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  const final = action === "drop" || action === "cancel";
  const wide = Object.keys(filter).length === 0; // everything there is: the daemon wants to be told so
  const order: JobOrder = {
    action, filter, rate, ...(wide ? { all: true } : {}), ...(reason.trim() === "" ? {} : { reason: reason.trim() }), ...(every === "" ? {} : { every }),
  };
  const found = usePoll((signal) => api.dryRun({ action, filter, rate }, signal), kOnce, [action, JSON.stringify(filter), rate]);
  const run = found.data;
  const start = async () => {
    setBusy(true);
    try {
      const job = await api.startJob(order);
      say(`Job ${job.id} runs`);
      close();
      go(link(["jobs", job.id]));
    } catch (error) {
      setBusy(false);
      say(error instanceof Error ? error.message : String(error), true);
    }
  };
  const commitRate = () => {
    const wanted = Math.min(kRateMax, Math.max(1, Math.round(Number(typed) || kRate)));
    setRate(wanted);
    setTyped(String(wanted));
  };
  const verb = kActionWords[action].verb;
  return (
    <Dialog title={title} close={close}>
      {run === undefined ? <Pending error={found.error} what="forecast" /> : <Forecast run={run} action={action} />}
      <div class="choices">
        {choices}
        <label>Messages per second<input type="number" min={1} max={kRateMax} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onChange={commitRate} /></label>
        {action === "redrive" && (
          <label>How often
            <select value={every} onChange={(event) => setEvery(event.currentTarget.value)}>{kRounds.map(([value, name]) => <option key={value} value={value}>{name}</option>)}</select>
          </label>
        )}
      </div>
      <label>Why, for the audit<input value={reason} maxLength={kReasonMax} onInput={(event) => setReason(event.currentTarget.value)} placeholder={final ? "leftovers of a test" : "their deployment is repaired"} /></label>
      {children}
      {(final || wide) && (
        <label class="check">
          <input type="checkbox" checked={sure} onChange={(event) => setSure(event.currentTarget.checked)} />
          {" "}{wide && "Nothing is left out: it is about everything there is. "}{action === "drop" ? "They are not needed any more: this cannot be undone" : action === "cancel" ? "They are not to be sent: this cannot be undone" : ""}
        </label>
      )}
      <div class="buttons">
        <button type="button" class="action" onClick={close}>Leave them</button>
        <Action strong danger={final} run={() => void start()} disabled={run === undefined || (run.matched === 0 && every === "") || busy || ((final || wide) && !sure)}>
          {verb} {run === undefined ? "" : `${count(run.matched)}${run.complete ? "" : "+"}`}
        </Action>
      </div>
    </Dialog>
  );
}
