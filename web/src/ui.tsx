// The parts that several pages share.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ago, clock } from "./format.ts";
import { now } from "./hooks.ts";
import { link } from "./paths.ts";
import { mayOperate } from "./session.ts";

const kToastTime = 6000;

// Short news about what was just done, read out by screen readers.
export const toasts = signal<{ id: number; text: string; bad: boolean }[]>([]);
let toastId = 0;

export function say(text: string, bad = false): void {
  const id = ++toastId;
  toasts.value = [...toasts.value.slice(-3), { id, text, bad }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
  }, kToastTime);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.bad ? "toast bad" : "toast"}>{toast.text}</div>
      ))}
    </div>
  );
}

const kHealthHints: Record<string, string> = {
  normal: "messages are sent",
  degraded: "messages are sent, and a third or more of the latest attempts failed",
  wait: "closed after failures; a probe follows",
  probe: "one message at a time, to see whether it is there again",
  deep: "away for so long that nothing is kept in memory for it; a catch-up follows",
  "catch-up": "it is there again, and gets what it is owed before anything else",
  paused: "held by an operator",
  disabled: "switched off; resume enables it",
};

// A word with a coloured mark: the colour helps, the word tells.
export function Badge({ of, kind }: { of: string; kind: "phase" | "health" }) {
  return <span class={`badge ${kind}-${of}`} title={kind === "health" ? kHealthHints[of] : undefined}>{of}</span>;
}

export function When({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="faint">–</span>;
  return <time dateTime={at} title={clock(at, 0)}>{ago(at, now.value)}</time>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <div>{children}</div>
    </div>
  );
}

// What stands where data will be, or why there is none.
export function Pending({ error, what }: { error: Error | undefined; what: string }) {
  if (error === undefined) return <p class="faint" aria-busy="true">Loading {what}…</p>;
  return <Empty title={`No ${what} to show`}>{error.message}</Empty>;
}

export function MessageLink({ id, row, long }: { id: string; row?: boolean; long?: boolean }) {
  const text = long === true ? id : `${id.slice(0, 11)}…${id.slice(-6)}`;
  return <a class="mono" href={link(["messages", id])} title={id} {...(row ? { "data-row": true } : {})}>{text}</a>;
}

export function DestinationLink({ name, row }: { name: string; row?: boolean }) {
  return <a href={link(["destinations", name])} {...(row ? { "data-row": true } : {})}>{name}</a>;
}

interface ActionProps {
  children: ComponentChildren;
  run: () => void;
  label?: string;
  danger?: boolean;
  strong?: boolean;
  disabled?: boolean;
}

// A button that changes something: dead, and saying why, when the token may not.
export function Action({ children, run, label, danger, strong, disabled }: ActionProps) {
  const allowed = mayOperate.value;
  return (
    <button
      type="button"
      class={`action${danger ? " danger" : ""}${strong ? " strong" : ""}`}
      disabled={!allowed || disabled === true}
      title={allowed ? undefined : "Read-only: this needs a token with the scope operate"}
      aria-label={label}
      onClick={run}
    >
      {children}
    </button>
  );
}

// Runs something that changes something, and tells how it went.
export async function attempt(what: string, run: () => Promise<{ answer?: string; detail?: string }>, then?: () => void) {
  try {
    const done = await run();
    const word = done.answer === "nothing" ? "it was so already" : done.answer === "pending" ? "will happen when it can" : "done";
    say(`${what}: ${done.detail ?? word}`);
  } catch (error) {
    say(`${what}: ${error instanceof Error ? error.message : String(error)}`, true);
  }
  then?.();
}

interface DialogProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

// The browser's own: it keeps the focus inside, and Escape closes it.
export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

export function submitted(run: () => void): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    run();
  };
}

export function Figure({ label, value, hint, children }: { label: string; value: ComponentChildren; hint?: string; children?: ComponentChildren }) {
  return (
    <div class="figure" title={hint}>
      <div class="label">{label}</div>
      <div class="value">{value}</div>
      {children}
    </div>
  );
}
