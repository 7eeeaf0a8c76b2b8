import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@xfn/oci-rootfs";
import { createRunner, MAX_PAYLOAD_BYTES, sandboxOwner } from "@xfn/runner";
import { bareCrun } from "./bare-crun.ts";
import { interleave, report, timed } from "./figure.ts";
import { build, writeHello } from "./hello.ts";

const runs = 40;
const goal = 1.3;
const busybox = "/bin/busybox";

const input = Buffer.from(
  JSON.stringify({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: {
      composite: { resource: { apiVersion: "example.org/v1", kind: "XHello", metadata: { name: "hello" } } },
    },
  }),
);

/** A warm call of a small and of a large image, against bare `crun run` of the same bundle. */
export async function run(): Promise<void> {
  const cache = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  chmodSync(cache, 0o755);
  const environment = { ...process.env, XDG_CACHE_HOME: cache };
  try {
    const echo = join(cache, "echo");
    mkdirSync(echo);
    // busybox as cat: a static program of 2 MB that copies stdin to stdout.
    cpSync(busybox, join(echo, "cat"));
    build(echo, "bench/busybox", environment);
    build(writeHello(cache), "bench/node", environment);

    const store = await openStore({ dir: join(cache, "xfn"), owner: sandboxOwner() });
    const runner = createRunner({ store, maxOutputBytes: MAX_PAYLOAD_BYTES });
    try {
      for (const name of ["busybox", "node"]) {
        const image = await store.image(`bench/${name}`);
        const bare = await bareCrun(image, input);
        try {
          const result = await interleave(
            runs,
            () => timed(() => runner.run(`bench/${name}`, input)),
            () => bare.run(),
          );
          report({
            name: `call/${name}`,
            unit: "ms",
            runs,
            value: result.ours,
            peer: { name: "bare crun run", value: result.peer },
            ratio: result.ratio,
            goal,
          });
        } finally {
          await bare.close();
        }
      }
      for (const megabytes of [1, 10, 50]) {
        const image = await store.image("bench/busybox");
        const large = Buffer.alloc(megabytes * 1_000_000, "x");
        const bare = await bareCrun(image, large);
        try {
          const result = await interleave(
            15,
            () => timed(() => runner.run("bench/busybox", large)),
            () => bare.run(),
          );
          report({
            name: `call/busybox-${megabytes}MB`,
            unit: "ms",
            runs: 15,
            value: result.ours,
            peer: { name: "bare crun run", value: result.peer },
            ratio: result.ratio,
          });
        } finally {
          await bare.close();
        }
      }
      report({ name: "call/memory-of-the-sandbox-host", unit: "MB", runs: 1, value: hostMemory() });
    } finally {
      await runner.close();
    }
  } finally {
    rmSync(cache, { recursive: true });
  }
}

/** Resident megabytes of the sandbox host, the only grandchild of this process while no call runs. */
function hostMemory(): number {
  const children = (pid: number | string): string[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  const [host] = children(process.pid).flatMap(children);
  return Number(readFileSync(`/proc/${host}/status`, "utf8").match(/^VmRSS:\s+(\d+)/m)?.[1]) / 1000;
}
