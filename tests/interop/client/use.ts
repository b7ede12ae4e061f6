// What a user writes around a generated TypeScript client: send, send again after a cut, read the outcome. It is compiled
// strictly beside the client (./generated) that generated_clients_test.py has made, and prints what it saw as JSON.
import { createClient, createConfig } from './generated/client/index.js';
import { explainMessage, getMessage, getOperation, putDestination, submit } from './generated/index.js';
import type { Explanation, Message } from './generated/index.js';

declare const process: { argv: string[] };

const [url, receiver, key] = process.argv.slice(2) as [string, string, string];
const client = createClient(createConfig({ baseUrl: url }));

const send = (message: Message) => submit({ client, body: message, headers: { 'Idempotency-Key': key } });

async function ended(id: string): Promise<Explanation> {
  for (;;) {
    const { data } = await explainMessage({ client, path: { id }, throwOnError: true });
    if (data.next === 'nothing') return data;
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

const put = await putDestination({
  client, path: { name: 'shop' }, body: { profile: 'webhook', settings: { url: receiver } }, throwOnError: true,
});
const message: Message = { destination: 'shop', body: { order: 4711 }, headers: { 'x-order': '4711' } };
const first = await send(message);
const second = await send(message);
const accepted = second.data;
if (!accepted || !('durability' in accepted)) throw new Error(`not accepted: ${JSON.stringify(second.error)}`);
const explanation = await ended(accepted.id);
const operation = await getOperation({ client, path: { key }, throwOnError: true });
const view = await getMessage({ client, path: { id: accepted.id }, throwOnError: true });
const other = await send({ ...message, body: 'something else' });

console.log(JSON.stringify({
  put: put.data.answer,
  cut: { status: first.response?.status ?? null, accepted: first.data !== undefined },
  id: accepted.id,
  replayed: second.response?.headers.get('idempotency-replayed') ?? null,
  phase: explanation.phase,
  attempts: explanation.attempts,
  operation: operation.data,
  state: view.data.state,
  conflict: other.error ?? null,
}));
