import type { StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { runtimeCopy } from "./runtime-copy.ts";
import type { RuntimeFamily } from "./runtime-family.ts";
import type { BarrierKind } from "./start-barrier.ts";

/** The part of a request that the command line needs. */
export type RuntimeRequest = Pick<StartRequest, "id" | "runtime" | "runtimeFamily" | "isolated" | "detach">;

/** Arguments of spawn that start a container. */
export interface RuntimeCommand {
  path: string;
  argv: string[];
  env: string[];
}

const SHELL = "/bin/sh";
const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The runner sets limits itself (see start-barrier.ts). crun 1.8 rejects hybrid hosts and ignores limits that it cannot
// set. runc as root fails if it cannot create cgroups, unless it runs as rootless. runsc has its own network stack, and
// installs the seccomp profile only on request.
const familyOptions: Record<RuntimeFamily, (isolated: boolean) => string[]> = {
  crun: () => ["--cgroup-manager=disabled"],
  runc: () => ["--rootless=true"],
  youki: () => [],
  runsc: (isolated) => ["--ignore-cgroups", "--oci-seccomp", isolated ? "--network=none" : "--network=host"],
  other: () => [],
};

/** How a runtime family can wait: gVisor reads its config.json twice, and seeks to its start in between. */
export function barrierKind(family: RuntimeFamily): BarrierKind {
  return family === "runsc" ? "shell" : "config";
}

/**
 * The command that runs a container in its bundle, which must contain config.json.
 *
 * @param barrier the file from which a shell must read a line before it executes the runtime
 */
export function runtimeCommand(scratch: string, request: RuntimeRequest, barrier?: string): RuntimeCommand {
  const paths = sandboxPaths(scratch, request.id);
  const runtime = runtimeCopy(request.runtime);
  const options = [
    ...familyOptions[request.runtimeFamily](request.isolated),
    `--root=${scratch}/state`,
    // Without a type, crun takes the text before a colon as the type of the log.
    `--log=${request.runtimeFamily === "crun" ? "file:" : ""}${paths.log}`,
    "--log-format=json",
    "run",
    ...(request.detach ? ["--detach"] : []),
    `--bundle=${paths.bundle}`,
    `--pid-file=${paths.pidFile}`,
    request.id,
  ];
  // crun's temporary files go to _LIBCONTAINER_STATEDIR. On the scratch tmpfs they disappear with this process.
  const env = [PATH, `_LIBCONTAINER_STATEDIR=${scratch}`];
  if (barrier === undefined) return { path: runtime, argv: [request.runtime, ...options], env };
  // The shell becomes the runtime, so that the process that joins the cgroups stays the same.
  const wait = 'read -r line <"$0" && exec "$@"';
  return { path: SHELL, argv: [SHELL, "-c", wait, barrier, runtime, ...options], env };
}
