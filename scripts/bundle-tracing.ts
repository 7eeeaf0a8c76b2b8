// Bundles packages/program/dist/tracing/exporter.js into a file in its folder, with the libraries of OpenTelemetry,
// which have 20 MB as packages.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

await build({
  absWorkingDir: fileURLToPath(new URL("../packages/program/", import.meta.url)),
  entryPoints: ["dist/tracing/exporter.js"],
  outfile: "dist/tracing/exporter-bundle.js",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // CommonJS libraries load Node's modules with `require`.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  logLevel: "warning",
});
