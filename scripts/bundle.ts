// Bundles packages/cli/dist/main.js and its imports into packages/cli/dist/xfn.js: a few files instead of 150, because
// a short command spends most of its time on finding and reading modules. Modules that locate files beside them are not
// bundled.
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const CLI = fileURLToPath(new URL("../packages/cli/", import.meta.url));

const { metafile } = await build({
  absWorkingDir: CLI,
  entryPoints: { xfn: "dist/main.js" },
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
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/oci-rootfs", "@xfn/runner", "@xfn/runner-grpc"],
  logLevel: "warning",
  metafile: true,
});

// Remove the chunks of earlier builds last: a running command may still load them.
for (const name of readdirSync(join(CLI, "dist"))) {
  if (/^xfn-\w+\.js$/.test(name) && !Object.hasOwn(metafile.outputs, `dist/${name}`)) rmSync(join(CLI, "dist", name));
}
