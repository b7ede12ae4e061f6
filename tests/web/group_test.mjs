// Groups of destinations, jobs by any filter and messages that are sent once more, in a real browser against a real daemon.
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
const fits = async (hash) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, `${hash} is too wide`);
  await page.setViewportSize({ width: 1280, height: 860 });
};

describe("groups, filters and history", () => {
  before(async () => {
    browser = await openBrowser();
    rig = new Rig();
    await rig.serve(`[[tokens]]
name = "operator"
secret = "operator-0123456789abcdef"
scopes = ["submit", "read", "operate"]
[[tokens]]
name = "reader"
secret = "reader-0123456789abcdef"
scopes = ["read"]
`);
    rig.token = "operator-0123456789abcdef";
    good = await rig.sink();
    refusing = await rig.sink("--status", "400");
  });
  after(async () => {
    await browser.close();
    await rig.close();
  });
  const enter = async (token) => {
    page = await openPage(browser.context, rig);
    await page.getByLabel("Bearer token").fill(token);
    await page.getByRole("button", { name: "Use it" }).click();
    await page.locator(".law").waitFor();
  };
  beforeEach(() => enter(rig.token));
  afterEach(async () => {
    await page.close();
    assert.deepEqual(page.complaints, [], "errors, refusals by the policy, requests to others");
  });

  // req: dashboard.groups.1
  test("a group shows its members, what each subscribes to, and what happens to them", async () => {
    for (const name of ["shop-eu", "warehouse", "ledger"]) await rig.put(name, { url: `${good}/${name}` });
    await rig.ask("PUT", "/v1/groups/customers", { members: [{ destination: "shop-eu", types: ["order.*", "refund"] }, { destination: "warehouse", types: [] }], skip_closed: true });
    await rig.ask("POST", "/v1/destinations/warehouse/pause", { reason: "stocktaking" });
    await page.keyboard.press("g");
    await page.keyboard.press("g");
    const listed = page.locator("tr", { hasText: "customers" });
    await listed.getByText("shop-eu, warehouse").waitFor();
    await listed.getByText("are left out").waitFor();
    await fits("/groups");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Group customers" }).waitFor();
    const row = (name) => page.locator("tr", { has: page.getByRole("link", { name, exact: true }) });
    await row("shop-eu").getByText("order.*", { exact: true }).waitFor();
    await row("warehouse").getByText("everything").waitFor();
    await row("warehouse").getByText("paused").waitFor();
    const asked = page.getByLabel("Who gets an event of this type");
    await asked.fill("order.paid");
    await page.getByText("2 members get order.paid.").waitFor();
    await asked.fill("news");
    await page.getByText("1 member gets news.").waitFor();
    await row("shop-eu").getByText("no", { exact: true }).waitFor();
    await asked.fill("");

    await page.getByRole("img", { name: "connected", exact: true }).waitFor();
    const sent = await rig.ask("POST", "/v1/groups/customers/messages", { type: "refund", body: { refund: 1 } });
    const message = sent.members.find((member) => member.destination === "shop-eu").message;
    const end = page.locator("ol.tail li", { has: page.locator(`a[title="${message}"]`) });
    await end.getByText("delivered").waitFor();
    await end.getByRole("link", { name: "shop-eu" }).waitFor();
    const changes = page.locator("section", { has: page.getByRole("heading", { name: "Recent changes" }) });
    await changes.getByText("group-put").waitFor();
    await changes.getByText("operator").waitFor();

    await page.getByRole("button", { name: "Change what shop-eu subscribes to" }).click();
    const types = page.getByLabel("Event types, apart by commas");
    await types.fill("order*");
    await page.getByText("order* is no type").waitFor();
    assert.ok(await page.getByRole("button", { name: "Change it" }).isDisabled());
    await types.fill("refund, news");
    await page.getByRole("button", { name: "Change it" }).click();
    await row("shop-eu").getByText("news", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Add a member…" }).click();
    await page.getByRole("dialog").getByLabel("Destination").fill("ledger");
    await page.getByRole("dialog").getByRole("button", { name: "Add it" }).click();
    await row("ledger").waitFor();
    await page.getByRole("button", { name: "Remove warehouse from the group" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Remove warehouse from the group" }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await row("warehouse").waitFor({ state: "detached" });
    const group = await rig.ask("GET", "/v1/groups/customers");
    assert.deepEqual(group.members, [{ destination: "ledger", types: [] }, { destination: "shop-eu", types: ["refund", "news"] }].sort((a, b) => group.members[0].destination === a.destination ? -1 : 1));
    assert.equal(group.skip_closed, true);
    await changes.getByText("group-remove").waitFor();
    await fits("/groups/customers");

    await openHash("/groups/nobody");
    await page.getByText("There is no group nobody").waitFor();
  });

  // req: dashboard.history.1
  test("what has ended and is kept is sent once more, after a dry run", async () => {
    await rig.put("kept", { url: `${good}/kept`, history: "on" });
    await rig.put("unkept", { url: `${good}/unkept` });
    const [old] = await rig.send("kept");
    const [other] = await rig.send("unkept");
    await rig.waitFor(old, "delivered");
    await rig.waitFor(other, "delivered");
    await openHash(`/messages/${other}`);
    await page.getByText("The body of an ended message is not kept").waitFor();
    assert.equal(await page.getByRole("button", { name: "Resend…" }).count(), 0);
    await rig.ask("POST", "/v1/destinations/kept/pause", { reason: "a look" });
    await openHash(`/messages/${old}`);
    await page.getByRole("button", { name: "Resend…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 message").waitFor();
    await dialog.getByText("kept is not well").waitFor();
    await dialog.getByText("the far side gets it twice").waitFor();
    const accepted = async () => (await rig.ask("GET", "/v1/stats")).conservation.accepted;
    const before = await accepted();
    await dialog.getByRole("button", { name: "Leave it" }).click();
    assert.equal(await accepted(), before, "a dry run changes nothing");
    await rig.ask("POST", "/v1/destinations/kept/resume");
    await page.getByRole("button", { name: "Resend…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resend it" }).click();
    await page.waitForFunction((id) => /^#\/messages\/[0-9a-f]{32}$/.test(location.hash) && !location.hash.endsWith(id), old);
    const again = (await page.evaluate(() => location.hash)).slice("#/messages/".length);
    await rig.waitFor(again, "delivered");
    assert.equal(await accepted(), before + 1);
    assert.equal((await rig.ask("GET", `/v1/messages/${old}/explain`)).phase, "delivered", "the old one stays");
  });

  // req: dashboard.jobs.3
  test("a job is made by any filter, after a dry run with the same one", async () => {
    for (const [name, number] of [["port-east", 4], ["port-west", 3], ["yard", 2]]) {
      await rig.put(name, { url: `${refusing}/${name}` });
      await rig.send(name, number);
      await until(async () => (await rig.ask("GET", `/v1/dead-letters/groups?destination=${name}`)).groups[0]?.count === number, `letters of ${name}`);
    }
    await openHash("/jobs");
    await page.getByRole("button", { name: "New job: dry run first" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("9 messages").waitFor();
    await dialog.getByText("it is about everything there is").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Redrive 9" }).isDisabled(), "not without a tick");
    await dialog.getByLabel("What to do").selectOption("drop");
    await dialog.getByLabel("or names that begin with").fill("port-");
    await dialog.getByLabel("or names that begin with").blur();
    await dialog.getByText("7 messages").waitFor();
    assert.ok(await dialog.getByLabel("Destination").isDisabled(), "one or the other");
    await dialog.getByLabel("Reason begins with").fill("HTTP 5");
    await dialog.getByLabel("Reason begins with").blur();
    await dialog.getByText("0 messages").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Drop 0" }).isDisabled());
    await dialog.getByLabel("Reason begins with").fill("");
    await dialog.getByLabel("Reason begins with").blur();
    await dialog.getByLabel("Cause").selectOption("rejected");
    await dialog.getByLabel("Phase").selectOption("dead");
    await dialog.getByLabel("Since").fill("2020-01-01T00:00");
    await dialog.getByLabel("Since").blur();
    await dialog.getByRole("button", { name: "Drop 7" }).waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Drop 7" }).isDisabled(), "not without a tick");
    assert.deepEqual((await rig.ask("GET", "/v1/jobs")).jobs, [], "a dry run is none");
    await page.setViewportSize({ width: 360, height: 740 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, "too wide");
    await page.setViewportSize({ width: 1280, height: 860 });
    await dialog.getByLabel("Why, for the audit").fill("the port is closed");
    await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Drop 7" }).click();
    await page.locator("h1 .job-done").waitFor();
    const [job] = (await rig.ask("GET", "/v1/jobs")).jobs;
    assert.deepEqual([job.action, job.filter.destination_prefix, job.filter.phase, job.filter.cause, job.done, job.reason], ["drop", "port-", "dead", "rejected", 7, "the port is closed"]);
    assert.ok(job.filter.since.startsWith("20"));
    assert.equal((await rig.ask("GET", "/v1/dead-letters/groups")).letters, 2);
    await openHash("/jobs");
    await page.getByRole("button", { name: "New job: dry run first" }).click();
    await dialog.getByLabel("What to do").selectOption("drop");
    await dialog.getByText("2 messages").waitFor();
    await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Drop 2" }).click();
    await page.locator("h1 .job-done").waitFor();
    assert.equal((await rig.ask("GET", "/v1/dead-letters/groups")).letters, 0, "everything");
  });

  // req: dashboard.access.1
  test("without operate groups and jobs are shown, and nothing can be changed", async () => {
    await rig.ask("PUT", "/v1/groups/readers", { members: [{ destination: "ledger", types: [] }] });
    await rig.put("seen", { url: `${good}/seen`, history: "on" });
    const [old] = await rig.send("seen");
    await rig.waitFor(old, "delivered");
    await page.close();
    await enter("reader-0123456789abcdef");
    await openHash("/groups/readers");
    for (const name of ["Add a member…", "Change what ledger subscribes to", "Remove ledger from the group"])
      assert.ok(await page.getByRole("button", { name }).isDisabled(), name);
    await openHash("/jobs");
    assert.ok(await page.getByRole("button", { name: "New job: dry run first" }).isDisabled());
    await openHash(`/messages/${old}`);
    assert.ok(await page.getByRole("button", { name: "Resend…" }).isDisabled());
  });
});
