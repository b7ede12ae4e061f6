// Takes pictures of all pages: node shots.mjs OUT_DIR [URL]; those in OUT_DIR/kept are for docs/img. Without a URL a daemon with everything in it is started.
import { mkdirSync } from "node:fs";
import { Rig, commandMeter, fill, fillBulk, openBrowser, openPage, withMeters } from "./rig.mjs";

const [out, url] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const rig = new Rig();
if (url !== undefined) {
  rig.url = url;
} else {
  await rig.serve(await withMeters(rig));
  await fill(rig);
  await fillBulk(rig);
  for (let i = 0; i < 5; ++i) await commandMeter(rig, i);
}
const browser = await openBrowser();
const one = (await rig.ask("GET", "/v1/messages?destination=crm&limit=5")).messages[0]?.id;
const dead = (await rig.ask("GET", "/v1/dead-letters?limit=50")).dead_letters.find((letter) => letter.phase === "dead")?.id;
const job = (await rig.ask("GET", "/v1/jobs")).jobs.find((it) => it.state === "running")?.id;
const pages = {
  overview: "/#/", destinations: "/#/destinations", destination: "/#/destinations/crm", degraded: "/#/destinations/billing", message: `/#/messages/${one}`,
  ended: `/#/messages/${dead}`, dead: "/#/dead-letters", jobs: "/#/jobs", job: `/#/jobs/${job}`, held: "/#/destinations/harbour-east", audit: "/#/audit",
  groups: "/#/groups", group: "/#/groups/customers",
  webhook: "/#/profiles/webhook", device: "/#/profiles/device", pull: "/#/profiles/device?method=pull-closed",
};
// Dialogs: the page that they stand on, and the button that opens them.
const dialogs = {
  redrive: ["/#/dead-letters", /^Redrive rejected/], drop: ["/#/dead-letters", /^Drop rejected/], hold: ["/#/destinations", /^Put a hold/], new_job: ["/#/jobs", /^New job/],
  new_destination: ["/#/destinations", /^New destination/],
};
const looks = [
  { name: "light", width: 1280, height: 860, scheme: "light" },
  { name: "dark", width: 1280, height: 860, scheme: "dark" },
  { name: "narrow", width: 360, height: 740, scheme: "light" },
];
const page = await openPage(browser.context, rig);
for (const look of looks) {
  await page.setViewportSize({ width: look.width, height: look.height });
  await page.emulateMedia({ colorScheme: look.scheme });
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(rig.url + path);
    await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
    if (name === "overview") await page.waitForTimeout(6500); // for the rates
    await page.screenshot({ path: `${out}/${name}-${look.name}.png`, fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) console.log(`${name}-${look.name}: ${wide} pixels too wide`);
  }
  for (const [name, [path, button]] of Object.entries(dialogs)) {
    await page.goto(rig.url + path);
    await page.getByRole("button", { name: button }).click();
    await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
    await page.screenshot({ path: `${out}/${name}-${look.name}.png` });
    await page.keyboard.press("Escape");
  }
}
// Those that docs/img keeps, after shrink.mjs.
const kept = [
  ["overview-light", "light", 1180, 900, "/#/"], ["overview-narrow", "light", 360, 740, "/#/"], ["destination-dark", "dark", 1180, 640, "/#/destinations/crm"],
  ["message-light", "light", 1100, 520, `/#/messages/${one}`], ["profile-light", "light", 1100, 420, "/#/profiles/webhook", /^Sending/],
  ["redrive-light", "light", 1100, 600, "/#/dead-letters", /^Redrive rejected/], ["jobs-dark", "dark", 1180, 440, "/#/jobs"], ["holds-light", "light", 1180, 560, "/#/destinations"],
  ["group-light", "light", 1180, 600, "/#/groups/customers"], ["new-job-dark", "dark", 1100, 640, "/#/jobs", /^New job/],
  ["new-destination-light", "light", 1100, 520, "/#/destinations", /^New destination/],
];
mkdirSync(`${out}/kept`, { recursive: true });
for (const [name, colorScheme, width, height, path, button] of kept) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.goto(rig.url + path);
  await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
  if (button !== undefined) await page.getByRole("button", { name: button }).first().click();
  await page.waitForFunction(() => document.querySelector("[aria-busy]") === null);
  for (let i = 0; path === "/#/" && i < 32; ++i) {
    if (url === undefined) await rig.send("shop", 20 + (i % 7) * 9); // so that there are rates
    await page.waitForTimeout(250);
  }
  await page.mouse.move(1, 1);
  await page.screenshot({ path: `${out}/kept/${name}.png` });
}
console.log(page.complaints);
await browser.close();
await rig.close();
