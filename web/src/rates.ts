// Rates from counters that were read again and again. Pure.
import type { Stats } from "./types.ts";

export interface Sample {
  at: number; // ms
  accepted: number;
  delivered: number;
  attempts: number;
}
export interface Rates {
  accepted: number; // per second
  delivered: number;
  attempts: number;
}

export const kSamplesMax = 90; // three minutes of one every two seconds

export function sampleOf(stats: Stats, at: number): Sample {
  return {
    at,
    accepted: stats.conservation.accepted,
    delivered: stats.conservation.delivered,
    attempts: stats.since_start["attempts"] ?? 0,
  };
}

// A counter that fell tells of a restart: what was before it is of another life.
export function add(samples: Sample[], next: Sample): Sample[] {
  const last = samples.at(-1);
  if (last && (next.accepted < last.accepted || next.attempts < last.attempts)) return [next];
  if (last && next.at <= last.at) return samples;
  return [...samples, next].slice(-kSamplesMax);
}

export function between(one: Sample, other: Sample): Rates {
  const seconds = (other.at - one.at) / 1000;
  if (seconds <= 0) return { accepted: 0, delivered: 0, attempts: 0 };
  return {
    accepted: (other.accepted - one.accepted) / seconds,
    delivered: (other.delivered - one.delivered) / seconds,
    attempts: (other.attempts - one.attempts) / seconds,
  };
}

// Over the last ten seconds or so, so that the figures can be read.
export function current(samples: Sample[]): Rates | undefined {
  const last = samples.at(-1);
  if (!last || samples.length < 2) return undefined;
  const first = samples.find((sample) => last.at - sample.at <= 10_500) ?? last;
  return between(first === last ? (samples.at(-2) ?? last) : first, last);
}

export function history(samples: Sample[]): Rates[] {
  return samples.slice(1).map((sample, index) => between(samples[index] ?? sample, sample));
}
