import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { basemapPlugin } from "./scripts/basemap.mjs";

const service = process.env.LONGWIRE_URL ?? "http://127.0.0.1:8080";

// Stable names, so that a rebuild is a change in git and not a rename. The service replaces
// `__files__` by a hash of all files, which makes every address immutable for browsers.
export default defineConfig(({ command }) => ({
  base: command === "build" ? "/console/__files__/" : "/console/",
  plugins: [basemapPlugin()],
  resolve: { alias: { "~": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: process.env.CONSOLE_OUT ?? "../src/longwire/web/console",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      onwarn: (warning, warn) => {
        // Directives of server components mean nothing here.
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  worker: {
    format: "es",
    rolldownOptions: { output: { entryFileNames: "assets/[name].js" } },
  },
  server: {
    // The host stays that of the browser: requests with a cookie must not come from another one.
    proxy: {
      "^/(?!console/)": { target: service, changeOrigin: false },
      "^/console/settings": { target: service, changeOrigin: false },
    },
  },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx", "scripts/**/*.test.mjs"] },
}));
