import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openStore, processConfig } from "@xfn/oci-rootfs";
import { interleave, median, report, timed } from "./figure.ts";
import { build, cli, writeHello } from "./hello.ts";

const runs = 41;
const input = JSON.stringify({
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "FunctionIO",
  observed: {
    composite: { resource: { apiVersion: "example.org/v1", kind: "XHello", metadata: { name: "hello" }, spec: {} } },
  },
});

/** The file that the hello function's image runs. */
async function helloBundle(directory: string): Promise<string> {
  build(writeHello(directory), "bench/hello", { ...process.env, XDG_CACHE_HOME: directory });
  const image = await (await openStore({ dir: join(directory, "xfn") })).image("bench/hello");
  const program = (await processConfig(image)).args.at(-1) as string;
  const bundle = image.layers.map((layer) => join(layer, program)).find(existsSync);
  if (bundle === undefined) throw new Error(`the image has no ${program}`);
  return bundle;
}

/** The cost of the SDK: its import, and a bundled hello function as a whole process against bare Node. */
export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    const sdk = pathToFileURL(createRequire(import.meta.url).resolve("@xfn/functionio/sdk")).href;
    const probe = `const began = performance.now(); await import(${JSON.stringify(sdk)}); console.log(performance.now() - began);`;
    const imports = Array.from({ length: runs }, () =>
      Number(spawnSync(process.execPath, ["--input-type=module", "-e", probe], { encoding: "utf8" }).stdout),
    );
    report({ name: "sdk/import", unit: "ms", runs, value: median(imports), goal: 5 });

    const bundle = await helloBundle(directory);
    const empty = join(directory, "empty.cjs");
    writeFileSync(empty, "");
    const node = (program: string): Promise<number> =>
      timed(() => {
        const { status, stderr } = spawnSync(process.execPath, [program], { input });
        if (status !== 0) throw new Error(`${program} exited with ${status}: ${String(stderr)}`);
      });
    const hello = await interleave(
      runs,
      () => node(bundle),
      () => node(empty),
    );
    report({
      name: "sdk/hello-over-bare-node",
      unit: "ms",
      runs,
      value: hello.ours - hello.peer,
      peer: { name: "node with an empty program", value: hello.peer },
      goal: 5,
    });

    const launcher = join(import.meta.dirname, "../../xfn");
    const version = (command: string, args: string[]): Promise<number> =>
      timed(() => spawnSync(command, [...args, "--version"]));
    const launched = await interleave(
      runs,
      () => version(launcher, []),
      () => version(process.execPath, [cli]),
    );
    report({
      name: "launcher/added",
      unit: "ms",
      runs,
      value: launched.ours - launched.peer,
      peer: { name: "node packages/cli/dist/xfn.js --version", value: launched.peer },
      goal: 100,
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
