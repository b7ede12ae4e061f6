// Mailboxes: which there are, and what waits in one of them. Reading changes nothing; a confirmation ends a message.
import { useState } from "preact/hooks";
import * as api from "../api.ts";
import { count, plural } from "../format.ts";
import { usePoll } from "../hooks.ts";
import { shownBody } from "../mailboxes.ts";
import { link } from "../paths.ts";
import { mayReceive } from "../session.ts";
import type { MailboxMessage } from "../types.ts";
import { DestinationLink, Empty, MessageLink, Pending, When, attempt } from "../ui.tsx";

const kEvery = 5000;
const kPage = 100; // messages

export function Mailboxes() {
  const found = usePoll(api.mailboxes, kEvery, []);
  const [filter, setFilter] = useState("");
  const boxes = (found.data?.items ?? []).filter((box) => box.name.includes(filter));
  return (
    <>
      <div class="head">
        <h1>Mailboxes</h1>
        <div class="filters"><input data-filter type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} placeholder="Mailbox" aria-label="Filter the mailboxes" /></div>
      </div>
      {found.data === undefined ? <Pending error={found.error} what="mailboxes" /> : found.data.items.length === 0 ? (
        <Empty title="There are no mailboxes">For a program without an address: <code>postrider box put inbox</code>, and it reads with <code>postrider box read inbox --follow</code>.</Empty>
      ) : boxes.length === 0 ? (
        <Empty title="No mailbox is like that"><button type="button" class="action" onClick={() => setFilter("")}>Show all of them</button></Empty>
      ) : (
        <div class="scroll">
          <table class="stacked">
            <thead><tr><th class="wide">mailbox</th><th class="number">messages that wait</th><th>oldest</th></tr></thead>
            <tbody>
              {boxes.map((box) => (
                <tr key={box.name}>
                  <td class="wide"><a data-row href={link(["mailboxes", box.name])}>{box.name}</a></td>
                  <td class="number" data-label="wait">{count(box.messages)}</td>
                  <td data-label="oldest"><When at={box.oldest_at} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.data?.partial === true && <p class="faint">There are more than are shown: <code>postrider box ls</code></p>}
    </>
  );
}

function Confirm({ name, ids, done, children }: { name: string; ids: string[]; done: () => void; children: string }) {
  const allowed = mayReceive.value;
  return (
    <button type="button" class="action" disabled={!allowed} title={allowed ? undefined : "This needs a token with the scope receive"}
      onClick={() => void attempt(children, () => api.confirmMail(name, ids), done)}>{children}</button>
  );
}

function Row({ name, message, done }: { name: string; message: MailboxMessage; done: () => void }) {
  return (
    <tr>
      <td class="mono"><MessageLink id={message.id} row /></td>
      <td data-label="accepted"><When at={message.accepted_at} /></td>
      <td class="wide mono">{shownBody(message)}</td>
      <td><Confirm name={name} ids={[message.id]} done={done}>Confirm</Confirm></td>
    </tr>
  );
}

export function MailboxPage({ name }: { name: string }) {
  const found = usePoll((signal) => api.readMail(name, kPage, signal), kEvery, [name]);
  const mail = found.data;
  return (
    <>
      <div class="head"><h1>Mailbox {name}</h1><DestinationLink name={name} /></div>
      {mail === undefined ? <Pending error={found.error} what="mailbox" /> : mail.messages.length === 0 ? (
        <Empty title="Nothing waits here">What its reader has confirmed was delivered, and is among the events of the destination.</Empty>
      ) : (
        <>
          <p class="faint">
            {mail.more ? `The ${count(mail.messages.length)} oldest messages; more wait behind them.` : `${plural(mail.messages.length, "message waits", "messages wait")} for the reader.`} Looking changes nothing. A confirmed message is delivered, and its reader does not see it any more.
          </p>
          <div class="scroll">
            <table class="stacked">
              <thead><tr><th>message</th><th>accepted</th><th class="wide">body</th><th /></tr></thead>
              <tbody>{mail.messages.map((message) => <Row key={message.id} name={name} message={message} done={found.reload} />)}</tbody>
            </table>
          </div>
        </>
      )}
    </>
  );
}
