// The chroot host: a small process that starts functions in chroots, and adopts the processes that they leave behind.
// It has no namespaces of its own: `type: Chroot` is for hosts that refuse them. When the runner ends, it kills its
// functions, removes their folders, and exits.
import { type Send, serveRequests } from "../host/serve-requests.ts";
import { becomeSubreaper } from "../host/syscalls.ts";
import { ChrootHost } from "./chroot-host.ts";
import { removeRoot } from "./remove-root.ts";
import { firstUserOf } from "./users.ts";

let host: ChrootHost | undefined;
let folder = "";

serveRequests(open, () => void end());

// The chroot host ignores requests that only containers support: load, move, measure and connect.
function open(scratch: string, send: Send): ChrootHost {
  folder = scratch;
  becomeSubreaper();
  host = new ChrootHost(scratch, firstUserOf(process.ppid), send);
  return host;
}

async function end(): Promise<void> {
  try {
    await host?.close();
    if (folder !== "") await removeRoot(folder);
  } finally {
    process.exit(0);
  }
}
