// Bundles the sandbox host, packages/runner/dist/host/main.js, into a file in its folder: one file instead of 25,
// because the first call waits for the start of this process.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

await build({
  absWorkingDir: fileURLToPath(new URL("../packages/runner/", import.meta.url)),
  entryPoints: ["dist/host/main.js"],
  outfile: "dist/host/main-bundle.js",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  external: ["koffi"],
  logLevel: "warning",
});
