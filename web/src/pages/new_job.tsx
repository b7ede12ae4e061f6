// A job by any filter, as `postrider job run` takes them.
import { useState } from "preact/hooks";
import { filterFrom, filterText, kActionPhases, kActionWords, kActions, kCauses } from "../jobs.ts";
import type { JobAction, JobFilter } from "../types.ts";
import { JobDialog } from "./job_dialog.tsx";

function Choice({ label, value, set, of }: { label: string; value: string; set: (value: string) => void; of: readonly string[] }) {
  return (
    <label>{label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">any</option>
        {of.map((one) => <option key={one} value={one}>{one}</option>)}
      </select>
    </label>
  );
}

export function NewJob({ close }: { close: () => void }) {
  const [action, setAction] = useState<JobAction>("redrive");
  const [fields, setFields] = useState<JobFilter>({});
  const filter = filterFrom(action, fields);
  const set = (name: keyof JobFilter) => (value: string) => setFields({ ...fields, [name]: value });
  // Taken over when the field is left, so that half a name is not counted.
  const field = (label: string, name: keyof JobFilter, more: object = {}) => (
    <label>{label}<input value={fields[name] ?? ""} spellcheck={false} autocomplete="off" onChange={(event) => set(name)(event.currentTarget.value)} {...more} /></label>
  );
  const phases = kActionPhases[action];
  return (
    <JobDialog
      title={`${kActionWords[action].verb}: ${filterText(filter)}`} action={action} filter={filter} close={close}
      choices={(
        <>
          <label>What to do
            <select value={action} autofocus onChange={(event) => setAction(event.currentTarget.value as JobAction)}>
              {kActions.map((one) => <option key={one} value={one}>{one}</option>)}
            </select>
          </label>
          {field("Destination", "destination", { disabled: (fields.destination_prefix ?? "") !== "", placeholder: "any" })}
          {field("or names that begin with", "destination_prefix", { disabled: (fields.destination ?? "") !== "", placeholder: "shop-" })}
          {phases.length > 0 && <Choice label="Phase" value={fields.phase ?? ""} set={set("phase")} of={phases} />}
          <Choice label="Cause" value={fields.cause ?? ""} set={set("cause")} of={kCauses} />
          {field("Since", "since", { type: "datetime-local" })}
          {field("Until", "until", { type: "datetime-local" })}
          {field("Reason begins with", "reason_prefix")}
        </>
      )}
    >
      <p class="faint">{kActionWords[action].verb}: {kActionWords[action].does}. Times are when it {action === "cancel" ? "was accepted" : action === "retry" ? "was parked" : action === "resend" ? "ended" : "died"}.</p>
    </JobDialog>
  );
}
