// A profile as it runs: its state machine, with the messages that are in it now.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, plural } from "../format.ts";
import { usePoll } from "../hooks.ts";
import { draw, kNode, leads } from "../layout.ts";
import type { Drawing } from "../layout.ts";
import { link } from "../paths.ts";
import { go, route } from "../route.ts";
import type { Method, Profile } from "../types.ts";
import { Badge, Empty, Pending } from "../ui.tsx";

const kCountsEvery = 5000;
const kTableEvery = 600_000; // it changes with the binary only
const kLabelsMax = 9; // of lines between live states; more cannot be read

interface DiagramProps {
  drawing: Drawing;
  counts: Record<string, number>;
  chosen: string | undefined;
  choose: (state: string | undefined) => void;
}

function Diagram({ drawing, counts, chosen, choose }: DiagramProps) {
  const few = drawing.edges.filter((edge) => !edge.toEnd).length <= kLabelsMax;
  const lit = (edge: { from: string; to: string }) => chosen !== undefined && (edge.from === chosen || edge.to === chosen);
  const toggle = (state: string) => choose(state === chosen ? undefined : state);
  return (
    <svg class={`diagram${chosen === undefined ? "" : " focused"}`} width={drawing.width} height={drawing.height} viewBox={`0 0 ${drawing.width} ${drawing.height}`} role="group" aria-label="State machine">
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0.8 7 4 0 7.2z" /></marker>
        <marker id="tip-lit" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0.8 7 4 0 7.2z" /></marker>
      </defs>
      {drawing.edges.filter((edge) => !edge.toEnd || lit(edge)).map((edge) => (
        <path key={`${edge.from} ${edge.to}`} class={`edge${edge.toEnd ? " to-end" : edge.skips ? " skips" : ""}${lit(edge) ? " lit" : ""}`} d={edge.path} marker-end={lit(edge) ? "url(#tip-lit)" : "url(#tip)"}>
          <title>{`${edge.from} → ${edge.to}: ${edge.signals.join(", ")}`}</title>
        </path>
      ))}
      {drawing.edges.filter((edge) => lit(edge) || (few && !edge.toEnd && chosen === undefined)).map((edge) => (
        <text key={`${edge.from} ${edge.to}`} class="signal" x={edge.label.x} y={edge.label.y} text-anchor="middle">{edge.label.text}</text>
      ))}
      {drawing.nodes.map((node) => {
        const number = counts[node.name] ?? 0;
        return (
          <g
            key={node.name} class={`node phase-${node.phase}${node.end ? " end" : ""}${node.name === chosen ? " chosen" : ""}`} transform={`translate(${node.x} ${node.y})`}
            role="button" tabindex={0} aria-pressed={node.name === chosen} aria-label={`${node.name}, ${node.phase}${node.end ? "" : `, ${plural(number, "message")}`}`}
            onClick={() => toggle(node.name)}
            onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(node.name); } }}
          >
            <rect width={kNode.width} height={kNode.height} rx={node.end ? 20 : 6} />
            <text class="name" x="12" y="17">{node.name}</text>
            <text class="phase" x="12" y="31">{node.phase}</text>
            {!node.end && <text class={number === 0 ? "number zero" : "number"} x={kNode.width - 10} y="26" text-anchor="end">{count(number)}</text>}
          </g>
        );
      })}
    </svg>
  );
}

function Rows({ method, chosen }: { method: Method; chosen: string }) {
  const rows = method.transitions.filter((row) => row.from === chosen && leads(row));
  if (rows.length === 0) return <p class="faint">{chosen} is an end: nothing leads on from it.</p>;
  return (
    <div class="scroll">
      <table>
        <caption class="hidden">What leads on from {chosen}</caption>
        <thead><tr><th>when</th><th>then</th><th>does</th><th class="wide">because</th></tr></thead>
        <tbody>{rows.map((row, index) => <tr key={index}><td>{row.on}</td><td><b>{row.to}</b></td><td class="faint">{row.verb}</td><td class="wide">{row.why}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

// The method whose states hold the most messages: what somebody wants to see who did not choose.
function busiest(profile: Profile, counts: Record<string, number>): Method | undefined {
  const held = (method: Method) => {
    const states = new Set(method.transitions.filter(leads).map((row) => row.from));
    return [...states].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  };
  return profile.methods.reduce<Method | undefined>((best, method) => (best === undefined || held(method) > held(best) ? method : best), undefined);
}

function Machine({ profile, methodName }: { profile: Profile; methodName: string | undefined }) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const found = usePoll((signal) => api.shape({ profile: profile.name }, signal), kCountsEvery, [profile.name]);
  const method = profile.methods.find((one) => one.name === methodName) ?? busiest(profile, found.data?.states ?? {});
  if (method === undefined) return <Empty title="This profile has no method" />;
  const drawing = draw(profile, method);
  const state = drawing.nodes.some((node) => node.name === chosen) ? chosen : undefined;
  return (
    <>
      {profile.methods.length > 1 && (
        <div class="tabs" role="tablist" aria-label="Methods">
          {profile.methods.map((one) => <a key={one.name} role="tab" aria-selected={one === method} href={link(["profiles", profile.name], { method: one.name })}>{one.name}</a>)}
        </div>
      )}
      <div class="machine">
        <div class="scroll card"><Diagram drawing={drawing} counts={found.data?.states ?? {}} chosen={state} choose={setChosen} /></div>
        <section class="card" aria-live="polite">
          {state === undefined ? (
            <>
              <h2>{found.data === undefined ? "Counting…" : plural(found.data.total, "message lives", "messages live")}{found.data?.partial === true && " or more"}</h2>
              <p class="faint">Choose a state to see what leads on from it, and why; its lines to ends are drawn then.</p>
              <ul class="states">
                {drawing.nodes.filter((node) => !node.end).map((node) => <li key={node.name}><button type="button" class="twist" onClick={() => setChosen(node.name)}>{node.name}</button> <Badge kind="phase" of={node.phase} /> <b>{count(found.data?.states[node.name] ?? 0)}</b></li>)}
              </ul>
            </>
          ) : (
            <>
              <div class="head"><h2>{state}</h2><button type="button" class="action" onClick={() => setChosen(undefined)}>All states</button></div>
              <Rows method={method} chosen={state} />
            </>
          )}
        </section>
      </div>
    </>
  );
}

export function ProfilePage({ name }: { name: string | undefined }) {
  const list = usePoll(api.profiles, kTableEvery, []);
  const chosen = name ?? list.data?.[0]?.name;
  const found = usePoll((signal) => (chosen === undefined ? Promise.resolve(undefined) : api.profile(chosen, signal)), kTableEvery, [chosen]);
  return (
    <>
      <div class="head">
        <h1>Profile</h1>
        <div class="filters">
          <select aria-label="Profile" value={chosen ?? ""} onChange={(event) => go(link(["profiles", event.currentTarget.value]))}>
            {list.data?.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
          </select>
        </div>
      </div>
      {found.data === undefined ? <Pending error={found.error} what="profile" /> : <Machine key={found.data.name} profile={found.data} methodName={route.value.query.get("method") ?? undefined} />}
    </>
  );
}
