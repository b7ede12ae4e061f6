// Drawings that are small enough to be made by hand.
import { kParts, missing, segments } from "./conservation.ts";
import { count, percent, plural } from "./format.ts";
import type { ComponentChildren } from "preact";
import { heat } from "./shape.ts";
import type { Conservation, LivePhase } from "./types.ts";
import { kLivePhases } from "./words.ts";

const kSpark = { width: 150, height: 28 };

export function Spark({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(1e-9, ...values);
  const step = kSpark.width / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(kSpark.height - 2 - (value / most) * (kSpark.height - 4)).toFixed(1)}`);
  return (
    <svg class="spark" viewBox={`0 0 ${kSpark.width} ${kSpark.height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {values.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

export function ConservationBar({ law }: { law: Conservation }) {
  const parts = segments(law);
  const lost = missing(law);
  const sentence = `${count(law.accepted)} accepted = ${kParts.map((part) => `${count(law[part])} ${part}`).join(" + ")}`;
  return (
    <section class="card" aria-labelledby="law">
      <h2 id="law">Every accepted message is accounted for</h2>
      {parts.length === 0 ? (
        <div class="bar idle" role="img" aria-label="Nothing was accepted yet" />
      ) : (
        <div class="bar" role="img" aria-label={sentence}>
          {parts.map((segment) => (
            <div key={segment.part} class={`segment part-${segment.part}`} style={{ flexGrow: segment.share }} title={`${segment.part}: ${count(segment.value)} (${percent(segment.value, law.accepted)})`} />
          ))}
        </div>
      )}
      <dl class="law">
        <div class="accepted"><dt>accepted</dt><dd>{count(law.accepted)}</dd></div>
        {kParts.map((part, index) => (
          <div key={part} class={law[part] === 0 ? "zero" : ""}>
            <dt><span class="sign" aria-hidden="true">{index === 0 ? "=" : "+"}</span><i class={`swatch part-${part}`} />{part}</dt>
            <dd>{count(law[part])}<small>{percent(law[part], law.accepted)}</small></dd>
          </div>
        ))}
      </dl>
      {lost !== 0 && <p class="alarm" role="alert">The books do not balance: {plural(Math.abs(lost), "message")} {lost > 0 ? "missing" : "too many"}. Keep the data directory and report this.</p>}
    </section>
  );
}

// Live messages by phase, drawn to scale.
export function PhaseBar({ phases }: { phases: Record<LivePhase, number> }) {
  const parts = kLivePhases.map((phase) => ({ phase, value: phases[phase] })).filter((part) => part.value > 0);
  return (
    <>
      <div class="bar thin" role="img" aria-label={`Live: ${parts.map((part) => `${count(part.value)} ${part.phase}`).join(", ") || "none"}`}>
        {parts.map((part) => (
          <div key={part.phase} class={`segment phase-fill-${part.phase}`} style={{ flexGrow: part.value }} title={`${part.phase}: ${count(part.value)}`} />
        ))}
      </div>
      <p class="legend">
        {parts.map((part) => (
          <span key={part.phase}><i class={`swatch phase-fill-${part.phase}`} />{part.phase} {count(part.value)}</span>
        ))}
      </p>
    </>
  );
}

const kHeat = { label: 128, cell: 44 };

export interface HeatRow {
  key: string;
  label: ComponentChildren;
  counts: number[];
}

// Rows × ages; the darker, the more.
export function HeatMap({ title, ages, rows }: { title: string; ages: string[]; rows: HeatRow[] }) {
  const most = Math.max(0, ...rows.flatMap((row) => row.counts));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table class="heat" style={{ minWidth: `${kHeat.label + kHeat.cell * (ages.length + 1)}px` }}>
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">younger than</th>
            {ages.map((age) => <th key={age} scope="col">{age}</th>)}
            <th scope="col">all</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">{row.label}</th>
              {row.counts.map((value, index) => (
                <td key={index} class={`heat-${heat(value, most)}`}>{value === 0 ? "" : count(value)}</td>
              ))}
              <td class="total">{count(row.counts.reduce((sum, value) => sum + value, 0))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
