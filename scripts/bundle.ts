// Bundles packages/cli/dist/main.js and its imports into packages/cli/dist/xfn.js: a few files instead of 150, because
// a short command spends most of its time on finding and reading modules. Modules that locate files beside them are not
// bundled.
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const CLI = fileURLToPath(new URL("../packages/cli/", import.meta.url));

// CommonJS packages, such as gRPC's, load Node's modules with `require`, which a bundle of ES modules lacks.
const REQUIRE =
  'import { createRequire as requireOfModule } from "node:module"; const require = requireOfModule(import.meta.url);';

const { metafile } = await build({
  absWorkingDir: CLI,
  entryPoints: {
    xfn: "dist/main.js",
    // A worker, which its module finds beside itself.
    "output-worker": fileURLToPath(new URL("../packages/pipeline/dist/output/output-worker.js", import.meta.url)),
  },
  outdir: "dist",
  chunkNames: "xfn-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  alias: {
    // Loaded first, and small.
    "@xfn/runner/cache-dir": fileURLToPath(new URL("../packages/runner/dist/cache-dir.js", import.meta.url)),
    // npm may install a copy for each package; the bundle needs one.
    commander: createRequire(join(CLI, "package.json")).resolve("commander"),
  },
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/kubernetes", "@xfn/oci-rootfs", "@xfn/runner"],
  banner: { js: REQUIRE },
  logLevel: "warning",
  metafile: true,
});

// Remove the chunks of earlier builds last: a running command may still load them.
for (const name of readdirSync(join(CLI, "dist"))) {
  if (/^xfn-\w+\.js$/.test(name) && !Object.hasOwn(metafile.outputs, `dist/${name}`)) rmSync(join(CLI, "dist", name));
}
