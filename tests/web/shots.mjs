// Takes pictures of all pages: node shots.mjs OUT_DIR [URL]. Without a URL a daemon with everything in it is started.
import { mkdirSync } from "node:fs";
import { Rig, commandMeter, fill, openBrowser, openPage, withMeters } from "./rig.mjs";

const [out, url] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const rig = new Rig();
if (url !== undefined) {
  rig.url = url;
} else {
  await rig.serve(await withMeters(rig));
  await fill(rig);
  for (let i = 0; i < 5; ++i) await commandMeter(rig, i);
}
const browser = await openBrowser();
const one = (await rig.ask("GET", "/v1/messages?destination=crm&limit=5")).messages[0]?.id;
const dead = (await rig.ask("GET", "/v1/dead-letters?limit=50")).dead_letters.find((letter) => letter.phase === "dead")?.id;
const pages = {
  overview: "/#/", destinations: "/#/destinations", destination: "/#/destinations/crm", message: `/#/messages/${one}`,
  ended: `/#/messages/${dead}`, dead: "/#/dead-letters", jobs: "/#/jobs", webhook: "/#/profiles/webhook", device: "/#/profiles/device", pull: "/#/profiles/device?method=pull-closed",
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
}
console.log(page.complaints);
await browser.close();
await rig.close();
