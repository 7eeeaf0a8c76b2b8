import type { Composition } from "@xfn/composition";
import { InputError } from "@xfn/input";
import { createRunnerClient, DEFAULT_ENDPOINT, type RunnerClient, RunnerSetupError } from "@xfn/runner-grpc";
import { type CliError, usageError } from "../errors/cli-error.ts";
import type { ClosableRunner } from "./lazy-runner.ts";

/** Which runner is to run the functions, and how it is reached. */
export interface RemoteRunnerFlags {
  /** An endpoint for all functions, or {@link OF_COMPOSITION}. Absent: functions run in this process. */
  readonly runner?: string;
  readonly runnerTokenFile?: string;
  readonly runnerCa?: string;
  readonly runnerCert?: string;
  readonly runnerKey?: string;
  readonly runnerServerName?: string;
}

/** In the place of an endpoint: each function's own, `container.runner.endpoint`, or the default one. */
export const OF_COMPOSITION = "composition";

/**
 * A runner that has other runners run functions, over gRPC. Nothing is dialled before the first call.
 *
 * @param composition whose functions will be called
 * @throws CliError `Usage` or `Input` for an endpoint, a token or a certificate that cannot be used
 */
export function openRemoteRunner(flags: RemoteRunnerFlags, composition: Composition): ClosableRunner {
  const { runner: given = OF_COMPOSITION } = flags;
  // Whoever wrote the Composition chooses the endpoint, and must not get the token by it.
  if (given === OF_COMPOSITION && flags.runnerTokenFile !== undefined)
    throw usageError("--runner-token-file needs the endpoint that may have the token: --runner ENDPOINT");
  const clients = new Map<string, RunnerClient>();
  const bySteps = new Map<string, RunnerClient>();
  for (const { name, container } of composition.spec.functions) {
    const endpoint = given === OF_COMPOSITION ? (container.runner.endpoint ?? DEFAULT_ENDPOINT) : given;
    const client = clients.get(endpoint) ?? connect(endpoint, flags, name);
    clients.set(endpoint, client);
    bySteps.set(name, client);
  }
  return {
    run: (image, input, options) => {
      const client = bySteps.get(options?.step ?? "");
      if (client === undefined) throw new Error(`the Composition has no function ${String(options?.step)}`);
      return client.run(image, input, options);
    },
    close: async () => {
      for (const client of clients.values()) client.close();
    },
  };
}

function connect(endpoint: string, flags: RemoteRunnerFlags, step: string): RunnerClient {
  const { runnerTokenFile: tokenFile } = flags;
  const tls = {
    ...(flags.runnerCa === undefined ? {} : { caFile: flags.runnerCa }),
    ...(flags.runnerCert === undefined ? {} : { certFile: flags.runnerCert }),
    ...(flags.runnerKey === undefined ? {} : { keyFile: flags.runnerKey }),
    ...(flags.runnerServerName === undefined ? {} : { serverName: flags.runnerServerName }),
  };
  try {
    return createRunnerClient({
      endpoint,
      ...(tokenFile === undefined ? {} : { tokenFile }),
      ...(Object.keys(tls).length === 0 ? {} : { tls }),
    });
  } catch (error) {
    if (!(error instanceof RunnerSetupError)) throw error;
    throw inFlags(error, flags, step);
  }
}

// The library speaks of its options, which are not what was given here.
function inFlags(error: RunnerSetupError, flags: RemoteRunnerFlags, step: string): CliError | InputError {
  switch (error.code) {
    case "TokenUnusable":
      return usageError(`--runner-token-file: ${error.message}`);
    case "PlaintextRefused":
      return usageError(`${flags.runner}: the token would cross a network in the clear: give --runner-ca, for TLS`);
    case "CertificateUnusable":
      return usageError(`--runner-ca, --runner-cert, --runner-key: ${error.message}`);
    default:
      return flags.runner === OF_COMPOSITION
        ? new InputError(`step "${step}": ${error.message}`, { cause: error })
        : usageError(`--runner: ${error.message}`);
  }
}
