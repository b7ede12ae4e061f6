// Overview: is it well, and if not, where to look.
import { useEffect, useState } from "preact/hooks";
import * as api from "../api.ts";
import { ConservationBar, HeatMap, PhaseBar, Spark } from "../charts.tsx";
import { conditionOf, kConditions, lastErrorOf, whyOf } from "../destinations.ts";
import type { Condition } from "../destinations.ts";
import { bytes, count, plural, rate, span } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import type { Polled } from "../hooks.ts";
import { link } from "../paths.ts";
import { add, current, history, sampleOf } from "../rates.ts";
import type { Sample } from "../rates.ts";
import type { Shape } from "../shape.ts";
import type { Destination } from "../types.ts";
import { Badge, DestinationLink, Empty, Figure, Pending, When } from "../ui.tsx";
import { NewDestinationAction } from "./new_destination.tsx";

const kStatsEvery = 2000;
const kDestinationsEvery = 5000;
const kShapeEvery = 10_000;
const kTroublesMax = 8;
const kRowsMax = 8;

function Troubles({ destinations, reload }: { destinations: Destination[]; reload: () => void }) {
  const rank: Record<Condition, number> = { disabled: 0, deep: 1, wait: 2, degraded: 3, probe: 4, "catch-up": 5, paused: 6, normal: 7 };
  const rankOf = (one: Destination) => rank[conditionOf(one)];
  const bad = destinations.filter((one) => conditionOf(one) !== "normal").sort((one, other) => rankOf(one) - rankOf(other));
  if (destinations.length === 0) {
    return (
      <Empty title="No destination yet">
        <NewDestinationAction done={reload} strong /> or <code>postrider dest put shop https://shop.example/hook</code>, then <code>postrider send shop '&#123;"hello":1&#125;'</code>.
      </Empty>
    );
  }
  if (bad.length === 0) return <p class="faint">All destinations are well.</p>;
  return (
    <table class="stacked">
      <thead><tr><th>destination</th><th>health</th><th class="wide">why</th><th>since</th></tr></thead>
      <tbody>
        {bad.slice(0, kTroublesMax).map((one) => (
          <tr key={one.name}>
            <td><DestinationLink name={one.name} row /></td>
            <td><Badge kind="health" of={conditionOf(one)} /></td>
            <td class="wide">{whyOf(one) || "–"}{conditionOf(one) === "degraded" && lastErrorOf(one) !== undefined && <>; last error: {lastErrorOf(one)?.text}</>}</td>
            <td><When at={one.health_since} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Healths() {
  const found = usePoll(api.allDestinations, kDestinationsEvery, []);
  const items = found.data?.items;
  const numbers = kConditions.map((health) => ({ health, number: items?.filter((one) => conditionOf(one) === health).length ?? 0 }));
  return (
    <section class="card" aria-labelledby="healths">
      <h2 id="healths">Destinations by health</h2>
      {items === undefined ? <Pending error={found.error} what="destinations" /> : (
        <>
          <ul class="healths">
            {numbers.map(({ health, number }) => (
              <li key={health} class={number === 0 ? "zero" : ""}>
                <a href={link(["destinations"], { health })}><Badge kind="health" of={health} /><b>{count(number)}{found.data?.partial === true && number > 0 ? "+" : ""}</b></a>
              </li>
            ))}
          </ul>
          <Troubles destinations={items} reload={found.reload} />
        </>
      )}
    </section>
  );
}

function Live({ live, found }: { live: number; found: Polled<Shape> }) {
  const shape = found.data;
  const oldest = shape?.oldest;
  return (
    <section class="card" aria-labelledby="live">
      <h2 id="live">{plural(live, "message lives", "messages live")}</h2>
      {shape === undefined ? <Pending error={found.error} what="live messages" /> : shape.total === 0 ? (
        <p class="faint">Nothing waits. New messages appear here while they are on their way.</p>
      ) : (
        <>
          <PhaseBar phases={shape.phases} />
          {oldest !== undefined && (
            <p>
              Oldest pending: <strong>{span(now.value - Date.parse(oldest.accepted_at))}</strong>
              {oldest.destination !== undefined && <> for <DestinationLink name={oldest.destination} /></>}
            </p>
          )}
          <HeatMap title="Live messages by destination and age" ages={shape.ages} rows={shape.rows.slice(0, kRowsMax).map((row) => ({
            key: row.destination_id, counts: row.counts, label: row.name === undefined ? row.destination_id : <DestinationLink name={row.name} />,
          }))} />
          {(shape.rows.length > kRowsMax || shape.partial) && (
            <p class="faint">
              {shape.rows.length > kRowsMax && <>The {kRowsMax} with the oldest messages, of {count(shape.rows.length)} destinations. </>}
              {shape.partial && <>Counted were {count(shape.total)} messages; there are more.</>}
            </p>
          )}
        </>
      )}
    </section>
  );
}

export function Overview() {
  const found = usePoll(api.stats, kStatsEvery, []);
  const ages = usePoll((signal) => api.shape({}, signal), kShapeEvery, []);
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => {
    const stats = found.data;
    if (stats !== undefined) setSamples((before) => add(before, sampleOf(stats, Date.now())));
  }, [found.data]);
  if (found.data === undefined) return <Pending error={found.error} what="figures" />;
  const rates = current(samples);
  const past = history(samples);
  const stats = found.data;
  const oldest = ages.data?.oldest;
  const perSecond = (value: number | undefined) => (value === undefined ? "…" : <>{rate(value)}<small>/s</small></>);
  return (
    <>
      <h1 class="hidden">Overview</h1>
      {stats.restoring && <div class="banner calm">The daemon is still reading what it knew before its restart; figures settle soon.</div>}
      {stats.clock_doubt_s > 0 && <div class="banner">The clock of this machine is more than a day ahead of what the store knew, and nobody vouches for it: for ten minutes at most nothing expires or is forgotten by it.</div>}
      <div class="figures">
        <Figure label="accepted" value={perSecond(rates?.accepted)}><Spark values={past.map((one) => one.accepted)} label="Accepted per second, last three minutes" /></Figure>
        <Figure label="delivered" value={perSecond(rates?.delivered)}><Spark values={past.map((one) => one.delivered)} label="Delivered per second, last three minutes" /></Figure>
        <Figure label="attempts" value={perSecond(rates?.attempts)}><Spark values={past.map((one) => one.attempts)} label="Attempts per second, last three minutes" /></Figure>
        <Figure label="attempts open" value={count(stats.open_attempts)} hint="On the wire now" />
        <Figure label="oldest pending" value={oldest === undefined ? "–" : span(now.value - Date.parse(oldest.accepted_at))} hint="Age of the oldest message that lives" />
        <Figure label="daemon uses" value={bytes(stats.process["resident_bytes"] ?? 0)} hint="Resident memory" />
        <Figure label="disk free" value={bytes(stats.process["free_bytes"] ?? 0)} />
      </div>
      <ConservationBar law={stats.conservation} />
      {stats.quarantined > 0 && <p class="alarm" role="alert">{plural(stats.quarantined, "record")} in quarantine: nobody could read them. Run <code>postrider check</code> on a copy of the data directory.</p>}
      <Healths />
      <Live live={stats.conservation.live} found={ages} />
    </>
  );
}
