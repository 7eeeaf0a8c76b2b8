import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, readImageManifest } from "@xfn/oci-rootfs";
import { median, report, timed } from "./figure.ts";
import { build, writeHello } from "./hello.ts";

const runs = 9;

/**
 * The cost of a change of a TypeScript function: `xfn build` as a whole process, with type check and an existing base,
 * and the size of the new content, which a push sends.
 */
export async function run(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    const hello = writeHello(directory);
    const source = join(hello, "function.ts");
    const original = readFileSync(source, "utf8");
    const environment = { ...process.env, XDG_CACHE_HOME: directory };
    const layers = async (): Promise<ReadonlyMap<string, number>> => {
      const store = await openStore({ dir: join(directory, "xfn") });
      const { layers: found } = readImageManifest(store, await store.image("bench/build"));
      return new Map(found.map(({ digest, size }) => [digest, size]));
    };
    build(hello, "bench/build", environment);
    let before = await layers();
    const times: number[] = [];
    const sizes: number[] = [];
    for (let at = 0; at < runs; at++) {
      writeFileSync(source, `${original}\nconsole.log(${at});\n`);
      times.push(await timed(() => build(hello, "bench/build", environment)));
      const after = await layers();
      const added = [...after].filter(([digest]) => !before.has(digest));
      if (added.length !== 1) throw new Error(`${added.length} layers changed with the function's code, not one`);
      sizes.push(...added.map(([, size]) => size / 1e6));
      before = after;
    }
    report({ name: "build/typescript", unit: "ms", runs, value: median(times), goal: 2000 });
    report({ name: "build/new-after-a-change", unit: "MB", runs, value: median(sizes) });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
