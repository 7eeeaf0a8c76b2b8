import type { StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { runtimeCopy } from "./runtime-copy.ts";
import type { RuntimeFamily } from "./runtime-family.ts";

/** What of a request the command line says. */
export type RuntimeRequest = Pick<StartRequest, "id" | "runtime" | "runtimeFamily" | "detach">;

/** What starts a container: arguments for spawn. */
export interface RuntimeCommand {
  path: string;
  argv: string[];
  env: string[];
}

const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Limits are set on cgroups of ours (see runtime-gate.ts). crun 1.8 refuses hybrid hosts and ignores what it cannot do; runc as
// root fails where it cannot make groups of its own, unless it is told that it may not.
const familyOptions: Record<RuntimeFamily, string[]> = {
  crun: ["--cgroup-manager=disabled"],
  runc: ["--rootless=true"],
  other: [],
};

/** The command that runs the container of a call in its bundle, once its config.json is there. */
export function runtimeCommand(scratch: string, request: RuntimeRequest): RuntimeCommand {
  const paths = sandboxPaths(scratch, request.id);
  const runtime = runtimeCopy(request.runtime);
  const options = [
    ...familyOptions[request.runtimeFamily],
    `--root=${scratch}/state`,
    `--log=${paths.log}`,
    "--log-format=json",
    "run",
    ...(request.detach ? ["--detach"] : []),
    `--bundle=${paths.bundle}`,
    `--pid-file=${paths.pidFile}`,
    request.id,
  ];
  // crun keeps temporary files where _LIBCONTAINER_STATEDIR says: on our scratch none outlives us.
  const env = [PATH, `_LIBCONTAINER_STATEDIR=${scratch}`];
  return { path: runtime, argv: [request.runtime, ...options], env };
}
