import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, report, timed } from "./figure.ts";
import { build, writeHello } from "./hello.ts";

const runs = 15;
const goal = 400;
const printMemory = 'process.on("exit", () => process.stderr.write("maxRSS " + process.resourceUsage().maxRSS));';

/** `xfn render` of three TypeScript functions with cached images, as a whole process, launcher included. */
export async function run(): Promise<void> {
  const cache = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const environment = { ...process.env, XDG_CACHE_HOME: cache };
  try {
    build(writeHello(cache), "bench/node", environment);
    const xr = join(cache, "xr.yaml");
    const composition = join(cache, "composition.yaml");
    writeFileSync(xr, "apiVersion: example.org/v1\nkind: XHello\nmetadata:\n  name: hello\n");
    const functions = ["one", "two", "three"].map(
      (name) => `  - name: ${name}\n    type: Container\n    container:\n      image: bench/node\n`,
    );
    writeFileSync(
      composition,
      `apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: hello\nspec:\n  compositeTypeRef:\n    apiVersion: example.org/v1\n    kind: XHello\n  functions:\n${functions.join("")}`,
    );
    const launcher = join(import.meta.dirname, "../../xfn");
    let said = "";
    const render = (options: NodeJS.ProcessEnv = {}): Promise<number> =>
      timed(() => {
        const { status, stderr, stdout } = spawnSync(launcher, ["render", xr, composition], {
          env: { ...environment, ...options },
          encoding: "utf8",
        });
        said = stderr;
        if (status !== 0 || !stdout.includes("greeting: hello hello"))
          throw new Error(`render exited with ${status}: ${stderr}`);
      });
    await render();
    const times: number[] = [];
    for (let run = 0; run < runs; run++) times.push(await render());
    report({ name: "render/three-functions", unit: "ms", runs, value: median(times), goal });
    await render({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(printMemory)}` });
    const memory = Number(/maxRSS (\d+)/.exec(said)?.[1]) / 1000;
    report({ name: "render/memory-of-the-process", unit: "MB", runs: 1, value: memory });
  } finally {
    rmSync(cache, { recursive: true });
  }
}
