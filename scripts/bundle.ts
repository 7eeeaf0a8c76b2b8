// Makes packages/cli/dist/xfn.js of packages/cli/dist/main.js and what it imports: a few files instead of 150, as most of the
// time of a short command goes into finding and reading modules. What finds files of its own beside it stays as it is.
import { readdirSync, rmSync } from "node:fs";
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
  // Asked for before anything else, and small.
  alias: { "@xfn/runner/cache-dir": fileURLToPath(new URL("../packages/runner/dist/cache-dir.js", import.meta.url)) },
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/oci-rootfs", "@xfn/runner", "@xfn/runner-grpc"],
  logLevel: "warning",
  metafile: true,
});

// The parts of earlier builds, after those of this one are there: a command that is running may still load them.
for (const name of readdirSync(join(CLI, "dist"))) {
  if (/^xfn-\w+\.js$/.test(name) && !Object.hasOwn(metafile.outputs, `dist/${name}`)) rmSync(join(CLI, "dist", name));
}
