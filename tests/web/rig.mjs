// A real daemon with real receivers, and a real browser. Everything is on loopback with ports that the kernel chose, in a
// directory that goes away with the rig. Nothing waits by sleeping for a guessed time: until() asks again until it is so.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const kBinary = process.env.POSTRIDER_BINARY ?? resolve(import.meta.dirname, "../../build/release/postrider");
const kChromium = process.env.POSTRIDER_CHROMIUM ?? "/usr/bin/chromium";
const kPatience = 30_000;
const kBrowserFlags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

export async function until(question, what) {
  const giveUp = Date.now() + kPatience;
  for (;;) {
    const answer = await question();
    if (answer) return answer;
    if (Date.now() > giveUp) throw new Error(`waited for: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

// A process whose first words tell where it listens.
class Program {
  constructor(directory, args, pattern) {
    this.text = "";
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("POSTRIDER_")));
    this.process = spawn(kBinary, args, { cwd: directory, env: { ...environment, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] });
    this.process.stdout.on("data", (piece) => (this.text += piece));
    this.process.stderr.on("data", (piece) => (this.text += piece));
    this.ended = new Promise((done) => this.process.on("exit", done));
    this.pattern = pattern;
  }

  async address() {
    return until(() => {
      if (this.process.exitCode !== null) throw new Error(`it ended: ${this.text}`);
      return this.text.match(this.pattern)?.[1];
    }, `an address in: ${this.text}`);
  }

  async stop() {
    if (this.process.exitCode === null) this.process.kill("SIGKILL");
    await this.ended;
  }
}

export class Rig {
  directory = mkdtempSync(join(tmpdir(), "postrider-web-"));
  programs = [];
  token = undefined; // of the rig's own requests

  async serve(config = "") {
    const file = join(this.directory, "postrider.toml");
    writeFileSync(file, `[transport]\nallow = ["127.0.0.0/8"]\n${config}`);
    this.daemon = new Program(this.directory, ["serve", "--data", join(this.directory, "data"), "--listen", "127.0.0.1:0", "--config", file], /listens on (\S+)/);
    this.programs.push(this.daemon);
    this.url = `http://${await this.daemon.address()}`;
    await until(async () => (await fetch(`${this.url}/readyz`)).ok, "readyz");
    return this;
  }

  async sink(...options) {
    const program = new Program(this.directory, ["sink", "--listen", "127.0.0.1:0", "--quiet", ...options], /(127\.0\.0\.1:\d+)/);
    this.programs.push(program);
    return `http://${await program.address()}`;
  }

  async vendor(...options) {
    const program = new Program(this.directory, ["sink", "calin", "--listen", "0", ...options], /"listen":"([^"]+)"/);
    this.programs.push(program);
    return `http://${await program.address()}`;
  }

  async ask(method, path, body, type = "application/json") {
    const headers = {};
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["content-type"] = type;
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(this.url + path, { method, headers, ...(text === undefined ? {} : { body: text }) });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`);
    return type === "application/json" ? JSON.parse(answer) : answer.trim().split("\n").map((line) => JSON.parse(line));
  }

  put(name, settings) {
    return this.ask("PUT", `/v1/destinations/${name}`, { profile: "webhook", settings: { jitter_percent: 0, ...settings } });
  }

  // The ids, in order.
  async send(destination, number = 1, more = {}) {
    const lines = Array.from({ length: number }, (_, index) => JSON.stringify({ destination, body: { order: index + 1 }, ...more }));
    return (await this.ask("POST", "/v1/messages", lines.join("\n"), "application/x-ndjson")).map((line) => line.id);
  }

  waitFor(id, phase) {
    return until(async () => {
      const now = await this.ask("GET", `/v1/messages/${id}/explain`);
      return now.phase === phase ? now : undefined;
    }, `${id} ${phase}`);
  }

  health(name, health) {
    return until(async () => (await this.ask("GET", `/v1/destinations/${name}`)).health === health, `${name} ${health}`);
  }

  async close() {
    for (const program of this.programs) await program.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

// Meters behind a vendor who takes tasks and is in no hurry.
export async function withMeters(rig) {
  const vendor = await rig.vendor("--fault", "task-ms=600000");
  return `[plugins.calin]
[plugins.calin.settings]
way = "calin-v1"
url = "${vendor}"
company = "c"
user = "u"
password = "p"
`;
}

export function commandMeter(rig, number) {
  const device = { type: "ELECTRICITY_METER", externalReference: `4700333362${number}`, relayNode: { id: "17" } };
  return rig.ask("POST", "/message/enqueue", { commandType: "READ_CREDIT", priority: 1, pluginId: "calin", correlationId: `read-${number}`, device });
}

// Everything that a destination can be: well, refusing, not there, hanging, gone, held.
export async function fill(rig) {
  const good = await rig.sink();
  const refusing = await rig.sink("--status", "422");
  const gone = await rig.sink("--status", "410");
  const hanging = await rig.sink("--hang");
  const nowhere = "http://127.0.0.1:9"; // discard: nobody listens there
  await rig.put("shop", { url: `${good}/orders` });
  await rig.put("shop-eu", { url: `${good}/orders-eu` });
  await rig.put("billing", { url: `${refusing}/invoices` });
  await rig.put("crm", { url: nowhere, strikes_max: 3, wait_base: "1h", wait_max: "2h", ladder: "10m,1h" });
  await rig.put("legacy", { url: `${gone}/hook` });
  await rig.put("ledger", { url: `${good}/ledger` });
  await rig.put("analytics", { url: `${hanging}/events`, in_flight_max: 4, time_out: "10m" });
  await rig.ask("POST", "/v1/destinations/ledger/pause", { reason: "maintenance until noon" });
  const ids = {
    delivered: await rig.send("shop", 600),
    dead: await rig.send("billing", 23),
    backoff: await rig.send("crm", 40),
    gone: await rig.send("legacy", 1),
    held: await rig.send("ledger", 12),
    hanging: await rig.send("analytics", 9),
    expired: await rig.send("ledger", 5, { expires_in: "1s" }),
    cancelled: await rig.send("ledger", 3),
  };
  for (const id of ids.cancelled) await rig.ask("POST", `/v1/messages/${id}/cancel`);
  await rig.waitFor(ids.delivered.at(-1), "delivered");
  await rig.waitFor(ids.dead.at(-1), "dead");
  await rig.waitFor(ids.expired.at(-1), "expired");
  await rig.health("crm", "wait");
  await rig.health("legacy", "disabled");
  return ids;
}

// What operators did on a busy day: jobs of every state, and holds.
export async function fillBulk(rig) {
  const refusing = await rig.sink("--status", "400");
  const good = await rig.sink();
  for (const [name, number] of [["harbour-east", 260], ["harbour-west", 90], ["dock", 4]]) {
    await rig.put(name, { url: `${refusing}/${name}`, tenant: "port" });
    await rig.send(name, number);
    await until(async () => (await rig.ask("GET", `/v1/dead-letters/groups?destination=${name}`)).groups[0]?.count === number, `letters of ${name}`);
  }
  await rig.put("harbour-west", { url: `${good}/west`, tenant: "port" });
  await rig.put("dock", { url: `${await rig.sink("--status", "410")}/dock` });
  await rig.send("dock");
  await rig.health("dock", "disabled");
  const start = (order) => rig.ask("POST", "/v1/jobs", order);
  const state = (job, wanted) => until(async () => (await rig.ask("GET", `/v1/jobs/${job.id}`)).state === wanted, `${job.id} ${wanted}`);
  await state(await start({ action: "redrive", filter: { destination: "harbour-west", cause: "rejected" }, rate: 1000, reason: "their deployment is repaired" }), "done");
  await state(await start({ action: "redrive", filter: { destination: "dock" }, reason: "does it answer again?" }), "done");
  const stopped = await start({ action: "cancel", filter: { destination: "ledger" }, rate: 1, reason: "the wrong ledger" });
  await rig.ask("POST", `/v1/jobs/${stopped.id}/cancel`);
  await state(await start({ action: "redrive", filter: { cause: "timeout" }, every: "24h", reason: "revive once a day" }), "waiting");
  await start({ action: "redrive", filter: { destination: "harbour-east", phase: "dead", cause: "rejected" }, rate: 1, reason: "slowly, they are small" });
  await rig.ask("PUT", "/v1/holds/crane", { destination_prefix: "harbour-", reason: "the crane is inspected" });
  await rig.ask("PUT", "/v1/holds/unpaid", { tenant: "yard", reason: "their bill" });
  await rig.ask("PUT", "/v1/groups/customers", { members: [
    { destination: "shop", types: ["order.*", "refund"] }, { destination: "shop-eu", types: ["order.*"] }, { destination: "ledger", types: [] }, { destination: "crm", types: ["news"] },
  ], skip_closed: true });
  await rig.ask("POST", "/v1/groups/customers/members", { members: [{ destination: "billing", types: ["order.paid", "refund"] }] });
}

export async function openBrowser() {
  const directory = mkdtempSync(join(tmpdir(), "postrider-chromium-"));
  const context = await chromium.launchPersistentContext(directory, {
    executablePath: kChromium, headless: true, args: kBrowserFlags, viewport: { width: 1280, height: 860 }, reducedMotion: "reduce",
  });
  context.setDefaultTimeout(kPatience);
  return {
    context,
    async close() {
      await context.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

// A page that remembers what must never happen: errors, refusals by the policy, requests to others.
export async function openPage(context, rig, path = "/") {
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // The browser itself reports every 4xx; those are part of the tests.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(rig.url)) page.complaints.push(`request: ${request.url()}`);
  });
  await page.goto(rig.url + path);
  return page;
}
