// Jobs: bulk actions that run in the daemon.
import * as api from "../api.ts";
import { count, percent, span } from "../format.ts";
import { usePoll } from "../hooks.ts";
import type { Job } from "../types.ts";
import { Action, Empty, Pending, When, attempt } from "../ui.tsx";

const kEvery = 2000;
const kGoesOn = ["running", "waiting"];

function Progress({ job }: { job: Job }) {
  const done = job.done ?? 0;
  const looked = job.looked ?? done;
  const known = job.expected !== undefined && job.expected > 0;
  return (
    <>
      {known && <><progress max={job.expected} value={looked} aria-label={`Progress of ${job.id}`} /> </>}
      {count(done)} done{known && <> of {count(job.expected ?? 0)} ({percent(looked, job.expected ?? 0)})</>}
      {(job.refused ?? 0) > 0 && <>, {count(job.refused ?? 0)} refused{job.last_refusal !== undefined && <>: {job.last_refusal}</>}</>}
      {job.state === "running" && job.remaining_ms !== undefined && job.remaining_ms > 0 && <span class="faint"> · {span(job.remaining_ms)} left</span>}
    </>
  );
}

function Row({ job, reload }: { job: Job; reload: () => void }) {
  const filter = Object.entries(job.filter ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  return (
    <tr>
      <td class="mono">{job.id}</td>
      <td><b>{job.action}</b> <span class="faint">{filter || "everything"}</span>{job.reason !== undefined && <> · {job.reason}</>}</td>
      <td><span class={`badge job-${job.state}`}>{job.state}</span></td>
      <td class="wide"><Progress job={job} /></td>
      <td class="number" data-label="per second">{job.rate ?? "–"}</td>
      <td data-label="began"><When at={job.created_at} /></td>
      <td class="right">{kGoesOn.includes(job.state) && <Action danger run={() => void attempt(`Cancel job ${job.id}`, () => api.cancelJob(job.id), reload)}>Cancel</Action>}</td>
    </tr>
  );
}

export function Jobs() {
  const found = usePoll((signal) => api.jobs(signal).then((list) => ({ list })), kEvery, []);
  const list = found.data?.list;
  return (
    <>
      <div class="head"><h1>Jobs</h1></div>
      {found.data === undefined ? <Pending error={found.error} what="jobs" /> : list === undefined ? (
        <Empty title="This daemon has no jobs">Its version does bulk actions one message at a time; see <a href="#/dead-letters">dead letters</a>.</Empty>
      ) : list.length === 0 ? (
        <Empty title="No job runs, and none is remembered">A redrive of <a href="#/dead-letters">dead letters</a> becomes a job; <code>postrider job --help</code> tells of others.</Empty>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th>job</th><th>what</th><th>state</th><th class="wide">progress</th><th class="number">per second</th><th>began</th><th><span class="hidden">actions</span></th></tr></thead>
            <tbody>{list.map((job) => <Row key={job.id} job={job} reload={found.reload} />)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
