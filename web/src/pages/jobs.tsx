// Jobs: bulk actions that run in the daemon.
import * as api from "../api.ts";
import { count, percent } from "../format.ts";
import { usePoll } from "../hooks.ts";
import { Action, Empty, Pending, When, attempt } from "../ui.tsx";

const kEvery = 2000;
const kRunning = ["running", "waiting", "pending", "queued", "paused"];

export function Jobs() {
  const found = usePoll((signal) => api.jobs(signal).then((list) => ({ list })), kEvery, []);
  const list = found.data?.list;
  return (
    <>
      <h1>Jobs</h1>
      {found.data === undefined ? <Pending error={found.error} what="jobs" /> : list === undefined ? (
        <Empty title="This daemon has no jobs">Its version does bulk actions one message at a time; see <a href="#/dead-letters">dead letters</a>.</Empty>
      ) : list.length === 0 ? (
        <Empty title="No job runs, and none is remembered">A redrive of <a href="#/dead-letters">dead letters</a> becomes a job.</Empty>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th>job</th><th>action</th><th>state</th><th class="wide">progress</th><th class="number">per second</th><th>began</th><th><span class="hidden">actions</span></th></tr></thead>
            <tbody>
              {list.map((job) => (
                <tr key={job.id}>
                  <td class="mono">{job.id}</td>
                  <td>{job.action}</td>
                  <td><span class="badge">{job.state}</span></td>
                  <td class="wide">
                    {job.total !== undefined && job.done !== undefined
                      ? <><progress max={job.total} value={job.done} aria-label={`Progress of ${job.id}`} /> {count(job.done)} of {count(job.total)} ({percent(job.done, job.total)})</>
                      : job.done !== undefined ? count(job.done) : job.detail ?? "–"}
                    {job.failed !== undefined && job.failed > 0 && <>, {count(job.failed)} failed</>}
                  </td>
                  <td class="number">{job.rate ?? "–"}</td>
                  <td><When at={job.created_at} /></td>
                  <td class="right">{kRunning.includes(job.state) && <Action danger run={() => void attempt(`Cancel job ${job.id}`, () => api.cancelJob(job.id), found.reload)}>Cancel</Action>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
