import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  ApiServerError,
  BuildServerError,
  buildBinaries,
  DataFolderError,
  explainMissing,
  findBinaries,
  lockFolder,
  quote,
  type ServerBinaries,
  startApiServer,
  writeEnvironment,
} from "@xfn/dev-cluster";
import { messageOf } from "@xfn/errors";
import { onAbort } from "@xfn/lifetime";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn dev cluster`, as commander parsed them. */
export interface ClusterFlags {
  readonly dataDir?: string;
  readonly users?: readonly string[];
}

// Names that are valid in a kubeconfig's file name and in a line of the token file.
const USER_NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/**
 * `xfn dev cluster`: runs an API server in the foreground until Ctrl-C. Prints the line that points `kubectl` at it.
 */
export async function runCluster(flags: ClusterFlags, output: Output): Promise<number> {
  const wrong = flags.users?.find((name) => !USER_NAME.test(name) || name === "admin");
  if (wrong !== undefined)
    throw usageError(`--users requires names such as ada,grace, other than admin, not ${JSON.stringify(wrong)}`);
  try {
    return await endedByCtrlC(true, async (signal) => {
      const dataDir = flags.dataDir === undefined ? undefined : openDataDir(flags.dataDir);
      using _lock = dataDir === undefined ? undefined : lockFolder(dataDir);
      const binaries = await findOrBuildBinaries(output, signal);
      const title = "starting etcd, kube-apiserver and kube-controller-manager";
      await using server = await withElapsedTime(output, title, async (shown) => {
        shown.status(title);
        return startApiServer({ binaries, dataDir, users: flags.users, signal });
      });
      const users = [server.admin, ...(flags.users ?? []).map((name) => server.user(name))];
      const lines = users.map(({ name, kubeconfig }) =>
        name === server.admin.name
          ? `export KUBECONFIG=${quote(kubeconfig)}\n`
          : `# as ${name}: export KUBECONFIG=${quote(kubeconfig)}\n`,
      );
      const { kubeconfig } = server.admin;
      const environment = writeEnvironment(dirname(kubeconfig), { kubeconfig, kubectl: binaries.kubectl });
      await output.product(lines.join(""));
      output.note(`xfn: ${server.endpoint} is ready; Ctrl-C stops it. In another terminal: . ${quote(environment)}`);
      await Promise.race([server.failure, interruption(signal)]);
      return ExitCode.ok;
    });
  } catch (error) {
    if (error instanceof DataFolderError) throw usageError(`--data-dir: ${error.message}`);
    if (error instanceof ApiServerError || error instanceof BuildServerError)
      throw new CliError("Failed", error.message, { cause: error });
    throw error;
  } finally {
    output.status(undefined);
  }
}

/** Finds the binaries, and builds the missing ones. */
async function findOrBuildBinaries(output: Output, signal: AbortSignal): Promise<ServerBinaries> {
  const { binaries, missing } = findBinaries();
  if (binaries !== undefined) return binaries;
  try {
    let title = "building";
    let packages = 0;
    await withElapsedTime(
      output,
      () => `${title}: ${packages} packages compiled`,
      async () =>
        buildBinaries({
          programs: missing,
          onProgram: (program) => {
            title = `building ${program}`;
            packages = 0;
            output.note(`xfn: ${title} (${missing.indexOf(program) + 1} of ${missing.length}; once, some minutes)`);
          },
          onPackages: (count) => {
            packages = count;
          },
          signal,
        }),
    );
  } catch (error) {
    if (error instanceof BuildServerError && error.code === "GoMissing")
      throw new CliError("Failed", explainMissing(missing), { cause: error });
    throw error;
  }
  const built = findBinaries();
  if (built.binaries === undefined) throw new CliError("Failed", explainMissing(built.missing));
  return built.binaries;
}

function openDataDir(dir: string): string {
  const path = resolve(dir);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw usageError(`--data-dir: cannot create ${path}: ${messageOf(error)}`);
  }
  return path;
}

function interruption(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    onAbort(signal, () => reject(signal.reason as Error));
  });
}
