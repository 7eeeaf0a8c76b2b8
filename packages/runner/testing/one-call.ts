import { cString, LAUNCH_FAILED, launcherProgram, type SystemCall } from "../src/chroot-host/launcher.ts";

export { cString, LAUNCH_FAILED, type SystemCall };

/** A static program for x86_64 that makes one system call. It exits with 0, or `LAUNCH_FAILED` if the call fails. */
export function oneCall(call: SystemCall): Buffer {
  return launcherProgram([call, { name: "exit_group", arguments: [0] }]);
}
