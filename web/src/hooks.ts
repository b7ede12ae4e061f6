// Data that is asked for again and again, and the time.
import { signal } from "@preact/signals";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

// For ages and countdowns; one clock for all.
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

export const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  visible.value = !document.hidden;
});

export interface Polled<T> {
  data: T | undefined;
  error: Error | undefined;
  reload: () => void;
}

// Of the time, at most so much is spent on asking: a daemon with very many destinations is asked less often.
const kRestPerLoad = 15;

// Loads at once and then every `every` ms while the page is seen. `inputs` are what `load` depends on. What is there
// stays there while new data is under way, and also when that fails.
export function usePoll<T>(load: (signal: AbortSignal) => Promise<T>, every: number, inputs: unknown[]): Polled<T> {
  const [state, setState] = useState<{ data: T | undefined; error: Error | undefined }>({ data: undefined, error: undefined });
  const start = useRef<() => void>(() => {});
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let round = 0;
    const ask = async () => {
      clearTimeout(timer);
      const mine = ++round;
      const began = performance.now();
      if (!document.hidden) {
        try {
          const data = await load(stop.signal);
          if (mine === round && !stop.signal.aborted) setState({ data, error: undefined });
        } catch (error) {
          if (mine === round && !stop.signal.aborted) {
            setState((before) => ({ data: before.data, error: error instanceof Error ? error : new Error(String(error)) }));
          }
        }
      }
      if (mine === round && !stop.signal.aborted) {
        const rest = Math.max(every, kRestPerLoad * (performance.now() - began));
        timer = setTimeout(() => void ask(), rest);
      }
    };
    const seen = () => {
      if (!document.hidden) void ask();
    };
    start.current = () => void ask();
    document.addEventListener("visibilitychange", seen);
    setState({ data: undefined, error: undefined });
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, inputs);
  const reload = useCallback(() => start.current(), []);
  return { ...state, reload };
}
