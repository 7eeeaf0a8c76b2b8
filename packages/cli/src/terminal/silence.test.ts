import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runRollout } from "../rollout/rollout-command.ts";
import { validate } from "../validate/validate.ts";
import { runXpkgExtract } from "../xpkg/extract-command.ts";
import { runXpkgInstall } from "../xpkg/install-command.ts";
import { runXpkgUpdate } from "../xpkg/update-command.ts";
import type { Output } from "./output.ts";

// A server that accepts connections and never answers.
const sockets = new Set<Socket>();
const runs: Promise<number>[] = [];
let server: Server;
let address: string;
let dir: string;
let kubeconfig: string;

beforeAll(async () => {
  server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  dir = temporaryFolder();
  kubeconfig = join(dir, "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a" } }],
      clusters: [{ name: "a", cluster: { server: `https://${address}` } }],
    }),
  );
});
afterAll(async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  await Promise.allSettled(runs);
});

test.concurrent.each<[string, (output: Output) => Promise<number>]>([
  ["rollout", (output) => runRollout("databases", { kubeconfig }, output)],
  ["xpkg install", (output) => runXpkgInstall(["function", "example.org/fns/a:v1", undefined], { kubeconfig }, output)],
  ["xpkg update", (output) => runXpkgUpdate(["function", "example.org/fns/a:v1", undefined], { kubeconfig }, output)],
  ["xpkg extract", (output) => runXpkgExtract(`${address}/a:v1`, { cacheDir: dir, output: join(dir, "a.gz") }, output)],
  ["validate cluster:", (output) => validate("cluster:", "xr.yaml", { kubeconfig, output: "text" }, output)],
  [
    "validate xpkg:",
    (output) => validate(`xpkg:${address}/a:v1`, "xr.yaml", { cacheDir: dir, output: "text" }, output),
  ],
])("%s shows on a terminal that it waits for a server that does not answer", async (_, run) => {
  await new Promise<void>((resolve, reject) => {
    const running = run({
      interactive: true,
      columns: 80,
      product: async () => undefined,
      note: () => undefined,
      status: (line) => {
        if (line !== undefined) resolve();
      },
    });
    runs.push(running);
    running.catch(reject);
  });
});
