import { readFileSync } from "node:fs";
import { isTransient, sealedCopy } from "./syscalls.ts";

/** Larger than any OCI runtime: crun has 0.4 MB, runc 15. */
const MAX_RUNTIME_BYTES = 64 * 1024 * 1024;

const copies = new Map<string, string>();

/**
 * The path of an immutable copy of the OCI runtime. A container that reaches its runtime's file through /proc could
 * otherwise overwrite the host's (CVE-2019-5736). crun and runc therefore copy themselves for each call; here one copy
 * serves all calls.
 *
 * Falls back to the runtime's own path if the kernel does not execute programs from memory (`vm.memfd_noexec`). The
 * runtime then copies itself.
 *
 * @throws Error for a transient error, because the fallback would stay in use permanently
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
    // This process is the first one of its pid namespace, so the path is valid in every child.
    return `/proc/1/fd/${sealedCopy("oci-runtime", program)}`;
  } catch (error) {
    if (isTransient(error)) throw error;
    return path;
  }
}

/** A script's interpreter would open the path in a process where it is no longer valid. */
function isElf(program: Buffer): boolean {
  return program.subarray(0, 4).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46]));
}
