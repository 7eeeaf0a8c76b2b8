// The chroot host: a small process that starts functions in chroots, and adopts what they leave behind. It has no
// namespaces of its own: `type: Chroot` is for hosts that refuse them. When the runner ends, it kills its functions,
// removes their folders, and exits.
import { messageOf } from "../base/error-text.ts";
import type { HostRequest, HostResponse, InitRequest } from "../host/protocol.ts";
import { becomeSubreaper } from "../host/syscalls.ts";
import { ChrootHost } from "./chroot-host.ts";
import { removeRoot } from "./remove-root.ts";
import { firstUserOf } from "./users.ts";

/** Texts of config.json. The runner bounds their number and size. */
const configs = new Map<number, string>();
let host: ChrootHost | undefined;
let folder = "";

process.on("message", (message) => handle(message as HostRequest));
process.on("disconnect", () => void end());
process.on("SIGCHLD", () => host?.reap());

function handle(request: HostRequest): void {
  switch (request.type) {
    case "init":
      initialise(request);
      break;
    case "config":
      if (request.number === 0) configs.clear();
      configs.set(request.number, request.text);
      break;
    case "prepare":
      void host?.prepare(request, configs.get(request.config) ?? "");
      break;
    case "start":
      host?.start(request);
      break;
    case "kill":
      host?.kill(request);
      break;
    default:
      // Only containers are loaded early, moved, measured and connected to.
      break;
  }
}

function initialise({ scratch }: InitRequest): void {
  try {
    process.umask(0o022);
    folder = scratch;
    becomeSubreaper();
    host = new ChrootHost(scratch, firstUserOf(process.ppid), send);
    send({ type: "ready" });
  } catch (error) {
    send({ type: "failed", message: messageOf(error) });
  }
}

async function end(): Promise<void> {
  try {
    await host?.close();
    if (folder !== "") await removeRoot(folder);
  } finally {
    process.exit(0);
  }
}

function send(response: HostResponse): void {
  if (process.connected) process.send?.(response);
}
