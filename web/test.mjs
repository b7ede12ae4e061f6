// Builds the tests of the pure parts and runs them with node's own runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

const folder = join(import.meta.dirname, "tests");
const out = mkdtempSync(join(tmpdir(), "postrider-web-unit-"));
const tests = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
await build({
  configFile: false,
  logLevel: "warn",
  root: import.meta.dirname,
  build: { ssr: true, outDir: out, emptyOutDir: true, rollupOptions: { input: tests.map((name) => join(folder, name)), output: { entryFileNames: "[name].mjs" } } },
});
const done = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...readdirSync(out).filter((name) => name.endsWith(".test.mjs")).map((name) => join(out, name))], { stdio: "inherit" });
rmSync(out, { recursive: true, force: true });
process.exit(done.status ?? 1);
