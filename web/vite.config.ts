import { defineConfig } from "vite";

// The build says with POSTRIDER_WEB_OUT where the assets go; a call by hand leaves them under build/.
const out = process.env["POSTRIDER_WEB_OUT"] ?? "../build/web/dist";

export default defineConfig({
  // `npm run dev` beside a daemon on its usual port.
  server: { proxy: { "/v1": "http://127.0.0.1:8460", "/openapi.json": "http://127.0.0.1:8460" } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: out,
    emptyOutDir: true,
    // data: addresses would need a hole in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    target: "es2022",
  },
});
