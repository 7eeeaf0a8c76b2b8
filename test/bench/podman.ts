import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, type Image, openStore } from "@xfn/oci-rootfs";
import { which } from "../harness/which.ts";
import { timed } from "./figure.ts";

/** `podman run --rm` of an image, in a separate storage; undefined if podman is missing or does not work. */
export async function podman(
  image: Image,
  input: Uint8Array,
): Promise<({ run(): Promise<number> } & AsyncDisposable) | undefined> {
  const program = which("podman");
  if (program === undefined) return undefined;
  // Podman derives the image's name from the path, which must be lower case. The path of `--runroot` must be short.
  const directory = join(tmpdir(), `xfn-podman-${randomUUID().slice(0, 8)}`);
  mkdirSync(directory, { mode: 0o700 });
  const global = [`--root=${directory}/root`, `--runroot=${directory}/run`, "--cgroup-manager=cgroupfs"];
  const dispose = async (): Promise<void> => {
    spawnSync(program, [...global, "system", "reset", "--force"], { timeout: 60_000 });
    rmSync(directory, { recursive: true, force: true });
  };
  const layout = `oci:${directory}/layout`;
  await buildImage({
    store: await openStore({ dir: image.layers[0]?.replace(/\/layers.*/, "") ?? "" }),
    name: layout,
    base: image,
    layers: [],
  });
  const pulled = spawnSync(program, [...global, "pull", "--quiet", layout], { encoding: "utf8", timeout: 300_000 });
  const id = pulled.stdout.trim();
  if (pulled.status !== 0 || id === "") {
    console.error(`bench: podman cannot pull ${layout}: ${pulled.stderr.trim()}`);
    await dispose();
    return undefined;
  }
  writeFileSync(join(directory, "input"), input);
  const run = (): Promise<number> =>
    timed(
      () =>
        new Promise<void>((resolve, reject) => {
          const child = spawn(program, [...global, "run", "--rm", "--interactive", "--network=none", id], {
            stdio: ["pipe", "ignore", "inherit"],
          });
          child.stdin.end(input);
          child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`podman run ended with ${code}`))));
        }),
    );
  try {
    await run();
  } catch (error) {
    console.error(`bench: podman does not work here: ${String(error)}`);
    await dispose();
    return undefined;
  }
  return { run, [Symbol.asyncDispose]: dispose };
}
