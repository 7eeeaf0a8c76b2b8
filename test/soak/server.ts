// A runner of its own process, for soak.ts: node server.ts SOCKET STORE. It ends when its stdin does.
import { once } from "node:events";
import process from "node:process";
import { openStore } from "@xfn/oci-rootfs";
import { createRunner, sandboxOwner } from "@xfn/runner";
import { createRunnerServer } from "@xfn/runner-grpc";

const [socket = "", dir = ""] = process.argv.slice(2);
const owner = sandboxOwner();
const runner = createRunner({ store: await openStore({ dir, ...(owner === undefined ? {} : { owner }) }) });
const server = createRunnerServer({
  run: (image, input, options) => runner.run(image, input, options),
  addresses: [`unix:${socket}`],
  maxConcurrent: 4,
  maxQueued: 64,
  health: { serving: true },
});
await server.start();
console.log("listening");
process.stdin.resume();
await once(process.stdin, "end");
await server.stop(10_000);
await runner.close();
