// Jobs: bulk actions that run in the daemon.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, percent, plural, span } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import { duration, filterRows, filterText, isAlive, kActionWords, share } from "../jobs.ts";
import { link } from "../paths.ts";
import type { Job } from "../types.ts";
import { Action, DestinationLink, Empty, Figure, Pending, When, attempt } from "../ui.tsx";
import { NewJob } from "./new_job.tsx";

const kEvery = 2000;
const kOneEvery = 1000;

function State({ job }: { job: Job }) {
  return <span class={`badge job-${job.state}`}>{job.state}</span>;
}

function Bar({ job }: { job: Job }) {
  const value = share(job);
  if (value === undefined && job.state !== "running") return null;
  return <progress max={1} {...(value === undefined ? {} : { value })} aria-label={`Progress of job ${job.id}`} />;
}

function Progress({ job }: { job: Job }) {
  const expected = job.expected ?? 0;
  return (
    <>
      <Bar job={job} /> {job.state === "done" && job.done + job.refused === 0 ? "nothing fit" : `${count(job.done)} done`}{expected > 0 && <> of {count(expected)}{job.state === "running" && <> ({percent(job.done + job.refused, expected)})</>}</>}
      {job.refused > 0 && <>, <span class="bad">{count(job.refused)} refused</span>{job.last_refusal !== undefined && <>: {job.last_refusal}</>}</>}
      {job.remaining_ms !== undefined && <span class="faint"> · {duration(job.remaining_ms)} left</span>}
      {job.next_at !== undefined && job.state === "waiting" && <span class="faint"> · next round <When at={job.next_at} /></span>}
    </>
  );
}

function Cancel({ job, reload }: { job: Job; reload: () => void }) {
  if (!isAlive(job)) return null;
  return <Action danger run={() => void attempt(`Cancel job ${job.id}`, () => api.cancelJob(job.id), reload)} label={`Cancel job ${job.id}`}>Cancel</Action>;
}

function Row({ job, reload }: { job: Job; reload: () => void }) {
  return (
    <tr>
      <td><a class="mono" data-row href={link(["jobs", job.id])}>{job.id}</a></td>
      <td class="what"><b>{job.action}</b> <span class="faint">{filterText(job.filter)}</span>{job.every_ms !== undefined && <span class="faint">, every {span(job.every_ms)}</span>}</td>
      <td><State job={job} /></td>
      <td class="wide"><Progress job={job} /></td>
      <td class="number" data-label="per second">{count(job.rate)}</td>
      <td class="who" data-label="by">{job.actor ?? "–"}{job.reason !== undefined && <>: {job.reason}</>}</td>
      <td data-label="began"><When at={job.created_at} /></td>
      <td class="right"><Cancel job={job} reload={reload} /></td>
    </tr>
  );
}

export function Jobs() {
  const found = usePoll(api.jobs, kEvery, []);
  const [making, setMaking] = useState(false);
  return (
    <>
      <div class="head">
        <h1>Jobs</h1>
        <Action run={() => setMaking(true)} label="New job: dry run first">New job…</Action>
      </div>
      {making && <NewJob close={() => setMaking(false)} />}
      {found.data === undefined ? <Pending error={found.error} what="jobs" /> : found.data.length === 0 ? (
        <Empty title="No job runs, and none is remembered">What is done to a group of <a href="#/dead-letters">dead letters</a> becomes a job; a new one goes by any filter.</Empty>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th>job</th><th>what</th><th>state</th><th class="wide">progress</th><th class="number">per second</th><th>by whom, why</th><th>began</th><th><span class="hidden">actions</span></th></tr></thead>
            <tbody>{found.data.map((job) => <Row key={job.id} job={job} reload={found.reload} />)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}

function leads(job: Job): string {
  const last = job.finished_at === undefined || job.created_at === undefined ? undefined : Date.parse(job.finished_at) - Date.parse(job.created_at);
  switch (job.state) {
    case "running": return job.remaining_ms === undefined ? "It runs; nobody counted how many there are." : `It runs: ${duration(job.remaining_ms)} left at this rate.`;
    case "waiting": return job.next_at === undefined ? "It waits for its next round." : `It waits for its next round, ${Date.parse(job.next_at) > now.value ? `in ${span(Date.parse(job.next_at) - now.value)}` : "which is due"}.`;
    case "done": return last === undefined ? "It is done." : `It is done, after ${duration(last)}.`;
    case "cancelled": return "It was cancelled: what it did stays, and the rest was not touched.";
  }
}

function Facts({ job }: { job: Job }) {
  return (
    <section class="card" aria-labelledby="order">
      <h2 id="order">What was asked for</h2>
      <dl class="facts">
        <div><dt>action</dt><dd><b>{job.action}</b>: {kActionWords[job.action].does}</dd></div>
        {filterRows(job.filter).map((row) => <div key={row.name}><dt>{row.name}</dt><dd>{row.name === "destination" ? <DestinationLink name={row.value} /> : row.value}</dd></div>)}
        {filterRows(job.filter).length === 0 && <div><dt>filter</dt><dd>none: everything there was</dd></div>}
        <div><dt>by</dt><dd>{job.actor ?? "–"}</dd></div>
        <div><dt>why</dt><dd>{job.reason ?? <span class="faint">no reason was given</span>}</dd></div>
        <div><dt>began</dt><dd><When at={job.created_at} /></dd></div>
        {job.finished_at !== undefined && <div><dt>ended</dt><dd><When at={job.finished_at} /></dd></div>}
        {job.every_ms !== undefined && <div><dt>rounds</dt><dd>one every {span(job.every_ms)}; {plural(job.rounds ?? 0, "is", "are")} over</dd></div>}
        {job.next_at !== undefined && job.state === "waiting" && <div><dt>next round</dt><dd><When at={job.next_at} /></dd></div>}
      </dl>
      <p class="faint">It is about what was there when {job.every_ms === undefined ? "it" : "its round"} began; what comes later is not touched.</p>
    </section>
  );
}

export function JobPage({ id }: { id: string }) {
  const found = usePoll((signal) => api.job(id, signal), kOneEvery, [id]);
  const job = found.data;
  if (job === undefined) {
    if (found.error instanceof api.Problem && found.error.status === 404) {
      return <Empty title={`There is no job ${id}`}>{found.error.message}. <a href="#/jobs">Show all of them.</a></Empty>;
    }
    return <Pending error={found.error} what="job" />;
  }
  return (
    <>
      <div class="head">
        <h1>Job <span class="mono id">{job.id}</span> <State job={job} /></h1>
        <Cancel job={job} reload={found.reload} />
      </div>
      <p class="why">{leads(job)} <a class="faint" href="#/jobs">All jobs</a></p>
      <p class="long"><Bar job={job} /></p>
      <div class="figures">
        <Figure label="done" value={<>{count(job.done)}{job.expected !== undefined && <small> of {count(job.expected)}</small>}</>} />
        <Figure label="refused" value={count(job.refused)} hint="They fit, could not be acted upon, and stay as they are" />
        <Figure label="looked at" value={count(job.looked)} hint="Records that were read" />
        <Figure label="rate" value={<>{count(job.rate)}<small>/s</small></>} />
        <Figure label="remaining" value={job.remaining_ms === undefined ? "–" : duration(job.remaining_ms)} />
      </div>
      {job.refused > 0 && <p class="alarm">{plural(job.refused, "message was", "messages were")} refused and {job.refused === 1 ? "stays as it is" : "stay as they are"}; the last one: {job.last_refusal ?? "no reason is known"}</p>}
      <Facts job={job} />
    </>
  );
}
