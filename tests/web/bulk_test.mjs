// Groups of dead letters, jobs, holds and the audit in a real browser, with real jobs of a real daemon whose letters a real
// receiver refused.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { Rig, openBrowser, openPage, until } from "./rig.mjs";

let rig;
let browser;
let page;
let good;
let refusing;

const openHash = async (hash) => {
  await page.goto(`${rig.url}/#${hash}`);
  await page.waitForFunction(() => document.querySelector("main h1, main .empty") !== null);
};

describe("bulk work", () => {
  before(async () => {
    browser = await openBrowser();
    rig = new Rig();
    await rig.serve();
    good = await rig.sink();
    refusing = await rig.sink("--status", "400");
  });
  after(async () => {
    await browser.close();
    await rig.close();
  });
  beforeEach(async () => {
    page = await openPage(browser.context, rig);
  });
  afterEach(async () => {
    await page.close();
    assert.deepEqual(page.complaints, [], "errors, refusals by the policy, requests to others");
  });

  const groupOf = async (name) => (await rig.ask("GET", `/v1/dead-letters/groups?destination=${name}`)).groups[0];
  const lettersOf = async (name) => (await groupOf(name))?.count ?? 0;
  // Dead letters of a destination whose far side refuses them; it can be repaired by another put.
  const bury = async (name, number) => {
    await rig.put(name, { url: `${refusing}/${name}` });
    await rig.send(name, number);
    await until(async () => (await lettersOf(name)) === number, `${number} letters of ${name}`);
  };
  const auditLines = async () => (await rig.ask("GET", "/v1/audit?limit=1000")).audit;
  const jobState = (state) => page.locator(`h1 .job-${state}`).waitFor();
  const fillRate = async (dialog, rate) => {
    await dialog.getByLabel("Messages per second").fill(String(rate));
    await dialog.getByLabel("Messages per second").blur();
  };

  // req: dashboard.dead-letters.1
  test("dead letters are grouped as the daemon counts them, and redriven by a job after a dry run", async () => {
    await bury("returns", 12);
    await bury("returns-eu", 5);
    await openHash("/dead-letters");
    const row = page.locator("tr", { hasText: "rejected" });
    await row.getByText("17", { exact: true }).waitFor();
    await row.getByText("2 destinations").waitFor();
    await row.getByRole("button", { name: /examples/ }).click();
    const group = await groupOf("returns");
    const part = page.locator(".examples li", { has: page.getByRole("link", { name: "returns", exact: true }) });
    await part.getByText("12", { exact: true }).waitFor();
    await part.locator(`a[title="${group.example}"]`).waitFor();
    const times = await part.locator("time").evaluateAll((all) => all.map((one) => one.dateTime));
    assert.deepEqual(times, [group.first_at, group.last_at]);
    assert.ok((await part.textContent()).includes(group.reason), group.reason);
    await page.getByLabel("Filter the groups").fill("nothing-like-this");
    await page.getByText("No group is like that").waitFor();
    await page.getByLabel("Filter the groups").fill("returns");

    await row.getByRole("button", { name: "Redrive rejected: dry run first" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("17 messages").waitFor();
    await dialog.getByLabel("Destination").selectOption("returns");
    await fillRate(dialog, 6);
    await dialog.getByText("in about 2 s at 6 per second").waitFor();
    await dialog.getByText("All of them were counted; nothing was changed.").waitFor();
    await dialog.getByRole("button", { name: "Redrive 12" }).waitFor();
    assert.equal(await lettersOf("returns"), 12, "a dry run changes nothing");
    assert.deepEqual((await rig.ask("GET", "/v1/jobs")).jobs, []);

    await rig.put("returns", { url: `${good}/returns` });
    await dialog.getByLabel("Why, for the audit").fill("they repaired it");
    await dialog.getByRole("button", { name: "Redrive 12" }).click();
    await page.waitForFunction(() => /^#\/jobs\/[0-9a-f]{16}$/.test(location.hash));
    await jobState("done");
    assert.equal(await page.locator(".long progress").evaluate((bar) => bar.value), 1);
    const [job] = (await rig.ask("GET", "/v1/jobs")).jobs;
    assert.deepEqual([job.action, job.filter, job.rate, job.reason, job.done], ["redrive", { destination: "returns", phase: "dead", cause: "rejected" }, 6, "they repaired it", 12]);
    assert.deepEqual([await lettersOf("returns"), await lettersOf("returns-eu")], [0, 5]);
    await until(async () => (await rig.ask("GET", "/v1/stats")).conservation.delivered === 12, "the redriven ones are delivered");
  });

  // req: dashboard.dead-letters.2
  test("letters are dropped only after a confirmation, and parked messages go back in line", async () => {
    await bury("junk", 7);
    await openHash("/dead-letters");
    const row = page.locator("tr", { hasText: "rejected" });
    await row.getByRole("button", { name: "Drop rejected: dry run first" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Destination").selectOption("junk");
    const drop = dialog.getByRole("button", { name: "Drop 7" });
    await drop.waitFor();
    assert.ok(await drop.isDisabled(), "nobody confirmed it");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await lettersOf("junk"), 7);
    await row.getByRole("button", { name: "Drop rejected: dry run first" }).click();
    await dialog.getByLabel("Destination").selectOption("junk");
    await drop.waitFor();
    await dialog.getByLabel(/cannot be undone/).check();
    await drop.click();
    await jobState("done");
    await page.getByRole("link", { name: "junk" }).waitFor();
    assert.equal(await lettersOf("junk"), 0);
    assert.ok((await lettersOf("returns-eu")) > 0, "of the others nothing was dropped");

    await rig.put("remote", { url: "http://127.0.0.1:9", when_exhausted: "park", ladder: "100ms", attempts_max: 1, strikes_max: 1000 });
    const [parked] = await rig.send("remote");
    await rig.waitFor(parked, "parked");
    await rig.put("remote", { url: `${good}/remote` });
    await openHash("/dead-letters");
    await page.getByRole("button", { name: "Retry parked: dry run first" }).click();
    await dialog.getByRole("button", { name: "Retry 1" }).click();
    await jobState("done");
    await rig.waitFor(parked, "delivered");
  });

  // req: dashboard.jobs.1
  test("jobs show how far they are, who wanted them and why, what was refused, and are cancelled", async () => {
    await bury("slow", 200);
    const slow = await rig.ask("POST", "/v1/jobs", { action: "drop", filter: { destination: "slow" }, rate: 1, reason: "one by one" });
    await openHash("/jobs");
    const row = page.locator("tr", { hasText: slow.id });
    await row.getByText("destination slow").waitFor();
    await row.getByText("running").waitFor();
    await row.getByText("http: one by one").waitFor();
    await row.getByText(/ left$/).waitFor();
    const bar = () => row.locator("progress").evaluate((one) => one.value);
    const before = await bar();
    await until(async () => (await bar()) > before, "the bar moves");
    await row.getByRole("button", { name: `Cancel job ${slow.id}` }).click();
    await row.getByText("cancelled").waitFor();
    await row.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
    const stopped = await rig.ask("GET", `/v1/jobs/${slow.id}`);
    assert.ok(stopped.done > 0 && stopped.done < 200, `${stopped.done}`);
    assert.equal(await lettersOf("slow"), 200 - stopped.done);

    await bury("switched-off", 2);
    const gone = await rig.sink("--status", "410");
    await rig.put("switched-off", { url: `${gone}/hook` });
    await rig.send("switched-off");
    await rig.health("switched-off", "disabled");
    const refused = await rig.ask("POST", "/v1/jobs", { action: "redrive", filter: { destination: "switched-off", cause: "rejected" } });
    const other = page.locator("tr", { hasText: refused.id });
    await other.getByText("2 refused").waitFor();
    await other.getByText("disabled").waitFor();
    const daily = await rig.ask("POST", "/v1/jobs", { action: "redrive", filter: { destination: "slow", cause: "timeout" }, every: "24h" });
    const waits = page.locator("tr", { hasText: daily.id });
    await waits.getByText("waiting").waitFor();
    await waits.getByText("every 1 d").waitFor();
    await waits.getByText(/next round in 23 h/).waitFor();
    assert.equal(await page.locator("[data-row]").first().textContent(), daily.id, "the newest first");
  });

  // req: dashboard.jobs.2
  test("a job has a page with its filter, which follows it and can cancel it", async () => {
    await bury("steps", 300);
    const job = await rig.ask("POST", "/v1/jobs", { action: "drop", filter: { destination_prefix: "step", phase: "dead", cause: "rejected", since: "2020-01-01T00:00:00Z" }, rate: 2, reason: "by and by" });
    await openHash("/jobs");
    await page.locator("[data-row]", { hasText: job.id }).press("Enter");
    await jobState("running");
    const facts = async () => Object.fromEntries(await page.$$eval(".facts > div", (rows) => rows.map((row) => [row.querySelector("dt").textContent, row.querySelector("dd").textContent])));
    const told = await facts();
    assert.deepEqual([told["destinations that begin with"], told.phase, told.cause, told.by, told.why], ["step", "dead", "rejected", "http", "by and by"]);
    assert.match(told.since, /^2020-01-01/);
    const done = () => page.locator(".figure", { hasText: "done" }).locator(".value").textContent().then(parseInt);
    const first = await done();
    await until(async () => (await done()) > first, "the figure grows");
    await page.getByRole("button", { name: `Cancel job ${job.id}` }).click();
    await jobState("cancelled");
    await page.getByText("what it did stays").waitFor();
    await openHash("/jobs/0123456789abcdef");
    await page.getByText("There is no job 0123456789abcdef").waitFor();
  });

  // req: dashboard.holds.1
  test("a hold is put by the beginning of names, is told wherever somebody asks why, and released", async () => {
    for (const name of ["yard-north", "yard-south", "quay"]) await rig.put(name, { url: `${good}/${name}` });
    await openHash("/destinations");
    await page.getByRole("button", { name: "Put a hold…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Nothing is given, so it holds everything").waitFor();
    await dialog.getByLabel("Name of the hold").fill("move");
    await dialog.getByLabel("Destinations whose names begin with").fill("yard-");
    await dialog.getByText("2 destinations fit now").waitFor();
    await dialog.getByLabel("Reason").fill("the yard is repaved");
    await dialog.getByRole("button", { name: "Put the hold" }).click();
    await page.getByText("1 hold stands").waitFor();
    const row = page.locator("tr", { hasText: "yard-south" });
    await until(async () => /held by move since .* by http: the yard is repaved/.test(await row.textContent()), "the row tells of the hold");
    await rig.health("yard-south", "paused");
    assert.equal((await rig.ask("GET", "/v1/destinations/quay")).health, "normal");

    const [id] = await rig.send("yard-north");
    const told = await rig.ask("GET", `/v1/messages/${id}/explain`);
    assert.match(told.why, /the yard is repaved/);
    await openHash(`/messages/${id}`);
    await page.locator(".next").getByText("the yard is repaved").waitFor();
    await page.getByRole("link", { name: "yard-north" }).click();
    await page.locator(".why").getByText("the yard is repaved").waitFor();
    assert.equal(await page.getByRole("button", { name: "Resume" }).count(), 0, "a resume would change nothing");
    await page.getByRole("button", { name: "Release hold move" }).click();
    await dialog.getByText("names that begin with yard-").waitFor();
    await dialog.getByRole("button", { name: "Release it" }).click();
    await rig.waitFor(id, "delivered");
    await page.locator("h1 .health-normal").waitFor();
    assert.deepEqual((await rig.ask("GET", "/v1/holds")).holds, []);
  });

  // req: dashboard.holds.2
  test("a hold is put by tenant from a destination, changed, and beside a pause both are told", async () => {
    for (const name of ["acme-a", "acme-b"]) await rig.put(name, { url: `${good}/${name}`, tenant: "acme" });
    await openHash("/destinations/acme-a");
    await page.getByRole("button", { name: "Put a hold…" }).click();
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("Destinations of the tenant").inputValue(), "acme");
    await dialog.getByText("2 destinations fit now").waitFor();
    await dialog.getByLabel("Name of the hold").fill("unpaid");
    await dialog.getByLabel("Reason").fill("their bill");
    await page.keyboard.press("Enter");
    await page.locator(".why").getByText("their bill").waitFor();
    await rig.health("acme-b", "paused");
    await openHash("/destinations");
    await page.getByRole("button", { name: "Change hold unpaid" }).click();
    await dialog.getByLabel("Reason").fill("their second bill");
    await dialog.getByRole("button", { name: "Change it" }).click();
    await page.locator("tr", { hasText: "acme-b" }).getByText("their second bill").waitFor();
    assert.deepEqual((await rig.ask("GET", "/v1/holds")).holds.map((one) => [one.name, one.tenant, one.reason]), [["unpaid", "acme", "their second bill"]]);

    await rig.ask("DELETE", "/v1/holds/unpaid");
    await rig.ask("POST", "/v1/destinations/acme-a/pause", { reason: "by hand" });
    await rig.ask("PUT", "/v1/holds/unpaid", { tenant: "acme", reason: "their third bill" });
    await until(async () => /by hand; also held by unpaid/.test(await page.locator("tr", { hasText: "acme-a" }).textContent()), "both are told");
    await page.getByRole("button", { name: "Resume acme-a" }).waitFor();
    await rig.ask("DELETE", "/v1/holds/unpaid");
  });

  // req: dashboard.audit.1
  test("the audit tells what was just done, the newest first, and goes back", async () => {
    await bury("noted", 1);
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    const cells = (index) => page.locator("tbody tr").nth(index).locator("td").allTextContents();
    await page.locator("tbody tr").first().waitFor();
    await rig.ask("PUT", "/v1/holds/noted", { destination_prefix: "noted", reason: "a look" });
    await rig.ask("DELETE", "/v1/holds/noted");
    const job = await rig.ask("POST", "/v1/jobs", { action: "drop", filter: { destination: "noted" }, reason: "old news" });
    await page.getByRole("link", { name: job.id }).waitFor();
    const rows = [await cells(0), await cells(1), await cells(2), await cells(3)].map((row) => row.slice(1, 5));
    assert.deepEqual(rows, [
      ["http", "job-start", job.id, "old news"], ["http", "release", "noted", "–"], ["http", "hold", "noted", "a look"], ["http", "configure", "noted", "–"],
    ]);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await jobState("done");

    for (let i = 0; i < 60; ++i) {
      await rig.ask("POST", "/v1/destinations/noted/pause", { reason: `round ${i}` });
      await rig.ask("POST", "/v1/destinations/noted/resume");
    }
    await openHash("/audit");
    await page.getByText("100 lines shown").waitFor();
    assert.deepEqual((await cells(1)).slice(2, 5), ["pause", "noted", "round 59"]);
    await page.getByRole("button", { name: "Older" }).click();
    const all = (await auditLines()).reverse();
    const number = Math.min(200, all.length);
    await until(async () => (await page.locator("tbody tr").count()) === number, "more lines");
    const seen = await page.$$eval("tbody tr", (list) => list.map((row) => [...row.cells].slice(1, 4).map((cell) => cell.textContent).join(" ")));
    assert.deepEqual(seen, all.slice(0, number).map((line) => `${line.actor} ${line.action} ${line.target}`));
    await page.getByLabel("Filter the audit").fill("round 7");
    await until(async () => (await page.locator("tbody tr").count()) === 1, "one line");
  });
});
