// The dashboard in a real browser against a real daemon with real receivers: one test per page, and what all pages promise. What is done to many
// at once is in bulk_test.mjs.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { Rig, commandMeter, fill, openBrowser, openPage, until, withMeters } from "./rig.mjs";

let rig;
let ids;
let browser;
let page;

const figures = (text) => Number(text.replace(/[^\d]/g, ""));
const shown = (selector) => page.waitForSelector(selector);
const openHash = async (hash) => {
  await page.goto(`${rig.url}/#${hash}`);
  await page.waitForFunction(() => document.querySelector("main h1, main .empty") !== null);
};

before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

describe("without tokens", () => {
  before(async () => {
    rig = new Rig();
    await rig.serve(await withMeters(rig));
    ids = await fill(rig);
  });
  after(() => rig.close());
  beforeEach(async () => {
    page = await openPage(browser.context, rig);
  });
  afterEach(async () => {
    await page.close();
    assert.deepEqual(page.complaints, [], "errors, refusals by the policy, requests to others");
  });

  // req: dashboard.overview.1
  test("the overview accounts for every message and shows which destinations are not well", async () => {
    const law = (await rig.ask("GET", "/v1/stats")).conservation;
    await shown(".law");
    const seen = await page.$$eval(".law > div", (rows) => rows.map((row) => [row.querySelector("dt").textContent, row.querySelector("dd").firstChild.textContent]));
    const numbers = Object.fromEntries(seen.map(([name, text]) => [name.replace(/[=+]/, ""), figures(text)]));
    assert.deepEqual(numbers, law);
    assert.ok(law.delivered >= 600 && law.dead === 23 && law.expired === 5 && law.cancelled === 3 && law.live > 0);
    const widths = await page.$$eval(".bar:not(.thin) .segment", (parts) => Object.fromEntries(parts.map((part) => [part.className.match(/part-(\S+)/)[1], part.getBoundingClientRect().width])));
    const scale = widths.delivered / law.delivered;
    assert.ok(Math.abs(widths.live / law.live - scale) < scale * 0.05, `to scale: ${JSON.stringify(widths)}`);
    assert.ok(Math.abs(widths.dead / law.dead - scale) < scale * 0.05, `to scale: ${JSON.stringify(widths)}`);
    assert.equal("indeterminate" in widths, false);

    await shown(".healths");
    const healths = Object.fromEntries(await page.$$eval(".healths a", (links) => links.map((one) => [one.querySelector(".badge").textContent, Number(one.querySelector("b").textContent)])));
    assert.deepEqual({ ...healths, normal: 0 }, { normal: 0, degraded: 1, wait: 1, probe: 0, paused: 1, disabled: 1, deep: 0, "catch-up": 0 });
    await page.getByRole("link", { name: "crm" }).first().waitFor();
    await page.getByText("maintenance until noon").waitFor();
    await page.getByText("Oldest pending:").waitFor();
    await page.waitForFunction(() => document.querySelector(".figure .value")?.textContent.endsWith("/s"));
  });

  // req: dashboard.destinations.1
  test("destinations are filtered, paused with a reason, resumed and woken", async () => {
    await openHash("/destinations");
    await page.getByRole("link", { name: "billing" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("shop");
    await page.getByRole("link", { name: "billing" }).waitFor({ state: "detached" });
    const names = () => page.$$eval("[data-row]", (rows) => rows.map((row) => row.textContent).sort().join(" "));
    await until(async () => (await names()) === "shop shop-eu", "both shops and nobody else");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), await page.$$eval("[data-row]", (rows) => rows[1].textContent));
    await page.keyboard.press("k");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), await page.$$eval("[data-row]", (rows) => rows[0].textContent));

    await page.getByRole("button", { name: "Pause shop-eu" }).click();
    await page.getByLabel("Reason").fill("certificate is being renewed");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("certificate is being renewed").waitFor();
    const paused = await rig.ask("GET", "/v1/destinations/shop-eu");
    assert.equal(paused.health, "paused");
    assert.match(paused.reason, /certificate is being renewed/);
    await page.getByRole("button", { name: "Resume shop-eu" }).click();
    await rig.health("shop-eu", "normal");
    await page.getByRole("button", { name: "Pause shop-eu" }).waitFor();

    await page.getByLabel("Filter by the beginning of the name").fill("");
    await page.getByLabel("Filter by health").selectOption("wait");
    await page.getByRole("button", { name: /^Wake crm/ }).click();
    await page.getByRole("status").getByText("Wake crm").waitFor();
    await openHash("/destinations?prefix=zzz");
    await page.getByText("No destination is like that").waitFor();
  });

  // req: dashboard.destinations.2
  test("a destination is made with a secret that signs, tried with a test message, and never changed by mistake", async () => {
    const received = [];
    const receiver = createServer((request, response) => {
      const pieces = [];
      request.on("data", (piece) => pieces.push(piece));
      request.on("end", () => {
        received.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
        response.end("thanks");
      });
    });
    await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
    try {
      await openHash("/destinations");
      await page.getByRole("button", { name: "New destination…" }).click();
      const dialog = page.getByRole("dialog", { name: "New destination" });
      await dialog.getByLabel("Name").fill("fresh");
      await dialog.getByLabel(/^url/).fill("mailto:nobody");
      await dialog.getByRole("button", { name: "Make it" }).click();
      await dialog.getByRole("alert").getByText("url").waitFor();
      await dialog.getByLabel(/^url/).fill(`http://127.0.0.1:${receiver.address().port}/hook`);
      await dialog.getByText("More settings").click();
      await dialog.getByLabel(/^One to a line/).fill("time_out 5s");
      await dialog.getByRole("button", { name: "Make it" }).click();
      await dialog.getByText("not: time_out 5s").waitFor();
      await dialog.getByLabel(/^One to a line/).fill("time_out = 5s");
      await dialog.getByRole("button", { name: "Make it" }).click();
      const secret = await page.getByLabel("Secret", { exact: true }).inputValue();
      const made = await rig.ask("GET", "/v1/destinations/fresh");
      assert.deepEqual([made.profile, made.secrets, made.settings.secret, made.settings.time_out], ["webhook", 1, "***", "5s"]);
      await page.getByRole("button", { name: "Send test" }).click();
      await page.waitForFunction(() => location.hash.startsWith("#/messages/"));
      await page.locator("h1 .phase-delivered").waitFor();
      const [{ headers, body }] = received;
      assert.equal(JSON.parse(body).type, "postrider.test");
      const signed = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64")).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
      assert.equal(headers["webhook-signature"], `v1,${signed}`);

      await openHash("/destinations/fresh");
      await page.getByRole("button", { name: "Send test to fresh" }).click();
      await page.waitForFunction(() => location.hash.startsWith("#/messages/"));
      await page.locator("h1 .phase-delivered").waitFor();
      await openHash("/destinations");
      await page.getByRole("button", { name: "New destination…" }).click();
      await dialog.getByLabel("Name").fill("fresh");
      await dialog.getByLabel(/^url/).fill("http://127.0.0.1:9/elsewhere");
      await dialog.getByRole("button", { name: "Make it" }).click();
      await dialog.getByText("there is a destination fresh already").waitFor();
      assert.deepEqual((await rig.ask("GET", "/v1/destinations/fresh")).settings, made.settings);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  // req: dashboard.destinations.3
  test("a destination tells its success rate and its last error, and is degraded when a third fails", async () => {
    await openHash("/destinations?health=degraded");
    await page.getByRole("link", { name: "billing" }).waitFor();
    assert.equal(await page.$$eval("[data-row]", (rows) => rows.map((row) => row.textContent).join(" ")), "billing");
    const row = page.getByRole("row", { name: /billing/ });
    assert.match(await row.textContent(), /degraded0 %23 of 23 attempts failed in the last ten minutesLast error .*: .*422/);
    await openHash("/destinations?health=normal");
    await page.getByRole("link", { name: "shop", exact: true }).waitFor();
    assert.equal(await page.getByRole("link", { name: "billing" }).count(), 0);
    assert.match(await page.getByRole("row", { name: /^shop webhook/ }).textContent(), /normal100 %–/);
    await openHash("/destinations/billing");
    await page.locator("h1 .health-degraded").waitFor();
    await page.locator(".figure", { hasText: "success" }).getByText("0 %").waitFor();
    await page.locator(".why").getByText(/Last error .*422/).waitFor();
    await openHash("/");
    await page.getByRole("row", { name: /billing/ }).getByText("23 of 23 attempts failed in the last ten minutes").waitFor();
  });

  // req: dashboard.destination.1
  test("a destination shows why it waits, how old its messages are, and what happens live", async () => {
    await openHash("/destinations/crm");
    await shown(".heat");
    const cells = await page.$$eval(".heat td.total", (all) => all.map((cell) => Number(cell.textContent)));
    const live = (await rig.ask("GET", "/v1/messages?destination=crm&limit=1000")).messages.length;
    assert.equal(cells.reduce((sum, value) => sum + value, 0), live);
    assert.equal(live, 40);
    const inside = await page.$$eval(".heat td:not(.total)", (all) => all.reduce((sum, cell) => sum + Number(cell.textContent), 0));
    assert.equal(inside, 40);
    await page.getByText("First in line").waitFor();
    await page.getByText("Settings (").click();
    await page.getByText("wait_base").waitFor();

    await openHash("/destinations/shop");
    await shown(".pulse.on");
    const [id] = await rig.send("shop");
    await page.locator(`.tail a[title="${id}"]`).waitFor();
    assert.match(await page.locator(".tail li").first().textContent(), /delivered/);
    await page.getByRole("button", { name: "Freeze" }).click();
    const [meanwhile] = await rig.send("shop");
    await rig.waitFor(meanwhile, "delivered");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.locator(`.tail a[title="${meanwhile}"]`).waitFor();
    await openHash("/destinations/nobody");
    await page.getByText("There is no destination nobody").waitFor();
  });

  // req: dashboard.message.1
  test("a message tells what happened and what comes next, and is retried and cancelled", async () => {
    const id = ids.held[0];
    await page.getByLabel("Find a message by its id").fill(id);
    await page.keyboard.press("Enter");
    await page.getByText("What happens next").waitFor();
    const told = await rig.ask("GET", `/v1/messages/${id}/explain`);
    await page.locator(".next").getByText(told.why).waitFor();
    await page.getByText("Accepted and durable").waitFor();
    await page.getByRole("button", { name: "Show the body" }).click();
    await page.getByText('{"order":1}').waitFor();
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    assert.equal((await rig.ask("GET", `/v1/messages/${id}/explain`)).phase, "queued");
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    await rig.waitFor(id, "cancelled");
    await page.locator("h1 .phase-cancelled").waitFor();
    await page.getByText("Nothing: it has ended.").waitFor();

    const waiting = (await rig.ask("GET", "/v1/messages?destination=crm&phase=backoff&limit=1000")).messages[0];
    await openHash(`/messages/${waiting.id}`);
    await page.locator(".timeline").getByText("Attempt failed").first().waitFor();
    const tried = (await rig.ask("GET", `/v1/messages/${waiting.id}`)).last_attempts;
    assert.ok(await page.locator(".timeline .entry-attempt-failed").count() <= tried.length);
    await page.getByRole("button", { name: "Retry now" }).click();
    await page.getByRole("status").getByText("Retry:").waitFor();
    await openHash(`/messages/${"0".repeat(32)}`);
    await page.getByText("Nothing is known of this message").waitFor();
  });

  // req: dashboard.message.2
  test("the page of a message says nothing twice", async () => {
    for (const id of [ids.delivered[0], ids.dead[0], ids.backoff[0], ids.held[1], ids.expired[0], ids.cancelled[0]]) {
      await openHash(`/messages/${id}`);
      await page.locator(".timeline").getByText("Accepted and durable").waitFor();
      const said = await page.$$eval("main p, main dd, main .timeline div div, main .timeline strong, main h2", (all) => all
        .map((one) => one.textContent.trim().replace(/\.$/, "").toLowerCase()).filter((text) => text.includes(" ")));
      assert.ok(said.length >= 4, said.join("\n"));
      for (const text of said) {
        const again = said.filter((other) => other === text || other.endsWith(`: ${text}`));
        assert.equal(again.length, 1, `${id}: ${again.join(" | ")}`);
      }
      assert.ok(!(said.some((text) => /^it waits for/.test(text)) && said.some((text) => /^waits for/.test(text))), said.join("\n"));
    }
  });

  // req: dashboard.profile.1, dashboard.profile.2
  test("a profile is drawn with the messages that are in its states", async () => {
    for (let i = 0; i < 3; ++i) await commandMeter(rig, i);
    const counts = async (profile) => {
      const names = new Set((await rig.ask("GET", "/v1/destinations?limit=1000")).destinations.filter((one) => one.profile === profile).map((one) => one.name));
      const sums = {};
      for (const one of (await rig.ask("GET", "/v1/messages?limit=1000")).messages) if (names.has(one.destination)) sums[one.state] = (sums[one.state] ?? 0) + 1;
      return sums;
    };
    const drawn = () => page.$$eval(".node:not(.end)", (nodes) => Object.fromEntries(nodes.map((node) => [node.querySelector(".name").textContent, Number(node.querySelector(".number").textContent)]).filter(([, number]) => number > 0)));
    const same = async (profile) => {
      const wanted = JSON.stringify(Object.entries(await counts(profile)).sort());
      return wanted !== "[]" && JSON.stringify(Object.entries(await drawn()).sort()) === wanted;
    };
    await openHash("/profiles/webhook");
    await shown(".diagram");
    await until(() => same("webhook"), "the counts of webhook");
    assert.ok((await page.locator(".edge").count()) >= 4);
    assert.equal(await page.locator(".edge.to-end").count(), 0, "lines to ends wait for a choice");
    await page.getByRole("button", { name: /^Sending/ }).first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("cell", { name: "timed-out" }).waitFor();
    assert.ok((await page.locator(".edge.lit").count()) >= 4);
    const toEnds = await page.locator(".edge.to-end").count();
    assert.ok(toEnds >= 2, "those of the chosen state are drawn");
    assert.equal(await page.locator(".edge.to-end.lit").count(), toEnds);
    await page.getByRole("button", { name: "All states" }).click();
    await page.locator(".edge.to-end").first().waitFor({ state: "detached" });

    await page.getByLabel("Profile", { exact: true }).selectOption("device");
    await page.getByRole("tab", { name: "pull-closed" }).waitFor();
    assert.equal(await page.getByRole("tab").count(), (await rig.ask("GET", "/v1/profiles/device")).methods.length);
    for (const method of ["pull-free", "pull-closed"]) {
      await page.getByRole("tab", { name: method }).click();
      await page.getByRole("button", { name: /^AwaitTask/ }).first().waitFor();
    }
    await until(() => same("device"), "the counts of device");
  });

  // req: dashboard.keys.1
  test("everything can be reached by keys, and the keys are listed", async () => {
    await shown(".law");
    for (const [key, hash] of [["d", "#/destinations"], ["g", "#/groups"], ["l", "#/dead-letters"], ["j", "#/jobs"], ["p", "#/profiles"], ["a", "#/audit"], ["o", "#/"]]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForFunction((wanted) => location.hash === wanted, hash);
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Overview" }).focus();
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => [document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]);
    assert.deepEqual(focused, ["Destinations", "solid"], "the focus can be seen");
  });

  // req: dashboard.look.1
  test("it is dark when the system is, or when it is told to be, and stays so", async () => {
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: "light" });
    const light = await back();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await back();
    assert.notEqual(light, dark);
    await page.keyboard.press("t");
    assert.equal(await back(), light);
    await page.keyboard.press("t");
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await back(), dark);
    await page.reload();
    await shown(".law");
    assert.equal(await back(), dark);
    await page.getByRole("button", { name: /^Theme/ }).click();
    assert.equal(await back(), light);
  });

  // req: dashboard.look.2
  test("no page is wider than 360 pixels, and every control has a name", async () => {
    const job = await rig.ask("POST", "/v1/jobs", { action: "redrive", filter: { destination: "legacy" }, reason: "to be refused, at some length, because it is disabled" });
    await rig.ask("PUT", "/v1/holds/a-name-without-much-room-to-break-it", { destination_prefix: "nobody", reason: "for the width" });
    await page.setViewportSize({ width: 360, height: 740 });
    for (const hash of ["/", "/destinations", "/destinations/crm", `/messages/${ids.backoff[0]}`, `/messages/${ids.dead[0]}`, "/groups", "/dead-letters", "/jobs", `/jobs/${job.id}`, "/audit", "/profiles/webhook", "/profiles/device"]) {
      await openHash(hash);
      await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, `${hash} is too wide`);
      const nameless = await page.$$eval("button, a, input, select, [role=button], [role=img]", (all) => all
        .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length))
        .map((one) => one.outerHTML));
      assert.deepEqual(nameless, [], hash);
    }
    await openHash("/destinations");
    await page.getByRole("button", { name: "New destination…" }).click();
    await page.getByText("More settings").click();
    const over = await page.getByRole("dialog").evaluate((dialog) => [dialog.getBoundingClientRect().right, dialog.scrollWidth - dialog.clientWidth]);
    assert.ok(over[0] <= 360 && over[1] <= 0, `the dialog is too wide: ${over}`);
  });

  // req: dashboard.policy.1
  test("the policy stops foreign code, inline code and inline style", async () => {
    await shown(".law");
    const outcome = await page.evaluate(async () => {
      const blocked = [];
      document.addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
      const script = document.createElement("script");
      try {
        script.textContent = "window.broken = 1";
      } catch {
        blocked.push("trusted-types");
      }
      document.head.append(script);
      const style = document.createElement("style");
      style.textContent = "body { display: none }";
      document.head.append(style);
      const fetched = await fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused");
      await new Promise((done) => setTimeout(done));
      return { blocked, fetched, broken: window.broken, display: getComputedStyle(document.body).display };
    });
    page.complaints = page.complaints.filter((text) => !/Content Security Policy|TrustedScript|127\.0\.0\.1:9\//.test(text));
    assert.equal(outcome.broken, undefined);
    assert.notEqual(outcome.display, "none");
    assert.equal(outcome.fetched, "refused");
    assert.ok(outcome.blocked.some((one) => one.startsWith("style-src")), String(outcome.blocked));
    assert.ok(outcome.blocked.includes("connect-src"), String(outcome.blocked));
  });

  // req: dashboard.away.1
  test("a daemon that went away is told, and what was known stays", async () => {
    await shown(".law");
    await page.route("**/v1/**", (route) => route.abort());
    await page.getByText("The daemon does not answer").waitFor();
    assert.ok(await page.locator(".law").isVisible());
    await page.unroute("**/v1/**");
    await page.getByText("The daemon does not answer").waitFor({ state: "detached" });
  });
});

describe("with tokens", () => {
  before(async () => {
    rig = new Rig();
    await rig.serve(`
[[tokens]]
name = "reader"
scopes = ["read"]
secret = "reader-0123456789abcdef"
[[tokens]]
name = "operator"
scopes = ["read", "operate"]
secret = "operator-0123456789abcdef"
[[tokens]]
name = "shop"
scopes = ["submit"]
secret = "submit-0123456789abcdef"
`);
    rig.token = "operator-0123456789abcdef";
    await rig.put("shop", { url: "http://127.0.0.1:9" });
    await rig.ask("POST", "/v1/destinations/shop/pause", {});
    await rig.ask("PUT", "/v1/holds/night", { destination_prefix: "nobody", reason: "it is late" });
  });
  after(() => rig.close());
  afterEach(async () => {
    await page.close();
    assert.deepEqual(page.complaints, []);
  });

  const give = async (secret) => {
    await page.getByLabel("Bearer token").fill(secret);
    await page.keyboard.press("Enter");
  };

  // req: dashboard.access.1
  test("it asks for a token, is read-only without operate, and forgets the token when told", async () => {
    page = await openPage(browser.context, rig, "/#/destinations");
    await page.getByText("This daemon wants a token").waitFor();
    await give("nobody-0123456789abcdef");
    await page.getByText("this token is not known").waitFor();
    await give("reader-0123456789abcdef");
    await page.getByText("read-only").waitFor();
    await page.getByRole("link", { name: "shop" }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Resume shop" }).isDisabled());
    assert.ok(await page.getByRole("button", { name: "Put a hold…" }).isDisabled());
    assert.ok(await page.getByRole("button", { name: "New destination…" }).isDisabled());
    assert.ok(await page.getByRole("button", { name: "Release hold night" }).isDisabled());
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.locator("tr", { hasText: "hold" }).getByText("operator").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    assert.deepEqual(await page.evaluate(() => [Object.values(sessionStorage), Object.values(localStorage), document.cookie]), [["reader-0123456789abcdef"], [], ""]);
    await page.reload();
    await page.getByText("read-only").waitFor();

    await page.getByRole("button", { name: "Forget token" }).click();
    await page.getByText("This daemon wants a token").waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await give("operator-0123456789abcdef");
    await page.getByRole("button", { name: "Resume shop" }).click();
    await rig.health("shop", "normal");

    await page.getByRole("button", { name: "Forget token" }).click();
    await give("submit-0123456789abcdef");
    await page.getByText("This token may not read").waitFor();
  });
});
