// Bundles two modules of packages/runner/dist, each into a file in its folder. The sandbox host, host/main.js, is one
// file instead of 25, because the first call waits for the start of this process. service/tracing.js contains the
// libraries of OpenTelemetry, which have 20 MB as packages.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// CommonJS libraries load Node's modules with `require`.
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

for (const [name, js] of [
  ["host/main", ""],
  ["service/tracing", REQUIRE],
] as const)
  await build({
    absWorkingDir: fileURLToPath(new URL("../packages/runner/", import.meta.url)),
    entryPoints: [`dist/${name}.js`],
    outfile: `dist/${name}-bundle.js`,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    banner: { js },
    external: ["koffi"],
    logLevel: "warning",
  });
