import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Image } from "@xfn/oci-rootfs";
import { processConfig } from "@xfn/oci-rootfs";
import { runtimeSpec, sandboxOwner } from "@xfn/runner";

/** Bare `crun run` of an image's bundle: the minimum for any runner built on crun. */
export interface BareCrun {
  /** Runs once. Returns the milliseconds that a small parent process (bash) measures. */
  run(): Promise<number>;
  /** Runs many times, so many at a time. Returns the total milliseconds. */
  runMany(runs: number, atATime: number): Promise<number>;
  close(): Promise<void>;
}

/** Prepares an overlay of the image once, in namespaces that stay, so that each run measures crun alone. */
export async function bareCrun(image: Image, input: Uint8Array): Promise<BareCrun> {
  const root = process.geteuid?.() === 0;
  const owner = sandboxOwner() ?? { uid: 0, gid: 0 };
  // The sandbox's id needs search permission on every parent directory.
  const directory = mkdtempSync("/var/tmp/xfn-bare-");
  const scratch = join(directory, "s");
  mkdirSync(scratch, { mode: 0o755 });
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, "input"), input);
  writeFileSync(
    join(directory, "config.json"),
    runtimeSpec(await processConfig(image), {
      network: "Isolated",
      runtime: "crun",
      owner,
      rootfs: join(scratch, "rootfs"),
      dev: join(scratch, "dev"),
      networkFiles: { resolvConf: "", hosts: "" },
    }),
  );
  const namespaces = [
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    ...(root ? [] : ["--user", "--map-root-user"]),
  ];
  const script = join(import.meta.dirname, "bare-crun.sh");
  const child = spawn(
    "unshare",
    [
      ...namespaces,
      "bash",
      script,
      scratch,
      image.layers.toReversed().join(":"),
      `${owner.uid}:${owner.gid}`,
      join(directory, "input"),
      join(directory, "config.json"),
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("the bare crun process ended");
    return line.value;
  };
  await next();
  const runMany = async (runs: number, atATime: number): Promise<number> => {
    child.stdin.write(`${runs / atATime} ${atATime}\n`);
    return Number(await next()) / 1000;
  };
  return {
    run: () => runMany(1, 1),
    runMany,
    close: async () => {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.stdin.end();
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}
