import { chrootProblem } from "@xfn/runner";
import type { Check } from "./check.ts";
import type { Host } from "./host.ts";

/** Checks whether functions of `type: Chroot` can run, which few hosts need. */
export async function checkChroot(host: Host): Promise<Check> {
  const check = { id: "chroot", title: "functions of type: Chroot" };
  const [status, uidMap] = await Promise.all(["status", "uid_map"].map((name) => host.read(`/proc/self/${name}`)));
  const read = (name: "status" | "uid_map"): string => (name === "status" ? status : uidMap) ?? "";
  const problem = chrootProblem(read, { pid: host.pid, arch: process.arch });
  if (problem !== undefined) return { ...check, status: "info", detail: `cannot run: ${problem}` };
  return { ...check, status: "ok", detail: "can run, where --allow-chroot permits them" };
}
