import { readFileSync } from "node:fs";
import { sealedCopy } from "./syscalls.ts";

/** Above any OCI runtime's program: crun has 0.4 MB, runc 15. */
const MAX_RUNTIME_BYTES = 64 * 1024 * 1024;

/** What a machine lacks for a moment: the next copy may succeed. */
const TRANSIENT: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOSPC"]);

const copies = new Map<string, string>();

/**
 * A path that starts a copy of the OCI runtime which nothing can write to. A container that reaches its runtime's file
 * through /proc could otherwise replace the host's (CVE-2019-5736), and so crun and runc begin by making such a copy of
 * themselves and starting it: once per call, where here once is enough.
 *
 * Where the kernel will not start programs from memory (`vm.memfd_noexec`) it is the runtime's own path, and the runtime
 * makes its copy.
 *
 * @throws Error where the machine lacks something for a moment: the host's own file would then be started for good
 */
export function runtimeCopy(path: string): string {
  let copy = copies.get(path);
  if (copy === undefined) {
    copy = makeCopy(path);
    copies.set(path, copy);
  }
  return copy;
}

function makeCopy(path: string): string {
  try {
    const program = readFileSync(path);
    if (program.length > MAX_RUNTIME_BYTES || !isElf(program)) return path;
    // This process is the first one of its pid namespace: the path holds for every child, whatever it has open.
    return `/proc/1/fd/${sealedCopy("oci-runtime", program)}`;
  } catch (error) {
    if (error instanceof Error && "code" in error && TRANSIENT.has(String(error.code))) throw error;
    return path;
  }
}

/** A script would be read by its interpreter, under a path that is gone by then. */
function isElf(program: Buffer): boolean {
  return program.subarray(0, 4).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46]));
}
