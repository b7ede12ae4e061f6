// What a mailbox shows. Pure.
import type { Destination, Mailbox, MailboxMessage, Queue } from "./types.ts";

const kBodyShown = 200; // characters

// One line of it: the page is for a look, not for reading.
export function shownBody(message: MailboxMessage): string {
  if (message.body === undefined) return message.body_base64 === undefined ? "" : "(bytes)";
  const text = typeof message.body === "string" ? message.body : JSON.stringify(message.body);
  const line = text.replace(/\s+/g, " ");
  return line.length > kBodyShown ? `${line.slice(0, kBodyShown)}…` : line;
}

// Those of all destinations that are mailboxes, with what waits in them; the fullest first.
export function mailboxesOf(destinations: Destination[], queues: Queue[]): Mailbox[] {
  const waits = new Map(queues.map((queue) => [queue.destination, queue]));
  return destinations
    .filter((one) => one.profile === "mailbox" && !one.name.endsWith("*"))
    .map((one) => {
      const queue = waits.get(one.name);
      return { name: one.name, messages: queue?.live ?? 0, ...(queue?.oldest_at === undefined ? {} : { oldest_at: queue.oldest_at }) };
    })
    .sort((one, other) => other.messages - one.messages || one.name.localeCompare(other.name));
}
