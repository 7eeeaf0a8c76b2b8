import { readText } from "../base/read-text.ts";
import { canLaunch } from "../chroot-host/launcher.ts";
import { hasUsers } from "../chroot-host/users.ts";

/** Capabilities that a runner needs for functions in chroots, with their numbers (capabilities(7)). */
const CAPABILITIES = [
  ["CAP_CHOWN", 0n],
  ["CAP_DAC_OVERRIDE", 1n],
  ["CAP_FOWNER", 3n],
  ["CAP_SETGID", 6n],
  ["CAP_SETUID", 7n],
  ["CAP_SYS_CHROOT", 18n],
] as const;

/**
 * Why this process cannot run functions in a chroot; undefined if it can.
 *
 * @param read returns the text of a file below /proc/self; empty if it cannot be read
 */
export function chrootProblem(
  read: (name: "status" | "uid_map") => string = (name) => readText(`/proc/self/${name}`),
  { pid, arch }: { pid: number; arch: string } = process,
): string | undefined {
  if (!canLaunch(arch)) return `there is no launcher for the processor ${arch}, only for x64`;
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(read("status"))?.[1] ?? "0"}`);
  const missing = CAPABILITIES.filter(([, number]) => ((effective >> number) & 1n) === 0n).map(([name]) => name);
  if (missing.length > 0) return `the runner lacks ${missing.join(", ")}, which root has`;
  if (!hasUsers(pid, read("uid_map"))) return "its user namespace lacks the user ids above 3,000,000,000";
  return undefined;
}
