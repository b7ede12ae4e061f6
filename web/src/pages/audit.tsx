// What operators did, the newest first.
import { useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { emptyTrail, goOn, newestFirst, older, placeOf } from "../audit.ts";
import type { Trail } from "../audit.ts";
import { clock, count, plural } from "../format.ts";
import { now, usePoll } from "../hooks.ts";
import type { AuditLine } from "../types.ts";
import { Empty, Pending, say } from "../ui.tsx";

const kEvery = 5000;
const kPagesMax = 50; // in one go; the next round goes on
const kShown = 100; // lines more for each click

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
  const trail = useRef<Trail>(emptyTrail());
  const [shown, setShown] = useState(kShown);
  const [filter, setFilter] = useState("");
  const [earlier, setEarlier] = useState(0); // pages that were asked for; only to draw again
  const found = usePoll(async (signal) => {
    trail.current = await goOn(trail.current, (cursor) => api.audit(cursor, signal), kPagesMax);
    return trail.current;
  }, kEvery, []);
  const known = found.data === undefined ? undefined : trail.current;
  const words = filter.toLowerCase();
  const lines = known === undefined ? [] : newestFirst(known).filter((line) =>
    [line.actor, line.action, line.target, line.reason ?? ""].join(" ").toLowerCase().includes(words));
  const more = async () => {
    if (lines.length > shown) return setShown(shown + kShown);
    try {
      trail.current = await older(trail.current, api.audit);
      setEarlier(earlier + 1);
      setShown(shown + kShown);
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
          {!known.ended && <p class="faint" role="status">Looking for the newest: {count(known.starts.length - 1)} pages were read so far.</p>}
          {lines.length === 0 ? (
            filter !== "" ? <Empty title="No line is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>
              : <Empty title="Nothing was done yet">Each change by an operator is written here, with the change itself: who, what, and why.</Empty>
          ) : (
            <div class="scroll">
              <table class="stacked">
                <thead><tr><th>at</th><th>who</th><th>did</th><th class="wide">on</th><th class="wide">why</th><th>effect</th></tr></thead>
                <tbody>{lines.slice(0, shown).map((line, index) => <Line key={lines.length - index} line={line} />)}</tbody>
              </table>
            </div>
          )}
          {(lines.length > shown || known.from > 0) && (
            <p class="pages"><button type="button" class="action" onClick={() => void more()}>Older</button><span class="faint">{plural(Math.min(shown, lines.length), "line")} shown</span></p>
          )}
        </>
      )}
    </>
  );
}
