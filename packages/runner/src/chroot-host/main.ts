// The chroot host: a small process that starts functions in chroots, and adopts what they leave behind. It has no
// namespaces of its own: `type: Chroot` is for hosts that refuse them. When the runner ends, it kills its functions,
// removes their folders, and exits.
import { type Send, serveRequests } from "../host/serve-requests.ts";
import { becomeSubreaper } from "../host/syscalls.ts";
import { ChrootHost } from "./chroot-host.ts";
import { removeRoot } from "./remove-root.ts";
import { firstUserOf } from "./users.ts";

let host: ChrootHost | undefined;
let folder = "";

serveRequests(open, () => void end());

// It ignores the requests that only containers have: they are loaded early, moved, measured and connected to.
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
