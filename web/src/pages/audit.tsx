// What operators did, the newest first.
import { useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { extended, placeOf, refreshed } from "../audit.ts";
import type { Trail } from "../audit.ts";
import { clock, plural } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import type { AuditLine } from "../types.ts";
import { Empty, Pending, say } from "../ui.tsx";

const kEvery = 5000;
const kPage = 100; // lines; more of them for each click

function Line({ line }: { line: AuditLine }) {
  const place = placeOf(line);
  return (
    <tr>
      <td class="mono" data-label="at"><time dateTime={line.at}>{clock(line.at, now.peek())}</time></td>
      <td><b>{line.actor}</b></td>
      <td>{line.action}</td>
      <td class="wide">{place === undefined ? line.target : <a data-row href={place}>{line.target}</a>}</td>
      <td class={line.reason === undefined ? "wide none" : "wide"}>{line.reason ?? <span class="faint">–</span>}</td>
      <td class="faint" data-label="effect">{line.effect}</td>
    </tr>
  );
}

export function Audit() {
  const trail = useRef<Trail | undefined>(undefined);
  const [filter, setFilter] = useState("");
  const [pages, setPages] = useState(1); // that were asked for; only to draw again
  const found = usePoll(async (signal) => {
    trail.current = refreshed(trail.current, await api.audit({ limit: kPage }, signal));
    return trail.current;
  }, kEvery, []);
  const known = found.data === undefined ? undefined : trail.current;
  const words = filter.toLowerCase();
  const lines = known === undefined ? [] : known.lines.filter((line) =>
    [line.actor, line.action, line.target, line.reason ?? ""].join(" ").toLowerCase().includes(words));
  const older = async () => {
    const before = trail.current;
    if (before?.next === undefined) return;
    try {
      const page = await api.audit({ limit: kPage, cursor: before.next });
      if (trail.current?.next === before.next) trail.current = extended(trail.current, page);
      setPages(pages + 1);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true);
    }
  };
  return (
    <>
      <div class="head">
        <h1>Audit</h1>
        <div class="filters"><input data-filter type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} placeholder="Who, what, on what or why" aria-label="Filter the audit" /></div>
      </div>
      {known === undefined ? <Pending error={found.error} what="audit" /> : (
        <>
          {lines.length === 0 ? (
            filter !== "" ? <Empty title="No line is like that">{known.next !== undefined && "Of those that were fetched; older ones may be. "}<button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>
              : <Empty title="Nothing was done yet">Each change by an operator is written here, with the change itself: who, what, and why.</Empty>
          ) : (
            <div class="scroll">
              <table class="stacked">
                <thead><tr><th>at</th><th>who</th><th>did</th><th class="wide">on</th><th class="wide">why</th><th>effect</th></tr></thead>
                <tbody>{lines.map((line, index) => <Line key={lines.length - index} line={line} />)}</tbody>
              </table>
            </div>
          )}
          {known.next !== undefined && (
            <p class="pages"><button type="button" class="action" onClick={() => void older()}>Older</button><span class="faint">{plural(lines.length, "line")} shown</span></p>
          )}
        </>
      )}
    </>
  );
}
