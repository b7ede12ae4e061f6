// Ends and notices of some destinations, as they happen.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../api.ts";
import { clock, plural, span } from "../format.ts";
import { now, visible } from "../hooks.ts";
import { EventParser } from "../sse.ts";
import type { LogEvent } from "../types.ts";
import { Badge, DestinationLink, MessageLink } from "../ui.tsx";

const kTailMax = 200;

// `ids`: of the destinations that are wanted. With `named` each event tells which of them it was.
export function Tail({ ids, named }: { ids: string[]; named?: boolean }) {
  const [events, setEvents] = useState<LogEvent[]>([]);
  const [connected, setConnected] = useState(false);
  const [running, setRunning] = useState(true);
  const parser = useRef(new EventParser()); // knows where to go on
  const shown = visible.value;
  const wanted = ids.join(" ");
  useEffect(() => {
    // A browser has six connections to a daemon; tabs that nobody looks at keep none of them.
    if (!running || !shown) return;
    const stop = new AbortController();
    const take = (all: LogEvent[]) => {
      const ours = all.filter((event) => (event.destination_id !== undefined && ids.includes(event.destination_id)) || event.kind === "fell-behind").reverse();
      if (ours.length > 0) setEvents((before) => [...ours, ...before].slice(0, kTailMax));
    };
    api.follow(parser.current, take, setConnected, stop.signal).catch(() => setConnected(false));
    return () => stop.abort();
  }, [wanted, running, shown]);
  return (
    <section class="card" aria-labelledby="tail">
      <div class="head">
        <h2 id="tail">Live tail <span class={connected && running ? "pulse on" : "pulse"} role="img" aria-label={connected && running ? "connected" : "not connected"} /></h2>
        <button type="button" class="action" onClick={() => setRunning(!running)} aria-pressed={!running}>{running ? "Freeze" : "Go on"}</button>
      </div>
      {events.length === 0 ? <p class="faint">{running ? "Ends and notices appear here as they happen." : "Frozen. Go on to see what happened meanwhile."}</p> : (
        <ol class="tail" aria-live="off">
          {events.map((event, index) => (
            <li key={`${event.id ?? ""}${event.at ?? ""}${events.length - index}`}>
              <time class="mono faint">{clock(event.at, now.peek())}</time>
              {event.phase !== undefined && event.kind === "end" ? <Badge kind="phase" of={event.phase} /> : <span class="badge">{event.kind}</span>}
              {named === true && event.destination !== undefined && <DestinationLink name={event.destination} />}
              {event.id !== undefined && <MessageLink id={event.id} />}
              <span>{[event.attempts !== undefined ? plural(event.attempts, "attempt") : "", event.latency_ms !== undefined ? `after ${event.latency_ms < 1000 ? `${event.latency_ms} ms` : span(event.latency_ms)}` : "", event.cause, event.reason].filter((text) => text !== undefined && text !== "").join(" · ")}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
