import { checkCgroups } from "./cgroups.ts";
import type { Check, DoctorReport } from "./check.ts";
import { checkChroot } from "./chroot.ts";
import { checkCrun } from "./crun.ts";
import type { Host } from "./host.ts";
import { checkOtherRuntimes } from "./other-runtimes.ts";
import { checkDisk, checkKernel, checkNode, checkOverlay, checkPlatform, checkSubordinateIds } from "./system.ts";
import { checkUserNamespaces } from "./user-namespaces.ts";

/** Checks all requirements of rootless containers on a host. Changes nothing. */
export async function diagnose(host: Host, storeDir: string): Promise<DoctorReport> {
  const checks: Check[] = [checkPlatform(host), checkNode(host)];
  if (host.platform === "linux") {
    const [crun, namespaces, overlay, subordinateIds, cgroups, chroot, runtimes] = await Promise.all([
      checkCrun(host),
      checkUserNamespaces(host),
      checkOverlay(host),
      checkSubordinateIds(host),
      checkCgroups(host),
      checkChroot(host),
      checkOtherRuntimes(host),
    ]);
    checks.push(
      checkKernel(host),
      crun,
      ...runtimes,
      ...namespaces,
      overlay,
      subordinateIds,
      ...cgroups,
      chroot,
      checkDisk(host, storeDir),
    );
  }
  return { canRun: checks.every((check) => check.status !== "fail"), checks };
}
