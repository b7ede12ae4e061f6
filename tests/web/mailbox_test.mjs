// Mailboxes in a real browser against a real daemon: which there are, what waits in one of them, and confirming.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { Rig, openBrowser, openPage, until } from "./rig.mjs";

let rig;
let browser;
let page;

const token = (name, scopes) => `[[tokens]]
name = "${name}"
secret = "${name}-0123456789abcdef"
scopes = ${JSON.stringify(scopes)}
`;
const enter = async (name, hash) => {
  page = await openPage(browser.context, rig, `/#${hash}`);
  await page.getByLabel("Bearer token").fill(`${name}-0123456789abcdef`);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
};
const makeBox = (name, settings = {}) => rig.ask("PUT", `/v1/destinations/${name}`, { profile: "mailbox", settings });
const waiting = async (name) => (await rig.ask("GET", `/v1/mailboxes/${name}/messages`)).messages.map((one) => one.id);

describe("mailboxes", () => {
  before(async () => {
    browser = await openBrowser();
    rig = new Rig();
    await rig.serve(token("operator", ["submit", "read", "operate", "receive"]) + token("looker", ["submit", "read", "operate"]));
    rig.token = "operator-0123456789abcdef";
  });
  after(async () => {
    await browser.close();
    await rig.close();
  });
  afterEach(async () => {
    await page.close();
    assert.deepEqual(page.complaints, [], "errors, refusals by the policy, requests to others");
  });

  // req: dashboard.mailboxes.1
  test("they are listed, the fullest first, found by keys and by name, without templates and other destinations", async () => {
    await enter("operator", "/mailboxes");
    await page.getByText("There are no mailboxes").waitFor();
    for (const name of ["empty", "inbox", "spool", "in:*"]) await makeBox(name);
    await rig.put("shop", { url: await rig.sink() });
    await rig.send("inbox", 3);
    await rig.send("spool", 1);
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.locator(".law").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.getByRole("heading", { name: "Mailboxes" }).waitFor();
    const rows = () => page.$$eval("tbody tr", (all) => all.map((row) => [row.querySelector("[data-row]").textContent, row.querySelector(".number").textContent]));
    await until(async () => JSON.stringify(await rows()) === JSON.stringify([["inbox", "3"], ["spool", "1"], ["empty", "0"]]), "three mailboxes");
    await page.keyboard.press("/");
    await page.keyboard.type("spo");
    await until(async () => (await rows()).length === 1, "one mailbox");
    await page.getByRole("link", { name: "spool" }).click();
    await page.getByRole("heading", { name: "Mailbox spool" }).waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, "it is too wide");
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  // req: dashboard.mailboxes.2
  test("a look changes nothing, and what is confirmed is delivered and gone", async () => {
    await makeBox("orders");
    const [first, second, third] = await rig.send("orders", 3);
    await enter("operator", "/mailboxes/orders");
    await page.getByText("3 messages wait for the reader.").waitFor();
    const bodies = () => page.$$eval("tbody td.wide", (cells) => cells.map((cell) => cell.textContent));
    assert.deepEqual(await bodies(), ['{"order":1}', '{"order":2}', '{"order":3}']);
    assert.deepEqual(await waiting("orders"), [first, second, third]);
    await page.locator("tbody tr").nth(1).getByRole("button", { name: "Confirm" }).click();
    await page.getByText("2 messages wait for the reader.").waitFor();
    assert.deepEqual(await bodies(), ['{"order":1}', '{"order":3}']);
    assert.deepEqual(await waiting("orders"), [first, third]);
    await rig.waitFor(second, "delivered");
    await rig.ask("POST", "/v1/mailboxes/orders/confirm", { ids: [first, third] });
    await page.getByText("Nothing waits here").waitFor(); // by itself: the page asks again
    await rig.send("orders", 1);
    await page.getByText("1 message waits for the reader.").waitFor();
  });

  // req: dashboard.mailboxes.2
  test("bodies are shown as text, and more than a page is said to be more", async () => {
    await makeBox("large");
    await rig.send("large", 130, { body: `<b onclick="x">${"long ".repeat(80)}</b>` });
    await enter("operator", "/mailboxes/large");
    await page.getByText("The 100 oldest messages; more wait behind them.").waitFor();
    assert.equal(await page.locator("main b").count(), 0, "a body is no markup");
    const text = await page.locator("tbody td.wide").first().textContent();
    assert.ok(text.startsWith('<b onclick="x">long long') && text.endsWith("…") && text.length < 210, text);
  });

  // req: dashboard.mailboxes.2
  test("a token without receive may look and not confirm", async () => {
    await makeBox("closed");
    const [id] = await rig.send("closed", 1);
    await enter("looker", "/mailboxes/closed");
    const button = page.getByRole("button", { name: "Confirm" });
    await button.waitFor();
    assert.ok(await button.isDisabled());
    assert.equal(await button.getAttribute("title"), "This needs a token with the scope receive");
    assert.deepEqual(await waiting("closed"), [id]);
  });
});
